//! Scans of the work tree: what changed since a manifest, and where its bytes are kept.

pub mod changed;
pub(crate) mod guarding;
pub(crate) mod keeping;
pub(crate) mod latest;
pub(crate) mod modules;
pub(crate) mod room;
pub(crate) mod taking;
