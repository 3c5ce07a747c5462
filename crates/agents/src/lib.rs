//! The agent CLIs.

pub mod adapters;
pub mod agent_event;
pub mod dialect;
pub mod hearing;
pub mod promise;
pub mod transcript;
