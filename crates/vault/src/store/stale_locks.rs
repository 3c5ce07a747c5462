//! Lock files that a git process of ours left in the vault when it was killed. Git refuses to touch
//! what they lock without end, so the next process that holds the vault moves them aside.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_base::files::{FileError, move_away};

/// How long a git process that outlived its ralphtool may take to finish.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(10);

/// Moves all lock files of git in a vault to its trash. The caller holds the vault's own lock, so no
/// ralphtool is alive that could have started the git process they belong to.
pub(super) fn clear(vault: &Path) -> Result<(), FileError> {
    if find(vault).is_empty() {
        return Ok(());
    }
    // Where ralphtool alone was killed, its git runs on for a moment.
    let end = Instant::now() + PATIENCE;
    while is_git_at_work(vault) && !find(vault).is_empty() && Instant::now() < end {
        std::thread::sleep(PAUSE);
    }
    let name = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S-%3f-locks");
    let trash = vault.join("trash").join(name.to_string());
    for lock in find(vault) {
        let place = lock.strip_prefix(vault).unwrap_or(&lock);
        match move_away(&lock, &trash.join(place)) {
            Err(error) if fs::symlink_metadata(&lock).is_ok() => return Err(error),
            // Its owner removed it after all.
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// True where the process that a lock names is there, or none is named.
pub(super) fn is_alive(owner: &str) -> bool {
    let number = owner.split(' ').nth(1).and_then(|it| it.parse().ok());
    let pid = number.and_then(rustix::process::Pid::from_raw);
    pid.is_none_or(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// Every lock file, in the places where git makes them.
fn find(vault: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in ["", "incoming"] {
        found.extend(split(&vault.join(name)).0);
    }
    let mut folders = ["work", "store", "snapshots"]
        .map(|name| vault.join(name))
        .to_vec();
    while let Some(folder) = folders.pop() {
        let (locks, mut inside) = split(&folder);
        // Git makes none beside a loose object.
        if folder.ends_with("objects") {
            inside.retain(|it| it.file_name().is_some_and(|name| name.len() > 2));
        }
        found.extend(locks);
        folders.append(&mut inside);
    }
    found
}

/// The lock files in a folder, and the folders in it.
fn split(folder: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let listing = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let (folders, files): (Vec<_>, Vec<_>) = listing.partition(is_folder);
    let files = files.into_iter().map(|entry| entry.path());
    let locks = files.filter(|path| path.extension().is_some_and(|it| it == "lock"));
    let folders = folders.into_iter().map(|entry| entry.path());
    (locks.collect(), folders.collect())
}

/// True where a git process works on a repository or index in the vault.
#[cfg(target_os = "linux")]
fn is_git_at_work(vault: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt as _;
    let processes = fs::read_dir("/proc").into_iter().flatten();
    let in_vault = |variable: &[u8]| {
        let value = variable
            .strip_prefix(b"GIT_DIR=")
            .or_else(|| variable.strip_prefix(b"GIT_INDEX_FILE="));
        value.is_some_and(|value| value.starts_with(vault.as_os_str().as_bytes()))
    };
    processes.filter_map(Result::ok).any(|process| {
        let environment = fs::read(process.path().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(in_vault)
    })
}

/// Without a way to ask, a git process is given all the time there is.
#[cfg(not(target_os = "linux"))]
fn is_git_at_work(_vault: &Path) -> bool {
    true
}
