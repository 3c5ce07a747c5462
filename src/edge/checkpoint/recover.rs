//! Recover: what an interrupted run left is brought to one of the two states it was between, by
//! what the journal says was the last step.

use super::run_state::{Current, Phase};
use super::snapshot::Snapshot;
use super::{CheckpointError, Checkpoints, Result};
use crate::edge::repository::Head;
use crate::edge::steps::Step;

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
            Phase::Saving { commit, snapshot } => {
                self.carry_out_save(&current, &snapshot, commit).await?;
                self.record(&current.intent.run, Step::Saved).await?;
                Recovery {
                    found: "a checkpoint whose commit was made, but not yet the branch moved"
                        .to_owned(),
                    done: format!("moved the branch to {}", commit.short()),
                }
            }
            Phase::Finishing {
                choice,
                target,
                tip,
            } => {
                self.carry_out_finish(&current, choice, (target, tip))
                    .await?;
                self.record(&current.intent.run, Step::Finished { choice })
                    .await?;
                Recovery {
                    found: "a finish that was interrupted".to_owned(),
                    done: "carried it out".to_owned(),
                }
            }
        };
        Ok(Some(recovery))
    }

    async fn take_back_begin(&mut self, current: &Current) -> Result<Recovery> {
        let trash = self.new_trash("begin");
        let intent = &current.intent;
        self.mend_head(&intent.branch, &trash)?;
        let (refs, head) = self.observe().await?;
        self.point_head(&intent.head, &head).await?;
        self.move_ref(&intent.branch, &refs, intent.old_branch)
            .await?;
        let index = Snapshot::index(&self.places.vault, &intent.start);
        self.swap_index(&index, &trash).await?;
        self.record(&intent.run, Step::BeginTakenBack).await?;
        Ok(Recovery {
            found: format!(
                "a run of `{}` that was interrupted while it began",
                intent.change
            ),
            done: format!("took it back: HEAD is on {}", intent.head.shown()),
        })
    }

    async fn undo_attempt(&mut self, current: &Current) -> Result<Recovery> {
        let Some(last) = current.last_attempt.clone() else {
            return Err(CheckpointError::failed(
                "the journal names no attempt",
                "the checkpoint commits are on the `ralph/` branch",
            ));
        };
        let parked = self.park(&last.attempt, last.reason, false).await?;
        self.restore().await?;
        Ok(Recovery {
            found: format!("attempt {} was interrupted", last.attempt),
            done: format!(
                "parked it ({} changed) and put the tree back to the checkpoint",
                parked.changed_files
            ),
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

    /// The branch of an open run that goes on.
    pub(crate) async fn adopt(&mut self) -> Result<super::Begun> {
        self.rejoin().await?;
        let intent = self.current()?.intent;
        Ok(super::Begun {
            branch: super::begin::short(&intent.branch).to_owned(),
            original: intent.original.shown(),
            notices: Vec::new(),
        })
    }

    /// Refuses to go on where the user has left the run's branch.
    pub(crate) async fn check_on_branch(&self) -> Result<Head> {
        let current = self.current()?;
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
