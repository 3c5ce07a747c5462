//! What a reviewer changes is undone: it may only read. Unlike the changes of a gate that is so in
//! the git directory, too: configuration, hooks, the index and the stash are as before, and so are
//! HEAD and branches where the record of the reviewer's git commands proves that it moved them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::gate_changes::{ChangedBy, TreeBeforeGates};
use crate::error::{Notice, Result};
use crate::git::repository::{Head, Refs, short};
use crate::journal::run_state::Current;
use crate::journal::steps::STASH;
use crate::repo::snapshot::Snapshot;
use crate::repo::{RepairFor, Repo};
use crate::vault::Vault;
use ralph_base::files::{absent, copy_with_time, create_private_folder};

/// The git directory as it was before a reviewer ran.
#[derive(Debug)]
pub(crate) struct GitBeforeReview {
    /// The checkpoint, with the git directory as it was found.
    snapshot: Arc<Snapshot>,
    /// A copy of the index.
    index: PathBuf,
}

impl Vault {
    /// Takes note of the git directory. Where no attempt is open, git writes what the reviewer runs
    /// into the folder `traces`.
    pub(crate) fn before_review(&mut self, traces: Option<&Path>) -> Result<GitBeforeReview> {
        self.repo.set_trace_folder(traces);
        let base = self.checkpoint()?;
        let (refs, head) = self.repo.observe()?;
        let control = self.repo.read_control(head, refs, None)?;
        let folder = self.repo.places.vault.scratch("review");
        create_private_folder(&folder)?;
        let index = folder.join("index");
        copy_index(&self.repo.places.repository.index(), &index)?;
        let snapshot = Arc::new(Snapshot {
            control,
            ..Snapshot::clone(&base)
        });
        Ok(GitBeforeReview { snapshot, index })
    }

    /// Undoes what a reviewer did to the git directory.
    pub(crate) fn undo_review_of_git(&mut self, before: &GitBeforeReview) -> Result<Vec<Notice>> {
        let current = self.log.current()?;
        let trash = self.repo.new_trash("review");
        let repaired = self.repair_git(&current, &before.snapshot, &trash, RepairFor::Save)?;
        let mut notices = repaired.notices;
        let control = &before.snapshot.control;
        let is_moved = repaired.refs != control.refs || repaired.head != control.head;
        if repaired.untouched.is_none() || is_moved {
            let (refs, head) = (repaired.refs, repaired.head);
            let undone = self
                .repo
                .undo_in_git(&current, before, (refs, head), &trash)?;
            notices.extend(undone);
        }
        self.repo.put_index_back(&before.index, &trash)?;
        self.repo.set_trace_folder(None);
        Ok(notices)
    }

    /// Undoes what a reviewer of an attempt changed.
    pub(crate) fn undo_review(
        &mut self,
        git: &GitBeforeReview,
        tree: &TreeBeforeGates,
    ) -> Result<Vec<Notice>> {
        let mut notices = self.undo_review_of_git(git)?;
        self.tree.invalidate_scan();
        notices.extend(self.undo_gates(tree, ChangedBy::Reviewer)?);
        Ok(notices)
    }
}

impl Repo {
    fn undo_in_git(
        &self,
        current: &Current,
        before: &GitBeforeReview,
        (mut refs, head): (Refs, Head),
        trash: &Path,
    ) -> Result<Vec<Notice>> {
        self.refuse_users_switch(current, &head)?;
        // What the user adds to the configuration is kept by the name of the checkpoint it is
        // missing in.
        let snapshot = Arc::new(Snapshot {
            id: format!("{}-review", before.snapshot.id),
            ..Snapshot::clone(&before.snapshot)
        });
        let (with_config, left) = self.with_users_config(current, &snapshot);
        let mut notices: Vec<Notice> = left.into_iter().collect();
        notices.extend(self.restore_control(&with_config, trash)?);
        self.drop_operation_refs(&snapshot, &mut refs)?;
        notices.extend(self.undo_moves(current, &snapshot, &refs, &head)?);
        let (refs, _) = self.observe()?;
        self.restore_replacements(&snapshot, &refs)?;
        notices.extend(self.restore_stash(current, &snapshot, trash)?);
        snapshot.control.shape.restore(&self.places.repository)?;
        Ok(notices)
    }

    /// Moves back what the reviewer is proven to have moved.
    fn undo_moves(
        &self,
        current: &Current,
        before: &Snapshot,
        refs: &Refs,
        head: &Head,
    ) -> Result<Option<Notice>> {
        let control = &before.control;
        let is_restored_elsewhere = |name: &str| name == STASH || name.starts_with("refs/replace/");
        let names = refs.keys().chain(control.refs.keys());
        let mut names: Vec<&String> = names.filter(|name| !is_restored_elsewhere(name)).collect();
        names.sort_unstable();
        names.dedup();
        let mut moved = Vec::new();
        for name in names {
            let (was, now) = (control.refs.get(name).copied(), refs.get(name).copied());
            if was != now && self.agent_moved(current, name, was, now) {
                self.move_ref(name, refs, was)?;
                moved.push(format!("`{}`", short(name)));
            }
        }
        if branch_of(head) != branch_of(&control.head) {
            self.point_head(&control.head, head)?;
            moved.push("HEAD".to_owned());
        }
        Ok((!moved.is_empty()).then(|| {
            let message = format!("the reviewer moved {}; undone", moved.join(", "));
            Notice::new("review_changes", message)
        }))
    }
}

/// The branch that HEAD is on, or the commit that it is at.
fn branch_of(head: &Head) -> String {
    match head {
        Head::Branch { name, .. } => name.clone(),
        Head::Detached { commit } => commit.to_string(),
    }
}

/// Copies the index; none where there is none.
fn copy_index(from: &Path, to: &Path) -> Result<()> {
    match std::fs::remove_file(to) {
        Err(error) if !absent(&error) => {
            return Err(ralph_base::files::FileError::new("remove", to, error).into());
        }
        _ => {}
    }
    if std::fs::symlink_metadata(from).is_ok() {
        copy_with_time(from, to)?;
    }
    Ok(())
}
