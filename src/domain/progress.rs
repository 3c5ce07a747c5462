//! What every face shows: a pure fold of the records of one run.
//!
//! Totals include the attempt in flight. A run that is resumed goes on in the same fold.

mod parts;
#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::Timestamp;

pub(crate) use self::parts::{
    AttemptProgress, AttemptStanding, Doing, Finish, Header, LastFailure, StoryProgress,
    StoryStanding, Warning,
};
use super::agent_event::{AgentEvent, Usage};
use super::event::{Event, Outcome, Record, Request};
use super::ids::AttemptId;

/// Where a run stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Progress {
    /// What the run is about, once it has begun.
    pub(crate) header: Option<Header>,
    /// All stories of the change.
    pub(crate) stories_total: usize,
    /// Complete stories.
    pub(crate) stories_done: usize,
    /// The stories this run came to, in that order.
    pub(crate) stories: Vec<StoryProgress>,
    /// What happens right now.
    pub(crate) doing: Doing,
    /// The last thing the agent said or did.
    pub(crate) activity: Option<AgentEvent>,
    /// Attempts made so far.
    pub(crate) attempts: u32,
    /// Warnings so far.
    pub(crate) warnings: Vec<Warning>,
    /// The last attempt that failed.
    pub(crate) last_failure: Option<LastFailure>,
    /// What the user asked for.
    pub(crate) requested: Option<Request>,
    /// Why the loop ended.
    pub(crate) outcome: Option<Outcome>,
    /// What became of the branch.
    pub(crate) finish: Option<Finish>,
    /// When the loop started, or went on.
    pub(crate) started_at: Option<Timestamp>,
    /// When the loop ended.
    pub(crate) ended_at: Option<Timestamp>,
    /// When the last thing happened.
    pub(crate) last_at: Option<Timestamp>,
    /// What the attempts that are over used.
    settled: Usage,
    /// What the attempt in flight used so far.
    in_flight: Usage,
    /// How long the parts of the run before it was resumed took.
    earlier: Duration,
}

impl Progress {
    /// Takes in the next record.
    pub(crate) fn apply(&mut self, record: &Record) {
        let at = record.at;
        match &record.event {
            Event::RunStarted { .. } => self.on_run_started(record),
            Event::Recovered { .. } => {}
            Event::Warning { code, message } => self.warnings.push(Warning {
                code: code.clone(),
                message: message.clone(),
            }),
            Event::StoryStarted { .. } | Event::StorySkipped { .. } => self.on_story(record),
            Event::AttemptStarted { .. } => self.on_attempt_started(record),
            Event::Agent { agent, .. } => self.on_agent(agent),
            Event::GateStarted { .. } | Event::GateFinished { .. } => self.on_gate(record),
            Event::AttemptFailed { .. } => self.on_attempt_failed(&record.event),
            Event::Waiting {
                story,
                reason,
                until,
            } => {
                self.doing = Doing::Waiting {
                    story: story.clone(),
                    reason: reason.clone(),
                    until: *until,
                };
            }
            Event::StoryCompleted { .. } => self.on_story_completed(&record.event),
            Event::Requested { request } => self.requested = Some(*request),
            Event::RunEnded { .. } => self.on_run_ended(record),
            Event::Finished {
                choice,
                head,
                changed_files,
                ..
            } => {
                self.finish = Some(Finish {
                    choice: *choice,
                    head: head.clone(),
                    changed_files: *changed_files,
                });
            }
        }
        self.started_at.get_or_insert(at);
        self.last_at = Some(at);
    }

    /// Tokens and cost of the run, the attempt in flight included.
    pub(crate) fn usage(&self) -> Usage {
        let mut usage = self.settled;
        usage.add(&self.in_flight);
        usage
    }

    fn on_run_started(&mut self, record: &Record) {
        let Event::RunStarted {
            change,
            branch,
            original,
            original_commit: _,
            agent,
            model,
            stories_total,
            stories_done,
            max_retries,
            gates,
            resumed,
        } = &record.event
        else {
            return;
        };
        self.break_off();
        if let (Some(started), Some(last)) = (self.started_at, self.ended_at.or(self.last_at)) {
            self.earlier += between(started, last);
        }
        self.started_at = Some(record.at);
        self.ended_at = None;
        self.stories_total = *stories_total;
        self.stories_done = *stories_done;
        self.doing = Doing::Between;
        self.requested = None;
        self.outcome = None;
        self.finish = None;
        self.header = Some(Header {
            run: record.run.clone(),
            change: change.clone(),
            branch: branch.clone(),
            original: original.clone(),
            agent: agent.clone(),
            model: model.clone(),
            max_retries: *max_retries,
            gates: gates.clone(),
            resumed: *resumed,
        });
    }

    fn on_story(&mut self, record: &Record) {
        let (id, title, position, state) = match &record.event {
            Event::StoryStarted {
                story,
                title,
                position,
                total,
                ..
            } => {
                self.stories_total = *total;
                self.doing = Doing::Between;
                (story, title, Some(*position), StoryStanding::Running)
            }
            Event::StorySkipped {
                story,
                title,
                reason,
            } => {
                let reason = reason.clone();
                (story, title, None, StoryStanding::Skipped { reason })
            }
            _ => return,
        };
        // A story taken up again after an interruption keeps its attempts and moves to the end.
        let place = self.stories.iter().position(|story| story.id == *id);
        let before = place.map(|place| self.stories.remove(place));
        self.stories.push(StoryProgress {
            id: id.clone(),
            title: title.clone(),
            position,
            state,
            started_at: before.as_ref().map_or(record.at, |story| story.started_at),
            attempts: before.map(|story| story.attempts).unwrap_or_default(),
        });
    }

    fn on_attempt_started(&mut self, record: &Record) {
        let Event::AttemptStarted {
            story,
            attempt,
            max_attempts,
            transcript,
        } = &record.event
        else {
            return;
        };
        self.attempts += 1;
        self.activity = None;
        self.doing = Doing::Working {
            story: story.clone(),
            attempt: *attempt,
            since: record.at,
        };
        let Some(progress) = self.stories.iter_mut().find(|it| it.id == *story) else {
            return;
        };
        progress.attempts.push(AttemptProgress {
            number: *attempt,
            max_attempts: *max_attempts,
            started_at: record.at,
            transcript: transcript.clone(),
            usage: Usage::default(),
            state: AttemptStanding::Running,
        });
    }

    fn on_agent(&mut self, agent: &AgentEvent) {
        if let AgentEvent::Usage { usage } = agent {
            self.in_flight = *usage;
            if let Some(attempt) = self.running_attempt() {
                attempt.usage = *usage;
            }
            return;
        }
        self.activity = Some(agent.clone());
    }

    fn on_gate(&mut self, record: &Record) {
        match &record.event {
            Event::GateStarted {
                story,
                gate,
                baseline,
            } => {
                self.doing = Doing::Gate {
                    story: story.clone(),
                    gate: gate.clone(),
                    baseline: *baseline,
                    since: record.at,
                };
            }
            _finished => self.doing = Doing::Between,
        }
    }

    fn on_attempt_failed(&mut self, event: &Event) {
        let Event::AttemptFailed {
            story,
            attempt,
            kind,
            reason,
            changed_files,
            usage,
            ..
        } = event
        else {
            return;
        };
        self.in_flight = *usage;
        let state = AttemptStanding::Failed {
            kind: *kind,
            reason: reason.clone(),
        };
        self.settle(state);
        self.doing = Doing::Between;
        self.last_failure = Some(LastFailure {
            attempt: AttemptId {
                story: story.clone(),
                attempt: *attempt,
            },
            kind: *kind,
            reason: reason.clone(),
            changed_files: *changed_files,
        });
    }

    fn on_story_completed(&mut self, event: &Event) {
        let Event::StoryCompleted {
            story,
            commit,
            changed_files,
            duration_ms,
            ..
        } = event
        else {
            return;
        };
        self.settle(AttemptStanding::Succeeded);
        self.doing = Doing::Between;
        self.stories_done = (self.stories_done + 1).min(self.stories_total);
        if let Some(progress) = self.stories.iter_mut().find(|it| it.id == *story) {
            progress.state = StoryStanding::Completed {
                commit: commit.clone(),
                changed_files: *changed_files,
                duration: Duration::from_millis(*duration_ms),
            };
        }
    }

    fn on_run_ended(&mut self, record: &Record) {
        let Event::RunEnded {
            outcome,
            stories_done,
            stories_total,
            ..
        } = &record.event
        else {
            return;
        };
        self.break_off();
        self.ended_at = Some(record.at);
        self.doing = Doing::Ended;
        self.stories_done = *stories_done;
        self.stories_total = *stories_total;
        self.outcome = Some(outcome.clone());
    }

    /// Whatever still runs will not end properly any more.
    fn break_off(&mut self) {
        self.settle(AttemptStanding::Interrupted);
        for story in &mut self.stories {
            if story.state == StoryStanding::Running {
                story.state = StoryStanding::Unfinished;
            }
        }
    }

    /// Decides the attempt in flight and adds what it used to the total.
    fn settle(&mut self, state: AttemptStanding) {
        let usage = std::mem::take(&mut self.in_flight);
        self.settled.add(&usage);
        self.activity = None;
        if let Some(attempt) = self.running_attempt() {
            attempt.usage = usage;
            attempt.state = state;
        }
    }

    fn running_attempt(&mut self) -> Option<&mut AttemptProgress> {
        let attempt = self.stories.last_mut()?.attempts.last_mut()?;
        (attempt.state == AttemptStanding::Running).then_some(attempt)
    }
}

fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}
