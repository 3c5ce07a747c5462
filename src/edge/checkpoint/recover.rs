//! Recover: what an interrupted run left is brought to one of the two states it was between, by
//! what the journal says was the last step.

use std::fmt::Write as _;

use super::run_state::{Current, Phase};
use super::save::descends;
use super::snapshot::Snapshot;
use super::{CheckpointError, Checkpoints, Result};
use crate::domain::event::FinishChoice;
use crate::edge::object_id::ObjectId;
use crate::edge::repository::Head;
use crate::edge::steps::{Step, StoryNote};

/// What was found and what was done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recovery {
    /// What was found.
    pub(crate) found: String,
    /// What was done.
    pub(crate) done: String,
}

impl Checkpoints {
    /// Mends what an interrupted run left; none where there is nothing to mend. Processes of the
    /// run must be dead.
    pub(crate) async fn recover(&mut self) -> Result<Option<Recovery>> {
        let Some(current) = self.state.current.clone() else {
            return Ok(None);
        };
        self.mark(&current.intent.run);
        let recovery = match current.phase.clone() {
            Phase::Beginning => self.take_back_begin(&current).await?,
            Phase::Still => return Ok(None),
            Phase::Working(_) => self.undo_attempt(&current).await?,
            Phase::Restoring => self.restore_again(&current).await?,
            Phase::Verified(story) => self.save_verified(&current, &story).await?,
            Phase::Saving { commit, snapshot } => {
                self.save_again(&current, &snapshot, commit).await?
            }
            Phase::Finishing {
                choice,
                target,
                tip,
            } => self.finish_again(&current, choice, (target, tip)).await?,
        };
        Ok(Some(recovery))
    }

    async fn save_again(
        &mut self,
        current: &Current,
        snapshot: &str,
        commit: ObjectId,
    ) -> Result<Recovery> {
        let branch = &current.intent.branch;
        let (refs, _) = self.observe().await?;
        let tip = refs.get(branch).copied().filter(|tip| *tip != commit);
        let mut done = format!("moved the branch to {}", commit.short());
        match tip {
            Some(tip) if descends(&self.git, commit, tip).await? => {
                done = format!("left the branch at {}, which is on top of it", tip.short());
            }
            Some(tip) if !descends(&self.git, tip, commit).await? => {
                let name = format!("refs/archive/{}/{tip}", current.intent.run);
                self.link_objects().await?;
                let id = tip.to_string();
                self.store.run(["update-ref", &name, &id]).await?;
                self.carry_out_save(current, snapshot, commit).await?;
                let _ = write!(done, "; it was at {tip}, which is kept");
            }
            _ => self.carry_out_save(current, snapshot, commit).await?,
        }
        self.record(&current.intent.run, Step::Saved).await?;
        Ok(Recovery {
            found: "a checkpoint whose commit was made, but not yet the branch moved".to_owned(),
            done,
        })
    }

    /// Carries a finish out, unless somebody has gone on working since: then what it was about to
    /// do is no longer right.
    async fn finish_again(
        &mut self,
        current: &Current,
        choice: FinishChoice,
        (target, tip): (Option<ObjectId>, ObjectId),
    ) -> Result<Recovery> {
        let intent = &current.intent;
        let (refs, head) = self.observe().await?;
        let (home, at) = match &intent.original {
            Head::Branch { name, .. } => (Some(name), refs.get(name).copied()),
            Head::Detached { commit } => (None, Some(*commit)),
        };
        let on_branch = matches!(&head, Head::Branch { name, .. } if *name == intent.branch);
        let at_home = match &head {
            Head::Branch { name, .. } => Some(name) == home,
            Head::Detached { commit } => home.is_none() && Some(*commit) == at,
        };
        let branch = refs.get(&intent.branch).copied();
        let (choice, done) = if branch.is_none() && !on_branch {
            (choice, "it was done already".to_owned())
        } else if branch == Some(tip) && at == target && (on_branch || at_home) {
            self.carry_out_finish(current, choice, (target, tip))
                .await?;
            (choice, "carried it out".to_owned())
        } else {
            let name = super::begin::short(&intent.branch);
            let done = format!("left everything as it is, `{name}` too: it has changed since");
            (FinishChoice::Keep, done)
        };
        self.record(&intent.run, Step::Finished { choice }).await?;
        Ok(Recovery {
            found: "a finish that was interrupted".to_owned(),
            done,
        })
    }

    async fn take_back_begin(&mut self, current: &Current) -> Result<Recovery> {
        let trash = self.new_trash("begin");
        let intent = &current.intent;
        self.mend_head(&intent.branch, &trash)?;
        let (refs, head) = self.observe().await?;
        let tip = refs.get(&intent.branch).copied();
        let on_branch = matches!(&head, Head::Branch { name, .. } if *name == intent.branch);
        let as_left = (tip == intent.old_branch || tip == Some(intent.commit))
            && (on_branch || head == intent.head);
        let done = if as_left {
            self.point_head(&intent.head, &head).await?;
            self.move_ref(&intent.branch, &refs, intent.old_branch)
                .await?;
            self.keep_index(&trash).await?;
            let index = Snapshot::index(&self.places.vault, &intent.start);
            self.swap_index(&index, &trash).await?;
            format!("took it back: HEAD is on {}", intent.head.shown())
        } else {
            // Somebody has gone on working from there; no file was touched by the begin.
            "left everything as it is: it has changed since".to_owned()
        };
        self.record(&intent.run, Step::BeginTakenBack).await?;
        Ok(Recovery {
            found: format!(
                "a run of `{}` that was interrupted while it began",
                intent.change
            ),
            done,
        })
    }

    async fn save_verified(&mut self, current: &Current, story: &StoryNote) -> Result<Recovery> {
        self.refuse_moved_head(current)?;
        let report = self.save(story).await?;
        let commit: String = report.commit.chars().take(10).collect();
        Ok(Recovery {
            found: format!(
                "story {} was done, but its checkpoint was not written",
                story.id
            ),
            done: format!("wrote it: {commit}"),
        })
    }

    async fn undo_attempt(&mut self, current: &Current) -> Result<Recovery> {
        let Some(last) = current.last_attempt.clone() else {
            return Err(CheckpointError::failed(
                "the journal names no attempt",
                "the checkpoint commits are on the `ralph/` branch",
            ));
        };
        let apart = self.is_attempt_apart();
        if !apart {
            self.refuse_moved_head(current)?;
        }
        let parked = self.park(&last.attempt, last.reason, false).await?;
        self.restore().await?;
        let tree = if apart {
            "; the tree was never touched"
        } else {
            " and put the tree back to the checkpoint"
        };
        Ok(Recovery {
            found: format!("attempt {} was interrupted", last.attempt),
            done: format!("parked it ({} changed){tree}", parked.changed_files),
        })
    }

    /// The tree is anything between the attempt and the checkpoint, and the user may have edited
    /// since: all of it is parked once more under a name of its own.
    async fn restore_again(&mut self, current: &Current) -> Result<Recovery> {
        if let Some(last) = current.last_attempt.clone() {
            let label = format!("{}-{}", last.attempt, crate::edge::vault::random_name(4));
            self.park_as(&last.attempt, &label, last.reason, false)
                .await?;
        }
        self.restore().await?;
        Ok(Recovery {
            found: "a restore that was interrupted".to_owned(),
            done: "put the tree back to the checkpoint".to_owned(),
        })
    }

    /// Refuses where HEAD is elsewhere, and it was not the agent who moved it: what is in the tree
    /// now is the user's.
    fn refuse_moved_head(&self, current: &Current) -> Result<()> {
        let branch = &current.intent.branch;
        let git_dir = &self.places.repository.git_dir;
        let head = std::fs::read_to_string(git_dir.join("HEAD")).unwrap_or_default();
        let elsewhere = head.trim().strip_prefix("ref: ") != Some(branch.as_str());
        if !elsewhere || !self.moved_after_agent(current, &git_dir.join("logs/HEAD")) {
            return Ok(());
        }
        let branch = super::begin::short(branch);
        Err(CheckpointError::refused(
            format!("an attempt on `{branch}` was interrupted, and HEAD has left it since"),
            format!("`git switch {branch}` first; what the attempt left is parked then"),
        ))
    }

    /// The branch of an open run that goes on.
    pub(crate) async fn adopt(&mut self) -> Result<super::Begun> {
        self.rejoin().await?;
        let intent = self.current()?.intent;
        Ok(super::Begun {
            branch: super::begin::short(&intent.branch).to_owned(),
            original: intent.original.recorded(),
            original_commit: intent.original.commit().map(|commit| commit.to_string()),
            notices: Vec::new(),
        })
    }

    /// Refuses to go on where the user has left the run's branch.
    pub(crate) async fn check_on_branch(&self) -> Result<Head> {
        let current = self.current()?;
        self.refuse_operation()?;
        self.refuse_conflicts().await?;
        let (_, head) = self.observe().await?;
        let on_branch =
            matches!(&head, Head::Branch { name, .. } if *name == current.intent.branch);
        if !on_branch {
            let branch = super::begin::short(&current.intent.branch);
            return Err(CheckpointError::refused(
                format!(
                    "an unfinished run of `{}` is on `{branch}`, but HEAD is on `{}`",
                    current.intent.change,
                    head.shown()
                ),
                format!("`git switch {branch}` to go on with it, or pass `--fresh` to start anew"),
            ));
        }
        Ok(head)
    }

    /// What the user changed since the run stopped becomes part of it.
    async fn rejoin(&mut self) -> Result<()> {
        let current = self.current()?;
        self.mark(&current.intent.run);
        let head = self.check_on_branch().await?;
        let base = self.checkpoint().await?;
        let index = Snapshot::index(&self.places.vault, &base.id);
        let taken = self
            .take(&base.manifest, Self::known_of(&base), &index)
            .await?;
        let moved = head.commit() != Some(current.commit);
        if taken.changes.count() > 0 || moved {
            let message = format!("resumed state\n\nRun: {}\n", current.intent.run);
            self.save_as("resumed state", &message).await?;
        }
        Ok(())
    }
}
