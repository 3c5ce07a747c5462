//! Scans of the work tree: what changed since a manifest, and where its bytes are kept.

pub mod changed;
pub(crate) mod guarding;
pub(crate) mod keeping;
pub(crate) mod latest;
pub(crate) mod modules;
pub(crate) mod room;
pub(crate) mod taking;

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Mutex;

use crate::scan::keeping::large::Seen;
use crate::scan::latest::Latest;
use crate::scan::taking::Opaque;
use crate::tree::guard::Limits;

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
