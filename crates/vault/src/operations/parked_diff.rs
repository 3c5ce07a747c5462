//! The diff of a parked attempt, for people and for the next attempt. It can be made again from two
//! commits, so it holds up nothing: git works on it while the tree is put back and the next attempt
//! is made ready.

use std::path::PathBuf;

use crate::error::{CheckpointError, Notice, Result};
use crate::git::object_id::ObjectId;
use crate::git::process::Started;
use crate::journal::run_state::Current;
use crate::vault::Vault;
use ralph_base::files::{create_private_folder, write_whole};

/// A diff that git is writing.
#[derive(Debug)]
pub(crate) struct StartedDiff {
    /// Where it goes.
    path: PathBuf,
    git: Started,
}

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

    /// Lets git begin with the diff of a parked attempt against its checkpoint.
    pub(crate) fn begin_diff(
        &self,
        current: &Current,
        label: &str,
        commit: ObjectId,
    ) -> Result<StartedDiff> {
        let (before, after) = (current.commit.to_string(), commit.to_string());
        let store = self.repo.gits.store.patient();
        let path = self.diff_path(label)?;
        let plain = ["diff", "--no-ext-diff", "--no-textconv", "--no-color"];
        let git = store.start(plain.iter().chain(&[&*before, &*after]))?;
        Ok(StartedDiff { path, git })
    }

    /// Writes a diff once git has it; where that fails, the next step reports it.
    pub(crate) fn end_diff(&mut self, diff: Option<StartedDiff>) {
        let failed = diff.and_then(|diff| write(diff).err());
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
        let diff = self.begin_diff(current, &parked.label, commit)?;
        self.end_diff(Some(diff));
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

/// What is said where a parked attempt cannot be read as a diff.
pub(crate) fn no_diff(error: &CheckpointError) -> Notice {
    let message = format!("the parked attempt has no diff to read: {error}");
    Notice::new("no_diff", message)
}
