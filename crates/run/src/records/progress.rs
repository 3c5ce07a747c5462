//! What every face shows: a pure fold of the records of one run.
//!
//! Totals include the attempt in flight. A run that is resumed goes on in the same fold.

mod figures;
mod gates;
mod left;
mod parts;
mod reviews;
#[cfg(test)]
mod tests;
mod verification;
mod warning;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

pub use self::figures::{Figures, KnownCost};
pub use self::gates::{FlakyGate, GateProgress, GateStanding, RedTry};
pub use self::parts::{
    AttemptProgress, AttemptStanding, Commit, Doing, StoryProgress, StoryStanding,
};
pub use self::reviews::ReviewProgress;
pub(crate) use self::verification::FLAKY;
pub use self::verification::NO_GATES;
pub use self::warning::{Importance, Warning};
use super::event::{
    AttemptFailed, AttemptStarted, Event, FailureKind, FinishFailed, Finished, Outcome,
    QuestionAnswered, QuestionAsked, Record, RepairStarted, Request, RunEnded, RunStarted,
    StoryCompleted, StoryExhausted, StoryOutline, StoryStarted, TaskOutline,
};
use super::notes::Notes;
use crate::policy::budget::Used;
use crate::test_report::TestReport;
use crate::words::between;
use ralph_agents::agent_event::{AgentEvent, Usage};
use ralph_base::ids::{AttemptNumber, RunId, StoryId};
use ralph_plan::change::StoryState;

/// Where a run stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    /// The run, once it has begun.
    pub run: Option<RunId>,
    /// What the run is about, once it has begun; its agent is that of the last attempt.
    pub header: Option<RunStarted>,
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
    /// The first story that was done and that the run was rewound to before.
    pub rewound: Option<StoryId>,
    /// The story that was done and is open again, and why.
    pub reopened: Option<(StoryId, String)>,
    /// Gates that were red on the checkpoint they last ran on before attempts, and what their output said
    /// of their tests.
    pub red_before: BTreeMap<String, Option<TestReport>>,
    /// Gates that are red in the work that is done, as they were before it.
    pub red_in_work: BTreeSet<String>,
    /// Gates at the end that have judged the work as it is now, whatever they said.
    judged_at_end: BTreeSet<String>,
    /// Warnings and notes so far.
    pub warnings: Vec<Warning>,
    /// The last attempt that failed.
    pub last_failure: Option<AttemptFailed>,
    /// The stop the user asked for.
    pub requested: Option<Request>,
    /// A pause was asked for and has not taken effect.
    pub pausing: bool,
    /// The story at hand is about to be skipped.
    pub skipping: bool,
    /// What the user wrote for attempts.
    pub notes: Notes,
    /// What agents asked about stories that are not done, without an answer so far.
    pub questions: BTreeMap<StoryId, QuestionAsked>,
    /// How the loop ended.
    pub ended: Option<RunEnded>,
    /// How the run was finished.
    pub finish: Option<Finished>,
    /// The last finish that was tried did not work.
    pub finish_failure: Option<FinishFailed>,
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
    /// What the reviewer at work used so far.
    review_in_flight: Usage,
    /// How long the parts of the run before it was resumed took.
    earlier: Duration,
    /// The number of the last record.
    last_number: Option<u64>,
    /// The last moment the loop was surely at work.
    worked_until: Option<Timestamp>,
    /// The story of the gate that started last, until that gate was found red before.
    judged: Option<StoryId>,
}

impl Progress {
    /// Where a run with these records stands.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut progress = Self::default();
        for record in records {
            progress.apply(record);
        }
        progress
    }

    /// Takes in the next record.
    pub fn apply(&mut self, record: &Record) {
        self.take_in(record);
        self.note_time(record);
    }

    fn take_in(&mut self, record: &Record) {
        let at = record.at;
        match &record.event {
            Event::RunStarted(started) => self.on_run_started(started, record),
            Event::Recovered { .. }
            | Event::AgentChanged { .. }
            | Event::NoteUnused { .. }
            | Event::ChoiceNeeded => {}
            Event::Warning { code, message } => self.on_warning(code, message),
            Event::TamperFound {
                story,
                attempt,
                check,
                message,
                paths,
                ..
            } => self.warnings.push(Warning {
                code: format!("tamper_{check}"),
                importance: Importance::Warning,
                message: message.clone(),
                story: Some(story.clone()),
                attempt: Some(*attempt),
                paths: paths.clone(),
            }),
            Event::StoryStarted(started) => self.on_story_started(started, at),
            Event::StorySkipped {
                story,
                title,
                reason,
                waits_for,
            } => {
                let state = standing_of_skipped(reason, waits_for.as_ref());
                self.on_story_skipped(story, title, state, at);
            }
            Event::StoryExhausted(exhausted) => self.on_story_exhausted(exhausted, at),
            Event::AttemptStarted(started) => self.on_attempt_started(started, at),
            Event::RepairStarted(repair) => self.on_repair_started(repair, at),
            Event::AttemptContinued(it) => self.on_continued(&it.story, it.attempt, at),
            Event::QuestionAsked(asked) => self.on_question_asked(asked, at),
            Event::QuestionAnswered(it) => self.on_question_answered(it),
            Event::Agent { agent, .. } => self.on_agent(agent),
            Event::GateStarted(started) => self.on_gate_started(started, at),
            Event::GateNotRun(not_run) => self.on_gate_not_run(not_run, at),
            Event::GateRetried(retried) => self.on_gate_retried(retried),
            Event::GateFinished(finished) => self.on_gate_finished(finished),
            Event::ReviewStarted(started) => self.on_review_started(started, at),
            Event::Reviewer { story, agent, .. } => self.on_reviewer(story, agent),
            Event::ReviewFinished(finished) => self.on_review_finished(finished),
            Event::AttemptFailed(failed) => self.on_attempt_failed(failed),
            Event::Paused { story, continues } => self.on_paused(story, *continues, at),
            Event::NoteAdded { text, story } => self.notes.add(story.clone(), text.clone()),
            Event::TasksChanged { story, tasks } => self.on_tasks_changed(story, tasks),
            Event::Waiting {
                story,
                reason,
                until,
                continues,
            } => {
                self.doing = Doing::Waiting {
                    story: story.clone(),
                    reason: reason.clone(),
                    until: *until,
                    continues: *continues,
                };
            }
            Event::StoryCompleted(completed) => self.on_story_completed(completed, at),
            Event::StoryReopened { story, reason, .. } => self.on_reopened(story, reason),
            Event::Requested { request } => self.on_requested(*request, at),
            Event::RunEnded(ended) => self.on_run_ended(ended, at),
            Event::Rewound { checkpoints, .. } => self.on_moved(checkpoints),
            Event::Undone {
                checkpoints, open, ..
            } => self.on_undone(checkpoints, *open),
            Event::Finished(finished) => self.on_finished(finished),
            Event::FinishFailed(failed) => self.finish_failure = Some(failed.clone()),
        }
    }

    fn note_time(&mut self, record: &Record) {
        let at = record.at;
        self.started_at.get_or_insert(at);
        self.last_at = Some(at);
        // What a follower reads from a transcript has the number of the record before, and the time
        // at which it was read.
        let is_read_later = self.last_number.replace(record.seq) == Some(record.seq)
            && matches!(record.event, Event::Agent { .. } | Event::Reviewer { .. });
        if is_of_a_loop_at_work(&record.event) && !is_read_later {
            self.worked_until = Some(at);
        }
    }

    /// Why the loop ended.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.ended.as_ref().map(|ended| &ended.outcome)
    }

    /// Tokens and cost of the run, the attempt in flight included.
    pub fn usage(&self) -> Usage {
        let mut usage = self.settled;
        usage.add(&self.in_flight);
        usage.add(&self.review_in_flight);
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

    /// The time left, once this run has completed a story: the mean time of its completed stories
    /// for every open one, less what the one at hand has used. No story is expected to take less
    /// than no time, and a run that is over has nothing left.
    pub fn estimate(&self, now: Timestamp) -> Option<Duration> {
        if self.ended.is_some() {
            return None;
        }
        let is_completed = |state: &StoryStanding| matches!(state, StoryStanding::Completed { .. });
        let completed = self.stories.iter().filter(|it| is_completed(&it.state));
        let times: Vec<Duration> = completed.map(|story| story.elapsed(now)).collect();
        let count = u32::try_from(times.len()).ok().filter(|count| *count > 0)?;
        let mean = times.iter().sum::<Duration>() / count;
        let current = self.current_story().map(|story| story.elapsed(now));
        let at_hand = current.map_or(Duration::ZERO, |used| mean.saturating_sub(used));
        let waiting = self.waiting_stories();
        Some(at_hand + mean.saturating_mul(waiting))
    }

    /// Open stories whose turn has not come.
    fn waiting_stories(&self) -> u32 {
        let is_settled = |state: &StoryStanding| {
            matches!(
                state,
                StoryStanding::Running
                    | StoryStanding::Deferred
                    | StoryStanding::Skipped { .. }
                    | StoryStanding::Failed(_)
                    | StoryStanding::NotRun { .. }
            )
        };
        let settled = self.stories.iter().filter(|it| is_settled(&it.state));
        let open = self.stories_total.saturating_sub(self.stories_done);
        u32::try_from(open.saturating_sub(settled.count())).unwrap_or(u32::MAX)
    }

    /// The story that is worked on.
    pub fn current_story(&self) -> Option<&StoryProgress> {
        let is_running = |story: &&StoryProgress| story.state == StoryStanding::Running;
        self.stories.iter().find(is_running)
    }

    fn story_mut(&mut self, id: &StoryId) -> Option<&mut StoryProgress> {
        self.stories.iter_mut().find(|story| story.id == *id)
    }

    /// The story's time stands still while no agent or gate works on it.
    fn on_paused(&mut self, story: &StoryId, continues: Option<AttemptNumber>, at: Timestamp) {
        self.pausing = false;
        self.doing = Doing::Paused {
            story: story.clone(),
            continues,
        };
        if let Some(progress) = self.story_mut(story) {
            progress.hold(at);
        }
    }

    fn on_requested(&mut self, request: Request, at: Timestamp) {
        match request {
            Request::Stop | Request::StopNow => self.requested = Some(request),
            Request::Pause => self.pausing = true,
            Request::Skip => self.skipping = true,
            Request::GoOn => self.on_go_on(at),
            Request::TryNow if matches!(self.doing, Doing::Waiting { .. }) => {
                self.doing = Doing::Between;
            }
            Request::TryNow => {}
        }
    }

    /// A pause that has not taken effect leaves what happens as it is: a wait goes on.
    fn on_go_on(&mut self, at: Timestamp) {
        self.pausing = false;
        let Doing::Paused { story, .. } = &self.doing else {
            return;
        };
        let story = story.clone();
        self.doing = Doing::Between;
        if let Some(progress) = self.story_mut(&story) {
            progress.since = Some(at);
        }
    }

    fn on_warning(&mut self, code: &str, message: &str) {
        if code == "red_before" {
            self.on_red_before();
        }
        let attempt = self.running_attempt().map(|attempt| attempt.number);
        self.warnings.push(Warning {
            code: code.to_owned(),
            importance: Importance::of(code),
            message: message.to_owned(),
            story: self.current_story().map(|story| story.id.clone()),
            attempt,
            paths: Vec::new(),
        });
    }

    fn on_run_started(&mut self, started: &RunStarted, record: &Record) {
        let is_interrupted = self.run.is_some() && self.ended.is_none();
        let last = self.ended_at.or(self.worked_until).unwrap_or(record.at);
        self.break_off(last);
        if let Some(started) = self.started_at {
            self.earlier += between(started, last);
        }
        self.lay_out(&started.stories, is_interrupted);
        self.started_at = Some(record.at);
        self.ended_at = None;
        self.stories_total = started.stories_total;
        self.stories_done = started.stories_done;
        self.doing = Doing::Between;
        self.requested = None;
        self.pausing = false;
        self.skipping = false;
        self.ended = None;
        self.finish = None;
        self.finish_failure = None;
        self.rewound = None;
        self.run = Some(record.run.clone());
        self.header = Some(started.clone());
    }

    /// Lists the stories of the change; what is known of those that were there stays. A run that was
    /// interrupted continues without the stories that had failed in it.
    fn lay_out(&mut self, outline: &[StoryOutline], is_interrupted: bool) {
        let mut known = std::mem::take(&mut self.stories);
        for (index, it) in outline.iter().enumerate() {
            let before = known.iter().position(|story| story.id == it.id);
            let mut story = before.map_or_else(
                || StoryProgress::new(it.id.clone(), it.title.clone()),
                |place| known.remove(place),
            );
            story.title.clone_from(&it.title);
            story.position = Some(index + 1);
            story.tasks_done = it.tasks_done;
            story.tasks_total = it.tasks_total;
            story.tasks_deferred = it.tasks_deferred;
            story.depends_on = it.depends_on.clone().into();
            story.taken_back = None;
            let stays_failed =
                is_interrupted && matches!(&story.state, StoryStanding::Failed(it) if it.continues);
            let is_completed = matches!(story.state, StoryStanding::Completed { .. });
            let is_done = it.state.counts_as_done(it.tasks_done);
            match it.state {
                _ if is_done && is_completed => {}
                _ if is_done => story.state = StoryStanding::Done,
                StoryState::Done => story.state = StoryStanding::Done,
                StoryState::Open if stays_failed => {}
                StoryState::Open => story.state = StoryStanding::Waiting,
                StoryState::Deferred => story.state = StoryStanding::Deferred,
            }
            self.stories.push(story);
        }
        // Old records list none, and a story may be gone from the change.
        self.stories.append(&mut known);
    }

    fn on_story_started(&mut self, started: &StoryStarted, at: Timestamp) {
        self.stories_total = started.total;
        self.doing = Doing::Between;
        let progress = self.take_up(&started.story, &started.title, Some(started.position));
        progress.state = StoryStanding::Running;
        progress.open_tasks = started.open_tasks;
        progress.set_tasks(&started.tasks);
        progress.started_at.get_or_insert(at);
        progress.since = Some(at);
    }

    fn on_tasks_changed(&mut self, story: &StoryId, tasks: &[TaskOutline]) {
        if let Some(progress) = self.story_mut(story) {
            progress.set_tasks(tasks);
        }
    }

    /// A story is left out. One that is not run yet keeps its notes: it may be run later.
    fn on_story_skipped(
        &mut self,
        story: &StoryId,
        title: &str,
        state: StoryStanding,
        at: Timestamp,
    ) {
        if let StoryStanding::Skipped { .. } = &state {
            self.skipping = false;
            self.doing = Doing::Between;
            self.notes.story_over(story);
        }
        let progress = self.take_up(story, title, None);
        match (&progress.state, state) {
            (StoryStanding::Deferred, StoryStanding::Skipped { reason }) => {
                let note = Warning::deferred(story, &reason);
                // Every part of a run says it again.
                if !self.warnings.contains(&note) {
                    self.warnings.push(note);
                }
            }
            (_, state) if !progress.is_done() => progress.rest(at, state),
            _ => {}
        }
    }

    fn on_story_exhausted(&mut self, exhausted: &StoryExhausted, at: Timestamp) {
        self.skipping = false;
        self.doing = Doing::Between;
        let progress = self.take_up(&exhausted.failed.story, &exhausted.title, None);
        progress.rest(at, StoryStanding::Failed(exhausted.clone()));
    }

    /// The story with this id, which gets its place in the list if it has none.
    fn take_up(
        &mut self,
        id: &StoryId,
        title: &str,
        position: Option<usize>,
    ) -> &mut StoryProgress {
        let listed = self.stories.iter().position(|story| story.id == *id);
        let index = listed.unwrap_or_else(|| {
            let end = self.stories.len();
            let index = position.map_or(end, |position| end.min(position.saturating_sub(1)));
            let story = StoryProgress::new(id.clone(), title.to_owned());
            self.stories.insert(index, story);
            index
        });
        let story = &mut self.stories[index];
        title.clone_into(&mut story.title);
        story.position = position.or(story.position);
        story
    }

    fn on_story_completed(&mut self, completed: &StoryCompleted, at: Timestamp) {
        let story = &completed.story;
        self.questions.remove(story);
        self.judge_work(story);
        self.judged_at_end.clear();
        self.supersede_whole_reviews();
        self.reopened.take_if(|(reopened, _)| reopened == story);
        self.make_up_usage(story, &completed.usage);
        self.settle(AttemptStanding::Succeeded);
        self.doing = Doing::Between;
        self.skipping = false;
        self.notes.story_over(story);
        self.stories_done = (self.stories_done + 1).min(self.stories_total);
        if let Some(progress) = self.story_mut(story) {
            progress.complete(completed, at);
        }
    }

    fn on_reopened(&mut self, story: &StoryId, reason: &str) {
        self.doing = Doing::Between;
        self.stories_done = self.stories_done.saturating_sub(1);
        self.reopened = Some((story.clone(), reason.to_owned()));
        if let Some(progress) = self.story_mut(story) {
            progress.state = StoryStanding::Unfinished;
            progress.is_reopened = true;
            progress.tasks_done = 0;
        }
    }

    /// Where the agent's own words were not recorded, what the last attempt used is what the others
    /// of the story leave of the total.
    fn make_up_usage(&mut self, story: &StoryId, total: &Usage) {
        if self.in_flight != Usage::default() {
            return;
        }
        let Some(story) = self.stories.iter().find(|it| it.id == *story) else {
            return;
        };
        let mut others = Usage::default();
        let first = story.tried_since;
        let is_counted = |it: &&AttemptProgress| first.is_some_and(|at| it.started_at >= at);
        for attempt in story.attempts.iter().filter(is_counted) {
            others.add(&attempt.usage);
        }
        let reviews = story.reviews.iter().filter(|it| !it.is_whole());
        for review in reviews.filter(|it| first.is_some_and(|at| it.started_at >= at)) {
            others.add(&review.usage);
        }
        self.in_flight = total.without(&others);
    }

    fn on_attempt_started(&mut self, started: &AttemptStarted, at: Timestamp) {
        if let (Some(header), Some(agent)) = (&mut self.header, &started.agent) {
            header.agent.clone_from(&agent.agent);
            header.model.clone_from(&agent.model);
        }
        self.notes.deliver(&started.story);
        // It may ask again.
        self.questions.remove(&started.story);
        self.attempts += 1;
        self.activity = None;
        self.doing = Doing::Working {
            story: started.story.clone(),
            attempt: started.attempt,
            since: at,
        };
        let Some(progress) = self.story_mut(&started.story) else {
            return;
        };
        progress.attempts.push(AttemptProgress {
            number: started.attempt,
            tries: started.tries(),
            started_at: at,
            transcript: started.transcript.clone(),
            base: started.base.clone(),
            output: started.output,
            agent: started.agent.clone(),
            usage: Usage::default(),
            prices: None,
            took: None,
            repairs: Vec::new(),
            state: AttemptStanding::Running,
        });
        progress.tried_since.get_or_insert(at);
    }

    fn on_repair_started(&mut self, repair: &RepairStarted, at: Timestamp) {
        // What was found is looked for again when the repair is done.
        let is_found_again = |warning: &Warning| {
            warning.code.starts_with("tamper_")
                && warning.story.as_ref() == Some(&repair.story)
                && warning.attempt == Some(repair.attempt)
        };
        self.warnings.retain(|warning| !is_found_again(warning));
        if let Some(attempt) = self.running_attempt() {
            attempt.repairs.push(repair.clone());
        }
        self.on_continued(&repair.story, repair.attempt, at);
    }

    fn on_question_asked(&mut self, asked: &QuestionAsked, at: Timestamp) {
        let story = asked.story.clone();
        if asked.waits {
            self.doing = Doing::AwaitingAnswer {
                story: story.clone(),
                question: asked.question.clone(),
                since: at,
                until: asked.until,
            };
        }
        if !asked.waits
            && let Some(progress) = self.story_mut(&story)
        {
            progress.rest(at, StoryStanding::Unfinished);
        }
        self.questions.insert(story, asked.clone());
    }

    fn on_question_answered(&mut self, answered: &QuestionAnswered) {
        let QuestionAnswered {
            story,
            question,
            answer,
        } = answered;
        self.questions.remove(story);
        self.notes.add_answer(story, question, answer);
        if matches!(&self.doing, Doing::AwaitingAnswer { story: of, .. } if of == story) {
            self.doing = Doing::Between;
        }
    }

    /// The questions without an answer, by their stories.
    pub(crate) fn open_questions(&self) -> BTreeMap<StoryId, String> {
        let questions = self.questions.values();
        let pairs = questions.map(|it| (it.story.clone(), it.question.clone()));
        pairs.collect()
    }

    /// The session of an attempt goes on.
    fn on_continued(&mut self, story: &StoryId, attempt: AttemptNumber, at: Timestamp) {
        self.notes.deliver(story);
        self.activity = None;
        self.doing = Doing::Working {
            story: story.clone(),
            attempt,
            since: at,
        };
    }

    fn on_agent(&mut self, agent: &AgentEvent) {
        if let AgentEvent::Usage { usage, prices } = agent {
            // What is read from a transcript has no computed cost; the record has it.
            let mut usage = *usage;
            usage.cost_usd = usage.cost_usd.or(self.in_flight.cost_usd);
            self.in_flight = usage;
            if let Some(attempt) = self.running_attempt() {
                attempt.usage = usage;
                if prices.is_some() {
                    attempt.prices.clone_from(prices);
                }
            }
            return;
        }
        self.note_activity(agent);
    }

    fn note_activity(&mut self, agent: &AgentEvent) {
        // An empty line says nothing of what the agent is at.
        let is_blank = matches!(agent, AgentEvent::Text { text } if text.trim().is_empty());
        if !is_blank {
            self.activity = Some(agent.clone());
        }
    }

    fn on_attempt_failed(&mut self, failed: &AttemptFailed) {
        self.in_flight = failed.usage;
        self.settle(AttemptStanding::Failed(failed.clone()));
        self.doing = Doing::Between;
        self.last_failure = Some(failed.clone());
    }

    fn on_undone(&mut self, checkpoints: &[String], is_open: bool) {
        self.on_moved(checkpoints);
        if is_open {
            self.finish = None;
        }
    }

    fn on_finished(&mut self, finished: &Finished) {
        self.finish = Some(finished.clone());
        self.finish_failure = None;
    }

    fn on_run_ended(&mut self, ended: &RunEnded, at: Timestamp) {
        self.break_off(at);
        self.pausing = false;
        self.skipping = false;
        self.ended_at = Some(at);
        self.doing = Doing::Ended;
        self.stories_done = ended.stories_done;
        self.stories_total = ended.stories_total;
        self.ended = Some(ended.clone());
    }

    /// Whatever still runs will not end properly any more.
    fn break_off(&mut self, at: Timestamp) {
        self.break_off_review(at);
        self.settle(AttemptStanding::Interrupted);
        for story in &mut self.stories {
            if story.state == StoryStanding::Running {
                story.rest(at, story.broken_off());
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

/// How a story stands that is left out for this reason.
fn standing_of_skipped(reason: &str, waits_for: Option<&StoryId>) -> StoryStanding {
    let reason = reason.to_owned();
    match waits_for.cloned() {
        Some(waits_for) => StoryStanding::NotRun { waits_for, reason },
        None => StoryStanding::Skipped { reason },
    }
}

/// Whether only a loop at work says this: all else may be said by the next start, much later.
const fn is_of_a_loop_at_work(event: &Event) -> bool {
    match event {
        Event::Recovered { .. }
        | Event::Warning { .. }
        | Event::StoryCompleted { .. }
        | Event::Rewound { .. }
        | Event::Undone { .. }
        | Event::Finished { .. }
        | Event::FinishFailed { .. } => false,
        Event::AttemptFailed(failed) => !matches!(failed.kind, FailureKind::Interrupted),
        _ => true,
    }
}
