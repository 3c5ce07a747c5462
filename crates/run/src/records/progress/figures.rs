//! The figures of a run: one fold, from which every command and screen takes them.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    AttemptProgress, AttemptStanding, Progress, ReviewProgress, StoryProgress, StoryStanding,
};
use crate::policy::{Consequence, consequence};
use crate::records::counts::StoryCounts;
use crate::records::event::FailureKind;
use ralph_agents::agent_event::Usage;

/// What a run has done and used so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// The stories of its change.
    pub stories: StoryCounts,
    /// Attempts that were started, of all its parts.
    pub attempts: u32,
    /// Attempts that failed; not those that were stopped, interrupted, skipped or limited.
    pub failed_attempts: u32,
    /// How often agents were asked to repair their work, in the same session.
    pub repairs: u32,
    /// How long it was at work.
    pub time: Duration,
    /// Tokens and cost.
    pub usage: Usage,
    /// The cost of some attempts is not known: that of the run is a lower bound.
    pub cost_is_partial: bool,
    /// Paths it changed; none before its branch was finished, or after a rewind.
    pub changed_files: Option<usize>,
    /// What the user should know, without notes.
    pub warnings: usize,
}

/// What is known of the cost of a run, in US dollars.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KnownCost {
    /// No agent reported a cost.
    Unknown,
    /// This, without that of attempts that did not report it.
    AtLeast(f64),
    /// This, without that of the attempt in progress.
    SoFar(f64),
    /// All of it.
    Exact(f64),
}

impl Progress {
    /// What is known of the cost so far.
    pub fn cost(&self) -> KnownCost {
        let attempts = || self.stories.iter().flat_map(|story| &story.attempts);
        let is_running = |it: &AttemptProgress| it.state == AttemptStanding::Running;
        let is_missing = |it: &AttemptProgress| !is_running(it) && it.lacks_cost();
        let mut reviews = self.stories.iter().flat_map(|story| &story.reviews);
        let is_review_missing = reviews.any(ReviewProgress::lacks_cost);
        let is_to_come = |it: &AttemptProgress| is_running(it) && it.usage.cost_usd.is_none();
        match self.usage().cost_usd {
            None if self.attempts == 0 => KnownCost::Exact(0.0),
            None => KnownCost::Unknown,
            Some(usd) if is_review_missing || attempts().any(is_missing) => KnownCost::AtLeast(usd),
            Some(usd) if attempts().any(is_to_come) => KnownCost::SoFar(usd),
            Some(usd) => KnownCost::Exact(usd),
        }
    }

    /// Whether a budget of money is set and no agent has reported a cost.
    pub fn is_cost_missing(&self) -> bool {
        let mut header = self.header.iter();
        let has_budget = header.any(|it| it.budget.usd.is_some() || it.story_budget.usd.is_some());
        has_budget && self.cost() == KnownCost::Unknown
    }

    /// The figures; `now` is the time if the run is at work, none if it is not.
    pub fn figures(&self, now: Option<Timestamp>) -> Figures {
        let attempts = self.stories.iter().flat_map(|story| &story.attempts);
        let failed = attempts.filter(|it| match &it.state {
            AttemptStanding::Failed(failed) => is_the_attempts_fault(failed.kind),
            AttemptStanding::Interrupted
            | AttemptStanding::Running
            | AttemptStanding::Succeeded => false,
        });
        let attempts = self.stories.iter().flat_map(|story| &story.attempts);
        let repairs: usize = attempts.map(|it| it.repairs.len()).sum();
        // What a finish counted is not what the branch has after a rewind.
        let finish = self.finish.as_ref().filter(|_| !self.is_rewound());
        Figures {
            stories: self.story_counts(),
            attempts: self.attempts,
            failed_attempts: u32::try_from(failed.count()).unwrap_or(u32::MAX),
            repairs: u32::try_from(repairs).unwrap_or(u32::MAX),
            time: match now {
                Some(now) => self.elapsed(now),
                None => self.time_at_work(),
            },
            usage: self.usage(),
            cost_is_partial: matches!(self.cost(), KnownCost::AtLeast(_)),
            changed_files: finish.map(|finish| finish.changed_files),
            warnings: self.important_warnings().count(),
        }
    }

    /// How many stories are done, deferred, skipped and open.
    pub fn story_counts(&self) -> StoryCounts {
        let count = |is_it: &dyn Fn(&StoryProgress) -> bool| {
            self.stories.iter().filter(|story| is_it(story)).count()
        };
        let deferred = count(&|it| it.state == StoryStanding::Deferred);
        let skipped = count(&|it| matches!(it.state, StoryStanding::Skipped { .. }));
        let failed = count(&|it| matches!(it.state, StoryStanding::Failed(_)));
        let not_run = count(&|it| matches!(it.state, StoryStanding::NotRun { .. }));
        let settled = self.stories_done + deferred + skipped + failed + not_run;
        let done = self.stories.iter().filter(|story| story.is_done());
        StoryCounts {
            total: self.stories_total,
            done: self.stories_done,
            deferred,
            skipped,
            failed,
            not_run,
            open: self.stories_total.saturating_sub(settled),
            tasks_deferred: done.map(|story| story.tasks_deferred).sum(),
        }
    }

    /// Whether the run was rewound to before a story that was done.
    pub const fn is_rewound(&self) -> bool {
        self.rewound.is_some()
    }

    /// The run was moved to other checkpoints: these are the commits of those that stand.
    pub(super) fn on_moved(&mut self, checkpoints: &[String]) {
        for story in &mut self.stories {
            story.settle_checkpoint(checkpoints);
        }
        let rewound = self.stories.iter().find(|it| it.taken_back.is_some());
        self.rewound = rewound.map(|story| story.id.clone());
        self.stories_done = self.stories.iter().filter(|it| it.is_done()).count();
    }
}

/// Whether an attempt that ended like this failed: nothing from outside ended it.
fn is_the_attempts_fault(kind: FailureKind) -> bool {
    consequence(kind) == Consequence::Retry
}
