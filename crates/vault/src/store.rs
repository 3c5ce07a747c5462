//! The vault: everything private of one work tree, outside the repository, in the user's state
//! directory. Paths, the lock, and the check that the repository is still the one it belongs to.

pub mod repository_lock;

mod lock;
mod meta;
mod private_state;
mod stale_locks;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha1::Digest;

use meta::{all_metas, token_in};

use crate::git::object_id::ObjectFormat;
use crate::git::repository::Repository;
use ralph_base::files::{
    FileError, Tried, absent, create_private_folder, read_if_present, write_whole,
};
use ralph_base::ids::{AttemptId, RunId};
use ralph_base::random_name::random_name;

pub use lock::lock_file;
pub use meta::{TOKEN_FILE, where_now};
pub use private_state::StateDirectoryError;

pub(crate) use meta::Meta;

/// Why the vault cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// Another run has it.
    #[error("another ralphtool works in this tree: {owner}")]
    Locked { owner: String },
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

/// What the name of a vault that was set aside has in it.
pub const SET_ASIDE: &str = ".old-";

/// Whether a vault was set aside for that of another repository in the same place.
pub fn is_set_aside(folder: &Path) -> bool {
    folder
        .file_name()
        .is_some_and(|name| name.to_string_lossy().contains(SET_ASIDE))
}

/// The private folder of one work tree.
#[derive(Debug)]
pub struct VaultFolder {
    folder: PathBuf,
    /// Held as long as this lives; the kernel frees it when the process dies. None where the vault is
    /// only read.
    _lock: Option<File>,
}

impl VaultFolder {
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
        let elsewhere = all_metas(state).find(|(folder, meta)| {
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
        let file = lock_file(&folder.join("lock"), b"")?;
        stale_locks::clear(folder)?;
        let vault = Self {
            folder: folder.to_owned(),
            _lock: Some(file),
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
            _lock: None,
        }
    }

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

    /// The objects of the store.
    pub fn objects(&self) -> PathBuf {
        self.store().join("objects")
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

    /// The folder of one run: its records and transcripts.
    pub(crate) fn run_folder(&self, run: &RunId) -> PathBuf {
        self.runs().join(&run.0)
    }

    /// The folder of one attempt: prompt, stdout, stderr, the git commands the agent ran.
    pub(crate) fn attempt_folder(&self, run: &RunId, attempt: &AttemptId) -> PathBuf {
        self.run_folder(run)
            .join("attempts")
            .join(attempt.to_string())
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
        let (version, extensions) = match format {
            ObjectFormat::Sha1 => (0, String::new()),
            ObjectFormat::Sha256 => {
                let name = format.name();
                (1, format!("[extensions]\n\tobjectFormat = {name}\n"))
            }
        };
        let core = format!("[core]\n\trepositoryformatversion = {version}\n\tbare = true\n");
        let config = core + &extensions;
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
        let meta = Meta::of(repository, format!("{}\n", random_name(20)));
        meta.write_token(repository)?;
        Ok(meta.write(&self.folder)?)
    }

    /// Writes down where the repository is now; gives where it was, if it was moved.
    pub fn note_place(&self, repository: &Repository) -> Result<Option<PathBuf>, VaultError> {
        let Some(old) = self.meta()? else {
            return Ok(None);
        };
        let moved_from = (!old.is_at(repository)).then_some(old.work_tree.clone());
        let mut meta = Meta::of(repository, old.token.clone());
        meta.former = [old.former.as_slice(), moved_from.as_slice()].concat();
        if meta != old {
            meta.write(&self.folder)?;
        }
        Ok(moved_from.map(PathBuf::from))
    }

    /// Writes the token into a git directory that was rebuilt.
    pub fn restore_token(&self, repository: &Repository) -> Result<(), VaultError> {
        let Some(old) = self.meta()? else {
            return Ok(());
        };
        old.write_token(repository)?;
        Ok(old.with_identity_of(repository).write(&self.folder)?)
    }

    /// True where the git directory is the very one that was tied to this vault, whatever it holds.
    pub fn is_same_directory(&self, repository: &Repository) -> bool {
        let meta = self.meta().ok().flatten();
        meta.is_some_and(|meta| meta.is_same_directory(repository))
    }

    /// Sets the old vault of another repository aside, whole; a new one is opened in its place.
    pub fn set_aside(self) -> Result<Self, VaultError> {
        let folder = self.folder.clone();
        let mut name = folder.clone().into_os_string();
        name.push(format!("{SET_ASIDE}{}", random_name(6)));
        fs::rename(&folder, PathBuf::from(&name)).tried("move away", &folder)?;
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

/// What is in a folder; nothing where there is none.
pub(crate) fn listing(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(FileError::new("list", folder, error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.tried("list", folder)?.path());
    }
    paths.sort();
    Ok(paths)
}

/// The last part of a path, as text.
pub(crate) fn name(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Who works in a vault right now; makes and changes nothing.
pub fn holder(folder: &Path) -> Result<Option<String>, FileError> {
    let text = lock::held_text(&folder.join("lock"))?;
    Ok(text.map(|text| String::from_utf8_lossy(&text).trim().to_owned()))
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
