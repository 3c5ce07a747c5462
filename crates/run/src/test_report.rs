//! The tests of a gate, as far as its output names them: which failed, and which could not run.
//!
//! Each kind of test runner has a parser of its own. A parser says something only where it has seen
//! that the runner came to its end; what is named in the middle of an output proves nothing.

mod cargo;
mod compare;
mod counts;
mod go;
mod jest;
mod junit;
mod log;
mod nextest;
mod parser;
mod pytest;
pub(crate) mod report_files;
#[cfg(test)]
mod shown;
mod vitest;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use self::compare::NEW_FAILURES;
pub(crate) use self::compare::{Compared, compare};
use self::report_files::ReportFiles;

/// More names, or more bytes of them, are not recorded: the tests then count as not named.
const MOST_NAMES: usize = 2000;
const MOST_BYTES: usize = 128 * 1024;

/// What the output of a gate says of its tests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct TestReport {
    /// By the program that ran them.
    runners: BTreeMap<Runner, RunnerReport>,
}

/// A program that runs tests, or the report that programs write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum Runner {
    Junit,
    Cargo,
    Nextest,
    Pytest,
    Go,
    Jest,
    Vitest,
}

impl fmt::Display for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Junit => "the JUnit report",
            Self::Cargo => "`cargo test`",
            Self::Nextest => "`cargo nextest`",
            Self::Pytest => "pytest",
            Self::Go => "`go test`",
            Self::Jest => "jest",
            Self::Vitest => "vitest",
        })
    }
}

/// What one runner says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
struct RunnerReport {
    /// The tests that failed, by their group: a target, a package, a file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    failed: BTreeMap<String, BTreeSet<String>>,
    /// Groups of which not all tests ran.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    broken: BTreeMap<String, Broken>,
    /// How many tests ran, where the runner says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ran: Option<usize>,
    /// The runner stopped at a failure, after this many groups that ran to their end, as far as the
    /// order of groups is fixed; 0 otherwise. None where it ran all tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stopped_after: Option<usize>,
}

/// Why not all tests of a group ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum Broken {
    NotBuilt,
    NotFinished,
}

impl RunnerReport {
    fn fail(&mut self, group: &str, test: impl Into<String>) {
        if self.has_room() {
            let group = self.failed.entry(group.to_owned()).or_default();
            group.insert(test.into());
        }
    }

    fn mark_broken(&mut self, group: impl Into<String>, why: Broken) {
        if self.has_room() {
            self.broken.insert(group.into(), why);
        }
    }

    /// One more than is recorded has room: then it is known to be too much.
    fn has_room(&self) -> bool {
        let last = self.failed.last_key_value();
        let in_last = last.map_or(0, |(_, tests)| tests.len());
        self.failed.len() + self.broken.len() + in_last <= MOST_NAMES
    }

    /// Tests that failed, and groups of which not all ran.
    fn failures(&self) -> usize {
        self.failed.values().map(BTreeSet::len).sum::<usize>() + self.broken.len()
    }

    fn bytes(&self) -> usize {
        let groups = self.failed.keys().chain(self.broken.keys());
        let tests = self.failed.values().flatten();
        groups.chain(tests).map(String::len).sum()
    }

    /// Adds what the runner said at another time.
    fn add(&mut self, other: Self) {
        for (group, tests) in other.failed {
            self.failed.entry(group).or_default().extend(tests);
        }
        self.broken.extend(other.broken);
        self.ran = self.ran.max(other.ran);
        // A time at which it ran all of them says more.
        self.stopped_after = self
            .stopped_after
            .zip(other.stopped_after)
            .map(|(mine, theirs)| mine.max(theirs));
    }
}

impl TestReport {
    /// What a gate's log, and the report it wrote where it has one, say of its tests; none where no
    /// runner came to its end, or where too much failed to be recorded.
    pub(crate) fn of_gate(log: &Path, files: Option<ReportFiles>) -> Option<Self> {
        let mut report = log::read(log)?;
        if let Some(files) = files {
            // The report names the tests; the log still says what could not run at all.
            let mut junit = junit::read_all(&files.changed()?)?;
            for runner in report.runners.values_mut() {
                runner.failed.clear();
                runner.ran = None;
                if runner.stopped_after.is_some() {
                    junit.stopped_after = Some(0);
                }
            }
            report.runners.insert(Runner::Junit, junit);
        }
        (!report.runners.is_empty() && report.fits()).then_some(report)
    }

    /// A run of all tests of which these failed.
    #[cfg(test)]
    pub(crate) fn of_failed<T: AsRef<str>>(tests: impl IntoIterator<Item = T>) -> Self {
        let mut report = RunnerReport::default();
        for test in tests {
            report.fail("", test.as_ref());
        }
        Self {
            runners: BTreeMap::from([(Runner::Pytest, report)]),
        }
    }

    /// Tests that failed, and parts of them that could not run.
    pub fn failures(&self) -> usize {
        self.runners.values().map(RunnerReport::failures).sum()
    }

    /// Adds what the same gate said at another try.
    pub(crate) fn add(&mut self, other: Self) {
        for (runner, report) in other.runners {
            self.runners.entry(runner).or_default().add(report);
        }
    }

    fn fits(&self) -> bool {
        let bytes: usize = self.runners.values().map(RunnerReport::bytes).sum();
        self.failures() <= MOST_NAMES && bytes <= MOST_BYTES
    }
}
