//! Sweeping where only process groups are known.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::time::{Instant, sleep};

use super::{Leader, Orphans, Patience, Step, Swept};

/// How soon it is looked again.
const POLL: Duration = Duration::from_millis(10);

/// What is known of the processes of one attempt.
#[derive(Debug)]
pub(in super::super) struct Attempt {
    leader: Option<Pid>,
}

impl Attempt {
    /// Begins with the attempt's first process.
    pub(in super::super) fn begin(leader: Option<Pid>, _marker: &str, _orphans: Orphans) -> Self {
        Self { leader }
    }

    /// Takes over the attempt of a program that has died.
    pub(in super::super) fn left_behind(leader: Option<Leader>, _marker: &str) -> Self {
        Self {
            leader: leader.and_then(|leader| Pid::from_raw(leader.pid)),
        }
    }

    /// The attempt's first process.
    pub(in super::super) fn leader(&self) -> Option<Leader> {
        self.leader.map(|leader| Leader {
            pid: leader.as_raw_nonzero().get(),
            started: 0,
        })
    }

    /// Only the group is known, and it needs no remembering.
    #[allow(clippy::unused_self, reason = "the same signature on every system")]
    pub(in super::super) fn remember_family(&mut self) {}

    /// Only the group is known, and it needs no looking after.
    #[allow(clippy::unused_self, reason = "the same signature on every system")]
    pub(in super::super) fn look_around(&mut self, _program: i32) {}

    /// Ends the group.
    pub(in super::super) async fn sweep(&mut self, patience: Patience) -> Swept {
        let Some(leader) = self.leader else {
            return Swept::default();
        };
        let start = Instant::now();
        let mut swept = Swept::default();
        while test_kill_process_group(leader).is_ok() {
            let step = patience.step(start.elapsed());
            let name = format!("process group {}", leader.as_raw_nonzero());
            let signal = match step {
                Step::Terminate if swept.ended.is_empty() => Some(Signal::TERM),
                Step::Leave | Step::Terminate => None,
                Step::Kill => Some(Signal::KILL),
                Step::GiveUp => {
                    swept.survivors.push(name);
                    return swept;
                }
            };
            if let Some(signal) = signal {
                let _ = kill_process_group(leader, signal);
                swept.ended = vec![name];
            }
            sleep(POLL).await;
        }
        swept
    }
}

/// A helper of this program in a session of its own; only groups are swept, so it needs no sparing.
#[derive(Debug)]
pub(in super::super) struct Spared;

impl Spared {
    /// Spares a process for as long as this lives.
    pub(in super::super) fn new(_helper: Option<Pid>) -> Self {
        Self
    }
}
