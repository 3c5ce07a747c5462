//! Ends what an attempt left running: nothing of it may touch the tree afterwards.
//!
//! Signals to a group miss whatever began a session of its own, as most agents' tools do. On
//! Linux every process of an attempt is found by its session, its marker in the environment,
//! its ancestry, or by having become an orphan of this program. Elsewhere only the group is
//! known.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod portable;

use std::time::Duration;

#[cfg(target_os = "linux")]
pub(super) use linux::{Attempt, Found, Spared, end_all, end_descendants};
#[cfg(not(target_os = "linux"))]
pub(super) use portable::{Attempt, Spared};
use serde::{Deserialize, Serialize};

/// The first process of an attempt, as one process tells another on the same machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Leader {
    /// Its process id.
    pub(super) pid: i32,
    /// When it started, in the kernel's ticks; 0 where the system does not tell.
    pub(super) started: u64,
}

/// Whose orphans are swept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orphans {
    /// Those known to be of the attempt; right where several attempts share this process.
    Marked,
    /// All that this program adopted and no other attempt accounts for.
    All,
}

/// What was left running.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// Command lines of what was ended.
    pub ended: Vec<String>,
    /// Command lines of what could not be ended.
    pub survivors: Vec<String>,
}

/// How long each way of ending a process is given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// To end by itself.
    pub(super) leave: Duration,
    /// To heed a termination signal.
    pub(super) terminate: Duration,
    /// To be gone after a kill signal.
    pub(super) kill: Duration,
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
    /// For what is left when its leader is gone.
    pub(super) const USUAL: Self = Self {
        leave: Duration::ZERO,
        terminate: Duration::from_secs(1),
        kill: Duration::from_secs(5),
    };
    /// For when everything must go at once; killed without warning, git leaves its locks behind.
    pub(super) const SHORT: Self = Self {
        terminate: Duration::from_millis(100),
        ..Self::USUAL
    };

    fn step(self, elapsed: Duration) -> Step {
        let terminate_until = self.leave + self.terminate;
        if elapsed < self.leave {
            Step::Leave
        } else if elapsed < terminate_until {
            Step::Terminate
        } else if elapsed < terminate_until + self.kill {
            Step::Kill
        } else {
            Step::GiveUp
        }
    }
}
