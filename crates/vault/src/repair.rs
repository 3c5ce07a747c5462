//! Repairs of the git directory, before anything is done in it.

pub(crate) mod broken_refs;
pub(crate) mod content;
pub(crate) mod directory;
pub(crate) mod locks;
pub(crate) mod missing_objects;
pub(crate) mod objects;
pub(crate) mod parts;
