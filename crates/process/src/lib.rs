//! Supervised processes: agents and gates.
//!
//! A process is started through a guard (own session; dies with this program) and below a
//! supervisor that adopts its orphans (Linux), reads its
//! input from a file and writes its output to files, which are followed from there: nothing
//! is lost in a pipe, nothing blocks on a pipe somebody still holds, everything stays on disk.
//! Once a process is finished, nothing of it is alive any more.

pub mod guard;
pub mod leftovers;
mod lines;
mod running;
#[cfg(target_os = "linux")]
mod supervisor;
mod sweep;
#[cfg(target_os = "linux")]
mod table;
mod tail;
pub mod watchman;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

pub use running::RunningProcess;
pub use sweep::{Orphans, Swept};

/// The variable that marks every process of one attempt or gate.
pub const ATTEMPT_VARIABLE: &str = "RALPHTOOL_ATTEMPT";
/// The variable that marks every process of a run.
pub const RUN_VARIABLE: &str = "RALPHTOOL_RUN";

/// What to start, and how.
#[derive(Debug, Clone)]
pub struct ProcessSpec {
    /// The program, looked up in `PATH` if it is a bare name.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// The folder it starts in.
    pub cwd: PathBuf,
    /// Changes to the inherited environment, in order.
    pub env: Vec<EnvChange>,
    /// What it reads from standard input.
    pub stdin: Vec<u8>,
    /// The file its standard output is added to.
    pub stdout: PathBuf,
    /// Where its standard error goes.
    pub stderr: Stderr,
    /// How long a line may get in memory.
    pub line_cap: usize,
    /// Marks every process that comes of this one; unique.
    pub marker: String,
    /// Whose orphans are swept at the end.
    pub orphans: Orphans,
    /// This program, which serves as the guard.
    pub guard: PathBuf,
}

/// Variables with their values.
pub type Environment = BTreeMap<OsString, OsString>;

/// A change to an inherited environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvChange {
    /// Sets a variable.
    Set(OsString, OsString),
    /// Takes a variable away.
    Remove(OsString),
}

impl EnvChange {
    /// Sets a variable.
    pub fn set(name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        Self::Set(name.into(), value.into())
    }

    /// Takes a variable away.
    pub fn remove(name: impl Into<OsString>) -> Self {
        Self::Remove(name.into())
    }

    /// An environment after all changes.
    pub fn applied(changes: &[Self], inherited: &[(OsString, OsString)]) -> Environment {
        let mut environment = Environment::new();
        environment.extend(inherited.iter().cloned());
        for change in changes {
            match change {
                Self::Set(name, value) => environment.insert(name.clone(), value.clone()),
                Self::Remove(name) => environment.remove(name),
            };
        }
        environment
    }
}

/// Where standard error goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stderr {
    /// Into the same file as standard output.
    WithStdout,
    /// Added to a file of its own.
    File(PathBuf),
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Nobody knows.
    Unknown,
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Unknown,
        }
    }
}

/// Something a running process did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEvent {
    /// It wrote something; the lines that ended with it were told.
    Wrote,
    /// It ended, and all it wrote was told; `finish` must follow.
    Exited(Exit),
}

/// What a process wrote: a line of one of its streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputLine<'a> {
    /// To standard output.
    Stdout(Line<'a>),
    /// To standard error, if that goes to a file of its own.
    Stderr(Line<'a>),
}

/// A line of output, without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// The line, up to the cap.
    pub bytes: &'a [u8],
    /// The line was longer; the rest is only on disk.
    pub truncated: bool,
}

impl<'a> Line<'a> {
    fn new(bytes: &'a [u8], truncated: bool) -> Self {
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        Self { bytes, truncated }
    }
}

/// What remains to be said of a finished process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// How it ended.
    pub exit: Exit,
    /// What it had left running.
    pub swept: Swept,
    /// The last lines of its standard error (or of both, where they go into one file).
    pub stderr_tail: String,
}

/// Why a process could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// A file for its input or output could not be opened.
    #[error("could not open `{}`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Its input could not be prepared.
    #[error("could not prepare the input of `{}`", program.display())]
    Input {
        /// The program.
        program: OsString,
        /// Why.
        source: io::Error,
    },
    /// The system refused to start it.
    #[error("could not start `{}` in `{}`", program.display(), cwd.display())]
    Start {
        /// The program.
        program: OsString,
        /// Where.
        cwd: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl ProcessSpec {
    /// Starts the process; must be called on the thread that lives as long as the program,
    /// because the process dies with the thread that started it.
    pub fn start(self) -> Result<RunningProcess, ProcessError> {
        let input = input_file(&self.stdin).map_err(|source| ProcessError::Input {
            program: self.program.clone(),
            source,
        })?;
        let stdout = append(&self.stdout)?;
        let stderr = match &self.stderr {
            Stderr::WithStdout => stdout.try_clone().map_err(|source| ProcessError::Open {
                path: self.stdout.clone(),
                source,
            })?,
            Stderr::File(path) => append(path)?,
        };
        let follow = running::Follow::open(&self)?;
        let child = self
            .command()
            .stdin(input)
            .stdout(stdout)
            .stderr(stderr)
            .spawn()
            .map_err(|source| ProcessError::Start {
                program: self.program.clone(),
                cwd: self.cwd.clone(),
                source,
            })?;
        Ok(RunningProcess::new(child, follow, &self))
    }

    fn command(&self) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(&self.guard);
        command
            .args(guard::arguments(&self.program))
            .args(&self.args)
            .current_dir(&self.cwd)
            .kill_on_drop(true);
        for change in &self.env {
            match change {
                EnvChange::Set(name, value) => command.env(name, value),
                EnvChange::Remove(name) => command.env_remove(name),
            };
        }
        command.env(ATTEMPT_VARIABLE, &self.marker);
        command
    }
}

/// Input comes from an unnamed file: no writer is needed and an early end hurts nobody.
fn input_file(input: &[u8]) -> io::Result<Stdio> {
    if input.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file = tempfile::tempfile()?;
    file.write_all(input)?;
    file.rewind()?;
    Ok(file.into())
}

fn append(path: &Path) -> Result<File, ProcessError> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .map_err(|source| ProcessError::Open {
            path: path.to_owned(),
            source,
        })
}

#[cfg(test)]
mod tests;
