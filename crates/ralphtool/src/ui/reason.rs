//! Why an attempt failed, in one line or in a few. Every command and every screen takes both from
//! here.

use super::text::{clean, clean_lines};
use super::words::{failure, head_and_tail};
use ralph_run::records::event::{FailedStory, FailureKind, Outcome};
use ralph_run::test_report::NEW_FAILURES;

/// How it ended and the line that tells most: `gate tests, exit code 1: AssertionError: 1 != 2`, with
/// the name of the gate in backticks.
pub(crate) fn brief(kind: FailureKind, reason: &str) -> String {
    let mut lines = clean_lines(reason).into_iter();
    let first = lines.next().unwrap_or_default();
    match kind {
        FailureKind::Gate | FailureKind::Crashed if !first.is_empty() => {
            let how = first.replacen("` failed: ", "`, ", 1);
            if how.contains(NEW_FAILURES) {
                return how;
            }
            match telling(&lines.collect::<Vec<_>>()) {
                Some(line) => format!("{how}: {line}"),
                None => how,
            }
        }
        _ if first.is_empty() => failure(kind).to_owned(),
        FailureKind::Budget => first,
        // What was found comes after what it is a part of.
        FailureKind::Review => lines
            .next()
            .map_or_else(|| first.clone(), |finding| format!("{first}: {finding}")),
        _ if first == failure(kind) => first,
        _ => format!("{}: {first}", failure(kind)),
    }
}

/// Why a run ended, in at most `most` lines.
pub(crate) fn of_run(outcome: &Outcome, most: usize) -> Vec<String> {
    let reason = outcome.reason().unwrap_or_default();
    match outcome {
        Outcome::Exhausted { others, .. } if !others.is_empty() => {
            let failed = outcome.failed_stories();
            let line = |it: &FailedStory| {
                format!(
                    "story {}: {}",
                    clean(&it.story.0),
                    brief(it.kind, &it.reason)
                )
            };
            head_and_tail(failed.iter().map(line).collect(), most)
        }
        Outcome::Exhausted { kind, .. } => shortened(*kind, reason, most),
        _ => head_and_tail(clean_lines(reason), most),
    }
}

/// A reason in at most `most` lines. A gate and an agent that crashed say at the end what is wrong,
/// everything else at its beginning.
pub(crate) fn shortened(kind: FailureKind, reason: &str, most: usize) -> Vec<String> {
    let mut lines = clean_lines(reason);
    if lines.len() <= most {
        return lines;
    }
    if !matches!(kind, FailureKind::Gate | FailureKind::Crashed) {
        lines.truncate(most - 1);
        lines.push("…".to_owned());
        return lines;
    }
    let tail = lines.split_off(lines.len() - (most - 2));
    let first = lines.swap_remove(0);
    let told = telling(&clean_lines(reason)[1..]);
    let is_in_tail = told.is_none_or(|told| tail.iter().any(|line| line.trim() == told));
    let head = if is_in_tail {
        first
    } else {
        brief(kind, reason)
    };
    [head, "…".to_owned()].into_iter().chain(tail).collect()
}

/// The line of an output that names the error; the last one with a word if none does.
fn telling(lines: &[String]) -> Option<String> {
    const NAMES: [&str; 6] = [
        "Error:",
        "error:",
        "error[",
        "Exception:",
        "assertion",
        "panicked",
    ];
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
    fn case(kind: FailureKind, reason: &str, want: &str) {
        assert_eq!(brief(kind, reason), want);
    }

    #[test]
    fn a_red_gate_is_its_name_its_end_and_the_line_that_names_the_error() {
        let gate = |output: &str, want: &str| {
            let reason = format!("gate `tests` failed: exit code 1\n{output}");
            case(FailureKind::Gate, &reason, want);
        };
        gate(
            "F\n====\nFAIL: test_log\n----\nTraceback (most recent call last):\n  File \"t.py\"\n\
             AssertionError: 'retry 1' != 'retry 2'\n\n----\nRan 1 test in 0.1s\n\nFAILED (failures=1)",
            "gate `tests`, exit code 1: AssertionError: 'retry 1' != 'retry 2'",
        );
        gate(
            "thread 'a' panicked at src/a.rs:3:5:\nassertion `left == right` failed\n  left: 1\n right: 2\n",
            "gate `tests`, exit code 1: assertion `left == right` failed",
        );
        gate(
            "error[E0308]: mismatched types\n --> a.rs",
            "gate `tests`, exit code 1: error[E0308]: mismatched types",
        );
    }

    #[test]
    fn without_a_line_that_names_it_the_last_line_with_a_word_is_shown() {
        let gate = "gate `tests` failed: exit code 1";
        let with_output = format!("{gate}\none\n\u{1b}[31mtwo\u{1b}[0m\n-----\n\n");
        case(
            FailureKind::Gate,
            &with_output,
            "gate `tests`, exit code 1: two",
        );
        case(FailureKind::Gate, gate, "gate `tests`, exit code 1");
        let crash = "the agent ended with signal 9\nstarting\nout of memory";
        case(
            FailureKind::Crashed,
            crash,
            "the agent ended with signal 9: out of memory",
        );
    }

    #[test]
    fn any_other_failure_is_its_kind_and_its_first_line() {
        case(
            FailureKind::Failed,
            "no database\nTried: a wrapper",
            "the agent reported failure: no database",
        );
        let silent = failure(FailureKind::NoSignal);
        case(FailureKind::NoSignal, silent, silent);
        case(FailureKind::Stopped, "", "the run was stopped");
    }

    #[test]
    fn a_long_reason_is_cut_to_its_most_useful_lines() {
        let count = |from: usize, to: usize| -> Vec<String> {
            (from..=to).map(|line| line.to_string()).collect()
        };
        let reason = count(1, 40).join("\n");
        let first = [count(1, 5), vec!["…".to_owned()]].concat();
        assert_eq!(shortened(FailureKind::Failed, &reason, 6), first);
        let last = [vec!["1".to_owned(), "…".to_owned()], count(37, 40)].concat();
        assert_eq!(shortened(FailureKind::Gate, &reason, 6), last);
        assert_eq!(shortened(FailureKind::Gate, "one\ntwo", 6), ["one", "two"]);
        let far = "gate `t` failed: exit code 1\nSyntaxError: '('\n1\n2\n3\n4\n5";
        let want = "gate `t`, exit code 1: SyntaxError: '('";
        assert_eq!(shortened(FailureKind::Gate, far, 4), [want, "…", "4", "5"]);
    }
}
