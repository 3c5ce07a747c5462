//! What a run may use and what each failure means: retries, timeouts, gates, budgets, waits.
//!
//! Pure rules; the machine applies them, nobody else.

use std::time::Duration;

use super::agent_event::Usage;
use super::event::{BudgetLimits, FailureKind};
use super::ids::StoryId;
pub(crate) use super::settings::{OnFinish, When};

/// The rules of one run, fixed at its start.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Policy {
    /// How often a story may be retried after its first attempt.
    pub(crate) max_retries: u32,
    /// Just this story is run.
    pub(crate) only_story: Option<StoryId>,
    /// How long an agent may be silent.
    pub(crate) idle_timeout: Option<Duration>,
    /// How long one attempt's agent may take altogether.
    pub(crate) total_timeout: Option<Duration>,
    /// How long an agent may take to exit after its final message.
    pub(crate) final_grace: Duration,
    /// How long a process may take to exit after it was asked to.
    pub(crate) stop_grace: Duration,
    /// The longest wait for one limit to end.
    pub(crate) max_wait: Option<Duration>,
    /// The pauses between attempts while a limit gives no reset time.
    pub(crate) backoff: Backoff,
    /// What the whole run may use.
    pub(crate) budget: Budget,
    /// A box the agent left open fails the attempt.
    pub(crate) strict_tasks: bool,
    /// An attempt that changed nothing but boxes fails.
    pub(crate) require_changes: bool,
    /// The checks of every attempt, in order.
    pub(crate) gates: Vec<Gate>,
    /// What happens to the branch at the end.
    pub(crate) on_finish: OnFinish,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_retries: 3,
            only_story: None,
            idle_timeout: Some(Duration::from_secs(15 * 60)),
            total_timeout: None,
            final_grace: Duration::from_secs(20),
            stop_grace: Duration::from_secs(5),
            max_wait: None,
            backoff: Backoff::default(),
            budget: Budget::default(),
            strict_tasks: false,
            require_changes: false,
            gates: Vec::new(),
            on_finish: OnFinish::Ask,
        }
    }
}

/// A command that checks an attempt; exit code 0 passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gate {
    /// What people call it.
    pub(crate) name: String,
    /// The shell line.
    pub(crate) run: String,
    /// How long it may take.
    pub(crate) timeout: Option<Duration>,
    /// A gate that was red at the story's start does not fail the attempt.
    pub(crate) baseline: bool,
    /// When it runs.
    pub(crate) when: When,
    /// What it changes in the tree is part of the work.
    pub(crate) keep_changes: bool,
}

/// Pauses that double from `first` up to `most`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Backoff {
    /// The first pause.
    pub(crate) first: Duration,
    /// The longest pause.
    pub(crate) most: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(60),
            most: Duration::from_secs(60 * 60),
        }
    }
}

impl Backoff {
    /// The pause after so many limits in a row, from 1.
    pub(crate) fn after(self, limits: u32) -> Duration {
        let factor = 2_u32.saturating_pow(limits.saturating_sub(1));
        self.first.saturating_mul(factor).min(self.most)
    }
}

/// What the whole run may use; nothing set means no bound.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Budget {
    /// Money, in US dollars.
    pub(crate) usd: Option<f64>,
    /// Tokens of all sorts.
    pub(crate) tokens: Option<u64>,
    /// Wall clock time.
    pub(crate) time: Option<Duration>,
}

impl Budget {
    /// The same, for the wire.
    pub(crate) fn limits(&self) -> BudgetLimits {
        let in_ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        BudgetLimits {
            usd: self.usd,
            tokens: self.tokens,
            time_ms: self.time.map(in_ms),
        }
    }

    /// Says what is used up, if anything is.
    pub(crate) fn used_up(&self, usage: &Usage, elapsed: Duration) -> Option<String> {
        let cost = usage.cost_usd.unwrap_or(0.0);
        if let Some(usd) = self.usd.filter(|usd| cost >= *usd) {
            return Some(format!("the budget of ${usd:.2} is used up"));
        }
        if let Some(tokens) = self.tokens.filter(|most| usage.total_tokens() >= *most) {
            return Some(format!("the budget of {tokens} tokens is used up"));
        }
        let time = self.time.filter(|time| elapsed >= *time)?;
        Some(format!("the time of {} is used up", in_words(time)))
    }
}

/// What follows from a failed attempt once it is parked and the tree restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consequence {
    /// Try again while retries are left.
    Retry,
    /// Wait, then try again; no retry is used.
    Wait,
    /// Another agent takes over, or the run ends; no retry is used.
    Replace,
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
        | FailureKind::Tasks
        | FailureKind::NoSignal
        | FailureKind::Crashed
        | FailureKind::Timeout
        | FailureKind::Overflow => Consequence::Retry,
        FailureKind::Limit => Consequence::Wait,
        FailureKind::Skipped => Consequence::Skip,
        FailureKind::Auth => Consequence::Replace,
        FailureKind::Budget | FailureKind::Stopped | FailureKind::Interrupted => Consequence::Stop,
    }
}

/// Whether the next attempt is told the reason of a failure of this kind.
pub(crate) const fn is_told(kind: FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::Failed
            | FailureKind::Gate
            | FailureKind::Tasks
            | FailureKind::Timeout
            | FailureKind::Overflow
    )
}

/// A duration as people write it, such as `15m` or `1h 30m`.
pub(crate) fn in_words(duration: Duration) -> String {
    let signed = jiff::SignedDuration::try_from(duration).unwrap_or(jiff::SignedDuration::MAX);
    format!("{signed:#}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn backoff_doubles_from_one_minute_to_an_hour() {
        let minutes: Vec<u64> = (1..=9)
            .map(|limits| Backoff::default().after(limits).as_secs() / 60)
            .collect();
        assert_eq!(minutes, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(
            Backoff::default().after(u32::MAX),
            Duration::from_secs(60 * 60)
        );
    }

    #[test]
    fn each_failure_means_what_the_table_says() {
        use Consequence::{Replace, Retry, Skip, Stop, Wait};
        #[track_caller]
        fn row(kind: FailureKind, follows: Consequence, told: bool) {
            assert_eq!(
                (kind, consequence(kind), is_told(kind)),
                (kind, follows, told)
            );
        }
        row(FailureKind::Failed, Retry, true);
        row(FailureKind::Gate, Retry, true);
        row(FailureKind::Tasks, Retry, true);
        row(FailureKind::NoSignal, Retry, false);
        row(FailureKind::Crashed, Retry, false);
        row(FailureKind::Timeout, Retry, true);
        row(FailureKind::Overflow, Retry, true);
        row(FailureKind::Limit, Wait, false);
        row(FailureKind::Auth, Replace, false);
        row(FailureKind::Budget, Stop, false);
        row(FailureKind::Stopped, Stop, false);
        row(FailureKind::Interrupted, Stop, false);
        row(FailureKind::Skipped, Skip, false);
    }

    #[test]
    fn a_budget_names_what_is_used_up() {
        #[track_caller]
        fn case(budget: Budget, cost: f64, tokens: u64, minutes: u64, want: Option<&str>) {
            let usage = Usage {
                input_tokens: tokens,
                cost_usd: Some(cost),
                ..Usage::default()
            };
            let said = budget.used_up(&usage, Duration::from_secs(minutes * 60));
            assert_eq!(said.as_deref(), want);
        }
        let budget = Budget {
            usd: Some(2.0),
            tokens: Some(100),
            time: Some(Duration::from_secs(90 * 60)),
        };
        case(budget, 1.9, 99, 89, None);
        case(budget, 2.0, 0, 0, Some("the budget of $2.00 is used up"));
        case(
            budget,
            0.0,
            100,
            0,
            Some("the budget of 100 tokens is used up"),
        );
        case(budget, 0.0, 0, 90, Some("the time of 1h 30m is used up"));
        case(Budget::default(), 1e9, u64::MAX, 9_999, None);
    }
}
