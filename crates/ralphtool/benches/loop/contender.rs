//! The loops that are measured: each works through the whole change in a fresh repository, and must
//! leave one commit per story.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::answer;
use crate::fixture::{CHANGE, Place, TASKS};
use crate::git_calls::logging_git;
use crate::repository::Repository;
use crate::run::{Run, Seen};
use crate::walks::Walks;
use crate::{Result, agent, watch};

/// Names another program to measure beside this one, such as an older one.
const OTHER_PROGRAM: &str = "RALPHTOOL_PROGRAM";

/// Everything that is measured.
pub(crate) fn contenders() -> Vec<Contender> {
    let mut contenders = vec![Contender::Shell, Contender::Ralphtool];
    if std::env::var_os(OTHER_PROGRAM).is_some() {
        contenders.push(Contender::Other);
    }
    if cfg!(feature = "unsynced") {
        contenders.push(Contender::Unsynced);
    }
    contenders
}

/// The gate, where one is wanted: it passes at once.
const GATE: &str = "true";

/// The plain loop; `$1` is the task file, `$2` the gate, the rest is the agent.
const SHELL_LOOP: &str = r#"
tasks=$1
gate=$2
shift 2
while grep -q '^- \[ \] ' "$tasks"; do
    "$@" >/dev/null
    case $? in
        0)
            if [ -n "$gate" ]; then sh -c "$gate" || exit 2; fi
            git add -A && git commit -q -m checkpoint || exit 2
            ;;
        1) git reset --hard -q && git clean -fdq || exit 2 ;;
        *) exit 2 ;;
    esac
done
"#;

/// A way to work through the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contender {
    /// `git add -A && git commit` after each agent that succeeded, `git reset --hard && git clean
    /// -fd` after each that failed, in `sh`.
    Shell,
    /// `ralphtool run`.
    Ralphtool,
    /// `loop` of another program.
    Other,
    /// `ralphtool run` without its journal, and with nothing made durable.
    Unsynced,
}

/// Which git the contender finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Git {
    /// The one that is installed.
    Plain,
    /// One that notes every call in the log first.
    Logged,
}

impl Contender {
    /// As it is called in the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Shell => "shell loop",
            Self::Ralphtool => "ralphtool run",
            Self::Other => "other program",
            Self::Unsynced => "the same, unsynced",
        }
    }

    /// Commits besides those of the stories: the one of the fixture, and the initial state.
    fn other_commits(self) -> usize {
        match self {
            Self::Shell => 1,
            Self::Ralphtool | Self::Other | Self::Unsynced => 2,
        }
    }

    /// Works through the change once.
    pub(crate) fn run(self, repository: &Repository, place: &Place, git: Git) -> Result<Run> {
        place.renew()?;
        let log = place.beside("log");
        let agent = agent::command_line(repository, &log)?;
        let gate = repository.has_gate.then_some(GATE);
        let mut command = self.command(place, &agent, gate)?;
        if git == Git::Logged {
            command.env("PATH", logging_git(place, &log)?);
        }
        let output = fs::File::create(place.beside("output"))?;
        command
            .stdin(Stdio::null())
            .stderr(output.try_clone()?)
            .stdout(output);
        fs::write(&log, "")?;
        let first = place.repository().join(repository.path(0));
        let walks = Walks::watch(first.parent().unwrap_or(&first), &log)?;
        let started = agent::now();
        let (status, memory) = watch::run(&mut command)?;
        let ended = agent::now();
        let walks = walks.counted()?;
        if !status.success() {
            let said = fs::read_to_string(place.beside("output"))?;
            return Err(format!("{} ended with {status}:\n{said}", self.name()).into());
        }
        self.check(repository, place)?;
        let log = fs::read_to_string(&log)?;
        let seen = Seen {
            started,
            ended,
            memory,
            // Where git notes its calls, others than agents write the log.
            walks: if git == Git::Plain { walks } else { Vec::new() },
        };
        let run = Run::from_log(&log, &seen, repository.stories)?;
        if run.restores.len() != repository.restores {
            return Err(format!("{} made {} restores", self.name(), run.restores.len()).into());
        }
        Ok(run)
    }

    fn command(self, place: &Place, agent: &[OsString], gate: Option<&str>) -> Result<Command> {
        let mut command = match self {
            Self::Shell => {
                let mut command = place.command("sh");
                let gate = gate.unwrap_or_default();
                command.args(["-c", SHELL_LOOP, "loop", TASKS, gate]);
                command.args(agent);
                return Ok(command);
            }
            Self::Other => {
                let program = std::env::var_os(OTHER_PROGRAM).unwrap_or_default();
                loop_of(&program, place, agent, "text")?
            }
            Self::Ralphtool | Self::Unsynced => ralphtool_loop(place, agent, "text")?,
        };
        if self == Self::Unsynced {
            command.env("RALPHTOOL_UNSYNCED_BENCHMARK", "1");
        }
        command.args(gate.iter().flat_map(|gate| ["--gate", gate]));
        Ok(command)
    }

    /// One commit per story and nothing left over, or the figures mean nothing.
    fn check(self, repository: &Repository, place: &Place) -> Result<()> {
        let count = answer(place.command("git").args(["rev-list", "--count", "HEAD"]))?;
        let want = repository.stories + repository.restores + self.other_commits();
        if count.trim() != want.to_string() {
            return Err(format!("{} made {count} commits, not {want}", self.name()).into());
        }
        let status = answer(place.command("git").args(["status", "--porcelain"]))?;
        if !status.is_empty() {
            return Err(format!("{} left a tree that is not clean:\n{status}", self.name()).into());
        }
        Ok(())
    }
}

/// `ralphtool run` with an agent that prints in some way.
pub(crate) fn ralphtool_loop(place: &Place, agent: &[OsString], output: &str) -> Result<Command> {
    let program = OsStr::new(env!("CARGO_BIN_EXE_ralphtool"));
    loop_of(program, place, agent, output)
}

fn loop_of(program: &OsStr, place: &Place, agent: &[OsString], output: &str) -> Result<Command> {
    let mut words = String::new();
    for word in agent {
        let _ = write!(words, "'{}', ", Path::new(word).display());
    }
    let config = place.beside("ralphtool.toml");
    fs::write(
        &config,
        format!("agent = \"bench\"\n[agents.bench]\ncommand = [{words}]\noutput = \"{output}\"\n"),
    )?;
    let mut command = place.command(program);
    command.args(["loop", CHANGE, "--on-finish", "keep", "--config"]);
    command.arg(config);
    Ok(command)
}
