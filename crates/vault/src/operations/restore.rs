//! Restore: work tree, refs, HEAD, index, stash, config and hooks become what they were at the
//! checkpoint. Only after the attempt is parked.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::converge::{Goal, Reach};
use super::park::GitDirectory;
use crate::error::{Notice, Result};
use crate::git::object_id::ObjectId;
use crate::git::repository::{Head, Refs, short};
use crate::journal::run_state::{Current, Phase};
use crate::journal::steps::Step;
use crate::repo::Repo;
use crate::repo::snapshot::Snapshot;
use crate::scan::skipped::SkippedFolders;
use crate::tree::manifest::compare;
use crate::tree::scanned::Scanned;
use crate::vault::Vault;
use ralph_base::shell::quoted;

impl Vault {
    /// Restores the checkpoint. What the scan found in the tree is in the vault.
    pub(crate) fn restore(&mut self, scanned: &Scanned, git: GitDirectory) -> Result<Vec<Notice>> {
        let current = self.log.current()?;
        let base = self.checkpoint()?;
        let run = current.intent.run.clone();
        let (_, head) = self.repo.observe()?;
        self.repo.refuse_users_switch(&current, &head)?;
        self.check_room_to_restore(&base, scanned)?;
        // A parked attempt says so already.
        if current.phase != Phase::Restoring {
            self.record(&run, Step::RestoreIntent)?;
        }
        let notices = self.carry_out_restore(&current, &base, scanned, git)?;
        self.record(&run, Step::RestoredUnsynced)?;
        if self.repo.has_users_config() {
            // No snapshot has it yet: the next attempt starts from a checkpoint with it.
            self.tree.invalidate_scan();
        } else {
            self.tree.mark_clean();
        }
        Ok(notices)
    }

    /// Makes a restore durable that no attempt follows at once: what differs from the checkpoint
    /// later on is the user's, and must not be a file that lost its bytes.
    pub(crate) fn settle_restore(&mut self) -> Result<()> {
        self.end_diff();
        if !self.log.is_restore_unsynced() {
            return Ok(());
        }
        let run = self.log.current()?.intent.run;
        self.record(&run, Step::Restored)
    }

    /// Refuses where what is to be written back does not fit.
    fn check_room_to_restore(&self, base: &Snapshot, scanned: &Scanned) -> Result<()> {
        let changes = compare(&base.manifest, &scanned.manifest);
        let written = changes.modified.iter().chain(&changes.removed);
        self.tree.check_room_for(
            &self.repo,
            &self.repo.places.repository.work_tree,
            &base.manifest,
            written,
        )
    }

    fn carry_out_restore(
        &mut self,
        current: &Current,
        base: &Arc<Snapshot>,
        scanned: &Scanned,
        git: GitDirectory,
    ) -> Result<Vec<Notice>> {
        let trash = self.repo.new_trash("restore");
        let mut notices = Vec::new();
        if git == GitDirectory::MayHaveChanged {
            let (base_with_config, left) = self.repo.with_users_config(current, base);
            notices.extend(self.repo.restore_control(&base_with_config, &trash)?);
            notices.extend(left);
        }
        let index = Snapshot::index(&self.repo.places.vault, &base.id);
        let goal = Goal {
            manifest: &base.manifest,
            skipped: &base.skipped,
            submodules: &base.submodules,
            index: &index,
            reach: Reach::LeavingIgnored,
        };
        notices.extend(self.repo.converge(&goal, scanned, &trash)?);
        // Which cache folders are skipped no longer depends on the attempt's own ignore rules.
        self.tree.skipped.replace(SkippedFolders::of(&base.skipped));
        notices.extend(self.restore_refs(current, base, &trash)?);
        self.repo.put_index_back(&index, &trash)?;
        let shape = &base.control.shape;
        if git == GitDirectory::Untouched {
            shape.restore_top(&self.repo.places.repository)?;
        } else {
            shape.restore(&self.repo.places.repository)?;
        }
        let (refs, _) = self.repo.observe()?;
        self.reported_refs = Some(refs);
        Ok(notices)
    }

    fn restore_refs(
        &self,
        current: &Current,
        base: &Arc<Snapshot>,
        trash: &Path,
    ) -> Result<Vec<Notice>> {
        let (mut refs, head) = self.repo.observe()?;
        self.repo
            .move_ref(&current.intent.branch, &refs, Some(current.commit))?;
        self.repo
            .point_head(&current.intent.head_at(current.commit), &head)?;
        self.repo.drop_operation_refs(base, &mut refs)?;
        self.repo.restore_replacements(base, &refs)?;
        let mut notices = Vec::from_iter(self.restore_original(current, base, &refs)?);
        notices.extend(self.repo.restore_stash(current, base, trash)?);
        Ok(notices)
    }

    /// Restores the branch the user came from, if it is proven that the agent moved it.
    fn restore_original(
        &self,
        current: &Current,
        base: &Arc<Snapshot>,
        refs: &Refs,
    ) -> Result<Option<Notice>> {
        let Head::Branch { name, .. } = &current.intent.original else {
            return Ok(None);
        };
        let (before, now) = (
            base.control.refs.get(name).copied(),
            refs.get(name).copied(),
        );
        if *name == current.intent.branch || before == now {
            return Ok(None);
        }
        let reported = self.reported_refs.as_ref();
        if reported.is_some_and(|refs| refs.get(name).copied() == now) {
            // Reported after the attempt before this one.
            return Ok(None);
        }
        if self.repo.agent_moved(current, name, before, now) {
            self.repo.move_ref(name, refs, before)?;
            return Ok(Some(moved_back(name, before, now)));
        }
        Ok(Some(left(name, before, now)))
    }
}

impl Repo {
    pub(crate) fn restore_control(&self, base: &Snapshot, trash: &Path) -> Result<Vec<Notice>> {
        let changed = base.control.restore_files(&self.places.repository, trash)?;
        if changed.is_empty() {
            return Ok(Vec::new());
        }
        let mut message = format!("restored in the git directory: {}", changed.join(", "));
        let commands = self.commands_to_revert(&changed, trash);
        if !commands.is_empty() {
            let _ = write!(
                message,
                "; what was there instead is kept, and may be yours: {}",
                commands.join(", ")
            );
        }
        Ok(vec![Notice::new("git_files_restored", message)])
    }

    /// The commands that put what was found in the place of the config or a hook there again.
    fn commands_to_revert(&self, changed: &[String], trash: &Path) -> Vec<String> {
        let is_meant = |path: &&String| path.as_str() == "config" || path.starts_with("hooks/");
        let shared = &self.places.repository.common_dir;
        let paths = changed.iter().filter(is_meant);
        let kept = paths.map(|path| (trash.join("git").join(path), shared.join(path)));
        kept.filter(|(kept, _)| fs::symlink_metadata(kept).is_ok())
            .map(|(kept, place)| format!("`cp -p {} {}`", quoted(&kept), quoted(&place)))
            .collect()
    }

    /// Refs a bisect or a rebase keeps for itself go with it; the park has kept them.
    pub(crate) fn drop_operation_refs(&self, base: &Snapshot, refs: &mut Refs) -> Result<()> {
        let before = &base.control.refs;
        let is_left = |name: &&String| {
            let of_operation = ["refs/bisect/", "refs/rewritten/"];
            of_operation.iter().any(|folder| name.starts_with(folder))
                && !before.contains_key(*name)
        };
        let left: Vec<String> = refs.keys().filter(is_left).cloned().collect();
        for name in left {
            self.move_ref(&name, refs, None)?;
            refs.remove(&name);
        }
        Ok(())
    }

    /// Refs that make git show other objects in the place of those of the checkpoint become what they
    /// were; the vault has both values.
    pub(crate) fn restore_replacements(&self, base: &Snapshot, refs: &Refs) -> Result<()> {
        let before = &base.control.refs;
        let is_other = |name: &&String| {
            name.starts_with("refs/replace/") && before.get(*name) != refs.get(*name)
        };
        let names: BTreeSet<&String> = refs.keys().chain(before.keys()).filter(is_other).collect();
        for name in names {
            self.move_ref(name, refs, before.get(name).copied())?;
        }
        Ok(())
    }
}

fn moved_back(name: &str, before: Option<ObjectId>, now: Option<ObjectId>) -> Notice {
    let message = format!(
        "the attempt moved `{}` from {} to {}; it is restored, and {} moves it again",
        short(name),
        shown(before),
        shown(now),
        command(name, now, before)
    );
    Notice::new("branch_restored", message)
}

/// Reports a branch that was moved, where it is not proven that the agent did it.
fn left(name: &str, before: Option<ObjectId>, now: Option<ObjectId>) -> Notice {
    let message = format!(
        "`{}` was moved from {} to {} while the agent worked, and nothing proves that the agent did \
         it; it stays there, both are kept in the vault, and {} moves it back",
        short(name),
        shown(before),
        shown(now),
        command(name, before, now)
    );
    Notice::new("branch_left", message)
}

fn shown(commit: Option<ObjectId>) -> String {
    commit.map_or_else(|| "no commit".to_owned(), |commit| commit.short())
}

/// The command that moves a ref, also where it is checked out in another work tree.
fn command(name: &str, to: Option<ObjectId>, from: Option<ObjectId>) -> String {
    match (to, from) {
        (Some(to), Some(from)) => format!("`git update-ref {name} {to} {from}`"),
        (Some(to), None) => format!("`git update-ref {name} {to}`"),
        (None, _) => format!("`git update-ref -d {name}`"),
    }
}
