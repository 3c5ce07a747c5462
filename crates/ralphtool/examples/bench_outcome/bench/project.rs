//! The repository of one change, with its plan, its settings, its agent and, beside it, the user's
//! acceptance.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::catalogue::{Function, Tests};
use super::chance;
use super::draw::{self, STORIES};
use super::setup::{Checks, Setup};
use super::{Result, Series};

/// Runs all tests of the project.
pub(crate) const RUNNER: &str = include_str!("run.sh");
/// What they use.
pub(crate) const ASSERTIONS: &str = include_str!("assert.sh");
const AGENT: &str = include_str!("agent.sh");
const ACCEPTANCE: &str = include_str!("acceptance.sh");
const REVIEWER: &str = include_str!("reviewer.sh");
const FLAKY: &str = include_str!("flaky.sh");

/// Draws for more attempts than a story can have: it may be opened again at the end.
const SPARE_ATTEMPTS: u64 = 50;

/// How long a reviewer may take.
const REVIEW_TIMEOUT: &str = "60s";

/// Everything in one folder, which is removed with it.
pub(crate) struct Project {
    folder: tempfile::TempDir,
    /// What is there before, and what the stories ask for.
    pub(crate) functions: Vec<&'static Function>,
}

impl Project {
    /// Writes it all.
    pub(crate) fn make(series: &Series<'_>, setup: &Setup, change: u64) -> Result<Self> {
        let seed = series.seed;
        let project = Self {
            folder: tempfile::tempdir_in(swift_folder())?,
            functions: draw::functions(seed, change),
        };
        let root = project.root();
        for name in ["home", "tmp", "repo"] {
            fs::create_dir(root.join(name))?;
        }
        write(&root.join("agent.sh"), AGENT)?;
        write(&root.join("reviewer.sh"), REVIEWER)?;
        write(&root.join("flaky.sh"), FLAKY)?;
        let attempts = u64::from(series.max_retries) * 2 + SPARE_ATTEMPTS;
        let rounds = u64::from(series.repairs) + 2;
        let odds = series.odds;
        let draws = draw::script(seed, change, attempts)
            + &chance::answers(odds, seed, change, attempts, rounds);
        write(&root.join("draws"), &draws)?;
        write(&root.join("reviews"), &chance::reviews(odds, seed, change))?;
        write(&root.join("flakes"), &chance::flakes(odds, seed, change))?;
        write(&root.join("acceptance/run.sh"), ACCEPTANCE)?;
        for (story, function) in project.functions.iter().enumerate() {
            let script = root.join(format!("acceptance/{story}.sh"));
            write(&script, &function.acceptance())?;
            project.lay_out_material(story, function)?;
        }
        project.write_repository(&project.settings(series, setup))?;
        Ok(project)
    }

    /// What the agent copies from.
    fn lay_out_material(&self, story: usize, function: &Function) -> Result<()> {
        let folder = self.root().join(format!("material/{story}"));
        write(&folder.join("name"), function.name)?;
        for (name, text) in [
            ("code", function.code()),
            ("stub", function.stub()),
            ("broken", function.broken()),
            ("test", function.tests(Tests::Right)),
            ("fitted", function.tests(Tests::Fitted)),
            ("skipped", function.tests(Tests::Skipped)),
            ("emptied", function.tests(Tests::Emptied)),
        ] {
            write(&folder.join(format!("{name}.sh")), &text)?;
        }
        Ok(())
    }

    fn write_repository(&self, settings: &str) -> Result<()> {
        let base = self.functions[0];
        let mut tasks = String::new();
        for (story, function) in self.functions.iter().enumerate().skip(1) {
            let Function { name, does, .. } = function;
            let _ = write!(
                tasks,
                "## {story}. {name}\n- [ ] {story}.1 Write `{name}` in `src/{name}.sh`: it {does}\n\
                 - [ ] {story}.2 Test it in `tests/test_{name}.sh`\n\n"
            );
        }
        let repository = self.repository();
        for (path, text) in [
            ("README.md", "# Small functions\n"),
            ("ralphtool.toml", settings),
            ("openspec/changes/c/tasks.md", &tasks),
            ("tests/run.sh", RUNNER),
            ("tests/assert.sh", ASSERTIONS),
            (&format!("src/{}.sh", base.name), &base.code()),
            (
                &format!("tests/test_{}.sh", base.name),
                &base.tests(Tests::Right),
            ),
        ] {
            write(&repository.join(path), text)?;
        }
        self.git(&["init", "-q", "-b", "main", "--template="])?;
        self.git(&["add", "-A"])?;
        self.git(&["commit", "-q", "-m", "first"])?;
        Ok(())
    }

    fn settings(&self, series: &Series<'_>, setup: &Setup) -> String {
        let root = self.root().display();
        let (max_retries, idle) = (series.max_retries, series.idle.as_secs());
        let strict_tasks = setup.checks == Checks::Acceptance;
        let repairs = if setup.repairs { series.repairs } else { 0 };
        let mut text = format!(
            "agent = \"flaky\"\nmax_retries = {max_retries}\nrepairs = {repairs}\n\
             strict_tasks = {strict_tasks}\n\n[timeouts]\nidle = \"{idle}s\"\n\n\
             [agents.flaky]\ncommand = [\"sh\", \"{root}/agent.sh\", \"{root}\", \"first\", \"{{session}}\"]\n\
             resume = [\"sh\", \"{root}/agent.sh\", \"{root}\", \"again\", \"{{session}}\"]\n\n"
        );
        if setup.review {
            let reviewer = format!("[\"sh\", \"{root}/reviewer.sh\", \"{root}\"]");
            let _ = write!(
                text,
                "[agents.reader]\ncommand = {reviewer}\nreview = {reviewer}\n\n\
                 [[review]]\nname = \"reviewer\"\nagent = \"reader\"\ntimeout = \"{REVIEW_TIMEOUT}\"\n\n"
            );
        }
        text.push_str(&self.checks(setup));
        text
    }

    /// The gates and tamper checks.
    fn checks(&self, setup: &Setup) -> String {
        let root = self.root().display();
        let own_tests = format!("sh {root}/flaky.sh {root}");
        let acceptance = format!("sh {root}/acceptance/run.sh {root}");
        let retries = if setup.gate_retry {
            "retries = 1\n"
        } else {
            ""
        };
        let tests = format!(
            "[tamper]\ntests = \"fail\"\n\n[[gate]]\nname = \"tests\"\nrun = \"{own_tests}\"\n{retries}"
        );
        match setup.checks {
            Checks::None => "[tamper]\nboxes = \"off\"\nspecs = \"off\"\ntests = \"off\"\n\
                             config = \"off\"\noutside = \"off\"\n"
                .to_owned(),
            Checks::OwnTests => tests,
            // Before the end the whole change does not hold, so there is nothing to compare with.
            Checks::Acceptance => format!(
                "{tests}\n[[gate]]\nname = \"acceptance\"\nrun = \"{acceptance}\"\n\n\
                 [[gate]]\nname = \"whole\"\nwhen = \"end\"\nbaseline = false\n{retries}\
                 run = \"{own_tests} && {acceptance} all\"\n"
            ),
        }
    }

    /// Runs the program until it is done or gives up.
    pub(crate) fn run(&self, program: &Path) -> Result<Output> {
        let mut command = self.command(program, &self.repository());
        Ok(command.args(["loop", "c", "--json"]).output()?)
    }

    /// What the agent says it did, in order.
    pub(crate) fn deeds(&self) -> Result<Vec<draw::Attempt>> {
        let text = fs::read_to_string(self.root().join("deeds"))?;
        text.lines()
            .map(|line| {
                draw::Attempt::read(line).ok_or_else(|| format!("no deed is `{line}`").into())
            })
            .collect()
    }

    /// The processes that agents were, as their scripts noted them.
    pub(crate) fn starts(&self) -> Result<String> {
        Ok(fs::read_to_string(self.root().join("starts"))?)
    }

    /// The stories whose checkpoint is on the branch of the run.
    pub(crate) fn claimed(&self) -> Result<Vec<usize>> {
        let log = self.git(&["log", "--reverse", "--format=%s", "main..ralph/c"])?;
        let mut claimed = [false; STORIES + 1];
        for line in log.lines() {
            for (start, is_done) in [("checkpoint: ", true), ("reopen: ", false)] {
                let story = line.strip_prefix(start).map(str::parse::<usize>);
                if let Some(Ok(story)) = story
                    && let Some(slot) = claimed.get_mut(story)
                {
                    *slot = is_done;
                }
            }
        }
        let stories = claimed.iter().enumerate().filter(|(_, is_done)| **is_done);
        Ok(stories.map(|(story, _)| story).collect())
    }

    /// A fresh copy of what was committed on the branch of the run.
    pub(crate) fn committed(&self) -> Result<PathBuf> {
        let copy = self.root().join("committed");
        let (from, to) = (self.repository(), copy.display().to_string());
        let from = from.display().to_string();
        self.git(&["clone", "-q", "--shared", "-b", "ralph/c", &from, &to])?;
        Ok(copy)
    }

    /// A command that knows nothing of this machine but its `PATH`.
    pub(crate) fn command(&self, program: &Path, folder: &Path) -> Command {
        let mut command = Command::new(program);
        let root = self.root();
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", root.join("home"))
            .env("XDG_STATE_HOME", root.join("state"))
            .env("RALPHTOOL_TRUST", "1")
            .env("XDG_CONFIG_HOME", root.join("config"))
            .env("TMPDIR", root.join("tmp"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .current_dir(folder)
            .stdin(Stdio::null());
        command
    }

    fn git(&self, args: &[&str]) -> Result<String> {
        let mut git = self.command(Path::new("git"), &self.repository());
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "User");
            git.env(format!("GIT_{who}_EMAIL"), "user@example.com");
        }
        let output = git.args(args).output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let told = String::from_utf8_lossy(&output.stderr);
        Err(format!("`git {}` failed: {told}", args.join(" ")).into())
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn repository(&self) -> PathBuf {
        self.root().join("repo")
    }
}

/// A folder in memory, or else the one for temporary files.
fn swift_folder() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if tempfile::tempfile_in(&memory).is_ok() {
        return memory;
    }
    std::env::temp_dir()
}

/// Writes a file and the folders it is in.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, text)?)
}
