//! What gates change in the tree is undone: build output that is not ignored, snapshots they write.
//! What git ignores stays as they left it, as it does where a user runs them by hand.

use std::sync::Arc;

use super::converge::{Goal, Reach};
use crate::error::{CheckpointError, Notice, Result};
use crate::git::repository::{Head, short};
use crate::journal::steps::Step;
use crate::paths::{is_module_path, list_paths, show};
use crate::repo::RepairFor;
use crate::repo::snapshot::Snapshot;
use crate::repo::visible::visible_paths;
use crate::tree::manifest::{Kind, Lane, Manifest, compare};
use crate::tree::scanned::{Known, Scanned};
use crate::vault::Vault;

/// Who changed the tree while gates ran.
enum TreeOwner {
    /// Gates made all changes in it; with what was repaired of the git directory.
    Gates(Vec<Notice>),
    /// A commit was made: what gates changed cannot be distinguished from it.
    Committed,
    /// HEAD was moved: what is in it is the user's.
    Users(Head),
}

/// The tree as it was before a gate ran.
#[derive(Debug)]
pub(crate) struct TreeBeforeGates {
    manifest: Arc<Manifest>,
    /// The scan that found it; none where it is the checkpoint.
    scan: Option<Scanned>,
    skipped: Vec<Vec<u8>>,
    /// Where HEAD was; unknown where git could not say.
    head: Option<Head>,
}

impl Vault {
    /// The tree as a scan just found it.
    pub(crate) fn before_gates(&self, scan: Scanned) -> TreeBeforeGates {
        TreeBeforeGates {
            manifest: Arc::clone(&scan.manifest),
            scan: Some(scan),
            skipped: self.tree.skipped.borrow().list(),
            head: self.repo.observe().ok().map(|(_, head)| head),
        }
    }

    /// Scans the tree as it is now.
    pub(crate) fn scan_before_gates(&mut self) -> Result<TreeBeforeGates> {
        let base = self.checkpoint()?;
        let scanned = self.tree.scan(&self.repo, &base)?;
        Ok(self.before_gates(scanned))
    }

    /// Paths in which a tree differs from the checkpoint, of those that belong into commits.
    pub(crate) fn changed_before_gates(&mut self, tree: &TreeBeforeGates) -> Result<Vec<String>> {
        let base = self.checkpoint()?;
        let Some(scan) = &tree.scan else {
            return Ok(Vec::new());
        };
        let paths = visible_paths(&scan.changes, &base.manifest, &scan.manifest);
        Ok(paths.iter().map(|path| show(path)).collect())
    }

    /// Undoes what gates changed since.
    pub(crate) fn undo_gates(&mut self, before: &TreeBeforeGates) -> Result<Vec<Notice>> {
        let owner = self.tree_owner(before)?;
        self.undo_changes(before, owner)
    }

    /// A gate is about to run on the checkpoint: if this program is killed before the gate ends, what
    /// differs from the checkpoint then counts as the gate's, and is undone.
    pub(crate) fn gate_started(&mut self) -> Result<()> {
        self.end_diff();
        self.tree.invalidate_scan();
        let run = self.log.current()?.intent.run;
        self.record(&run, Step::RestoreIntent)
    }

    /// The boxes of a story are about to be opened again, in a commit: if this program is killed before
    /// it is made, they are restored, and the gate runs again.
    pub(crate) fn reopening_started(&mut self) -> Result<()> {
        self.end_diff();
        let run = self.log.current()?.intent.run;
        self.record(&run, Step::RestoreIntent)
    }

    /// Restores the checkpoint after a gate.
    pub(crate) fn undo_gate_on_checkpoint(&mut self) -> Result<Vec<Notice>> {
        let current = self.log.current()?;
        let base = self.checkpoint()?;
        let before = TreeBeforeGates {
            manifest: Arc::clone(&base.manifest),
            scan: None,
            skipped: base.skipped.clone(),
            head: Some(current.intent.head_at(current.commit)),
        };
        let owner = self.tree_owner(&before)?;
        if let TreeOwner::Users(_) = owner {
            // The tree is the user's: a later start must not restore the checkpoint.
            self.record(&current.intent.run, Step::Restored)?;
        }
        let notices = self.undo_changes(&before, owner)?;
        self.record(&current.intent.run, Step::Restored)?;
        Ok(notices)
    }

    /// Decides by HEAD who changed the tree; a git directory that gates removed is rebuilt.
    fn tree_owner(&mut self, before: &TreeBeforeGates) -> Result<TreeOwner> {
        let current = self.log.current()?;
        let Ok((_, head)) = self.repo.observe() else {
            let base = self.checkpoint()?;
            let trash = self.repo.new_trash("gate");
            let repaired = self.repair_git(&current, &base, &trash, RepairFor::Save)?;
            return Ok(TreeOwner::Gates(repaired.notices));
        };
        Ok(match &before.head {
            Some(before) if *before == head => TreeOwner::Gates(Vec::new()),
            _ if current.is_on_branch(&head) => TreeOwner::Committed,
            _ => TreeOwner::Users(head),
        })
    }

    fn undo_changes(&mut self, before: &TreeBeforeGates, owner: TreeOwner) -> Result<Vec<Notice>> {
        let mut notices = match owner {
            TreeOwner::Gates(repaired) => repaired,
            TreeOwner::Committed => return Ok(Vec::new()),
            TreeOwner::Users(head) => {
                return Err(head_moved(&self.log.current()?.intent.branch, &head));
            }
        };
        let base = self.checkpoint()?;
        let index = Snapshot::index(&self.repo.places.vault, &base.id);
        let known = Known::of(&base.submodules);
        let scanned = self
            .tree
            .scan_against(&self.repo, &before.manifest, &known, &index)?;
        if scanned.changes.count() == 0 {
            // The scan before the gates still holds, so that no further walk is needed.
            match &before.scan {
                Some(first) => self.tree.confirm_scan(&base, first, scanned),
                None => self.tree.mark_clean(),
            }
            return Ok(notices);
        }
        let target = leaving_ignored(&before.manifest, &scanned);
        let undone = compare(&target, &scanned.manifest);
        if undone.count() == 0 {
            return Ok(notices);
        }
        let goal = Goal {
            manifest: &target,
            skipped: &before.skipped,
            submodules: &base.submodules,
            index: &index,
            reach: Reach::LeavingIgnored,
        };
        let trash = self.repo.new_trash("gate");
        notices.extend(self.repo.converge(&goal, &scanned, &trash)?);
        let is_no_folder = |path: &&Vec<u8>| {
            let now = scanned.manifest.entries.get(*path);
            let entry = now.or_else(|| before.manifest.entries.get(*path));
            entry.is_some_and(|entry| entry.kind != Kind::Folder)
        };
        notices.extend(
            list_paths(undone.paths().filter(is_no_folder)).map(|paths| {
                let message = format!(
                    "changes made while gates ran were undone: {paths}; they are kept in `{}`",
                    trash.join("files").display()
                );
                Notice::new("gate_changes", message)
            }),
        );
        Ok(notices)
    }
}

fn head_moved(branch: &str, head: &Head) -> CheckpointError {
    CheckpointError::failed(
        format!(
            "HEAD was moved to `{}` while gates ran; the files are left as they are",
            head.shown()
        ),
        format!("`git switch {}` and run `ralphtool resume`", short(branch)),
    )
}

/// The tree before, except for what git ignores, which stays as it is now.
fn leaving_ignored(before: &Manifest, scanned: &Scanned) -> Manifest {
    let mut target = before.clone();
    for path in scanned.changes.paths() {
        let (old, new) = (before.entries.get(path), scanned.manifest.entries.get(path));
        let lane = old.or(new).map(|entry| entry.lane);
        let is_folder = new.or(old).is_some_and(|entry| entry.kind == Kind::Folder);
        if lane != Some(Lane::Ignored) || is_folder && !is_module_path(path) {
            continue;
        }
        match new {
            Some(entry) => target.entries.insert(path.clone(), entry.clone()),
            None => target.entries.remove(path),
        };
    }
    target
}
