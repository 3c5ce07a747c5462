//! Lock files of git that a dead process left are moved aside; those of a live one never are.
//!
//! A lock is stale only where all of this holds: it appeared after the last attempt began (or the run,
//! where there was no attempt), whose processes have all ended; no process has it open; no git that may
//! write is at work on the repository, in any of its work trees; and it did not change for a while.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{CheckpointError, Notice, Result};
use crate::git::locks::{Holder, holder};
use crate::journal::steps::{Step, read};
use crate::repo::Repo;
use ralph_base::files::{free_name, move_away};

/// How often, and how long apart, a lock that is held is looked at again.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(50);

/// A lock that changed less than this ago may be one of a process that is just starting or ending.
const QUIET_MS: i64 = 500;

/// Clocks of file systems run late by as much.
const SLACK_MS: i64 = 1000;

/// The state of a lock file.
enum Lock {
    Gone,
    Stale {
        inode: u64,
    },
    Quieting,
    Held(Holder),
    /// It was there before anything of ours began.
    Old,
}

impl Repo {
    /// Moves one lock aside that is stale; waits for one that is held.
    pub(crate) fn free_lock(&self, lock: &Path, trash: &Path) -> Result<bool> {
        let mut holder = None;
        for _ in 0..TRIES {
            match self.inspect(lock) {
                Lock::Gone => return Ok(false),
                Lock::Stale { inode } if move_lock_aside(lock, inode, trash)? => return Ok(true),
                Lock::Old => return Err(old(lock)),
                Lock::Held(found) => holder = Some(found),
                Lock::Stale { .. } | Lock::Quieting => {}
            }
            std::thread::sleep(PAUSE);
        }
        Err(held(lock, holder))
    }

    /// Moves one lock aside that is stale, or is so within a moment.
    pub(crate) fn free_if_stale(&self, lock: &Path, trash: &Path) -> Result<bool> {
        let tries = QUIET_MS / 50 + 2;
        for _ in 0..tries {
            match self.inspect(lock) {
                Lock::Stale { inode } => return move_lock_aside(lock, inode, trash),
                Lock::Quieting => std::thread::sleep(PAUSE),
                Lock::Gone | Lock::Held(_) | Lock::Old => return Ok(false),
            }
        }
        Ok(false)
    }

    fn inspect(&self, lock: &Path) -> Lock {
        let Ok(metadata) = fs::symlink_metadata(lock) else {
            return Lock::Gone;
        };
        if let Some(holder) = holder(lock, &self.places.repository) {
            return Lock::Held(holder);
        }
        let at = metadata.ctime() * 1000 + metadata.ctime_nsec() / 1_000_000;
        if at + SLACK_MS < self.began_ms() {
            return Lock::Old;
        }
        if jiff::Timestamp::now().as_millisecond() - at < QUIET_MS {
            return Lock::Quieting;
        }
        Lock::Stale {
            inode: metadata.ino(),
        }
    }

    /// When the last attempt began, or the run; in milliseconds.
    fn began_ms(&self) -> i64 {
        let lines = read(&self.places.vault.journal()).unwrap_or_default();
        let run = self.reasons.run.as_ref();
        let mut of_run = lines.iter().filter(|line| Some(&line.run) == run);
        let first = of_run.next();
        let attempt = lines
            .iter()
            .rfind(|line| matches!(line.step, Step::AttemptStarted { .. }));
        let attempt = attempt.filter(|line| Some(&line.run) == run);
        attempt.or(first).map_or(0, |line| line.at.as_millisecond())
    }
}

/// Moves a lock aside; false where it is another one by now.
fn move_lock_aside(lock: &Path, inode: u64, trash: &Path) -> Result<bool> {
    let is_same = |path: &Path| fs::symlink_metadata(path).is_ok_and(|it| it.ino() == inode);
    if !is_same(lock) {
        return Ok(false);
    }
    let name = lock.file_name().unwrap_or_default();
    let aside: PathBuf = free_name(&trash.join("locks").join(name));
    move_away(lock, &aside)?;
    // A copy has another number; that is so only where it went to another file system.
    let is_other = fs::symlink_metadata(&aside).is_ok_and(|it| it.nlink() > 0)
        && ralph_base::files::device(&aside) == lock.parent().and_then(ralph_base::files::device)
        && !is_same(&aside);
    if is_other {
        // It was taken by a live process just now: it gets its lock again.
        let _ = fs::hard_link(&aside, lock);
        return Ok(false);
    }
    Ok(true)
}

pub(crate) fn moved_notice(lock: &Path) -> Notice {
    let message = format!("moved `{}` aside: no process held it", lock.display());
    Notice::new("stale_lock", message)
}

pub(crate) fn held(lock: &Path, holder: Option<Holder>) -> CheckpointError {
    let (who, end) = match holder {
        Some(Holder { pid, command }) => (
            format!("process {pid} (`{command}`)"),
            format!("end it with `kill {pid}`"),
        ),
        None => ("another git process".to_owned(), "end it".to_owned()),
    };
    CheckpointError::failed(
        format!("`{}` is held by {who}", lock.display()),
        format!(
            "the work is still in the tree; wait until that process ends, or {end}, then run \
             `ralphtool resume`"
        ),
    )
}

fn old(lock: &Path) -> CheckpointError {
    CheckpointError::failed(
        format!(
            "`{}` existed before the attempt began, so it is not the agent's",
            lock.display()
        ),
        format!(
            "if no git is running, `rm {}`, then run `ralphtool resume`",
            ralph_base::shell::quoted(lock)
        ),
    )
}
