//! Questions that only the user can answer. The run waits with the tree and the session of the agent
//! that asked, or parks the attempt and goes on without its story, or ends.

use jiff::Timestamp;

use super::held::Held;
use super::io::{Effect, TimerKind};
use super::session::Cause;
use super::stories::Current;
use super::verdict::AttemptFailure;
use super::{Machine, Phase, later};
use crate::policy::OnBlocked;
use crate::records::event::{Event, QuestionAnswered, QuestionAsked};
use ralph_agents::agent_event::Usage;
use ralph_base::ids::{AttemptNumber, StoryId};

/// A wait for an answer.
#[derive(Debug)]
pub(super) struct Awaited {
    pub(super) held: Held,
    question: String,
    /// When the run goes on without an answer; never where this is none.
    until: Option<Timestamp>,
}

/// Whether the run waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// Until this moment, or without end.
    Until(Option<Timestamp>),
    No,
}

impl Machine {
    /// Whether an agent has asked something and has no answer.
    pub(crate) fn has_questions(&self) -> bool {
        !self.is_over() && !self.questions.is_empty()
    }

    /// Whether nothing can be asked of it any more, or not yet.
    fn is_over(&self) -> bool {
        matches!(self.phase, Phase::New | Phase::Finishing(..) | Phase::Ended)
    }

    /// Whether the run waits for the answer to a question about this story.
    pub(super) fn waits_for_answer(&self, story: &StoryId) -> bool {
        self.policy().on_blocked == Some(OnBlocked::Wait) && !self.unanswered.contains(story)
    }

    /// Waits for the answer, with what is held back.
    pub(super) fn await_answer(&mut self, held: Held, question: String) -> Phase {
        let until = self.answer_due(held.story());
        let wait = Wait::Until(until);
        self.announce_question(held.story().clone(), question.clone(), wait);
        self.ask();
        self.wait_for_answer(Awaited {
            held,
            question,
            until,
        })
    }

    /// Records what the last attempt at a story asks. The user may answer at any time, also if the run
    /// does not wait; `wait` says until when it does.
    fn announce_question(&mut self, story: StoryId, question: String, wait: Wait) {
        self.questions.insert(story.clone(), question.clone());
        self.announce(Event::QuestionAsked(QuestionAsked {
            attempt: AttemptNumber(self.attempts_at(&story)),
            story,
            question,
            waits: wait != Wait::No,
            until: match wait {
                Wait::Until(until) => until,
                Wait::No => None,
            },
        }));
    }

    /// The last moment that the settings allow for an answer.
    fn answer_due(&self, story: &StoryId) -> Option<Timestamp> {
        let wait = self.policy().max_wait.map(|most| later(self.now, most));
        let time = self.time_ends(story).map(|(end, _)| end);
        [wait, time].into_iter().flatten().min()
    }

    fn wait_for_answer(&mut self, awaited: Awaited) -> Phase {
        if let Some(at) = awaited.until {
            let timer = self.timer(TimerKind::Wait);
            self.emit(Effect::SetTimerAt { timer, at });
        }
        Phase::AwaitingAnswer(awaited)
    }

    /// The time for an answer may be over.
    pub(super) fn on_answer_due(&mut self, awaited: Awaited) -> Phase {
        if awaited.until.is_none_or(|until| self.now < until) {
            return self.wait_for_answer(awaited);
        }
        let Awaited { held, question, .. } = awaited;
        self.unanswered.insert(held.story().clone());
        match held {
            Held::Attempt(story) => self.left_unanswered(*story, question),
            Held::Round(attempt) => self.park(*attempt, AttemptFailure::blocked(&question), false),
        }
    }

    /// The user answers the question of a story, or of the one the run waits for.
    pub(super) fn on_answered(
        &mut self,
        phase: Phase,
        story: Option<StoryId>,
        answer: &str,
    ) -> Phase {
        let answer = answer.trim();
        let is_over = matches!(phase, Phase::New | Phase::Finishing(..) | Phase::Ended);
        if is_over || answer.is_empty() {
            return phase;
        }
        match phase {
            Phase::AwaitingAnswer(awaited)
                if story.as_ref().is_none_or(|it| it == awaited.held.story()) =>
            {
                self.continue_with(awaited, answer)
            }
            phase => {
                self.note_answer(story, answer);
                phase
            }
        }
    }

    fn continue_with(&mut self, awaited: Awaited, answer: &str) -> Phase {
        if awaited.until.is_some() {
            self.cancel_timer(TimerKind::Wait);
        }
        self.note_answer(Some(awaited.held.story().clone()), answer);
        match awaited.held {
            Held::Round(mut attempt) => {
                attempt.session.cause = Some(Cause::Answered);
                self.start_round(*attempt)
            }
            Held::Attempt(story) => self.start_attempt(story),
        }
    }

    /// Takes an answer for the next attempt at a story, or the next round: by its name, or the only
    /// one with a question. An answer to nothing that was asked is ignored.
    fn note_answer(&mut self, story: Option<StoryId>, answer: &str) {
        let only = || {
            let mut asked = self.questions.keys();
            asked.next().filter(|_| asked.next().is_none()).cloned()
        };
        let Some(story) = story.or_else(only) else {
            return;
        };
        let Some(question) = self.questions.remove(&story) else {
            return;
        };
        self.notes.add_answer(&story, &question, answer);
        self.forget_blocked(&story);
        self.announce(Event::QuestionAnswered(QuestionAnswered {
            story,
            question,
            answer: answer.to_owned(),
        }));
    }

    /// A story whose question has no answer: the run goes on without it, or ends.
    pub(super) fn left_unanswered(&mut self, story: Current, question: String) -> Phase {
        self.announce_question(story.view.id.clone(), question.clone(), Wait::No);
        if let Some(used_up) = self.used_up(&story.view.id, &Usage::default()) {
            return self.leave_and_end(story, used_up.into());
        }
        self.leave_blocked(story, question)
    }
}
