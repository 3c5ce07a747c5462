//! Folders that wait for a thread.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Folders that any thread may take. The walk is over when there are none and no thread works.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    /// Threads that wait for a folder; a hint that costs no lock.
    idle: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    folders: Vec<Vec<u8>>,
    working: usize,
    failed: bool,
}

impl Queue {
    /// Leaves a folder to the next free thread.
    pub(super) fn give(&self, folder: Vec<u8>) {
        self.lock().folders.push(folder);
        self.changed.notify_one();
    }

    /// The next folder; none when the walk is over. Every folder taken is followed by `done`.
    pub(super) fn take(&self) -> Option<Vec<u8>> {
        let mut state = self.lock();
        loop {
            if state.failed {
                return None;
            }
            if let Some(folder) = state.folders.pop() {
                state.working += 1;
                return Some(folder);
            }
            if state.working == 0 {
                return None;
            }
            self.idle.fetch_add(1, Ordering::Relaxed);
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            self.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// A folder that was taken is walked.
    pub(super) fn done(&self) {
        let mut state = self.lock();
        state.working -= 1;
        if state.working == 0 {
            self.changed.notify_all();
        }
    }

    /// The walk cannot go on.
    pub(super) fn fail(&self) {
        self.lock().failed = true;
        self.changed.notify_all();
    }

    /// True where some folder waits.
    pub(super) fn has_work(&self) -> bool {
        !self.lock().folders.is_empty()
    }

    /// True where some thread waits.
    pub(super) fn is_wanted(&self) -> bool {
        self.idle.load(Ordering::Relaxed) > 0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        crate::tree::lock(&self.state)
    }
}
