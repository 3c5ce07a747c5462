//! What a pause or a wait for a limit holds back: the next attempt at a story, or the next round of
//! an attempt whose tree and session are kept.

use jiff::Timestamp;

use super::io::{Effect, TimerKind};
use super::session::Attempt;
use super::stories::Current;
use super::verdict::AttemptFailure;
use super::{Machine, Phase};
use crate::records::event::{Event, Outcome};
use ralph_base::ids::{AttemptNumber, StoryId};

/// What is held back.
#[derive(Debug)]
pub(super) enum Held {
    /// The next attempt; the tree is at the checkpoint.
    Attempt(Box<Current>),
    /// The next round of an attempt; the tree is the attempt's.
    Round(Box<Attempt>),
}

impl Held {
    pub(super) fn story(&self) -> &StoryId {
        match self {
            Self::Attempt(story) => &story.view.id,
            Self::Round(attempt) => &attempt.id.story,
        }
    }

    /// The attempt whose tree and session are kept.
    fn continues(&self) -> Option<AttemptNumber> {
        match self {
            Self::Attempt(_) => None,
            Self::Round(attempt) => Some(attempt.id.attempt),
        }
    }
}

impl Machine {
    /// Starts nothing until the user says to go on.
    pub(super) fn hold(&mut self, held: Held) -> Phase {
        self.announce(Event::Paused {
            story: held.story().clone(),
            continues: held.continues(),
        });
        self.pending = None;
        Phase::Paused(held)
    }

    /// Starts nothing before this moment.
    pub(super) fn wait(&mut self, held: Held, until: Timestamp, reason: String) -> Phase {
        self.announce(Event::Waiting {
            story: held.story().clone(),
            reason,
            until,
            continues: held.continues(),
        });
        self.ask();
        self.wait_until_then(held, until)
    }

    pub(super) fn on_waited(&mut self, held: Held, until: Timestamp) -> Phase {
        if self.now < until {
            return self.wait_until_then(held, until);
        }
        self.start_held(held)
    }

    fn wait_until_then(&mut self, held: Held, until: Timestamp) -> Phase {
        let timer = self.timer(TimerKind::Wait);
        self.emit(Effect::SetTimerAt { timer, at: until });
        Phase::Waiting(held, until)
    }

    pub(super) fn start_held(&mut self, held: Held) -> Phase {
        match held {
            Held::Attempt(story) => self.start_attempt(story),
            Held::Round(attempt) => self.start_round(*attempt),
        }
    }

    /// The pause is over.
    pub(super) fn go_on_with(&mut self, held: Held) -> Phase {
        match held {
            // It may have been held back before all gates had judged the checkpoint.
            Held::Attempt(story) => self.next_baseline(story),
            Held::Round(attempt) => self.start_round(*attempt),
        }
    }

    pub(super) fn stop_held(&mut self, held: Held) -> Phase {
        match held {
            Held::Attempt(story) => self.leave_and_end(*story, Outcome::Stopped),
            Held::Round(attempt) => self.park(*attempt, AttemptFailure::stopped(), false),
        }
    }

    pub(super) fn skip_held(&mut self, held: Held) -> Phase {
        match held {
            Held::Attempt(story) => self.skip_story(*story),
            Held::Round(attempt) => self.park(*attempt, AttemptFailure::skipped(), false),
        }
    }
}
