//! Isolation: an agent works on an overlay of the work tree, in a mount namespace of its own.
//! What it writes lands in a folder of the vault; the real tree is only read.
//!
//! | file | what |
//! | --- | --- |
//! | `namespace` | the guard's part: a namespace, and the overlay mounted over the tree |
//! | `probe` | whether that works here, found out by trying, and why not |
//! | `upper` | what the upper layer of an overlay says |
//! | `merge` | the upper layer goes into the real tree |
//! | `view` | base and upper layer together, as far as git has to see them |

pub(crate) mod merge;
pub(crate) mod namespace;
mod probe;
pub(crate) mod upper;
pub(crate) mod view;

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

pub(crate) use probe::{IsolationError, probe};

use super::disk::remove_tree;
use super::files::{
    FileError, Tried, create_private_folder, free_name, read_if_present, sync_file_system,
    write_whole,
};

/// What is mounted: an upper layer over the work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// The work tree, which is read only through it.
    pub(crate) tree: PathBuf,
    /// Where writes go.
    pub(crate) upper: PathBuf,
    /// What the kernel needs beside it.
    pub(crate) work: PathBuf,
}

/// How far an overlay has got into the real tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Not at all: the real tree has nothing of the attempt.
    Apart,
    /// Somewhere on the way.
    Merging,
    /// Wholly.
    Merged,
}

/// The overlay of one attempt, a folder in the vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Overlay {
    folder: PathBuf,
}

impl Overlay {
    /// The overlay of the attempt whose folder this is, if it has one.
    pub(crate) fn find(attempt_folder: &Path) -> Option<Self> {
        let overlay = Self::below(attempt_folder);
        overlay.upper().is_dir().then_some(overlay)
    }

    /// Makes a new one for an attempt on `tree`; it is there after a power cut, too.
    pub(crate) fn create(attempt_folder: &Path, tree: &Path) -> Result<Self, FileError> {
        let overlay = Self::below(attempt_folder);
        // One that a crash left of an earlier attempt of the same name is not begun on again.
        if overlay.folder.exists() {
            overlay.set_aside()?;
        }
        create_private_folder(&overlay.folder.join("work"))?;
        // Last: without it there is no overlay. It is what the agent sees as its work tree.
        let upper = overlay.upper();
        let mode = fs::metadata(tree).tried("look at", tree)?.mode() & 0o7777;
        create_private_folder(&upper)?;
        fs::set_permissions(&upper, fs::Permissions::from_mode(mode))
            .tried("set the mode of", &upper)?;
        for folder in [&overlay.folder, attempt_folder] {
            let handle = File::open(folder).tried("open", folder)?;
            handle.sync_all().tried("sync", folder)?;
        }
        Ok(overlay)
    }

    fn below(attempt_folder: &Path) -> Self {
        Self {
            folder: attempt_folder.join("overlay"),
        }
    }

    /// What the attempt wrote.
    pub(crate) fn upper(&self) -> PathBuf {
        self.folder.join("upper")
    }

    /// A folder beside it, for what lives no longer than the overlay.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the guard mounts.
    pub(crate) fn mount(&self, tree: &Path) -> Mount {
        Mount {
            tree: tree.to_owned(),
            upper: self.upper(),
            work: self.folder.join("work"),
        }
    }

    /// How far it is merged.
    pub(crate) fn progress(&self) -> Progress {
        if self.folder.join("merged").exists() {
            Progress::Merged
        } else if self.folder.join("merging").exists() {
            Progress::Merging
        } else {
            Progress::Apart
        }
    }

    /// Notes, durably, that the real tree is about to be touched, and the snapshot of what it was
    /// where that is not the checkpoint.
    pub(crate) fn note_merging(&self, before: Option<&str>) -> Result<(), FileError> {
        let text = before.unwrap_or_default();
        write_whole(&self.folder.join("merging"), text.as_bytes(), 0o600)?;
        sync_file_system(&self.folder)
    }

    /// Notes that all of it is in the real tree.
    pub(crate) fn note_merged(&self) -> Result<(), FileError> {
        write_whole(&self.folder.join("merged"), b"", 0o600)
    }

    /// Notes that the real tree did not take all of it.
    pub(crate) fn note_left_out(&self) -> Result<(), FileError> {
        write_whole(&self.folder.join("left-out"), b"", 0o600)
    }

    /// True where the real tree did not take all of it.
    pub(crate) fn has_left_out(&self) -> bool {
        self.folder.join("left-out").exists()
    }

    /// The snapshot of the real tree before the merge, where that was not the checkpoint.
    pub(crate) fn before(&self) -> Result<Option<String>, FileError> {
        let text = read_if_present(&self.folder.join("merging"))?.unwrap_or_default();
        let id = String::from_utf8_lossy(&text).into_owned();
        Ok(Some(id).filter(|id| !id.is_empty()))
    }

    /// Sets it aside, whole, once its attempt is parked.
    pub(crate) fn set_aside(&self) -> Result<(), FileError> {
        // The kernel's scratch, which nobody may look into.
        let work = self.folder.join("work");
        if work.exists() {
            remove_tree(&work)?;
        }
        let aside = free_name(&self.folder.with_extension("parked"));
        fs::rename(&self.folder, aside).tried("set aside", &self.folder)
    }

    /// Removes it once all it holds is saved elsewhere.
    pub(crate) fn remove(&self) -> Result<(), FileError> {
        remove_tree(&self.folder)
    }
}
