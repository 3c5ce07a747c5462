//! What happened in a run, as records, and the folds of them.

pub mod counts;
pub mod event;
pub(crate) mod file;
mod gate_events;
pub mod next;
pub(crate) mod notes;
pub(crate) mod notifier;
pub mod notify;
pub mod outcome;
pub mod progress;
pub(crate) mod recorder;
pub mod state;
pub mod summary;
