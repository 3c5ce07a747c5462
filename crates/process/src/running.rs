//! A process while it runs: what it writes, how it is stopped, how it is finished.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::time::{Instant, sleep_until, timeout};

use crate::leftovers::ProcessIdentity;
use crate::link::{IdleLinks, Link};
use crate::protocol::{Reply, Request};
use crate::spawn::open_output;
use crate::sweep::{self, Patience, Swept};
use crate::tail::{Tail, last_lines};
use crate::{Ending, Exit, OutputLine, ProcessError, ProcessEvent, ProcessSpec, Stderr};

/// How soon the output of a busy process is read again.
const POLL_SHORTEST: Duration = Duration::from_millis(5);
/// How soon the output of a silent process is read again.
const POLL_LONGEST: Duration = Duration::from_millis(50);
/// How much of a line of standard error is reported.
const STDERR_LINE_CAP: usize = 16 * 1024;
/// How many lines of standard error are kept for reports.
const STDERR_LINES: usize = 60;
/// How long a supervisor may take for what it is asked, beyond what that takes.
const SUPERVISOR_DELAY: Duration = Duration::from_secs(5);

/// The output files of a process, which are followed.
#[derive(Debug)]
pub(crate) struct Output {
    stdout: Tail,
    stderr: Option<Tail>,
    /// The file whose last lines are reported.
    report: PathBuf,
}

impl Output {
    /// Creates the output files of a process to be started, and follows them.
    pub(crate) fn open(spec: &ProcessSpec) -> Result<Self, ProcessError> {
        let follow = |path: &Path, line_cap: usize| {
            open_output(path)
                .and_then(|_| Tail::open(path, line_cap))
                .map_err(|source| ProcessError::Open {
                    path: path.to_owned(),
                    source,
                })
        };
        let stdout = follow(&spec.stdout, spec.line_cap)?;
        Ok(match &spec.stderr {
            Stderr::WithStdout => Self {
                stdout,
                stderr: None,
                report: spec.stdout.clone(),
            },
            Stderr::File(path) => Self {
                stdout,
                stderr: Some(follow(path, STDERR_LINE_CAP)?),
                report: path.clone(),
            },
        })
    }

    /// Reads no further than the present end of the files.
    fn stop_at_end(&mut self) {
        self.stdout.stop_at_end();
        if let Some(stderr) = &mut self.stderr {
            stderr.stop_at_end();
        }
    }

    /// Reads a piece of each file; true if there was something new.
    fn pull(&mut self, each: &mut impl FnMut(OutputLine<'_>)) -> bool {
        let has_stdout = self.stdout.pull(|line| each(OutputLine::Stdout(line)));
        let has_stderr = match &mut self.stderr {
            Some(stderr) => stderr.pull(|line| each(OutputLine::Stderr(line))),
            None => false,
        };
        has_stdout || has_stderr
    }

    /// Reports last lines that have no end.
    fn finish(&mut self, each: &mut impl FnMut(OutputLine<'_>)) {
        self.stdout.finish(|line| each(OutputLine::Stdout(line)));
        if let Some(stderr) = &mut self.stderr {
            stderr.finish(|line| each(OutputLine::Stderr(line)));
        }
    }
}

/// How far a process has got.
#[derive(Debug, Clone, Copy)]
enum Phase {
    Running,
    /// It ended; what it wrote is still being read.
    Draining(Exit),
    /// It ended and all it wrote was reported.
    Ended(Exit),
}

/// When a process that was asked to stop gets the next signal.
#[derive(Debug, Clone, Copy)]
struct Stopping {
    next: Instant,
    signal: Signal,
    kill_at: Instant,
}

/// A process, its supervisor, and where to keep the supervisor once the process is finished.
#[derive(Debug)]
pub(crate) struct Supervised {
    pub(crate) idle: IdleLinks,
    pub(crate) link: Link,
    pub(crate) leader: Option<Pid>,
    pub(crate) marker: String,
}

/// A running process; owned by the loop that selects on [`RunningProcess::next`]. Dropping it
/// kills the process.
#[derive(Debug)]
pub struct RunningProcess {
    process: Supervised,
    output: Output,
    poll: Duration,
    phase: Phase,
    has_leftovers: bool,
    stopping: Option<Stopping>,
    patience: Patience,
}

impl RunningProcess {
    pub(crate) fn new(process: Supervised, output: Output) -> Self {
        Self {
            process,
            output,
            poll: POLL_SHORTEST,
            phase: Phase::Running,
            has_leftovers: true,
            stopping: None,
            patience: Patience::USUAL,
        }
    }

    /// What identifies the supervisor of the process to a later run of this program; to be written
    /// down for [`end_leftovers`](crate::leftovers::end_leftovers).
    pub fn identity(&self) -> Option<ProcessIdentity> {
        self.process.link.pid().and_then(ProcessIdentity::of)
    }

    /// Waits for the next thing the process does; `each` gets the lines it wrote just before that
    /// is returned. Cancel-safe. After `Exited` it returns that again.
    pub async fn next(&mut self, mut each: impl FnMut(OutputLine<'_>)) -> ProcessEvent {
        loop {
            // Lets others run even if the process never stops writing.
            tokio::task::consume_budget().await;
            // In this order: once its end is known, all it wrote can be read.
            self.check().await;
            if self.output.pull(&mut each) {
                self.poll = POLL_SHORTEST;
                return ProcessEvent::Wrote;
            }
            match self.phase {
                Phase::Running => self.wait().await,
                Phase::Draining(exit) => {
                    self.phase = Phase::Ended(exit);
                    self.output.finish(&mut each);
                    return ProcessEvent::Wrote;
                }
                Phase::Ended(exit) => return ProcessEvent::Exited(exit),
            }
        }
    }

    /// Sends due signals and sees the end of the process, also while it, or what it left behind,
    /// writes faster than it can be read.
    async fn check(&mut self) {
        if !matches!(self.phase, Phase::Running) {
            return;
        }
        self.send_due_signal(Instant::now());
        if let Some(reply) = self.process.link.try_reply() {
            self.exited(reply).await;
        }
    }

    /// Waits for the process's end, or for the time to read its output or to signal it again.
    async fn wait(&mut self) {
        let read_again = Instant::now() + self.poll;
        let wake = self
            .stopping
            .map_or(read_again, |stopping| stopping.next.min(read_again));
        let reply = tokio::select! {
            reply = self.process.link.reply() => Some(reply),
            () = sleep_until(wake) => None,
        };
        match reply {
            Some(reply) => self.exited(reply).await,
            None => self.poll = (self.poll * 2).min(POLL_LONGEST),
        }
    }

    async fn exited(&mut self, reply: io::Result<Reply>) {
        let exit = match reply {
            Ok(Reply::Exited {
                exit,
                has_leftovers,
            }) => {
                self.has_leftovers = has_leftovers;
                exit
            }
            // The supervisor was killed.
            _ => self.process.link.exit().await,
        };
        self.output.stop_at_end();
        self.phase = Phase::Draining(exit);
    }

    /// Asks the process to stop; after `grace` it is killed. `next` still reports what it
    /// writes and how it ends.
    pub fn request_stop(&mut self, grace: Duration) {
        let now = Instant::now();
        // Some agents only clean up after an interrupt, others only after a termination.
        self.process.link.signal(Signal::INT);
        self.stopping = Some(Stopping {
            next: now + grace / 3,
            signal: Signal::TERM,
            kill_at: now + grace,
        });
        self.send_due_signal(now);
    }

    /// Kills the process and all that belongs to it; it has only a moment to remove lock files.
    pub fn kill_now(&mut self) {
        self.patience = Patience::SHORT;
        self.process.link.signal(Signal::TERM);
        let kill_at = Instant::now() + Patience::SHORT.terminate;
        self.stopping = Some(Stopping {
            next: kill_at,
            signal: Signal::KILL,
            kill_at,
        });
    }

    fn send_due_signal(&mut self, now: Instant) {
        let Some(stopping) = self.stopping.filter(|stopping| stopping.next <= now) else {
            return;
        };
        let is_last = stopping.kill_at <= now;
        if stopping.kill_at + SUPERVISOR_DELAY <= now {
            self.process.link.kill();
        } else if is_last {
            self.process.link.signal(Signal::KILL);
        } else {
            self.process.link.signal(stopping.signal);
        }
        self.stopping = Some(Stopping {
            next: if is_last {
                now + POLL_LONGEST
            } else {
                stopping.kill_at
            },
            ..stopping
        });
    }

    /// Stops the process and finishes it; what it still writes is only kept on disk.
    #[cfg(test)]
    pub async fn stop(mut self, grace: Duration) -> Ending {
        self.request_stop(grace);
        self.finish(Duration::ZERO).await
    }

    /// Waits for the process's end, then for `leak_grace` for what it left running, ends that,
    /// and returns when nothing of it is alive. Takes at most a few seconds once the process
    /// itself has ended; not to be cancelled.
    pub async fn finish(mut self, leak_grace: Duration) -> Ending {
        let exit = loop {
            if let ProcessEvent::Exited(exit) = self.next(|_| ()).await {
                break exit;
            }
        };
        // The signal that stopped the process reached its whole group, which may still be ending.
        let leave = match self.stopping {
            Some(_) => self.patience.terminate,
            None => leak_grace,
        };
        let stderr = self.output.report;
        let swept = if self.has_leftovers {
            let patience = Patience {
                leave,
                ..self.patience
            };
            self.process.sweep(patience).await
        } else {
            self.process.idle.keep(self.process.link);
            Swept::default()
        };
        Ending {
            exit,
            swept,
            stderr_tail: last_lines(&stderr, STDERR_LINES),
        }
    }
}

impl Supervised {
    /// Ends what the process left running.
    async fn sweep(mut self, patience: Patience) -> Swept {
        let request = Request::Sweep(patience);
        let reply = self.link.ask(&request, &[]);
        if let Ok(Ok(Reply::Swept(swept))) =
            timeout(patience.total() + SUPERVISOR_DELAY, reply).await
        {
            if swept.survivors.is_empty() {
                self.idle.keep(self.link);
            }
            return swept;
        }
        self.link.kill();
        sweep::end_marked(self.leader, &self.marker, patience).await
    }
}
