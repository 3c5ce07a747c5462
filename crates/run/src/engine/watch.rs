//! The watchman of a run, from its start to its goodbye: nothing of an agent or a gate outlives this
//! program. A run goes on without one, and says so.

use super::Engine;
use crate::records::event::Event;
use ralph_base::os;
use ralph_process::watchman::Watchman;
use ralph_process::{ProcessError, ProcessSpec, RunningProcess};

/// What to know without a watchman.
const WHAT_IS_LOST: &str =
    "should ralphtool be killed, processes of the agent may go on until its next start";

impl Engine {
    /// Starts the watchman.
    pub fn post_watchman(&mut self) {
        match os::own_program().and_then(|program| Watchman::start(&program)) {
            Ok(watchman) => self.watchman = Some(watchman),
            Err(error) => self.warn_unwatched(&format!("could not start the watchman: {error}")),
        }
    }

    /// Starts a process that the watchman knows of from before its first moment.
    pub fn start_watched(&mut self, process: ProcessSpec) -> Result<RunningProcess, ProcessError> {
        let marker = process.marker.clone();
        self.tell_watchman(|watchman| watchman.begins(&marker));
        let started = process.start();
        self.tell_watchman(|watchman| match &started {
            Ok(process) => watchman.runs(process),
            Err(_) => watchman.over(),
        });
        started
    }

    /// Tells the watchman that nothing of the process is alive any more.
    pub fn nothing_to_watch(&mut self) {
        self.tell_watchman(Watchman::over);
    }

    /// Sends the watchman home.
    pub async fn relieve_watchman(&mut self) {
        if let Some(watchman) = self.watchman.take() {
            watchman.goodbye().await;
        }
    }

    fn tell_watchman(&mut self, tell: impl FnOnce(&mut Watchman) -> std::io::Result<()>) {
        if let Some(Err(error)) = self.watchman.as_mut().map(tell) {
            if let Some(watchman) = self.watchman.take() {
                watchman.dismiss();
            }
            self.warn_unwatched(&format!("the watchman is gone: {error}"));
        }
    }

    fn warn_unwatched(&mut self, why: &str) {
        self.pending_events.push(Event::Warning {
            code: "watchman".to_owned(),
            message: format!("{why}; {WHAT_IS_LOST}"),
        });
    }
}
