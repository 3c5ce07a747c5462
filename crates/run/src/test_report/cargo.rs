//! `cargo test`: its targets, in the order in which they run, and what the test harness prints.
//!
//! Tests are taken from the list below `failures:` just before the result of a target, never from
//! the lines before it, between which tests print what they like.

use super::parser::Parser;
use super::{Broken, MOST_NAMES, RunnerReport};

#[derive(Debug, Default)]
pub(super) struct Cargo {
    targets: Vec<Target>,
    /// The last target may still go on.
    is_open: bool,
    /// Targets are announced, which they are not with `--quiet`.
    is_announced: bool,
    /// A target failed, and so far nothing shows that the others ran.
    has_stopped: bool,
    not_built: Vec<String>,
}

/// A test binary, or the documentation tests of a package.
#[derive(Debug, Default)]
struct Target {
    /// What runs it again: `-p alpha --lib`. Said only if it failed.
    rerun: Option<String>,
    label: String,
    has_begun: bool,
    /// It was said to have failed before its result was seen: it crashed, unless a test printed that.
    may_have_crashed: bool,
    /// The last list of failures that was seen.
    failures: Vec<String>,
    is_listing: bool,
    result: Option<TargetResult>,
}

#[derive(Debug)]
struct TargetResult {
    passed: usize,
    failed: usize,
}

impl Cargo {
    fn open(&mut self, label: String) -> &mut Target {
        self.is_open = true;
        self.targets.push(Target {
            label,
            ..Target::default()
        });
        let last = self.targets.len() - 1;
        &mut self.targets[last]
    }

    fn current(&mut self) -> Option<&mut Target> {
        self.targets.last_mut().filter(|_| self.is_open)
    }

    fn on_failed(&mut self, rerun: &str) {
        if !self.is_open {
            self.open(rerun.to_owned());
        }
        if let Some(target) = self.current() {
            target.may_have_crashed = target.is_in_output();
            target.rerun = Some(rerun.to_owned());
            self.is_open = target.may_have_crashed;
        }
        self.has_stopped = true;
    }

    fn on_error(&mut self, error: &str) {
        if let Some(what) = error.strip_prefix("could not compile ") {
            let what = what.split(" due to ").next().unwrap_or(what);
            if self.not_built.len() <= MOST_NAMES {
                self.not_built.push(what.to_owned());
            }
        } else if error.ends_with(" failed:") && error.contains(" target") {
            self.has_stopped = false;
        }
    }

    fn on_begins(&mut self) {
        let is_announced = self.is_announced;
        let number = self.targets.len() + 1;
        match self.current() {
            Some(target) if !target.has_begun => target.has_begun = true,
            // A test printed it.
            Some(_) if is_announced => {}
            _ => self.open(format!("target {number}")).has_begun = true,
        }
    }
}

impl Parser for Cargo {
    fn line(&mut self, line: &str) {
        if let Some(rerun) = rerun(line) {
            return self.on_failed(rerun);
        }
        if !self.is_in_output() {
            if let Some(error) = line.strip_prefix("error: ") {
                return self.on_error(error);
            }
            if let Some(label) = announced(line) {
                self.is_announced = true;
                self.open(label);
                return;
            }
            if is_beginning(line) {
                return self.on_begins();
            }
        }
        if let Some(target) = self.current() {
            target.line(line);
        }
    }

    fn is_in_output(&self) -> bool {
        let target = self.targets.last().filter(|_| self.is_open);
        target.is_some_and(Target::is_in_output)
    }

    fn report(self: Box<Self>) -> Option<RunnerReport> {
        if self.targets.is_empty() && self.not_built.is_empty() {
            return None;
        }
        let mut report = RunnerReport::default();
        let mut ran = Some(0);
        for target in &self.targets {
            target.add_to(&mut report);
            let results = target.result.as_ref().map(|it| it.passed + it.failed);
            ran = ran.zip(results).map(|(sum, these)| sum + these);
        }
        report.ran = ran.filter(|_| !self.targets.is_empty());
        if self.has_stopped {
            report.stopped_after = Some(self.targets.len());
        }
        if !self.not_built.is_empty() {
            report.stopped_after = Some(0);
        }
        for what in self.not_built {
            report.mark_broken(what, Broken::NotBuilt);
        }
        Some(report)
    }
}

impl Target {
    const fn is_in_output(&self) -> bool {
        self.has_begun && self.result.is_none() && !self.may_have_crashed
    }

    fn line(&mut self, line: &str) {
        if !self.has_begun {
            return;
        }
        if line == "failures:" {
            self.failures.clear();
            self.is_listing = true;
        } else if let Some(result) = result(line) {
            self.result = Some(result);
            self.is_listing = false;
        } else if let Some(test) = line.strip_prefix("    ").filter(|_| self.is_listing) {
            if self.failures.len() <= MOST_NAMES {
                self.failures.push(test.to_owned());
            }
        } else if !line.is_empty() {
            self.is_listing = false;
        }
    }

    fn add_to(&self, report: &mut RunnerReport) {
        let group = self.rerun.as_ref().unwrap_or(&self.label);
        match &self.result {
            Some(result) if result.failed > 0 && result.failed == self.failures.len() => {
                for test in &self.failures {
                    report.fail(group, test);
                }
            }
            Some(result) if result.failed == 0 && self.rerun.is_none() => {}
            // A target with a harness of its own that passed.
            None if !self.has_begun && self.rerun.is_none() => {}
            _ => report.mark_broken(group, Broken::NotFinished),
        }
    }
}

/// What runs a failed target again.
fn rerun(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("error: ")?;
    let rest = rest
        .strip_prefix("test failed, to rerun pass ")
        .or_else(|| rest.strip_prefix("doctest failed, to rerun pass "))?;
    Some(rest.trim_matches(['`', '\'']))
}

/// The label of a target that is about to run: `unittests src/lib.rs (alpha)`.
fn announced(line: &str) -> Option<String> {
    let text = line.strip_prefix("   ")?.trim_start();
    if let Some(package) = text.strip_prefix("Doc-tests ") {
        return Some(format!("Doc-tests {package}"));
    }
    let (source, binary) = text.strip_prefix("Running ")?.split_once(" (")?;
    let binary = binary.strip_suffix(')')?;
    let (_, name) = binary.rsplit_once('/')?;
    let (name, _hash) = name.rsplit_once('-')?;
    Some(format!("{source} ({name})"))
}

fn is_beginning(line: &str) -> bool {
    let rest = line.strip_prefix("running ");
    let number = rest.and_then(|rest| rest.strip_suffix(" tests").or(rest.strip_suffix(" test")));
    number.is_some_and(|number| number.parse::<usize>().is_ok())
}

/// `test result: FAILED. 1 passed; 3 failed; 1 ignored; …`
fn result(line: &str) -> Option<TargetResult> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let number = |word: &str| {
        let mut parts = counts.split("; ");
        let part = parts.find_map(|part| part.strip_suffix(word));
        part?.trim().parse::<usize>().ok()
    };
    Some(TargetResult {
        passed: number("passed")?,
        failed: number("failed")?,
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::Runner;
    use super::super::log::only;
    use super::super::shown::shown;

    const ALL: [&str; 6] = [
        "-p alpha --doc alpha/src/lib.rs - (line 1)",
        "-p alpha --lib tests::errs",
        "-p alpha --lib tests::fails",
        "-p alpha --lib tests::should_panic_but_does_not",
        "-p alpha --test it breaks",
        "-p beta --lib tests::fails",
    ];

    #[test]
    fn failed_tests_have_the_target_that_runs_them() {
        let report = only(Runner::Cargo, include_str!("samples/cargo-nff.txt"));
        assert_eq!(shown(&report), ALL);
        assert_eq!((report.ran, report.stopped_after), (Some(10), None));
    }

    #[test]
    fn a_quiet_run_names_the_same() {
        let report = only(Runner::Cargo, include_str!("samples/cargo-q.txt"));
        assert_eq!(shown(&report), ALL);
        assert_eq!((report.ran, report.stopped_after), (Some(10), None));
    }

    #[test]
    fn without_no_fail_fast_it_stops_after_the_first_target_that_failed() {
        let report = only(Runner::Cargo, include_str!("samples/cargo-failfast.txt"));
        assert_eq!(shown(&report), ALL[1..4]);
        assert_eq!(report.stopped_after, Some(1));
    }

    #[test]
    fn a_target_that_crashed_did_not_finish() {
        let report = only(Runner::Cargo, include_str!("samples/cargo-crash.txt"));
        assert_eq!(shown(&report), ["-p alpha --lib: NotFinished"]);
        assert_eq!((report.ran, report.stopped_after), (None, Some(1)));
    }

    #[test]
    fn what_does_not_compile_was_not_built() {
        let report = only(Runner::Cargo, include_str!("samples/cargo-compile.txt"));
        let want = ["`alpha` (lib test): NotBuilt", "`alpha` (lib): NotBuilt"];
        assert_eq!(shown(&report), want);
        assert_eq!(report.stopped_after, Some(0));
    }

    #[test]
    fn a_list_that_does_not_fit_the_count_is_not_believed() {
        let text = include_str!("samples/cargo-failfast.txt");
        let report = only(Runner::Cargo, &text.replace("    tests::errs\n", ""));
        assert_eq!(shown(&report), ["-p alpha --lib: NotFinished"]);
    }

    #[test]
    fn a_target_with_a_harness_of_its_own_is_known_by_how_it_ended() {
        let text = "     Running benches/own.rs (target/debug/deps/own-0123abcd)\nsome text\n\
                    error: test failed, to rerun pass `--bench own`\n";
        assert_eq!(
            shown(&only(Runner::Cargo, text)),
            ["--bench own: NotFinished"]
        );
        let text = "     Running benches/own.rs (target/debug/deps/own-0123abcd)\nsome text\n";
        assert_eq!(shown(&only(Runner::Cargo, text)), Vec::<String>::new());
    }

    #[test]
    fn what_tests_print_of_other_runs_is_not_read() {
        let inner = include_str!("samples/cargo-nff.txt");
        let inner = inner.replace("test result:", "test results:");
        let text = format!(
            "     Running unittests src/lib.rs (target/debug/deps/outer-0123abcd)\n\nrunning 1 test\n\
             test outer ... FAILED\n\nfailures:\n\n---- outer stdout ----\n\
             == short test summary info ==\nFAILED a.py::b\n1 failed in 0.1s\nFAIL\tpkg\t0.1s\n\
             {}\n\nfailures:\n    outer\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 \
             measured; 0 filtered out; finished in 0.00s\n\nerror: test failed, to rerun pass `--lib`\n",
            inner.replace("error: ", "")
        );
        assert_eq!(shown(&only(Runner::Cargo, &text)), ["--lib outer"]);
    }
}
