//! pytest: its short summary, which is complete if the last line counts as many failures.

use super::counts::number_of;
use super::parser::Parser;
use super::{Broken, MOST_NAMES, RunnerReport};

#[derive(Debug, Default)]
pub(super) struct Pytest {
    part: Part,
    /// What the summary lists.
    listed: Vec<Listed>,
    has_stopped: bool,
    report: RunnerReport,
    /// Runs of pytest that came to their end with a complete summary, and others that were seen.
    complete: usize,
    incomplete: usize,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Part {
    /// Before it, or between two runs of it.
    #[default]
    Outside,
    /// From its first line on.
    Session,
    /// What failed, with what tests printed.
    Details,
    Summary,
}

#[derive(Debug)]
struct Listed {
    file: String,
    /// None if the file could not be loaded.
    test: Option<String>,
}

impl Parser for Pytest {
    fn line(&mut self, line: &str) {
        match title(line) {
            Some("test session starts") if self.part != Part::Details => {
                self.incomplete += usize::from(self.part != Part::Outside);
                self.begin(Part::Session);
            }
            Some("FAILURES" | "ERRORS") if self.part != Part::Summary => {
                self.begin(Part::Details);
            }
            Some("short test summary info") => self.begin(Part::Summary),
            _ if self.part == Part::Details => {}
            _ => self.summary_line(line),
        }
    }

    fn is_in_output(&self) -> bool {
        self.part == Part::Details
    }

    fn report(mut self: Box<Self>) -> Option<RunnerReport> {
        self.incomplete += usize::from(self.part != Part::Outside);
        (self.complete > 0 && self.incomplete == 0).then_some(self.report)
    }
}

impl Pytest {
    fn begin(&mut self, part: Part) {
        self.part = part;
        self.listed.clear();
        self.has_stopped = false;
    }

    fn summary_line(&mut self, line: &str) {
        if self.part == Part::Outside {
            return;
        }
        if let Some(counts) = last_line(line) {
            return self.end(counts);
        }
        if self.part != Part::Summary {
            return;
        }
        if line.starts_with('!') {
            self.has_stopped |=
                line.contains(" stopping after ") || line.contains(" Interrupted: ");
        } else if let Some(listed) = listed(line)
            && self.listed.len() <= MOST_NAMES
        {
            self.listed.push(listed);
        }
    }

    fn end(&mut self, counts: &str) {
        self.part = Part::Outside;
        let failed = ["failed", "error", "errors"];
        if number_of(counts.split(','), &failed) != self.listed.len() {
            self.incomplete += 1;
            return;
        }
        self.complete += 1;
        let ran = [&failed[..], &["passed", "xfailed", "xpassed"]].concat();
        let ran = number_of(counts.split(','), &ran);
        self.report.ran = Some(self.report.ran.unwrap_or(0) + ran);
        if std::mem::take(&mut self.has_stopped) {
            self.report.stopped_after = Some(0);
        }
        for Listed { file, test } in std::mem::take(&mut self.listed) {
            match test {
                Some(test) => self.report.fail(&file, test),
                None => self.report.mark_broken(file, Broken::NotFinished),
            }
        }
    }
}

/// The title in a line such as `=== FAILURES ===`.
fn title(line: &str) -> Option<&str> {
    let inner = line.trim_start_matches('=');
    let is_ruled = inner.len() < line.len() && inner.ends_with('=');
    is_ruled.then(|| inner.trim_matches(['=', ' ']))
}

/// The counts in the last line: `4 failed, 2 passed in 0.13s`, with or without a rule around it.
fn last_line(line: &str) -> Option<&str> {
    let text = line.trim_matches(['=', ' ']);
    let text = match text.strip_suffix(')') {
        // `in 75.20s (0:01:15)`
        Some(text) => text.rsplit_once(" (")?.0,
        None => text,
    };
    let (counts, time) = text.rsplit_once(" in ")?;
    time.strip_suffix('s')?.parse::<f64>().ok()?;
    let is_count = |part: &str| {
        let number = part.trim().split_once(' ');
        number.is_some_and(|(number, _)| number.parse::<usize>().is_ok())
    };
    counts.split(',').all(is_count).then_some(counts)
}

/// A line of the summary: `FAILED tests/a.py::TestX::test_y[a b] - assert 1 == 2`.
fn listed(line: &str) -> Option<Listed> {
    if let Some(rest) = line.strip_prefix("SUBFAILED") {
        return subtest(rest);
    }
    let rest = line.strip_prefix("FAILED ");
    let name = without_message(rest.or_else(|| line.strip_prefix("ERROR "))?);
    Some(match name.split_once("::") {
        Some((file, test)) => Listed {
            file: file.to_owned(),
            test: Some(test.to_owned()),
        },
        None => Listed {
            file: name.to_owned(),
            test: None,
        },
    })
}

/// What follows in `SUBFAILED[message] (i=0) tests/a.py::test_x - assert 0 == 1`.
fn subtest(rest: &str) -> Option<Listed> {
    let path = rest[..rest.find("::")?].rfind(' ')? + 1;
    let (file, test) = without_message(&rest[path..]).split_once("::")?;
    Some(Listed {
        file: file.to_owned(),
        test: Some(format!("{test} {}", rest[..path].trim())),
    })
}

/// The name without what went wrong; the parameters of a test may have a dash, too.
fn without_message(text: &str) -> &str {
    let dash = text.find(" - ").unwrap_or(text.len());
    match text[..dash].find('[') {
        Some(open) => match text[open..].find("] - ") {
            Some(close) => &text[..=open + close],
            None => text,
        },
        None => &text[..dash],
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::log::{of_text, only};
    use super::super::shown::shown;
    use super::super::{Runner, TestReport};

    const ALL: [&str; 5] = [
        "tests/test_a.py TestGroup::test_many[[z]]",
        "tests/test_a.py TestGroup::test_many[x-y]",
        "tests/test_a.py test_error",
        "tests/test_a.py test_fails",
        "tests/test_b.py test_b",
    ];

    #[test]
    fn the_summary_names_failures_and_errors_however_it_is_run() {
        for text in [
            include_str!("samples/pytest.txt"),
            include_str!("samples/pytest-q.txt"),
            include_str!("samples/pytest-xdist.txt"),
        ] {
            let report = only(Runner::Pytest, text);
            assert_eq!(shown(&report), ALL);
            assert_eq!((report.ran, report.stopped_after), (Some(8), None));
        }
    }

    #[test]
    fn with_x_it_stops_at_the_first_failure() {
        let report = only(Runner::Pytest, include_str!("samples/pytest-x.txt"));
        assert_eq!(shown(&report), ["tests/test_a.py test_fails"]);
        assert_eq!(report.stopped_after, Some(0));
    }

    #[test]
    fn a_file_that_cannot_be_loaded_is_broken_and_stops_the_rest() {
        let report = only(Runner::Pytest, include_str!("samples/pytest-collect.txt"));
        assert_eq!(shown(&report), ["tests/test_c.py: NotFinished"]);
        assert_eq!(report.stopped_after, Some(0));
        let text = include_str!("samples/pytest-collect-continue.txt");
        let report = only(Runner::Pytest, text);
        let mut want = ALL.to_vec();
        want.push("tests/test_c.py: NotFinished");
        assert_eq!(shown(&report), want);
        assert_eq!(report.stopped_after, None);
    }

    #[test]
    fn a_run_without_its_summary_or_its_end_says_nothing() {
        for text in [
            include_str!("samples/pytest-crash.txt"),
            include_str!("samples/pytest-nosummary.txt"),
            "== short test summary info ==\nFAILED a.py::b - x\n2 failed in 0.10s\n",
        ] {
            assert_eq!(of_text(text), TestReport::default(), "{text}");
        }
        let text = include_str!("samples/pytest.txt");
        let crash = include_str!("samples/pytest-crash.txt");
        assert_eq!(of_text(&format!("{text}{crash}")), TestReport::default());
    }

    #[test]
    fn parameters_may_have_a_dash_and_a_run_may_take_long() {
        let text = "== short test summary info ==\n\
                    FAILED a.py::b[x - y] - assert 1 == 2\n\
                    FAILED a.py::c[long - and no message]\n\
                    FAILED a.py::d\n\
                    SUBFAILED(i=2) a.py::T::e - AssertionError: 2 != 1\n\
                    SUBFAILED[custom] (i=0) a.py::f - assert 0 == 1\n\
                    === 5 failed, 1 warning in 75.20s (0:01:15) ===\n";
        let want = [
            "a.py T::e (i=2)",
            "a.py b[x - y]",
            "a.py c[long - and no message]",
            "a.py d",
            "a.py f [custom] (i=0)",
        ];
        assert_eq!(shown(&only(Runner::Pytest, text)), want);
    }
}
