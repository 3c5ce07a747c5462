//! The vault: everything private of one work tree, outside the repository, in the user's state
//! directory. Paths, the lock, and the check that the repository is still the one it belongs to.

pub mod repository_lock;

mod lock;
mod private_state;
mod stale_locks;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File, TryLockError};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha1::Digest;

use crate::git::object_id::ObjectFormat;
use crate::git::repository::Repository;
use crate::journal::steps::DAMAGED;
use ralph_base::files::{
    FileError, Tried, absent, create_private_folder, read_if_present, write_whole,
};
use ralph_base::random_name::random_name;

pub use lock::lock_file;
pub use private_state::StateDirectoryError;

/// Name of the one file of ours in the user's git directory.
pub const TOKEN_FILE: &str = "ralphtool.id";

/// Why the vault cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// Another run has it.
    #[error("another ralphtool works in this tree: {owner}")]
    Locked {
        /// Who.
        owner: String,
    },
    /// Another run has the repository, in another of its work trees.
    #[error(
        "another ralphtool works on this repository, in `{}`: {}",
        owner.work_tree.display(), owner.process
    )]
    RepositoryLocked {
        /// Who, and where.
        owner: crate::store::repository_lock::Owner,
    },
    /// The repository at this path is not the one the vault belongs to.
    #[error(
        "the git directory of `{}` is not the one an unfinished run began in",
        work_tree.display()
    )]
    OtherRepository {
        /// Where.
        work_tree: PathBuf,
        /// The vault that holds the run.
        vault: PathBuf,
    },
    /// The file system does not cooperate.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The user's state directory: `$XDG_STATE_HOME`, else `~/.local/state`. What is ours in it must be
/// out of the reach of other users: it decides what is restored into the work tree, and what may run.
pub fn state_directory(
    environment: &[(OsString, OsString)],
) -> Result<PathBuf, StateDirectoryError> {
    // A relative path would depend on where the program is started: the standard says to ignore it.
    let folder = |name: &str| {
        let found = environment.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| PathBuf::from(value))
            .filter(|path| path.is_absolute())
    };
    let state = folder("XDG_STATE_HOME")
        .or_else(|| folder("HOME").map(|home| home.join(".local/state")))
        .ok_or(StateDirectoryError::Missing)?;
    private_state::check(&state)?;
    Ok(state)
}

/// What the vault knows about the repository it belongs to.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
struct Meta {
    work_tree: String,
    git_dir: String,
    token: String,
    /// Device and number of the git directory: a copy has others. None in old vaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity: Option<(u64, u64)>,
    /// Where the work tree was before the repository was moved; paths in the journal may say so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    former: Vec<String>,
}

impl Meta {
    fn read(folder: &Path) -> Result<Option<Self>, FileError> {
        let bytes = read_if_present(&folder.join("meta.json"))?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    fn write(&self, folder: &Path) -> Result<(), FileError> {
        let path = folder.join("meta.json");
        let text = serde_json::to_vec(self)
            .map_err(std::io::Error::other)
            .tried("write", &path)?;
        write_whole(&path, &text, 0o600)
    }

    fn is_at(&self, repository: &Repository) -> bool {
        self.work_tree == repository.work_tree.to_string_lossy()
    }

    /// Whether the repository, which has the token of this vault, is the one it belongs to and not a
    /// copy of it.
    fn is_moved_to(&self, repository: &Repository) -> bool {
        let present = identity(&repository.git_dir);
        let is_same = self.identity.is_some() && self.identity == present;
        // Moved to another file system it has other numbers, as a copy there would.
        let may_be_same = match (self.identity, present) {
            (Some((device, _)), Some((other, _))) => is_same || device != other,
            _ => true,
        };
        let is_original_there = self.is_original_there();
        is_same || (may_be_same && !is_original_there)
    }
}

impl Meta {
    /// Whether the repository this vault belongs to is where it was last.
    fn is_original_there(&self) -> bool {
        token_in(Path::new(&self.git_dir)).as_deref() == Some(self.token.as_bytes())
    }
}

/// The token in a git directory, where there is one; nothing else than a file is opened.
fn token_in(git_dir: &Path) -> Option<Vec<u8>> {
    let path = git_dir.join(TOKEN_FILE);
    let is_file = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
    is_file.then(|| fs::read(&path).ok()).flatten()
}

/// What the name of a vault that was set aside has in it.
pub const SET_ASIDE: &str = ".old-";

/// Whether a vault was set aside for that of another repository in the same place.
pub fn is_set_aside(folder: &Path) -> bool {
    folder
        .file_name()
        .is_some_and(|name| name.to_string_lossy().contains(SET_ASIDE))
}

/// Device and number of a folder.
fn identity(folder: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata(folder).ok()?;
    Some((found.dev(), found.ino()))
}

/// The lock of a vault: held as long as any copy of it lives. The kernel frees it when the process
/// dies, however it dies.
pub type VaultLock = Arc<File>;

/// The private folder of one work tree.
#[derive(Debug)]
pub struct Vault {
    folder: PathBuf,
    /// None where the vault is only looked at.
    lock: Option<VaultLock>,
}

impl Vault {
    /// The vault of a repository: the one at the place its path says, or, where the repository was
    /// moved, the one that its token names. A copy has the token too, and a vault of its own.
    pub fn folder_for(state: &Path, repository: &Repository) -> PathBuf {
        let token = token_in(&repository.git_dir);
        let is_named = |meta: &Meta| token.as_deref() == Some(meta.token.as_bytes());
        let place = Self::place_for(state, repository);
        let found = Meta::read(&place).ok().flatten();
        if found
            .as_ref()
            .is_some_and(|meta| is_named(meta) && meta.is_at(repository))
        {
            return place;
        }
        let elsewhere = all_metas(state).into_iter().find(|(folder, meta)| {
            let is_here = meta.is_at(repository) && *folder != place && !is_set_aside(folder);
            is_here && token.is_none()
                || is_named(meta) && (is_here || meta.is_moved_to(repository))
        });
        if let Some((folder, _)) = elsewhere {
            return folder;
        }
        if found.is_none_or(|meta| meta.is_at(repository)) {
            return place;
        }
        // The vault at this place went along with a repository that was here before.
        let mut numbered = (2..).map(|number| {
            let mut name = place.clone().into_os_string();
            name.push(format!("-{number}"));
            PathBuf::from(name)
        });
        let is_free = |folder: &PathBuf| {
            let meta = Meta::read(folder).ok().flatten();
            meta.is_none_or(|meta| meta.is_at(repository))
        };
        numbered.find(is_free).unwrap_or(place)
    }

    /// Where the vault of a work tree is made.
    fn place_for(state: &Path, repository: &Repository) -> PathBuf {
        state
            .join("ralphtool")
            .join(named_after(&repository.work_tree))
    }

    /// Opens and locks the vault, making its folders where they are missing.
    pub fn open(folder: &Path) -> Result<Self, VaultError> {
        create_private_folder(folder)?;
        let file = lock(folder)?;
        stale_locks::clear(folder)?;
        Self::open_locked(folder, Arc::new(file))
    }

    /// Opens a vault that this process has locked already.
    pub fn open_locked(folder: &Path, lock: VaultLock) -> Result<Self, VaultError> {
        let vault = Self {
            folder: folder.to_owned(),
            lock: Some(lock),
        };
        for name in ["snapshots", "raw", "trash", "runs", "learnings"] {
            create_private_folder(&vault.folder.join(name))?;
        }
        Ok(vault)
    }

    /// A vault to look at: neither locked nor made.
    pub fn unlocked(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            lock: None,
        }
    }

    /// Its lock, to be held longer than this.
    pub fn lock(&self) -> Option<VaultLock> {
        self.lock.clone()
    }

    /// The vault itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The write-ahead journal.
    pub fn journal(&self) -> PathBuf {
        self.folder.join("journal")
    }

    /// The bare repository that holds objects.
    pub fn store(&self) -> PathBuf {
        self.folder.join("store")
    }

    /// Plain copies, named by blob id.
    pub fn raw(&self) -> PathBuf {
        self.folder.join("raw")
    }

    /// All snapshots.
    pub fn snapshots(&self) -> PathBuf {
        self.folder.join("snapshots")
    }

    /// The folders of all runs.
    pub fn runs(&self) -> PathBuf {
        self.folder.join("runs")
    }

    /// All that operations removed.
    pub fn trash_folder(&self) -> PathBuf {
        self.folder.join("trash")
    }

    /// The folder of one snapshot.
    pub fn snapshot(&self, id: &str) -> PathBuf {
        self.folder.join("snapshots").join(id)
    }

    /// A new folder for what one operation removes.
    pub fn trash(&self, operation: &str) -> PathBuf {
        self.folder.join("trash").join(operation)
    }

    /// Scratch space on the vault's file system.
    pub fn scratch(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Makes the bare store where it is missing. Written by hand: it is five small files, and
    /// `git init` would leave HEAD unsynced and copy the user's templates.
    pub fn ensure_store(&self, format: ObjectFormat) -> Result<(), VaultError> {
        let store = self.store();
        let extension = match format {
            ObjectFormat::Sha1 => "\trepositoryformatversion = 0\n\tbare = true\n".to_owned(),
            ObjectFormat::Sha256 => format!(
                "\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = {}\n",
                format.name()
            ),
        };
        let config = format!("[core]\n{extension}");
        let attributes = "* -text -filter -ident -working-tree-encoding\n";
        let files = [
            ("config", config.as_str()),
            ("info/attributes", attributes),
            ("HEAD", "ref: refs/heads/none\n"),
        ];
        if files.iter().all(|(name, _)| has_bytes(&store.join(name))) {
            return Ok(());
        }
        for name in ["objects/info", "objects/pack", "refs/heads", "info"] {
            create_private_folder(&store.join(name))?;
        }
        for (name, text) in files {
            write_whole(&store.join(name), text.as_bytes(), 0o600)?;
        }
        Ok(())
    }

    /// True where the repository is the one this vault belongs to (or the vault is new).
    pub fn belongs_to(&self, repository: &Repository) -> Result<bool, VaultError> {
        let Some(meta) = self.meta()? else {
            return Ok(true);
        };
        let token = read_if_present(&repository.git_dir.join(TOKEN_FILE))?;
        Ok(token.is_some_and(|token| token == meta.token.as_bytes()))
    }

    /// Ties vault and repository together with a token in both.
    pub fn tie(&self, repository: &Repository) -> Result<(), VaultError> {
        if self.meta()?.is_some() && self.belongs_to(repository)? {
            return Ok(());
        }
        let meta = Meta {
            work_tree: repository.work_tree.to_string_lossy().into_owned(),
            git_dir: repository.git_dir.to_string_lossy().into_owned(),
            token: format!("{}\n", random_name(20)),
            identity: identity(&repository.git_dir),
            former: Vec::new(),
        };
        write_whole(
            &repository.git_dir.join(TOKEN_FILE),
            meta.token.as_bytes(),
            0o644,
        )?;
        meta.write(&self.folder)?;
        Ok(())
    }

    /// Writes down where the repository is now; gives where it was, if it was moved.
    pub fn note_place(&self, repository: &Repository) -> Result<Option<PathBuf>, VaultError> {
        let Some(old) = self.meta()? else {
            return Ok(None);
        };
        let mut meta = Meta {
            work_tree: repository.work_tree.to_string_lossy().into_owned(),
            git_dir: repository.git_dir.to_string_lossy().into_owned(),
            identity: identity(&repository.git_dir),
            ..old.clone()
        };
        let moved_from = (!old.is_at(repository)).then_some(old.work_tree.clone());
        meta.former.extend(moved_from.clone());
        if meta != old {
            meta.write(&self.folder)?;
        }
        Ok(moved_from.map(PathBuf::from))
    }

    /// Writes the token into a git directory that was rebuilt.
    pub fn restore_token(&self, repository: &Repository) -> Result<(), VaultError> {
        if let Some(mut meta) = self.meta()? {
            write_whole(
                &repository.git_dir.join(TOKEN_FILE),
                meta.token.as_bytes(),
                0o644,
            )?;
            meta.identity = identity(&repository.git_dir);
            meta.write(&self.folder)?;
        }
        Ok(())
    }

    /// True where the git directory is the very one that was tied to this vault, whatever it holds.
    pub fn is_same_directory(&self, repository: &Repository) -> bool {
        let meta = self.meta().ok().flatten();
        let known = meta.and_then(|meta| meta.identity);
        known.is_some() && known == identity(&repository.git_dir)
    }

    /// Sets the old vault of another repository aside, whole; a new one is opened in its place.
    pub fn set_aside(self) -> Result<Self, VaultError> {
        let folder = self.folder.clone();
        let mut name = folder.clone().into_os_string();
        name.push(format!("{SET_ASIDE}{}", random_name(6)));
        fs::rename(&folder, PathBuf::from(&name)).tried("set aside", &folder)?;
        drop(self);
        Self::open(&folder)
    }

    fn meta(&self) -> Result<Option<Meta>, VaultError> {
        Ok(Meta::read(&self.folder)?)
    }
}

/// True for a small text file that did not lose its bytes in a power cut: it would be empty or zeros.
fn has_bytes(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| !bytes.is_empty() && !bytes.contains(&0))
}

/// What all vaults know about their repositories.
fn all_metas(state: &Path) -> Vec<(PathBuf, Meta)> {
    let listing = fs::read_dir(state.join("ralphtool"));
    let folders = listing.into_iter().flatten().flatten();
    folders
        .filter_map(|entry| {
            let folder = entry.path();
            if folder.to_string_lossy().ends_with(DAMAGED) {
                return None;
            }
            let meta = Meta::read(&folder).ok().flatten()?;
            Some((folder, meta))
        })
        .collect()
}

/// A path that a vault wrote down, where it is now: the repository may have been moved since.
pub fn where_now(folder: &Path, repository: &Repository, path: &str) -> String {
    let Some(meta) = Meta::read(folder).ok().flatten() else {
        return path.to_owned();
    };
    let places = std::iter::once(&meta.work_tree).chain(meta.former.iter().rev());
    let mut insides = places.filter_map(|place| Path::new(path).strip_prefix(place).ok());
    let Some(inside) = insides.next() else {
        return path.to_owned();
    };
    let mut now = repository.work_tree.clone();
    now.extend(inside);
    now.to_string_lossy().into_owned()
}

/// Who works in a vault right now; makes and changes nothing.
pub fn holder(folder: &Path) -> Result<Option<String>, FileError> {
    let path = folder.join("lock");
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if absent(&error) => return Ok(None),
        Err(error) => return Err(FileError::new("open", &path, error)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => {
            let mut owner = String::new();
            let _ = file.read_to_string(&mut owner);
            Ok(Some(owner.trim().to_owned()))
        }
        Err(TryLockError::Error(error)) => Err(FileError::new("lock", &path, error)),
    }
}

/// Whether the repository of a vault is where the vault says.
pub fn is_home(folder: &Path) -> bool {
    let meta = Meta::read(folder).ok().flatten();
    meta.is_some_and(|meta| meta.is_original_there())
}

/// The work tree a vault was made for, where it was tied to one.
pub fn work_tree_of(folder: &Path) -> Result<Option<PathBuf>, FileError> {
    Ok(Meta::read(folder)?.map(|meta| PathBuf::from(meta.work_tree)))
}

/// A file name of our own for a path: its last part, and what tells it from others.
pub fn named_after(path: &Path) -> String {
    let digest = sha1::Sha1::digest(path.as_os_str().as_bytes());
    let hash = digest.iter().take(6).fold(String::new(), |mut hash, byte| {
        let _ = write!(hash, "{byte:02x}");
        hash
    });
    let name: String = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(40)
        .collect();
    format!("{name}-{hash}")
}

fn lock(folder: &Path) -> Result<File, VaultError> {
    lock_file(&folder.join("lock"), b"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_state_directory_is_named_by_absolute_paths_only() {
        #[track_caller]
        fn case(variables: &[(&str, &str)], want: Result<&str, StateDirectoryError>) {
            let environment: Vec<(OsString, OsString)> = variables
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect();
            assert_eq!(state_directory(&environment), want.map(PathBuf::from));
        }
        let (home, state) = (("HOME", "/home/ann"), ("XDG_STATE_HOME", "/state"));
        case(&[home, state], Ok("/state"));
        case(&[home], Ok("/home/ann/.local/state"));
        case(
            &[home, ("XDG_STATE_HOME", "state")],
            Ok("/home/ann/.local/state"),
        );
        case(
            &[home, ("XDG_STATE_HOME", "")],
            Ok("/home/ann/.local/state"),
        );
        case(&[("HOME", "")], Err(StateDirectoryError::Missing));
    }
}
