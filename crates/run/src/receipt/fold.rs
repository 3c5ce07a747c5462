//! From records to a receipt: where they say it, it is taken; nothing is looked up elsewhere.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use jiff::Timestamp;

use super::{
    AttemptReceipt, AttemptResult, CommitReceipt, CostSource, GateReceipt, GateVerdict,
    RECEIPT_VERSION, Receipt, Spending, StoryReceipt, StoryResult, Totals, WarningReceipt,
};
use crate::records::event::{Event, GateResult, Outcome, Record};
use crate::records::progress::{
    AttemptProgress, AttemptStanding, GateProgress, Progress, StoryProgress, StoryStanding,
};
use crate::records::summary::{RunState, RunSummary};
use ralph_agents::agent_event::Usage;
use ralph_base::ids::{AttemptNumber, StoryId};

/// A run of a gate: the story it was recorded with, and its place among that story's.
type GatePlace = (StoryId, usize);

/// What the records say beyond where the run stands.
#[derive(Default)]
struct Notes {
    commits: HashMap<StoryId, Vec<CommitReceipt>>,
    /// How long the attempts took that completed their stories.
    took: HashMap<(StoryId, AttemptNumber), u64>,
    /// Stories a gate at the end opened again; their commits stay.
    reopened: HashSet<StoryId>,
    /// The run of a gate that ended last.
    last_gate: Option<GatePlace>,
    /// Runs of gates that failed as they had before.
    red_before: HashSet<GatePlace>,
    /// Runs of gates over the whole change, in order.
    at_end: Vec<GatePlace>,
    warnings: Vec<WarningReceipt>,
}

impl Receipt {
    /// The receipt of a run; while it is at work it counts up to now.
    pub fn of(summary: &RunSummary, records: &[Record], now: Timestamp) -> Self {
        let mut progress = Progress::default();
        let mut notes = Notes::default();
        for record in records {
            notes.take(record, &progress);
            progress.apply(record);
        }
        let is_at_work = summary.state == RunState::AtWork;
        let until = match progress.ended_at {
            None if is_at_work => now,
            ended => ended.or(progress.worked_until()).unwrap_or(summary.ended),
        };
        let took = if is_at_work {
            progress.elapsed(now)
        } else {
            progress.time_at_work()
        };
        let stories: Vec<StoryReceipt> = progress
            .stories
            .iter()
            .map(|story| notes.story(story, until, is_at_work))
            .collect();
        let header = progress.header.as_ref();
        Self {
            v: RECEIPT_VERSION,
            run: summary.run.clone(),
            change: summary.change.clone(),
            state: summary.state,
            reason: progress.outcome.as_ref().and_then(reason),
            branch: header.map(|it| it.branch.clone()),
            original: header.map(|it| it.original.clone()),
            original_commit: header.and_then(|it| it.original_commit.clone()),
            finish: progress.finish.as_ref().map(|it| it.choice),
            began: summary.began,
            ended: progress.ended_at,
            stories_done: progress.stories_done,
            stories_total: progress.stories_total,
            budget: header.map(|it| it.budget).unwrap_or_default(),
            story_budget: header.map(|it| it.story_budget).unwrap_or_default(),
            totals: Totals {
                attempts: stories.iter().map(|it| it.attempts.len()).sum(),
                failed_attempts: stories.iter().map(failures).sum(),
                commits: stories
                    .iter()
                    .flat_map(|it| &it.commits)
                    .filter(|it| !it.superseded)
                    .count(),
                changed_files: progress.finish.as_ref().map(|it| it.changed_files),
                duration_ms: in_ms(took),
                spending: Spending::sum(stories.iter().map(|it| &it.spending)),
            },
            stories,
            gates_at_end: notes.gates_at_end(&progress),
            warnings: notes.warnings,
        }
    }
}

impl Notes {
    fn take(&mut self, record: &Record, before: &Progress) {
        match &record.event {
            Event::Warning { code, message } => {
                let at_hand = before.current_story();
                if code == "red_before" {
                    self.red_before.extend(self.last_gate.take());
                }
                self.warnings.push(WarningReceipt {
                    code: code.clone(),
                    message: message.clone(),
                    story: at_hand.map(|story| story.id.clone()),
                });
            }
            Event::TamperFound {
                story,
                check,
                message,
                ..
            } => self.warnings.push(WarningReceipt {
                code: format!("tamper_{check}"),
                message: message.clone(),
                story: Some(story.clone()),
            }),
            Event::GateStarted { story, whole, .. } => {
                let at = before.stories.iter().find(|it| it.id == *story);
                let place = (story.clone(), at.map_or(0, |it| it.gates.len()));
                if *whole {
                    self.at_end.push(place.clone());
                }
                self.last_gate = Some(place);
            }
            Event::StoryReopened { story, .. } => {
                self.reopened.insert(story.clone());
            }
            Event::StoryCompleted {
                story,
                commit,
                changed_files,
                duration_ms,
                ..
            } => {
                let commits = self.commits.entry(story.clone()).or_default();
                if !self.reopened.remove(story) {
                    for earlier in commits.iter_mut() {
                        earlier.superseded = true;
                    }
                }
                commits.push(CommitReceipt {
                    id: commit.clone(),
                    changed_files: *changed_files,
                    superseded: false,
                });
                // If a later start recorded it, the record does not say when it was done.
                let recorded_at_once = *duration_ms > 0;
                let last = before.stories.iter().find(|it| it.id == *story);
                let last = last.and_then(|it| it.attempts.last());
                if let Some(last) = last.filter(|_| recorded_at_once) {
                    let took = record.at.duration_since(last.started_at).as_millis();
                    let took = u64::try_from(took).unwrap_or(0);
                    self.took.insert((story.clone(), last.number), took);
                }
            }
            _ => {}
        }
    }

    fn story(&self, story: &StoryProgress, until: Timestamp, is_at_work: bool) -> StoryReceipt {
        let (state, reason) = standing(&story.state, is_at_work);
        let mut commits = self.commits.get(&story.id).cloned().unwrap_or_default();
        if state != StoryResult::Completed && !self.reopened.contains(&story.id) {
            for commit in &mut commits {
                commit.superseded = true;
            }
        }
        let attempts: Vec<AttemptReceipt> = story
            .attempts
            .iter()
            .map(|it| self.attempt(story, it, is_at_work))
            .collect();
        StoryReceipt {
            id: story.id.clone(),
            title: story.title.clone(),
            state,
            reason,
            duration_ms: in_ms(story.elapsed(until)),
            spending: Spending::sum(attempts.iter().map(|it| &it.spending)),
            attempts,
            gates_before: self.gates(story, None),
            commits,
        }
    }

    fn attempt(
        &self,
        story: &StoryProgress,
        attempt: &AttemptProgress,
        is_at_work: bool,
    ) -> AttemptReceipt {
        let took = self.took.get(&(story.id.clone(), attempt.number));
        let mut receipt = AttemptReceipt {
            number: attempt.number,
            agent: attempt.agent.as_ref().map(|it| it.agent.clone()),
            model: attempt.agent.as_ref().and_then(|it| it.model.clone()),
            result: AttemptResult::Interrupted,
            kind: None,
            reason: None,
            parked: None,
            changed_files: None,
            duration_ms: took.copied(),
            spending: Spending::of(&attempt.usage, attempt.prices.as_deref()),
            gates: self.gates(story, Some(attempt.number)),
        };
        match &attempt.state {
            AttemptStanding::Succeeded => receipt.result = AttemptResult::Completed,
            AttemptStanding::Running if is_at_work => receipt.result = AttemptResult::Running,
            AttemptStanding::Running | AttemptStanding::Interrupted => {}
            AttemptStanding::Failed {
                kind,
                reason,
                parked,
                changed_files,
                duration,
            } => {
                receipt.result = AttemptResult::Failed;
                receipt.kind = Some(*kind);
                receipt.reason = Some(reason.clone());
                receipt.parked = Some(parked.clone());
                receipt.changed_files = Some(*changed_files);
                receipt.duration_ms = Some(in_ms(*duration));
            }
        }
        receipt
    }

    fn gates(&self, story: &StoryProgress, attempt: Option<AttemptNumber>) -> Vec<GateReceipt> {
        let places = story.gates.iter().enumerate();
        places
            .map(|(place, gate)| ((story.id.clone(), place), gate))
            .filter(|(place, gate)| gate.attempt == attempt && !self.at_end.contains(place))
            .map(|(place, it)| {
                let was_red = attempt.is_none() || self.red_before.contains(&place);
                gate(it, was_red)
            })
            .collect()
    }

    fn gates_at_end(&self, progress: &Progress) -> Vec<GateReceipt> {
        let found = self.at_end.iter().filter_map(|place| {
            let story = progress.stories.iter().find(|it| it.id == place.0)?;
            let ran = story.gates.get(place.1)?;
            Some(gate(ran, self.red_before.contains(place)))
        });
        found.collect()
    }
}

impl Spending {
    fn of(usage: &Usage, prices: Option<&str>) -> Self {
        let source = match prices {
            Some(name) => CostSource::Prices {
                name: name.to_owned(),
            },
            None => CostSource::Agent,
        };
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            cost_usd: usage.cost_usd,
            cost_from: usage.cost_usd.map(|_| source).into_iter().collect(),
            cost_is_partial: usage.cost_usd.is_none() && usage.total_tokens() > 0,
        }
    }

    fn sum<'a>(parts: impl Iterator<Item = &'a Self>) -> Self {
        let mut total = Self::default();
        for part in parts {
            total.input_tokens += part.input_tokens;
            total.output_tokens += part.output_tokens;
            total.cache_read_tokens += part.cache_read_tokens;
            total.cache_write_tokens += part.cache_write_tokens;
            if let Some(cost) = part.cost_usd {
                total.cost_usd = Some(total.cost_usd.unwrap_or(0.0) + cost);
            }
            total.cost_is_partial |= part.cost_is_partial;
            total.cost_from.extend(part.cost_from.iter().cloned());
        }
        total.cost_from.sort_unstable();
        total.cost_from.dedup();
        total
    }

    /// All tokens together.
    pub const fn total_tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens
    }
}

fn gate(gate: &GateProgress, is_red_before: bool) -> GateReceipt {
    let (verdict, how) = match &gate.result {
        None => (GateVerdict::Unknown, None),
        Some(GateResult::Passed) => (GateVerdict::Passed, None),
        Some(GateResult::Failed { how, .. }) if is_red_before => {
            (GateVerdict::RedBefore, Some(how.clone()))
        }
        Some(GateResult::Failed { how, .. }) => (GateVerdict::Failed, Some(how.clone())),
    };
    GateReceipt {
        name: gate.name.clone(),
        verdict,
        how,
        duration_ms: gate.duration.map(in_ms),
    }
}

fn standing(state: &StoryStanding, is_at_work: bool) -> (StoryResult, Option<String>) {
    match state {
        StoryStanding::Waiting => (StoryResult::Open, None),
        StoryStanding::Done => (StoryResult::DoneBefore, None),
        StoryStanding::Deferred => (StoryResult::Deferred, None),
        StoryStanding::Running if is_at_work => (StoryResult::Running, None),
        StoryStanding::Running | StoryStanding::Unfinished => (StoryResult::Unfinished, None),
        StoryStanding::Skipped { reason } => (StoryResult::Skipped, Some(reason.clone())),
        StoryStanding::Completed { .. } => (StoryResult::Completed, None),
    }
}

fn failures(story: &StoryReceipt) -> usize {
    let did_fail = |it: &&AttemptReceipt| {
        matches!(
            it.result,
            AttemptResult::Failed | AttemptResult::Interrupted
        )
    };
    story.attempts.iter().filter(did_fail).count()
}

fn reason(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::AllDone | Outcome::StoryDone | Outcome::Stopped | Outcome::Skipped { .. } => None,
        Outcome::Exhausted { story, reason, .. } => {
            Some(format!("story `{story}` used up its attempts: {reason}"))
        }
        Outcome::Limited { reason } => Some(reason.clone()),
        Outcome::Broken { reason, hint } => Some(format!("{reason}\n{hint}")),
    }
}

fn in_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
