//! The loop over one change.

pub mod afterwards;
pub mod agent;
pub mod demo;
pub mod doctor;
pub mod engine;
pub mod failure;
pub(crate) mod gates;
pub mod history;
pub mod init;
pub mod learnings;
pub mod machine;
pub mod policy;
pub mod preview;
pub(crate) mod prompt;
pub mod records;
pub mod settings;
pub mod status;
pub(crate) mod tamper;
pub mod windows;
