//! A gate that the machine asked for, while it runs.

use std::path::PathBuf;
use std::time::Duration;

use super::step::StepError;
use super::{Happened, stop};
use crate::gate::process::GateProcess;
use crate::machine::{GateRequest, Ticket};
use crate::records::event::GateResult;
use crate::test_report::TestReport;
use crate::test_report::report_files::ReportFiles;

/// A gate that is over, with everything it started.
pub(super) struct GateEnd {
    pub(super) ticket: Ticket,
    pub(super) request: GateRequest,
    pub(super) result: Result<GateResult, StepError>,
    /// What its output says of its tests, where it is red.
    pub(super) tests: Option<TestReport>,
    /// It is red and has not written its test report.
    pub(super) lacks_report: bool,
    pub(super) duration: Duration,
}

/// A running gate.
pub(super) struct GateRunning {
    ticket: Ticket,
    request: GateRequest,
    process: GateProcess,
    output: GateOutput,
}

/// Where a gate says what came of its tests.
pub(super) struct GateOutput {
    pub(super) log: PathBuf,
    /// The files of its test report as they were before it ran, where it writes one.
    pub(super) reports: Option<ReportFiles>,
}

impl GateRunning {
    pub(super) const fn new(
        ticket: Ticket,
        request: GateRequest,
        process: GateProcess,
        output: GateOutput,
    ) -> Self {
        Self {
            ticket,
            request,
            process,
            output,
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
        // Before what it changed in the tree is undone: its report may be there.
        let is_red = ending.result.as_ref().is_ok_and(GateResult::is_red);
        let has_end = is_red && ending.has_exited;
        let GateOutput { log, reports } = this.output;
        let is_written = reports.as_ref().is_none_or(ReportFiles::is_written);
        GateEnd {
            ticket: this.ticket,
            request: this.request,
            lacks_report: has_end && !is_written,
            tests: has_end
                .then(|| TestReport::of_gate(&log, reports))
                .flatten(),
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
