//! What a run did, story by story: attempts, failures, time, tokens, cost, gates, files, commits.
//!
//! A pure fold of the run's records. The types are a format of their own, for programs; its schema
//! is `docs/receipt.schema.json`.

#[cfg(any(test, feature = "testing"))]
pub mod examples;
mod fold;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use serde::Serialize;

use crate::records::counts::StoryCounts;
use crate::records::event::{BudgetLimits, FailureKind, FinishChoice};
pub use crate::records::progress::{Commit as CommitReceipt, FlakyGate, Warning as WarningReceipt};
use crate::records::review::JudgedItem;
use crate::records::state::RunState;
use ralph_base::ids::{AttemptNumber, RunId, StoryId};

/// The version of the format.
const RECEIPT_VERSION: u32 = 1;

/// What a run did.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct Receipt {
    /// Version of the format.
    pub v: u32,
    /// The run.
    pub run: RunId,
    /// Its change.
    pub change: String,
    /// How it stands, or how it ended.
    pub state: RunState,
    /// The same in one line, with the cause.
    pub headline: String,
    /// Details of the cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The checkpoint branch; none if the run ended before it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Where the user was: a branch name, or a commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
    /// The commit of `original`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_commit: Option<String>,
    /// How the run was finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishChoice>,
    /// When it began.
    #[cfg_attr(any(test, feature = "testing"), schemars(with = "String"))]
    pub began: Timestamp,
    /// When it ended; none while it is at work, or where it was interrupted.
    #[cfg_attr(any(test, feature = "testing"), schemars(with = "Option<String>"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// The stories of the change.
    #[serde(flatten)]
    pub counts: StoryCounts,
    /// What the run may use.
    #[serde(skip_serializing_if = "BudgetLimits::is_empty")]
    pub budget: BudgetLimits,
    /// What each of its stories may use.
    #[serde(skip_serializing_if = "BudgetLimits::is_empty")]
    pub story_budget: BudgetLimits,
    /// Everything together.
    pub totals: Totals,
    /// The stories in document order.
    pub stories: Vec<StoryReceipt>,
    /// Gates that ran over the whole change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates_at_end: Vec<GateReceipt>,
    /// Gates that passed after they had been red on the same tree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flaky_gates: Vec<FlakyGate>,
    /// Gates that judged none of the work, because no file in their paths was changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates_not_run: Vec<String>,
    /// Reviews of the whole change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reviews_at_end: Vec<ReviewReceipt>,
    /// What the user should know before deciding what to do with the work, a line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alerts: Vec<String>,
    /// What keeps the work from being verified by gates, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unverified: Option<String>,
    /// What the user should know, in order; notes as well.
    pub warnings: Vec<WarningReceipt>,
}

impl Receipt {
    /// Whether a budget of money is set and no agent has reported a cost.
    pub const fn is_cost_missing(&self) -> bool {
        let has_budget = self.budget.usd.is_some() || self.story_budget.usd.is_some();
        has_budget && self.totals.attempts > 0 && self.totals.spending.cost_usd.is_none()
    }
}

/// Everything a run did together.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct Totals {
    /// Attempts that were started.
    pub attempts: u32,
    /// Attempts that failed; not those that were stopped, interrupted, skipped or limited.
    pub failed_attempts: u32,
    /// How often agents were asked to repair their work, in the same session.
    #[serde(skip_serializing_if = "is_zero")]
    pub repairs: u32,
    /// Checkpoint commits that count.
    pub commits: usize,
    /// Paths the run changed; none before its branch was finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_files: Option<usize>,
    /// How long it was at work.
    pub duration_ms: u64,
    /// What it used.
    #[serde(flatten)]
    pub spending: Spending,
}

/// Tokens and money.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct Spending {
    /// Input tokens that were not served from a cache.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Input tokens read from a cache.
    pub cache_read_tokens: u64,
    /// Input tokens written to a cache.
    pub cache_write_tokens: u64,
    /// What is known of the cost, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Where the cost comes from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cost_from: Vec<CostSource>,
    /// The cost of some attempts is not known: the cost is a lower bound.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cost_is_partial: bool,
}

/// Where a cost comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(tag = "source", rename_all = "snake_case")]
pub enum CostSource {
    /// The agent reported it.
    Agent,
    /// It is computed from tokens.
    Prices {
        /// The name of the prices in the configuration: a model, or an agent.
        name: String,
    },
}

/// What a run did for one story.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct StoryReceipt {
    /// The story.
    pub id: StoryId,
    /// Its title.
    pub title: String,
    /// Where it stands.
    pub state: StoryResult,
    /// Why it was skipped, or not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Reasons to doubt the work of a completed story, such as tests that its attempt deleted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<WarningReceipt>,
    /// Whether it is done with a warning: there are findings, or a gate is red as it was before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_doubtful: bool,
    /// How long it was worked on.
    pub duration_ms: u64,
    /// What its attempts and their reviews used.
    #[serde(flatten)]
    pub spending: Spending,
    /// Its attempts in this run.
    pub attempts: Vec<AttemptReceipt>,
    /// Gates that ran on the checkpoint before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates_before: Vec<GateReceipt>,
    /// Its checkpoint commits; one that was done again has several.
    pub commits: Vec<CommitReceipt>,
}

/// Where a story stands after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StoryResult {
    /// The run completed it.
    Completed,
    /// It was complete before.
    DoneBefore,
    /// It is worked on right now.
    Running,
    /// The run ended before it was complete.
    Unfinished,
    /// It was skipped.
    Skipped,
    /// It used up its retries.
    Failed,
    /// It was not run, because it depends on a story that is left open.
    NotRun,
    /// All of its tasks are deferred in the plan.
    Deferred,
    /// It was not started.
    Open,
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct AttemptReceipt {
    /// Which.
    pub number: AttemptNumber,
    /// Who made it, where that was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How it ended.
    pub result: AttemptResult,
    /// What sort of failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<FailureKind>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The name it is parked under.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parked: Option<String>,
    /// Paths it had changed, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_files: Option<usize>,
    /// How long it took, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What it used.
    #[serde(flatten)]
    pub spending: Spending,
    /// What its agent was asked to repair, in the same session.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<RepairReceipt>,
    /// The gates that ran on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateReceipt>,
    /// The reviews of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<ReviewReceipt>,
}

/// A repair within an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct RepairReceipt {
    /// Which, from 1.
    pub number: u32,
    /// What had failed.
    pub kind: FailureKind,
    /// The gate that was red, if it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// The reason that the agent got.
    pub reason: String,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AttemptResult {
    /// Its story is complete.
    Completed,
    /// It failed and is parked.
    Failed,
    /// The run ended in the middle of it.
    Interrupted,
    /// It is not decided yet.
    Running,
}

/// One run of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct GateReceipt {
    /// The gate's name.
    pub name: String,
    /// Its result.
    pub verdict: GateVerdict,
    /// How it failed: `exit code 1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
    /// How long it took, at its last try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The repair it ran after; 0 before the first.
    #[serde(skip_serializing_if = "is_zero")]
    pub repair: u32,
    /// How many tests failed, where its output names them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_tests: Option<usize>,
    /// Tests that failed and did not fail before, where it was red before as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub new_failures: Vec<String>,
    /// Its tries before on the same tree, all of them red; a gate that passed after them is flaky.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub red_tries: Vec<RedTryReceipt>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A red try of a gate that ran again on the same tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct RedTryReceipt {
    /// How it ended: `exit code 1`.
    pub how: String,
    /// How long it took.
    pub duration_ms: u64,
    /// The file with its output.
    pub log: String,
}

/// One review.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct ReviewReceipt {
    /// The review's name.
    pub name: String,
    /// Who reviewed.
    pub agent: String,
    /// The model that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether what it finds is only reported.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub advisory: bool,
    /// The repair of the attempt it follows; 0 before the first.
    #[serde(skip_serializing_if = "is_zero")]
    pub repair: u32,
    /// What it comes to.
    pub verdict: ReviewVerdict,
    /// Why there is no verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The tasks and scenarios with their verdicts and the evidence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<JudgedItem>,
    /// How long it took, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What it used.
    #[serde(flatten)]
    pub spending: Spending,
}

/// What a review comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReviewVerdict {
    /// All is met.
    Met,
    /// Something is not met.
    NotMet,
    /// Nothing is not met, and something could not be told.
    CannotTell,
    /// It gave no verdict.
    NoVerdict,
    /// It did not end.
    Unknown,
}

/// The result of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GateVerdict {
    /// It passed.
    Passed,
    /// It failed, and the attempt with it.
    Failed,
    /// It failed, as it did before the attempt.
    RedBefore,
    /// It checked nothing: its program is missing, or not executable.
    CannotRun,
    /// It did not run: no file in its paths was changed.
    NotRun,
    /// It did not end.
    Unknown,
}
