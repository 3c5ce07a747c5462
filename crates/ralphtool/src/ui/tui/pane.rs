//! The panes of the run screen, one file each.

pub(crate) mod agent;
pub(crate) mod attempts;
pub(crate) mod diff;
pub(crate) mod gates;
pub(crate) mod log;
