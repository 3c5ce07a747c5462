//! The wire format: one stream of records, from which the screen, the log and `--json` are made.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use super::gate_events::{GateFinished, GateNotRun, GateResult, GateRetried, GateStarted};
pub use super::outcome::{FailedStory, OpenQuestion, Outcome, red_since_before};
pub use super::review::{ReviewFinished, ReviewStarted};
use crate::policy::budget::Budget;
use crate::policy::roster::Choice;
use crate::settings::TamperCheck;
use crate::words::in_ms;
use ralph_agents::agent_event::{AgentEvent, Usage, first_chars};
use ralph_agents::dialect::Output;
use ralph_base::ids::{AttemptNumber, RunId, StoryId};
use ralph_plan::change::StoryState;
use ralph_plan::tasks::{Task, TaskKind, TaskState};
use ralph_vault::error::Notice;
use ralph_vault::journal::reopening::Reopening;
pub use ralph_vault::outcome::{FailureKind, FinishChoice};

/// The version of the wire format.
pub const WIRE_VERSION: u32 = 1;

/// One line of the stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct Record {
    /// Version of the format.
    pub v: u32,
    /// Running number within the run, from 0.
    pub seq: u64,
    /// When it happened.
    #[cfg_attr(any(test, feature = "testing"), schemars(with = "String"))]
    pub at: Timestamp,
    /// The run it belongs to.
    pub run: RunId,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

impl Record {
    /// A record in the present version of the format.
    pub fn new(seq: u64, at: Timestamp, run: RunId, event: Event) -> Self {
        Self {
            v: WIRE_VERSION,
            seq,
            at,
            run,
            event,
        }
    }
}

/// Everything that can happen in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "a run has one start, and events are not kept in great numbers"
)]
pub enum Event {
    /// The loop started; the checkpoint branch exists.
    RunStarted(RunStarted),
    /// Leftovers of an interrupted run were found and repaired.
    Recovered {
        /// What was found.
        found: String,
        /// What was done about it.
        done: String,
    },
    /// Something the user should know; the run continues.
    Warning {
        /// Stable name of the warning.
        code: String,
        /// For people.
        message: String,
    },
    /// Work on a story begins.
    StoryStarted(StoryStarted),
    /// A story is skipped.
    StorySkipped {
        /// The story.
        story: StoryId,
        /// Its title.
        title: String,
        /// Why.
        reason: String,
        /// The story it depends on that is left open: then this one cannot be run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waits_for: Option<StoryId>,
    },
    /// A story used up its retries.
    StoryExhausted(StoryExhausted),
    /// Another agent or model makes the next attempt.
    AgentChanged {
        /// The story.
        story: StoryId,
        /// The agent and model before.
        from: Choice,
        /// The agent and model from now on.
        to: Choice,
        /// Why.
        reason: String,
    },
    /// An attempt begins: its agent was started.
    AttemptStarted(AttemptStarted),
    /// A check failed: the agent's session continues in the same tree, to repair that.
    RepairStarted(RepairStarted),
    /// What interrupted the agent is over, a limit or a question: its session continues in the same tree.
    AttemptContinued(AttemptContinued),
    /// An agent asks a question that only the user can answer.
    QuestionAsked(QuestionAsked),
    /// The user answered.
    QuestionAnswered(QuestionAnswered),
    /// The agent said or did something.
    Agent {
        /// The story.
        story: StoryId,
        /// Which attempt.
        attempt: AttemptNumber,
        /// What.
        agent: AgentEvent,
    },
    /// A gate begins.
    GateStarted(GateStarted),
    /// A gate does not run: no file in its paths was changed.
    GateNotRun(GateNotRun),
    /// A gate was red and runs again on the same tree.
    GateRetried(GateRetried),
    /// A gate ended.
    GateFinished(GateFinished),
    /// A review begins: a reviewer's process was started.
    ReviewStarted(ReviewStarted),
    /// The reviewer said or did something.
    Reviewer {
        /// The story.
        story: StoryId,
        /// The review's name.
        review: String,
        /// What.
        agent: AgentEvent,
    },
    /// A review ended.
    ReviewFinished(ReviewFinished),
    /// An attempt changed tests, the plan, the gates or files outside of `roots`.
    TamperFound {
        /// The story.
        story: StoryId,
        /// Which attempt.
        attempt: AttemptNumber,
        /// Which check found it.
        check: TamperCheck,
        /// The paths, relative to the top of the work tree.
        paths: Vec<String>,
        /// What was found, for people.
        message: String,
        /// Whether the attempt fails because of it; otherwise it is only reported.
        failed: bool,
    },
    /// An attempt failed; it is parked and the tree is restored to the checkpoint.
    AttemptFailed(AttemptFailed),
    /// The loop waits for a limit to end.
    Waiting {
        /// The story.
        story: StoryId,
        /// Why.
        reason: String,
        /// Until when.
        #[cfg_attr(any(test, feature = "testing"), schemars(with = "String"))]
        until: Timestamp,
        /// The attempt that continues then, in its session and with its changes in the tree; none where
        /// the next attempt starts then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        continues: Option<AttemptNumber>,
    },
    /// A story is done and its checkpoint commit is written.
    StoryCompleted(StoryCompleted),
    /// A gate or a review over the whole change failed: the last story has open tasks again.
    StoryReopened {
        /// The story.
        story: StoryId,
        /// The gate, or the review.
        gate: String,
        /// Whether it was a review.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        review: bool,
        /// The reason that the next attempt gets.
        reason: String,
        /// The commit with the open boxes.
        commit: String,
    },
    /// The user asked for something during the run.
    Requested {
        /// What.
        request: Request,
    },
    /// The run is paused until the user continues it.
    Paused {
        /// The story.
        story: StoryId,
        /// The attempt that continues then, in its session and with its changes in the tree; none where
        /// the next attempt starts then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        continues: Option<AttemptNumber>,
    },
    /// The boxes of the current story have changed.
    TasksChanged {
        /// The story.
        story: StoryId,
        /// Its tasks and their boxes.
        tasks: Vec<TaskOutline>,
    },
    /// The user left a note for the next prompt of a story: of an attempt or of a repair.
    NoteAdded {
        /// The user's words.
        text: String,
        /// The story; none for the story of the next attempt, whichever it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        story: Option<StoryId>,
    },
    /// No attempt got a note: its story was over before.
    NoteUnused {
        /// The user's words.
        text: String,
        /// The story it was for.
        story: StoryId,
        /// Why the story is over.
        reason: String,
    },
    /// The loop is over; the finish choice follows.
    RunEnded(RunEnded),
    /// The loop is over, and waits for the user to choose how to finish.
    ChoiceNeeded,
    /// The run was rewound to before a story.
    Rewound {
        /// The story.
        story: StoryId,
        /// The commits of the checkpoints that still count.
        checkpoints: Vec<String>,
    },
    /// A finish, a rewind or a restored attempt was undone.
    Undone {
        /// The commits of the checkpoints that count now.
        checkpoints: Vec<String>,
        /// Whether the run is open again.
        open: bool,
        /// What was undone; older versions did not record it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<UndoneStep>,
    },
    /// The run was finished.
    Finished(Finished),
    /// The finish did not work.
    FinishFailed(FinishFailed),
}

/// What an undo reverts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UndoneStep {
    /// The work went to the original branch.
    Cleanup,
    /// Everything was as before the run.
    Abandon,
    /// All work was put into one commit.
    Squash,
    /// The commits got other messages.
    Reword,
    /// Another run started from where this one began.
    StartOver,
    /// The run was rewound to before a story.
    Rewind,
    /// Files of a failed attempt were restored.
    RestoreAttempt,
}

impl From<Notice> for Event {
    fn from(notice: Notice) -> Self {
        Self::warning(notice.code, notice.message)
    }
}

impl Event {
    pub(crate) fn warning(code: &str, message: impl Into<String>) -> Self {
        Self::Warning {
            code: code.to_owned(),
            message: message.into(),
        }
    }

    /// The event to record once the commit with the open boxes is made.
    pub fn reopened(reopening: Reopening, commit: String) -> Self {
        Self::StoryReopened {
            story: reopening.story,
            gate: reopening.gate,
            review: reopening.review,
            reason: reopening.reason,
            commit,
        }
    }
}

/// The loop started; the checkpoint branch exists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), schemars(inline))]
pub struct RunStarted {
    /// The change that is worked through.
    pub change: String,
    /// The checkpoint branch.
    pub branch: String,
    /// Where the user was: a branch name, or a commit for a detached HEAD.
    pub original: String,
    /// The commit of `original`; none on a branch without commits.
    pub original_commit: Option<String>,
    /// Where HEAD goes if the run is abandoned, where that is not `original`: to where it was before a
    /// fresh start left another run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abandon_to: Option<String>,
    /// The agent's name.
    pub agent: String,
    /// The model asked for.
    pub model: Option<String>,
    /// All stories of the change.
    pub stories_total: usize,
    /// Stories that were complete at the start.
    pub stories_done: usize,
    /// How often a story may be retried.
    pub max_retries: u32,
    /// Names of the gates.
    pub gates: Vec<String>,
    /// Those of them that run once, when every story is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates_at_end: Vec<String>,
    /// Names of the reviews.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<String>,
    /// Those of them that take place once, when every story is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews_at_end: Vec<String>,
    /// Whether this resumes an earlier run.
    pub resumed: bool,
    /// All stories of the change, in document order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stories: Vec<StoryOutline>,
    /// What the run may use.
    #[serde(default, skip_serializing_if = "BudgetLimits::is_empty")]
    pub budget: BudgetLimits,
    /// What each of its stories may use.
    #[serde(default, skip_serializing_if = "BudgetLimits::is_empty")]
    pub story_budget: BudgetLimits,
    /// Agents that take over when that one is unavailable, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<String>,
}

/// An agent process was started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), schemars(inline))]
pub struct AttemptStarted {
    /// The story.
    pub story: StoryId,
    /// Which attempt.
    pub attempt: AttemptNumber,
    /// How many attempts the story may have, those that do not count included.
    pub max_attempts: u32,
    /// Earlier attempts that do not count: they used no retry, or came before the story got new ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub uncounted: u32,
    /// Folder with prompt, stdout and stderr of the attempt.
    pub transcript: String,
    /// The checkpoint commit the attempt starts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The format of the agent's stdout.
    #[serde(default)]
    pub output: Output,
    /// The agent and model that make it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Choice>,
}

/// The agent of an attempt is asked to repair what a check found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), schemars(inline))]
pub struct RepairStarted {
    /// The story.
    pub story: StoryId,
    /// Which attempt.
    pub attempt: AttemptNumber,
    /// Which repair of the attempt, from 1.
    pub repair: u32,
    /// How many repairs an attempt may have.
    pub max_repairs: u32,
    /// What failed.
    pub kind: FailureKind,
    /// The gate that is red, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// The reason, which the agent gets.
    pub reason: String,
}

/// An agent asks a question that only the user can answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), schemars(inline))]
pub struct QuestionAsked {
    /// The story.
    pub story: StoryId,
    /// Which attempt.
    pub attempt: AttemptNumber,
    /// The question.
    pub question: String,
    /// Whether the run waits for the answer; if not, the attempt is parked.
    pub waits: bool,
    /// When it goes on without an answer, if that is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(any(test, feature = "testing"), schemars(with = "Option<String>"))]
    pub until: Option<Timestamp>,
}

/// The user answered what an agent had asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), schemars(inline))]
pub struct QuestionAnswered {
    /// The story.
    pub story: StoryId,
    /// The question.
    pub question: String,
    /// The answer, which the next attempt or round at the story gets.
    pub answer: String,
}

/// The agent of an attempt goes on where a limit or a question had interrupted it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), schemars(inline))]
pub struct AttemptContinued {
    /// The story.
    pub story: StoryId,
    /// Which attempt.
    pub attempt: AttemptNumber,
}

impl AttemptStarted {
    /// Which of the attempts that count it is.
    pub const fn tries(&self) -> Tries {
        Tries {
            number: self.attempt.0.saturating_sub(self.uncounted),
            most: self.max_attempts.saturating_sub(self.uncounted),
            uncounted: self.uncounted,
        }
    }
}

/// Which attempt at a story it is, of those that count against its retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tries {
    pub number: u32,
    /// How many the story may have.
    pub most: u32,
    /// Earlier attempts that do not count.
    pub uncounted: u32,
}

/// An attempt failed; it is parked and the tree is restored to the checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), schemars(inline))]
pub struct AttemptFailed {
    /// The story.
    pub story: StoryId,
    /// Which attempt.
    pub attempt: AttemptNumber,
    /// The kind of failure.
    pub kind: FailureKind,
    /// The reason, which the next attempt gets too.
    pub reason: String,
    /// Name of the parked attempt, such as `2.1`.
    pub parked: String,
    /// Paths the attempt had changed.
    pub changed_files: usize,
    /// Whether another attempt follows.
    pub retrying: bool,
    /// How long the attempt took.
    pub duration_ms: u64,
    /// What it used.
    pub usage: Usage,
    /// How often its agent was asked to repair it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repairs: u32,
}

/// A story is done and its checkpoint commit is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), schemars(inline))]
pub struct StoryCompleted {
    /// The story.
    pub story: StoryId,
    /// Its title.
    pub title: String,
    /// How many attempts it took.
    pub attempts: u32,
    /// The checkpoint commit.
    pub commit: String,
    /// Paths the checkpoint changed.
    pub changed_files: usize,
    /// From the first attempt's start to the commit.
    pub duration_ms: u64,
    /// What all of its attempts used.
    pub usage: Usage,
    /// How often agents were asked to repair it, in all of its attempts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repairs: u32,
}

/// A story used up its retries; its attempts are parked, and its boxes stay open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), schemars(inline))]
pub struct StoryExhausted {
    /// Its title.
    pub title: String,
    /// The story, its attempts and its last failure.
    #[serde(flatten)]
    pub failed: FailedStory,
    /// Whether the run continues with other stories.
    pub continues: bool,
}

/// The loop is over; the finish choice follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), schemars(inline))]
pub struct RunEnded {
    /// Why.
    pub outcome: Outcome,
    /// Complete stories.
    pub stories_done: usize,
    /// All stories.
    pub stories_total: usize,
    /// Attempts made in this run.
    pub attempts: u32,
    /// How long the run took.
    pub duration_ms: u64,
    /// What the run used.
    pub usage: Usage,
}

/// The run was finished.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), schemars(inline))]
pub struct Finished {
    /// Which.
    pub choice: FinishChoice,
    /// The branch HEAD is on now, or a commit when detached.
    pub head: String,
    /// The checkpoint branch.
    pub branch: String,
    /// Paths that differ from where the run began.
    pub changed_files: usize,
}

/// The finish did not work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), schemars(inline))]
pub struct FinishFailed {
    /// What was tried.
    pub choice: FinishChoice,
    /// What happened.
    pub reason: String,
    /// What to do next.
    pub hint: String,
    /// Whether it is in progress and can only be completed; otherwise nothing was changed.
    #[serde(default)]
    pub begun: bool,
}

/// Work on a story begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), schemars(inline))]
pub struct StoryStarted {
    /// The story.
    pub story: StoryId,
    /// Its title.
    pub title: String,
    /// Its place among all stories, from 1.
    pub position: usize,
    /// All stories of the change.
    pub total: usize,
    /// Open tasks.
    pub open_tasks: usize,
    /// Its tasks, in document order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskOutline>,
}

/// One task of a story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct TaskOutline {
    /// The start of its description.
    pub text: String,
    /// How its box is marked.
    pub state: TaskState,
}

impl TaskOutline {
    /// How much of each description is recorded, and how many tasks per story.
    const TEXT_CHARS: usize = 200;
    const MOST: usize = 500;

    /// The tasks of a story to show, without boxes that have no text or are in code fences.
    pub(crate) fn of(tasks: &[Task]) -> Vec<Self> {
        let shown = tasks
            .iter()
            .filter(|task| task.is_listed() && task.kind != TaskKind::Fenced);
        let outlines = shown.take(Self::MOST).map(|task| Self {
            text: first_chars(&task.raw, Self::TEXT_CHARS).to_owned(),
            state: task.state,
        });
        outlines.collect()
    }
}

/// One story of the change, as it was when the run started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct StoryOutline {
    /// The story.
    pub id: StoryId,
    /// Its title.
    pub title: String,
    /// Whether there is something left to do.
    pub state: StoryState,
    /// Ticked tasks.
    pub tasks_done: usize,
    /// All tasks.
    pub tasks_total: usize,
    /// Tasks that are deferred in the plan.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tasks_deferred: usize,
    /// The stories that must be done before it; none where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<BTreeSet<StoryId>>,
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

/// What a run or a story may use; what is not set has no bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct BudgetLimits {
    /// Money, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// Tokens of all kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Wall clock time, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
}

impl From<Budget> for BudgetLimits {
    fn from(budget: Budget) -> Self {
        Self {
            usd: budget.usd,
            tokens: budget.tokens,
            time_ms: budget.time.map(in_ms),
        }
    }
}

impl BudgetLimits {
    /// Whether nothing has a bound.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What a user can ask of an active run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Stop: end the agent, park, restore.
    Stop,
    /// Stop without waiting for the agent's grace period.
    StopNow,
    /// Pause before an agent starts again.
    Pause,
    /// Continue after a pause, or cancel the request for one.
    GoOn,
    /// Skip the current story in this run.
    Skip,
    /// End the wait for a limit.
    TryNow,
}
