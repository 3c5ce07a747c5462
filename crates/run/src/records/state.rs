//! How a run stands: one word and one headline for it, the same in every command and on every screen.

use jiff::tz::TimeZone;
use serde::Serialize;

use super::outcome::Outcome;
use super::progress::{Doing, Progress};
use crate::records::event::FinishChoice;
use ralph_agents::agent_event::Refusal;

/// How a run stands, or how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It works right now.
    Running,
    /// It waits for a limit to end.
    Waiting,
    /// It waits for the user to answer a question.
    Blocked,
    /// The user paused it.
    Paused,
    /// It is over, and its terminal asks how to finish.
    Choosing,
    /// Its program was killed.
    Interrupted,
    /// It was rewound to before a story that was done.
    Rewound,
    /// Every story is done or deferred.
    Done,
    /// The one story that was asked for is done.
    StoryDone,
    /// The work is done, and gates that were red before it are still red.
    Unverified,
    /// Everything is done except stories that the user skipped.
    Skipped,
    /// A gate cannot run: nothing was checked.
    GateBroken,
    /// A story used up its retries.
    Failed,
    /// A story cannot be done before the user has answered a question.
    Unanswered,
    /// The user or a signal stopped it, or its terminal was closed.
    Stopped,
    /// The budget is used up.
    BudgetUsedUp,
    /// No agent is logged in.
    NotLoggedIn,
    /// The agent's account cannot pay.
    NoCredit,
    /// The agent's model is not there, or not for its account.
    ModelNotAvailable,
    /// No agent may work.
    Refused,
    /// A usage limit ended it.
    UsageLimit,
    /// A limit ended it. Only in records of older versions.
    Limited,
    /// Git or the system failed.
    Broken,
}

/// What is known of a run beside its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// It has begun and not been finished.
    pub is_open: bool,
    /// A ralphtool works in the tree right now.
    pub is_busy: bool,
}

impl Place {
    /// No process is at work on the run, and it may be finished.
    pub const AT_REST: Self = Self {
        is_open: true,
        is_busy: false,
    };
}

impl RunState {
    /// How a run with these records stands.
    pub fn of(progress: &Progress, place: Place) -> Self {
        // The journal closes a run before the record says how: until then its process is at work.
        let is_live = place.is_busy && (place.is_open || progress.finish.is_none());
        match (progress.outcome(), &progress.doing) {
            (Some(_), _) if is_live && progress.is_rewound() => Self::Rewound,
            (Some(_), _) if is_live && progress.finish.is_none() => Self::Choosing,
            (None, Doing::Waiting { .. }) if is_live => Self::Waiting,
            (None, Doing::Paused { .. }) if is_live => Self::Paused,
            (None, Doing::AwaitingAnswer { .. }) if is_live => Self::Blocked,
            (None, _) if is_live => Self::Running,
            _ if progress.is_rewound() => Self::Rewound,
            (Some(outcome), _) => Self::ended(outcome),
            (None, _) => Self::Interrupted,
        }
    }

    const fn ended(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::AllDone => Self::Done,
            Outcome::StoryDone { .. } => Self::StoryDone,
            Outcome::Unverified { .. } => Self::Unverified,
            Outcome::Exhausted { .. } => Self::Failed,
            Outcome::Blocked { .. } => Self::Unanswered,
            Outcome::GateBroken { .. } => Self::GateBroken,
            Outcome::Stopped | Outcome::TerminalClosed | Outcome::Terminated => Self::Stopped,
            Outcome::Skipped { .. } => Self::Skipped,
            Outcome::BudgetUsedUp { .. } => Self::BudgetUsedUp,
            Outcome::NotLoggedIn { cause, .. } => match cause {
                Some(Refusal::Login) => Self::NotLoggedIn,
                Some(Refusal::Credit) => Self::NoCredit,
                Some(Refusal::Model) => Self::ModelNotAvailable,
                Some(Refusal::Other) | None => Self::Refused,
            },
            Outcome::UsageLimit { .. } => Self::UsageLimit,
            Outcome::Limited { .. } => Self::Limited,
            Outcome::Broken { .. } => Self::Broken,
        }
    }

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Blocked => "waiting for an answer",
            Self::Paused => "paused",
            Self::Choosing => "choosing",
            Self::Interrupted => "interrupted",
            Self::Rewound => "rewound",
            Self::Done => "done",
            Self::StoryDone => "story done",
            Self::Unverified => "done, but not verified",
            Self::Skipped => "done, except skipped",
            Self::GateBroken => "gate cannot run",
            Self::Failed => "failed",
            Self::Unanswered => "needs an answer",
            Self::Stopped => "stopped",
            Self::BudgetUsedUp => "budget used up",
            Self::NotLoggedIn => "not logged in",
            Self::NoCredit => "no credit",
            Self::ModelNotAvailable => "model not available",
            Self::Refused => "agent refused",
            Self::UsageLimit => "usage limit",
            Self::Limited => "limited",
            Self::Broken => "broken",
        }
    }

    /// Whether something may still happen by itself.
    pub const fn is_live(self) -> bool {
        matches!(
            self,
            Self::Running | Self::Waiting | Self::Blocked | Self::Paused | Self::Choosing
        )
    }

    /// Whether its word says that work is done.
    pub const fn says_done(self) -> bool {
        self.is_done() || matches!(self, Self::Skipped)
    }

    /// Whether the work that was asked for is done.
    pub const fn is_done(self) -> bool {
        matches!(self, Self::Done | Self::StoryDone | Self::Unverified)
    }
}

impl Progress {
    /// How the run stands, or why it ended, in one line.
    pub fn headline(&self, state: RunState, zone: &TimeZone) -> String {
        if let (RunState::Rewound, Some(story)) = (state, &self.rewound) {
            return format!("rewound to before story {story}");
        }
        let ended = self.ended_at.zip(self.outcome());
        match ended {
            Some((at, outcome)) => {
                outcome.headline(&self.story_counts(), &at.to_zoned(zone.clone()))
            }
            None => state.word().to_owned(),
        }
    }

    /// Why the run ended, in one line.
    pub fn closing_headline(&self, zone: &TimeZone) -> String {
        self.headline(RunState::of(self, Place::AT_REST), zone)
    }

    /// What became of the branch; nothing if that was undone.
    pub fn finished(&self, place: Place) -> Option<FinishChoice> {
        let finish = self.finish.as_ref().filter(|_| !place.is_open);
        finish.map(|finish| finish.choice)
    }
}

/// A state or a headline, and what became of the branch.
pub fn with_finish(text: &str, finish: Option<FinishChoice>) -> String {
    match finish {
        None => text.to_owned(),
        Some(FinishChoice::Cleanup) => format!("{text}; cleaned up"),
        Some(FinishChoice::Keep) => format!("{text}; branch kept"),
        Some(FinishChoice::Squash) => format!("{text}; squashed into one commit"),
        Some(FinishChoice::Reword) => format!("{text}; kept, commits reworded"),
        Some(FinishChoice::Abandon) => format!("{text}; abandoned"),
    }
}
