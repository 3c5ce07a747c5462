//! Limits how many of the heavy programs run at once, so that they do not starve each other.

use std::sync::{Condvar, Mutex};

use crate::bench::cli::Cli;

/// How much may run at once.
const ROOM: usize = 6;

static TAKEN: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// Room for one agent, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Room(usize);

impl Room {
    /// Waits for room for agents that take turns.
    pub(crate) fn wait_for(team: &[Cli]) -> Self {
        let size = team.iter().copied().map(size).max().unwrap_or(0);
        let (taken, changed) = &TAKEN;
        let guard = taken.lock().unwrap();
        let mut guard = changed
            .wait_while(guard, |taken| *taken + size > ROOM)
            .unwrap();
        *guard += size;
        Self(size)
    }
}

/// How much of the room an agent needs.
fn size(cli: Cli) -> usize {
    match cli {
        Cli::Claude | Cli::Codex => 1,
        Cli::Gemini => 2,
        // Six seconds of processor time and 600 MB for every start.
        Cli::Opencode => 3,
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let (taken, changed) = &TAKEN;
        *taken.lock().unwrap() -= self.0;
        changed.notify_all();
    }
}
