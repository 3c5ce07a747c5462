//! The terminal UI in a real terminal: the real program, keys as a person presses them, and what is
//! left in the repository and in the terminal afterwards.

pub(crate) mod stage;

mod attach;
mod ends;
mod openings;
mod panes;
mod plain;
mod sizes;
mod steering;
mod stops;
mod walk;
