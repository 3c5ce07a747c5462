//! Reads the output of a gate: every parser sees every line, except for what a test printed.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;

use ralph_process::lines::{FileLines, Line};

#[cfg(test)]
use super::RunnerReport;
use super::cargo::Cargo;
use super::go::Go;
use super::jest::Jest;
use super::nextest::Nextest;
use super::parser::Parser;
use super::pytest::Pytest;
use super::vitest::Vitest;
use super::{Runner, TestReport};

/// How much of a line is read.
const LINE_CAP: usize = 16 * 1024;
/// A longer output is not read.
const LONGEST: u64 = 64 * 1024 * 1024;

fn parsers() -> Vec<(Runner, Box<dyn Parser>)> {
    vec![
        (Runner::Nextest, Box::new(Nextest::default())),
        (Runner::Cargo, Box::new(Cargo::default())),
        (Runner::Pytest, Box::new(Pytest::default())),
        (Runner::Go, Box::new(Go::default())),
        (Runner::Jest, Box::new(Jest::default())),
        (Runner::Vitest, Box::new(Vitest::default())),
    ]
}

/// What the output in a file says; none where it cannot be read, or is too long.
pub(super) fn read(path: &Path) -> Option<TestReport> {
    let file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    if length > LONGEST {
        return None;
    }
    let mut log = Log::default();
    let mut lines = FileLines::at(0, LINE_CAP);
    let mut see = |line: Line<'_>| {
        log.line(&String::from_utf8_lossy(line.bytes));
        ControlFlow::Continue(())
    };
    let most = usize::try_from(length).unwrap_or(usize::MAX);
    lines.read(&file, most, &mut see).ok()?;
    if let Some(line) = lines.unfinished() {
        let _ = see(line);
    }
    Some(log.report())
}

/// The parsers with what they have seen.
struct Log(Vec<(Runner, Box<dyn Parser>)>);

impl Default for Log {
    fn default() -> Self {
        Self(parsers())
    }
}

impl Log {
    fn line(&mut self, line: &str) {
        let line = &without_colors(line);
        let mut parsers = self.0.iter_mut();
        if let Some((_, parser)) = parsers.find(|(_, parser)| parser.is_in_output()) {
            return parser.line(line);
        }
        for (_, parser) in &mut self.0 {
            parser.line(line);
        }
    }

    fn report(self) -> TestReport {
        let reports = self.0.into_iter();
        let reports = reports.filter_map(|(runner, parser)| Some((runner, parser.report()?)));
        TestReport {
            runners: reports.collect::<BTreeMap<_, _>>(),
        }
    }
}

/// A line without the sequences that color it.
fn without_colors(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut parts = line.split("\u{1b}[");
    text.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic());
        text.push_str(end.map_or("", |end| &part[end + 1..]));
    }
    text
}

#[cfg(test)]
pub(super) fn of_text(text: &str) -> TestReport {
    let mut log = Log::default();
    for line in text.lines() {
        log.line(line);
    }
    log.report()
}

/// The report of one runner, which must be the only one that has anything to say.
#[cfg(test)]
pub(super) fn only(runner: Runner, text: &str) -> RunnerReport {
    let mut report = of_text(text);
    let found = report.runners.remove(&runner).unwrap();
    assert_eq!(report, TestReport::default(), "another runner was seen");
    found
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn colors_are_left_out() {
        assert_eq!(
            without_colors("\u{1b}[1m\u{1b}[31mFAIL\u{1b}[0m a\u{1b}[2"),
            "FAIL a"
        );
    }

    #[test]
    fn an_output_without_tests_names_none() {
        let text = "checking\nerror: line too long\nFAIL: 3 of 4\nTests: none\n";
        assert_eq!(of_text(text), TestReport::default());
    }

    #[test]
    fn a_line_without_an_end_is_read_and_a_huge_one_does_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let huge = "x".repeat(3 * LINE_CAP);
        std::fs::write(&path, format!("{huge}\nFAIL\tpkg\t0.1s")).unwrap();
        let report = read(&path).unwrap();
        assert_eq!(report.failures(), 1);
        assert_eq!(read(&folder.path().join("missing")), None);
    }

    #[test]
    fn the_runners_of_one_gate_are_kept_apart() {
        let text = "ok  \tpkg\t0.1s\nFAILED tests/a.py::t - x\n1 failed in 0.01s\n";
        let report = of_text(text);
        let runners: Vec<&Runner> = report.runners.keys().collect();
        assert_eq!(runners, [&Runner::Go]);
        let text = "ok  \tpkg\t0.1s\n== short test summary info ==\nFAILED tests/a.py::t - x\n1 failed in 0.01s\n";
        let report = of_text(text);
        assert_eq!(report.failures(), 1);
        let runners: Vec<&Runner> = report.runners.keys().collect();
        assert_eq!(runners, [&Runner::Pytest, &Runner::Go]);
    }
}
