//! What happens at a start after a crash, and what is repaired before git is used.

pub(crate) mod open;
pub(crate) mod outage;
pub(crate) mod recover;
pub(crate) mod vanished;
