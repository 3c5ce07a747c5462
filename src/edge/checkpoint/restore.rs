//! Restore: work tree, refs, HEAD, index, stash, config and hooks become what they were at the
//! checkpoint. Only after the attempt is parked.

use std::path::Path;
use std::sync::Arc;

use super::run_state::Current;
use super::snapshot::Snapshot;
use super::{Checkpoints, Notice, Result, blocking};
use crate::edge::repository::{Head, Refs};
use crate::edge::steps::Step;

impl Checkpoints {
    /// Puts everything back to the checkpoint.
    pub(crate) async fn restore(&mut self) -> Result<Vec<Notice>> {
        let current = self.current()?;
        let base = self.checkpoint().await?;
        let run = current.intent.run.clone();
        self.record(&run, Step::RestoreIntent).await?;
        let notices = self.carry_out_restore(&current, &base).await?;
        self.record(&run, Step::Restored).await?;
        Ok(notices)
    }

    async fn carry_out_restore(
        &mut self,
        current: &Current,
        base: &Arc<Snapshot>,
    ) -> Result<Vec<Notice>> {
        let trash = self.new_trash("restore");
        let parked = self.parked.take();
        let Some(parked) = parked else {
            return Err(super::CheckpointError::failed(
                "nothing was parked before the restore",
                "start again: the next start parks and restores",
            ));
        };
        let mut notices = self.restore_control(base, &trash).await?;
        let index = Snapshot::index(&self.places.vault, &base.id);
        notices.extend(
            self.converge(
                &base.manifest,
                &parked.manifest,
                &parked.passed_over,
                (&index, &trash),
            )
            .await?,
        );
        self.restore_refs(current, base, &trash).await?;
        self.swap_index(&index, &trash).await?;
        Ok(notices)
    }

    async fn restore_control(&self, base: &Arc<Snapshot>, trash: &Path) -> Result<Vec<Notice>> {
        let places = Arc::clone(&self.places);
        let snapshot = Arc::clone(base);
        let trash = trash.to_owned();
        let changed =
            blocking(move || snapshot.control.restore_files(&places.repository, &trash)).await?;
        if changed.is_empty() {
            return Ok(Vec::new());
        }
        Ok(vec![Notice::new(
            "git_files_restored",
            format!(
                "the attempt had changed in the git directory: {}",
                changed.join(", ")
            ),
        )])
    }

    async fn restore_refs(
        &self,
        current: &Current,
        base: &Arc<Snapshot>,
        trash: &Path,
    ) -> Result<()> {
        let (refs, head) = self.observe().await?;
        self.move_ref(&current.intent.branch, &refs, Some(current.commit))
            .await?;
        let target = Head::Branch {
            name: current.intent.branch.clone(),
            commit: Some(current.commit),
        };
        self.point_head(&target, &head).await?;
        self.restore_original(current, base, &refs).await?;
        let stash = "refs/stash";
        if base.control.refs.get(stash) != refs.get(stash) {
            self.move_ref(stash, &refs, base.control.refs.get(stash).copied())
                .await?;
        }
        let places = Arc::clone(&self.places);
        let snapshot = Arc::clone(base);
        let trash = trash.to_owned();
        blocking(move || {
            snapshot
                .control
                .restore_stash_log(&places.repository, &trash)
        })
        .await
    }

    /// The branch the user came from goes back too when the agent was the one who had it in hand:
    /// it can only have moved it from this work tree by having HEAD there.
    async fn restore_original(
        &self,
        current: &Current,
        base: &Arc<Snapshot>,
        refs: &Refs,
    ) -> Result<()> {
        let Head::Branch { name, .. } = &current.intent.original else {
            return Ok(());
        };
        if *name == current.intent.branch || base.control.refs.get(name) == refs.get(name) {
            return Ok(());
        }
        if self.agent_moved_refs(current) {
            self.move_ref(name, refs, base.control.refs.get(name).copied())
                .await?;
        }
        Ok(())
    }

    /// True where the record of the agent's own git commands shows one that moves refs.
    fn agent_moved_refs(&self, current: &Current) -> bool {
        current.last_attempt.as_ref().is_some_and(|last| {
            let folder = self.attempt_folder(&current.intent.run, &last.attempt);
            ran_git_that_moves_refs(&folder.join("git"))
        })
    }
}

/// Subcommands of git that can move a branch.
const MOVING: &[&str] = &[
    "branch",
    "checkout",
    "switch",
    "commit",
    "reset",
    "merge",
    "rebase",
    "cherry-pick",
    "revert",
    "pull",
    "fetch",
    "push",
    "update-ref",
    "am",
    "worktree",
    "filter-branch",
    "commit-tree",
    "symbolic-ref",
    "fast-import",
];

/// Looks through the event files git writes for each command an agent runs.
fn ran_git_that_moves_refs(folder: &Path) -> bool {
    let Ok(listing) = std::fs::read_dir(folder) else {
        return false;
    };
    listing.filter_map(std::result::Result::ok).any(|entry| {
        let Ok(text) = std::fs::read(entry.path()) else {
            return false;
        };
        text.split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice::<TraceLine>(line).ok())
            .any(|line| {
                line.event == "cmd_name" && line.name.is_some_and(|name| MOVING.contains(&&*name))
            })
    })
}

/// The part of git's event format that names a command.
#[derive(serde::Deserialize)]
struct TraceLine {
    event: String,
    name: Option<String>,
}
