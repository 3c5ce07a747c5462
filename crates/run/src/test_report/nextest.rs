//! `cargo nextest run`: the list below its summary.

use super::RunnerReport;
use super::counts::number_of;
use super::parser::Parser;

/// What stands before a test that did not fail in the end.
const NOT_FAILED: [&str; 5] = ["PASS", "SKIP", "LEAK", "SLOW", "FLAKY"];

#[derive(Debug, Default)]
pub(super) struct Nextest {
    /// What a test printed follows, further to the right.
    is_output: bool,
    summary: Option<Summary>,
    report: RunnerReport,
    listed: usize,
}

#[derive(Debug)]
struct Summary {
    failed: usize,
    has_stopped: bool,
}

impl Parser for Nextest {
    fn line(&mut self, line: &str) {
        if matches!(line, "  stdout ───" | "  stderr ───" | "  output ───") {
            self.is_output = true;
            return;
        }
        if self.is_output && (line.is_empty() || line.starts_with("    ")) {
            // Below it a test's output is indented, but so is the next test's line.
            if listed(line).is_none() {
                return;
            }
        }
        self.is_output = false;
        if let Some(summary) = summary(line) {
            let ran = summary.1;
            self.report.ran = Some(self.report.ran.unwrap_or(0) + ran);
            if summary.0.has_stopped {
                self.report.stopped_after = Some(0);
            }
            match &mut self.summary {
                Some(earlier) => earlier.failed += summary.0.failed,
                None => self.summary = Some(summary.0),
            }
        } else if self.summary.is_some()
            && let Some((status, binary, test)) = listed(line)
            && !NOT_FAILED.contains(&status.split(' ').next().unwrap_or(status))
        {
            self.listed += 1;
            self.report.fail(binary, test);
        }
    }

    fn is_in_output(&self) -> bool {
        self.is_output
    }

    fn report(self: Box<Self>) -> Option<RunnerReport> {
        let summary = self.summary?;
        (self.listed == summary.failed).then_some(self.report)
    }
}

/// `     Summary [   0.180s] 2/9 tests run: 0 passed, 2 failed, 1 skipped`, and how many ran.
fn summary(line: &str) -> Option<(Summary, usize)> {
    let rest = line.trim_start().strip_prefix("Summary [")?;
    let (_, rest) = rest.split_once("] ")?;
    let (run, counts) = rest.split_once(" run: ")?;
    let run = run.split(' ').next()?;
    let (ran, all) = run.split_once('/').unwrap_or((run, run));
    // In parentheses it says more of those that passed.
    let counts = counts.replace(['(', ')'], ",");
    let failed = number_of(
        counts.split(','),
        &[
            "failed",
            "timed out",
            "exec failed",
            "failed due to being leaky",
        ],
    );
    let summary = Summary {
        failed,
        has_stopped: ran != all,
    };
    Some((summary, ran.parse().ok()?))
}

/// `        FAIL [   0.005s] (1/9) alpha::it breaks`: status, binary and test.
fn listed(line: &str) -> Option<(&str, &str, &str)> {
    let (status, rest) = line.split_once(" [")?;
    let status = status.trim_start();
    let is_status = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || " -/".contains(c);
    if status.is_empty() || !status.chars().all(is_status) {
        return None;
    }
    let (time, rest) = rest.split_once("] ")?;
    time.trim().trim_start_matches('>').strip_suffix('s')?;
    let rest = match rest.trim_start().strip_prefix('(') {
        Some(numbered) => numbered.split_once(") ")?.1,
        None => rest,
    };
    let (binary, test) = rest.trim_start().split_once(' ')?;
    Some((status, binary, test))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::log::{of_text, only};
    use super::super::shown::shown;
    use super::super::{Runner, TestReport};

    #[test]
    fn failed_tests_have_their_binary() {
        let report = only(Runner::Nextest, include_str!("samples/nextest.txt"));
        let want = [
            "alpha tests::errs",
            "alpha tests::fails",
            "alpha tests::should_panic_but_does_not",
            "alpha::it breaks",
            "beta tests::fails",
        ];
        assert_eq!(shown(&report), want);
        assert_eq!((report.ran, report.stopped_after), (Some(9), None));
    }

    #[test]
    fn a_crash_is_a_failure_of_its_test() {
        let report = only(Runner::Nextest, include_str!("samples/nextest-crash.txt"));
        let want = [
            "alpha tests::b_crashes",
            "alpha::it breaks",
            "beta tests::fails",
        ];
        assert_eq!(shown(&report), want);
    }

    #[test]
    fn without_no_fail_fast_it_stops_at_a_failure() {
        let report = only(
            Runner::Nextest,
            include_str!("samples/nextest-failfast.txt"),
        );
        assert_eq!(shown(&report), ["alpha tests::errs", "alpha tests::fails"]);
        assert_eq!((report.ran, report.stopped_after), (Some(2), Some(0)));
    }

    #[test]
    fn flaky_tests_have_not_failed() {
        let text = "     Summary [   0.1s] 3 tests run: 2 passed (1 slow, 1 flaky), 1 timed out, 0 skipped\n\
                    \x20  FLAKY 2/3 [   0.005s] (1/3) alpha tests::sometimes\n\
                    \x20    TIMEOUT [   0.005s] (2/3) alpha tests::hangs\n";
        assert_eq!(shown(&only(Runner::Nextest, text)), ["alpha tests::hangs"]);
    }

    #[test]
    fn a_list_that_does_not_fit_the_count_is_not_believed() {
        let text = include_str!("samples/nextest.txt");
        let cut = &text[..text.rfind("        FAIL").unwrap()];
        assert_eq!(of_text(cut), TestReport::default());
    }
}
