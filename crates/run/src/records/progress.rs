//! What every face shows: a pure fold of the records of one run.
//!
//! Totals include the attempt in flight. A run that is resumed goes on in the same fold.

mod estimate;
mod parts;
mod stories;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use self::parts::between;
pub use self::parts::{
    AttemptProgress, AttemptStanding, Doing, Finish, FinishFailure, GateProgress, Header,
    LastFailure, StoryProgress, StoryStanding, Warning,
};
use super::event::{Event, FailureKind, Outcome, Record, Request};
use super::notes::Notes;
use crate::policy::budget::Used;
use ralph_agents::agent_event::{AgentEvent, Usage};
use ralph_base::ids::{AttemptId, StoryId};

/// Where a run stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    /// What the run is about, once it has begun.
    pub header: Option<Header>,
    /// All stories of the change.
    pub stories_total: usize,
    /// Complete stories.
    pub stories_done: usize,
    /// The stories in document order: all of the change, or in old records those it came to.
    pub stories: Vec<StoryProgress>,
    /// What happens right now.
    pub doing: Doing,
    /// The last thing the agent said or did.
    pub activity: Option<AgentEvent>,
    /// Attempts made so far.
    pub attempts: u32,
    /// The story that was done and is open again, and why.
    pub reopened: Option<(StoryId, String)>,
    /// Gates that judge the whole change and were red where the run began.
    pub red_before: Vec<String>,
    /// Gates that were red when they last judged work: in work that is done they were so before.
    pub red_gates: BTreeSet<String>,
    /// Warnings so far.
    pub warnings: Vec<Warning>,
    /// The last attempt that failed.
    pub last_failure: Option<LastFailure>,
    /// The stop the user asked for.
    pub requested: Option<Request>,
    /// A pause was asked for and has not taken effect.
    pub pausing: bool,
    /// The story at hand is about to be skipped.
    pub skipping: bool,
    /// What the user wrote for attempts.
    pub notes: Notes,
    /// Why the loop ended.
    pub outcome: Option<Outcome>,
    /// What became of the branch.
    pub finish: Option<Finish>,
    /// The last finish that was tried did not work.
    pub finish_failure: Option<FinishFailure>,
    /// When the loop started, or went on.
    pub started_at: Option<Timestamp>,
    /// When the loop ended.
    pub ended_at: Option<Timestamp>,
    /// When the last thing happened.
    pub last_at: Option<Timestamp>,
    /// What the attempts that are over used.
    settled: Usage,
    /// What the attempt in flight used so far.
    in_flight: Usage,
    /// How long the parts of the run before it was resumed took.
    earlier: Duration,
    /// The last moment the loop was surely at work.
    worked_until: Option<Timestamp>,
}

impl Progress {
    /// Takes in the next record.
    pub fn apply(&mut self, record: &Record) {
        let at = record.at;
        match &record.event {
            Event::RunStarted { .. } => self.on_run_started(record),
            Event::Recovered { .. } | Event::AgentChanged { .. } | Event::ChoiceNeeded => {}
            Event::Warning { code, message } => self.warnings.push(Warning {
                code: code.clone(),
                message: message.clone(),
            }),
            Event::TamperFound { check, message, .. } => self.warnings.push(Warning {
                code: format!("tamper_{check}"),
                message: format!("{check}: {message}"),
            }),
            Event::StoryStarted { .. } | Event::StorySkipped { .. } => self.on_story(record),
            Event::AttemptStarted { .. } => self.on_attempt_started(record),
            Event::Agent { agent, .. } => self.on_agent(agent),
            Event::GateStarted { .. } | Event::GateFinished { .. } => self.on_gate(record),
            Event::AttemptFailed { .. } => self.on_attempt_failed(&record.event),
            Event::Paused { story } => self.on_paused(story),
            Event::NoteAdded { text } => self.notes.add(text.clone()),
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
            Event::StoryCompleted { .. } => self.on_story_completed(record),
            Event::StoryReopened { story, reason, .. } => self.on_reopened(story, reason),
            Event::Requested { request } => self.on_requested(*request),
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
                self.finish_failure = None;
            }
            Event::FinishFailed {
                choice,
                reason,
                hint,
                begun,
            } => {
                self.finish_failure = Some(FinishFailure {
                    begun: *begun,
                    choice: *choice,
                    reason: reason.clone(),
                    hint: hint.clone(),
                });
            }
        }
        self.started_at.get_or_insert(at);
        self.last_at = Some(at);
        if is_of_a_loop_at_work(&record.event) {
            self.worked_until = Some(at);
        }
    }

    /// Tokens and cost of the run, the attempt in flight included.
    pub fn usage(&self) -> Usage {
        let mut usage = self.settled;
        usage.add(&self.in_flight);
        usage
    }

    /// How long the run took so far; an interruption or the choice at its end does not count.
    pub fn elapsed(&self, now: Timestamp) -> Duration {
        let until = self.ended_at.unwrap_or(now);
        let current = self.started_at.map(|started| between(started, until));
        self.earlier + current.unwrap_or_default()
    }

    /// What the run used so far, without the time since it was last surely at work.
    pub fn used(&self) -> Used {
        Used {
            usage: self.usage(),
            time: self.time_at_work(),
        }
    }

    /// What each story used so far, from its first attempt on.
    pub(crate) fn used_by_stories(&self) -> BTreeMap<StoryId, Used> {
        let until = self.ended_at.or(self.worked_until);
        let tried = self.stories.iter().filter(|it| !it.attempts.is_empty());
        let mut by_story = BTreeMap::new();
        by_story.extend(tried.map(|story| {
            let used = Used {
                usage: story.usage(),
                time: until.map(|at| story.time_tried(at)).unwrap_or_default(),
            };
            (story.id.clone(), used)
        }));
        by_story
    }

    /// The last moment the loop was surely at work.
    pub(crate) const fn worked_until(&self) -> Option<Timestamp> {
        self.worked_until
    }

    /// How long the loop was at work, as far as the records tell.
    pub(crate) fn time_at_work(&self) -> Duration {
        let until = self.ended_at.or(self.worked_until);
        let current = self.started_at.zip(until);
        let current = current.map(|(started, until)| between(started, until));
        self.earlier + current.unwrap_or_default()
    }

    /// The story that is worked on.
    pub fn current_story(&self) -> Option<&StoryProgress> {
        let is_running = |story: &&StoryProgress| story.state == StoryStanding::Running;
        self.stories.iter().find(is_running)
    }

    fn story_mut(&mut self, id: &StoryId) -> Option<&mut StoryProgress> {
        self.stories.iter_mut().find(|story| story.id == *id)
    }

    fn on_requested(&mut self, request: Request) {
        match request {
            Request::Stop | Request::StopNow => self.requested = Some(request),
            Request::Pause => self.pausing = true,
            Request::Skip => self.skipping = true,
            Request::GoOn | Request::TryNow => {}
        }
        if request == Request::GoOn {
            self.pausing = false;
        }
        let is_held = matches!(self.doing, Doing::Paused { .. } | Doing::Waiting { .. });
        if is_held && matches!(request, Request::GoOn | Request::TryNow) {
            self.doing = Doing::Between;
        }
    }

    fn on_paused(&mut self, story: &StoryId) {
        self.pausing = false;
        self.doing = Doing::Paused {
            story: story.clone(),
        };
    }

    fn on_run_started(&mut self, record: &Record) {
        let Event::RunStarted {
            change,
            branch,
            original,
            original_commit,
            agent,
            model,
            stories_total,
            stories_done,
            max_retries,
            gates,
            resumed,
            stories,
            budget,
            story_budget,
            fallback: _,
        } = &record.event
        else {
            return;
        };
        let last = self.ended_at.or(self.worked_until).unwrap_or(record.at);
        self.break_off(last);
        if let Some(started) = self.started_at {
            self.earlier += between(started, last);
        }
        self.lay_out(stories);
        self.started_at = Some(record.at);
        self.ended_at = None;
        self.stories_total = *stories_total;
        self.stories_done = *stories_done;
        self.doing = Doing::Between;
        self.requested = None;
        self.pausing = false;
        self.skipping = false;
        self.outcome = None;
        self.finish = None;
        self.finish_failure = None;
        self.header = Some(Header {
            run: record.run.clone(),
            change: change.clone(),
            branch: branch.clone(),
            original: original.clone(),
            original_commit: original_commit.clone(),
            agent: agent.clone(),
            model: model.clone(),
            max_retries: *max_retries,
            gates: gates.clone(),
            resumed: *resumed,
            budget: *budget,
            story_budget: *story_budget,
        });
    }

    fn on_attempt_started(&mut self, record: &Record) {
        let Event::AttemptStarted {
            story,
            attempt,
            max_attempts,
            transcript,
            base,
            output,
            agent,
        } = &record.event
        else {
            return;
        };
        if let (Some(header), Some(agent)) = (&mut self.header, agent) {
            header.agent.clone_from(&agent.agent);
            header.model.clone_from(&agent.model);
        }
        self.notes.deliver(story);
        self.attempts += 1;
        self.activity = None;
        self.doing = Doing::Working {
            story: story.clone(),
            attempt: *attempt,
            since: record.at,
        };
        let Some(progress) = self.story_mut(story) else {
            return;
        };
        progress.attempts.push(AttemptProgress {
            number: *attempt,
            max_attempts: *max_attempts,
            started_at: record.at,
            transcript: transcript.clone(),
            base: base.clone(),
            output: *output,
            agent: agent.clone(),
            usage: Usage::default(),
            prices: None,
            state: AttemptStanding::Running,
        });
        progress.tried_since.get_or_insert(record.at);
    }

    fn on_agent(&mut self, agent: &AgentEvent) {
        if let AgentEvent::Usage { usage, prices } = agent {
            self.in_flight = *usage;
            if let Some(attempt) = self.running_attempt() {
                attempt.usage = *usage;
                attempt.prices.clone_from(prices);
            }
            return;
        }
        // An empty line says nothing of what the agent is at.
        let is_blank = matches!(agent, AgentEvent::Text { text } if text.trim().is_empty());
        if !is_blank {
            self.activity = Some(agent.clone());
        }
    }

    fn on_attempt_failed(&mut self, event: &Event) {
        let Event::AttemptFailed {
            story,
            attempt,
            kind,
            reason,
            parked,
            changed_files,
            duration_ms,
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
            parked: parked.clone(),
            changed_files: *changed_files,
            duration: Duration::from_millis(*duration_ms),
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
        self.break_off(record.at);
        self.pausing = false;
        self.skipping = false;
        self.ended_at = Some(record.at);
        self.doing = Doing::Ended;
        self.stories_done = *stories_done;
        self.stories_total = *stories_total;
        self.outcome = Some(outcome.clone());
    }

    /// Whatever still runs will not end properly any more.
    fn break_off(&mut self, at: Timestamp) {
        self.settle(AttemptStanding::Interrupted);
        for story in &mut self.stories {
            if story.state == StoryStanding::Running {
                story.rest(at, StoryStanding::Unfinished);
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
        let stories = self.stories.iter_mut();
        let mut attempts = stories.filter_map(|story| story.attempts.last_mut());
        attempts.find(|attempt| attempt.state == AttemptStanding::Running)
    }
}

/// Whether only a loop at work says this: all else may be said by the next start, much later.
const fn is_of_a_loop_at_work(event: &Event) -> bool {
    match event {
        Event::Recovered { .. }
        | Event::Warning { .. }
        | Event::StoryCompleted { .. }
        | Event::Finished { .. }
        | Event::FinishFailed { .. } => false,
        Event::AttemptFailed { kind, .. } => !matches!(kind, FailureKind::Interrupted),
        _ => true,
    }
}
