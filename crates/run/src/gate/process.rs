//! One gate process with its own time limit, until nothing of it runs any more.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::shell;
use crate::agent::git_scrubbed;
use crate::policy::{Gate, in_words};
use crate::records::event::GateResult;
use ralph_process::{Ending, EnvChange, Exit, ProcessEvent, ProcessSpec, RunningProcess, Stderr};

/// How long a gate that took too long may take to end.
const STOP_GRACE: Duration = Duration::from_secs(5);
/// What a gate leaves running may end by itself for this long after it.
const LEAK_GRACE: Duration = Duration::from_millis(300);
/// How much of a line is held; a gate's lines are only looked at for signs of life.
const LINE_CAP: usize = 4 * 1024;

/// The process of a gate: the user's own shell line, run in the top folder of the work tree.
pub(crate) fn process_of(
    gate: &Gate,
    root: &Path,
    environment: &[(OsString, OsString)],
    log: PathBuf,
    marker: String,
) -> ProcessSpec {
    let env: Vec<EnvChange> = git_scrubbed().collect();
    ProcessSpec {
        program: shell(environment),
        args: vec!["-c".into(), gate.run.as_str().into()],
        cwd: root.to_owned(),
        env,
        stdin: Vec::new(),
        stdout: log,
        stderr: Stderr::WithStdout,
        line_cap: LINE_CAP,
        marker,
    }
}

/// A running gate.
pub(crate) struct GateProcess {
    process: RunningProcess,
    started: Instant,
    limit: Option<Duration>,
    timed_out: bool,
}

/// How a gate ended.
pub(crate) struct GateEnding {
    /// Its verdict, or its processes that are still alive and cannot be ended.
    pub(crate) result: Result<GateResult, Vec<String>>,
    /// It exited by itself: its output has an end.
    pub(crate) has_exited: bool,
    pub(crate) duration: Duration,
}

impl GateProcess {
    /// Takes charge of a gate that was just started.
    pub(crate) fn new(process: RunningProcess, limit: Option<Duration>) -> Self {
        Self {
            process,
            started: Instant::now(),
            limit,
            timed_out: false,
        }
    }

    pub(crate) const fn process(&mut self) -> &mut RunningProcess {
        &mut self.process
    }

    /// Waits for the gate's end; what it prints is only kept on disk. Cancel-safe.
    pub(crate) async fn ended(&mut self) {
        loop {
            let due = match self.limit {
                Some(limit) if !self.timed_out => Some(self.started + limit),
                _ => None,
            };
            let event = tokio::select! {
                // A gate that ended while the program was suspended did not take too long.
                biased;
                event = self.process.next(|_| ()) => Some(event),
                () = until(due) => None,
            };
            match event {
                Some(ProcessEvent::Exited(_)) => return,
                Some(ProcessEvent::Wrote) => {}
                None => {
                    self.timed_out = true;
                    self.process.request_stop(STOP_GRACE);
                }
            }
        }
    }

    /// Ends what the gate left running and says how it went.
    pub(crate) async fn finish(self) -> GateEnding {
        let duration = self.started.elapsed();
        let ending = self.process.finish(LEAK_GRACE).await;
        let result = match (&ending.swept.survivors[..], self.timed_out, self.limit) {
            ([], true, Some(limit)) => Ok(GateResult::Failed {
                how: format!("stopped after {}", in_words(limit)),
                tail: ending.stderr_tail,
                cannot_run: false,
            }),
            ([], ..) => Ok(result(&ending)),
            (survivors, ..) => Err(survivors.to_vec()),
        };
        let has_exited = !self.timed_out && matches!(ending.exit, Exit::Code(_));
        GateEnding {
            result,
            has_exited,
            duration,
        }
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// What a gate's end means.
fn result(ending: &Ending) -> GateResult {
    let how = match ending.exit {
        Exit::Code(0) => return GateResult::Passed,
        Exit::Code(126) => "exit code 126: not executable".to_owned(),
        Exit::Code(127) => "exit code 127: command not found".to_owned(),
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
        Exit::Unknown => "unknown end".to_owned(),
    };
    GateResult::Failed {
        how,
        tail: ending.stderr_tail.clone(),
        cannot_run: matches!(ending.exit, Exit::Code(126 | 127)),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use ralph_process::Swept;

    #[test]
    fn only_exit_code_0_passes() {
        let end = |exit| {
            result(&Ending {
                exit,
                swept: Swept::default(),
                stderr_tail: "last words".into(),
            })
        };
        let failed = |how: &str, cannot_run| GateResult::Failed {
            how: how.into(),
            tail: "last words".into(),
            cannot_run,
        };
        assert_eq!(end(Exit::Code(0)), GateResult::Passed);
        assert_eq!(end(Exit::Code(2)), failed("exit code 2", false));
        let missing = failed("exit code 127: command not found", true);
        assert_eq!(end(Exit::Code(127)), missing);
        assert_eq!(end(Exit::Signal(9)), failed("signal 9", false));
    }
}
