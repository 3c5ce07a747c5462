//! What a user at a screen can do to the loop: pause, skip, try now, leave a note, go on.
//!
//! What makes no sense at the moment is ignored: a key that comes too late must do no harm.

use super::attempt::Work;
use super::io::{Effect, StoppedBy, TimerKind, UserCommand};
use super::left_open::LeftOpen;
use super::stories::Current;
use super::verdict::Ending;
use super::{Machine, Phase};
use crate::policy::STOP_GRACE;
use crate::records::event::{Event, Request};
use ralph_base::ids::StoryId;

/// Why a story is over that a note was for.
pub(super) const STORY_DONE: &str = "the story is done";
const STORY_SKIPPED: &str = "the story was skipped";

impl Machine {
    pub(super) fn on_user(&mut self, phase: Phase, command: UserCommand) -> Phase {
        let by = StoppedBy::Interrupt;
        match command {
            UserCommand::Stop => self.on_stop(phase, Request::Stop, by),
            UserCommand::StopNow => self.on_stop(phase, Request::StopNow, by),
            UserCommand::Note { story, text } => self.on_note(phase, story, text),
            UserCommand::Answer { story, text } => self.on_answered(phase, story, &text),
            UserCommand::Finish(choice) => match phase {
                Phase::Asking(outcome) => self.finish_as_asked(outcome, choice),
                phase => phase,
            },
            UserCommand::Again => self.on_again(phase),
            // A run that is about to stop does nothing else first.
            _ if self.stop.is_some() => phase,
            UserCommand::Pause => self.on_pause(phase),
            UserCommand::GoOn => self.on_go_on(phase),
            UserCommand::Skip => self.on_skip(phase),
            UserCommand::TryNow => self.on_try_now(phase),
        }
    }

    fn on_note(&mut self, phase: Phase, story: Option<StoryId>, text: String) -> Phase {
        let is_over = matches!(phase, Phase::New | Phase::Finishing(..) | Phase::Ended);
        if is_over || text.trim().is_empty() {
            return phase;
        }
        // The story may have ended while the note was typed.
        match &story {
            Some(done) if self.completed.contains(done) => {
                self.announce_unused(done, STORY_DONE, vec![text]);
            }
            Some(skipped) if self.left_open.get(skipped) == Some(&LeftOpen::Skipped) => {
                self.announce_unused(skipped, STORY_SKIPPED, vec![text]);
            }
            _ => {
                self.notes.add(story.clone(), text.clone());
                self.announce(Event::NoteAdded { text, story });
            }
        }
        phase
    }

    /// Announces notes for a story that no attempt has got.
    pub(super) fn announce_unused(&mut self, story: &StoryId, reason: &str, texts: Vec<String>) {
        for text in texts {
            self.announce(Event::NoteUnused {
                text,
                story: story.clone(),
                reason: reason.to_owned(),
            });
        }
    }

    fn on_pause(&mut self, phase: Phase) -> Phase {
        let is_over = matches!(
            phase,
            Phase::New | Phase::Asking(_) | Phase::Finishing(..) | Phase::Ended
        );
        if !is_over && !self.pause {
            self.pause = true;
            self.announce_request(Request::Pause);
        }
        phase
    }

    fn on_go_on(&mut self, phase: Phase) -> Phase {
        if !self.pause {
            return phase;
        }
        self.pause = false;
        self.announce_request(Request::GoOn);
        match phase {
            Phase::Paused(held) => self.go_on_with(held),
            phase => phase,
        }
    }

    fn on_try_now(&mut self, phase: Phase) -> Phase {
        match phase {
            Phase::Waiting(held, _) => {
                self.announce_request(Request::TryNow);
                self.cancel_timer(TimerKind::Wait);
                self.availability.forget_waits();
                self.start_held(held)
            }
            phase => phase,
        }
    }

    fn on_skip(&mut self, phase: Phase) -> Phase {
        if self.skip {
            return phase;
        }
        let has_story = match &phase {
            Phase::Reviewing(review) => review.has_attempt(),
            phase => matches!(
                phase,
                Phase::Working(_)
                    | Phase::Baseline(_)
                    | Phase::Gating(_)
                    | Phase::RecallingGates(_)
                    | Phase::Checking(_)
                    | Phase::UndoingGates(_)
                    | Phase::Parking(_)
                    | Phase::Restoring(..)
                    | Phase::Waiting(..)
                    | Phase::Paused(_)
                    | Phase::AwaitingAnswer(_)
            ),
        };
        // There is no story, or it is done already.
        if !has_story {
            return phase;
        }
        self.skip = true;
        self.announce_request(Request::Skip);
        match phase {
            Phase::Working(work) => self.skip_work(work),
            Phase::Baseline(_) | Phase::Gating(_) | Phase::Reviewing(_) => {
                self.emit(Effect::StopProcess { grace: STOP_GRACE });
                phase
            }
            Phase::Waiting(held, _) => {
                self.cancel_timer(TimerKind::Wait);
                self.skip_held(held)
            }
            Phase::Paused(held) => self.skip_held(held),
            Phase::AwaitingAnswer(awaited) => {
                self.cancel_timer(TimerKind::Wait);
                self.skip_held(awaited.held)
            }
            // The others end by themselves, and the skip is seen then.
            phase => phase,
        }
    }

    fn skip_work(&mut self, mut work: Work) -> Phase {
        match work.ending {
            Ending::Open | Ending::Grace => {
                self.emit(Effect::StopProcess { grace: STOP_GRACE });
                work.ending = Ending::Skip;
            }
            Ending::AfterFinal => work.ending = Ending::Skip,
            Ending::Stop | Ending::Skip | Ending::Failed(_) => {}
        }
        Phase::Working(work)
    }

    /// Passes the story over for the rest of the run.
    pub(super) fn skip_story(&mut self, story: Current) -> Phase {
        self.skip = false;
        self.announce(Event::StorySkipped {
            story: story.view.id.clone(),
            title: story.view.title.clone(),
            reason: "skipped on request".to_owned(),
            waits_for: None,
        });
        let unused = self.notes.story_over(&story.view.id);
        self.announce_unused(&story.view.id, STORY_SKIPPED, unused);
        self.leave_open(story, LeftOpen::Skipped)
    }

    /// Resumes a run that is over but not finished.
    fn on_again(&mut self, phase: Phase) -> Phase {
        match phase {
            Phase::Asking(outcome) if outcome.can_go_on() && self.under_way.is_none() => {
                self.stop = None;
                self.forget_left_open();
                self.availability.forget_all();
                // What the gates said may not hold any more: there was time to change things.
                self.checkpoint_verdicts.forget(&self.setup.policy.gates);
                self.read_backlog()
            }
            phase => phase,
        }
    }

    /// Announces the run once more if it goes on after its end; the time between does not count.
    pub(super) fn announce_again(&mut self) {
        let Some(over_since) = self.over_since.take() else {
            return;
        };
        let idle = self.since(over_since);
        self.started = self.started.saturating_add(idle).unwrap_or(self.now);
        if let Some(branch) = self.branch.clone() {
            self.announce_run(&branch, true);
        }
    }

    fn announce_request(&mut self, request: Request) {
        self.announce(Event::Requested { request });
    }
}
