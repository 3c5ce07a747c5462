//! Commands that check an attempt.

use std::fmt;

use super::key_table::table;
use super::path_patterns::{OnePattern, PathPatterns};
use super::value::{Filled, FromTable, Item, Key, Mistake, choices, tables};
use crate::words::{count, quoted};
use ralph_base::duration::TimeLimit;

/// How long a gate may run unless the user says otherwise.
pub(super) const GATE_TIMEOUT: TimeLimit = TimeLimit::seconds(30 * 60);

/// A command that checks an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateSettings {
    /// What it is called in the log.
    pub name: String,
    /// The shell line.
    pub run: String,
    /// How long it may run.
    pub timeout: TimeLimit,
    /// A gate that was red before the story does not fail the attempt.
    pub baseline: bool,
    /// Work in which it is still red, as before, ends with exit code 0.
    pub allow_red: bool,
    /// When it runs.
    pub when: When,
    /// What it changes in the tree is part of the work.
    pub keep_changes: bool,
    /// How often it runs again on the same tree while it is red.
    pub retries: u32,
    /// It only runs where one of these files was changed.
    pub paths: Option<PathPatterns>,
    /// The files with its test report.
    pub junit: Option<PathPatterns>,
}

table! {
    GateKeys, "[[gate]]",
    "A command that ralphtool itself runs to check an attempt; one table for each.";
    name: Filled, without "the line itself", example r#""tests""#, "Its name in messages.";
    run: Filled, without "needed", example r#""make test""#, asks "a gate runs", flag "--gate",
        "The line for your shell, run in the top folder of the repository. `--gate` gives such lines\n\
         instead of all configured gates.";
    timeout: TimeLimit = GATE_TIMEOUT, "How long it may run; then it is stopped and red.";
    baseline: bool = true,
        "Whether a gate that was red before the story began does not fail the attempt.";
    allow_red: bool = false,
        "Whether a run ends with exit code 0 although the gate is still red, as it was before the run.\n\
         It is still reported.";
    when: When = When::Story, "After every story, or once at the end, over the whole change.";
    keep_changes: bool = false,
        "Whether what it changes in the tree is part of the work, as with a formatter.";
    retries: u32, without "none", example "1",
        "How often it runs again on the same tree when it is red. If it then passes, it counts as passed\n\
         and is reported as flaky.";
    paths: PathPatterns, without "always", example r#"["src/**"]"#,
        "The files it checks: it only runs when one of them was changed. `*` stays within a folder, `**`\n\
         does not.";
    junit: OnePattern, without "its output", example r#""target/nextest/ci/junit.xml""#,
        "The test report that it writes, in the JUnit format: a path, or a pattern of several. Of a gate\n\
         that was red before, the names of failed tests are compared.";
}

impl GateSettings {
    /// The gate of a `--gate` flag: named after its own line.
    pub fn from_line(run: &str) -> Self {
        Self {
            name: run.to_owned(),
            run: run.to_owned(),
            timeout: GATE_TIMEOUT,
            baseline: true,
            allow_red: false,
            when: When::Story,
            keep_changes: false,
            retries: 0,
            paths: None,
            junit: None,
        }
    }

    /// The patterns of its paths; none where it always runs.
    pub fn path_texts(&self) -> Vec<String> {
        let paths = self.paths.as_ref();
        paths.map(|it| it.texts().to_vec()).unwrap_or_default()
    }

    /// What is set for it besides its line, its time and when it runs, in words.
    pub fn extras(&self) -> Vec<String> {
        let retries = (self.retries > 0).then(|| count(self.retries, "retry"));
        let paths = self.paths.as_ref();
        let paths = paths.map(|it| format!("only for {}", quoted(it.texts())));
        let junit = self.junit.as_ref();
        let junit = junit.map(|it| format!("report {}", quoted(it.texts())));
        retries.into_iter().chain(paths).chain(junit).collect()
    }

    fn read(item: &Item<'_>) -> Result<Self, Mistake> {
        let keys = GateKeys::read(GateKeys::TABLE.header, item)?;
        let Some(run) = keys.run else {
            let mistake = Mistake::at(item, "this gate has no `run`");
            return Err(mistake.hint("say what to run, such as `run = \"cargo test\"`"));
        };
        if keys.keep_changes && keys.when == When::End {
            let message = "a gate at the end cannot keep its changes: every story is saved by then";
            let mistake = Mistake::at(item, message);
            return Err(mistake.hint("let it run after each story, with `when = \"story\"`"));
        }
        if keys.allow_red && !keys.baseline {
            let message = "`allow_red` needs `baseline`: without it no gate counts as red before";
            let mistake = Mistake::at(item, message);
            return Err(mistake.hint("remove `baseline = false`, or `allow_red`"));
        }
        Ok(Self {
            name: keys.name.unwrap_or_else(|| run.clone()),
            run,
            timeout: keys.timeout,
            baseline: keys.baseline,
            allow_red: keys.allow_red,
            when: keys.when,
            keep_changes: keys.keep_changes,
            retries: keys.retries.unwrap_or_default(),
            paths: keys.paths,
            junit: keys.junit,
        })
    }
}

impl FromTable for Vec<GateSettings> {
    fn from_table(key: &Key<'_>, item: &Item<'_>) -> Result<Self, Mistake> {
        let mut gates: Self = Vec::new();
        for item in tables(key, item)? {
            let gate = GateSettings::read(item)?;
            if gates.iter().any(|other| other.name == gate.name) {
                let message = format!("there are two gates named `{}`", gate.name);
                return Err(Mistake::at(item, message));
            }
            gates.push(gate);
        }
        Ok(gates)
    }
}

impl fmt::Display for GateSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name != self.run {
            write!(f, "{}: ", self.name)?;
        }
        write!(f, "{} (timeout {}", self.run, self.timeout)?;
        if self.when == When::End {
            f.write_str(", at the end")?;
        }
        if self.keep_changes {
            f.write_str(", its changes are kept")?;
        }
        for extra in self.extras() {
            write!(f, ", {extra}")?;
        }
        if self.allow_red {
            f.write_str(", may stay red")?;
        }
        f.write_str(if self.baseline { ")" } else { ", no baseline)" })
    }
}

choices! {
    /// When a gate runs.
    #[derive(Default)]
    When {
        /// After every attempt that promises to be done.
        #[default]
        Story = "story",
        /// Once, when every story is done, over the whole change.
        End = "end",
    }
}
