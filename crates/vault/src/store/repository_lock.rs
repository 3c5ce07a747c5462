//! One process at a time works on a repository: its linked work trees share refs, stash, config,
//! hooks and objects, and what a run restores in one of them it would undo in the others.
//!
//! The lock is a file in the user's state directory, named after the git directory that all work trees
//! share. It is never removed: a lock that is removed can be taken twice.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::git::repository::Repository;
use crate::store::lock::held_text;
use crate::store::{VaultError, lock_file, named_after};
use ralph_base::files::create_private_folder;

/// The folder of the locks in the state directory.
pub const LOCKS: &str = "ralphtool-locks";

/// Held until it is dropped, or the process ends.
#[derive(Debug)]
pub struct RepositoryLock {
    _file: File,
}

/// The process that works on a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Which, and since when.
    pub process: String,
    pub work_tree: PathBuf,
    /// The vault of that work tree.
    pub vault: PathBuf,
}

impl RepositoryLock {
    /// Takes the lock, or says who has it.
    pub fn take(state: &Path, repository: &Repository, vault: &Path) -> Result<Self, VaultError> {
        let path = path(state, repository);
        if let Some(folder) = path.parent() {
            create_private_folder(folder)?;
        }
        let places = [repository.work_tree.as_path(), vault].map(|it| it.as_os_str().as_bytes());
        match lock_file(&path, &places.join(&0)) {
            Ok(file) => Ok(Self { _file: file }),
            Err(VaultError::Locked { .. }) => Err(VaultError::RepositoryLocked {
                owner: owner_in(&std::fs::read(&path).unwrap_or_default()),
            }),
            Err(error) => Err(error),
        }
    }
}

/// Who works on a repository right now, in any of its work trees; makes and changes nothing.
pub fn owner(state: &Path, repository: &Repository) -> Option<Owner> {
    let held = held_text(&path(state, repository)).ok()?;
    held.map(|text| owner_in(&text))
}

fn path(state: &Path, repository: &Repository) -> PathBuf {
    let name = format!("{}.lock", named_after(&repository.common_dir));
    state.join(LOCKS).join(name)
}

/// The first line names the process; the work tree and the vault follow, which may have any name.
fn owner_in(text: &[u8]) -> Owner {
    let mut parts = text.splitn(2, |byte| *byte == b'\n');
    let process = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let places = parts.next().unwrap_or_default();
    let places = places.strip_suffix(b"\n").unwrap_or(places);
    let mut places = places.split(|byte| *byte == 0).map(OsStr::from_bytes);
    let mut next = || PathBuf::from(places.next().unwrap_or_default());
    Owner {
        process,
        work_tree: next(),
        vault: next(),
    }
}
