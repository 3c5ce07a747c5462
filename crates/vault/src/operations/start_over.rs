//! Start over: files, index and HEAD go back to how they were before the run, whose branch is kept.
//! The next run begins there; to abandon that one leads back to where HEAD is now.

use super::moving::PreparedMove;
use crate::error::{CheckpointError, Notice, Result};
use crate::git::object_id::ObjectId;
use crate::git::repository::{Head, short};
use crate::journal::run_state::Act;
use crate::journal::steps::{BeforeStartOver, BeginIntent, MoveIntent, MoveKind, RefMove};
use crate::repo::snapshot::Snapshot;
use crate::vault::Vault;

impl Vault {
    /// Prepares the way back to before the open run, which keeps its branch.
    pub(crate) fn prepare_start_over(&mut self) -> Result<PreparedMove> {
        let current = self.log.current()?;
        let intent = &current.intent;
        let (refs, head, repaired) = self.observe_repaired(&current.snapshot)?;
        self.repo.refuse_elsewhere(&current, &head)?;
        let mut branches = vec![unmoved(&intent.branch, refs.get(&intent.branch).copied())];
        if let Head::Branch { name, .. } = &intent.head {
            let now = refs.get(name).copied();
            origin(&intent.change, &intent.branch, &intent.head, now)?;
            branches.push(unmoved(name, now));
        }
        let tip = refs.get(&intent.branch).copied();
        let changed_files = self
            .repo
            .changed_since_start(&current, tip.unwrap_or(current.commit))?;
        let base = self.checkpoint()?;
        let present = self.tree.scan_present(&self.repo, &base)?;
        let start = Snapshot::read(&self.repo.places.vault, &intent.start)?;
        let start_over = MoveIntent {
            kind: MoveKind::StartOver { changed_files },
            before: present.snapshot.id.clone(),
            after: start.id.clone(),
            refs: branches,
            head_from: head,
            head_to: intent.head.clone(),
            with_control: false,
        };
        let run = intent.run.clone();
        let mut prepared = self.repo.prepare_move(&run, start_over, present, &start)?;
        prepared.outline.notices.extend(repaired);
        Ok(prepared)
    }

    /// Goes back, and ends the run with its branch kept.
    pub(crate) fn carry_out_start_over(&mut self, prepared: PreparedMove) -> Result<Vec<Notice>> {
        let BeginIntent { run, branch, .. } = self.log.current()?.intent;
        self.archive_tip(&run, &branch)?;
        let notices = self.carry_out(prepared)?;
        self.forget_git_copy();
        Ok(notices)
    }
}

impl Vault {
    /// Whether an undo leads back to an earlier run: the last run replaced or left that run, and since
    /// then nothing was done that can be undone, except that its branch was kept.
    pub fn can_undo_start_over(&self) -> bool {
        let state = &self.log.state;
        let is_last_act = match state.undoable.as_slice() {
            [] => true,
            [only] => only.act == Act::Kept,
            _ => false,
        };
        let last = state.current.as_ref().or_else(|| state.kept());
        is_last_act && last.is_some_and(|run| run.intent.is_started_over())
    }

    /// Where everything was before the last run was started over.
    pub fn before_start_over(&self) -> Option<&BeforeStartOver> {
        let state = &self.log.state;
        let last = state.current.as_ref().or_else(|| state.kept())?;
        last.intent.before.as_ref()
    }
}

/// A branch that only must be there.
fn unmoved(name: &str, commit: Option<ObjectId>) -> RefMove {
    RefMove {
        name: name.to_owned(),
        from: commit,
        to: commit,
    }
}

/// Refuses where the branch a run began from has moved: on a branch with new commits, the old files
/// would look like changes of the user. `now` is where that branch is.
pub(crate) fn origin(
    change: &str,
    own_branch: &str,
    began: &Head,
    now: Option<ObjectId>,
) -> Result<()> {
    let Head::Branch { name, commit } = began else {
        return Ok(());
    };
    let branch = short(name);
    if name == own_branch {
        return Err(CheckpointError::refused(
            format!(
                "the run of `{change}` began on `{branch}` itself, so there is nothing to start over from"
            ),
            "`git switch BRANCH` first: the new run starts from there",
        ));
    }
    if now == *commit {
        return Ok(());
    }
    Err(CheckpointError::refused(
        format!("`{branch}` has moved since the run of `{change}` began; nothing was changed"),
        format!("`git switch {branch}` first: the new run starts from there"),
    ))
}
