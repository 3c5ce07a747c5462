//! A process while it runs: what it writes, how it is stopped, how it is finished.

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::process::Child;
use tokio::time::{Instant, sleep_until};

use super::leftovers::ProcessIdentity;
use super::sweep::{Attempt, Leader, Patience};
use super::tail::{Tail, last_lines};
use super::{Ending, Exit, OutputLine, ProcessError, ProcessEvent, ProcessSpec, Stderr};

/// How soon a busy process is looked at again.
const POLL_SHORTEST: Duration = Duration::from_millis(5);
/// How soon a silent process is looked at again.
const POLL_LONGEST: Duration = Duration::from_millis(50);
/// How much of a line of standard error is told.
const COMPLAINT_CAP: usize = 16 * 1024;
/// How many lines of standard error are kept for reports.
const STDERR_LINES: usize = 60;

/// The files of a process that are followed.
#[derive(Debug)]
pub(super) struct Follow {
    stdout: Tail,
    stderr: Option<Tail>,
    report: PathBuf,
}

impl Follow {
    /// Follows the output files of a process to be started; they exist already.
    pub(super) fn open(spec: &ProcessSpec) -> Result<Self, ProcessError> {
        let failed = |path: &PathBuf| {
            let path = path.clone();
            move |source| ProcessError::Open { path, source }
        };
        let stdout = Tail::open(&spec.stdout, spec.line_cap).map_err(failed(&spec.stdout))?;
        let (stderr, report) = match &spec.stderr {
            Stderr::WithStdout => (None, spec.stdout.clone()),
            Stderr::File(path) => (
                Some(Tail::open(path, COMPLAINT_CAP).map_err(failed(path))?),
                path.clone(),
            ),
        };
        Ok(Self {
            stdout,
            stderr,
            report,
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
        let said = self.stdout.pull(|line| each(OutputLine::Stdout(line)));
        let complained = match &mut self.stderr {
            Some(stderr) => stderr.pull(|line| each(OutputLine::Stderr(line))),
            None => false,
        };
        said || complained
    }

    /// Tells last lines that have no end.
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
    /// It runs.
    Running,
    /// It ended; what it wrote is still being told.
    Draining(Exit),
    /// It ended and all is told.
    Ended(Exit),
}

/// When a process that was asked to stop is pressed harder.
#[derive(Debug, Clone, Copy)]
struct Stopping {
    next: Instant,
    signal: Signal,
    kill_at: Instant,
}

/// A running process; owned by the loop that selects on [`RunningProcess::next`].
#[derive(Debug)]
pub struct RunningProcess {
    child: Child,
    leader: Option<Pid>,
    attempt: Attempt,
    follow: Follow,
    poll: Duration,
    phase: Phase,
    stopping: Option<Stopping>,
    patience: Patience,
}

impl RunningProcess {
    /// Takes charge of a process that was just started.
    pub(super) fn new(child: Child, follow: Follow, spec: &ProcessSpec) -> Self {
        let leader = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        Self {
            attempt: Attempt::begin(leader, &spec.marker, spec.orphans),
            child,
            leader,
            follow,
            poll: POLL_SHORTEST,
            phase: Phase::Running,
            stopping: None,
            patience: Patience::USUAL,
        }
    }

    /// What identifies the process to a later run of this program; to be written down.
    pub fn identity(&self) -> Option<ProcessIdentity> {
        self.leader.and_then(ProcessIdentity::of)
    }

    /// The process, as the watchman is told of it.
    pub(super) fn leader(&self) -> Option<Leader> {
        self.attempt.leader()
    }

    /// Waits for the next thing the process does; lines it wrote are told to `each` just before
    /// that is said. Cancel-safe. After `Exited` it says so again.
    pub async fn next(&mut self, mut each: impl FnMut(OutputLine<'_>)) -> ProcessEvent {
        loop {
            // Lets others run even if the process never stops writing.
            tokio::task::consume_budget().await;
            // In this order: once it is seen to have ended, all it wrote is there to be pulled.
            self.look();
            if self.follow.pull(&mut each) {
                self.poll = POLL_SHORTEST;
                return ProcessEvent::Wrote;
            }
            match self.phase {
                Phase::Running => self.wait().await,
                Phase::Draining(exit) => {
                    self.phase = Phase::Ended(exit);
                    self.follow.finish(&mut each);
                    return ProcessEvent::Wrote;
                }
                Phase::Ended(exit) => return ProcessEvent::Exited(exit),
            }
        }
    }

    /// Looks after a running process; also while it, or what it left behind, writes faster than
    /// anybody can read.
    fn look(&mut self) {
        if !matches!(self.phase, Phase::Running) {
            return;
        }
        self.press(Instant::now());
        if let Ok(Some(status)) = self.child.try_wait() {
            self.drain(status.into());
        }
    }

    fn drain(&mut self, exit: Exit) {
        self.follow.stop_at_end();
        self.phase = Phase::Draining(exit);
    }

    /// Waits for the process's end or for the time of the next look.
    async fn wait(&mut self) {
        let look = Instant::now() + self.poll;
        let wake = self
            .stopping
            .map_or(look, |stopping| stopping.next.min(look));
        let ended = tokio::select! {
            status = self.child.wait() => Some(status.map_or(Exit::Unknown, Exit::from)),
            () = sleep_until(wake) => None,
        };
        match ended {
            Some(exit) => self.drain(exit),
            None => self.poll = (self.poll * 2).min(POLL_LONGEST),
        }
    }

    /// Asks the process to stop; after `grace` it is ended. `next` goes on telling what it
    /// writes and how it ends.
    pub fn request_stop(&mut self, grace: Duration) {
        let now = Instant::now();
        self.attempt.remember_family();
        // Some agents only clean up after an interrupt, others only after a termination.
        self.signal(Signal::INT);
        self.stopping = Some(Stopping {
            next: now + grace / 3,
            signal: Signal::TERM,
            kill_at: now + grace,
        });
        self.press(now);
    }

    /// Ends the process and all that belongs to it; only a moment is left to remove lock files.
    pub fn kill_now(&mut self) {
        self.attempt.remember_family();
        self.patience = Patience::SHORT;
        self.signal(Signal::TERM);
        let kill_at = Instant::now() + Patience::SHORT.terminate;
        self.stopping = Some(Stopping {
            next: kill_at,
            signal: Signal::KILL,
            kill_at,
        });
    }

    fn press(&mut self, now: Instant) {
        let Some(stopping) = self.stopping.filter(|stopping| stopping.next <= now) else {
            return;
        };
        let last = stopping.kill_at <= now;
        let signal = if last { Signal::KILL } else { stopping.signal };
        self.signal(signal);
        self.stopping = Some(Stopping {
            next: if last {
                now + POLL_LONGEST
            } else {
                stopping.kill_at
            },
            ..stopping
        });
    }

    /// Signals the process's group, as long as the process has not been waited for.
    fn signal(&self, signal: Signal) {
        let (Some(leader), Some(_)) = (self.leader, self.child.id()) else {
            return;
        };
        // Before the guard has made its group there is only the process itself.
        if rustix::process::kill_process_group(leader, signal).is_err() {
            let _ = rustix::process::kill_process(leader, signal);
        }
    }

    /// Stops the process and finishes it; what it still writes is only kept on disk.
    #[cfg(test)]
    pub async fn stop(mut self, grace: Duration) -> Ending {
        self.request_stop(grace);
        self.finish(Duration::ZERO).await
    }

    /// Waits for the process's end, then for `leak_grace` for what it left running, ends that,
    /// and returns when nothing of it is alive. Takes a few seconds at the most once the process
    /// itself has ended; not to be cancelled.
    pub async fn finish(mut self, leak_grace: Duration) -> Ending {
        let exit = loop {
            if let ProcessEvent::Exited(exit) = self.next(|_| ()).await {
                break exit;
            }
        };
        let leave = match self.stopping {
            Some(_) => Duration::ZERO,
            None => leak_grace,
        };
        let swept = self
            .attempt
            .sweep(Patience {
                leave,
                ..self.patience
            })
            .await;
        Ending {
            exit,
            swept,
            stderr_tail: last_lines(&self.follow.report, STDERR_LINES),
        }
    }
}

impl Drop for RunningProcess {
    /// A process that is given up must not go on in the background.
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
