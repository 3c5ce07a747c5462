//! Leaving a run by key: the first press asks, a second within three seconds stops the run, a
//! third forces it.

use std::time::Duration;

use jiff::Timestamp;

/// How long the question waits for the second press.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

/// How far leaving has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Quit {
    /// The user did not ask to leave.
    #[default]
    No,
    /// The user was asked at this time.
    Asked(Timestamp),
    /// The run is being stopped.
    Stopping,
    /// The run is being stopped without grace, and the program ends after it.
    Forced,
}

impl Quit {
    /// Handles a press of the quit key during a run; returns the new state.
    pub(crate) fn press(&mut self, now: Timestamp) -> Self {
        *self = match *self {
            Self::Asked(at) if is_fresh(at, now) => Self::Stopping,
            Self::No | Self::Asked(_) => Self::Asked(now),
            Self::Stopping | Self::Forced => Self::Forced,
        };
        *self
    }

    /// Whether the question still waits.
    pub(crate) fn is_asking(self, now: Timestamp) -> bool {
        matches!(self, Self::Asked(at) if is_fresh(at, now))
    }

    /// Another key was pressed: the question is over. Returns whether there was one.
    pub(crate) fn dismiss(&mut self) -> bool {
        let is_asked = matches!(self, Self::Asked(_));
        if is_asked {
            *self = Self::No;
        }
        is_asked
    }

    /// A stop was asked for in another way.
    pub(crate) fn stopping(&mut self) {
        if !matches!(self, Self::Forced) {
            *self = Self::Stopping;
        }
    }
}

fn is_fresh(at: Timestamp, now: Timestamp) -> bool {
    Duration::try_from(now.duration_since(at)).is_ok_and(|since| since <= PATIENCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_000_000 + ms).unwrap()
    }

    #[test]
    fn three_presses_ask_stop_and_force() {
        let mut quit = Quit::default();
        assert_eq!(quit.press(at(0)), Quit::Asked(at(0)));
        assert_eq!(quit.press(at(2_999)), Quit::Stopping);
        assert_eq!(quit.press(at(60_000)), Quit::Forced);
        assert_eq!(quit.press(at(60_001)), Quit::Forced);
    }

    #[test]
    fn a_question_waits_for_three_seconds() {
        let mut quit = Quit::default();
        quit.press(at(0));
        assert!(quit.is_asking(at(3_000)));
        assert!(!quit.is_asking(at(3_001)));
        assert_eq!(quit.press(at(3_001)), Quit::Asked(at(3_001)));
        assert_eq!(quit.press(at(3_002)), Quit::Stopping);
    }

    #[test]
    fn another_key_takes_the_question_back_but_no_stop() {
        let mut quit = Quit::default();
        assert!(!quit.dismiss());
        quit.press(at(0));
        assert!(quit.dismiss());
        assert_eq!(quit.press(at(1)), Quit::Asked(at(1)));
        assert_eq!(quit.press(at(2)), Quit::Stopping);
        assert!(!quit.dismiss());
        assert_eq!(quit, Quit::Stopping);
    }

    #[test]
    fn after_a_stop_the_next_press_forces() {
        let mut quit = Quit::default();
        quit.stopping();
        assert_eq!(quit.press(at(0)), Quit::Forced);
    }
}
