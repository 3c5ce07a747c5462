//! The one live line: where the run is right now, folded from its records.

use jiff::Timestamp;
use unicode_width::UnicodeWidthStr as _;

use super::text::{clean, truncate};
use super::words;
use ralph_agents::agent_event::{AgentEvent, Usage};
use ralph_run::records::event::{Event, Record, Request};

/// A title keeps this many columns, however narrow the terminal is.
const SHORTEST_TITLE: usize = 8;

/// What the loop is doing.
#[derive(Debug, Clone, PartialEq)]
enum Doing {
    /// Nothing that takes time.
    Nothing,
    /// An agent or a reviewer works or is being ended, or a gate runs.
    Busy { label: String, since: Timestamp },
    /// A limit has to pass.
    Waiting { until: Timestamp },
    /// The user has to resume it.
    Paused { since: Timestamp },
}

/// Where the run is right now.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Status {
    /// `story 2/5` and the title, which gives way where there is no room.
    story: Option<(String, String)>,
    doing: Doing,
    /// What finished attempts used.
    past: Usage,
    /// What the running attempt used so far.
    current: Usage,
    /// What the reviewer at work used so far.
    review: Usage,
}

impl Status {
    /// Before the first record.
    pub(crate) fn new() -> Self {
        Self {
            story: None,
            doing: Doing::Nothing,
            past: Usage::default(),
            current: Usage::default(),
            review: Usage::default(),
        }
    }

    /// Takes one record in.
    pub(crate) fn apply(&mut self, record: &Record) {
        match &record.event {
            Event::StoryStarted(it) => {
                let place = format!("story {}/{}", it.position, it.total);
                self.story = Some((place, clean(&it.title)));
            }
            Event::AttemptStarted(it) => {
                self.settle();
                self.busy(words::attempt(it.attempt, it.tries()), record.at);
            }
            Event::RepairStarted(it) => self.busy(words::repair(it), record.at),
            Event::AttemptContinued(it) => {
                self.busy(format!("attempt {}", it.attempt), record.at);
            }
            Event::Agent {
                agent: AgentEvent::Usage { usage, .. },
                ..
            } => self.current = *usage,
            Event::GateStarted(it) => self.busy(format!("gate {}", clean(&it.gate)), record.at),
            Event::ReviewStarted(it) => {
                self.busy(format!("review {}", clean(&it.review)), record.at);
            }
            Event::Reviewer {
                agent: AgentEvent::Usage { usage, .. },
                ..
            } => self.review = *usage,
            Event::ReviewFinished(it) => {
                self.past.add(&it.usage);
                self.review = Usage::default();
                self.doing = Doing::Nothing;
            }
            Event::AttemptFailed(it) => {
                self.current = it.usage;
                self.settle();
            }
            Event::GateRetried(_) | Event::GateFinished(_) | Event::QuestionAnswered(_) => {
                self.doing = Doing::Nothing;
            }
            Event::Waiting { until, .. } => self.doing = Doing::Waiting { until: *until },
            Event::QuestionAsked(it) if it.waits => {
                self.busy("waiting for an answer".to_owned(), record.at);
            }
            Event::Requested { request } => self.on_requested(*request, record.at),
            Event::Paused { .. } => self.doing = Doing::Paused { since: record.at },
            Event::StoryCompleted { .. }
            | Event::StoryReopened { .. }
            | Event::StorySkipped { .. }
            | Event::StoryExhausted(_) => {
                self.settle();
                self.story = None;
            }
            Event::RunEnded { .. } | Event::Finished { .. } => *self = Self::new(),
            _ => {}
        }
    }

    fn on_requested(&mut self, request: Request, since: Timestamp) {
        match request {
            Request::Stop | Request::StopNow | Request::Skip => {
                self.busy("stopping".to_owned(), since);
            }
            Request::GoOn if matches!(self.doing, Doing::Paused { .. }) => {
                self.doing = Doing::Nothing;
            }
            Request::TryNow => self.doing = Doing::Nothing,
            Request::Pause | Request::GoOn => {}
        }
    }

    fn busy(&mut self, label: String, since: Timestamp) {
        self.doing = Doing::Busy { label, since };
    }

    /// The attempt is over; what it used is added up.
    fn settle(&mut self) {
        self.past.add(&self.current);
        self.current = Usage::default();
        self.doing = Doing::Nothing;
    }

    /// The line, where there is something to say, in the given number of columns.
    pub(crate) fn line(&self, now: Timestamp, columns: usize) -> Option<String> {
        let mut parts: Vec<String> = Vec::new();
        match &self.doing {
            Doing::Nothing => {}
            Doing::Busy { label, since } => {
                parts.extend([label.clone(), words::clock_between(*since, now)]);
            }
            Doing::Waiting { until } => {
                let left = words::clock_between(now, *until);
                parts.push(format!("waiting, {left} left"));
            }
            Doing::Paused { since } => {
                parts.extend(["paused".to_owned(), words::clock_between(*since, now)]);
            }
        }
        if parts.is_empty() && self.story.is_none() {
            return None;
        }
        let mut used = self.past;
        used.add(&self.current);
        used.add(&self.review);
        parts.extend(words::usage(&used));
        let Some((number, title)) = &self.story else {
            return Some(truncate(&parts.join(" · "), columns));
        };
        parts.insert(0, String::new());
        let tail = parts.join(" · ");
        let room = columns.saturating_sub(number.width() + 1 + tail.width());
        let title = truncate(title, room.max(SHORTEST_TITLE));
        Some(truncate(&format!("{number} {title}{tail}"), columns))
    }
}
