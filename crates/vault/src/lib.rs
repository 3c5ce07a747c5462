//! Crash-safe checkpoints of one work tree.

pub mod git;
pub mod repair;
pub mod scan;
pub mod session;

pub mod diff;
pub(crate) mod error;
pub mod gc;
pub mod journal;
pub mod look;
pub(crate) mod operations;
pub mod outcome;
pub(crate) mod parked;
pub(crate) mod recovery;
pub mod repo;
pub mod store;
pub mod tree;
