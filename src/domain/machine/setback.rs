//! A failed attempt: park, restore, then try again, wait or give up.

use std::time::Duration;

use jiff::Timestamp;

use super::attempt::Attempt;
use super::carry::told_next;
use super::io::{Effect, TimerKind};
use super::stories::Current;
use super::verdict::Miss;
use super::{Machine, Phase};
use crate::domain::agent_event::Usage;
use crate::domain::event::{Event, Outcome};
use crate::domain::policy::{Consequence, consequence, in_words};

/// A failed attempt on its way to the vault.
#[derive(Debug)]
pub(super) struct Setback {
    attempt: Attempt,
    miss: Miss,
    duration_ms: u64,
}

/// What follows a setback.
enum Next {
    Retry,
    Wait(Timestamp),
    Skip,
    End(Outcome),
}

impl Machine {
    pub(super) fn fail(&mut self, attempt: Attempt, miss: Miss) -> Phase {
        let ticket = self.ask();
        self.emit(Effect::Park {
            ticket,
            attempt: attempt.id.clone(),
            kind: miss.kind,
            reason: miss.reason.clone(),
        });
        let duration_ms = self.ms_since(attempt.started);
        Phase::Parking(Setback {
            attempt,
            miss,
            duration_ms,
        })
    }

    pub(super) fn on_parked(&mut self, setback: Setback, changed_files: usize) -> Phase {
        let ticket = self.ask();
        self.emit(Effect::Restore { ticket });
        Phase::Restoring(setback, changed_files)
    }

    pub(super) fn on_restored(&mut self, setback: Setback, changed_files: usize) -> Phase {
        let Setback {
            attempt,
            miss,
            duration_ms,
        } = setback;
        let Attempt {
            mut story,
            id,
            usage,
            ..
        } = attempt;
        let next = self.after(&mut story, &miss);
        self.announce(Event::AttemptFailed {
            story: id.story.clone(),
            attempt: id.attempt,
            kind: miss.kind,
            reason: miss.reason.clone(),
            parked: id.to_string(),
            changed_files,
            retrying: matches!(next, Next::Retry | Next::Wait(_)),
            duration_ms,
            usage,
        });
        story.previous = told_next(story.previous.take(), miss.kind, miss.told, id);
        match next {
            Next::Retry => self.start_attempt(story),
            Next::Wait(until) => self.wait(story, until, miss.reason),
            Next::Skip => self.skip_story(*story),
            Next::End(outcome) => self.leave_and_end(*story, outcome),
        }
    }

    fn after(&self, story: &mut Current, miss: &Miss) -> Next {
        if self.stop.is_some() {
            return Next::End(Outcome::Stopped);
        }
        match consequence(miss.kind) {
            Consequence::Stop => Next::End(Outcome::Limited {
                reason: miss.reason.clone(),
            }),
            Consequence::Skip => Next::Skip,
            _ if self.skip => Next::Skip,
            Consequence::Retry => self.after_miss(story, miss),
            Consequence::Wait => self.after_limit(story, miss),
        }
    }

    fn after_miss(&self, story: &mut Current, miss: &Miss) -> Next {
        story.limits = 0;
        story.limited_since = None;
        if story.retries_used >= self.policy().max_retries {
            return Next::End(Outcome::Exhausted {
                story: story.view.id.clone(),
                kind: miss.kind,
                reason: miss.reason.clone(),
            });
        }
        story.retries_used += 1;
        match self.used_up(&Usage::default()) {
            Some(reason) => Next::End(Outcome::Limited { reason }),
            None => Next::Retry,
        }
    }

    fn after_limit(&self, story: &mut Current, miss: &Miss) -> Next {
        story.limits = story.limits.saturating_add(1);
        let since = *story.limited_since.get_or_insert(self.now);
        let until = self.wait_until(story.limits, miss);
        let allowed = [
            self.policy().max_wait.map(|most| (since, most)),
            self.policy().budget.time.map(|time| (self.started, time)),
        ];
        for (from, most) in allowed.into_iter().flatten() {
            if until > later(from, most) {
                let reason = format!(
                    "{}; waiting until {until:.0} is longer than the {} allowed",
                    miss.reason.trim_end_matches('.'),
                    in_words(most)
                );
                return Next::End(Outcome::Limited { reason });
            }
        }
        match self.used_up(&Usage::default()) {
            Some(reason) => Next::End(Outcome::Limited { reason }),
            None => Next::Wait(until),
        }
    }

    // A reset time that is past, or that did not help the last time, would make a hot loop.
    fn wait_until(&self, limits: u32, miss: &Miss) -> Timestamp {
        let backed_off = later(self.now, self.policy().backoff.after(limits));
        let resets_at = miss.limit.as_ref().and_then(|limit| limit.resets_at);
        match resets_at.filter(|at| *at > self.now) {
            None => backed_off,
            Some(at) if limits == 1 => at,
            Some(at) => at.max(backed_off),
        }
    }

    fn wait(&mut self, story: Box<Current>, until: Timestamp, reason: String) -> Phase {
        self.announce(Event::Waiting {
            story: story.view.id.clone(),
            reason,
            until,
        });
        self.ask();
        let timer = self.timer(TimerKind::Wait);
        self.emit(Effect::SetTimerAt { timer, at: until });
        Phase::Waiting(story, until)
    }

    pub(super) fn on_waited(&mut self, story: Box<Current>, until: Timestamp) -> Phase {
        if self.now < until {
            let timer = self.timer(TimerKind::Wait);
            self.emit(Effect::SetTimerAt { timer, at: until });
            return Phase::Waiting(story, until);
        }
        self.start_attempt(story)
    }
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
}
