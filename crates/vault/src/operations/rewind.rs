//! Rewind: back to the checkpoint before a story, ticks included. What comes after stays in the
//! vault.

use std::ffi::OsString;
use std::path::Path;

use super::moving::PreparedMove;
use crate::error::{CheckpointError, Result};
use crate::git::object_id::ObjectId;
use crate::journal::run_state::Current;
use crate::journal::steps::{MoveIntent, MoveKind, RefMove};
use crate::repo::Repo;
use crate::repo::snapshot::Snapshot;
use crate::vault::Vault;
use ralph_base::files::copy_with_time;
use ralph_base::ids::StoryId;

/// A rewind that is ready; nothing is touched yet.
pub struct PreparedRewind {
    /// Stories whose checkpoints go, in order.
    pub stories: Vec<String>,
    /// What will be moved.
    pub prepared: PreparedMove,
}

impl Vault {
    /// Makes the way back to before a story ready.
    pub(crate) fn prepare_rewind(&mut self, story: &StoryId) -> Result<PreparedRewind> {
        let current = self.log.current()?;
        let left = place_of(&current, story)?;
        let (refs, _, repaired) = self.observe_repaired(&current.snapshot)?;
        let head = self.check_on_branch()?;
        let (commit, snapshot) = current.checkpoint_after(left);
        let base = self.checkpoint()?;
        let present = self.tree.scan_present(&self.repo, &base)?;
        self.repo
            .remake_index(&current.snapshot, &snapshot, commit)?;
        let checkpoint = Snapshot::read(&self.repo.places.vault, &snapshot)?;
        let now = &present.snapshot.control;
        let control = self
            .repo
            .control_at(&checkpoint, &current.saved[left..], now)?;
        let target = self.repo.with_control(&checkpoint, control)?;
        let branch = current.intent.branch.clone();
        let intent = MoveIntent {
            kind: MoveKind::Rewind {
                story: story.0.clone(),
                left,
            },
            before: present.snapshot.id.clone(),
            after: target.id.clone(),
            refs: vec![RefMove {
                from: refs.get(&branch).copied(),
                name: branch,
                to: Some(commit),
            }],
            head_from: head,
            head_to: current.intent.head_at(commit),
            with_control: true,
        };
        let run = current.intent.run.clone();
        let mut prepared = self.repo.prepare_move(&run, intent, present, &target)?;
        prepared.outline.notices.extend(repaired);
        Ok(PreparedRewind {
            stories: current.saved[left..]
                .iter()
                .map(|it| it.work.to_string())
                .collect(),
            prepared,
        })
    }
}

impl Repo {
    /// The index of a checkpoint was dropped when the next one was made; it is made again, with
    /// what the present one knows of files that did not change.
    fn remake_index(&self, present: &str, snapshot: &str, commit: ObjectId) -> Result<()> {
        let wanted = Snapshot::index(&self.places.vault, snapshot);
        // One that an earlier rewind made may have lost its bytes in an outage.
        if wanted.exists() && self.is_index_of(&wanted, commit)? {
            return Ok(());
        }
        let scratch = self.places.vault.scratch("rewind-index");
        copy_with_time(&Snapshot::index(&self.places.vault, present), &scratch)?;
        let git = self.gits.work.patient().with_index(&scratch);
        let args = ["read-tree", "--reset", &commit.to_string()];
        self.write_index(&git, &args, &[])?;
        copy_with_time(&scratch, &wanted)?;
        Ok(())
    }

    /// True where git can read an index, and it holds what a commit does.
    fn is_index_of(&self, index: &Path, commit: ObjectId) -> Result<bool> {
        let commit = commit.to_string();
        let args = ["diff-index", "--cached", "--quiet", &commit].map(OsString::from);
        let git = self.gits.work.patient().with_index(index);
        let output = git.output(&args, &[])?;
        Ok(output.status.success())
    }
}

/// How many checkpoints there are before a story's.
fn place_of(current: &Current, story: &StoryId) -> Result<usize> {
    let mut saved = current.saved.iter();
    let place = saved.position(|saved| saved.work.story() == Some(story));
    place.ok_or_else(|| {
        let saved = current.saved.iter();
        let known: Vec<&str> = saved
            .filter_map(|saved| Some(saved.work.story()?.0.as_str()))
            .collect();
        let hint = if known.is_empty() {
            "no story of this run is done yet; `ralphtool finish --abandon` goes back to before it"
                .to_owned()
        } else {
            format!("stories done in this run: {}", known.join(", "))
        };
        CheckpointError::refused(
            format!("this run has no checkpoint of story `{story}`"),
            hint,
        )
    })
}
