//! Scans of the work tree: what changed since a manifest, and where its bytes are kept.

pub mod changed;
pub(crate) mod guarding;
pub(crate) mod keeping;
pub(crate) mod latest;
pub(crate) mod modules;
pub(crate) mod room;
pub(crate) mod skipped;
pub(crate) mod taking;

use std::cell::RefCell;
use std::collections::HashSet;

use crate::scan::keeping::large::LargeCopies;
use crate::scan::latest::LastScan;
use crate::scan::skipped::SkippedFolders;
use crate::tree::guard::Limits;

/// What is known of the work tree between two scans of it.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) skipped: RefCell<SkippedFolders>,
    large_copies: RefCell<LargeCopies>,
    /// What may be committed, and what must stay free.
    pub(crate) limits: Limits,
    /// Paths that a notice of this run named as kept out of commits.
    reported: RefCell<HashSet<Vec<u8>>>,
    /// Paths that a notice of this run named as secrets in the branch.
    reported_secrets: RefCell<HashSet<Vec<u8>>>,
    pub(crate) last_scan: LastScan,
}

impl Tree {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            skipped: RefCell::default(),
            large_copies: RefCell::default(),
            limits,
            reported: RefCell::default(),
            reported_secrets: RefCell::default(),
            last_scan: LastScan::Unknown,
        }
    }
}
