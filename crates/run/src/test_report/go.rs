//! `go test`, as text and with `-json`: tests by their packages.

use serde::Deserialize;

use super::parser::Parser;
use super::{Broken, MOST_NAMES, RunnerReport};

#[derive(Debug, Default)]
pub(super) struct Go {
    /// Tests that failed in the package whose end has not come, and whether it crashed.
    failed: Vec<String>,
    has_panicked: bool,
    report: RunnerReport,
    /// Packages that came to their end.
    packages: usize,
    /// Packages of which something was heard in JSON, and not yet the end.
    open: std::collections::BTreeSet<String>,
    ran: usize,
    is_json: bool,
}

/// A line of `go test -json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Line {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    test: String,
    #[serde(default)]
    output: String,
    #[serde(default)]
    failed_build: String,
}

impl Parser for Go {
    fn line(&mut self, line: &str) {
        if line.starts_with("{\"") {
            if let Ok(line) = serde_json::from_str::<Line>(line) {
                self.is_json = true;
                self.json(line);
            }
            return;
        }
        if let Some(test) = failed_test(line) {
            if self.failed.len() <= MOST_NAMES {
                self.failed.push(test.to_owned());
            }
        } else if line.starts_with("panic: ") {
            self.has_panicked = true;
        } else if let Some((package, how)) = failed_package(line) {
            self.package_failed(package, how);
        } else if passed_package(line) {
            self.package_ended();
        }
    }

    fn report(mut self: Box<Self>) -> Option<RunnerReport> {
        if self.packages == 0 || !self.failed.is_empty() || !self.open.is_empty() {
            return None;
        }
        self.report.ran = self.is_json.then_some(self.ran);
        Some(self.report)
    }
}

impl Go {
    /// The next package is a new one.
    fn package_ended(&mut self) {
        self.packages += 1;
        self.failed.clear();
        self.has_panicked = false;
    }

    fn package_failed(&mut self, package: &str, how: &str) {
        if how.ends_with(" failed]") {
            self.report.mark_broken(package, Broken::NotBuilt);
        } else if self.failed.is_empty() || self.has_panicked {
            self.report.mark_broken(package, Broken::NotFinished);
        }
        for test in std::mem::take(&mut self.failed) {
            self.report.fail(package, test);
        }
        self.package_ended();
    }

    fn json(&mut self, line: Line) {
        let Line {
            action,
            package,
            test,
            output,
            failed_build,
        } = line;
        if package.is_empty() {
            return;
        }
        match action.as_str() {
            "output" if output.starts_with("panic: ") => {
                self.report.mark_broken(&package, Broken::NotFinished);
            }
            "output" if output.ends_with(" failed]\n") => {
                self.report.mark_broken(&package, Broken::NotBuilt);
            }
            "pass" | "fail" if !test.is_empty() => {
                self.ran += 1;
                if action == "fail" {
                    self.report.fail(&package, &test);
                }
            }
            "fail" if !failed_build.is_empty() => {
                self.report.mark_broken(&package, Broken::NotBuilt);
            }
            "fail" => {
                let report = &mut self.report;
                let is_explained =
                    report.failed.contains_key(&package) || report.broken.contains_key(&package);
                if !is_explained {
                    report.mark_broken(&package, Broken::NotFinished);
                }
            }
            _ => {}
        }
        let is_end = test.is_empty() && matches!(action.as_str(), "pass" | "fail" | "skip");
        if is_end {
            self.packages += 1;
            self.open.remove(&package);
        } else if self.open.len() <= MOST_NAMES {
            self.open.insert(package);
        }
    }
}

/// `    --- FAIL: TestTable/two_words (0.00s)`
fn failed_test(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(' ').strip_prefix("--- FAIL: ")?;
    let (name, time) = rest.rsplit_once(" (")?;
    let seconds = time.strip_suffix("s)")?;
    seconds.parse::<f64>().is_ok().then_some(name)
}

/// `FAIL\texample.com/x/a\t0.004s`, or `FAIL\texample.com/x/b [build failed]`
fn failed_package(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("FAIL\t")?;
    Some(match rest.split_once(['\t', ' ']) {
        Some((package, how)) => (package, how),
        None => (rest, ""),
    })
}

fn passed_package(line: &str) -> bool {
    let rest = line.strip_prefix("ok  \t");
    rest.is_some_and(|rest| rest.contains('\t'))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::log::{of_text, only};
    use super::super::shown::shown;
    use super::super::{Runner, TestReport};

    /// One of them only prints that it failed; nothing tells them apart.
    const ALL: [&str; 6] = [
        "example.com/x/a TestFails",
        "example.com/x/a TestFake",
        "example.com/x/a TestTable",
        "example.com/x/a TestTable/two_words",
        "example.com/x/c TestC",
        "example.com/x/c: NotFinished",
    ];

    #[test]
    fn failed_tests_have_their_package_and_a_panic_breaks_it() {
        for text in [
            include_str!("samples/go.txt"),
            include_str!("samples/go-v.txt"),
        ] {
            assert_eq!(shown(&only(Runner::Go, text)), ALL);
        }
        let report = only(Runner::Go, include_str!("samples/go-json.txt"));
        assert_eq!(shown(&report), ALL);
        assert_eq!(report.ran, Some(8));
    }

    #[test]
    fn a_package_that_does_not_compile_was_not_built() {
        let mut want = ALL.to_vec();
        want.insert(5, "example.com/x/b: NotBuilt");
        for text in [
            include_str!("samples/go-build.txt"),
            include_str!("samples/go-json-build.txt"),
        ] {
            assert_eq!(shown(&only(Runner::Go, text)), want);
        }
        // As newer versions write it.
        let text = "{\"ImportPath\":\"x/b [x/b.test]\",\"Action\":\"build-output\",\"Output\":\"b.go:3: no\\n\"}\n\
                    {\"ImportPath\":\"x/b [x/b.test]\",\"Action\":\"build-fail\"}\n\
                    {\"Time\":\"t\",\"Action\":\"start\",\"Package\":\"x/b\"}\n\
                    {\"Time\":\"t\",\"Action\":\"output\",\"Package\":\"x/b\",\"Output\":\"FAIL\\tx/b [build failed]\\n\"}\n\
                    {\"Time\":\"t\",\"Action\":\"fail\",\"Package\":\"x/b\",\"Elapsed\":0,\"FailedBuild\":\"x/b [x/b.test]\"}\n";
        assert_eq!(shown(&only(Runner::Go, text)), ["x/b: NotBuilt"]);
    }

    #[test]
    fn a_package_that_fails_without_a_test_did_not_finish() {
        let text = "exit status 1\nFAIL\texample.com/x/a\t0.004s\nFAIL\n";
        assert_eq!(
            shown(&only(Runner::Go, text)),
            ["example.com/x/a: NotFinished"]
        );
    }

    #[test]
    fn a_run_that_was_cut_off_says_nothing() {
        let text = include_str!("samples/go.txt");
        let cut = &text[..text.find("FAIL\texample.com/x/c").unwrap()];
        assert_eq!(of_text(cut), TestReport::default());
        let text = include_str!("samples/go-json.txt");
        let cut: Vec<&str> = text.lines().take(30).collect();
        assert_eq!(of_text(&cut.join("\n")), TestReport::default());
    }
}
