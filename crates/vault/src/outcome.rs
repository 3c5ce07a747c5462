//! How an attempt failed, and how a run is finished.

use serde::{Deserialize, Serialize};

/// Why an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The agent said FAILED.
    Failed,
    /// A gate went red.
    Gate,
    /// A reviewer found a task or scenario that is not met.
    Review,
    /// Boxes left open (`strict_tasks`), nothing changed (`require_changes`), or tasks removed.
    Tasks,
    /// A tamper check that is set to fail found something.
    Tamper,
    /// The agent left work in a submodule uncommitted, which no commit would have.
    Submodule,
    /// The agent ended without a promise.
    NoSignal,
    /// The agent ended with an error or a signal and no promise.
    Crashed,
    /// No output for too long.
    Silent,
    /// It took too long.
    Timeout,
    /// The conversation outgrew the model's context.
    Overflow,
    /// The agent asked a question that only the user can answer.
    Blocked,
    /// A rate or usage limit, or an API that is down.
    Limit,
    /// Not logged in, bad key, no credit, no such model.
    Auth,
    /// Cost, tokens or time of the run or the story are used up.
    Budget,
    /// The user stopped it.
    Stopped,
    /// The program was interrupted; found at the next start.
    Interrupted,
    /// The user skipped the story.
    Skipped,
}

/// What happens to the branch at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FinishChoice {
    /// Back to the original branch, the work as uncommitted changes.
    Cleanup,
    /// Stay on the checkpoint branch.
    Keep,
    /// Stay on the checkpoint branch, with all of the work in one commit.
    Squash,
    /// Stay on the checkpoint branch, with the title of each story as the subject of its commit.
    Reword,
    /// Everything back to how it was before the run.
    Abandon,
}

impl FinishChoice {
    /// True where HEAD stays on the checkpoint branch.
    pub const fn keeps_branch(self) -> bool {
        match self {
            Self::Keep | Self::Squash | Self::Reword => true,
            Self::Cleanup | Self::Abandon => false,
        }
    }
}
