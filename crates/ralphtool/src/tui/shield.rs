//! Keeps keys that were meant for the run screen from choosing anything at the end of the run.
//!
//! The end comes by itself, maybe while the user scrolls. Keys count only after the new screen has been
//! visible for a moment in which no key was pressed; until then they are dropped, those that move too:
//! they would select a choice. What is typed into a text input goes there until the input is closed.

use std::time::Duration;

use jiff::Timestamp;

/// How long the new screen has to be visible without a key.
pub(crate) const QUIET: Duration = Duration::from_secs(1);

/// Whether keys count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Shield {
    /// Keys count.
    #[default]
    Down,
    /// The new screen was not drawn yet.
    Unseen,
    /// It is visible; the first frame, or the last key, was at this time.
    Seen(Timestamp),
}

impl Shield {
    /// Another screen came by itself, or the text input over it was closed.
    pub(crate) fn raise(&mut self) {
        *self = Self::Unseen;
    }

    /// The current screen was drawn.
    pub(crate) fn drawn(&mut self, now: Timestamp) {
        if *self == Self::Unseen {
            *self = Self::Seen(now);
        }
    }

    /// A key was pressed; returns whether it counts.
    pub(crate) fn press(&mut self, now: Timestamp) -> bool {
        *self = match *self {
            Self::Down => Self::Down,
            Self::Unseen => Self::Unseen,
            Self::Seen(since) if is_quiet(since, now) => Self::Down,
            Self::Seen(_) => Self::Seen(now),
        };
        *self == Self::Down
    }
}

fn is_quiet(since: Timestamp, now: Timestamp) -> bool {
    Duration::try_from(now.duration_since(since)).is_ok_and(|quiet| quiet >= QUIET)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_000_000 + ms).unwrap()
    }

    #[test]
    fn keys_count_once_the_screen_was_visible_for_a_second_without_a_key() {
        let mut shield = Shield::default();
        assert!(shield.press(at(0)));
        shield.raise();
        // However late it is, the user has not seen the screen yet.
        assert!(!shield.press(at(60_000)));
        shield.drawn(at(60_100));
        assert!(!shield.press(at(61_000)));
        // A later frame changes nothing; the last key does.
        shield.drawn(at(61_100));
        assert!(!shield.press(at(61_999)));
        assert_eq!(shield, Shield::Seen(at(61_999)));
        assert!(shield.press(at(62_999)));
        assert!(shield.press(at(63_000)));
    }
}
