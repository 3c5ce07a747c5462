//! One flood: the benchmark starts the program, presses keys until the output ends, and then leaves
//! the program alone for a while.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::agent::{self, Flood};
use crate::figures::{Figures, Idle};
use crate::options::Options;
use crate::terminal::{Key, Terminal};
use crate::{Result, process};

/// What the program writes before it draws.
const BEGIN_OF_UPDATE: &[u8] = b"\x1b[?2026h";

/// How long nothing happens.
const IDLE: Duration = Duration::from_secs(20);

/// How long things settle before that.
const SETTLE: Duration = Duration::from_secs(2);

const TASKS: &str = "## 1. Flood\n- [ ] 1.1 Say very much\n";

/// The name of a key press, the key, and a check that the screen shows its effect.
type Press = (&'static str, Key, fn(&str) -> bool);

/// What is pressed, again and again; each ends where the next begins.
const PRESSES: &[Press] = &[
    ("? opens the help", Key::Char('?'), |it| {
        it.contains(" Keys ")
    }),
    ("Esc closes it", Key::Esc, |it| !it.contains(" Keys ")),
    ("Tab to the diff", Key::Tab, |it| it.contains("[Diff]")),
    ("1 to the agent", Key::Char('1'), |it| {
        it.contains("[Agent]") && place(it).is_some()
    }),
    ("g to the start", Key::Char('g'), |it| {
        place(it).is_some_and(|(at, _)| at == 1) && line_of_cursor(it) == Some(1)
    }),
    ("Down in the pane", Key::Down, |it| {
        line_of_cursor(it) == Some(2)
    }),
    ("Up in the pane", Key::Up, |it| {
        line_of_cursor(it) == Some(1)
    }),
    ("G to the end", Key::Char('G'), |it| {
        place(it).is_some_and(|(at, all)| at == all)
    }),
];

/// Where in the transcript the pane is, as it says beside its tabs: `3/2000`.
fn place(screen: &str) -> Option<(u64, u64)> {
    let line = screen.lines().find(|line| line.contains("[Agent]"))?;
    let (at, all) = line.split_whitespace().last()?.split_once('/')?;
    Some((at.parse().ok()?, all.parse().ok()?))
}

/// How many lines below the tabs the cursor is.
fn line_of_cursor(screen: &str) -> Option<usize> {
    let below = screen.lines().skip_while(|line| !line.contains("[Agent]"));
    below
        .enumerate()
        .find_map(|(number, line)| line.contains("│▌").then_some(number))
}

/// Measures one flood.
pub(crate) fn show(flood: Flood, options: &Options) -> Result<Figures> {
    let stage = Stage::make(flood)?;
    let (rows, cols) = options.size;
    let mut program = stage.command(env!("CARGO_BIN_EXE_ralphtool"));
    program.args(["loop", "flood"]);
    let begun = Instant::now();
    let terminal = Terminal::start(&program, rows, cols);
    let pid = terminal.pid();
    let mut figures = Figures {
        name: flood.name(),
        ..Figures::default()
    };
    terminal.waits_for("[Agent]");
    terminal.key(Key::Right);
    terminal.waits_until(|it| place(it).is_some());
    if flood != Flood::Idle {
        press_until_shown(&terminal, &mut figures);
    }
    terminal.waits_until(is_shown);
    figures.shown = begun.elapsed();
    figures.processor = process::processor(pid)?;
    (figures.bytes, figures.written) = stage.note()?;
    figures.kept = stage.transcript()?;
    sleep(SETTLE);
    let (before, drawn) = (process::processor(pid)?, terminal.bytes().len());
    sleep(IDLE);
    figures.idle = Idle {
        time: IDLE,
        processor: process::processor(pid)?.saturating_sub(before),
        bytes: terminal.bytes().len() - drawn,
    };
    figures.memory = process::peak_memory(pid)?;
    Ok(figures)
}

/// Whether the last words are in the pane, and in the line above it.
fn is_shown(screen: &str) -> bool {
    screen.matches(agent::LAST).count() == 2
}

/// Presses keys until the pane follows and has nothing more to show.
fn press_until_shown(terminal: &Terminal, figures: &mut Figures) {
    let mut turn = 0_u64;
    let mut second = Instant::now();
    let mut seen = terminal.bytes().len();
    while !is_shown(&terminal.screen()) {
        for (name, key, is_heeded) in PRESSES {
            let start = Instant::now();
            terminal.key(*key);
            terminal.waits_until(is_heeded);
            let times = figures.keys.entry(name).or_default();
            times.push(start.elapsed());
            // Never in step with the redraws.
            turn += 1;
            sleep(Duration::from_millis(20 + turn * 7 % 53));
        }
        if second.elapsed() >= Duration::from_secs(1) {
            let bytes = terminal.bytes();
            let redraws = count(&bytes[seen..], BEGIN_OF_UPDATE);
            let rate = f64::from(redraws) / second.elapsed().as_secs_f64();
            figures.most_redraws = figures.most_redraws.max(rate);
            seen = bytes.len();
            second = Instant::now();
        }
    }
}

fn count(bytes: &[u8], wanted: &[u8]) -> u32 {
    let found = bytes.windows(wanted.len()).filter(|some| *some == wanted);
    u32::try_from(found.count()).unwrap_or(u32::MAX)
}

/// A repository with an agent that floods, in a folder that is removed with it.
struct Stage {
    folder: TempDir,
}

impl Stage {
    fn make(flood: Flood) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("ralphtool-bench-")
            .tempdir()?;
        let stage = Self { folder };
        let this = std::env::current_exe()?;
        let settings = format!(
            "agent = \"flood\"\n[timeouts]\nidle = \"off\"\n[agents.flood]\noutput = \"{}\"\n\
             command = [{:?}, {:?}, {:?}, {:?}, {:?}]\n",
            flood.output(),
            this.display().to_string(),
            agent::WORD,
            flood.name(),
            flood.amount().to_string(),
            stage.root().display().to_string(),
        );
        let change = stage.repository().join("openspec/changes/flood");
        fs::create_dir_all(&change)?;
        fs::write(change.join("tasks.md"), TASKS)?;
        fs::write(stage.repository().join("ralphtool.toml"), settings)?;
        for line in ["init -q -b main", "add -A", "commit -q -m start"] {
            let status = stage.command("git").args(line.split(' ')).status()?;
            if !status.success() {
                return Err(format!("`git {line}` failed with {status}").into());
            }
        }
        Ok(stage)
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn repository(&self) -> PathBuf {
        self.root().join("repository")
    }

    /// A command in the repository that sees nothing of the user's.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.repository())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.root())
            .env("XDG_STATE_HOME", self.root().join("state"))
            .env("XDG_CONFIG_HOME", self.root().join("config"))
            .env("TMPDIR", self.root())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("RALPHTOOL_TRUST", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Bench");
            command.env(format!("GIT_{who}_EMAIL"), "bench@example.invalid");
        }
        command
    }

    /// How much the agent wrote, and how long it took.
    fn note(&self) -> Result<(u64, Duration)> {
        let note = fs::read_to_string(self.root().join(agent::NOTE))?;
        let (bytes, ms) = note.split_once(' ').ok_or("the agent's note is cut")?;
        Ok((bytes.parse()?, Duration::from_millis(ms.parse()?)))
    }

    /// How many bytes the transcript has.
    fn transcript(&self) -> Result<u64> {
        let mut folders = vec![self.root().join("state")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.ends_with("1.1/stdout") {
                    return Ok(fs::metadata(path)?.len());
                }
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path);
                }
            }
        }
        Err("there is no transcript".into())
    }
}
