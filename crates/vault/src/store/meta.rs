//! Which repository a vault belongs to: a token that both have, and where the repository was last.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::git::repository::Repository;
use crate::journal::steps::DAMAGED;
use ralph_base::files::{FileError, Tried, read_if_present, write_whole};

/// Name of the one file of ours in the user's git directory.
pub const TOKEN_FILE: &str = "ralphtool.id";

/// What the vault knows about the repository it belongs to.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Meta {
    pub(crate) work_tree: String,
    git_dir: String,
    pub(super) token: String,
    /// Device and number of the git directory: a copy has others. None in old vaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity: Option<(u64, u64)>,
    /// Where the work tree was before the repository was moved; paths in the journal may say so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) former: Vec<String>,
}

impl Meta {
    /// A repository where it is now.
    pub(super) fn of(repository: &Repository, token: String) -> Self {
        Self {
            work_tree: repository.work_tree.to_string_lossy().into_owned(),
            git_dir: repository.git_dir.to_string_lossy().into_owned(),
            token,
            identity: identity(&repository.git_dir),
            former: Vec::new(),
        }
    }

    pub(crate) fn read(vault: &Path) -> Result<Option<Self>, FileError> {
        let bytes = read_if_present(&vault.join("meta.json"))?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    pub(super) fn write(&self, vault: &Path) -> Result<(), FileError> {
        let path = vault.join("meta.json");
        let text = serde_json::to_vec(self)
            .map_err(std::io::Error::other)
            .tried("write", &path)?;
        write_whole(&path, &text, 0o600)
    }

    /// Writes the token into the git directory of a repository.
    pub(super) fn write_token(&self, repository: &Repository) -> Result<(), FileError> {
        let path = repository.git_dir.join(TOKEN_FILE);
        write_whole(&path, self.token.as_bytes(), 0o644)
    }

    pub(super) fn with_identity_of(self, repository: &Repository) -> Self {
        let identity = identity(&repository.git_dir);
        Self { identity, ..self }
    }

    pub(super) fn is_at(&self, repository: &Repository) -> bool {
        self.work_tree == repository.work_tree.to_string_lossy()
    }

    /// Whether the git directory is the very one that had the token last, whatever it holds.
    pub(super) fn is_same_directory(&self, repository: &Repository) -> bool {
        self.identity.is_some() && self.identity == identity(&repository.git_dir)
    }

    /// Whether the repository, which has the token of this vault, is the one it belongs to and not a
    /// copy of it.
    pub(super) fn is_moved_to(&self, repository: &Repository) -> bool {
        // Moved to another file system it has other numbers, as a copy there would.
        let may_be_same = match (self.identity, identity(&repository.git_dir)) {
            (Some((device, _)), Some((other, _))) => device != other,
            _ => true,
        };
        self.is_same_directory(repository) || may_be_same && !self.is_original_there()
    }

    /// Whether the repository this vault belongs to is where it was last.
    pub(crate) fn is_original_there(&self) -> bool {
        token_in(Path::new(&self.git_dir)).as_deref() == Some(self.token.as_bytes())
    }
}

/// The token in a git directory, where there is one; nothing else than a file is opened.
pub(super) fn token_in(git_dir: &Path) -> Option<Vec<u8>> {
    let path = git_dir.join(TOKEN_FILE);
    let is_file = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
    is_file.then(|| fs::read(&path).ok()).flatten()
}

/// Device and number of a folder.
fn identity(folder: &Path) -> Option<(u64, u64)> {
    let found = fs::metadata(folder).ok()?;
    Some((found.dev(), found.ino()))
}

/// What all vaults know about their repositories.
pub(super) fn all_metas(state: &Path) -> impl Iterator<Item = (PathBuf, Meta)> {
    let listing = fs::read_dir(state.join("ralphtool"));
    let folders = listing.into_iter().flatten().flatten();
    folders.filter_map(|entry| {
        let folder = entry.path();
        if folder.to_string_lossy().ends_with(DAMAGED) {
            return None;
        }
        let meta = Meta::read(&folder).ok().flatten()?;
        Some((folder, meta))
    })
}

/// A path that a vault wrote down, where it is now: the repository may have been moved since.
pub fn where_now(vault: &Path, repository: &Repository, path: &str) -> String {
    let Some(meta) = Meta::read(vault).ok().flatten() else {
        return path.to_owned();
    };
    let mut places = std::iter::once(&meta.work_tree).chain(meta.former.iter().rev());
    let inside = places.find_map(|place| Path::new(path).strip_prefix(place).ok());
    let Some(inside) = inside else {
        return path.to_owned();
    };
    let mut now = repository.work_tree.clone();
    now.extend(inside);
    now.to_string_lossy().into_owned()
}
