//! The stash, which all work trees share: entries of the checkpoint come back, entries an agent added
//! go, and all others stay.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::run_state::Current;
use super::snapshot::Snapshot;
use super::{CheckpointError, Checkpoints, Notice, Result};
use crate::edge::files::{FileError, Tried, create_private_folder, read_if_present, write_whole};
use crate::edge::object_id::ObjectId;
use crate::edge::ref_log::{LogLine, chained, parse, since};
use crate::edge::steps::STASH;

/// How often, and how long apart, a stash that moves is looked at again.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// Its log, in the shared git directory.
const LOG: &str = "logs/refs/stash";

/// What the stash is to become.
struct Target {
    log: Vec<u8>,
    tip: Option<ObjectId>,
    notices: Vec<Notice>,
}

impl Checkpoints {
    /// Restores the stash after a failed attempt.
    pub(super) async fn restore_stash(
        &self,
        current: &Current,
        base: &Arc<Snapshot>,
        trash: &Path,
    ) -> Result<Vec<Notice>> {
        let agents = |added: &[LogLine]| self.stashed_by_agent(current, added);
        self.settle_stash(base, &agents, trash).await
    }

    /// Restores what the stash has lost since a snapshot; what it gained stays.
    pub(super) async fn restore_stash_of(
        &self,
        snapshot: &Arc<Snapshot>,
        trash: &Path,
    ) -> Result<Vec<Notice>> {
        let agents = |added: &[LogLine]| vec![false; added.len()];
        self.settle_stash(snapshot, &agents, trash).await
    }

    async fn settle_stash(
        &self,
        base: &Snapshot,
        agents: &dyn Fn(&[LogLine]) -> Vec<bool>,
        trash: &Path,
    ) -> Result<Vec<Notice>> {
        let before = base.control.refs.get(STASH).copied();
        if self.places.repository.has_reftable() {
            return self.settle_listed_stash(before, agents).await;
        }
        let path = self.places.repository.common_dir.join(LOG);
        let kept = base.control.shared(LOG).unwrap_or_default();
        for _ in 0..TRIES {
            let log = read_if_present(&path)?.unwrap_or_default();
            let (refs, _) = self.observe().await?;
            let now = refs.get(STASH).copied();
            if log == kept && now == before {
                return Ok(Vec::new());
            }
            let target = self.target((kept, before), &log, agents);
            if (log == target.log && now == target.tip)
                || self.replace_stash((&log, now), &target, trash).await?
            {
                return Ok(target.notices);
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(CheckpointError::failed(
            "could not restore the stash: another process moves it all the time",
            "end that process, then run `ralphtool resume`",
        ))
    }

    fn target(
        &self,
        (kept, before): (&[u8], Option<ObjectId>),
        log: &[u8],
        agents: &dyn Fn(&[LogLine]) -> Vec<bool>,
    ) -> Target {
        let old = parse(kept);
        let mut added = parse(log);
        added.retain(|line| !old.iter().any(|it| it.new == line.new));
        let is_agents = agents(&added);
        let (dropped, stays): (Vec<_>, Vec<_>) =
            added.into_iter().zip(is_agents).partition(|it| it.1);
        let ids = |lines: &[(LogLine, bool)]| {
            let ids: Vec<String> = lines.iter().map(|it| it.0.new.short()).collect();
            ids.join(", ")
        };
        let mut notices = Vec::new();
        if !dropped.is_empty() {
            let message = format!(
                "what the attempt had stashed is dropped, and kept in the vault: {}; \
                 `git stash store ID` takes one again",
                ids(&dropped)
            );
            notices.push(Notice::new("stash_restored", message));
        }
        if stays.is_empty() {
            return Target {
                log: kept.to_vec(),
                tip: before,
                notices,
            };
        }
        let message = format!(
            "the stash gained what nothing shows to be the agent's, and it stays: {}",
            ids(&stays)
        );
        notices.push(Notice::new("stash_left", message));
        let tip = stays.last().map(|it| it.0.new);
        let lines: Vec<LogLine> = old
            .into_iter()
            .chain(stays.into_iter().map(|it| it.0))
            .collect();
        Target {
            log: chained(&lines, self.places.repository.format.zero()).into_bytes(),
            tip,
            notices,
        }
    }

    /// Replaces log and ref under git's own lock; false where they moved meanwhile.
    async fn replace_stash(
        &self,
        (log, now): (&[u8], Option<ObjectId>),
        target: &Target,
        trash: &Path,
    ) -> Result<bool> {
        let shared = &self.places.repository.common_dir;
        let path = shared.join(LOG);
        let Some(tip) = target.tip else {
            // It may be among the packed refs, which git alone changes.
            let Some(now) = now else {
                let _ = fs::remove_file(&path);
                return Ok(true);
            };
            let id = now.to_string();
            let deleted = self.git.run(["update-ref", "-d", STASH, &id]).await;
            let (refs, _) = self.observe().await?;
            return match deleted {
                Err(error) if refs.get(STASH) == Some(&now) => Err(error.into()),
                _ => Ok(false),
            };
        };
        let lock = shared.join(format!("{STASH}.lock"));
        self.free_lock(&lock, trash).await?;
        if let Some(folder) = lock.parent() {
            fs::create_dir_all(folder).tried("create", folder)?;
        }
        let mut options = OpenOptions::new();
        let mut file = match options.write(true).create_new(true).mode(0o666).open(&lock) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            other => other.tried("create", &lock)?,
        };
        let replaced = writeln!(file, "{tip}")
            .tried("write", &lock)
            .and_then(|()| replace_log(&path, log, (&target.log, trash)));
        match replaced {
            Ok(true) => {
                let reference = shared.join(STASH);
                fs::rename(&lock, &reference).tried("replace", &reference)?;
                Ok(true)
            }
            other => {
                let _ = fs::remove_file(&lock);
                Ok(other?)
            }
        }
    }

    /// Where refs are in tables, git alone changes them: entries that are surely the agent's are
    /// dropped, newest first, as long as nothing else was added.
    async fn settle_listed_stash(
        &self,
        before: Option<ObjectId>,
        agents: &dyn Fn(&[LogLine]) -> Vec<bool>,
    ) -> Result<Vec<Notice>> {
        let (refs, _) = self.observe().await?;
        let now = refs.get(STASH).copied();
        if now == before {
            return Ok(Vec::new());
        }
        let log = self.log_of(STASH).await.unwrap_or_default();
        let added = now.and_then(|now| since(&log, before, now));
        let is_agents = added.is_some_and(|added| agents(added).iter().all(|it| *it));
        let Some(added) = added.filter(|_| is_agents) else {
            let message = "the stash is not as it was at the checkpoint; it stays as it is, and what \
                           it held is in the vault";
            return Ok(vec![Notice::new("stash_left", message)]);
        };
        for _ in added {
            self.git.run(["stash", "drop", "-q"]).await?;
        }
        Ok(Vec::new())
    }
}

/// Writes the log, where it still is what it was; the old one is kept.
fn replace_log(path: &Path, seen: &[u8], (log, trash): (&[u8], &Path)) -> Result<bool, FileError> {
    let now = read_if_present(path)?.unwrap_or_default();
    if now != seen {
        return Ok(false);
    }
    let aside = trash.join("git").join(LOG);
    if let Some(folder) = aside.parent() {
        create_private_folder(folder)?;
    }
    write_whole(&aside, &now, 0o600)?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).tried("create", folder)?;
    }
    write_whole(path, log, 0o644)?;
    Ok(true)
}
