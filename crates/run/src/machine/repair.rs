//! The rounds of an attempt: its agent's session goes on in the same tree, to repair what a check
//! found, or after a limit that interrupted it. What was parked is never continued.

use jiff::Timestamp;

use super::availability::Pick;
use super::held::Held;
use super::io::{AgentRequest, Continuation, Step};
use super::session::{Attempt, Cause};
use super::verdict::AttemptFailure;
use super::{Machine, Phase};
use crate::policy::{Consequence, consequence, is_repairable};
use crate::records::event::{AttemptContinued, Event, FailureKind, RepairStarted};
use ralph_agents::agent_event::Usage;

/// What is done about a failure.
#[derive(Debug)]
pub(super) enum Remedy {
    /// The session goes on now, to repair it.
    Repair,
    /// The session goes on at this moment; until then the run waits, for this reason.
    Wait(Timestamp, String),
    /// The session goes on once the user has answered.
    Ask,
    /// The attempt is parked.
    Park,
}

impl Machine {
    /// What is done about a failure of an attempt; `uses_retry` says whether it counts.
    pub(super) fn remedy(
        &self,
        attempt: &Attempt,
        failure: &AttemptFailure,
        uses_retry: bool,
    ) -> Remedy {
        if !self.has_open_session(attempt) {
            return Remedy::Park;
        }
        match consequence(failure.kind) {
            Consequence::Retry if self.can_repair(attempt, failure) => Remedy::Repair,
            Consequence::Wait if !uses_retry => match self.pick(&attempt.story) {
                Pick::Later(until, reason) => Remedy::Wait(until, reason),
                // Another agent takes over, or nobody waits that long.
                Pick::Agent(_) | Pick::NoAgent(_) => Remedy::Park,
            },
            Consequence::Ask if self.waits_for_answer(&attempt.id.story) => Remedy::Ask,
            _ => Remedy::Park,
        }
    }

    /// Whether the session of an attempt can go on, whatever failed.
    fn has_open_session(&self, attempt: &Attempt) -> bool {
        let session = &attempt.session;
        let total = self.policy().total_timeout;
        let has_time = total.is_none_or(|bound| session.worked < bound);
        let is_wanted = self.stop.is_none() && !self.skip;
        is_wanted && has_time && session.id.is_some()
    }

    fn can_continue(&self, attempt: &Attempt, failure: &AttemptFailure) -> bool {
        self.has_open_session(attempt) && self.can_repair(attempt, failure)
    }

    fn can_repair(&self, attempt: &Attempt, failure: &AttemptFailure) -> bool {
        let session = &attempt.session;
        let has_stalled = session
            .open
            .as_ref()
            .is_some_and(|open| open.is_same_as(failure));
        is_repairable(failure.kind)
            && session.repairs < self.policy().repairs
            && !has_stalled
            && self.used_up(&attempt.id.story, &Usage::default()).is_none()
    }

    /// The agent is to repair what failed.
    pub(super) fn repair(&mut self, mut attempt: Attempt, failure: AttemptFailure) -> Phase {
        self.availability.worked(&attempt.choice.agent);
        let session = &mut attempt.session;
        session.repairs += 1;
        attempt.story.repairs += 1;
        session.cause = Some(Cause::Repair(failure.clone()));
        // An agent that ended before its promise is still to repair what a check had found.
        match &session.open {
            Some(open) if is_check(open.kind) && !is_check(failure.kind) => {}
            _ => session.open = Some(failure),
        }
        self.start_round(attempt)
    }

    /// The session goes on once a limit is over; tree and session stay as they are.
    pub(super) fn wait_in_session(
        &mut self,
        mut attempt: Attempt,
        failure: AttemptFailure,
        until: Timestamp,
        reason: String,
    ) -> Phase {
        attempt.session.cause = Some(Cause::LimitOver);
        // What the agent was to repair when the limit came is still to be repaired.
        attempt.session.open.get_or_insert(failure);
        self.wait(Held::Round(Box::new(attempt)), until, reason)
    }

    /// Starts the next round of an attempt.
    pub(super) fn start_round(&mut self, mut attempt: Attempt) -> Phase {
        if let Some(used_up) = self.used_up(&attempt.id.story, &Usage::default()) {
            return self.park(attempt, AttemptFailure::budget(used_up.reason), false);
        }
        if self.pause {
            // What the user edits during the pause must not pass for what gates changed.
            self.request(Step::UndoGates);
            return Phase::UndoingGates(Box::new(attempt));
        }
        let session = &mut attempt.session;
        session.earlier += 1;
        session.used.add(&std::mem::take(&mut attempt.usage));
        let known = session.id.clone().zip(session.cause.as_ref());
        let continues = known.map(|(id, cause)| {
            Box::new(Continuation {
                session: id,
                round: session.earlier + 1,
                message: cause.message(),
                used: session.used,
            })
        });
        let notes = self.notes.deliver(&attempt.id.story);
        self.request(Step::StartAgent(AgentRequest {
            attempt: attempt.id.clone(),
            choice: attempt.choice.clone(),
            previous: None,
            notes,
            continues,
        }));
        self.watch_agent(attempt)
    }

    /// The tree of an attempt is ready for a pause.
    pub(super) fn on_gates_undone(&mut self, attempt: Box<Attempt>) -> Phase {
        let held = Held::Round(attempt);
        if self.stop.is_some() {
            self.stop_held(held)
        } else if self.skip {
            self.skip_held(held)
        } else if self.pause {
            self.hold(held)
        } else {
            self.start_held(held)
        }
    }

    /// The event that says a session goes on; none for the first round of an attempt.
    pub(super) fn continued(&self, attempt: &Attempt) -> Option<Event> {
        let session = &attempt.session;
        let (story, number) = (attempt.id.story.clone(), attempt.id.attempt);
        Some(match session.cause.as_ref()? {
            Cause::LimitOver | Cause::Answered => Event::AttemptContinued(AttemptContinued {
                story,
                attempt: number,
            }),
            Cause::Repair(failure) => Event::RepairStarted(RepairStarted {
                story,
                attempt: number,
                repair: session.repairs,
                max_repairs: self.policy().repairs,
                kind: failure.kind,
                gate: failure.gate.clone(),
                reason: failure.reason.clone(),
            }),
        })
    }

    /// An agent process ended without a promise that counts.
    pub(super) fn on_round_failed(
        &mut self,
        attempt: Attempt,
        failure: AttemptFailure,
        began: bool,
    ) -> Phase {
        let Some(open) = attempt.session.open.clone() else {
            return self.fail(attempt, failure);
        };
        let is_check = is_check(open.kind);
        match failure.kind {
            // The next attempt starts a new session; its prompt says what the check had found.
            FailureKind::Crashed | FailureKind::Overflow if !began => {
                let why = &failure.reason;
                let message = format!("the agent's session could not be continued: {why}");
                self.warn("repair_failed", message);
                let uses_retry = consequence(open.kind) == Consequence::Retry;
                self.park(attempt, open, uses_retry)
            }
            // No repair is left: what is wrong is still what the check had found.
            FailureKind::NoSignal | FailureKind::Crashed | FailureKind::Overflow
                if is_check && !self.can_continue(&attempt, &failure) =>
            {
                if failure.kind != FailureKind::NoSignal {
                    let message = format!("the repair was interrupted: {}", failure.reason);
                    self.warn("repair_failed", message);
                }
                self.park(attempt, open, true)
            }
            FailureKind::Silent | FailureKind::Timeout if is_check => {
                let failure = failure.after(&open);
                self.fail(attempt, failure)
            }
            _ => self.fail(attempt, failure),
        }
    }
}

/// Whether a check found it, and not the end of the agent.
const fn is_check(kind: FailureKind) -> bool {
    is_repairable(kind)
        && !matches!(
            kind,
            FailureKind::NoSignal | FailureKind::Crashed | FailureKind::Silent
        )
}
