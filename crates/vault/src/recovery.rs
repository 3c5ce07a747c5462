//! What happens at a start after a crash, and what is repaired before git is used.

pub(crate) mod interrupted;
pub(crate) mod mend;
pub(crate) mod missing_objects;
pub(crate) mod object_repair;
pub(crate) mod outage;
pub(crate) mod recover;
pub(crate) mod repair;
pub(crate) mod vanished;
