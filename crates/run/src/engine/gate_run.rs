//! A gate that the machine asked for, while it runs.

use std::time::Duration;

use super::step::StepError;
use super::{Happened, stop};
use crate::gate::process::GateProcess;
use crate::machine::{GateRequest, Ticket};
use crate::records::event::GateResult;

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
    process: GateProcess,
}

impl GateRunning {
    pub(super) const fn new(ticket: Ticket, request: GateRequest, process: GateProcess) -> Self {
        Self {
            ticket,
            request,
            process,
        }
    }

    /// Asks the gate to end.
    pub(super) fn stop(&mut self, grace: Duration) {
        stop(self.process.process(), grace);
    }

    /// Waits for the gate's end. Cancel-safe.
    pub(super) async fn next(&mut self) -> Happened {
        self.process.ended().await;
        Happened::Ended
    }

    /// Ends what the gate left running and says how it went.
    pub(super) async fn finish(self: Box<Self>) -> GateEnd {
        let this = *self;
        let ending = this.process.finish().await;
        GateEnd {
            ticket: this.ticket,
            request: this.request,
            result: ending.result.map_err(|survivors| still_alive(&survivors)),
            duration: ending.duration,
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
