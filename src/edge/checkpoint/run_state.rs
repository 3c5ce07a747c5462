//! What the journal says: the fold of its lines into the one run that may be open, and where the
//! last finished one began.

use crate::domain::event::FinishChoice;
use crate::domain::ids::{AttemptId, RunId};
use crate::edge::object_id::ObjectId;
use crate::edge::repository::Head;
use crate::edge::steps::{BeginIntent, Line, Step};

/// How far an open run got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    /// Branch, HEAD or index may be old or new; the work tree is untouched.
    Beginning,
    /// At a checkpoint, nothing under way.
    Still,
    /// An agent may be half-way, or alive.
    Working(AttemptId),
    /// The attempt is in the vault; the tree may be anything between it and the checkpoint.
    Restoring,
    /// The commit exists; branch, HEAD and index may be old or new.
    Saving {
        /// The commit.
        commit: ObjectId,
        /// Its snapshot.
        snapshot: String,
    },
    /// HEAD, index and branch may be old or new.
    Finishing {
        /// Which way.
        choice: FinishChoice,
        /// What the original branch is to be at.
        target: Option<ObjectId>,
        /// The branch's tip.
        tip: ObjectId,
    },
}

/// Where an open run is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Current {
    /// How it began.
    pub(super) intent: BeginIntent,
    /// The commit of the last checkpoint.
    pub(super) commit: ObjectId,
    /// The snapshot of the last checkpoint.
    pub(super) snapshot: String,
    /// How far it got.
    pub(super) phase: Phase,
    /// The last attempt that was started.
    pub(super) last_attempt: Option<LastAttempt>,
    /// Stories saved so far.
    pub(super) saved: usize,
}

/// The last attempt of an open run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LastAttempt {
    /// Which.
    pub(crate) attempt: AttemptId,
    /// Retries of its story used up, this attempt included where it counts.
    pub(crate) retries_used: u32,
    /// What the next attempt is to be told.
    pub(crate) reason: Option<String>,
}

/// A run that has begun and not been finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenRun {
    /// Its id.
    pub(crate) run: RunId,
    /// Its change.
    pub(crate) change: String,
    /// The attempt to go on after, where the story is not done.
    pub(crate) last_attempt: Option<LastAttempt>,
}

/// A finished run that the next one may follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    /// Full name of its branch.
    pub(super) branch: String,
    /// Where it began.
    pub(super) original: Head,
}

/// What the journal says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RunState {
    /// The open run.
    pub(super) current: Option<Current>,
    /// The last run whose branch was kept.
    pub(super) kept: Option<Kept>,
}

impl RunState {
    /// Folds the lines of a journal.
    pub(super) fn from_journal(lines: &[Line]) -> Self {
        let mut state = Self::default();
        for line in lines {
            state.apply(line);
        }
        state
    }

    /// The open run, as others see it.
    pub(super) fn open_run(&self) -> Option<OpenRun> {
        let current = self.current.as_ref()?;
        Some(OpenRun {
            run: current.intent.run.clone(),
            change: current.intent.change.clone(),
            last_attempt: current.last_attempt.clone(),
        })
    }

    /// Takes one line into account.
    pub(super) fn apply(&mut self, line: &Line) {
        match &line.step {
            Step::BeginIntent { intent } => {
                self.current = Some(Current {
                    intent: intent.as_ref().clone(),
                    commit: intent.commit,
                    snapshot: intent.checkpoint.clone(),
                    phase: Phase::Beginning,
                    last_attempt: None,
                    saved: 0,
                });
            }
            Step::BeginTakenBack => self.current = None,
            Step::Finished { choice } => self.finish(*choice),
            step => {
                if let Some(current) = &mut self.current {
                    current.apply(step);
                }
            }
        }
    }

    fn finish(&mut self, choice: FinishChoice) {
        let Some(current) = self.current.take() else {
            return;
        };
        self.kept = match choice {
            FinishChoice::Keep => Some(Kept {
                branch: current.intent.branch,
                original: current.intent.original,
            }),
            FinishChoice::Cleanup => None,
        };
    }
}

impl Current {
    fn apply(&mut self, step: &Step) {
        match step {
            Step::Begun | Step::Restored => self.phase = Phase::Still,
            Step::AttemptStarted {
                attempt,
                retries_used,
            } => {
                // Until this attempt is parked with a reason of its own, the one before it counts.
                let reason = self
                    .last_attempt
                    .take()
                    .filter(|last| last.attempt.story == attempt.story)
                    .and_then(|last| last.reason);
                self.last_attempt = Some(LastAttempt {
                    attempt: attempt.clone(),
                    retries_used: *retries_used,
                    reason,
                });
                self.phase = Phase::Working(attempt.clone());
            }
            Step::Parked { reason, counts, .. } => {
                if let Some(last) = &mut self.last_attempt {
                    last.reason.clone_from(reason);
                    last.retries_used += u32::from(*counts);
                }
            }
            Step::RestoreIntent => self.phase = Phase::Restoring,
            Step::SaveIntent {
                commit, snapshot, ..
            } => {
                self.phase = Phase::Saving {
                    commit: *commit,
                    snapshot: snapshot.clone(),
                };
            }
            Step::Saved => self.saved(),
            Step::FinishIntent {
                choice,
                target,
                tip,
            } => {
                self.phase = Phase::Finishing {
                    choice: *choice,
                    target: *target,
                    tip: *tip,
                };
            }
            Step::BeginIntent { .. } | Step::BeginTakenBack | Step::Finished { .. } => {}
        }
    }

    fn saved(&mut self) {
        if let Phase::Saving { commit, snapshot } = &self.phase {
            self.commit = *commit;
            self.snapshot.clone_from(snapshot);
            self.saved += 1;
        }
        self.last_attempt = None;
        self.phase = Phase::Still;
    }
}
