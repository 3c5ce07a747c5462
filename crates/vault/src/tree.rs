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

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Mutex;

use guard::Limits;
use keeping::large::Seen;
use looking::Latest;
use taking::Opaque;

/// What is known of the work tree between two scans of it.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) opaque: Mutex<Opaque>,
    pub(crate) seen_large: Mutex<Seen>,
    /// What may be committed, and what must stay free.
    pub(crate) limits: Limits,
    /// Paths that were named as kept out of commits.
    pub(crate) told: RefCell<HashSet<Vec<u8>>>,
    /// Paths that were named as secrets in the branch.
    pub(crate) told_secrets: RefCell<HashSet<Vec<u8>>>,
    /// The last look at the tree, while it holds.
    pub(crate) latest: Latest,
}
