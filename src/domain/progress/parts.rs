//! The parts of a run's progress: header, stories, attempts, what happens right now.

use std::time::Duration;

use jiff::Timestamp;

use crate::domain::agent_event::Usage;
use crate::domain::event::{FailureKind, FinishChoice};
use crate::domain::ids::{AttemptId, AttemptNumber, RunId, StoryId};

/// What a run is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    /// The run.
    pub(crate) run: RunId,
    /// The change that is worked through.
    pub(crate) change: String,
    /// The checkpoint branch.
    pub(crate) branch: String,
    /// Where the user was.
    pub(crate) original: String,
    /// The agent's name.
    pub(crate) agent: String,
    /// The model asked for.
    pub(crate) model: Option<String>,
    /// How often a story may be retried.
    pub(crate) max_retries: u32,
    /// Names of the gates.
    pub(crate) gates: Vec<String>,
    /// The run was interrupted and goes on.
    pub(crate) resumed: bool,
}

/// One story as far as this run knows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StoryProgress {
    /// The story.
    pub(crate) id: StoryId,
    /// Its title.
    pub(crate) title: String,
    /// Its place among all stories, from 1; unknown for a story that is skipped.
    pub(crate) position: Option<usize>,
    /// Where it stands.
    pub(crate) state: StoryStanding,
    /// Its attempts in this run.
    pub(crate) attempts: Vec<AttemptProgress>,
    /// When work on it began.
    pub(crate) started_at: Timestamp,
}

/// Where a story stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoryStanding {
    /// It is worked on.
    Running,
    /// It was passed over.
    Skipped {
        /// Why.
        reason: String,
    },
    /// Its checkpoint commit is written.
    Completed {
        /// The checkpoint commit.
        commit: String,
        /// Paths the checkpoint changed.
        changed_files: usize,
        /// From the first attempt's start to the commit.
        duration: Duration,
    },
    /// The run ended before it was complete.
    Unfinished,
}

/// One attempt at a story.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AttemptProgress {
    /// Which.
    pub(crate) number: AttemptNumber,
    /// How many attempts the story may have.
    pub(crate) max_attempts: u32,
    /// When its agent started.
    pub(crate) started_at: Timestamp,
    /// Folder with prompt, stdout and stderr.
    pub(crate) transcript: String,
    /// What it used so far.
    pub(crate) usage: Usage,
    /// How it stands.
    pub(crate) state: AttemptStanding,
}

/// How an attempt stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AttemptStanding {
    /// It is not decided yet.
    Running,
    /// The story is complete.
    Succeeded,
    /// It failed and is parked.
    Failed {
        /// What sort of failure.
        kind: FailureKind,
        /// Why.
        reason: String,
    },
    /// The run ended or was interrupted in the middle of it.
    Interrupted,
}

/// What happens right now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Nothing has begun.
    #[default]
    Starting,
    /// Something short: reading, checking, saving, restoring.
    Between,
    /// An agent works.
    Working {
        /// The story.
        story: StoryId,
        /// Which attempt.
        attempt: AttemptNumber,
        /// Since when.
        since: Timestamp,
    },
    /// A gate runs.
    Gate {
        /// The story.
        story: StoryId,
        /// The gate's name.
        gate: String,
        /// It runs on the checkpoint.
        baseline: bool,
        /// Since when.
        since: Timestamp,
    },
    /// A limit has to end first.
    Waiting {
        /// The story.
        story: StoryId,
        /// Why.
        reason: String,
        /// Until when.
        until: Timestamp,
    },
    /// The loop is over.
    Ended,
}

/// Something the user should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Warning {
    /// Stable name of the warning.
    pub(crate) code: String,
    /// For people.
    pub(crate) message: String,
}

/// The last attempt that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LastFailure {
    /// Which attempt, and the name it is parked under.
    pub(crate) attempt: AttemptId,
    /// What sort of failure.
    pub(crate) kind: FailureKind,
    /// Why.
    pub(crate) reason: String,
    /// Paths the attempt had changed.
    pub(crate) changed_files: usize,
}

/// What became of the branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finish {
    /// What was done.
    pub(crate) choice: FinishChoice,
    /// The branch HEAD is on now, or a commit.
    pub(crate) head: String,
    /// Paths that differ from where the run began.
    pub(crate) changed_files: usize,
}
