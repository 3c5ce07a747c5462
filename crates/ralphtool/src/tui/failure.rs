//! Why an attempt failed, or is to be repaired, in one line.

use ratatui::style::Style;

use crate::tui::palette::{ACTIVE, BAD, GOOD, WARN};
use crate::ui::reason;
use crate::ui::text::clean;
use crate::ui::words;
use ralph_run::records::event::{FailureKind, GateResult, RepairStarted};
use ralph_run::records::progress::{AttemptProgress, AttemptStanding, GateProgress, StoryProgress};

/// What went wrong with an attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Failure<'a> {
    /// It failed or was interrupted.
    Attempt {
        attempt: &'a AttemptProgress,
        /// The gate that failed it.
        gate: Option<&'a GateProgress>,
    },
    /// A check failed, and its agent repairs that.
    Repair(&'a RepairStarted),
}

/// The failure of an attempt; none if it did not fail.
pub(crate) fn of<'a>(
    story: &'a StoryProgress,
    attempt: &'a AttemptProgress,
) -> Option<Failure<'a>> {
    let is_gate = match &attempt.state {
        AttemptStanding::Failed(it) => it.kind == FailureKind::Gate,
        AttemptStanding::Interrupted => false,
        AttemptStanding::Running | AttemptStanding::Succeeded => return None,
    };
    let is_red = |gate: &&GateProgress| {
        matches!(gate.result, Some(GateResult::Failed { .. })) && !gate.was_red_before
    };
    let gate = story.gates_of(attempt.number).filter(is_red).last();
    Some(Failure::Attempt {
        attempt,
        gate: gate.filter(|_| is_gate),
    })
}

/// What the agent of this attempt was told first: what it is to repair, or else why the attempt before
/// failed. None if there was nothing.
pub(crate) fn before<'a>(
    story: &'a StoryProgress,
    attempt: &'a AttemptProgress,
) -> Option<Failure<'a>> {
    if let Some(repair) = attempt.repair() {
        return Some(Failure::Repair(repair));
    }
    let earlier = story.attempts.iter().rev();
    let earlier = earlier.skip_while(|it| it.number != attempt.number).nth(1);
    of(story, earlier?)
}

/// What was repaired in an attempt and why it failed, a line each. `why` says it of a kind of failure
/// with its reason.
pub(crate) fn all_of(
    attempt: &AttemptProgress,
    why: impl Fn(FailureKind, &str) -> String,
) -> Vec<String> {
    let number = attempt.number;
    let repairs = attempt.repairs.iter().map(|it| {
        let (repair, why) = (words::repair(it), why(it.kind, &it.reason));
        format!("attempt {number}, {repair}: {why}")
    });
    let mut lines: Vec<String> = repairs.collect();
    if let AttemptStanding::Failed(it) = &attempt.state {
        lines.push(format!("attempt {number}: {}", why(it.kind, &it.reason)));
    }
    lines
}

/// The mark of an attempt and its style.
pub(crate) fn mark(state: &AttemptStanding) -> (&'static str, Style) {
    match state {
        AttemptStanding::Running => ("●", ACTIVE),
        AttemptStanding::Succeeded => ("✓", GOOD),
        AttemptStanding::Failed(_) | AttemptStanding::Interrupted => marked(style(state)),
    }
}

const fn marked(style: Style) -> (&'static str, Style) {
    match style {
        BAD => ("✗", BAD),
        style => ("‖", style),
    }
}

/// The style of an attempt that did not succeed: a limit, or a command of the user, is not the
/// agent's fault.
fn style(state: &AttemptStanding) -> Style {
    match state {
        AttemptStanding::Failed(it) => match it.kind {
            FailureKind::Limit
            | FailureKind::Stopped
            | FailureKind::Skipped
            | FailureKind::Interrupted => WARN,
            _ => BAD,
        },
        _ => WARN,
    }
}

impl Failure<'_> {
    /// Its mark and style.
    pub(crate) fn mark(&self) -> (&'static str, Style) {
        marked(self.style())
    }

    pub(crate) fn style(&self) -> Style {
        match self {
            Self::Attempt { attempt, .. } => style(&attempt.state),
            Self::Repair(_) => BAD,
        }
    }

    /// What failed, in a few words: `gate tests`.
    pub(crate) fn cause(&self) -> String {
        match self {
            Self::Attempt {
                gate: Some(gate), ..
            } => format!("gate {}", clean(&gate.name)),
            Self::Attempt { attempt, .. } => match &attempt.state {
                AttemptStanding::Failed(it) => words::failure(it.kind).to_owned(),
                _ => "interrupted".to_owned(),
            },
            Self::Repair(repair) => match &repair.gate {
                Some(gate) => format!("gate {}", clean(gate)),
                None => words::failure(repair.kind).to_owned(),
            },
        }
    }

    /// Which attempt or repair it is about, and what failed and what it said: ``attempt 1 failed: gate
    /// `tests`, exit code 1: AssertionError: 1 != 2``.
    pub(crate) fn in_full(&self) -> String {
        match self {
            Self::Attempt { attempt, .. } => {
                let number = attempt.number;
                match &attempt.state {
                    AttemptStanding::Failed(failed) => {
                        let verb = if self.style() == BAD { " failed" } else { "" };
                        let why = reason::brief(failed.kind, &failed.reason);
                        format!("attempt {number}{verb}: {why}")
                    }
                    _ => format!("attempt {number}: {}", self.cause()),
                }
            }
            Self::Repair(repair) => {
                let why = reason::brief(repair.kind, &repair.reason);
                format!("{}: {why}", words::repair(repair))
            }
        }
    }
}
