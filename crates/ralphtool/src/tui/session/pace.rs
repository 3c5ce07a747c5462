//! When the screen may be drawn: soon after a key, less often otherwise, and at most thirty times a
//! second.
//!
//! Frames that no key asked for are at least 50 ms apart. That leaves room for keys: a frame for a
//! key may follow such a frame after 17 ms, and a frame for another key after 34 ms. So thirty frames
//! always take more than a second.

use std::time::Duration;

use tokio::time::Instant;

/// The gap before a frame that no key asked for.
const CALM: Duration = Duration::from_millis(50);

/// The gap between a frame that no key asked for and one for a key.
const AFTER_CALM: Duration = Duration::from_millis(17);

/// The gap between two frames for keys.
const AFTER_KEY: Duration = Duration::from_millis(34);

/// How many frames a key may ask for: one for its effect, one for the answer to its query.
const FOR_A_KEY: u8 = 2;

/// When the last frame was drawn, and whether a key waits for the next.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// The time of the last frame, and whether it was for a key.
    last: Option<(Instant, bool)>,
    /// How many frames keys may still ask for.
    wanted: u8,
}

impl Pace {
    pub(super) fn pressed(&mut self) {
        self.wanted = FOR_A_KEY;
    }

    /// A frame was drawn.
    pub(super) fn drew(&mut self, now: Instant) {
        self.last = Some((now, self.wanted > 0));
        self.wanted = self.wanted.saturating_sub(1);
    }

    /// When the next one may be drawn.
    pub(super) fn due(&self, now: Instant) -> Instant {
        let Some((at, for_key)) = self.last else {
            return now;
        };
        let gap = match (self.wanted > 0, for_key) {
            (false, _) => CALM,
            (true, false) => AFTER_CALM,
            (true, true) => AFTER_KEY,
        };
        at + gap
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn a_frame_for_a_key_is_due_earlier_than_another() {
        let start = Instant::now();
        let mut pace = Pace::default();
        assert_eq!(pace.due(start), start);
        pace.drew(start);
        assert_eq!(pace.due(start), start + CALM);
        pace.pressed();
        assert_eq!(pace.due(start), start + AFTER_CALM);
        let first = start + ms(20);
        pace.drew(first);
        assert_eq!(pace.due(first), first + AFTER_KEY);
        let second = first + ms(40);
        pace.drew(second);
        assert_eq!(pace.due(second), second + CALM);
    }

    #[test]
    fn no_second_has_more_than_thirty_frames() {
        // Keys at every possible rhythm, while there is always something to draw.
        for rhythm in 1..200 {
            let start = Instant::now();
            let mut pace = Pace::default();
            let mut drawn: Vec<Instant> = Vec::new();
            for now in (0..3_000).map(|it| start + ms(it)) {
                if (now - start).as_millis().is_multiple_of(rhythm) {
                    pace.pressed();
                }
                if pace.due(now) <= now {
                    pace.drew(now);
                    drawn.push(now);
                }
            }
            let most = drawn.iter().map(|from| {
                let until = *from + ms(1_000);
                drawn
                    .iter()
                    .filter(|at| (*from..until).contains(at))
                    .count()
            });
            let most = most.max().unwrap_or(0);
            assert!(most <= 30, "{most} in a second, a key every {rhythm} ms");
        }
    }
}
