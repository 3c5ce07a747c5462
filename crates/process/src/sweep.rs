//! Ends what a process left running.
//!
//! Signals to a group miss whatever began a session of its own, as most agents' tools do. On Linux
//! the supervisor adopts what its process orphans, so all that came of the process descends from
//! it. If the supervisor was killed, they are found by their session and by the marker in their
//! environment. Elsewhere only the process group is known.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod portable;

use std::time::Duration;

#[cfg(target_os = "linux")]
pub(crate) use linux::{Found, end_all, end_descendants, end_marked, has_descendants};
#[cfg(not(target_os = "linux"))]
pub(crate) use portable::{end_descendants, end_marked, has_descendants};
use serde::{Deserialize, Serialize};

/// What was left running.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swept {
    /// Command lines of what was ended.
    pub ended: Vec<String>,
    /// Command lines of what could not be ended.
    pub survivors: Vec<String>,
}

/// How long each way of ending a process is given.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Patience {
    /// To end by itself.
    pub(crate) leave: Duration,
    /// To react to a termination signal.
    pub(crate) terminate: Duration,
    /// To be gone after a kill signal.
    pub(crate) kill: Duration,
}

/// What to do with a process that is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Leave,
    Terminate,
    Kill,
    GiveUp,
}

impl Patience {
    pub(crate) const USUAL: Self = Self {
        leave: Duration::ZERO,
        terminate: Duration::from_secs(1),
        kill: Duration::from_secs(5),
    };
    /// For when everything must go at once; killed without warning, git leaves its locks behind.
    pub(crate) const SHORT: Self = Self {
        terminate: Duration::from_millis(100),
        ..Self::USUAL
    };

    /// The longest that ending something takes.
    pub(crate) fn total(self) -> Duration {
        self.leave + self.terminate + self.kill
    }

    fn step(self, elapsed: Duration) -> Step {
        let terminate_until = self.leave + self.terminate;
        if elapsed < self.leave {
            Step::Leave
        } else if elapsed < terminate_until {
            Step::Terminate
        } else if elapsed < self.total() {
            Step::Kill
        } else {
            Step::GiveUp
        }
    }
}
