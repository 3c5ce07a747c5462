//! jest: a block for each failed test below the file that it is in.

use super::counts::number_of;
use super::parser::Parser;
use super::{Broken, RunnerReport};

#[derive(Debug, Default)]
pub(super) struct Jest {
    file: Option<String>,
    /// It lists everything once more at its end.
    is_summary: bool,
    blocks: usize,
    report: RunnerReport,
    /// Failed tests by its own count, once it came to its end.
    counted: Option<usize>,
}

impl Parser for Jest {
    fn line(&mut self, line: &str) {
        if let Some(file) = line.strip_prefix("FAIL ") {
            self.file = Some(without_time(file).to_owned());
        } else if line.starts_with("PASS ") {
            self.file = None;
        } else if line == "Summary of all failing tests" {
            self.is_summary = true;
        } else if let Some(name) = line.strip_prefix("  ● ") {
            self.block(name);
        } else if let Some(counts) = line.strip_prefix("Test Suites: ") {
            // `1 failed, 1 of 4 total`
            if counts.contains(" of ") {
                self.report.stopped_after = Some(0);
            }
        } else if let Some(counts) = line.strip_prefix("Tests: ") {
            self.end(counts);
        }
    }

    fn report(self: Box<Self>) -> Option<RunnerReport> {
        let counted = self.counted?;
        (self.blocks >= counted).then_some(self.report)
    }
}

impl Jest {
    fn block(&mut self, name: &str) {
        let Some(file) = &self.file else {
            return;
        };
        match name {
            "Console" => {}
            "Test suite failed to run" => {
                self.report.mark_broken(file.clone(), Broken::NotFinished);
            }
            _ => {
                self.blocks += usize::from(!self.is_summary);
                self.report.fail(file, name);
            }
        }
    }

    fn end(&mut self, counts: &str) {
        if !counts.trim_end().ends_with(" total") {
            return;
        }
        let failed = number_of(counts.split(','), &["failed"]);
        self.counted = Some(self.counted.unwrap_or(0) + failed);
        let ran = number_of(counts.split(','), &["failed", "passed"]);
        self.report.ran = Some(self.report.ran.unwrap_or(0) + ran);
        self.is_summary = false;
        self.file = None;
    }
}

/// `src/a.test.js (5.1 s)` without the time.
fn without_time(file: &str) -> &str {
    match file.trim_end().rsplit_once(" (") {
        Some((file, time)) if time.ends_with(" s)") => file,
        _ => file.trim_end(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::log::{of_text, only};
    use super::super::shown::shown;
    use super::super::{Runner, TestReport};

    const ALL: [&str; 6] = [
        "jt/a.test.js at the top",
        "jt/a.test.js upload › in a group › fails › with an arrow",
        "jt/a.test.js upload › retries three times",
        "jt/d.test.js d one",
        "jt/d.test.js d two",
        "jt/c.test.js: NotFinished",
    ];

    #[test]
    fn failed_tests_have_their_file_and_one_that_cannot_be_loaded_is_broken() {
        for text in [
            include_str!("samples/jest.txt"),
            include_str!("samples/jest-verbose.txt"),
        ] {
            let report = only(Runner::Jest, text);
            assert_eq!(shown(&report), ALL);
            assert_eq!((report.ran, report.stopped_after), (Some(7), None));
        }
    }

    #[test]
    fn failures_that_are_listed_again_at_the_end_are_the_same() {
        let text = include_str!("samples/jest.txt");
        let (blocks, end) = text.split_once("Test Suites: ").unwrap();
        let again = format!("{blocks}Summary of all failing tests\n{blocks}Test Suites: {end}");
        assert_eq!(shown(&only(Runner::Jest, &again)), ALL);
    }

    #[test]
    fn with_bail_it_stops_at_a_failure() {
        let report = only(Runner::Jest, include_str!("samples/jest-bail.txt"));
        assert_eq!(shown(&report), ALL[..3]);
        assert_eq!(report.stopped_after, Some(0));
    }

    #[test]
    fn fewer_blocks_than_counted_failures_are_not_believed() {
        let text = include_str!("samples/jest.txt").replace("  ● d one\n", "");
        assert_eq!(of_text(&text), TestReport::default());
    }

    #[test]
    fn the_time_behind_a_file_is_no_part_of_its_name() {
        let text = "FAIL src/a (b).test.ts (5.102 s)\n  ● one\n\nTests:       1 failed, 1 total\n";
        assert_eq!(shown(&only(Runner::Jest, text)), ["src/a (b).test.ts one"]);
    }
}
