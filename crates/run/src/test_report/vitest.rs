//! vitest: a line for each failed test, or for a file that could not be loaded.

use super::counts::number_of;
use super::parser::Parser;
use super::{Broken, RunnerReport};

#[derive(Debug, Default)]
pub(super) struct Vitest {
    lines: usize,
    report: RunnerReport,
    /// Failed tests by its own count, once it came to its end.
    counted: Option<usize>,
}

impl Parser for Vitest {
    fn line(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix(" FAIL  ") {
            self.failed(name.trim_end());
        } else if let Some(counts) = line.strip_prefix(" Test Files  ") {
            self.files(counts);
        } else if let Some(counts) = line.strip_prefix("      Tests  ") {
            let parts = || without_total(counts).split('|');
            let failed = number_of(parts(), &["failed"]);
            self.counted = Some(self.counted.unwrap_or(0) + failed);
            let ran = number_of(parts(), &["failed", "passed"]);
            self.report.ran = Some(self.report.ran.unwrap_or(0) + ran);
        } else if line.starts_with("     Errors  ") {
            self.report
                .mark_broken("unhandled errors", Broken::NotFinished);
        }
    }

    fn report(self: Box<Self>) -> Option<RunnerReport> {
        let counted = self.counted?;
        (self.lines >= counted).then_some(self.report)
    }
}

impl Vitest {
    /// `src/a.test.ts > suite > test`, or `src/b.test.ts [ src/b.test.ts ]`
    fn failed(&mut self, name: &str) {
        if let Some((file, test)) = name.split_once(" > ") {
            self.lines += 1;
            self.report.fail(file, test);
        } else if let Some((file, _)) = name.split_once(" [ ") {
            self.report.mark_broken(file, Broken::NotFinished);
        }
    }

    /// `3 failed | 1 passed (4)`: less than all of them ran if it stopped at a failure.
    fn files(&mut self, counts: &str) {
        let total = counts.rsplit_once('(').map_or("", |(_, total)| total);
        let total = total.trim_end().trim_end_matches(')').parse::<usize>();
        let parts = without_total(counts).split('|');
        let ended = number_of(parts, &["failed", "passed", "skipped", "todo"]);
        if total.is_ok_and(|total| ended < total) {
            self.report.stopped_after = Some(0);
        }
    }
}

fn without_total(counts: &str) -> &str {
    counts.rsplit_once(" (").map_or(counts, |(parts, _)| parts)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::Runner;
    use super::super::log::only;
    use super::super::shown::shown;

    #[test]
    fn failed_tests_have_their_file_and_one_that_cannot_be_loaded_is_broken() {
        for text in [
            include_str!("samples/vitest.txt"),
            include_str!("samples/vitest-verbose.txt"),
        ] {
            let report = only(Runner::Vitest, text);
            let want = [
                "vt/a.test.js at the top",
                "vt/a.test.js upload > in a group > fails › with an arrow",
                "vt/a.test.js upload > retries three times",
                "vt/c.test.js: NotFinished",
                "vt/d.test.js: NotFinished",
            ];
            assert_eq!(shown(&report), want);
            assert_eq!((report.ran, report.stopped_after), (Some(5), None));
        }
    }

    #[test]
    fn with_bail_it_stops_at_a_failure() {
        let report = only(Runner::Vitest, include_str!("samples/vitest-bail.txt"));
        assert_eq!(
            shown(&report),
            ["vt/a.test.js upload > retries three times"]
        );
        assert_eq!(report.stopped_after, Some(0));
    }

    #[test]
    fn errors_outside_of_tests_are_a_failure() {
        let report = only(Runner::Vitest, include_str!("samples/vitest-unhandled.txt"));
        assert_eq!(shown(&report), ["unhandled errors: NotFinished"]);
    }
}
