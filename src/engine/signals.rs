//! Signals that ask the run to stop: the first asks, the second presses.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::domain::event::Request;
use crate::domain::machine::{Input, StoppedBy};

/// Listens for SIGINT, SIGTERM and SIGHUP.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    asked: bool,
}

impl Signals {
    /// Takes the signals over.
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            asked: false,
        })
    }

    /// Waits for the next one. Cancel-safe.
    pub(super) async fn next(&mut self) -> Input {
        let by = tokio::select! {
            _ = self.interrupt.recv() => StoppedBy::Interrupt,
            _ = self.terminate.recv() => StoppedBy::Terminate,
            _ = self.hang_up.recv() => StoppedBy::Terminate,
        };
        let request = if self.asked {
            Request::StopNow
        } else {
            Request::Stop
        };
        self.asked = true;
        Input::Stop { request, by }
    }
}
