//! Why an attempt failed, in one line.

use ratatui::style::Style;

use crate::tui::palette::{ACTIVE, BAD, GOOD, WARN};
use crate::ui::text::{clean, clean_lines};
use crate::ui::words;
use ralph_run::records::event::{AttemptFailed, FailureKind, GateResult};
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

    /// What failed and what it said: `gate tests, exit code 1: AssertionError: 1 != 2`.
    pub(crate) fn in_full(&self) -> String {
        let AttemptStanding::Failed(failed) = &self.attempt.state else {
            return self.cause();
        };
        let gate = self.gate.and_then(|gate| match &gate.result {
            Some(GateResult::Failed { how, tail, .. }) => Some((how, tail)),
            _ => None,
        });
        let (what, said) = match gate {
            Some((how, tail)) => (format!("{}, {}", self.cause(), clean(how)), telling(tail)),
            None => (self.cause(), words_of(failed)),
        };
        match said {
            Some(said) => format!("{what}: {said}"),
            None => what,
        }
    }
}

/// The first line of a reason that says more than what kind of failure it is.
fn words_of(failed: &AttemptFailed) -> Option<String> {
    let lines = clean_lines(&failed.reason);
    let line = match failed.kind {
        // The first line says how the agent ended, and the last what it printed.
        FailureKind::Crashed | FailureKind::Gate => lines.into_iter().next_back(),
        _ => lines.into_iter().next(),
    };
    line.filter(|line| !line.is_empty() && line != words::failure(failed.kind))
}

/// The line of a gate's output that names the error; the last one with a word if none does.
fn telling(output: &str) -> Option<String> {
    const NAMES: [&str; 6] = [
        "Error:",
        "error:",
        "error[",
        "Exception:",
        "assertion",
        "panicked",
    ];
    let lines = clean_lines(output);
    let has_words = |line: &&String| line.chars().any(char::is_alphanumeric);
    let names_error = |line: &&String| NAMES.iter().any(|name| line.contains(name));
    let found = lines.iter().rfind(names_error);
    let found = found.or_else(|| lines.iter().rfind(has_words));
    found.map(|line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[track_caller]
    fn case(output: &str, want: Option<&str>) {
        assert_eq!(telling(output).as_deref(), want);
    }

    #[test]
    fn the_line_that_names_the_error_is_shown() {
        case(
            "F\n====\nFAIL: test_log\n----\nTraceback (most recent call last):\n  File \"t.py\"\n\
             AssertionError: 'retry 1' != 'retry 2'\n\n----\nRan 1 test in 0.1s\n\nFAILED (failures=1)",
            Some("AssertionError: 'retry 1' != 'retry 2'"),
        );
        case(
            "thread 'a' panicked at src/a.rs:3:5:\nassertion `left == right` failed\n  left: 1\n right: 2\n",
            Some("assertion `left == right` failed"),
        );
        case(
            "error[E0308]: mismatched types\n --> a.rs",
            Some("error[E0308]: mismatched types"),
        );
    }

    #[test]
    fn without_one_it_is_the_last_line_with_a_word() {
        case("one\n\u{1b}[31mtwo\u{1b}[0m\n-----\n\n", Some("two"));
        case("----\n", None);
        case("", None);
    }
}
