//! Folders that a scan does not enter: caches that git ignores, and what is nested too deep.

use std::collections::BTreeMap;
use std::path::Path;

/// Folders that tools fill and can fill again; not entered where git ignores them.
const CACHE_FOLDERS: &[&str] = &[
    "target",
    "node_modules",
    ".venv",
    "venv",
    "__pycache__",
    ".gradle",
    ".next",
    ".nuxt",
    ".turbo",
    ".cache",
    ".parcel-cache",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".pnpm-store",
    ".yarn",
    ".terraform",
    ".dart_tool",
    "_build",
    "deps",
    "build",
    "dist",
    "out",
    "coverage",
    "Pods",
    "DerivedData",
    "vendor",
];

/// Folders about which it is decided whether they are skipped. All others are entered, unless they
/// look like a cache: then git's ignore rules decide.
#[derive(Debug, Default)]
pub(crate) struct SkippedFolders {
    is_skipped: BTreeMap<Vec<u8>, bool>,
}

impl SkippedFolders {
    /// What the snapshot of a checkpoint says.
    pub(crate) fn of(folders: &[Vec<u8>]) -> Self {
        let mut skipped = Self::default();
        skipped.adopt(folders);
        skipped
    }

    /// Skips these, too.
    pub(crate) fn adopt(&mut self, folders: &[Vec<u8>]) {
        let folders = folders.iter().cloned();
        self.is_skipped.extend(folders.map(|folder| (folder, true)));
    }

    pub(crate) fn list(&self) -> Vec<Vec<u8>> {
        let skipped = self.is_skipped.iter().filter(|(_, skipped)| **skipped);
        skipped.map(|(path, _)| path.clone()).collect()
    }

    pub(super) fn decide(&mut self, folder: Vec<u8>, is_skipped: bool) {
        self.is_skipped.insert(folder, is_skipped);
    }

    pub(super) fn is_decided(&self, folder: &[u8]) -> bool {
        self.is_skipped.contains_key(folder)
    }

    /// Whether a walk enters a folder; one that may be a cache only once that is decided.
    pub(super) fn may_enter(&self, folder: &[u8], on_disk: &Path) -> bool {
        match self.is_skipped.get(folder) {
            Some(is_skipped) => !is_skipped,
            None => !looks_like_cache(folder, on_disk),
        }
    }
}

fn looks_like_cache(folder: &[u8], on_disk: &Path) -> bool {
    let name = folder.rsplit(|byte| *byte == b'/').next();
    let name = name.unwrap_or_default();
    CACHE_FOLDERS.iter().any(|known| known.as_bytes() == name)
        || on_disk.join("CACHEDIR.TAG").exists()
}
