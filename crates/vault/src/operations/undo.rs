//! Undo: reverts the last finish, rewind or restore of an attempt. Later edits in files that it had not
//! touched stay.

use std::sync::Arc;

use super::moving::{PreparedMove, over, same_place};
use crate::error::{CheckpointError, Result};
use crate::git::repository::{Head, Refs, short};
use crate::journal::run_state::Act;
use crate::journal::steps::{MoveIntent, MoveKind, RefMove, Step};
use crate::repo::snapshot::Snapshot;
use crate::tree::manifest::compare;
use crate::vault::Vault;
use ralph_base::ids::RunId;

/// An undo that is ready; nothing is touched yet.
pub struct PreparedUndo {
    pub of: Undone,
    /// The run it belongs to.
    pub run: RunId,
    prepared: Option<PreparedMove>,
    /// The id of the move that is undone.
    undoes: Option<String>,
}

/// What an undo reverts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undone {
    /// A branch was kept: the run is open again.
    Keep,
    /// Anything else.
    Move(MoveKind),
}

impl PreparedUndo {
    /// The id of the move that is undone.
    pub fn undoes(&self) -> Option<&str> {
        self.undoes.as_deref()
    }

    /// The id of the move that the undo is.
    pub fn move_id(&self) -> Option<&str> {
        self.prepared.as_ref().map(PreparedMove::id)
    }

    /// What will be moved; nothing where only the run opens again.
    pub fn outline(&self) -> Option<&super::moving::Outline> {
        self.prepared.as_ref().map(|prepared| &prepared.outline)
    }
}

impl Vault {
    /// Makes the undo of what was done last ready.
    pub(crate) fn prepare_undo(&mut self) -> Result<PreparedUndo> {
        let Some(last) = self.log.state.undoable.last().cloned() else {
            return Err(CheckpointError::refused(
                "there is nothing to undo",
                "the last finish, rewind or restored attempt can be undone until the next agent \
                 starts; `ralphtool attempts` lists what is parked",
            ));
        };
        let intent = match last.act {
            Act::Kept => {
                return Ok(PreparedUndo {
                    of: Undone::Keep,
                    run: last.run,
                    prepared: None,
                    undoes: None,
                });
            }
            Act::Moved(intent) => *intent,
        };
        let run = last.run;
        let prepared = self.prepare_way_back(&run, &intent)?;
        Ok(PreparedUndo {
            of: Undone::Move(intent.kind),
            run,
            prepared: Some(prepared),
            undoes: Some(intent.before),
        })
    }

    /// Carries an undo out.
    pub(crate) fn carry_out_undo(
        &mut self,
        undo: PreparedUndo,
    ) -> Result<Vec<crate::error::Notice>> {
        if let Some(prepared) = undo.prepared {
            return self.carry_out(prepared);
        }
        self.record(&undo.run, Step::Reopened)?;
        Ok(Vec::new())
    }

    fn prepare_way_back(&mut self, run: &RunId, done: &MoveIntent) -> Result<PreparedMove> {
        let (refs, head, repaired) = self.observe_repaired(&done.before)?;
        refuse_moved_on(done, &refs, &head)?;
        let vault = &self.repo.places.vault;
        let before = Snapshot::read(vault, &done.before)?;
        let after = Arc::new(Snapshot::read(vault, &done.after)?);
        let present = self.tree.scan_present(&self.repo, &after)?;
        let changed = compare(&before.manifest, &after.manifest);
        let now = &present.snapshot.manifest;
        let control = &present.snapshot.control;
        let back = Snapshot {
            id: Snapshot::new_id(),
            manifest: Arc::new(over(now, &before.manifest, changed.paths())),
            control: before.control.with_changes(&after.control, control),
            ..before.clone()
        };
        back.write(vault, Some(&present.snapshot))?;
        self.repo.derive_index(&before.id, &back.id)?;
        let intent = MoveIntent {
            kind: MoveKind::Undo,
            before: present.snapshot.id.clone(),
            after: back.id.clone(),
            refs: done.refs.iter().map(reversed).collect(),
            head_from: head,
            head_to: done.head_from.clone(),
            with_control: done.with_control,
        };
        let mut prepared = self.repo.prepare_move(run, intent, present, &back)?;
        prepared.outline.notices.extend(repaired);
        Ok(prepared)
    }
}

fn reversed(it: &RefMove) -> RefMove {
    RefMove {
        name: it.name.clone(),
        from: it.to,
        to: it.from,
    }
}

/// Branches that were moved must still be where they were moved to, and HEAD too.
fn refuse_moved_on(done: &MoveIntent, refs: &Refs, head: &Head) -> Result<()> {
    let moved = |it: &&RefMove| it.from != it.to && refs.get(&it.name).copied() != it.to;
    if let Some(it) = done.refs.iter().find(moved) {
        let branch = short(&it.name);
        return Err(CheckpointError::refused(
            format!("`{branch}` has changed since; nothing was undone"),
            match it.to {
                Some(to) => format!("`git branch -f {branch} {to}` puts it where it was left"),
                None => format!("rename it: `git branch -m {branch} OTHER`"),
            },
        ));
    }
    if same_place(head, &done.head_to) {
        return Ok(());
    }
    let back = match &done.head_to {
        Head::Branch { name, .. } => format!("git switch {}", short(name)),
        Head::Detached { commit } => format!("git switch --detach {}", commit.short()),
    };
    Err(CheckpointError::refused(
        format!("HEAD is now on `{}`; nothing was undone", head.shown()),
        format!("`{back}` first"),
    ))
}
