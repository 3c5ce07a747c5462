//! The timers the machine sets, by monotonic time or by the wall clock.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, sleep_until};

use crate::machine::Timer;

/// A wall-clock timer is looked at this often: the clock may be set, the machine may sleep.
const LOOK: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy)]
enum Due {
    At(Instant),
    Clock(Timestamp),
}

/// Timers that are set.
#[derive(Debug, Default)]
pub(super) struct Timers {
    due: HashMap<Timer, Due>,
}

impl Timers {
    /// Fires after a time.
    pub(super) fn set(&mut self, timer: Timer, after: Duration) {
        self.due.insert(timer, Due::At(Instant::now() + after));
    }

    /// Fires at a moment of the wall clock.
    pub(super) fn set_at(&mut self, timer: Timer, at: Timestamp) {
        self.due.insert(timer, Due::Clock(at));
    }

    /// Forgets a timer.
    pub(super) fn cancel(&mut self, timer: Timer) {
        self.due.remove(&timer);
    }

    /// Waits for the next timer; without end where none is set. Cancel-safe.
    pub(super) async fn next(&mut self) -> Timer {
        loop {
            let Some((timer, when)) = self.nearest() else {
                return std::future::pending().await;
            };
            let look = Instant::now() + LOOK;
            if when > look {
                sleep_until(look).await;
                continue;
            }
            sleep_until(when).await;
            self.due.remove(&timer);
            return timer;
        }
    }

    fn nearest(&self) -> Option<(Timer, Instant)> {
        let now = Timestamp::now();
        self.due
            .iter()
            .map(|(timer, due)| (*timer, moment(*due, now)))
            .min_by_key(|(_, when)| *when)
    }
}

fn moment(due: Due, now: Timestamp) -> Instant {
    match due {
        Due::At(instant) => instant,
        Due::Clock(at) => {
            let left = Duration::try_from(at.duration_since(now)).unwrap_or_default();
            Instant::now() + left
        }
    }
}
