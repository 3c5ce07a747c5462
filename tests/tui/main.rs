//! The terminal UI in a real terminal: the real program, keys as a person presses them, and what is
//! left in the repository and in the terminal afterwards.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

#[path = "../sandbox/mod.rs"]
mod sandbox;
mod stage;
#[path = "../terminal/mod.rs"]
mod terminal;

mod attach;
mod ends;
mod openings;
mod panes;
mod plain;
mod sizes;
mod steering;
mod stops;
mod walk;
