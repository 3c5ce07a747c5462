//! One gate process with its own time limit, until nothing of it runs any more.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::Happened;
use super::gating::Judging;
use crate::gates::gate;
use crate::machine::{Input, Ticket};
use crate::policy::in_words;
use crate::records::event::GateResult;
use ralph_process::{ProcessEvent, RunningProcess};

/// How long a gate that took too long may take to end.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// What a gate leaves running may end by itself for this long after it.
const LEAK_GRACE: Duration = Duration::from_millis(300);

/// A running gate.
pub(super) struct GateRunning {
    ticket: Ticket,
    judging: Judging,
    process: RunningProcess,
    started: Instant,
    limit: Option<Duration>,
    timed_out: bool,
}

impl GateRunning {
    /// Takes charge of a gate that was just started.
    pub(super) fn new(
        (ticket, judging): (Ticket, Judging),
        process: RunningProcess,
        limit: Option<Duration>,
    ) -> Self {
        Self {
            ticket,
            judging,
            process,
            started: Instant::now(),
            limit,
            timed_out: false,
        }
    }

    /// Asks the gate to end.
    pub(super) fn stop(&mut self, grace: Duration) {
        if grace.is_zero() {
            self.process.kill_now();
        } else {
            self.process.request_stop(grace);
        }
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
    pub(super) async fn finish(self: Box<Self>) -> ((Ticket, Judging), Input) {
        let this = *self;
        let duration = this.started.elapsed();
        let ending = this.process.finish(LEAK_GRACE).await;
        if !ending.swept.survivors.is_empty() {
            let failed = still_alive(this.ticket, &ending.swept.survivors);
            return ((this.ticket, this.judging), failed);
        }
        let mut result = gate::result(&ending);
        if let (true, Some(limit)) = (this.timed_out, this.limit) {
            result = GateResult::Failed {
                how: format!("stopped after {}", in_words(limit)),
                tail: ending.stderr_tail,
            };
        }
        let ended = Input::GateEnded {
            ticket: this.ticket,
            result,
            duration,
        };
        ((this.ticket, this.judging), ended)
    }
}

/// The tree is not touched while something may write into it.
fn still_alive(ticket: Ticket, left: &[String]) -> Input {
    Input::StepFailed {
        ticket,
        what: "processes of a gate are still alive and cannot be ended".to_owned(),
        reason: left.join(", "),
        hint: "no work was lost: end them (`kill -9 PID`), then run `ralphtool resume`".to_owned(),
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
