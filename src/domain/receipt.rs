//! What a run did, story by story: attempts, failures, time, tokens, cost, gates, files, commits.
//!
//! A pure fold of the run's records. The types are a format of their own, for programs; its schema
//! is `docs/receipt.schema.json`.

mod fold;
#[cfg(test)]
pub(crate) mod tests;

use jiff::Timestamp;
use serde::Serialize;

use super::event::{BudgetLimits, FailureKind, FinishChoice};
use super::history::RunState;
use super::ids::{AttemptNumber, RunId, StoryId};

/// The version of the format.
pub(crate) const RECEIPT_VERSION: u32 = 1;

/// What a run did.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Receipt {
    /// Version of the format.
    pub(crate) v: u32,
    /// The run.
    pub(crate) run: RunId,
    /// Its change.
    pub(crate) change: String,
    /// How it stands, or how it ended.
    pub(crate) state: RunState,
    /// Why it ended, where there is something to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// The checkpoint branch; none where the run did not come so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) branch: Option<String>,
    /// Where the user was: a branch name, or a commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) original: Option<String>,
    /// The commit that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) original_commit: Option<String>,
    /// What became of the branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) finish: Option<FinishChoice>,
    /// When it began.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(crate) began: Timestamp,
    /// When it ended; none while it is at work, or where it was interrupted.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<Timestamp>,
    /// Complete stories of the change.
    pub(crate) stories_done: usize,
    /// All stories of the change.
    pub(crate) stories_total: usize,
    /// What the run may use.
    #[serde(skip_serializing_if = "BudgetLimits::is_empty")]
    pub(crate) budget: BudgetLimits,
    /// What each of its stories may use.
    #[serde(skip_serializing_if = "BudgetLimits::is_empty")]
    pub(crate) story_budget: BudgetLimits,
    /// Everything together.
    pub(crate) totals: Totals,
    /// The stories in document order.
    pub(crate) stories: Vec<StoryReceipt>,
    /// Gates that judged the whole change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) gates_at_end: Vec<GateReceipt>,
    /// What the user should know, in order.
    pub(crate) warnings: Vec<WarningReceipt>,
}

/// Everything a run did together.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Attempts that were started.
    pub(crate) attempts: usize,
    /// Attempts that did not complete their story.
    pub(crate) failed_attempts: usize,
    /// Checkpoint commits that count.
    pub(crate) commits: usize,
    /// Paths the run changed; none before its branch was finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changed_files: Option<usize>,
    /// How long it was at work.
    pub(crate) duration_ms: u64,
    /// What it used.
    #[serde(flatten)]
    pub(crate) spending: Spending,
}

/// Tokens and money.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Spending {
    /// Input tokens that were not served from a cache.
    pub(crate) input_tokens: u64,
    /// Output tokens.
    pub(crate) output_tokens: u64,
    /// Input tokens read from a cache.
    pub(crate) cache_read_tokens: u64,
    /// Input tokens written to a cache.
    pub(crate) cache_write_tokens: u64,
    /// What is known of the cost, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cost_usd: Option<f64>,
    /// Where the cost comes from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) cost_from: Vec<CostSource>,
    /// Some attempts used tokens nobody told the cost of: the cost is a lower bound.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) cost_is_partial: bool,
}

/// Where a cost comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "source", rename_all = "snake_case")]
pub(crate) enum CostSource {
    /// The agent told it.
    Agent,
    /// It is computed from tokens.
    Prices {
        /// The name of the prices in the configuration: a model, or an agent.
        name: String,
    },
}

/// What a run did for one story.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct StoryReceipt {
    /// The story.
    pub(crate) id: StoryId,
    /// Its title.
    pub(crate) title: String,
    /// Where it stands.
    pub(crate) state: StoryResult,
    /// Why it was passed over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// How long it was worked on.
    pub(crate) duration_ms: u64,
    /// What its attempts used.
    #[serde(flatten)]
    pub(crate) spending: Spending,
    /// Its attempts in this run.
    pub(crate) attempts: Vec<AttemptReceipt>,
    /// Gates that ran on the checkpoint before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) gates_before: Vec<GateReceipt>,
    /// Its checkpoint commits; one that was done again has several.
    pub(crate) commits: Vec<CommitReceipt>,
}

/// Where a story stands after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum StoryResult {
    /// The run completed it.
    Completed,
    /// It was complete before.
    DoneBefore,
    /// It is worked on right now.
    Running,
    /// The run ended before it was complete.
    Unfinished,
    /// It was passed over.
    Skipped,
    /// What is left of it is set aside.
    Deferred,
    /// Its turn has not come.
    Open,
}

/// One checkpoint commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CommitReceipt {
    /// Its id.
    pub(crate) id: String,
    /// Paths it changed.
    pub(crate) changed_files: usize,
    /// The story was done again after it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) superseded: bool,
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AttemptReceipt {
    /// Which.
    pub(crate) number: AttemptNumber,
    /// Who made it, where that was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// The model that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// How it ended.
    pub(crate) result: AttemptResult,
    /// What sort of failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<FailureKind>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// The name it is parked under.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parked: Option<String>,
    /// Paths it had changed, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changed_files: Option<usize>,
    /// How long it took, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<u64>,
    /// What it used.
    #[serde(flatten)]
    pub(crate) spending: Spending,
    /// The gates that judged it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) gates: Vec<GateReceipt>,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum AttemptResult {
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GateReceipt {
    /// The gate's name.
    pub(crate) name: String,
    /// What it said.
    pub(crate) verdict: GateVerdict,
    /// How it failed: `exit code 1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) how: Option<String>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<u64>,
}

/// What a gate said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum GateVerdict {
    /// It passed.
    Passed,
    /// It failed, and the attempt with it.
    Failed,
    /// It failed, as it did before the attempt.
    RedBefore,
    /// It did not come to an end.
    Unknown,
}

/// Something the user should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct WarningReceipt {
    /// Stable name of the warning.
    pub(crate) code: String,
    /// For people.
    pub(crate) message: String,
    /// The story it came up at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) story: Option<StoryId>,
}
