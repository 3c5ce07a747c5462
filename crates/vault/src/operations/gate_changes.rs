//! What gates change in the tree is put back: build output that is not ignored, snapshots they
//! write. What git ignores stays as they left it, as it does for everybody who runs them by hand.

use std::sync::Arc;

use super::converge::{FoundTree, Goal, Reach};
use crate::error::{CheckpointError, Notice, Result};
use crate::git::repository::{Head, short};
use crate::journal::steps::Step;
use crate::paths::{is_module_path, show};
use crate::repo::RepairFor;
use crate::repo::snapshot::Snapshot;
use crate::tree::manifest::{Kind, Lane, Manifest, compare};
use crate::tree::scanned::{Known, Scanned};
use crate::vault::Vault;

/// Whom the tree belongs to once gates ran.
enum TreeOwner {
    /// Gates made all changes in it; with what was repaired of the git directory.
    Gates(Vec<Notice>),
    /// A commit was made: what gates changed cannot be told apart from it.
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
        let taken = self.tree.scan(&self.repo, &base)?;
        Ok(self.before_gates(taken))
    }

    /// Undoes what gates changed since.
    pub(crate) fn undo_gates(&mut self, before: &TreeBeforeGates) -> Result<Vec<Notice>> {
        let whose = self.tree_owner(before)?;
        self.put_back(before, whose)
    }

    /// A gate is about to run on the checkpoint: should this program not see its end, what differs
    /// from the checkpoint then is the gate's doing, and goes.
    pub(crate) fn gate_started(&mut self) -> Result<()> {
        self.invalidate_scan();
        let run = self.log.current()?.intent.run;
        self.record(&run, Step::RestoreIntent)
    }

    /// The boxes of a story are about to be opened again, in a commit: should this program not make
    /// it, they are restored, and the gate judges again.
    pub(crate) fn reopening_started(&mut self) -> Result<()> {
        let run = self.log.current()?.intent.run;
        self.record(&run, Step::RestoreIntent)
    }

    /// Puts what a gate changed back to the checkpoint.
    pub(crate) fn undo_gate_on_checkpoint(&mut self) -> Result<Vec<Notice>> {
        let current = self.log.current()?;
        let base = self.checkpoint()?;
        let marked = TreeBeforeGates {
            manifest: Arc::clone(&base.manifest),
            scan: None,
            skipped: base.skipped.clone(),
            head: Some(Head::Branch {
                name: current.intent.branch,
                commit: Some(current.commit),
            }),
        };
        let whose = self.tree_owner(&marked)?;
        if let TreeOwner::Users(_) = whose {
            // Nothing in the tree is of the run: a later start must not restore it.
            self.record(&current.intent.run, Step::Restored)?;
        }
        let notices = self.put_back(&marked, whose)?;
        self.record(&current.intent.run, Step::Restored)?;
        Ok(notices)
    }

    /// Says by HEAD whom the tree belongs to, after gates; a git directory that they removed is
    /// rebuilt.
    fn tree_owner(&mut self, marked: &TreeBeforeGates) -> Result<TreeOwner> {
        let current = self.log.current()?;
        let Ok((_, head)) = self.repo.observe() else {
            let base = self.checkpoint()?;
            let trash = self.repo.new_trash("gate");
            let repaired = self.repair_git(&current, &base, &trash, RepairFor::Save)?;
            return Ok(TreeOwner::Gates(repaired.notices));
        };
        let on_branch =
            matches!(&head, Head::Branch { name, .. } if *name == current.intent.branch);
        Ok(match &marked.head {
            Some(before) if *before == head => TreeOwner::Gates(Vec::new()),
            _ if on_branch => TreeOwner::Committed,
            _ => TreeOwner::Users(head),
        })
    }

    fn put_back(&mut self, marked: &TreeBeforeGates, whose: TreeOwner) -> Result<Vec<Notice>> {
        let repaired = match whose {
            TreeOwner::Gates(repaired) => repaired,
            TreeOwner::Committed => return Ok(Vec::new()),
            TreeOwner::Users(head) => {
                let branch = self.log.current()?.intent.branch;
                let message = format!(
                    "HEAD was moved to `{}` while gates ran; the files are left as they are",
                    head.shown()
                );
                let hint = format!(
                    "`git switch {}` and start ralphtool again: it goes on from there",
                    short(&branch)
                );
                return Err(CheckpointError::failed(message, hint));
            }
        };
        let base = self.checkpoint()?;
        let index = Snapshot::index(&self.repo.places.vault, &base.id);
        let taken = self.tree.scan_against(
            &self.repo,
            &marked.manifest,
            &Known::of(&base.submodules),
            &index,
        )?;
        if taken.changes.count() == 0 {
            // The scan before the gates still holds, so that no further walk is needed.
            match &marked.scan {
                Some(before) => self.tree.confirm_scan(&base, before, taken),
                None => self.tree.mark_clean(),
            }
            return Ok(repaired);
        }
        let target = leaving_ignored(&marked.manifest, &taken);
        let changes = compare(&target, &taken.manifest);
        if changes.count() == 0 {
            return Ok(repaired);
        }
        let goal = Snapshot {
            id: base.id.clone(),
            manifest: Arc::new(target),
            control: base.control.clone(),
            skipped: marked.skipped.clone(),
            submodules: base.submodules.clone(),
        };
        let goal = Goal {
            snapshot: &goal,
            index: &index,
            reach: Reach::LeavingIgnored,
        };
        let found = FoundTree::of(&taken);
        let trash = self.repo.new_trash("gate");
        let mut notices = repaired;
        notices.extend(self.repo.converge(&goal, &found, &trash)?);
        let named = changes.paths().filter(|path| {
            let entries = &found.manifest.entries;
            let entry = entries
                .get(*path)
                .or_else(|| marked.manifest.entries.get(*path));
            entry.is_some_and(|entry| entry.kind != Kind::Folder)
        });
        let paths: Vec<String> = named.map(|path| format!("`{}`", show(path))).collect();
        notices.extend(crate::paths::list(&paths).map(|paths| {
            let kept = trash.join("files");
            let message = format!(
                "what changed while gates ran is put back: {paths}; it is kept in `{}`",
                kept.display()
            );
            Notice::new("gate_changes", message)
        }));
        Ok(notices)
    }
}

/// The tree before, but for what git ignores, which stays as it is now.
fn leaving_ignored(before: &Manifest, taken: &Scanned) -> Manifest {
    let mut target = before.clone();
    for path in taken.changes.paths() {
        let (old, new) = (before.entries.get(path), taken.manifest.entries.get(path));
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
