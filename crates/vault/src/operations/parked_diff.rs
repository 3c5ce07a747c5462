//! The diff of a parked attempt, for people and for the next attempt. It can be made again from two
//! commits, so it holds up nothing: git works on it while the tree is put back and the next attempt
//! is made ready.

use std::path::PathBuf;

use crate::error::{CheckpointError, Notice, Result};
use crate::git::object_id::ObjectId;
use crate::journal::run_state::Current;
use crate::session::{Checkpoints, Diffing};
use ralph_base::files::{create_private_folder, write_whole};

impl Checkpoints {
    /// Where the diff of a parked attempt is.
    pub fn diff_path(&self, label: &str) -> Result<PathBuf> {
        let run = self.log.current()?.intent.run;
        let folder = self.repo.run_folder(&run).join("attempts").join(label);
        Ok(folder.join("changes.diff"))
    }

    /// Lets git begin with the diff of a parked attempt against its checkpoint.
    pub fn begin_diff(
        &mut self,
        current: &Current,
        label: &str,
        commit: Option<ObjectId>,
    ) -> Result<()> {
        let Some(commit) = commit else {
            return Ok(());
        };
        let (before, after) = (current.commit.to_string(), commit.to_string());
        let store = self.repo.store.patient();
        let path = self.diff_path(label)?;
        let plain = ["diff", "--no-ext-diff", "--no-textconv", "--no-color"];
        let git = store.start(plain.iter().chain(&[&*before, &*after]))?;
        let earlier = self.diffing.replace(Diffing { path, git });
        self.unsaid.extend(written(earlier));
        Ok(())
    }

    /// Writes the diff git began with down; where there is none, the next step says so.
    pub fn end_diff(&mut self) {
        let diffing = self.diffing.take();
        self.unsaid.extend(written(diffing));
    }

    /// Makes the diff of the last attempt where a kill came before it was written.
    pub fn make_up_diff(&mut self, current: &Current) -> Result<()> {
        let last = current.last_attempt.as_ref();
        let Some(parked) = last.and_then(|last| last.parked.as_ref()) else {
            return Ok(());
        };
        // One without bytes is what a power cut leaves.
        let written = std::fs::metadata(self.diff_path(&parked.label)?);
        if written.is_ok_and(|diff| diff.len() > 0) {
            return Ok(());
        }
        self.begin_diff(current, &parked.label, parked.commit)?;
        self.end_diff();
        Ok(())
    }
}

/// Writes a diff down once git has it; what is said where there is none.
fn written(diffing: Option<Diffing>) -> Option<Notice> {
    write(diffing).err().map(|error| no_diff(&error))
}

fn write(diffing: Option<Diffing>) -> Result<()> {
    let Some(Diffing { path, git }) = diffing else {
        return Ok(());
    };
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
