//! From records to a receipt. Records are the only source; nothing is read from elsewhere.

use jiff::Timestamp;

use super::{
    AttemptReceipt, AttemptResult, CostSource, GateReceipt, GateVerdict, RECEIPT_VERSION, Receipt,
    RedTryReceipt, RepairReceipt, ReviewReceipt, ReviewVerdict, Spending, StoryReceipt,
    StoryResult, Totals,
};
use crate::records::event::{Outcome, Record, RepairStarted};
use crate::records::progress::{
    AttemptProgress, AttemptStanding, GateProgress, GateStanding, Progress, RedTry, ReviewProgress,
    StoryProgress, StoryStanding,
};
use crate::records::review::{ReviewResult, Verdict};
use crate::records::summary::RunSummary;
use crate::words::in_ms;
use ralph_agents::agent_event::Usage;
use ralph_base::ids::AttemptNumber;

impl Receipt {
    /// The receipt of a run; while it is at work it counts up to now.
    pub fn of(summary: &RunSummary, records: &[Record], now: Timestamp) -> Self {
        let progress = Progress::of(records);
        let is_at_work = summary.state.is_live();
        let until = match progress.ended_at {
            None if is_at_work => now,
            ended => ended.or(progress.worked_until()).unwrap_or(summary.ended),
        };
        let figures = progress.figures(is_at_work.then_some(now));
        let stories: Vec<StoryReceipt> = progress
            .stories
            .iter()
            .map(|it| story(&progress, it, until, is_at_work))
            .collect();
        let reviews_at_end = reviews_at_end(&progress);
        let header = progress.header.as_ref();
        Self {
            v: RECEIPT_VERSION,
            run: summary.run.clone(),
            change: summary.change.clone(),
            state: summary.state,
            headline: summary.headline.clone(),
            reason: progress.outcome().and_then(reason),
            branch: header.map(|it| it.branch.clone()),
            original: header.map(|it| it.original.clone()),
            original_commit: header.and_then(|it| it.original_commit.clone()),
            finish: summary.finish,
            began: summary.began,
            ended: progress.ended_at,
            counts: figures.stories,
            budget: header.map(|it| it.budget).unwrap_or_default(),
            story_budget: header.map(|it| it.story_budget).unwrap_or_default(),
            totals: Totals {
                attempts: figures.attempts,
                failed_attempts: figures.failed_attempts,
                repairs: figures.repairs,
                commits: stories
                    .iter()
                    .flat_map(|it| &it.commits)
                    .filter(|it| !it.superseded)
                    .count(),
                changed_files: figures.changed_files,
                duration_ms: in_ms(figures.time),
                spending: Spending::sum(
                    stories
                        .iter()
                        .map(|it| &it.spending)
                        .chain(reviews_at_end.iter().map(|it| &it.spending)),
                ),
            },
            stories,
            gates_at_end: gates_at_end(&progress),
            flaky_gates: progress.flaky_gates(),
            gates_not_run: progress.gates_not_run(),
            reviews_at_end,
            alerts: progress.alerts(),
            unverified: progress.unverified(),
            warnings: progress.warnings,
        }
    }
}

fn story(
    progress: &Progress,
    story: &StoryProgress,
    until: Timestamp,
    is_at_work: bool,
) -> StoryReceipt {
    let (state, reason) = standing(&story.state, is_at_work);
    let mut commits = story.commits.clone();
    if state != StoryResult::Completed && !story.is_reopened {
        for commit in &mut commits {
            commit.superseded = true;
        }
    }
    let attempts: Vec<AttemptReceipt> = story
        .attempts
        .iter()
        .map(|it| attempt(story, it, is_at_work))
        .collect();
    StoryReceipt {
        id: story.id.clone(),
        title: story.title.clone(),
        state,
        reason,
        findings: progress.findings_of(story).cloned().collect(),
        is_doubtful: progress.is_doubtful(story),
        duration_ms: in_ms(story.elapsed(until)),
        spending: Spending::sum(attempts.iter().flat_map(AttemptReceipt::all_spending)),
        attempts,
        gates_before: gates(story, None),
        commits,
    }
}

fn attempt(story: &StoryProgress, attempt: &AttemptProgress, is_at_work: bool) -> AttemptReceipt {
    let failed = match &attempt.state {
        AttemptStanding::Failed(failed) => Some(failed),
        _ => None,
    };
    AttemptReceipt {
        number: attempt.number,
        agent: attempt.agent.as_ref().map(|it| it.agent.clone()),
        model: attempt.agent.as_ref().and_then(|it| it.model.clone()),
        result: match attempt.state {
            AttemptStanding::Succeeded => AttemptResult::Completed,
            AttemptStanding::Failed(_) => AttemptResult::Failed,
            AttemptStanding::Running if is_at_work => AttemptResult::Running,
            AttemptStanding::Running | AttemptStanding::Interrupted => AttemptResult::Interrupted,
        },
        kind: failed.map(|it| it.kind),
        reason: failed.map(|it| it.reason.clone()),
        parked: failed.map(|it| it.parked.clone()),
        changed_files: failed.map(|it| it.changed_files),
        duration_ms: failed.map(|it| it.duration_ms).or(attempt.took.map(in_ms)),
        spending: Spending::of(
            &attempt.usage,
            attempt.prices.as_deref(),
            attempt.lacks_cost(),
        ),
        repairs: attempt.repairs.iter().map(repair).collect(),
        gates: gates(story, Some(attempt.number)),
        reviews: story.reviews_of(attempt.number).map(review).collect(),
    }
}

fn repair(repair: &RepairStarted) -> RepairReceipt {
    RepairReceipt {
        number: repair.repair,
        kind: repair.kind,
        gate: repair.gate.clone(),
        reason: repair.reason.clone(),
    }
}

fn gates(story: &StoryProgress, attempt: Option<AttemptNumber>) -> Vec<GateReceipt> {
    let found = story.gates.iter();
    found
        .filter(|it| it.attempt == attempt && !it.whole)
        .map(gate)
        .collect()
}

fn gates_at_end(progress: &Progress) -> Vec<GateReceipt> {
    let all = progress.stories.iter().flat_map(|story| &story.gates);
    let mut whole: Vec<&GateProgress> = all.filter(|it| it.whole).collect();
    whole.sort_by_key(|it| it.started_at);
    whole.into_iter().map(gate).collect()
}

fn reviews_at_end(progress: &Progress) -> Vec<ReviewReceipt> {
    let all = progress.stories.iter().flat_map(|story| &story.reviews);
    let mut whole: Vec<&ReviewProgress> = all.filter(|it| it.is_whole()).collect();
    whole.sort_by_key(|it| it.started_at);
    whole.into_iter().map(review).collect()
}

fn review(review: &ReviewProgress) -> ReviewReceipt {
    let verdict = match &review.result {
        None => ReviewVerdict::Unknown,
        Some(ReviewResult::NoVerdict { .. }) => ReviewVerdict::NoVerdict,
        Some(result) if result.has(Verdict::NotMet) => ReviewVerdict::NotMet,
        Some(result) if result.has(Verdict::CannotTell) => ReviewVerdict::CannotTell,
        Some(ReviewResult::Judged { .. }) => ReviewVerdict::Met,
    };
    let reason = match &review.result {
        Some(ReviewResult::NoVerdict { reason }) => Some(reason.clone()),
        Some(ReviewResult::Judged { .. }) | None => None,
    };
    ReviewReceipt {
        name: review.name.clone(),
        agent: review.agent.agent.clone(),
        model: review.agent.model.clone(),
        advisory: review.advisory,
        repair: review.repair,
        verdict,
        reason,
        items: review
            .result
            .iter()
            .flat_map(ReviewResult::items)
            .cloned()
            .collect(),
        duration_ms: review.duration.map(in_ms),
        spending: Spending::of(&review.usage, review.prices.as_deref(), review.lacks_cost()),
    }
}

impl AttemptReceipt {
    /// What it used, and what each of its reviews did.
    fn all_spending(&self) -> impl Iterator<Item = &Spending> {
        let reviews = self.reviews.iter().map(|it| &it.spending);
        std::iter::once(&self.spending).chain(reviews)
    }
}

impl Spending {
    fn of(usage: &Usage, prices: Option<&str>, lacks_cost: bool) -> Self {
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
            cost_is_partial: lacks_cost,
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

fn gate(gate: &GateProgress) -> GateReceipt {
    let (verdict, how) = match gate.standing() {
        GateStanding::Running | GateStanding::Stopped => (GateVerdict::Unknown, None),
        GateStanding::NotRun => (GateVerdict::NotRun, None),
        GateStanding::Passed | GateStanding::Flaky => (GateVerdict::Passed, None),
        GateStanding::CannotRun(how) => (GateVerdict::CannotRun, Some(how)),
        GateStanding::RedBefore(how) => (GateVerdict::RedBefore, Some(how)),
        GateStanding::Failed(how) => (GateVerdict::Failed, Some(how)),
    };
    GateReceipt {
        name: gate.name.clone(),
        verdict,
        how: how.map(str::to_owned),
        duration_ms: gate.duration.map(in_ms),
        repair: gate.repair,
        failed_tests: gate.failed_tests,
        new_failures: gate.new_failures.clone(),
        red_tries: gate.red_tries.iter().map(red_try).collect(),
    }
}

fn red_try(red: &RedTry) -> RedTryReceipt {
    RedTryReceipt {
        how: red.how.clone(),
        duration_ms: in_ms(red.duration),
        log: red.log.clone(),
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
        StoryStanding::Failed(_) => (StoryResult::Failed, None),
        StoryStanding::NotRun { reason, .. } => (StoryResult::NotRun, Some(reason.clone())),
        StoryStanding::Completed { .. } => (StoryResult::Completed, None),
    }
}

/// What is said below the headline.
fn reason(outcome: &Outcome) -> Option<String> {
    let failed = outcome.failed_stories();
    let reason = match failed.as_slice() {
        [] | [_] => outcome.reason().map(str::to_owned),
        several => {
            let first_line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
            let lines = several
                .iter()
                .map(|it| format!("story {}: {}", it.story, first_line(&it.reason)));
            Some(lines.collect::<Vec<_>>().join("\n"))
        }
    };
    let lines: Vec<String> = reason.into_iter().chain(outcome.hint()).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
