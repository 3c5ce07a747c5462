//! One agent's life: start, words, timers, final message, end.

use std::time::Duration;

use jiff::Timestamp;

use super::availability::Pick;
use super::held::Held;
use super::io::{AgentEnd, AgentExit, AgentRequest, AgentStart, Answer, Effect, Step, TimerKind};
use super::session::{Attempt, Session};
use super::stories::Current;
use super::verdict::{AttemptFailure, Ending, judge};
use super::{Machine, Phase};
use crate::policy::{STOP_GRACE, in_words};
use crate::records::event::{AttemptStarted, Event, FailureKind, Outcome};
use crate::words::{between, quoted};
use ralph_agents::agent_event::{AgentEvent, Usage, first_chars};

/// How much of the agent's words is kept to say where it was.
const PLACE_CHARS: usize = 200;

/// An attempt whose agent is alive.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) attempt: Attempt,
    announced: bool,
    /// When this agent process was started.
    started: Timestamp,
    last_active: Timestamp,
    /// The last thing it did or said.
    place: Option<String>,
    armed: Vec<TimerKind>,
    pub(super) ending: Ending,
}

impl Machine {
    pub(super) fn start_attempt(&mut self, mut story: Box<Current>) -> Phase {
        if let Some(used_up) = self.used_up(&story.view.id, &Usage::default()) {
            return self.leave_and_end(*story, used_up.into());
        }
        if self.pause {
            return self.hold(Held::Attempt(story));
        }
        let choice = match self.pick(&story) {
            Pick::Agent(choice) => choice,
            Pick::Later(until, reason) => {
                return self.wait(Held::Attempt(story), until, reason);
            }
            Pick::NoAgent(outcome) => return self.leave_and_end(*story, outcome),
        };
        self.announce_choice(&story, &choice);
        // It may ask again.
        self.questions.remove(&story.view.id);
        let id = self.next_attempt(&story.view.id);
        self.attempts.insert(id.story.clone(), id.attempt.0);
        let notes = self.notes.deliver(&id.story);
        story.started.get_or_insert(self.now);
        self.ledger.start_clock(&id.story, self.now);
        self.request(Step::StartAgent(AgentRequest {
            attempt: id.clone(),
            choice: choice.clone(),
            previous: story.carry.previous.clone(),
            notes,
            continues: None,
        }));
        self.watch_agent(Attempt {
            story,
            id,
            choice,
            started: self.now,
            usage: Usage::default(),
            session: Session::default(),
            model: None,
            prices: None,
        })
    }

    /// Waits for what an agent process does that was just asked for.
    pub(super) fn watch_agent(&self, attempt: Attempt) -> Phase {
        Phase::Working(Work {
            attempt,
            announced: false,
            started: self.now,
            last_active: self.now,
            place: None,
            armed: Vec::new(),
            ending: Ending::Open,
        })
    }

    pub(super) fn on_agent(&mut self, mut work: Work, answer: Answer) -> Phase {
        match answer {
            Answer::AgentStarted(start) => self.on_agent_started(&mut work, start),
            Answer::AgentSaid(event) => self.on_agent_said(&mut work, event),
            Answer::AgentActive => work.last_active = self.now,
            Answer::AgentFinal => self.on_agent_final(&mut work),
            Answer::AgentEnded(end) => return self.on_agent_ended(work, &end),
            _stray => {}
        }
        Phase::Working(work)
    }

    fn on_agent_started(&mut self, work: &mut Work, start: AgentStart) {
        if work.announced {
            return;
        }
        self.announce_process(work, start);
        work.last_active = self.now;
        let policy = self.policy();
        let left = |bound: Duration| bound.saturating_sub(work.attempt.session.worked);
        let timers = [
            (TimerKind::Idle, policy.idle_timeout),
            (TimerKind::Total, policy.total_timeout.map(left)),
            (
                TimerKind::Budget,
                self.next_budget_check(&work.attempt.id.story),
            ),
        ];
        for (kind, after) in timers {
            if let Some(after) = after {
                self.arm(work, kind, after);
            }
        }
    }

    fn announce_process(&mut self, work: &mut Work, start: AgentStart) {
        work.announced = true;
        if let Some(event) = self.continued(&work.attempt) {
            return self.announce(event);
        }
        self.tally.attempts += 1;
        let Attempt {
            story, id, choice, ..
        } = &work.attempt;
        let retries_left = self
            .policy()
            .max_retries
            .saturating_sub(story.carry.retries_used);
        self.announce(Event::AttemptStarted(AttemptStarted {
            story: id.story.clone(),
            attempt: id.attempt,
            // Attempts that used no retry make room for another one.
            max_attempts: id.attempt.0.saturating_add(retries_left),
            uncounted: id.attempt.0.saturating_sub(story.carry.retries_used + 1),
            transcript: start.transcript,
            base: start.base,
            output: start.output,
            agent: Some(choice.clone()),
        }));
    }

    fn on_agent_said(&mut self, work: &mut Work, mut event: AgentEvent) {
        if !work.announced {
            return;
        }
        work.last_active = self.now;
        match &mut event {
            AgentEvent::Usage { usage, prices } => {
                self.price(&mut work.attempt, *usage);
                *usage = work.attempt.total_usage();
                prices.clone_from(&work.attempt.prices);
            }
            AgentEvent::Session {
                model: Some(model), ..
            } => work.attempt.model = Some(model.clone()),
            AgentEvent::Text { text } => work.place = first_line(text),
            AgentEvent::ToolCall { tool, summary } => {
                work.place = first_line(&format!("{tool}: {summary}"));
            }
            _ => {}
        }
        self.take_back_final(work, &event);
        let refused = match &event {
            AgentEvent::Auth { cause, message } => Some((*cause, message.clone())),
            _ => None,
        };
        let gave_up = matches!(event, AgentEvent::Limit { .. });
        self.announce(Event::Agent {
            story: work.attempt.id.story.clone(),
            attempt: work.attempt.id.attempt,
            agent: event,
        });
        let story = work.attempt.id.story.clone();
        self.warn_of_budget(&story, &work.attempt.usage);
        if work.ending != Ending::Open {
            return;
        }
        if let Some((cause, message)) = refused {
            // It would only go on trying.
            self.end_agent(work, AttemptFailure::refused(cause, message));
        } else if let Some(used_up) = self.used_up(&story, &work.attempt.usage) {
            self.end_agent(work, AttemptFailure::budget(used_up.reason));
        } else if gave_up {
            // It may exit by itself, or go on after all; some wait without end.
            self.on_agent_final(work);
        }
    }

    // An agent that goes on working had not given its final message after all.
    fn take_back_final(&mut self, work: &mut Work, event: &AgentEvent) {
        let goes_on = matches!(
            event,
            AgentEvent::Text { .. } | AgentEvent::Thinking { .. } | AgentEvent::ToolCall { .. }
        );
        if goes_on && work.ending == Ending::Grace {
            work.ending = Ending::Open;
            self.disarm(work, TimerKind::FinalGrace);
        }
    }

    fn on_agent_final(&mut self, work: &mut Work) {
        work.last_active = self.now;
        if work.ending == Ending::Open {
            work.ending = Ending::Grace;
            self.arm(work, TimerKind::FinalGrace, self.policy().final_grace);
        }
    }

    fn on_agent_ended(&mut self, mut work: Work, end: &AgentEnd) -> Phase {
        self.disarm_all(&mut work);
        if !work.announced {
            self.announce_process(&mut work, AgentStart::default());
        }
        self.settle_usage(&mut work.attempt, end.usage);
        let mut attempt = work.attempt;
        let session = end.session.clone();
        // A program that could not be started has no session.
        attempt.session.id = session.filter(|_| !matches!(end.exit, AgentExit::Code(126 | 127)));
        attempt.session.worked += between(work.started, self.now);
        attempt.story.usage.add(&attempt.usage);
        self.tally.usage.add(&attempt.usage);
        self.ledger.add(&attempt.id.story, &attempt.usage);
        self.report_processes(end);
        self.report_cost(
            &attempt.choice,
            attempt.model.as_deref(),
            &attempt.usage,
            end,
        );
        self.warn_of_budget(&attempt.id.story, &Usage::default());
        if let Some(outcome) = still_alive(&end.still_running) {
            return self.end(outcome);
        }
        match judge(end, work.ending) {
            Ok(warning) => {
                if let Some(message) = warning {
                    self.warn("odd_exit", message);
                }
                self.request(Step::CheckStory(attempt.id.story.clone()));
                Phase::Checking(attempt)
            }
            Err(failure) => self.on_round_failed(attempt, failure, end.began),
        }
    }

    fn report_processes(&mut self, end: &AgentEnd) {
        if !end.swept.is_empty() {
            let left = quoted(&end.swept);
            let message = format!("the agent left processes running, which were ended: {left}");
            self.warn("swept", message);
        }
    }

    // Announced, so that a fold of the events comes to the same totals.
    fn settle_usage(&mut self, attempt: &mut Attempt, at_end: Option<Usage>) {
        let before = attempt.usage;
        if let Some(told) = at_end {
            self.price(attempt, told);
        }
        if attempt.usage == before {
            return;
        }
        let usage = attempt.total_usage();
        let prices = attempt.prices.clone();
        self.announce(Event::Agent {
            story: attempt.id.story.clone(),
            attempt: attempt.id.attempt,
            agent: AgentEvent::Usage { usage, prices },
        });
    }

    pub(super) fn on_timer(&mut self, phase: Phase, kind: TimerKind) -> Phase {
        match phase {
            Phase::Working(mut work) => {
                work.armed.retain(|armed| *armed != kind);
                self.on_agent_timer(&mut work, kind);
                Phase::Working(work)
            }
            Phase::Waiting(held, until) => self.on_waited(held, until),
            Phase::Reviewing(mut review) => {
                self.on_review_timer(&mut review, kind);
                Phase::Reviewing(review)
            }
            Phase::AwaitingAnswer(awaited) => self.on_answer_due(awaited),
            Phase::Baseline(_) | Phase::Gating(_) | Phase::Whole(_)
                if kind == TimerKind::Budget =>
            {
                self.check_gate_budget();
                phase
            }
            phase => phase,
        }
    }

    fn on_agent_timer(&mut self, work: &mut Work, kind: TimerKind) {
        match (kind, &work.ending) {
            (TimerKind::FinalGrace, Ending::Grace) => {
                work.ending = Ending::AfterFinal;
                self.end_lingering();
            }
            // While the agent may exit by itself other bounds wait; it may yet go on working.
            (_, Ending::Grace) => self.arm(work, kind, self.policy().final_grace),
            (TimerKind::Idle, Ending::Open) => self.on_idle(work),
            (TimerKind::Total, Ending::Open) => self.on_total(work),
            (TimerKind::Budget, Ending::Open) => self.on_budget_timer(work),
            _ => {}
        }
    }

    // Said at once, whatever its message was: a promise that failed is no reason to hide it.
    fn end_lingering(&mut self) {
        let grace = in_words(self.policy().final_grace);
        let message =
            format!("the agent did not exit within {grace} of its final message and was stopped");
        self.warn("lingering", message);
        self.emit(Effect::StopProcess { grace: STOP_GRACE });
    }

    // Activity does not touch the timer; it is armed again only here.
    fn on_idle(&mut self, work: &mut Work) {
        let Some(bound) = self.policy().idle_timeout else {
            return;
        };
        let quiet = self.since(work.last_active);
        if quiet < bound {
            return self.arm(work, TimerKind::Idle, bound.saturating_sub(quiet));
        }
        let how = format!("silent for {}", in_words(bound));
        let failure = AttemptFailure::timeout(FailureKind::Silent, &how, work.place.as_deref());
        self.end_agent(work, failure);
    }

    fn on_total(&mut self, work: &mut Work) {
        let Some(bound) = self.policy().total_timeout else {
            return;
        };
        let how = format!("took longer than {}", in_words(bound));
        let failure = AttemptFailure::timeout(FailureKind::Timeout, &how, work.place.as_deref());
        self.end_agent(work, failure);
    }

    fn on_budget_timer(&mut self, work: &mut Work) {
        let story = work.attempt.id.story.clone();
        self.warn_of_budget(&story, &work.attempt.usage);
        if let Some(used_up) = self.used_up(&story, &work.attempt.usage) {
            return self.end_agent(work, AttemptFailure::budget(used_up.reason));
        }
        if let Some(after) = self.next_budget_check(&story) {
            self.arm(work, TimerKind::Budget, after);
        }
    }

    fn end_agent(&mut self, work: &mut Work, failure: AttemptFailure) {
        work.ending = Ending::Failed(failure);
        self.emit(Effect::StopProcess { grace: STOP_GRACE });
    }

    fn arm(&mut self, work: &mut Work, kind: TimerKind, after: Duration) {
        work.armed.push(kind);
        self.set_timer(kind, after);
    }

    fn disarm(&mut self, work: &mut Work, kind: TimerKind) {
        work.armed.retain(|armed| *armed != kind);
        self.cancel_timer(kind);
    }

    /// Forgets the timers of an agent that is gone.
    pub(super) fn disarm_all(&mut self, work: &mut Work) {
        for kind in std::mem::take(&mut work.armed) {
            self.cancel_timer(kind);
        }
    }
}

/// The end of the run where processes of the attempt cannot be ended: they could write into the tree
/// while it is restored or committed. The attempt stays open; the next start parks and restores it.
pub(super) fn still_alive(left: &[String]) -> Option<Outcome> {
    if left.is_empty() {
        return None;
    }
    Some(Outcome::Broken {
        reason: format!(
            "processes of the attempt are still alive and cannot be ended: {}; the tree was not \
             restored",
            quoted(left)
        ),
        hint: "no work was lost: end them (`kill -9 PID`), then `ralphtool resume` parks the attempt and restores the tree"
            .to_owned(),
    })
}

fn first_line(text: &str) -> Option<String> {
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    Some(first_chars(line.trim(), PLACE_CHARS).to_owned())
}
