//! Signals: some ask the run to stop (the first asks, the second presses), one says that the
//! program was suspended and goes on.

use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::machine::{Input, StoppedBy};
use crate::records::event::Request;

/// Listens for SIGINT, SIGTERM, SIGHUP and SIGCONT.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    go_on: Signal,
    asked: bool,
}

/// What a signal means.
#[derive(Debug, PartialEq)]
pub(super) enum Signalled {
    /// The run is to stop.
    Stop(Input),
    /// The program was suspended and goes on.
    Continued,
}

impl Signals {
    /// Takes the signals over.
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            go_on: signal(SignalKind::from_raw(Number::CONT.as_raw()))?,
            asked: false,
        })
    }

    /// Waits for the next one. Cancel-safe.
    pub(super) async fn next(&mut self) -> Signalled {
        let by = tokio::select! {
            _ = self.interrupt.recv() => StoppedBy::Interrupt,
            _ = self.terminate.recv() => StoppedBy::Terminate,
            _ = self.hang_up.recv() => StoppedBy::HangUp,
            _ = self.go_on.recv() => return Signalled::Continued,
        };
        let request = if self.asked {
            Request::StopNow
        } else {
            Request::Stop
        };
        self.asked = true;
        Signalled::Stop(Input::Stop { request, by })
    }
}
