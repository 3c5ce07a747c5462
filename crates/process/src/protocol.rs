//! What a program and its supervisor send each other: JSON lines through two pipes.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

use crate::sweep::{Patience, Swept};
use crate::{EnvChange, Exit};

/// From the program to the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    Start(Start),
    /// Sends a signal to the group of the process, if it has not ended.
    Signal(i32),
    /// Ends what the process left running.
    Sweep(Patience),
}

/// A process to start. Paths are `OsString`s, because serde refuses paths that are not UTF-8.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) cwd: OsString,
    pub(crate) env: Vec<EnvChange>,
    /// How many bytes of input follow the line of this request.
    pub(crate) stdin_length: usize,
    pub(crate) stdout: OsString,
    /// The same file as standard output if there is none.
    pub(crate) stderr: Option<OsString>,
}

/// From the supervisor to the program.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    Started {
        /// None if the program cannot be run; `Exited` with a shell's exit code for that follows.
        pid: Option<i32>,
    },
    NotStarted {
        reason: String,
    },
    Exited {
        exit: Exit,
        /// It may have left processes behind.
        has_leftovers: bool,
    },
    Swept(Swept),
}
