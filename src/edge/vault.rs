//! The vault: everything private of one work tree, outside the repository, in the user's state
//! directory. Paths, the lock, and the check that the repository is still the one it belongs to.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File, TryLockError};
use std::io::{Read as _, Seek, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha1::Digest;

use super::files::{FileError, Tried, absent, create_private_folder, read_if_present, write_whole};
use super::object_id::ObjectFormat;
use super::repository::Repository;

/// Name of the one file of ours in the user's git directory.
pub(crate) const TOKEN_FILE: &str = "ralphtool.id";

/// How often a lock is tried whose owner is dead, and how long after the last time.
const LOCK_PATIENCE: u32 = 50;
const LOCK_PAUSE: std::time::Duration = std::time::Duration::from_millis(20);

/// Why the vault cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VaultError {
    /// Another run has it.
    #[error("another ralphtool works in this tree: {owner}")]
    Locked {
        /// Who.
        owner: String,
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

/// The environment names no place for private state.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("found no place for private files: neither `XDG_STATE_HOME` nor `HOME` is set")]
pub(crate) struct NoStateDirectory;

/// The user's state directory: `$XDG_STATE_HOME`, else `~/.local/state`.
pub(crate) fn state_directory(
    environment: &[(OsString, OsString)],
) -> Result<PathBuf, NoStateDirectory> {
    // A relative path would depend on where the program is started: the standard says to ignore it.
    let folder = |name: &str| {
        let found = environment.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| PathBuf::from(value))
            .filter(|path| path.is_absolute())
    };
    folder("XDG_STATE_HOME")
        .or_else(|| folder("HOME").map(|home| home.join(".local/state")))
        .ok_or(NoStateDirectory)
}

/// What the vault knows about the repository it belongs to.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
struct Meta {
    work_tree: String,
    git_dir: String,
    token: String,
}

/// The private folder of one work tree.
#[derive(Debug)]
pub(crate) struct Vault {
    folder: PathBuf,
    /// Held for the whole life; the kernel frees it when the process dies, however it dies. None
    /// where the vault is only looked at.
    _lock: Option<File>,
}

impl Vault {
    /// The vault's place for a work tree.
    pub(crate) fn folder_for(state: &Path, repository: &Repository) -> PathBuf {
        let bytes = repository.work_tree.as_os_str().as_bytes();
        let digest = sha1::Sha1::digest(bytes);
        let hash = digest.iter().take(6).fold(String::new(), |mut hash, byte| {
            let _ = write!(hash, "{byte:02x}");
            hash
        });
        let name: String = repository
            .work_tree
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .take(40)
            .collect();
        state.join("ralphtool").join(format!("{name}-{hash}"))
    }

    /// Opens and locks the vault, making its folders where they are missing.
    pub(crate) fn open(folder: &Path) -> Result<Self, VaultError> {
        create_private_folder(folder)?;
        let lock = lock(folder)?;
        let vault = Self {
            folder: folder.to_owned(),
            _lock: Some(lock),
        };
        for name in ["snapshots", "raw", "trash", "runs", "learnings"] {
            create_private_folder(&vault.folder.join(name))?;
        }
        Ok(vault)
    }

    /// A vault to look at: neither locked nor made.
    pub(crate) fn unlocked(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            _lock: None,
        }
    }

    /// The vault itself.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The write-ahead journal.
    pub(crate) fn journal(&self) -> PathBuf {
        self.folder.join("journal")
    }

    /// The bare repository that holds objects.
    pub(crate) fn store(&self) -> PathBuf {
        self.folder.join("store")
    }

    /// Plain copies, named by blob id.
    pub(crate) fn raw(&self) -> PathBuf {
        self.folder.join("raw")
    }

    /// All snapshots.
    pub(crate) fn snapshots(&self) -> PathBuf {
        self.folder.join("snapshots")
    }

    /// The folders of all runs.
    pub(crate) fn runs(&self) -> PathBuf {
        self.folder.join("runs")
    }

    /// All that operations removed.
    pub(crate) fn trash_folder(&self) -> PathBuf {
        self.folder.join("trash")
    }

    /// The folder of one snapshot.
    pub(crate) fn snapshot(&self, id: &str) -> PathBuf {
        self.folder.join("snapshots").join(id)
    }

    /// A new folder for what one operation removes.
    pub(crate) fn trash(&self, operation: &str) -> PathBuf {
        self.folder.join("trash").join(operation)
    }

    /// Scratch space on the vault's file system.
    pub(crate) fn scratch(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Makes the bare store where it is missing. Written by hand: it is five small files, and
    /// `git init` would leave HEAD unsynced and copy the user's templates.
    pub(crate) fn ensure_store(&self, format: ObjectFormat) -> Result<(), VaultError> {
        let store = self.store();
        if store.join("HEAD").exists() {
            return Ok(());
        }
        for name in ["objects/info", "objects/pack", "refs/heads", "info"] {
            create_private_folder(&store.join(name))?;
        }
        let extension = match format {
            ObjectFormat::Sha1 => "\trepositoryformatversion = 0\n\tbare = true\n".to_owned(),
            ObjectFormat::Sha256 => format!(
                "\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = {}\n",
                format.name()
            ),
        };
        write_whole(
            &store.join("config"),
            format!("[core]\n{extension}").as_bytes(),
            0o600,
        )?;
        write_whole(
            &store.join("info/attributes"),
            b"* -text -filter -ident -working-tree-encoding\n",
            0o600,
        )?;
        write_whole(&store.join("HEAD"), b"ref: refs/heads/none\n", 0o600)?;
        Ok(())
    }

    /// True where the repository is the one this vault belongs to (or the vault is new).
    pub(crate) fn belongs_to(&self, repository: &Repository) -> Result<bool, VaultError> {
        let Some(meta) = self.meta()? else {
            return Ok(true);
        };
        let token = read_if_present(&repository.git_dir.join(TOKEN_FILE))?;
        Ok(token.is_some_and(|token| token == meta.token.as_bytes()))
    }

    /// Ties vault and repository together with a token in both.
    pub(crate) fn tie(&self, repository: &Repository) -> Result<(), VaultError> {
        if self.meta()?.is_some() && self.belongs_to(repository)? {
            return Ok(());
        }
        let meta = Meta {
            work_tree: repository.work_tree.to_string_lossy().into_owned(),
            git_dir: repository.git_dir.to_string_lossy().into_owned(),
            token: format!("{}\n", random_name(20)),
        };
        let text = serde_json::to_vec(&meta).unwrap_or_default();
        write_whole(
            &repository.git_dir.join(TOKEN_FILE),
            meta.token.as_bytes(),
            0o644,
        )?;
        write_whole(&self.folder.join("meta.json"), &text, 0o600)?;
        Ok(())
    }

    /// Writes the token into a git directory that was rebuilt.
    pub(crate) fn restore_token(&self, repository: &Repository) -> Result<(), VaultError> {
        if let Some(meta) = self.meta()? {
            write_whole(
                &repository.git_dir.join(TOKEN_FILE),
                meta.token.as_bytes(),
                0o644,
            )?;
        }
        Ok(())
    }

    /// Sets the old vault of another repository aside, whole; a new one is opened in its place.
    pub(crate) fn set_aside(self) -> Result<Self, VaultError> {
        let folder = self.folder.clone();
        let mut name = folder.clone().into_os_string();
        name.push(format!(".old-{}", random_name(6)));
        fs::rename(&folder, PathBuf::from(&name)).tried("set aside", &folder)?;
        drop(self);
        Self::open(&folder)
    }

    fn meta(&self) -> Result<Option<Meta>, VaultError> {
        let bytes = read_if_present(&self.folder.join("meta.json"))?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }
}

/// Who works in a vault right now; makes and changes nothing.
pub(crate) fn holder(folder: &Path) -> Result<Option<String>, FileError> {
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

/// The work tree a vault was made for, where it was tied to one.
pub(crate) fn work_tree_of(folder: &Path) -> Result<Option<PathBuf>, FileError> {
    let bytes = read_if_present(&folder.join("meta.json"))?;
    let meta: Option<Meta> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    Ok(meta.map(|meta| PathBuf::from(meta.work_tree)))
}

fn lock(folder: &Path) -> Result<File, VaultError> {
    let path = folder.join("lock");
    let mut file = fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&path)
        .tried("open", &path)?;
    let mut patience = LOCK_PATIENCE;
    while let Err(error) = file.try_lock() {
        let TryLockError::WouldBlock = error else {
            let error = std::io::Error::from(error);
            return Err(FileError::new("lock", &path, error).into());
        };
        let owner = fs::read_to_string(&path).unwrap_or_default();
        // A child that a dead owner was just starting still has the lock for a moment.
        if patience == 0 || is_alive(&owner) {
            return Err(VaultError::Locked {
                owner: owner.trim().to_owned(),
            });
        }
        patience -= 1;
        std::thread::sleep(LOCK_PAUSE);
    }
    let owner = format!(
        "process {} since {}\n",
        std::process::id(),
        jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M:%S UTC")
    );
    let written = file
        .set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| file.write_all(owner.as_bytes()));
    written.tried("write", &path)?;
    Ok(file)
}

/// True where the process that a lock names is there, or none is named.
fn is_alive(owner: &str) -> bool {
    let number = owner.split(' ').nth(1).and_then(|it| it.parse().ok());
    let pid = number.and_then(rustix::process::Pid::from_raw);
    pid.is_none_or(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// A random name of lower-case letters and digits.
pub(crate) fn random_name(length: usize) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut bytes = vec![0; length];
    if rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty()).is_err() {
        let clock = jiff::Timestamp::now().as_nanosecond().to_le_bytes();
        for (slot, byte) in bytes.iter_mut().zip(clock.iter().cycle()) {
            *slot = *byte;
        }
    }
    bytes
        .iter()
        .map(|byte| char::from(ALPHABET[usize::from(byte % 32)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_state_directory_is_named_by_absolute_paths_only() {
        #[track_caller]
        fn case(variables: &[(&str, &str)], want: Result<&str, NoStateDirectory>) {
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
        case(&[("HOME", "")], Err(NoStateDirectory));
    }
}
