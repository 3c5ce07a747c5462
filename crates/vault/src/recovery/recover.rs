//! Recover: an interrupted step is completed or undone. Which of the two follows from the last line of
//! the journal, as the table above [`Step`] shows.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::error::{CheckpointError, Notice, Result};
use crate::git::repository::Head;
use crate::journal::Log;
use crate::journal::run_state::{Current, LastAttempt, Phase, Saved};
use crate::journal::steps::{SavedWork, Step, StoryNote};
use crate::operations::begin::Begun;
use crate::operations::park::{GitDirectory, Setback};
use crate::operations::save::descends;
use crate::outcome::FailureKind;
use crate::paths::show;
use crate::repo::snapshot::Snapshot;
use crate::repo::{RepairFor, Repo};
use crate::store::where_now;
use crate::tree::manifest::{Entry, Kind};
use crate::tree::scanned::Scanned;
use crate::vault::{AfterRecovery, Recovery, Vault};
use ralph_base::files::read_line_file;
use ralph_base::temporary_files::{clear_halves, is_temporary};

/// Notices about the git directory, which a recovery reports.
const GIT_NOTICES: &[&str] = &[
    "git_rebuilt",
    "git_repaired",
    "git_mended",
    "git_setup_restored",
    "git_files_restored",
    "head_repaired",
    "branches_restored",
    "objects_restored",
    "objects_moved",
    "object_cache_moved",
];

impl Vault {
    /// Recovers what an interrupted run left; none where nothing was interrupted. Processes of the
    /// run must be dead.
    pub(crate) fn recover(&mut self, after: AfterRecovery) -> Result<Option<Recovery>> {
        let repaired = std::mem::take(&mut self.pending_notices);
        let recovery = self.recover_run(after)?;
        Ok(self.repo.with_notices(recovery, &repaired))
    }

    /// Moves half-written files and damaged lines of the journal aside. A process can be killed while
    /// it writes into the git directory and before the journal names its run.
    pub(crate) fn clear_leftovers(&mut self) -> Result<()> {
        self.repo
            .clear_git_halves(&self.repo.new_trash("recover"))?;
        self.set_damage_aside()
    }

    fn recover_run(&mut self, after: AfterRecovery) -> Result<Option<Recovery>> {
        let after_outage = self.log.is_after_outage();
        self.clear_leftovers()?;
        if let Some((run, intent)) = self.log.state.moving.clone() {
            return self.move_again(&run, &intent).map(Some);
        }
        let Some(current) = self.log.state.current.clone() else {
            return Ok(None);
        };
        self.repo.gits.mark(&current.intent.run);
        self.repo.clear_plan_halves(&current)?;
        self.make_up_diff(&current)?;
        if current.phase != Phase::Still {
            let trash = self.repo.new_trash("recover");
            self.free_locks(&current.intent.refs(), &trash)?;
        }
        let recovery = match current.phase.clone() {
            Phase::Beginning => self.take_back_begin(&current)?,
            // What it wrote may have lost its bytes.
            Phase::Still if after_outage && self.log.is_restore_unsynced() => {
                self.restore_again(&current, after)?
            }
            Phase::Still if after_outage => return self.switch_after_outage(&current),
            // The user may change the tree once this process ends.
            Phase::Still => {
                self.settle_restore()?;
                return Ok(None);
            }
            Phase::Working => self.undo_attempt(&current, after)?,
            Phase::Restoring => self.restore_again(&current, after)?,
            // After an outage the story's files may have lost their bytes.
            Phase::Verified(_) if after_outage || after == AfterRecovery::Abandon => {
                self.undo_attempt(&current, after)?
            }
            Phase::Verified(story) => self.save_verified(&current, &story)?,
            Phase::Saving(saved) => self.save_again(&current, &saved)?,
        };
        self.settle_restore()?;
        Ok(Some(recovery))
    }

    fn save_again(&mut self, current: &Current, saved: &Saved) -> Result<Recovery> {
        let (commit, snapshot) = (saved.commit, &saved.snapshot);
        let branch = &current.intent.branch;
        self.repair_switch(current, &self.repo.new_trash("save"))?;
        let (refs, _) = self.repo.observe()?;
        let tip = refs.get(branch).copied().filter(|tip| *tip != commit);
        let mut done = format!("moved the branch to {}", commit.short());
        match tip {
            Some(tip) if descends(&self.repo.gits.user, commit, tip)? => {
                done = format!("left the branch at {}, which is on top of it", tip.short());
            }
            Some(tip) if !descends(&self.repo.gits.user, tip, commit)? => {
                let name = format!("refs/archive/{}/{tip}", current.intent.run);
                self.repo.archive(&name, tip)?;
                self.repo.carry_out_save(current, snapshot, commit)?;
                let _ = write!(done, "; it was at {tip}, which is kept");
            }
            _ => self.repo.carry_out_save(current, snapshot, commit)?,
        }
        self.record(&current.intent.run, Step::Saved)?;
        Ok(Recovery {
            found: "a checkpoint whose commit existed before its branch was moved".to_owned(),
            done,
        })
    }

    fn take_back_begin(&mut self, current: &Current) -> Result<Recovery> {
        let trash = self.repo.new_trash("begin");
        let intent = &current.intent;
        self.free_locks(&[&intent.branch], &trash)?;
        self.repo.places.repair_head(&intent.branch, &trash)?;
        let (refs, head) = self.repo.observe()?;
        let tip = refs.get(&intent.branch).copied();
        let as_left = (tip == intent.old_branch || tip == Some(intent.commit))
            && (current.is_on_branch(&head) || head == intent.head);
        let done = if as_left {
            self.repo.point_head(&intent.head, &head)?;
            self.repo
                .move_ref(&intent.branch, &refs, intent.old_branch)?;
            self.repo.keep_index(&trash)?;
            let index = Snapshot::index(&self.repo.places.vault, &intent.start);
            self.repo.swap_index(&index, &trash)?;
            format!("undid it: HEAD is on {}", intent.head.shown())
        } else {
            // The user has worked on since; no file was touched by the begin.
            "changed nothing: the files or branches have changed since".to_owned()
        };
        self.record(&intent.run, Step::BeginTakenBack)?;
        Ok(Recovery {
            found: format!(
                "a run of `{}` that was interrupted while it began",
                intent.change
            ),
            done,
        })
    }

    /// Commits the story, unless files were edited after its gates passed: no gate saw those edits,
    /// so they are parked with the attempt, and the story is done again.
    fn save_verified(&mut self, current: &Current, story: &StoryNote) -> Result<Recovery> {
        self.refuse_moved_head(current)?;
        if let Some(path) = self.edited_since_last_line()? {
            let mut recovery = self.undo_attempt(current, AfterRecovery::Continue)?;
            let _ = write!(
                recovery.found,
                " after its gates had passed, and `{}` was edited since",
                show(&path)
            );
            return Ok(recovery);
        }
        let report = match self.save(story) {
            Err(error @ CheckpointError::Unstorable { .. }) => {
                return self.undo_unstorable(current, story, &error);
            }
            saved => saved?,
        };
        let commit: String = report.commit.chars().take(10).collect();
        Ok(Recovery {
            found: format!(
                "story {} was done, but its checkpoint was not written",
                story.id
            ),
            done: format!("wrote it: {commit}"),
        })
    }

    /// Parks a story with files that git still cannot store: the run must not be stuck with it.
    fn undo_unstorable(
        &mut self,
        current: &Current,
        story: &StoryNote,
        error: &CheckpointError,
    ) -> Result<Recovery> {
        let Some(last) = current.last_attempt.clone() else {
            return Err(no_attempt());
        };
        let reason = error.to_string();
        let (tree, _) = self.park(Setback {
            prompt_reason: Some(reason.clone()),
            reason: reason.clone(),
            ..interrupted(&last)
        })?;
        let restored = self.restore(&tree.scanned, tree.git);
        self.end_diff();
        restored?;
        Ok(Recovery {
            found: format!("story {} was done, but {reason}", story.id),
            done: format!(
                "parked attempt {} and restored the tree to the checkpoint",
                last.attempt
            ),
        })
    }

    /// A path that was written, made or removed after the last line of the journal.
    fn edited_since_last_line(&mut self) -> Result<Option<Vec<u8>>> {
        let Some(last) = &self.log.state.last else {
            return Ok(None);
        };
        let last_line = std::time::SystemTime::from(last.at);
        let line = i64::try_from(last.at.as_nanosecond()).unwrap_or(i64::MAX);
        let base = self.checkpoint()?;
        let scanned = self.tree.current_scan(&self.repo, &base)?;
        let is_edited = |entry: &Entry| match entry.kind {
            // A change of its mode is no change of what is in it.
            Kind::Folder => entry.stat.modified_ns > line,
            _ => entry.is_visible() && entry.stat.changed_ns > line,
        };
        let mut entries = scanned.manifest.entries.iter();
        let edited = entries.find(|(_, entry)| is_edited(entry));
        if let Some((path, _)) = edited {
            return Ok(Some(path.clone()));
        }
        // The manifest has no entry for the top folder.
        let top = &self.repo.places.repository.work_tree;
        let modified = std::fs::metadata(top).and_then(|top| top.modified());
        let is_top_edited = modified.is_ok_and(|time| time > last_line);
        Ok(is_top_edited.then(|| b".".to_vec()))
    }

    fn undo_attempt(&mut self, current: &Current, after: AfterRecovery) -> Result<Recovery> {
        let Some(last) = current.last_attempt.clone() else {
            return Err(no_attempt());
        };
        if after == AfterRecovery::Continue {
            self.refuse_moved_head(current)?;
        }
        let (tree, parked) = self.park(interrupted(&last))?;
        let restored = self.restore_for(after, &tree.scanned, tree.git);
        self.end_diff();
        let restored = restored?;
        let recovery = Recovery {
            found: format!("attempt {} was interrupted", last.attempt),
            done: format!(
                "parked it ({} changed) and restored the tree to the checkpoint",
                parked.changed_files
            ),
        };
        // Of the notices only those about the git directory are reported: the rest is in the parked
        // attempt.
        let mut notices = parked.notices;
        notices.extend(restored);
        notices.retain(|notice| GIT_NOTICES.contains(&notice.code));
        let reported = self.repo.with_notices(Some(recovery.clone()), &notices);
        Ok(reported.unwrap_or(recovery))
    }

    /// Restores the checkpoint, after an interrupted restore: the tree may hold files of the
    /// attempt, which is in the vault, and of the checkpoint. Where it holds a file that is in neither,
    /// the user edited it: then all of it is parked once more, under another name.
    fn restore_again(&mut self, current: &Current, after: AfterRecovery) -> Result<Recovery> {
        let mut done = "restored the tree to the checkpoint".to_owned();
        let Some(last) = current.last_attempt.clone() else {
            return self.restore_after_gate(current, after);
        };
        if after == AfterRecovery::Continue {
            let (_, head) = self.repo.observe()?;
            self.repo.refuse_users_switch(current, &head)?;
        }
        let (scanned, git) = if let Some(scanned) = self.nothing_new(current, &last)? {
            (scanned, GitDirectory::MayHaveChanged)
        } else {
            let label = format!(
                "{}-{}",
                last.attempt,
                ralph_base::random_name::random_name(4)
            );
            let (tree, _) = self.park_as(interrupted(&last), &label)?;
            self.end_diff();
            let _ = write!(done, "; what was edited since is parked as {label}");
            (tree.scanned, tree.git)
        };
        self.restore_for(after, &scanned, git)?;
        Ok(Recovery {
            found: "an interrupted restore".to_owned(),
            done,
        })
    }

    /// Restores the checkpoint after a gate that ran on it, or whose changes were being undone.
    fn restore_after_gate(&mut self, current: &Current, after: AfterRecovery) -> Result<Recovery> {
        let found = "a gate that was interrupted while it checked the checkpoint".to_owned();
        let (_, head) = self.repo.observe()?;
        if !current.is_on_branch(&head) {
            self.record(&current.intent.run, Step::Restored)?;
            let done = format!("left the tree as it is: HEAD is on {}", head.shown());
            return Ok(Recovery { found, done });
        }
        let scanned = self.scan_repaired(current)?;
        self.restore_for(after, &scanned, GitDirectory::MayHaveChanged)?;
        let mut done = "restored the tree to the checkpoint".to_owned();
        if scanned.changes.count() > 0 {
            let kept = self.repo.places.vault.folder().join("trash");
            let _ = write!(done, "; what had changed is kept in `{}`", kept.display());
        }
        Ok(Recovery { found, done })
    }

    /// Restores the checkpoint, unless the run is abandoned next and the user has switched away: then
    /// the tree is the user's.
    fn restore_for(
        &mut self,
        after: AfterRecovery,
        scanned: &Scanned,
        git: GitDirectory,
    ) -> Result<Vec<Notice>> {
        if after == AfterRecovery::Abandon {
            let current = self.log.current()?;
            let (_, head) = self.repo.observe()?;
            if self.repo.user_switched(&current, &head) {
                self.record(&current.intent.run, Step::Restored)?;
                return Ok(Vec::new());
            }
        }
        self.restore(scanned, git)
    }

    /// A scan of the tree, if every file is as in the parked attempt or in the checkpoint.
    fn nothing_new(&mut self, current: &Current, last: &LastAttempt) -> Result<Option<Scanned>> {
        let Some(parked) = &last.parked else {
            return Ok(None);
        };
        let scanned = self.scan_repaired(current)?;
        let parked = Snapshot::read(&self.repo.places.vault, &parked.snapshot)?;
        let is_saved = |path: &Vec<u8>| {
            let now = scanned.manifest.entries.get(path);
            let in_parked = parked.manifest.entries.get(path);
            is_temporary(path)
                || match (now, in_parked) {
                    (Some(now), Some(then)) => now.same_state(then),
                    // Not there: as in the checkpoint, or moved away to be written again.
                    (None, _) => true,
                    (Some(_), None) => false,
                }
        };
        let is_nothing_new = scanned.changes.paths().all(is_saved);
        Ok(is_nothing_new.then_some(scanned))
    }

    /// Scans the tree, after repairing the git directory.
    fn scan_repaired(&mut self, current: &Current) -> Result<Scanned> {
        let base = self.checkpoint()?;
        let trash = self.repo.new_trash("restore");
        let repaired = self.repair_git(current, &base, &trash, RepairFor::Restore)?;
        self.repo.end_object_search(repaired.search, &trash)?;
        self.tree.scan_all(&self.repo, &base)
    }

    /// Refuses where HEAD is elsewhere, and it was not the agent who moved it: what is in the tree
    /// now is the user's.
    fn refuse_moved_head(&self, current: &Current) -> Result<()> {
        let branch = &current.intent.branch;
        let git_dir = &self.repo.places.repository.git_dir;
        let head = read_line_file(&git_dir.join("HEAD")).unwrap_or_default();
        let head = String::from_utf8_lossy(&head);
        let elsewhere = if self.repo.places.repository.has_reftable() {
            !current.is_on_branch(&self.repo.observe()?.1)
        } else {
            head.trim().strip_prefix("ref: ") != Some(branch.as_str())
        };
        if !elsewhere || !self.repo.moved_after_agent(current, "HEAD") {
            return Ok(());
        }
        let hint = self.repo.hint_to_switch(current);
        let branch = crate::git::repository::short(branch);
        Err(CheckpointError::refused(
            format!("an attempt on `{branch}` was interrupted, and HEAD has left it since"),
            hint,
        ))
    }

    /// Resumes the open run: what the user changed since it stopped becomes part of it.
    pub(crate) fn resume(&mut self) -> Result<Begun> {
        let current = self.log.current()?;
        self.repo.gits.mark(&current.intent.run);
        let head = self.check_on_branch()?;
        // What the user committed, staged or stashed since must outlast whatever an agent does.
        self.repo.objects.link()?;
        let base = self.checkpoint()?;
        let scanned = self.tree.scan(&self.repo, &base)?;
        let moved = head.commit() != Some(current.commit);
        let (refs, head) = self.repo.observe()?;
        let control = self.repo.read_control(head, refs, None)?;
        let kept = control.has_files_of(&base.control);
        if scanned.changes.count() > 0 || moved || !kept {
            self.save_as(SavedWork::Resumed)?;
        }
        // What happened to other branches between two starts is none of an attempt's doing.
        self.reported_refs = Some(self.repo.observe()?.0);
        Ok(Begun::of(&current.intent, Vec::new()))
    }

    /// Refuses where the user has left the run's branch.
    pub fn check_on_branch(&self) -> Result<Head> {
        let current = self.log.current()?;
        self.repo.refuse_operation()?;
        self.refuse_conflicts()?;
        let (_, head) = self.repo.observe()?;
        if !current.is_on_branch(&head) {
            let branch = crate::git::repository::short(&current.intent.branch);
            return Err(CheckpointError::refused(
                format!(
                    "an unfinished run of `{}` is on `{branch}`, but HEAD is on `{}`",
                    current.intent.change,
                    head.shown()
                ),
                format!(
                    "`git switch {branch}` first; or leave it, and start over with \
                     `ralphtool run CHANGE --fresh`"
                ),
            ));
        }
        Ok(head)
    }
}

impl Log {
    /// True where the last step is a restore, which may not be durable.
    pub(crate) fn is_restore_unsynced(&self) -> bool {
        let last = self.state.last.as_ref();
        last.is_some_and(|last| last.step == Step::RestoredUnsynced)
    }
}

impl Repo {
    /// Moves halves of task files aside that this program was writing when it died: in the tree
    /// they would count as the user's.
    fn clear_plan_halves(&self, current: &Current) -> Result<()> {
        let Some(folder) = &current.intent.plan_folder else {
            return Ok(());
        };
        let trash = self.new_trash("recover");
        let folder = where_now(self.places.vault.folder(), &self.places.repository, folder);
        let mut folders = vec![PathBuf::from(folder)];
        while let Some(folder) = folders.pop() {
            clear_halves(&folder, &trash)?;
            let entries = std::fs::read_dir(&folder).into_iter().flatten();
            let entries = entries.filter_map(std::result::Result::ok);
            let inner = entries.filter(|it| it.file_type().is_ok_and(|kind| kind.is_dir()));
            folders.extend(inner.map(|entry| entry.path()));
        }
        Ok(())
    }

    /// Adds what was repaired, and where it came from, to the report of a recovery.
    fn with_notices(&self, recovery: Option<Recovery>, notices: &[Notice]) -> Option<Recovery> {
        if notices.is_empty() {
            return recovery;
        }
        let repairs: Vec<&str> = notices.iter().map(|it| it.message.as_str()).collect();
        let mut repairs = repairs.join("; ");
        let vault = self.places.vault.folder().display().to_string();
        if !repairs.contains(&vault) {
            let _ = write!(repairs, " (from the vault `{vault}`)");
        }
        Some(match recovery {
            Some(Recovery { found, done }) => Recovery {
                found,
                done: format!("{done}; {repairs}"),
            },
            None => Recovery {
                found: "a damaged git directory".to_owned(),
                done: repairs,
            },
        })
    }
}

fn no_attempt() -> CheckpointError {
    CheckpointError::failed(
        "the journal names no attempt",
        "the checkpoint commits are on the `ralph/` branch",
    )
}

/// An interrupted attempt uses no retry; the reason for the next attempt is still that of the one
/// before it.
fn interrupted(last: &LastAttempt) -> Setback {
    Setback {
        attempt: last.attempt.clone(),
        prompt_reason: last.reason.clone(),
        uses_retry: false,
        kind: FailureKind::Interrupted,
        reason: "the program was interrupted".to_owned(),
    }
}
