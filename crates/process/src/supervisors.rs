//! Starts processes below supervisors.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use ralph_base::os::own_program;
use rustix::process::Pid;
use tokio::time::timeout;

use crate::link::{IdleLinks, Link};
use crate::protocol::{Reply, Request, Start};
use crate::running::{Output, RunningProcess, Supervised};
use crate::{ATTEMPT_VARIABLE, EnvChange, ProcessError, ProcessSpec, Stderr};

/// How long a supervisor may take to start a process.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Starts processes, each below a supervisor of its own. A supervisor whose process has ended is
/// kept for the next one, so a program that runs one process at a time has one supervisor.
///
/// When this program ends, however it does, the supervisors end all their processes. This program
/// serves as the supervisor, so it must call [`dispatch`](crate::dispatch) before anything else.
#[derive(Debug, Clone, Default)]
pub struct Supervisors {
    /// This program if there is none.
    program: Option<PathBuf>,
    idle: IdleLinks,
}

impl Supervisors {
    /// Has another program than this one serve as the supervisor.
    pub fn with_program(program: impl Into<PathBuf>) -> Self {
        Self {
            program: Some(program.into()),
            idle: IdleLinks::default(),
        }
    }

    /// Starts a supervisor before it is needed, which makes the first process start sooner.
    pub fn prepare(&self) -> io::Result<()> {
        self.idle.keep(self.idle_or_new()?);
        Ok(())
    }

    /// Starts a process. Needs a tokio runtime with I/O and time enabled.
    pub async fn start(&self, spec: ProcessSpec) -> Result<RunningProcess, ProcessError> {
        let output = Output::open(&spec)?;
        let started = timeout(START_LIMIT, self.send_start(&spec)).await;
        match started.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok((link, leader)) => Ok(RunningProcess::new(
                Supervised {
                    idle: self.idle.clone(),
                    link,
                    leader,
                    marker: spec.marker,
                },
                output,
            )),
            Err(source) => Err(ProcessError::Start {
                program: spec.program,
                cwd: spec.cwd,
                source,
            }),
        }
    }

    async fn send_start(&self, spec: &ProcessSpec) -> io::Result<(Link, Option<Pid>)> {
        let mut link = self.idle_or_new()?;
        let mut env = spec.env.clone();
        env.push(EnvChange::set(ATTEMPT_VARIABLE, &spec.marker));
        let start = Request::Start(Start {
            program: spec.program.clone(),
            args: spec.args.clone(),
            cwd: spec.cwd.clone().into(),
            env,
            stdin_length: spec.stdin.len(),
            stdout: spec.stdout.clone().into(),
            stderr: match &spec.stderr {
                Stderr::WithStdout => None,
                Stderr::File(path) => Some(path.clone().into()),
            },
        });
        match link.ask(&start, &spec.stdin).await? {
            Reply::Started { pid } => Ok((link, pid.and_then(Pid::from_raw))),
            Reply::NotStarted { reason } => {
                self.idle.keep(link);
                Err(io::Error::other(reason))
            }
            Reply::Exited { .. } | Reply::Swept(_) => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Ends the idle supervisors, and returns when they are gone.
    pub async fn shutdown(&self) {
        while let Some(link) = self.idle.take() {
            link.close().await;
        }
    }

    fn idle_or_new(&self) -> io::Result<Link> {
        while let Some(mut link) = self.idle.take() {
            if link.is_alive() {
                return Ok(link);
            }
        }
        match &self.program {
            Some(program) => Link::open(program),
            None => Link::open(&own_program()?),
        }
    }
}
