//! The exit code of a run.

use std::process::ExitCode;

use crate::domain::event::Outcome;

/// The signal that asked the run to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopSignal {
    /// SIGINT, by Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

/// The exit code of an outcome; a stop is told apart by its signal.
pub(super) fn code(outcome: &Outcome, signal: StopSignal) -> ExitCode {
    number(outcome, signal).into()
}

const fn number(outcome: &Outcome, signal: StopSignal) -> u8 {
    match (outcome, signal) {
        (Outcome::AllDone | Outcome::StoryDone, _) => 0,
        (Outcome::Exhausted { .. }, _) => 1,
        (Outcome::Limited { .. }, _) => 3,
        (Outcome::Broken { .. }, _) => 4,
        (Outcome::Stopped, StopSignal::Interrupt) => 130,
        (Outcome::Stopped, StopSignal::Terminate) => 143,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_stop_is_told_apart_by_its_signal() {
        assert_eq!(number(&Outcome::Stopped, StopSignal::Interrupt), 130);
        assert_eq!(number(&Outcome::Stopped, StopSignal::Terminate), 143);
        assert_eq!(number(&Outcome::AllDone, StopSignal::Terminate), 0);
        let reason = String::new();
        let limited = Outcome::Limited { reason };
        assert_eq!(number(&limited, StopSignal::Interrupt), 3);
    }
}
