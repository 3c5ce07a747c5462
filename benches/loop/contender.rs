//! Who is measured: each works through the whole change in a fresh repository, and must leave one
//! commit a story.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::fixture::{CHANGE, Fixture, Place, TASKS};
use crate::{Result, agent};

/// All contenders. The last one needs a program built to be compared with.
pub(crate) const CONTENDERS: &[Contender] = if cfg!(feature = "unsynced") {
    &[Contender::Shell, Contender::Ralphtool, Contender::Unsynced]
} else {
    &[Contender::Shell, Contender::Ralphtool]
};

/// The plain loop; `$1` is the agent, `$2` the task file, `$3` the log.
const SHELL_LOOP: &str = r#"
while grep -q '^- \[ \] ' "$2"; do
    "$1" __agent "$2" "$3" >/dev/null || exit 1
    git add -A && git commit -q -m 'checkpoint' || exit 1
done
"#;

/// How often the memory of a contender is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// A way to work through the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contender {
    /// `git add -A && git commit` after each agent, in `sh`.
    Shell,
    /// `ralphtool loop`.
    Ralphtool,
    /// The same without its journal, and with nothing made durable.
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

/// What one run showed.
#[derive(Debug)]
pub(crate) struct Run {
    /// From the start to the end of the process.
    pub(crate) wall: Duration,
    /// From the start to the first agent.
    pub(crate) first_agent: Duration,
    /// All agents together.
    pub(crate) agents: Duration,
    /// From the end of each agent to the start of the next.
    pub(crate) gaps: Vec<Duration>,
    /// The git calls in each of the gaps, where they are logged.
    pub(crate) git_calls: Vec<Vec<String>>,
    /// The most memory the process itself had, in kilobytes, where the system tells.
    pub(crate) peak_memory: Option<u64>,
}

impl Contender {
    /// As it is called in the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Shell => "shell loop",
            Self::Ralphtool => "ralphtool loop",
            Self::Unsynced => "the same, unsynced",
        }
    }

    /// Commits besides those of the stories: the one of the fixture, and the initial state.
    fn other_commits(self) -> usize {
        match self {
            Self::Shell => 1,
            Self::Ralphtool | Self::Unsynced => 2,
        }
    }

    /// Works through the change once.
    pub(crate) fn run(self, fixture: &Fixture, git: Git) -> Result<Run> {
        let place = fixture.copy()?;
        let log = place.beside("log");
        let mut command = self.command(&place, &log)?;
        if git == Git::Logged {
            let folder = logging_git(&place, &log)?;
            let path = std::env::var_os("PATH").unwrap_or_default();
            let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
            command.env("PATH", std::env::join_paths(folders)?);
        }
        let output = fs::File::create(place.beside("output"))?;
        command
            .stdin(Stdio::null())
            .stderr(output.try_clone()?)
            .stdout(output);
        let started = agent::now();
        let clock = Instant::now();
        let mut child = command.spawn()?;
        let (status, peak_memory) = wait(&mut child)?;
        let wall = clock.elapsed();
        if !status.success() {
            let said = fs::read_to_string(place.beside("output"))?;
            return Err(format!("{} ended with {status}:\n{said}", self.name()).into());
        }
        self.check(fixture, &place)?;
        Run::from_log(&fs::read_to_string(&log)?, started, wall, peak_memory)
    }

    fn command(self, place: &Place, log: &Path) -> Result<Command> {
        let own = std::env::current_exe()?;
        match self {
            Self::Shell => {
                let mut command = place.command("sh");
                command.args(["-c", SHELL_LOOP, "loop"]);
                command.arg(own).arg(TASKS).arg(log);
                Ok(command)
            }
            Self::Ralphtool | Self::Unsynced => {
                let config = place.beside("ralphtool.toml");
                let text = format!(
                    "agent = \"bench\"\n[agents.bench]\ncommand = ['{}', '{}', '{TASKS}', '{}']\n",
                    own.display(),
                    agent::WORD,
                    log.display()
                );
                fs::write(&config, text)?;
                let mut command = place.command(env!("CARGO_BIN_EXE_ralphtool"));
                command.args(["loop", CHANGE, "--on-finish", "keep", "--config"]);
                command.arg(config);
                if self == Self::Unsynced {
                    command.env("RALPHTOOL_UNSYNCED_BENCHMARK", "1");
                }
                Ok(command)
            }
        }
    }

    /// One commit a story and nothing left over, or the figures mean nothing.
    fn check(self, fixture: &Fixture, place: &Place) -> Result<()> {
        let count = answer(place.command("git").args(["rev-list", "--count", "HEAD"]))?;
        let want = fixture.stories + self.other_commits();
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

impl Run {
    fn from_log(
        log: &str,
        started: u128,
        wall: Duration,
        peak_memory: Option<u64>,
    ) -> Result<Self> {
        let mut agents: Vec<(u128, u128)> = Vec::new();
        let mut calls = Vec::new();
        let mut git_calls = Vec::new();
        for line in log.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            if let ["agent", start, end] = words[..] {
                agents.push((start.parse()?, end.parse()?));
                git_calls.push(std::mem::take(&mut calls));
            } else {
                calls.push(line.to_owned());
            }
        }
        let Some(first) = agents.first() else {
            return Err("no agent ran".into());
        };
        // What comes before the first agent is no story's.
        git_calls.remove(0);
        Ok(Self {
            wall,
            first_agent: between(started, first.0),
            agents: agents
                .iter()
                .map(|(start, end)| between(*start, *end))
                .sum(),
            gaps: agents
                .windows(2)
                .map(|pair| between(pair[0].1, pair[1].0))
                .collect(),
            git_calls,
            peak_memory,
        })
    }
}

fn between(earlier: u128, later: u128) -> Duration {
    let nanos = later.saturating_sub(earlier);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// Waits for a process, looking at its memory meanwhile.
fn wait(child: &mut Child) -> Result<(ExitStatus, Option<u64>)> {
    let status_file = format!("/proc/{}/status", child.id());
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let mut peak = None;
            while !over.load(Ordering::Relaxed) {
                peak = peak_memory(&status_file).or(peak);
                std::thread::sleep(LOOK);
            }
            peak
        });
        let status = child.wait();
        over.store(true, Ordering::Relaxed);
        let peak = looking.join().unwrap_or(None);
        Ok((status?, peak))
    })
}

/// The system keeps the highest value itself: looking now and then misses next to nothing.
fn peak_memory(status_file: &str) -> Option<u64> {
    let text = fs::read_to_string(status_file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Makes a `git` that notes its arguments and then becomes the real one.
fn logging_git(place: &Place, log: &Path) -> Result<std::path::PathBuf> {
    let real = answer(place.command("sh").args(["-c", "command -v git"]))?;
    let folder = place.beside("bin");
    fs::create_dir(&folder)?;
    let script = folder.join("git");
    let text = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$*\" >>'{}'\nexec '{}' \"$@\"\n",
        log.display(),
        real.trim()
    );
    fs::write(&script, text)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    Ok(folder)
}

/// Runs a command that must work.
pub(crate) fn must(command: &mut Command) -> Result<()> {
    answer(command).map(drop)
}

fn answer(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} ended with {}: {said}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
