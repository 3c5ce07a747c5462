//! Past runs: found, listed and read again.

pub mod lookup;

pub use crate::records::summary::{RunState, RunSummary};
