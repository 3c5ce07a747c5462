//! The watchman: a small process beside a run that outlives this program by a moment.
//!
//! A process that an agent starts in a session of its own does not die with this program, however
//! that dies. So the watchman is told, through a pipe, which attempt or gate is alive. When the pipe
//! closes without a goodbye, it ends all that belongs to that one, and then itself. It has a session
//! of its own, holds no file but the pipe, and is no process of any attempt.
//!
//! Nearly all of an attempt's processes are found by their mark even when their parents are dead. For
//! those that lost it with their environment, the watchman looks around once a second.

pub mod duty;

use std::io::{self, PipeWriter, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use tokio::process::Child;
use tokio::time::timeout;

use super::sweep::{Leader, Spared};
use super::{ATTEMPT_VARIABLE, RUN_VARIABLE, RunningProcess};

/// The hidden word that asks for the watchman.
const WORD: &str = "__watchman";
/// How long the watchman may take to leave.
const LEAVING: Duration = Duration::from_secs(2);

/// What the watchman is told, a line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Told {
    /// An attempt or gate with this marker is about to start.
    Begins(String),
    /// Its first process runs.
    Runs(Leader),
    /// Nothing of it is alive any more.
    Over,
    /// This program ends as it should.
    Goodbye,
}

/// The watchman of one run, as this program sees it.
#[derive(Debug)]
pub struct Watchman {
    child: Child,
    pipe: PipeWriter,
    // Not an orphan of an agent's, although it looks like one.
    _spared: Spared,
}

impl Watchman {
    /// Starts a watchman; `program` is this program.
    pub fn start(program: &Path) -> io::Result<Self> {
        let (ear, pipe) = io::pipe()?;
        // A watchman that is held up must not hold up the run.
        rustix::io::ioctl_fionbio(&pipe, true)?;
        let child = tokio::process::Command::new(program)
            .args([WORD, &std::process::id().to_string()])
            .current_dir("/")
            // Where this program is itself run by an agent, the marks are those of that agent.
            .env_remove(ATTEMPT_VARIABLE)
            .env_remove(RUN_VARIABLE)
            .stdin(ear)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok());
        Ok(Self {
            _spared: Spared::new(pid.and_then(Pid::from_raw)),
            child,
            pipe,
        })
    }

    /// Says that a process with this marker is about to be started.
    pub fn begins(&mut self, marker: &str) -> io::Result<()> {
        self.tell(&Told::Begins(marker.to_owned()))
    }

    /// Says which process that is.
    pub fn runs(&mut self, process: &RunningProcess) -> io::Result<()> {
        match process.leader() {
            Some(leader) => self.tell(&Told::Runs(leader)),
            None => Ok(()),
        }
    }

    /// Says that nothing of the process is alive any more.
    pub fn over(&mut self) -> io::Result<()> {
        self.tell(&Told::Over)
    }

    /// Sends the watchman home, and returns when it is gone.
    pub async fn goodbye(mut self) {
        // One that does not hear it sees the pipe close, and finds nothing alive.
        let _ = self.tell(&Told::Goodbye);
        drop(self.pipe);
        if timeout(LEAVING, self.child.wait()).await.is_err() {
            let _ = self.child.kill().await;
        }
    }

    /// Ends a watchman that does not listen: it knows no more what is alive, and would take the
    /// closed pipe for the end of this program.
    pub fn dismiss(mut self) {
        // Before the pipe closes.
        let _ = self.child.start_kill();
    }

    fn tell(&mut self, told: &Told) -> io::Result<()> {
        let mut line = serde_json::to_vec(told)?;
        line.push(b'\n');
        // In one piece: a pipe takes a short line as a whole or not at all.
        self.pipe.write_all(&line)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::table::Entry;

    #[tokio::test]
    async fn one_that_does_not_listen_is_ended() {
        // It lives, and never reads.
        let mut watchman = Watchman::start(Path::new("yes")).unwrap();
        let pid = i32::try_from(watchman.child.id().unwrap()).unwrap();
        while watchman.begins("run/1.1").is_ok() {}
        watchman.dismiss();
        let is_gone = async {
            while Entry::read(pid).is_some_and(|entry| !entry.is_dead) {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(30), is_gone).await.unwrap();
    }
}
