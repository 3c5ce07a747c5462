//! Supervised processes: start, follow, stop and sweep them, with all they start.
//!
//! A build tool, a test runner or a coding agent starts processes that start others, in the
//! background and in sessions of their own. This crate runs one such command so that
//!
//! - when it is finished, nothing that came of it is alive;
//! - when your program is killed, nothing that came of it stays alive;
//! - nothing of its output is lost, and a slow reader never blocks it.
//!
//! ```text
//!                requests
//!  your program ─────────▶ supervisor ────────▶ the command ──▶ what it starts
//!       ▲       ◀─────────     ▲                     │                │
//!       │        replies       └─ adopts its orphans ┼────────────────┘
//!       └────────────── follows its output files ────┘
//! ```
//!
//! - The **supervisor** is your program again, with a hidden argument. It starts the command,
//!   adopts and reaps what the command orphans (Linux), and ends what is left of it. When your
//!   program dies, the pipe of requests closes, and the supervisor ends all its descendants. One
//!   supervisor serves one command after another; see [`Supervisors`].
//! - The **command** leads a session of its own. On Linux the kernel kills it with the supervisor.
//! - A [`RunningProcess`] follows the files the command writes its output to, and reports it line
//!   by line. It stops the command politely ([`RunningProcess::request_stop`]) or not
//!   ([`RunningProcess::kill_now`]), and [`RunningProcess::finish`] ends what is left.
//! - If your program and the supervisor are both killed, the kernel kills the command. What the
//!   command had started is ended at the next start of your program: [`leftovers`] finds it by a
//!   variable in its environment, or as a descendant of a supervisor that was written down.
//!
//! Without Linux only the process group of the command is known: what begins a session of its own
//! is not found.
//!
//! ```no_run
//! use ralph_process::{OutputLine, ProcessEvent, ProcessSpec, Stderr, Supervisors};
//!
//! fn main() -> std::process::ExitCode {
//!     let args: Vec<_> = std::env::args_os().collect();
//!     // This program also serves as the supervisor.
//!     if let Some(code) = ralph_process::dispatch(&args) {
//!         return code;
//!     }
//!     // ... start a tokio runtime and call `build`
//! #   std::process::ExitCode::SUCCESS
//! }
//!
//! async fn build() -> Result<(), Box<dyn std::error::Error>> {
//!     let supervisors = Supervisors::default();
//!     let mut process = supervisors
//!         .start(ProcessSpec {
//!             program: "make".into(),
//!             args: vec!["test".into()],
//!             cwd: "/src/project".into(),
//!             env: Vec::new(),
//!             stdin: Vec::new(),
//!             stdout: "/tmp/make.log".into(),
//!             stderr: Stderr::WithStdout,
//!             line_cap: 64 * 1024,
//!             marker: "build 1".into(),
//!         })
//!         .await?;
//!     let print = |line: OutputLine<'_>| {
//!         if let OutputLine::Stdout(line) = line {
//!             println!("{}", String::from_utf8_lossy(line.bytes));
//!         }
//!     };
//!     while process.next(print).await == ProcessEvent::Wrote {}
//!     let ending = process.finish(std::time::Duration::from_millis(300)).await;
//!     println!("{:?}, killed: {:?}", ending.exit, ending.swept.ended);
//!     supervisors.shutdown().await;
//!     Ok(())
//! }
//! ```

pub mod leftovers;
pub mod lines;
mod link;
mod protocol;
mod running;
mod server;
mod spawn;
mod supervisors;
mod sweep;
#[cfg(target_os = "linux")]
mod table;
mod tail;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

pub use lines::Line;
pub use running::RunningProcess;
pub use supervisors::Supervisors;
pub use sweep::Swept;
pub use tail::last_lines;

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
    /// How much of a line is held in memory.
    pub line_cap: usize,
    /// Marks every process that comes of this one; unique.
    pub marker: String,
}

/// Variables with their values.
pub type Environment = BTreeMap<OsString, OsString>;

/// A change to an inherited environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum EnvChange {
    /// Sets a variable.
    Set(OsString, OsString),
    /// Removes a variable.
    Remove(OsString),
}

impl EnvChange {
    /// Sets a variable.
    pub fn set(name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        Self::Set(name.into(), value.into())
    }

    /// Removes a variable.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// The system does not say.
    Unknown,
}

/// Something a running process did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEvent {
    /// It wrote something; the lines that ended with it were reported.
    Wrote,
    /// It ended, and all it wrote was reported; `finish` must follow.
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

/// How a finished process ended.
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
    Open { path: PathBuf, source: io::Error },
    /// The system refused to start it.
    #[error("could not start `{}` in `{}`", program.display(), cwd.display())]
    Start {
        program: OsString,
        cwd: PathBuf,
        source: io::Error,
    },
}

/// Acts as the supervisor if the arguments, the program's name first, ask for that.
/// To be called before anything else, and without a tokio runtime.
pub fn dispatch(args: &[OsString]) -> Option<ExitCode> {
    (args.get(1)? == server::WORD).then(server::run)
}

#[cfg(test)]
mod tests;
