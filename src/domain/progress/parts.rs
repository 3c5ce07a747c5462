//! The parts of a run's progress: header, stories, attempts, what happens right now.

use std::time::Duration;

use jiff::Timestamp;

use crate::domain::agent_event::Usage;
use crate::domain::dialect::Output;
use crate::domain::event::{BudgetLimits, FailureKind, FinishChoice, GateResult};
use crate::domain::ids::{AttemptId, AttemptNumber, RunId, StoryId};
use crate::domain::roster::Choice;

/// What a run is about.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Header {
    /// The run.
    pub(crate) run: RunId,
    /// The change that is worked through.
    pub(crate) change: String,
    /// The checkpoint branch.
    pub(crate) branch: String,
    /// Where the user was.
    pub(crate) original: String,
    /// The commit that was; none on a branch without one.
    pub(crate) original_commit: Option<String>,
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
    /// What the run may use.
    pub(crate) budget: BudgetLimits,
    /// What each of its stories may use.
    pub(crate) story_budget: BudgetLimits,
}

/// One story as far as this run knows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StoryProgress {
    /// The story.
    pub(crate) id: StoryId,
    /// Its title.
    pub(crate) title: String,
    /// Its place among all stories, from 1; unknown where only its skipping was recorded.
    pub(crate) position: Option<usize>,
    /// Where it stands.
    pub(crate) state: StoryStanding,
    /// Ticked tasks, where they were recorded.
    pub(crate) tasks_done: usize,
    /// All tasks, where they were recorded.
    pub(crate) tasks_total: usize,
    /// Its attempts in this run.
    pub(crate) attempts: Vec<AttemptProgress>,
    /// Every run of a gate for it, in order.
    pub(crate) gates: Vec<GateProgress>,
    /// When work on it first began.
    pub(crate) started_at: Option<Timestamp>,
    /// Open tasks when work on it began.
    pub(super) open_tasks: usize,
    /// How long it was worked on, without the stretch that is under way.
    pub(super) spent: Duration,
    /// Since when it is worked on now.
    pub(super) since: Option<Timestamp>,
    /// How long it was tried, from each first attempt on, without the stretch that is under way.
    pub(super) tried: Duration,
    /// Since when it is tried now.
    pub(super) tried_since: Option<Timestamp>,
}

impl StoryProgress {
    /// A story nothing happened to yet.
    pub(super) fn new(id: StoryId, title: String) -> Self {
        Self {
            id,
            title,
            position: None,
            state: StoryStanding::Waiting,
            tasks_done: 0,
            tasks_total: 0,
            attempts: Vec::new(),
            gates: Vec::new(),
            started_at: None,
            open_tasks: 0,
            spent: Duration::ZERO,
            since: None,
            tried: Duration::ZERO,
            tried_since: None,
        }
    }

    /// What all of its attempts used, one in flight included.
    pub(crate) fn usage(&self) -> Usage {
        let mut total = Usage::default();
        for attempt in &self.attempts {
            total.add(&attempt.usage);
        }
        total
    }

    /// How long it was worked on so far.
    pub(crate) fn elapsed(&self, now: Timestamp) -> Duration {
        let running = self.since.map(|since| between(since, now));
        self.spent + running.unwrap_or_default()
    }

    /// How long it was tried so far, from each first attempt on.
    pub(super) fn time_tried(&self, now: Timestamp) -> Duration {
        let running = self.tried_since.map(|since| between(since, now));
        self.tried + running.unwrap_or_default()
    }

    /// The gates that ran on this attempt.
    pub(crate) fn gates_of(&self, attempt: AttemptNumber) -> impl Iterator<Item = &GateProgress> {
        let of_attempt = move |gate: &&GateProgress| gate.attempt == Some(attempt);
        self.gates.iter().filter(of_attempt)
    }

    /// Work on it is over, for now or for good.
    pub(super) fn rest(&mut self, at: Timestamp, state: StoryStanding) {
        self.spent = self.elapsed(at);
        self.since = None;
        self.tried = self.time_tried(at);
        self.tried_since = None;
        self.state = state;
    }
}

/// One run of a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GateProgress {
    /// The gate's name.
    pub(crate) name: String,
    /// The attempt it checks; none where it runs on the checkpoint.
    pub(crate) attempt: Option<AttemptNumber>,
    /// When it began.
    pub(crate) started_at: Timestamp,
    /// The file its output goes to; empty where it was not recorded.
    pub(crate) log: String,
    /// How it ended; none while it runs, or where it was ended on request.
    pub(crate) result: Option<GateResult>,
    /// How long it took.
    pub(crate) duration: Option<Duration>,
}

/// Where a story stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoryStanding {
    /// It is open and its turn has not come.
    Waiting,
    /// It was complete before the run.
    Done,
    /// What is left of it is set aside.
    Deferred,
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
    /// The checkpoint commit it starts from.
    pub(crate) base: Option<String>,
    /// How its transcript is to be read.
    pub(crate) output: Output,
    /// Who makes it, where that was recorded.
    pub(crate) agent: Option<Choice>,
    /// What it used so far.
    pub(crate) usage: Usage,
    /// The prices its cost is computed from; none where the agent tells it.
    pub(crate) prices: Option<String>,
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
        /// The name it is parked under.
        parked: String,
        /// Paths it had changed.
        changed_files: usize,
        /// How long it took.
        duration: Duration,
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
    /// Nothing runs until the user says to go on.
    Paused {
        /// The story whose next attempt is held back.
        story: StoryId,
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

/// A finish that did not work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FinishFailure {
    /// What was tried.
    pub(crate) choice: FinishChoice,
    /// What happened.
    pub(crate) reason: String,
    /// What to do next.
    pub(crate) hint: String,
    /// It is under way, and only it can be carried through.
    pub(crate) begun: bool,
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

pub(super) fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}
