//! Files that one process at a time holds, and that say which.

use std::fs::{self, File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use super::{VaultError, stale_locks};
use ralph_base::files::{FileError, Tried as _, absent};

/// How often a lock is tried whose owner is dead, and how long after the last time.
const LOCK_PATIENCE: u32 = 50;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// True where this process has, or had, a lock.
fn is_own(owner: &str) -> bool {
    owner.starts_with(&format!("process {} since", std::process::id()))
}

/// What stands in a lock file that another process holds; makes and changes nothing.
pub(super) fn held_text(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if absent(&error) => return Ok(None),
        Err(error) => return Err(FileError::new("open", path, error)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => {
            let mut text = Vec::new();
            let _ = file.read_to_end(&mut text);
            Ok(Some(text))
        }
        Err(TryLockError::Error(error)) => Err(FileError::new("lock", path, error)),
    }
}

/// Locks a file, and writes into it who did, with more on lines of its own. A link is not followed:
/// what it leads to would be overwritten.
pub fn lock_file(path: &Path, more: &[u8]) -> Result<File, VaultError> {
    let mut file = fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
        .tried("open", path)?;
    let mut patience = LOCK_PATIENCE;
    while let Err(error) = file.try_lock() {
        let TryLockError::WouldBlock = error else {
            let error = std::io::Error::from(error);
            return Err(FileError::new("lock", path, error).into());
        };
        let owner = fs::read_to_string(path).unwrap_or_default();
        // A child that the last owner was just starting still has the lock for a moment.
        if patience == 0 || stale_locks::is_alive(&owner) && !is_own(&owner) {
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
    let mut text = owner.into_bytes();
    if !more.is_empty() {
        text.extend_from_slice(more);
        text.push(b'\n');
    }
    let written = file
        .set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| file.write_all(&text));
    written.tried("write", path)?;
    Ok(file)
}
