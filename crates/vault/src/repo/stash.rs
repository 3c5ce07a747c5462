//! The stash, which all work trees share: entries of the checkpoint come back, entries an agent added
//! go, and all others stay.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::control::Control;
use super::proof::listed_log;
use super::shape::Shape;
use crate::error::{CheckpointError, Notice, Result};
use crate::git::object_id::ObjectId;
use crate::git::process::GitError;
use crate::git::ref_log::{LogLine, chained, parse};
use crate::git::repository::{Head, Refs};
use crate::journal::run_state::Current;
use crate::journal::steps::STASH;
use crate::paths::{create_folder_above, create_private_folder_above};
use crate::repo::Repo;
use crate::repo::snapshot::Snapshot;
use ralph_base::files::{FileError, Tried, read_if_present, write_whole};

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

impl Repo {
    /// Restores the stash after a failed attempt.
    pub(crate) fn restore_stash(
        &self,
        current: &Current,
        base: &Arc<Snapshot>,
        trash: &Path,
    ) -> Result<Vec<Notice>> {
        let agents = |added: &[LogLine]| self.stashed_by_agent(current, added);
        self.settle_stash(base, &agents, trash)
    }

    /// Restores what the stash has lost since a snapshot; what it gained stays.
    pub(crate) fn restore_stash_of(
        &self,
        snapshot: &Arc<Snapshot>,
        trash: &Path,
    ) -> Result<Vec<Notice>> {
        let agents = |added: &[LogLine]| vec![false; added.len()];
        self.settle_stash(snapshot, &agents, trash)
    }

    fn settle_stash(
        &self,
        base: &Snapshot,
        agents: &dyn Fn(&[LogLine]) -> Vec<bool>,
        trash: &Path,
    ) -> Result<Vec<Notice>> {
        let before = base.control.refs.get(STASH).copied();
        if self.places.repository.has_reftable() {
            return self.settle_listed_stash(base, agents);
        }
        let path = self.places.repository.common_dir.join(LOG);
        let kept = base.control.shared(LOG).unwrap_or_default();
        for _ in 0..TRIES {
            let log = read_if_present(&path)?.unwrap_or_default();
            let (refs, _) = self.observe()?;
            let now = refs.get(STASH).copied();
            if log == kept && now == before {
                return Ok(Vec::new());
            }
            let target = self.target(kept, before, &log, agents);
            if (log == target.log && now == target.tip)
                || self.replace_stash(&log, now, &target, trash)?
            {
                return Ok(target.notices);
            }
            std::thread::sleep(PAUSE);
        }
        Err(moves_all_the_time())
    }

    fn target(
        &self,
        kept: &[u8],
        before: Option<ObjectId>,
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
                "stash entries of the attempt are dropped, and kept in the vault: {}; `git stash \
                 store ID` restores one",
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
            "new stash entries that may not be the agent's were left in place: {}",
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
    fn replace_stash(
        &self,
        log: &[u8],
        now: Option<ObjectId>,
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
            let deleted = self.gits.user.run(["update-ref", "-d", STASH, &id]);
            let (refs, _) = self.observe()?;
            return match deleted {
                Err(error) if refs.get(STASH) == Some(&now) => Err(error.into()),
                _ => Ok(false),
            };
        };
        let lock = shared.join(format!("{STASH}.lock"));
        self.free_lock(&lock, trash)?;
        create_folder_above(&lock)?;
        let mut file = match File::create_new(&lock) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            other => other.tried("create", &lock)?,
        };
        let replaced = writeln!(file, "{tip}")
            .tried("write", &lock)
            .and_then(|()| replace_log(&path, log, &target.log, trash));
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

    /// Where refs are in tables, git alone changes them and their logs.
    fn settle_listed_stash(
        &self,
        base: &Snapshot,
        agents: &dyn Fn(&[LogLine]) -> Vec<bool>,
    ) -> Result<Vec<Notice>> {
        let before = base.control.refs.get(STASH).copied();
        let kept = base.control.shared(LOG).unwrap_or_default();
        let kept_ids = ids(&parse(kept));
        let mut notices = Vec::new();
        for _ in 0..TRIES {
            let (refs, _) = self.observe()?;
            let now = refs.get(STASH).copied();
            let listed = match now {
                Some(_) => listed_log(&self.gits.user, STASH),
                None => Some(Vec::new()),
            };
            // An agent can empty the log and leave the ref.
            let is_listed = |tip: ObjectId, listed: &[LogLine]| {
                listed.last().is_some_and(|it| it.new == tip) || kept_ids.contains(&tip)
            };
            let is_whole = |listed: &Vec<LogLine>| {
                kept_ids.last() == before.as_ref() && now.is_none_or(|tip| is_listed(tip, listed))
            };
            let Some(listed) = listed.filter(is_whole) else {
                return Ok(Vec::from_iter((now != before).then(left_unlisted)));
            };
            let zero = self.places.repository.format.zero();
            let found = chained(&without_repeats(&listed), zero).into_bytes();
            let target = self.target(kept, before, &found, agents);
            if notices.is_empty() {
                notices = target.notices;
            }
            let wanted = parse(&target.log);
            if ids(&listed) == ids(&wanted) {
                return Ok(notices);
            }
            if !self.rebuild_listed_stash(&listed, now, &wanted)? {
                std::thread::sleep(PAUSE);
            }
        }
        Err(moves_all_the_time())
    }

    /// Adds what is wanted on top before it drops what is not, so that a crash in between loses no
    /// entry. False where another process moves the stash meanwhile.
    fn rebuild_listed_stash(
        &self,
        listed: &[LogLine],
        now: Option<ObjectId>,
        wanted: &[LogLine],
    ) -> Result<bool> {
        let mut tip = self.places.repository.format.zero();
        if let Some(now) = now {
            tip = now;
            let old = tip.to_string();
            let newest = listed.last().filter(|_| !wanted.is_empty());
            let Some(newest) = newest.map(|it| it.new) else {
                let deleted = self.gits.user.run(["update-ref", "-d", STASH, &old]);
                return self.is_done(deleted, tip);
            };
            // Git writes no line for a ref that is there already: away from it first.
            if newest != tip {
                let args = ["update-ref", STASH, &newest.to_string(), &old];
                let moved = self.gits.user.run(args);
                return self.is_done(moved, tip);
            }
        }
        let pairs = listed.iter().zip(wanted);
        let common = pairs.take_while(|(is, to_be)| is.new == to_be.new).count();
        let missing = &wanted[common..];
        for line in missing {
            if line.new != tip && !self.add_to_stash(line, tip)? {
                return Ok(false);
            }
            tip = line.new;
        }
        let listed = listed_log(&self.gits.user, STASH).unwrap_or_default();
        if !ids(&listed).ends_with(&ids(missing)) {
            return Ok(false);
        }
        let newest_unwanted = format!("{STASH}@{{{}}}", missing.len());
        for _ in common + missing.len()..listed.len() {
            let drop = ["reflog", "delete", "--updateref", "--rewrite"];
            let args = drop.into_iter().chain([newest_unwanted.as_str()]);
            self.gits.user.run(args)?;
        }
        Ok(true)
    }

    /// Adds an entry, as `git stash store` does, with the committer and the time it had; false where the
    /// stash is no longer at `tip`.
    fn add_to_stash(&self, line: &LogLine, tip: ObjectId) -> Result<bool> {
        let git = match line.committer() {
            Some(committer) => self.gits.user.with_committer(committer),
            None => self.gits.user.clone(),
        };
        let (new, old) = (line.new.to_string(), tip.to_string());
        let mut args = vec!["update-ref", "--create-reflog"];
        // Git refuses an empty message.
        if !line.message.is_empty() {
            args.extend(["-m", &line.message]);
        }
        args.extend([STASH, &new, &old]);
        let added = git.run(args);
        self.is_done(added, tip)
    }

    /// False where git refused because the stash is no longer at `tip`.
    fn is_done(&self, answer: Result<Vec<u8>, GitError>, tip: ObjectId) -> Result<bool> {
        let Err(error) = answer else {
            return Ok(true);
        };
        let (refs, _) = self.observe()?;
        let zero = self.places.repository.format.zero();
        if refs.get(STASH).copied().unwrap_or(zero) == tip {
            return Err(error.into());
        }
        Ok(false)
    }

    /// The git directory as it is now, with the list of stashes.
    pub(crate) fn read_control(
        &self,
        head: Head,
        refs: Refs,
        shape: Option<Shape>,
    ) -> Result<Control> {
        let repository = &self.places.repository;
        let has_stash = refs.contains_key(STASH);
        let mut control = Control::read(repository, head, refs, shape)?;
        // Where refs are in tables, the log of the stash is no file: git lists it.
        if repository.has_reftable() {
            let listed = if has_stash {
                listed_log(&self.gits.user, STASH)
            } else {
                None
            };
            let log = listed.map(|lines| chained(&lines, repository.format.zero()).into_bytes());
            control.keep_stash_log(log);
        }
        Ok(control)
    }
}

fn ids(lines: &[LogLine]) -> Vec<ObjectId> {
    lines.iter().map(|line| line.new).collect()
}

/// The lines without those whose entry an older line has: a rebuild that was cut off leaves them.
fn without_repeats(lines: &[LogLine]) -> Vec<LogLine> {
    let mut seen = HashSet::new();
    let is_first = |line: &&LogLine| seen.insert(line.new);
    lines.iter().filter(is_first).cloned().collect()
}

fn left_unlisted() -> Notice {
    let message = "the stash changed since the checkpoint and was not touched; what it held at the \
                   checkpoint is in the vault";
    Notice::new("stash_left", message)
}

fn moves_all_the_time() -> CheckpointError {
    CheckpointError::failed(
        "could not restore the stash: another process keeps changing it",
        "end that process, then run `ralphtool resume`",
    )
}

/// Writes the log, where it still is what it was; the old one is kept.
fn replace_log(path: &Path, seen: &[u8], log: &[u8], trash: &Path) -> Result<bool, FileError> {
    let now = read_if_present(path)?.unwrap_or_default();
    if now != seen {
        return Ok(false);
    }
    let aside = trash.join("git").join(LOG);
    create_private_folder_above(&aside)?;
    write_whole(&aside, &now, 0o600)?;
    create_folder_above(path)?;
    write_whole(path, log, 0o644)?;
    Ok(true)
}
