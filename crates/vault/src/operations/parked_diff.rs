//! The diff of a parked attempt, for people and for the next attempt. It can be made again from two
//! commits, so nothing waits for it: git works on it while the tree is restored and the next attempt is
//! prepared.

use std::path::PathBuf;

use crate::error::{CheckpointError, Notice, Result};
use crate::git::object_id::ObjectId;
use crate::journal::run_state::Current;
use crate::vault::{StartedDiff, Vault};
use ralph_base::files::{create_private_folder, write_whole};

impl Vault {
    /// Where the diff of a parked attempt is.
    pub fn diff_path(&self, label: &str) -> Result<PathBuf> {
        let run = self.log.current()?.intent.run;
        let folder = self
            .repo
            .places
            .vault
            .run_folder(&run)
            .join("attempts")
            .join(label);
        Ok(folder.join("changes.diff"))
    }

    /// Starts git on the diff of a parked attempt against its checkpoint.
    pub(crate) fn begin_diff(
        &mut self,
        current: &Current,
        label: &str,
        commit: ObjectId,
    ) -> Result<()> {
        let (before, after) = (current.commit.to_string(), commit.to_string());
        let store = self.repo.gits.store.patient();
        let path = self.diff_path(label)?;
        let plain = ["diff", "--no-ext-diff", "--no-textconv", "--no-color"];
        let git = store.start(plain.iter().chain(&[&*before, &*after]))?;
        self.started_diff = Some(StartedDiff { path, git });
        Ok(())
    }

    /// Writes the diff that git was started on once git has it; where that fails, the next step
    /// reports it.
    pub(crate) fn end_diff(&mut self) {
        let failed = self.started_diff.take().and_then(|diff| write(diff).err());
        self.pending_notices
            .extend(failed.map(|error| no_diff(&error)));
    }

    /// Makes the diff of the last attempt where a kill came before it was written.
    pub(crate) fn make_up_diff(&mut self, current: &Current) -> Result<()> {
        let last = current.last_attempt.as_ref();
        let parked = last.and_then(|last| last.parked.as_ref());
        let Some((parked, commit)) = parked.and_then(|it| Some((it, it.commit?))) else {
            return Ok(());
        };
        // One without bytes is what a power cut leaves.
        let written = std::fs::metadata(self.diff_path(&parked.label)?);
        if written.is_ok_and(|diff| diff.len() > 0) {
            return Ok(());
        }
        self.begin_diff(current, &parked.label, commit)?;
        self.end_diff();
        Ok(())
    }
}

fn write(StartedDiff { path, git }: StartedDiff) -> Result<()> {
    let diff = git.answer()?;
    if let Some(folder) = path.parent() {
        create_private_folder(folder)?;
    }
    Ok(write_whole(&path, &diff, 0o600)?)
}

/// Reports that a parked attempt has no diff.
pub(crate) fn no_diff(error: &CheckpointError) -> Notice {
    let message = format!("the parked attempt has no diff to read: {error}");
    Notice::new("no_diff", message)
}
