//! What it means: pure types and decisions. No files, processes, environment, clock, async
//! or terminal; time arrives as a value.

pub(crate) mod agent_event;
pub(crate) mod dialect;
pub(crate) mod event;
pub(crate) mod ids;
pub(crate) mod promise;
