//! The work tree: what is in it, and copies of it.

pub mod changed;
pub mod guard;
pub(crate) mod guarding;
pub(crate) mod keeping;
pub(crate) mod looking;
pub(crate) mod manifest;
pub(crate) mod modules;
pub(crate) mod room;
pub(crate) mod snapshot;
pub(crate) mod taking;
pub mod tree_state;
pub(crate) mod twins;
pub(crate) mod walk;
