//! Whether what is ours in the state directory is out of the reach of other users.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::store::repository_lock::LOCKS;

/// Who but its owner may write to a folder.
const GROUP_OR_OTHERS: u32 = 0o022;
const OTHERS: u32 = 0o002;
/// In such a folder only the owner of an entry may rename or remove it.
const STICKY: u32 = 0o1000;

/// Why there is no state directory to use.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateDirectoryError {
    /// The environment names none.
    #[error("found no place for private files: neither `XDG_STATE_HOME` nor `HOME` is set")]
    Missing,
    /// A folder of it belongs to another user, who could put other files there.
    #[error(
        "`{}` belongs to another user (id {owner}, you are {own}), who could replace your private files",
        folder.display()
    )]
    Foreign {
        folder: PathBuf,
        owner: u32,
        /// Who runs ralphtool.
        own: u32,
    },
    /// Other users may write to a folder of it.
    #[error(
        "other users may write to `{}` (mode {mode:03o}) and could replace your private files",
        folder.display()
    )]
    Open { folder: PathBuf, mode: u32 },
}

impl StateDirectoryError {
    /// What to do.
    pub fn hint(&self) -> String {
        match self {
            Self::Missing => "set `HOME`, or `XDG_STATE_HOME` to a folder".to_owned(),
            Self::Foreign { .. } => {
                "set `XDG_STATE_HOME` to a folder of your own, such as `XDG_STATE_HOME=$HOME/.local/state`"
                    .to_owned()
            }
            Self::Open { folder, mode } => {
                let whom = if mode & GROUP_OR_OTHERS == OTHERS { "o" } else { "go" };
                format!("run `chmod {whom}-w '{}'`", folder.display())
            }
        }
    }
}

/// Refuses a state directory in which another user could replace what is ours: the directory itself,
/// ralphtool's folder in it, each vault, and the locks. Folders that are not there yet will be ours.
pub(super) fn check(state: &Path) -> Result<(), StateDirectoryError> {
    let own = rustix::process::geteuid().as_raw();
    let folder = state.join("ralphtool");
    // Its group is often the user's alone; what everybody may write to is never private.
    if let Ok(found) = fs::metadata(state)
        && is_open_to(&found, OTHERS)
    {
        return Err(open(state, &found));
    }
    check_folder(&folder, own)?;
    check_folder(&state.join(LOCKS), own)?;
    let Ok(listing) = fs::read_dir(&folder) else {
        return Ok(());
    };
    for entry in listing.filter_map(Result::ok) {
        check_folder(&entry.path(), own)?;
    }
    Ok(())
}

/// A link counts as what it leads to; other users cannot make one in our folder.
fn check_folder(folder: &Path, own: u32) -> Result<(), StateDirectoryError> {
    let Ok(found) = fs::metadata(folder) else {
        return Ok(());
    };
    if found.uid() != own {
        return Err(StateDirectoryError::Foreign {
            folder: folder.to_owned(),
            owner: found.uid(),
            own,
        });
    }
    if is_open_to(&found, GROUP_OR_OTHERS) {
        return Err(open(folder, &found));
    }
    Ok(())
}

fn is_open_to(found: &Metadata, whom: u32) -> bool {
    found.is_dir() && found.mode() & whom != 0 && found.mode() & STICKY == 0
}

fn open(folder: &Path, found: &Metadata) -> StateDirectoryError {
    StateDirectoryError::Open {
        folder: folder.to_owned(),
        mode: found.mode() & 0o7777,
    }
}
