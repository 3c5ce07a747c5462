//! Why an attempt failed, in one line.

use ratatui::style::Style;

use crate::tui::palette::{ACTIVE, BAD, GOOD, WARN};
use crate::ui::reason;
use crate::ui::text::clean;
use crate::ui::words;
use ralph_run::records::event::{FailureKind, GateResult};
use ralph_run::records::progress::{AttemptProgress, AttemptStanding, GateProgress, StoryProgress};

/// An attempt that failed or was interrupted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failure<'a> {
    pub(crate) attempt: &'a AttemptProgress,
    /// The gate that failed it.
    gate: Option<&'a GateProgress>,
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
    Some(Failure {
        attempt,
        gate: gate.filter(|_| is_gate),
    })
}

/// Why the attempt before this one failed; none if it is the first one.
pub(crate) fn before<'a>(
    story: &'a StoryProgress,
    attempt: &AttemptProgress,
) -> Option<Failure<'a>> {
    let earlier = story.attempts.iter().rev();
    let earlier = earlier.skip_while(|it| it.number != attempt.number).nth(1);
    of(story, earlier?)
}

/// The mark of an attempt and its style.
pub(crate) fn mark(state: &AttemptStanding) -> (&'static str, Style) {
    match state {
        AttemptStanding::Running => ("●", ACTIVE),
        AttemptStanding::Succeeded => ("✓", GOOD),
        AttemptStanding::Failed(_) | AttemptStanding::Interrupted => match style(state) {
            BAD => ("✗", BAD),
            style => ("‖", style),
        },
    }
}

/// The style of an attempt that did not succeed: a limit, or a command of the user, is not the
/// agent's fault.
pub(crate) fn style(state: &AttemptStanding) -> Style {
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
    /// What failed, in a few words: `gate tests`.
    pub(crate) fn cause(&self) -> String {
        match (&self.attempt.state, self.gate) {
            (_, Some(gate)) => format!("gate {}", clean(&gate.name)),
            (AttemptStanding::Failed(it), None) => words::failure(it.kind).to_owned(),
            _ => "interrupted".to_owned(),
        }
    }

    /// What failed and what it said: ``gate `tests`, exit code 1: AssertionError: 1 != 2``.
    pub(crate) fn in_full(&self) -> String {
        match &self.attempt.state {
            AttemptStanding::Failed(failed) => reason::brief(failed.kind, &failed.reason),
            _ => self.cause(),
        }
    }
}
