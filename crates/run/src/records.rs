//! What happened in a run, as records, and the folds of them.

pub mod event;
pub(crate) mod file;
pub(crate) mod notes;
pub(crate) mod notifier;
pub mod notify;
pub mod progress;
pub(crate) mod recorder;
pub mod summary;
