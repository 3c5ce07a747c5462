//! Sweeping where only process groups are known.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::time::{Instant, sleep};

use super::{Patience, Step, Swept};

/// How soon the group is checked again.
const POLL: Duration = Duration::from_millis(10);

/// Whether the group of a process has members.
pub(crate) fn has_descendants(leader: Option<Pid>) -> bool {
    leader.is_some_and(|leader| test_kill_process_group(leader).is_ok())
}

/// Ends the group of a process whose supervisor was killed.
pub(crate) async fn end_marked(leader: Option<Pid>, _marker: &str, patience: Patience) -> Swept {
    end_descendants(leader, patience).await
}

/// Ends the group of a process.
pub(crate) async fn end_descendants(leader: Option<Pid>, patience: Patience) -> Swept {
    let Some(leader) = leader else {
        return Swept::default();
    };
    let start = Instant::now();
    let mut swept = Swept::default();
    while test_kill_process_group(leader).is_ok() {
        let name = format!("process group {}", leader.as_raw_nonzero());
        let signal = match patience.step(start.elapsed()) {
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
