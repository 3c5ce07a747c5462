//! Past runs: found, listed and read again.

pub mod listed;
pub mod lookup;

pub use crate::records::state::RunState;
pub use crate::records::summary::RunSummary;
