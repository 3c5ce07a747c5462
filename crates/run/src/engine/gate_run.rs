//! One gate process with its own time limit, until nothing of it runs any more.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::step::StepError;
use super::{Happened, LEAK_GRACE, stop};
use crate::machine::{GateRequest, Ticket};
use crate::policy::in_words;
use crate::records::event::GateResult;
use ralph_process::{Ending, Exit, ProcessEvent, RunningProcess};

/// How long a gate that took too long may take to end.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// A gate that is over, with everything it started.
pub(super) struct GateEnd {
    pub(super) ticket: Ticket,
    pub(super) request: GateRequest,
    pub(super) result: Result<GateResult, StepError>,
    pub(super) duration: Duration,
}

/// A running gate.
pub(super) struct GateRunning {
    ticket: Ticket,
    request: GateRequest,
    process: RunningProcess,
    started: Instant,
    limit: Option<Duration>,
    timed_out: bool,
}

impl GateRunning {
    /// Takes charge of a gate that was just started.
    pub(super) fn new(
        ticket: Ticket,
        request: GateRequest,
        process: RunningProcess,
        limit: Option<Duration>,
    ) -> Self {
        Self {
            ticket,
            request,
            process,
            started: Instant::now(),
            limit,
            timed_out: false,
        }
    }

    /// Asks the gate to end.
    pub(super) fn stop(&mut self, grace: Duration) {
        stop(&mut self.process, grace);
    }

    /// Waits for the gate's end; what it prints is only kept on disk. Cancel-safe.
    pub(super) async fn next(&mut self) -> Happened {
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
                Some(ProcessEvent::Exited(_)) => return Happened::Ended,
                Some(ProcessEvent::Wrote) => {}
                None => {
                    self.timed_out = true;
                    self.process.request_stop(STOP_GRACE);
                }
            }
        }
    }

    /// Ends what the gate left running and says how it went.
    pub(super) async fn finish(self: Box<Self>) -> GateEnd {
        let this = *self;
        let duration = this.started.elapsed();
        let ending = this.process.finish(LEAK_GRACE).await;
        let result = match (&ending.swept.survivors[..], this.timed_out, this.limit) {
            ([], true, Some(limit)) => Ok(GateResult::Failed {
                how: format!("stopped after {}", in_words(limit)),
                tail: ending.stderr_tail,
                cannot_run: false,
            }),
            ([], ..) => Ok(result(&ending)),
            (survivors, ..) => Err(still_alive(survivors)),
        };
        GateEnd {
            ticket: this.ticket,
            request: this.request,
            result,
            duration,
        }
    }
}

/// The tree is not touched while something may write into it.
fn still_alive(survivors: &[String]) -> StepError {
    StepError::new(
        "processes of a gate are still alive and cannot be ended",
        survivors.join(", "),
        "no work was lost: end them (`kill -9 PID`), then run `ralphtool resume`",
    )
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
