//! One run as a line of a list: a fold of its records and of what the journal knows of it.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::counts::StoryCounts;
use super::event::FinishChoice;
use super::progress::Progress;
use super::state::{Place, RunState};
use crate::words::{self, in_ms};
use ralph_base::ids::RunId;
use ralph_vault::gc::policy::PastRun;

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
    /// The same in one line, with the cause.
    pub headline: String,
    /// What the user should know of its work that the headline does not say, a line each.
    pub alerts: Vec<String>,
    /// Its checkpoint branch; none if it did not begin.
    pub branch: Option<String>,
    /// How it was finished.
    pub finish: Option<FinishChoice>,
    /// Its stories.
    #[serde(flatten)]
    pub stories: StoryCounts,
    /// Attempts that were started.
    pub attempts: u32,
    /// How long it was at work, in milliseconds.
    pub elapsed_ms: u64,
    /// Tokens it used.
    pub tokens: u64,
    /// What it cost in US dollars, where the agent says so.
    pub cost_usd: Option<f64>,
    /// The cost of some attempts is not known: that of the run is a lower bound.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cost_is_partial: bool,
}

impl RunSummary {
    /// A state or a headline, with the number of reasons to doubt it where it says that work is done.
    pub fn with_warnings(&self, text: &str) -> String {
        match self.alerts.len() {
            count if count > 0 && self.state.says_done() => {
                format!("{text}, {}", words::count(count, "warning"))
            }
            _ => text.to_owned(),
        }
    }

    /// Folds a run.
    pub fn of(past: PastRun, progress: &Progress, place: Place, zone: &TimeZone) -> Self {
        let state = RunState::of(progress, place);
        let figures = progress.figures(None);
        Self {
            state,
            headline: progress.headline(state, zone),
            alerts: progress.alerts(),
            branch: progress.header.as_ref().map(|it| it.branch.clone()),
            finish: progress.finished(place),
            stories: figures.stories,
            attempts: figures.attempts,
            elapsed_ms: in_ms(figures.time),
            tokens: figures.usage.total_tokens(),
            cost_usd: figures.usage.cost_usd,
            cost_is_partial: figures.cost_is_partial,
            run: past.run,
            change: past.change,
            began: past.began,
            ended: past.ended,
        }
    }
}
