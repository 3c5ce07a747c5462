//! The parts of a run's progress: header, stories, attempts, what happens right now.

use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::ReviewProgress;
use super::gates::GateProgress;
use crate::policy::roster::Choice;
use crate::records::event::{
    AttemptFailed, RepairStarted, StoryCompleted, StoryExhausted, TaskOutline, Tries,
};
use crate::words::between;
use ralph_agents::agent_event::Usage;
use ralph_agents::dialect::Output;
use ralph_base::ids::{AttemptNumber, StoryId};
use ralph_plan::change::Dependencies;
use ralph_plan::tasks::TaskState;

/// One story as far as this run knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoryProgress {
    /// The story.
    pub id: StoryId,
    /// Its title.
    pub title: String,
    /// Its place among all stories, from 1; unknown where only its skipping was recorded.
    pub position: Option<usize>,
    /// Where it stands.
    pub state: StoryStanding,
    /// Ticked tasks, where they were recorded.
    pub tasks_done: usize,
    /// All tasks, where they were recorded.
    pub tasks_total: usize,
    /// Deferred tasks, where they were recorded.
    pub tasks_deferred: usize,
    /// The stories that must be done before it.
    pub depends_on: Dependencies,
    /// Its tasks as they were last recorded, from the moment work on it began.
    pub tasks: Vec<TaskOutline>,
    /// Its attempts in this run.
    pub attempts: Vec<AttemptProgress>,
    /// Every run of a gate for it, in order.
    pub gates: Vec<GateProgress>,
    /// Every review of it, in order; those of the whole change are with the story done last.
    pub reviews: Vec<ReviewProgress>,
    /// Its checkpoint commits; one that was done again has several.
    pub commits: Vec<Commit>,
    /// A gate at the end opened it again; its commits stay.
    pub is_reopened: bool,
    /// How it was completed, while the run is rewound to before it.
    pub(super) taken_back: Option<StoryCompleted>,
    /// When work on it first began.
    pub started_at: Option<Timestamp>,
    /// Open tasks when work on it began.
    pub(super) open_tasks: usize,
    /// How long it was worked on, without the stretch that is under way.
    pub(super) spent: Duration,
    /// Since when it is worked on now.
    pub(super) since: Option<Timestamp>,
    /// How long it was tried, from each first attempt on, without the stretch that is under way.
    pub(super) tried: Duration,
    /// Since when it is tried now.
    pub(super) tried_since: Option<Timestamp>,
}

impl StoryProgress {
    /// A story nothing happened to yet.
    pub(super) fn new(id: StoryId, title: String) -> Self {
        Self {
            id,
            title,
            position: None,
            state: StoryStanding::Waiting,
            tasks_done: 0,
            tasks_total: 0,
            tasks_deferred: 0,
            depends_on: Dependencies::Unknown,
            tasks: Vec::new(),
            attempts: Vec::new(),
            gates: Vec::new(),
            reviews: Vec::new(),
            commits: Vec::new(),
            is_reopened: false,
            taken_back: None,
            started_at: None,
            open_tasks: 0,
            spent: Duration::ZERO,
            since: None,
            tried: Duration::ZERO,
            tried_since: None,
        }
    }

    /// What all of its attempts and their reviews used, those in flight included.
    pub fn usage(&self) -> Usage {
        let mut total = Usage::default();
        for attempt in &self.attempts {
            total.add(&attempt.usage);
        }
        for review in self.reviews.iter().filter(|it| !it.is_whole()) {
            total.add(&review.usage);
        }
        total
    }

    /// Whether it is done, before or in this run.
    pub const fn is_done(&self) -> bool {
        matches!(
            self.state,
            StoryStanding::Done | StoryStanding::Completed(_)
        )
    }

    /// Whether it is left to do, now or by a resumed run.
    pub fn is_left(&self) -> bool {
        !self.is_done() && self.state != StoryStanding::Deferred
    }

    /// Takes note of its tasks as they are now.
    pub(super) fn set_tasks(&mut self, tasks: &[TaskOutline]) {
        self.tasks = tasks.to_vec();
        if !tasks.is_empty() {
            let deferred = tasks.iter().filter(|it| it.state == TaskState::Deferred);
            self.tasks_deferred = deferred.count();
        }
    }

    /// Only checkpoints with these commits stand.
    pub(super) fn settle_checkpoint(&mut self, standing: &[String]) {
        let stands = |it: &StoryCompleted| standing.contains(&it.commit);
        match &self.state {
            StoryStanding::Completed(completed) if !stands(completed) => {
                self.taken_back = Some(completed.clone());
                self.state = StoryStanding::Unfinished;
            }
            _ => {
                if let Some(completed) = self.taken_back.take_if(|it| stands(it)) {
                    self.state = StoryStanding::Completed(completed);
                }
            }
        }
    }

    /// How long it was worked on so far.
    pub fn elapsed(&self, now: Timestamp) -> Duration {
        let running = self.since.map(|since| between(since, now));
        self.spent + running.unwrap_or_default()
    }

    /// How long it was tried so far, from each first attempt on.
    pub(super) fn time_tried(&self, now: Timestamp) -> Duration {
        let running = self.tried_since.map(|since| between(since, now));
        self.tried + running.unwrap_or_default()
    }

    /// How it stands where the run ended in the middle of it.
    pub(super) const fn broken_off(&self) -> StoryStanding {
        if self.attempts.is_empty() {
            StoryStanding::Waiting
        } else {
            StoryStanding::Unfinished
        }
    }

    /// The gates that ran on this attempt.
    pub fn gates_of(&self, attempt: AttemptNumber) -> impl Iterator<Item = &GateProgress> {
        let of_attempt = move |gate: &&GateProgress| gate.attempt == Some(attempt);
        self.gates.iter().filter(of_attempt)
    }

    /// What a gate or a reviewer judges now: the attempt at hand, after this many repairs, or something
    /// else.
    pub(super) fn judged_now(&self, is_attempt: bool) -> (Option<AttemptNumber>, u32) {
        let last = self.attempts.last().filter(|_| is_attempt);
        let (attempt, repair) = last.map(|it| (it.number, it.repairs())).unzip();
        (attempt, repair.unwrap_or(0))
    }

    /// The gates that judged the work of its last attempt as it is, after all repairs.
    pub fn last_gates(&self) -> impl Iterator<Item = &GateProgress> {
        let last = self.attempts.last();
        let last = last.map(|it| (it.number, it.repairs()));
        self.gates
            .iter()
            .filter(move |gate| gate.attempt.zip(Some(gate.repair)) == last)
    }

    /// Its checkpoint commit is made.
    pub(super) fn complete(&mut self, completed: &StoryCompleted, at: Timestamp) {
        if !std::mem::take(&mut self.is_reopened) {
            for earlier in &mut self.commits {
                earlier.superseded = true;
            }
        }
        self.commits.push(Commit {
            id: completed.commit.clone(),
            changed_files: completed.changed_files,
            superseded: false,
        });
        // If a later start recorded it, the record does not say when it was done.
        if let Some(last) = self
            .attempts
            .last_mut()
            .filter(|_| completed.duration_ms > 0)
        {
            last.took = Some(between(last.started_at, at));
        }
        self.rest(at, StoryStanding::Completed(completed.clone()));
        let done = self.tasks_done + self.open_tasks;
        self.tasks_done = done.min(self.tasks_total);
        let open = self.tasks.iter_mut();
        for task in open.filter(|task| task.state == TaskState::Open) {
            task.state = TaskState::Done;
        }
    }

    /// Its clock stands still until work on it continues.
    pub(super) fn hold(&mut self, at: Timestamp) {
        self.spent = self.elapsed(at);
        self.since = None;
    }

    /// Work on it is over, for now or for good.
    pub(super) fn rest(&mut self, at: Timestamp, state: StoryStanding) {
        self.spent = self.elapsed(at);
        self.since = None;
        self.tried = self.time_tried(at);
        self.tried_since = None;
        self.state = state;
    }
}

/// Where a story stands.
#[derive(Debug, Clone, PartialEq)]
pub enum StoryStanding {
    /// It is open and its turn has not come.
    Waiting,
    /// It was complete before the run.
    Done,
    /// What is left of it is deferred.
    Deferred,
    /// It is worked on.
    Running,
    /// It was skipped.
    Skipped {
        /// Why.
        reason: String,
    },
    /// It used up its retries.
    Failed(StoryExhausted),
    /// It cannot be run, because it depends on a story that is left open.
    NotRun {
        /// That story.
        waits_for: StoryId,
        /// Why, with that story in it.
        reason: String,
    },
    /// Its checkpoint commit is written.
    Completed(StoryCompleted),
    /// The run ended before it was complete.
    Unfinished,
}

/// One attempt at a story.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptProgress {
    /// Which.
    pub number: AttemptNumber,
    /// Which of those that count it is.
    pub tries: Tries,
    /// When its agent started.
    pub started_at: Timestamp,
    /// Folder with prompt, stdout and stderr.
    pub transcript: String,
    /// The checkpoint commit it starts from.
    pub base: Option<String>,
    /// How its transcript is to be read.
    pub output: Output,
    /// Who makes it, where that was recorded.
    pub agent: Option<Choice>,
    /// What it used so far.
    pub usage: Usage,
    /// The prices its cost is computed from; none if the agent reports it.
    pub prices: Option<String>,
    /// How long it took, where it completed its story and that was recorded at once.
    pub took: Option<Duration>,
    /// What its agent was asked to repair, in the same session.
    pub repairs: Vec<RepairStarted>,
    /// How it stands.
    pub state: AttemptStanding,
}

impl AttemptProgress {
    /// The repair it is at; none before its first, and once it is over.
    pub fn repair(&self) -> Option<&RepairStarted> {
        let is_running = self.state == AttemptStanding::Running;
        self.repairs.last().filter(|_| is_running)
    }

    /// How many repairs it had so far.
    pub fn repairs(&self) -> u32 {
        self.repairs.last().map_or(0, |last| last.repair)
    }

    /// Whether it did something whose cost its agent did not report. Of an attempt that was refused
    /// nothing is reported, because it cost nothing.
    pub fn lacks_cost(&self) -> bool {
        let did_something = self.output == Output::Text || self.usage.total_tokens() > 0;
        self.usage.cost_usd.is_none() && did_something
    }
}

/// How an attempt stands.
#[derive(Debug, Clone, PartialEq)]
pub enum AttemptStanding {
    /// It is not decided yet.
    Running,
    /// The story is complete.
    Succeeded,
    /// It failed and is parked.
    Failed(AttemptFailed),
    /// The run ended or was interrupted in the middle of it.
    Interrupted,
}

/// What happens right now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Doing {
    /// Nothing has begun.
    #[default]
    Starting,
    /// Something short: reading, checking, saving, restoring.
    Between,
    /// An agent works.
    Working {
        /// The story.
        story: StoryId,
        /// Which attempt.
        attempt: AttemptNumber,
        /// Since when.
        since: Timestamp,
    },
    /// A gate runs.
    Gate {
        /// The story.
        story: StoryId,
        /// The gate's name.
        gate: String,
        /// It runs on the checkpoint.
        baseline: bool,
        /// Since when.
        since: Timestamp,
    },
    /// A reviewer works.
    Review {
        /// The story.
        story: StoryId,
        /// The review's name.
        review: String,
        /// Since when.
        since: Timestamp,
    },
    /// The run waits for a limit to end.
    Waiting {
        /// The story.
        story: StoryId,
        /// Why.
        reason: String,
        /// Until when.
        until: Timestamp,
        /// The attempt that continues then; none where the next one starts then.
        continues: Option<AttemptNumber>,
    },
    /// Nothing runs until the user answers a question.
    AwaitingAnswer {
        /// The story.
        story: StoryId,
        /// What its agent asks.
        question: String,
        /// Since when.
        since: Timestamp,
        /// When the run goes on without an answer, if that is limited.
        until: Option<Timestamp>,
    },
    /// Nothing runs until the user says to go on.
    Paused {
        /// The story.
        story: StoryId,
        /// The attempt that continues then; none where the next one starts then.
        continues: Option<AttemptNumber>,
    },
    /// The loop is over.
    Ended,
}

/// One checkpoint commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), schemars(rename = "CommitReceipt"))]
pub struct Commit {
    /// Its id.
    pub id: String,
    /// Paths it changed.
    pub changed_files: usize,
    /// The story was done again after it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub superseded: bool,
}
