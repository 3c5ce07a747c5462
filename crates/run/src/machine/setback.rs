//! A failed attempt: park, restore, then try again, wait or give up.

use std::time::Duration;

use jiff::Timestamp;

use super::attempt::Attempt;
use super::carry::told_next;
use super::io::{Effect, TimerKind};
use super::standby::Pick;
use super::stories::Current;
use super::verdict::Miss;
use super::{Machine, Phase};
use crate::policy::budget::UsedUp;
use crate::policy::{Consequence, consequence};
use crate::records::event::{Event, Outcome};
use ralph_agents::agent_event::Usage;

/// How often in a row a run waits for an API that is down, without using a retry: about an hour.
const OUTAGES_WAITED_FOR: u32 = 6;

/// A failed attempt on its way to the vault.
#[derive(Debug)]
pub(super) struct Setback {
    attempt: Attempt,
    miss: Miss,
    duration_ms: u64,
}

/// What follows a setback.
enum Next {
    Again,
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
            choice,
            usage,
            ..
        } = attempt;
        let next = self.after(&mut story, &choice.agent, &miss);
        self.announce(Event::AttemptFailed {
            story: id.story.clone(),
            attempt: id.attempt,
            kind: miss.kind,
            reason: miss.reason.clone(),
            parked: id.to_string(),
            changed_files,
            retrying: matches!(next, Next::Again),
            duration_ms,
            usage,
        });
        story.previous = told_next(story.previous.take(), miss.kind, miss.told, id);
        match next {
            Next::Again => self.start_attempt(story),
            Next::Skip => self.skip_story(*story),
            Next::End(outcome) => self.leave_and_end(*story, outcome),
        }
    }

    fn after(&mut self, story: &mut Current, agent: &str, miss: &Miss) -> Next {
        if self.stop.is_some() {
            return Next::End(Outcome::Stopped);
        }
        match consequence(miss.kind) {
            Consequence::Stop => {
                let used_up = self.used_up(&story.view.id, &Usage::default());
                let reason = used_up.map_or_else(|| miss.reason.clone(), UsedUp::in_full);
                Next::End(Outcome::Limited { reason })
            }
            Consequence::Skip => Next::Skip,
            _ if self.skip => Next::Skip,
            Consequence::Retry => {
                self.standby.worked(agent);
                self.after_miss(story, miss)
            }
            Consequence::Wait => self.after_limit(story, agent, miss),
            Consequence::Replace => {
                self.standby.refused(agent, &miss.reason);
                self.go_on(story)
            }
        }
    }

    fn after_miss(&self, story: &mut Current, miss: &Miss) -> Next {
        if story.retries_used >= self.policy().max_retries {
            return Next::End(Outcome::Exhausted {
                story: story.view.id.clone(),
                kind: miss.kind,
                reason: miss.reason.clone(),
            });
        }
        story.retries_used += 1;
        self.go_on(story)
    }

    fn after_limit(&mut self, story: &mut Current, agent: &str, miss: &Miss) -> Next {
        let limits = self.standby.count_limit(agent);
        let until = self.wait_until(limits, miss);
        self.standby.limited(agent, self.now, until, &miss.reason);
        let is_outage = miss.limit.as_ref().is_some_and(|limit| limit.is_outage);
        // An API that stays away may be one that was never there; while others work, it may.
        let is_alone = !matches!(self.pick(story), Pick::Agent(_));
        if is_outage && limits > OUTAGES_WAITED_FOR && is_alone {
            return self.after_miss(story, miss);
        }
        self.go_on(story)
    }

    /// Another attempt, now or later, if somebody can make it.
    fn go_on(&self, story: &Current) -> Next {
        let pick = self.pick(story);
        if let Some(used_up) = self.used_up(&story.view.id, &Usage::default()) {
            let reason = used_up.in_full();
            return Next::End(Outcome::Limited { reason });
        }
        match pick {
            Pick::Nobody(reason) => Next::End(Outcome::Limited { reason }),
            Pick::Agent(_) | Pick::Later(..) => Next::Again,
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

    pub(super) fn wait(&mut self, story: Box<Current>, until: Timestamp, reason: String) -> Phase {
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

/// A moment so much later.
pub(super) fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
}
