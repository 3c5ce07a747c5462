//! What a run may use and what each failure means: retries, timeouts, gates, budgets, waits.
//!
//! Pure rules; only the machine applies them.

pub(crate) mod budget;
pub mod prices;
pub mod reviewer;
pub mod roster;

use std::time::Duration;

pub use super::settings::{GateSettings as Gate, OnBlocked, OnExhausted, OnFinish, When};
use super::tamper::TamperPolicy;
pub use crate::policy::budget::Budget;
use crate::policy::prices::Prices;
use crate::policy::reviewer::Reviewer;
use ralph_base::ids::StoryId;
use ralph_plan::change::{Change, Dependencies};
use ralph_vault::outcome::FailureKind;

/// How long a process may take to exit after it was asked to.
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(5);
/// The longest pause while a limit gives no reset time.
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);

/// The rules of one run, fixed at its start.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// How often a story may be retried after its first attempt.
    pub max_retries: u32,
    /// How often the agent of one attempt may repair what a check found, in the same session.
    pub repairs: u32,
    /// Just this story is run.
    pub only_story: Option<StoryId>,
    /// How long an agent may be silent.
    pub idle_timeout: Option<Duration>,
    /// How long one attempt's agent may take altogether.
    pub total_timeout: Option<Duration>,
    /// How long an agent may take to exit after its final message.
    pub final_grace: Duration,
    /// The longest wait for one limit to end.
    pub max_wait: Option<Duration>,
    /// The first pause between attempts while a limit gives no reset time.
    pub limit_pause: Duration,
    /// What the whole run may use.
    pub budget: Budget,
    /// What each story may use, over all of its attempts in the run.
    pub story_budget: Budget,
    /// What tokens cost where the agent does not say so.
    pub prices: Prices,
    /// A box the agent left open fails the attempt.
    pub strict_tasks: bool,
    /// An attempt that changed nothing but boxes fails.
    pub require_changes: bool,
    /// What follows from an attempt that changes what it should leave alone.
    pub tamper: TamperPolicy,
    /// The checks of every attempt, in order.
    pub gates: Vec<Gate>,
    /// Who reviews every attempt that passed them, in order.
    pub reviewers: Vec<Reviewer>,
    /// What happens when a story has used up its retries; none for continuing with the stories that are
    /// known not to depend on it.
    pub on_exhausted: Option<OnExhausted>,
    /// What happens when an agent asks a question; none for continuing with the stories that are known
    /// not to depend on its story.
    pub on_blocked: Option<OnBlocked>,
    /// What happens to the branch at the end.
    pub on_finish: OnFinish,
}

impl Policy {
    /// The gates that judge the whole change, once every story is done.
    pub(crate) fn gates_at_end(&self) -> impl Iterator<Item = &Gate> {
        self.gates.iter().filter(|gate| gate.when == When::End)
    }

    /// Those who review the whole change, once every story is done.
    pub(crate) fn reviewers_at_end(&self) -> impl Iterator<Item = &Reviewer> {
        self.reviewers.iter().filter(|it| it.when == When::End)
    }

    /// Whether anything judges the whole change.
    pub(crate) fn judges_whole(&self) -> bool {
        self.gates_at_end().next().is_some() || self.reviewers_at_end().next().is_some()
    }
}

/// What tests start from; a run takes every value from the settings.
#[cfg(test)]
impl Default for Policy {
    fn default() -> Self {
        Self {
            max_retries: 3,
            repairs: 2,
            only_story: None,
            idle_timeout: Some(Duration::from_secs(15 * 60)),
            total_timeout: None,
            final_grace: Duration::from_secs(20),
            max_wait: None,
            limit_pause: Duration::from_secs(60),
            budget: Budget::default(),
            story_budget: Budget::default(),
            prices: Prices::default(),
            strict_tasks: false,
            require_changes: false,
            tamper: TamperPolicy::default(),
            gates: Vec::new(),
            reviewers: Vec::new(),
            on_exhausted: None,
            on_blocked: Some(OnBlocked::Wait),
            on_finish: OnFinish::Ask,
        }
    }
}

/// What a run of a plan does when a story has used up its retries, in words.
pub fn after_exhausted(on_exhausted: Option<OnExhausted>, change: &Change) -> &'static str {
    let mut stories = change.stories.iter();
    let is_known = stories.any(|it| it.depends_on != Dependencies::Unknown);
    match on_exhausted {
        Some(OnExhausted::Continue) if !is_known => "continues with the others",
        None if !is_known => "stops",
        Some(OnExhausted::Continue) | None => "continues with what does not depend on it",
        Some(OnExhausted::Stop) => "stops",
    }
}

/// A warning about a gate whose changes are kept although the gates before it do not see them.
pub(crate) fn unchecked_changes(gates: &[Gate]) -> Option<String> {
    let of_stories = |gate: &&Gate| gate.when == When::Story;
    let last = gates.iter().rposition(|gate| gate.keep_changes)?;
    let mut before = gates[..last].iter().filter(of_stories);
    let judge = before.find(|gate| !gate.keep_changes)?;
    Some(format!(
        "gate `{}` keeps its changes and runs after gate `{}`, which does not see them; \
         put it first in the configuration",
        gates[last].name, judge.name
    ))
}

/// The pause after this number of limits in a row, from 1: it doubles from `first` on.
pub(crate) fn pause_after(first: Duration, limits: u32) -> Duration {
    let factor = 2_u32.saturating_pow(limits.saturating_sub(1));
    first.saturating_mul(factor).min(LONGEST_PAUSE)
}

/// What follows from a failed attempt once it is parked and the tree restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consequence {
    /// Try again while retries are left.
    Retry,
    /// Wait, then try again; no retry is used.
    Wait,
    /// Another agent takes over, or the run ends; no retry is used.
    Replace,
    /// Wait for the user's answer, or go on without the story; no retry is used.
    Ask,
    /// The story is passed over and the run goes on; no retry is used.
    Skip,
    /// The run ends.
    Stop,
}

/// What a failure of this kind leads to.
pub(crate) const fn consequence(kind: FailureKind) -> Consequence {
    match kind {
        FailureKind::Failed
        | FailureKind::Gate
        | FailureKind::Review
        | FailureKind::Tasks
        | FailureKind::Tamper
        | FailureKind::Submodule
        | FailureKind::NoSignal
        | FailureKind::Crashed
        | FailureKind::Silent
        | FailureKind::Timeout
        | FailureKind::Overflow => Consequence::Retry,
        FailureKind::Limit => Consequence::Wait,
        FailureKind::Blocked => Consequence::Ask,
        FailureKind::Skipped => Consequence::Skip,
        FailureKind::Auth => Consequence::Replace,
        FailureKind::Budget | FailureKind::Stopped | FailureKind::Interrupted => Consequence::Stop,
    }
}

/// Whether the agent that failed like this may repair it in the same session: a check of its work
/// failed, or it ended before it had promised anything.
pub(crate) const fn is_repairable(kind: FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::Gate
            | FailureKind::Tasks
            | FailureKind::Tamper
            | FailureKind::Submodule
            | FailureKind::Review
            | FailureKind::NoSignal
            | FailureKind::Crashed
            | FailureKind::Silent
    )
}

/// Whether the next prompt has the reason of a failure of this kind.
pub(crate) const fn is_in_prompt(kind: FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::Failed
            | FailureKind::Gate
            | FailureKind::Review
            | FailureKind::Tasks
            | FailureKind::Tamper
            | FailureKind::Submodule
            | FailureKind::Silent
            | FailureKind::Timeout
            | FailureKind::Overflow
            | FailureKind::Blocked
    )
}

/// A duration as people write it, such as `15m` or `1h 30m`.
pub fn in_words(duration: Duration) -> String {
    let signed = jiff::SignedDuration::try_from(duration).unwrap_or(jiff::SignedDuration::MAX);
    format!("{signed:#}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn backoff_doubles_from_one_minute_to_an_hour() {
        let first = Duration::from_secs(60);
        let minutes: Vec<u64> = (1..=9)
            .map(|limits| pause_after(first, limits).as_secs() / 60)
            .collect();
        assert_eq!(minutes, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(pause_after(first, u32::MAX), Duration::from_secs(60 * 60));
    }

    #[test]
    fn each_failure_means_what_the_table_says() {
        use Consequence::{Ask, Replace, Retry, Skip, Stop, Wait};
        #[track_caller]
        fn row(kind: FailureKind, follows: Consequence, in_prompt: bool) {
            assert_eq!(
                (kind, consequence(kind), is_in_prompt(kind)),
                (kind, follows, in_prompt)
            );
        }
        row(FailureKind::Failed, Retry, true);
        row(FailureKind::Gate, Retry, true);
        row(FailureKind::Review, Retry, true);
        row(FailureKind::Tasks, Retry, true);
        row(FailureKind::Tamper, Retry, true);
        row(FailureKind::Submodule, Retry, true);
        row(FailureKind::NoSignal, Retry, false);
        row(FailureKind::Crashed, Retry, false);
        row(FailureKind::Silent, Retry, true);
        row(FailureKind::Timeout, Retry, true);
        row(FailureKind::Overflow, Retry, true);
        row(FailureKind::Limit, Wait, false);
        row(FailureKind::Blocked, Ask, true);
        row(FailureKind::Auth, Replace, false);
        row(FailureKind::Budget, Stop, false);
        row(FailureKind::Stopped, Stop, false);
        row(FailureKind::Interrupted, Stop, false);
        row(FailureKind::Skipped, Skip, false);
    }
}
