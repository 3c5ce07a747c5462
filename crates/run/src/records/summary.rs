//! One run as a line of a list: a fold of its records and of what the journal knows of it.

use jiff::Timestamp;
use serde::Serialize;

use super::event::{FinishChoice, Outcome};
use super::progress::Progress;
use ralph_base::ids::RunId;
use ralph_vault::gc::policy::{PastRun, Standing};

/// One run of the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    /// Its id.
    pub run: RunId,
    /// Its change.
    pub change: String,
    /// When its first step was written.
    pub began: Timestamp,
    /// When its last step was written.
    pub ended: Timestamp,
    /// How it stands, or how it ended.
    pub state: RunState,
    /// What became of its branch.
    pub finish: Option<FinishChoice>,
    /// Complete stories.
    pub stories_done: usize,
    /// All stories.
    pub stories_total: usize,
    /// Attempts that were started.
    pub attempts: usize,
    /// Tokens it used.
    pub tokens: u64,
    /// What it cost in US dollars, where the agent says so.
    pub cost_usd: Option<f64>,
}

/// How a run stands, or how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It is at work right now.
    AtWork,
    /// It did not come to its end.
    Interrupted,
    /// Every story is complete, or set aside.
    AllDone,
    /// Just the story asked for is complete.
    StoryDone,
    /// The work is done, and gates that were red before it are still red.
    Unverified,
    /// A story used up its retries.
    Exhausted,
    /// A gate cannot run.
    GateBroken,
    /// The user stopped it.
    Stopped,
    /// The user skipped stories that are still open.
    Skipped,
    /// A limit ended it.
    Limited,
    /// Git or the system failed.
    Broken,
}

impl RunSummary {
    /// Folds a run; `is_tree_busy` says whether a ralphtool works in the tree right now.
    pub fn of(past: PastRun, progress: &Progress, is_tree_busy: bool) -> Self {
        let usage = progress.usage();
        Self {
            state: match progress.outcome() {
                Some(Outcome::AllDone) => RunState::AllDone,
                Some(Outcome::StoryDone) => RunState::StoryDone,
                Some(Outcome::Unverified { .. }) => RunState::Unverified,
                Some(Outcome::Exhausted { .. }) => RunState::Exhausted,
                Some(Outcome::GateBroken { .. }) => RunState::GateBroken,
                Some(Outcome::Stopped) => RunState::Stopped,
                Some(Outcome::Skipped { .. }) => RunState::Skipped,
                Some(Outcome::Limited { .. }) => RunState::Limited,
                Some(Outcome::Broken { .. }) => RunState::Broken,
                None if is_tree_busy && past.standing == Standing::Open => RunState::AtWork,
                None => RunState::Interrupted,
            },
            finish: progress.finish.as_ref().map(|finish| finish.choice),
            stories_done: progress.stories_done,
            stories_total: progress.stories_total,
            tokens: usage.total_tokens(),
            cost_usd: usage.cost_usd,
            run: past.run,
            change: past.change,
            began: past.began,
            ended: past.ended,
            attempts: past.attempts,
        }
    }
}
