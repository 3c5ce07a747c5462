//! The panes of the run screen, one file per tab. Each keeps a `TextPane` with the lines it shows and
//! asks for what is missing.

pub(crate) mod agent;
pub(crate) mod attempts;
pub(crate) mod diff;
pub(crate) mod gates;
pub(crate) mod log;
