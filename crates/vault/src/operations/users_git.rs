//! What the user changed in the git directory since an earlier state of a run. No agent was at work
//! then, so it stays where that state is restored: remotes, what branches follow, settings, hooks.

use crate::error::Result;
use crate::journal::run_state::{Current, Saved};
use crate::journal::steps::SavedWork;
use crate::repo::Repo;
use crate::repo::control::Control;
use crate::repo::snapshot::Snapshot;

impl Repo {
    /// The git directory as it was before the run, with what the user changed in it since.
    pub(super) fn control_before(&self, current: &Current, now: &Control) -> Result<Control> {
        let intent = &current.intent;
        let before = self.control_of(intent.snapshot_before())?;
        let start = self.control_of(&intent.start)?;
        let restored = before.with_changes(&before, &start);
        self.with_users_changes(restored, start, &current.saved, now)
    }

    /// The git directory as it was at a checkpoint that `later` ones follow, with what the user changed in
    /// it since.
    pub(super) fn control_at(
        &self,
        checkpoint: &Snapshot,
        later: &[Saved],
        now: &Control,
    ) -> Result<Control> {
        let control = &checkpoint.control;
        self.with_users_changes(control.clone(), control.clone(), later, now)
    }

    /// Writes a snapshot that is another one with this git directory.
    pub(super) fn with_control(&self, of: &Snapshot, control: Control) -> Result<Snapshot> {
        let snapshot = Snapshot {
            id: Snapshot::new_id(),
            control,
            ..of.clone()
        };
        snapshot.write(&self.places.vault, Some(of))?;
        self.derive_index(&of.id, &snapshot.id)?;
        Ok(snapshot)
    }

    /// `restored` with what the user changed from `last` on. What changed up to the checkpoint of a story
    /// is its agent's.
    fn with_users_changes(
        &self,
        mut restored: Control,
        mut last: Control,
        later: &[Saved],
        now: &Control,
    ) -> Result<Control> {
        for saved in later {
            let next = self.control_of(&saved.snapshot)?;
            if !matches!(saved.work, SavedWork::Story(_)) {
                restored = restored.with_changes(&last, &next);
            }
            last = next;
        }
        Ok(restored.with_changes(&last, now))
    }

    fn control_of(&self, snapshot: &str) -> Result<Control> {
        Ok(Snapshot::read_alone(&self.places.vault, snapshot)?.0)
    }
}
