//! A failed attempt: park, restore, then try again, wait or give up.

use jiff::Timestamp;

use super::availability::Pick;
use super::carry::next_previous;
use super::held::Held;
use super::io::Step;
use super::repair::Remedy;
use super::session::Attempt;
use super::stories::Current;
use super::verdict::AttemptFailure;
use super::{Machine, Phase, later};
use crate::policy::{Consequence, consequence, pause_after};
use crate::records::event::{AttemptFailed, Event, FailedStory, Outcome};
use ralph_agents::agent_event::Usage;
use ralph_vault::Setback;

/// How often in a row a run waits for an API that is down, without using a retry: about an hour.
const OUTAGES_WAITED_FOR: u32 = 6;

/// A failed attempt on its way to the vault.
#[derive(Debug)]
pub(super) struct FailedAttempt {
    attempt: Attempt,
    failure: AttemptFailure,
    /// It counts against the retries of its story.
    uses_retry: bool,
    duration_ms: u64,
}

/// What follows a failed attempt.
enum Next {
    Again,
    /// Wait for the answer to this question.
    Ask(String),
    /// Go on without the story, whose question has no answer.
    Unanswered(String),
    Skip,
    GiveUp(FailedStory),
    End(Outcome),
}

impl Machine {
    /// An attempt did not succeed. Its agent's session goes on if that can help; otherwise it is
    /// parked.
    pub(super) fn fail(&mut self, attempt: Attempt, failure: AttemptFailure) -> Phase {
        let uses_retry = match consequence(failure.kind) {
            Consequence::Retry => true,
            Consequence::Wait => self.note_limit(&attempt, &failure),
            Consequence::Replace | Consequence::Ask | Consequence::Skip | Consequence::Stop => {
                false
            }
        };
        match self.remedy(&attempt, &failure, uses_retry) {
            Remedy::Repair => self.repair(attempt, failure),
            Remedy::Wait(until, reason) => self.wait_in_session(attempt, failure, until, reason),
            Remedy::Ask => self.await_answer(Held::Round(Box::new(attempt)), failure.reason),
            Remedy::Park => self.park(attempt, failure, uses_retry),
        }
    }

    /// Puts the attempt into the vault, from where it is never continued.
    pub(super) fn park(
        &mut self,
        attempt: Attempt,
        failure: AttemptFailure,
        uses_retry: bool,
    ) -> Phase {
        self.request(Step::Park(Setback {
            attempt: attempt.id.clone(),
            prompt_reason: failure.prompt_reason.clone(),
            uses_retry,
            kind: failure.kind,
            reason: failure.reason.clone(),
        }));
        let duration_ms = self.ms_since(attempt.started);
        Phase::Parking(FailedAttempt {
            attempt,
            failure,
            uses_retry,
            duration_ms,
        })
    }

    pub(super) fn on_restored(&mut self, failed: FailedAttempt, changed_files: usize) -> Phase {
        let FailedAttempt {
            attempt,
            failure,
            uses_retry,
            duration_ms,
        } = failed;
        let (usage, repairs) = (attempt.total_usage(), attempt.session.repairs);
        let Attempt {
            mut story,
            id,
            choice,
            ..
        } = attempt;
        let next = self.after(&mut story, &choice.agent, &failure, uses_retry);
        self.announce(Event::AttemptFailed(AttemptFailed {
            story: id.story.clone(),
            attempt: id.attempt,
            kind: failure.kind,
            reason: failure.reason.clone(),
            parked: id.to_string(),
            changed_files,
            retrying: matches!(next, Next::Again),
            duration_ms,
            usage,
            repairs,
        }));
        let before = story.carry.previous.take();
        story.carry.previous = next_previous(before, failure.kind, failure.prompt_reason, id);
        match next {
            Next::Again => self.start_attempt(story),
            Next::Ask(question) => self.await_answer(Held::Attempt(story), question),
            Next::Unanswered(question) => self.left_unanswered(*story, question),
            Next::Skip => self.skip_story(*story),
            Next::GiveUp(failed) => self.give_up(*story, failed),
            Next::End(outcome) => self.leave_and_end(*story, outcome),
        }
    }

    fn after(
        &mut self,
        story: &mut Current,
        agent: &str,
        failure: &AttemptFailure,
        uses_retry: bool,
    ) -> Next {
        if self.stop.is_some() {
            return Next::End(Outcome::Stopped);
        }
        match consequence(failure.kind) {
            Consequence::Stop => {
                let used_up = self.used_up(&story.view.id, &Usage::default());
                let reason = || failure.reason.clone();
                let outcome = used_up.map(Outcome::from);
                Next::End(outcome.unwrap_or_else(|| Outcome::Limited { reason: reason() }))
            }
            Consequence::Skip => Next::Skip,
            _ if self.skip => Next::Skip,
            // Its session cannot be continued: the answer is for a new attempt.
            Consequence::Ask if self.waits_for_answer(&story.view.id) => {
                Next::Ask(failure.reason.clone())
            }
            Consequence::Ask => Next::Unanswered(failure.reason.clone()),
            Consequence::Retry => {
                self.availability.worked(agent);
                self.after_failure(story, failure)
            }
            Consequence::Wait if uses_retry => self.after_failure(story, failure),
            Consequence::Wait => self.go_on(story),
            Consequence::Replace => {
                self.availability
                    .refused(agent, failure.refusal, &failure.reason);
                self.go_on(story)
            }
        }
    }

    fn after_failure(&self, story: &mut Current, failure: &AttemptFailure) -> Next {
        if story.carry.retries_used >= self.policy().max_retries {
            return Next::GiveUp(FailedStory {
                story: story.view.id.clone(),
                kind: failure.kind,
                reason: failure.reason.clone(),
                attempts: self.attempts_at(&story.view.id),
                gate: failure.gate.clone(),
            });
        }
        story.carry.retries_used += 1;
        self.go_on(story)
    }

    /// Notes an agent's limit; returns true if waiting for it uses a retry. That is so after a long
    /// outage, because an API that stays away may be one that was never there, and only while no
    /// other agent can work.
    fn note_limit(&mut self, attempt: &Attempt, failure: &AttemptFailure) -> bool {
        let agent = &attempt.choice.agent;
        let limits = self.availability.count_limit(agent);
        let until = self.wait_until(limits, failure);
        self.availability
            .limited(agent, self.now, until, &failure.reason);
        let is_outage = failure.limit.as_ref().is_some_and(|limit| limit.is_outage);
        let is_alone = !matches!(self.pick(&attempt.story), Pick::Agent(_));
        is_outage && limits > OUTAGES_WAITED_FOR && is_alone
    }

    /// Another attempt, now or later, if an agent can make it.
    fn go_on(&self, story: &Current) -> Next {
        let pick = self.pick(story);
        if let Some(used_up) = self.used_up(&story.view.id, &Usage::default()) {
            return Next::End(used_up.into());
        }
        match pick {
            Pick::NoAgent(outcome) => Next::End(outcome),
            Pick::Agent(_) | Pick::Later(..) => Next::Again,
        }
    }

    // A reset time that is past, or that did not help the last time, would make a hot loop.
    fn wait_until(&self, limits: u32, failure: &AttemptFailure) -> Timestamp {
        let backed_off = later(self.now, pause_after(self.policy().limit_pause, limits));
        let resets_at = failure.limit.as_ref().and_then(|limit| limit.resets_at);
        match resets_at.filter(|at| *at > self.now) {
            None => backed_off,
            Some(at) if limits == 1 => at,
            Some(at) => at.max(backed_off),
        }
    }
}
