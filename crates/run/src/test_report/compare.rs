//! A red gate's tests beside those of before: what fails now and did not fail then.
//!
//! Only what is known counts. A test that did not run before, because its file could not be loaded or
//! the runner had stopped by then, may have failed before; a runner that came to its end before and
//! does not now has broken.

use super::{Broken, Runner, RunnerReport, TestReport};
use crate::words::{count, quoted};

/// How many names are written out.
const MOST_SHOWN: usize = 20;

/// What is said of tests that fail now and did not fail before.
pub const NEW_FAILURES: &str = "that did not fail before";

/// What came of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Compared {
    /// Of the tests before nothing is known.
    Unknown,
    /// The tests came to their end before, and now no result of them can be read.
    Unreadable,
    /// Something fails that did not fail before.
    Worse(NewFailures),
    /// Nothing does.
    AsBefore(Figures),
}

/// What fails and did not fail before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NewFailures {
    pub(crate) tests: Vec<String>,
    /// What could not be built, did not run to its end, or did not run at all, in words.
    broken: Vec<String>,
    /// Other failures, which are those of before.
    others: usize,
}

/// How many failures there are, and were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Figures {
    failed: usize,
    before: usize,
    /// Not all of them are tests: something could not be built or did not run to its end.
    has_broken: bool,
    /// Failures of tests that did not run before.
    unseen: usize,
    /// How many tests ran, now and before, where fewer did.
    ran: Option<(usize, usize)>,
}

/// Compares a red gate with what it said before, when it was red as well.
pub(crate) fn compare(before: Option<&TestReport>, now: Option<&TestReport>) -> Compared {
    let Some(before) = before else {
        return Compared::Unknown;
    };
    let Some(now) = now else {
        return Compared::Unreadable;
    };
    let mut new = NewFailures::default();
    let mut unseen = 0;
    for (runner, report) in &now.runners {
        unseen += new.collect(before.runners.get(runner), report);
    }
    if new.is_empty() {
        let mut runners = before.runners.keys();
        let is_missing = |runner: &&Runner| !now.runners.contains_key(runner);
        let missing = runners.find(is_missing);
        new.broken
            .extend(missing.map(|it| format!("{it} did not finish")));
    }
    if new.is_empty() {
        return Compared::AsBefore(Figures {
            failed: now.failures(),
            before: before.failures(),
            has_broken: now.runners.values().any(|it| !it.broken.is_empty()),
            unseen,
            ran: now
                .ran()
                .zip(before.ran())
                .filter(|(now, before)| now < before),
        });
    }
    new.others = now
        .failures()
        .saturating_sub(new.tests.len() + new.broken.len());
    Compared::Worse(new)
}

impl NewFailures {
    const fn is_empty(&self) -> bool {
        self.tests.is_empty() && self.broken.is_empty()
    }

    /// Collects what is new at one runner; returns how many failures may have been there before,
    /// unseen.
    fn collect(&mut self, before: Option<&RunnerReport>, now: &RunnerReport) -> usize {
        let mut unseen = 0;
        for (group, tests) in &now.failed {
            for test in tests {
                match before.map(|before| before.knows(group, Some(test), now)) {
                    Some(Known::Failed) => {}
                    Some(Known::DidNotFail) => self.tests.push(named(group, test)),
                    Some(Known::Nothing) | None => unseen += 1,
                }
            }
        }
        for (group, why) in &now.broken {
            let known = before.map(|before| before.knows(group, None, now));
            match (known, why) {
                (Some(Known::Failed), _) => {}
                // Everything is built before anything runs.
                (_, Broken::NotBuilt) => self
                    .broken
                    .push(format!("{} could not be built", quoted([group]))),
                (Some(Known::DidNotFail), Broken::NotFinished) => {
                    self.broken
                        .push(format!("{} did not run to its end", quoted([group])));
                }
                (Some(Known::Nothing) | None, _) => unseen += 1,
            }
        }
        unseen
    }

    /// The same in words, as the reason of a failure.
    fn in_words(&self) -> String {
        let mut parts = Vec::new();
        if !self.tests.is_empty() {
            let verb = if self.tests.len() == 1 {
                "fails"
            } else {
                "fail"
            };
            let tests = count(self.tests.len(), "test");
            parts.push(format!(
                "{tests} {verb} {NEW_FAILURES}: {}",
                some_of(&self.tests)
            ));
        }
        parts.extend(self.broken.iter().take(MOST_SHOWN).cloned());
        let others = match self.others {
            0 => None,
            1 => Some("1 other failure was there before and does not count".to_owned()),
            others => Some(format!(
                "{others} other failures were there before and do not count"
            )),
        };
        parts.extend(others);
        parts.join("; ")
    }
}

/// What a runner said before of a test, or of a group.
enum Known {
    Failed,
    DidNotFail,
    Nothing,
}

impl RunnerReport {
    fn knows(&self, group: &str, test: Option<&String>, now: &Self) -> Known {
        let is_broken = self.broken.contains_key(group);
        let failed = self.failed.get(group);
        match test {
            Some(test) if failed.is_some_and(|tests| tests.contains(test)) => return Known::Failed,
            None if is_broken => return Known::Failed,
            Some(_) if is_broken => return Known::Nothing,
            _ => {}
        }
        let is_seen = match (self.stopped_after, now.stopped_after) {
            (None, _) => true,
            (Some(0), _) => false,
            // Groups run in the same order each time, and the last one that ran is the one that failed.
            (Some(ran), Some(runs)) => failed.is_some() || runs > 0 && runs <= ran,
            (Some(_), None) => failed.is_some(),
        };
        if is_seen {
            Known::DidNotFail
        } else {
            Known::Nothing
        }
    }
}

impl TestReport {
    fn ran(&self) -> Option<usize> {
        let ran = self.runners.values().filter_map(|it| it.ran);
        ran.reduce(|sum, ran| sum + ran)
    }
}

impl Compared {
    /// Why the gate counts although it was red before; none where it does not count.
    pub(crate) fn failure(&self) -> Option<String> {
        match self {
            Self::Unknown | Self::AsBefore(_) => None,
            Self::Unreadable => {
                Some("its tests did not run to their end, as they did before".to_owned())
            }
            Self::Worse(new) => Some(new.in_words()),
        }
    }

    /// How the gate is as it was before `since`, such as `the attempt`.
    pub(crate) fn as_before(&self, since: &str) -> String {
        match self {
            Self::AsBefore(figures) if (figures.failed, figures.before) != (0, 0) => {
                figures.in_words(since)
            }
            _ => format!(", as it was before {since}"),
        }
    }
}

impl Figures {
    fn in_words(self, since: &str) -> String {
        let failed = match self.failed {
            0 => ": no test fails".to_owned(),
            failed if self.has_broken => format!(": {}", count(failed, "failure")),
            1 => ": 1 test fails".to_owned(),
            failed => format!(": {failed} tests fail"),
        };
        let beside = match self.before.saturating_sub(self.failed) {
            0 if self.unseen == 0 => format!(", as before {since}"),
            0 => String::new(),
            fewer => format!(", {fewer} fewer than before {since}"),
        };
        let unseen = match self.unseen {
            0 => String::new(),
            unseen => format!(", {unseen} of which did not run before {since}"),
        };
        let ran = self.ran;
        let ran = ran.map(|(now, before)| format!("; {} ran, {before} before", count(now, "test")));
        format!("{failed}{beside}{unseen}{}", ran.unwrap_or_default())
    }
}

/// A test with the group it is in.
fn named(group: &str, test: &str) -> String {
    match group {
        "" => test.to_owned(),
        group => format!("{group} {test}"),
    }
}

fn some_of(names: &[String]) -> String {
    let shown = quoted(names.iter().take(MOST_SHOWN));
    match names.len().saturating_sub(MOST_SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::log::of_text;
    use super::*;

    /// Two outputs of a gate, before and now: why it counts, or how it is as before.
    fn said(before: &str, now: &str) -> Result<String, String> {
        let before = Some(of_text(before)).filter(|it| *it != TestReport::default());
        let now = Some(of_text(now)).filter(|it| *it != TestReport::default());
        let compared = compare(before.as_ref(), now.as_ref());
        match compared.failure() {
            Some(why) => Err(why),
            None => Ok(compared.as_before("the attempt")),
        }
    }

    fn is_as_before(before: &str, now: &str, want: &str) {
        assert_eq!(said(before, now), Ok(want.to_owned()));
    }

    fn counts(before: &str, now: &str, want: &str) {
        assert_eq!(said(before, now), Err(want.to_owned()));
    }

    const UNKNOWN: &str = ", as it was before the attempt";

    fn pytest(failed: &[&str], passed: usize) -> String {
        let lines = failed
            .iter()
            .map(|name| format!("FAILED tests/a.py::{name} - no\n"));
        let lines: String = lines.collect();
        let counts = match failed.len() {
            0 => String::new(),
            failed => format!("{failed} failed, "),
        };
        format!("== short test summary info ==\n{lines}{counts}{passed} passed in 0.1s\n")
    }

    #[test]
    fn the_same_or_fewer_failures_do_not_count() {
        let before = pytest(&["a", "b", "c"], 5);
        is_as_before(&before, &before, ": 3 tests fail, as before the attempt");
        let fewer = pytest(&["b"], 7);
        is_as_before(
            &before,
            &fewer,
            ": 1 test fails, 2 fewer than before the attempt",
        );
        let none = pytest(&[], 8);
        is_as_before(
            &before,
            &none,
            ": no test fails, 3 fewer than before the attempt",
        );
        let gone = pytest(&["b"], 3);
        let want = ": 1 test fails, 2 fewer than before the attempt; 4 tests ran, 8 before";
        is_as_before(&before, &gone, want);
    }

    #[test]
    fn new_failures_count_and_only_they_are_named() {
        let before = pytest(&["a", "b"], 5);
        let want = "1 test fails that did not fail before: `tests/a.py c`; 1 other failure was there \
                    before and does not count";
        counts(&before, &pytest(&["a", "c"], 5), want);
        let want = "2 tests fail that did not fail before: `tests/a.py c`, `tests/a.py d`";
        counts(&before, &pytest(&["c", "d"], 5), want);
        // Red for another reason before.
        let want = "1 test fails that did not fail before: `tests/a.py a`";
        counts(&pytest(&[], 7), &pytest(&["a"], 6), want);
        is_as_before(&pytest(&[], 7), &pytest(&[], 7), UNKNOWN);
    }

    #[test]
    fn many_new_failures_are_cut_to_some() {
        let names: Vec<String> = (100..125).map(|number| format!("t{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let why = said(&pytest(&[], 7), &pytest(&names, 0)).unwrap_err();
        assert!(why.ends_with("`tests/a.py t119` and 5 more"), "{why}");
    }

    #[test]
    fn where_names_cannot_be_read_before_it_is_as_it_was() {
        is_as_before("", &pytest(&["a"], 1), UNKNOWN);
        is_as_before("", "", UNKNOWN);
    }

    #[test]
    fn tests_that_came_to_their_end_before_and_do_not_now_count() {
        let crash = include_str!("samples/pytest-crash.txt");
        let want = "its tests did not run to their end, as they did before";
        counts(&pytest(&["a"], 1), crash, want);
        counts(&pytest(&["a"], 1), "some other output\n", want);
        counts(include_str!("samples/cargo-nff.txt"), "", want);
    }

    #[test]
    fn what_cannot_be_built_counts_unless_it_could_not_before() {
        let built = include_str!("samples/cargo-nff.txt");
        let not_built = include_str!("samples/cargo-compile.txt");
        let want = "`alpha` (lib test) could not be built; `alpha` (lib) could not be built";
        counts(built, not_built, want);
        counts(include_str!("samples/cargo-failfast.txt"), not_built, want);
        let want = ": 2 failures, as before the attempt";
        is_as_before(not_built, not_built, want);
        // What fails once it is built may have failed before.
        let want = ": 6 tests fail, 6 of which did not run before the attempt";
        is_as_before(not_built, built, want);
        let (go, go_build) = (
            include_str!("samples/go.txt"),
            include_str!("samples/go-build.txt"),
        );
        let want = "`example.com/x/b` could not be built; 6 other failures were there before and do \
                    not count";
        counts(go, go_build, want);
    }

    #[test]
    fn a_crash_counts_and_what_it_hid_before_does_not() {
        let (fine, crash) = (
            include_str!("samples/cargo-failfast.txt"),
            include_str!("samples/cargo-crash.txt"),
        );
        counts(fine, crash, "`-p alpha --lib` did not run to its end");
        let want = ": 3 tests fail, 3 of which did not run before the attempt";
        is_as_before(crash, fine, want);
        let (loaded, collect) = (
            include_str!("samples/pytest.txt"),
            include_str!("samples/pytest-collect-continue.txt"),
        );
        let want = "`tests/test_c.py` did not run to its end; 5 other failures were there before and \
                    do not count";
        counts(loaded, collect, want);
    }

    #[test]
    fn where_a_runner_stopped_at_a_failure_what_it_did_not_run_is_unknown() {
        let all = include_str!("samples/cargo-nff.txt");
        let first = include_str!("samples/cargo-failfast.txt");
        // The tests of its second target, of which the first run said nothing.
        let second = "     Running unittests src/lib.rs (target/debug/deps/alpha-e62994b938fd5803)\n\n\
                      running 1 test\ntest a ... ok\n\n\
                      test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\n\
                      \x20    Running tests/it.rs (target/debug/deps/it-e62994b938fd5803)\n\n\
                      running 1 test\ntest b ... FAILED\n\nfailures:\n\nfailures:\n    b\n\n\
                      test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n\n\
                      error: test failed, to rerun pass `-p alpha --test it`\n";
        let want = ": 1 test fails, 2 fewer than before the attempt, 1 of which did not run before \
                    the attempt; 2 tests ran, 4 before";
        is_as_before(first, second, want);
        // A target that passed before, and one more test of the target that failed.
        counts(
            second,
            first,
            "3 tests fail that did not fail before: `-p alpha --lib tests::errs`, \
               `-p alpha --lib tests::fails`, `-p alpha --lib tests::should_panic_but_does_not`",
        );
        let more = second
            .replace("    b\n", "    b\n    c\n")
            .replace("1 failed", "2 failed");
        counts(
            second,
            &more,
            "1 test fails that did not fail before: `-p alpha --test it c`; 1 other \
               failure was there before and does not count",
        );
        assert!(said(first, all).is_ok());
        let (x, whole) = (
            include_str!("samples/pytest-x.txt"),
            include_str!("samples/pytest.txt"),
        );
        let want = ": 5 tests fail, 4 of which did not run before the attempt";
        is_as_before(x, whole, want);
    }

    #[test]
    fn a_runner_that_no_longer_comes_to_its_end_counts() {
        let go = "ok  \tpkg\t0.1s\n";
        let both = format!("{go}{}", pytest(&["a"], 1));
        counts(&both, go, "pytest did not finish");
        let want = ": 1 test fails, as before the attempt";
        is_as_before(&both, &both, want);
        // It did not run before, so that what it says now may not be new.
        let want = ": 1 test fails, 1 of which did not run before the attempt";
        is_as_before(go, &both, want);
    }
}
