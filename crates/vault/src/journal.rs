//! The write-ahead journal, and the state of the run that its lines add up to.

pub mod reopening;
pub(crate) mod run_state;
pub mod steps;
