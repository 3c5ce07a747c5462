//! Where the run of a repository stands, as seen from another terminal.

pub mod lookup;

use jiff::{Timestamp, Zoned};
use serde::Serialize;

use crate::records::counts::StoryCounts;
use crate::records::event::{BudgetLimits, FailureKind, FinishChoice, Outcome, QuestionAsked};
use crate::records::next::{self, NextStep};
use crate::records::progress::{AttemptProgress, Doing, FlakyGate, Progress, StoryProgress};
use crate::records::state::{Place, RunState};
use crate::words::in_ms;
use ralph_agents::agent_event::AgentEvent;
use ralph_base::ids::{AttemptNumber, RunId, StoryId};

/// The facts about a run that are not in its records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Whereabouts {
    /// The run.
    pub run: RunId,
    /// Its change.
    pub change: String,
    /// It has begun and not been finished.
    pub is_open: bool,
    /// Who works in the tree right now.
    pub owner: Option<String>,
    /// What it was in the middle of, and what the next start does about it.
    pub half_way: Option<(&'static str, &'static str)>,
    /// Where HEAD is, as people say it; none where git does not say.
    pub head: Option<String>,
}

impl Whereabouts {
    /// Whether HEAD is not on a branch.
    fn is_elsewhere(&self, branch: &str) -> bool {
        self.head.as_ref().is_some_and(|head| head != branch)
    }
}

/// Where the run stands: one object, the same for people and programs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct Status {
    /// How it stands, in one word; none where no run took place.
    pub state: Option<RunState>,
    /// The same in one line, with the cause.
    pub headline: String,
    /// Whether it has begun and not been finished.
    pub open: bool,
    /// The run; none if there is none.
    pub run: Option<RunId>,
    /// Its change.
    pub change: Option<String>,
    /// Its checkpoint branch.
    pub branch: Option<String>,
    /// Where the user was when it began.
    pub original: Option<String>,
    /// Who works in the tree right now, such as `process 4711 since …`.
    pub owner: Option<String>,
    /// Its stories.
    #[serde(flatten)]
    pub stories: StoryCounts,
    /// The story that is worked on.
    pub story: Option<StoryStatus>,
    /// Its agent, at present.
    pub agent: Option<String>,
    /// The model that was asked for.
    pub model: Option<String>,
    /// What happens right now.
    pub doing: Option<Activity>,
    /// What agents asked about stories that are not done, without an answer so far.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QuestionStatus>,
    /// What was asked for and is not done yet: `stop`, `pause` or `skip`.
    pub asked: Option<&'static str>,
    /// When it began or was resumed.
    #[cfg_attr(any(test, feature = "testing"), schemars(with = "Option<String>"))]
    pub started_at: Option<Timestamp>,
    /// How long it took so far, without interruptions, in milliseconds.
    pub elapsed_ms: u64,
    /// Attempts so far.
    pub attempts: u32,
    /// How often agents were asked to repair their work, in the same session.
    pub repairs: u32,
    /// Tokens so far.
    pub tokens: u64,
    /// What it cost so far in US dollars, where that is known.
    pub cost_usd: Option<f64>,
    /// A budget of money is set, and no agent has reported a cost.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_cost_missing: bool,
    /// The cost of some attempts is not known: the cost is a lower bound.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cost_is_partial: bool,
    /// Paths it changed; none before its branch was finished.
    pub changed_files: Option<usize>,
    /// What it may use.
    pub budget: BudgetLimits,
    /// Gates that passed after they had been red on the same tree.
    pub flaky_gates: Vec<FlakyGate>,
    /// Gates that judged none of the work, because no file in their paths was changed.
    pub gates_not_run: Vec<String>,
    /// What keeps the work from being verified by gates, in words.
    pub unverified: Option<String>,
    /// What the user should know before deciding what to do with the work, a line each.
    pub alerts: Vec<String>,
    /// How many warnings there were.
    pub warnings: usize,
    /// The last attempt that failed.
    pub last_failure: Option<FailureStatus>,
    /// Why it ended.
    pub outcome: Option<Outcome>,
    /// How it was finished.
    pub finish: Option<FinishChoice>,
    /// Of an interrupted run: what it was in the middle of, and what the next start does.
    pub interrupted: Option<Interruption>,
    /// What to type next, the likeliest first.
    pub next: Vec<NextStep>,
}

/// The story that is worked on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct StoryStatus {
    /// The story.
    pub id: StoryId,
    /// Its title.
    pub title: String,
    /// Its place among all stories, from 1.
    pub position: Option<usize>,
    /// The attempt at it.
    pub attempt: Option<AttemptNumber>,
    /// How many attempts it may have, those that do not count included.
    pub max_attempts: Option<u32>,
    /// Attempts that do not count: they used no retry, or came before the story got new ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncounted_attempts: Option<u32>,
    /// The repair of the attempt, where there was one: its number, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<u32>,
    /// How many repairs the attempt may have, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_repairs: Option<u32>,
}

/// What happens right now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Activity {
    /// Something short: reading, checking, saving, restoring.
    Between,
    /// An agent works.
    Agent {
        /// Since when.
        #[cfg_attr(any(test, feature = "testing"), schemars(with = "String"))]
        since: Timestamp,
        /// The last thing it said or did, in one line.
        says: Option<String>,
    },
    /// A gate runs.
    Gate {
        /// Its name.
        gate: String,
        /// It runs on the checkpoint, to know what was red before.
        baseline: bool,
        /// Since when.
        #[cfg_attr(any(test, feature = "testing"), schemars(with = "String"))]
        since: Timestamp,
    },
    /// A reviewer works.
    Review {
        /// The review's name.
        review: String,
        /// Since when.
        #[cfg_attr(any(test, feature = "testing"), schemars(with = "String"))]
        since: Timestamp,
        /// The last thing it said or did, in one line.
        says: Option<String>,
    },
    /// The run waits for a limit to end.
    Waiting {
        /// Why.
        reason: String,
        /// Until when.
        #[cfg_attr(any(test, feature = "testing"), schemars(with = "String"))]
        until: Timestamp,
        /// The attempt that continues then, in its session and with its changes in the tree; none where
        /// the next attempt starts then.
        #[serde(skip_serializing_if = "Option::is_none")]
        continues: Option<AttemptNumber>,
    },
    /// The run waits for the answer to a question.
    AwaitingAnswer {
        /// The question.
        question: String,
        /// Since when.
        #[cfg_attr(any(test, feature = "testing"), schemars(with = "String"))]
        since: Timestamp,
        /// When it goes on without an answer, if that is limited.
        #[cfg_attr(any(test, feature = "testing"), schemars(with = "Option<String>"))]
        until: Option<Timestamp>,
    },
}

/// What an agent asked, without an answer so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct QuestionStatus {
    /// The story.
    pub story: StoryId,
    /// The question.
    pub question: String,
}

/// An attempt that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct FailureStatus {
    /// The name it is parked under, such as `2.1`.
    pub attempt: String,
    /// What sort of failure.
    pub kind: FailureKind,
    /// Why.
    pub reason: String,
}

/// What an interrupted run was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct Interruption {
    /// What it was in the middle of.
    pub found: &'static str,
    /// What the next start does about it.
    pub then: &'static str,
}

impl Status {
    /// Nothing happened here yet; `owner` may be about to change that.
    pub fn nothing(owner: Option<String>) -> Self {
        let state = owner.as_ref().map(|_| RunState::Running);
        let headline = match state {
            Some(_) => "a run is about to begin",
            None => "no run took place in this repository",
        };
        Self {
            state,
            headline: headline.to_owned(),
            owner,
            next: next_steps(state),
            ..Self::default()
        }
    }

    /// Where a run stands.
    pub(crate) fn of(place: &Whereabouts, progress: &Progress, now: &Zoned) -> Self {
        let at = Place {
            is_open: place.is_open,
            is_busy: place.owner.is_some(),
        };
        let state = RunState::of(progress, at);
        let figures = progress.figures(state.is_live().then(|| now.timestamp()));
        let header = progress.header.as_ref();
        let half_way = place.half_way.filter(|_| state == RunState::Interrupted);
        Self {
            state: Some(state),
            headline: progress.headline(state, now.time_zone()),
            open: place.is_open,
            run: Some(place.run.clone()),
            change: Some(place.change.clone()),
            branch: header.map(|it| it.branch.clone()),
            original: header.map(|it| it.original.clone()),
            owner: place.owner.clone(),
            stories: figures.stories,
            story: progress.current_story().map(story),
            agent: header.map(|it| it.agent.clone()),
            model: header.and_then(|it| it.model.clone()),
            doing: state.is_live().then(|| activity(progress)).flatten(),
            questions: progress.questions.values().map(question).collect(),
            asked: asked(progress).filter(|_| state.is_live()),
            started_at: progress.started_at,
            elapsed_ms: in_ms(figures.time),
            attempts: figures.attempts,
            repairs: figures.repairs,
            tokens: figures.usage.total_tokens(),
            cost_usd: figures.usage.cost_usd,
            is_cost_missing: progress.is_cost_missing(),
            cost_is_partial: figures.cost_is_partial,
            changed_files: figures.changed_files,
            budget: header.map(|it| it.budget).unwrap_or_default(),
            flaky_gates: progress.flaky_gates(),
            gates_not_run: progress.gates_not_run(),
            unverified: progress.unverified(),
            alerts: progress.alerts(),
            warnings: figures.warnings,
            last_failure: progress.last_failure.as_ref().map(|it| FailureStatus {
                attempt: it.parked.clone(),
                kind: it.kind,
                reason: it.reason.clone(),
            }),
            outcome: progress.outcome().cloned(),
            finish: progress.finished(at),
            interrupted: half_way.map(|(found, then)| Interruption { found, then }),
            next: match header.filter(|it| place.is_elsewhere(&it.branch)) {
                _ if state.is_live() => {
                    let mut steps = next::answer(progress);
                    steps.extend(next_steps(Some(state)));
                    steps
                }
                None => next::after(progress, state, at),
                Some(header) => next::with_switch(next::after(progress, state, at), &header.branch),
            },
        }
    }

    /// Whether something may still happen by itself.
    pub fn is_live(&self) -> bool {
        self.state.is_some_and(RunState::is_live)
    }

    /// The part that is worth a new line when it changes.
    pub fn turn(&self) -> impl PartialEq + use<> {
        let doing = self.doing.as_ref().map(|doing| match doing {
            Activity::Between => String::new(),
            Activity::Agent { .. } => "agent".to_owned(),
            Activity::Gate { gate, baseline, .. } => format!("{gate} {baseline}"),
            Activity::Review { review, .. } => format!("review {review}"),
            Activity::Waiting { until, .. } => until.to_string(),
            Activity::AwaitingAnswer { question, .. } => question.clone(),
        });
        // What is over in a moment is no turn of its own.
        let doing = doing.filter(|doing| !doing.is_empty());
        let failure = self.last_failure.as_ref().map(|it| it.attempt.clone());
        (
            self.state,
            self.run.clone(),
            self.story.clone(),
            doing,
            failure,
            self.finish,
        )
    }
}

fn question(asked: &QuestionAsked) -> QuestionStatus {
    QuestionStatus {
        story: asked.story.clone(),
        question: asked.question.clone(),
    }
}

fn story(story: &StoryProgress) -> StoryStatus {
    let attempt = story.attempts.last();
    let repair = attempt.and_then(AttemptProgress::repair);
    StoryStatus {
        id: story.id.clone(),
        title: story.title.clone(),
        position: story.position,
        attempt: attempt.map(|it| it.number),
        max_attempts: attempt.map(|it| it.tries.most + it.tries.uncounted),
        uncounted_attempts: attempt.map(|it| it.tries.uncounted).filter(|it| *it > 0),
        repair: repair.map(|it| it.repair),
        max_repairs: repair.map(|it| it.max_repairs),
    }
}

fn activity(progress: &Progress) -> Option<Activity> {
    match &progress.doing {
        Doing::Starting | Doing::Between => Some(Activity::Between),
        Doing::Working { since, .. } => Some(Activity::Agent {
            since: *since,
            says: progress.activity.as_ref().and_then(says),
        }),
        Doing::Gate {
            gate,
            baseline,
            since,
            ..
        } => Some(Activity::Gate {
            gate: gate.clone(),
            baseline: *baseline,
            since: *since,
        }),
        Doing::Review { review, since, .. } => Some(Activity::Review {
            review: review.clone(),
            since: *since,
            says: progress.activity.as_ref().and_then(says),
        }),
        Doing::Waiting {
            reason,
            until,
            continues,
            ..
        } => Some(Activity::Waiting {
            reason: reason.clone(),
            until: *until,
            continues: *continues,
        }),
        Doing::AwaitingAnswer {
            question,
            since,
            until,
            ..
        } => Some(Activity::AwaitingAnswer {
            question: question.clone(),
            since: *since,
            until: *until,
        }),
        Doing::Paused { .. } | Doing::Ended => None,
    }
}

/// What an agent said or did, in one line; nothing where it says nothing about its work.
fn says(event: &AgentEvent) -> Option<String> {
    let last_line = |text: &str| {
        let mut lines = text.lines().rev().map(str::trim);
        lines.find(|line| !line.is_empty()).map(str::to_owned)
    };
    match event {
        AgentEvent::Text { text } | AgentEvent::Thinking { text } => last_line(text),
        AgentEvent::ToolCall { tool, summary } if summary.is_empty() => Some(tool.clone()),
        AgentEvent::ToolCall { tool, summary } => Some(format!("{tool}: {summary}")),
        AgentEvent::Retrying { message }
        | AgentEvent::Limit { message, .. }
        | AgentEvent::Auth { message, .. }
        | AgentEvent::Overflow { message }
        | AgentEvent::Error { message } => last_line(message),
        AgentEvent::Session { .. }
        | AgentEvent::ToolResult { .. }
        | AgentEvent::Usage { .. }
        | AgentEvent::Final { .. }
        | AgentEvent::Unknown { .. } => None,
    }
}

fn asked(progress: &Progress) -> Option<&'static str> {
    if progress.ended.is_some() {
        return None;
    }
    match (progress.requested, progress.skipping, progress.pausing) {
        (Some(_), ..) => Some("stop"),
        (None, true, _) => Some("skip"),
        (None, false, true) => Some("pause"),
        (None, false, false) => None,
    }
}

/// What to type where there is no run, or one at work.
fn next_steps(state: Option<RunState>) -> Vec<NextStep> {
    match state {
        None => vec![NextStep::new(
            "ralphtool run",
            "works through a change, story by story",
        )],
        Some(_) => vec![
            NextStep::new("ralphtool attach", "shows its screen in this terminal"),
            NextStep::new("ralphtool status --watch", "follows it in a few lines"),
        ],
    }
}

#[cfg(test)]
mod tests;
