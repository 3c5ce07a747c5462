//! Reviews as far as the records of a run tell: their verdicts, and what they used.

use std::time::Duration;

use jiff::Timestamp;

use super::{Doing, Progress, StoryProgress, StoryStanding};
use crate::policy::roster::Choice;
use crate::records::review::{
    JudgedItem, ReviewFinished, ReviewResult, ReviewStarted, Unreviewed, Verdict,
};
use crate::words::between;
use ralph_agents::agent_event::{AgentEvent, Usage};
use ralph_agents::dialect::Output;
use ralph_base::ids::{AttemptNumber, StoryId};

/// One process of a reviewer.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewProgress {
    /// The review's name.
    pub name: String,
    /// The attempt it judges; none where it judges the whole change.
    pub attempt: Option<AttemptNumber>,
    /// The repair of that attempt it follows; 0 before the first.
    pub repair: u32,
    /// The agent and model that review.
    pub agent: Choice,
    /// What it finds is only reported.
    pub advisory: bool,
    /// Folder with prompt, stdout and stderr; empty where no process was started.
    pub transcript: String,
    /// How its transcript is to be read.
    pub output: Output,
    /// When it began.
    pub started_at: Timestamp,
    /// What it used so far.
    pub usage: Usage,
    /// The prices its cost is computed from; none if the agent reports it.
    pub prices: Option<String>,
    /// How it ended; none while it is at work, or where the run was interrupted.
    pub result: Option<ReviewResult>,
    /// The reviewer is asked once more.
    pub retrying: bool,
    /// How long it took.
    pub duration: Option<Duration>,
    /// It judges the whole change, and a story was done after it.
    pub superseded: bool,
}

impl ReviewProgress {
    /// Whether it judges the whole change.
    pub const fn is_whole(&self) -> bool {
        self.attempt.is_none()
    }

    /// Whether it did something whose cost its agent did not report.
    pub(crate) fn lacks_cost(&self) -> bool {
        let did_something = self.output == Output::Text || self.usage.total_tokens() > 0;
        let was_started = !self.transcript.is_empty() && self.duration.is_some();
        self.usage.cost_usd.is_none() && did_something && was_started
    }

    /// Whether it is over without a verdict, and no other try follows.
    fn gave_none(&self) -> bool {
        !self.retrying && matches!(self.result, Some(ReviewResult::NoVerdict { .. }))
    }

    /// What there is to doubt where it fails nothing, an item a line.
    fn doubts(&self) -> Vec<&JudgedItem> {
        let result = self.result.iter();
        let items = result.flat_map(|result| {
            let not_met = result.with(Verdict::NotMet).filter(|_| self.advisory);
            not_met.chain(result.with(Verdict::CannotTell))
        });
        items.collect()
    }
}

impl StoryProgress {
    /// The reviews of this attempt.
    pub fn reviews_of(&self, attempt: AttemptNumber) -> impl Iterator<Item = &ReviewProgress> {
        let of_attempt = move |it: &&ReviewProgress| it.attempt == Some(attempt);
        self.reviews.iter().filter(of_attempt)
    }

    /// The reviews that decided about the attempt that completed the story.
    fn deciding_reviews(&self) -> impl Iterator<Item = &ReviewProgress> {
        let last = self.attempts.last().map(|it| (it.number, it.repairs()));
        let last = last.filter(|_| matches!(self.state, StoryStanding::Completed(_)));
        let reviews = self.reviews.iter();
        reviews.filter(move |it| {
            last.is_some() && it.attempt.zip(Some(it.repair)) == last && !it.retrying
        })
    }

    /// Whether a review gave no verdict on it, and should have, although it is done.
    pub(super) fn lacks_review(&self) -> bool {
        let mut reviews = self.deciding_reviews();
        reviews.any(|it| !it.advisory && it.gave_none())
    }
}

impl Progress {
    pub(super) fn on_review_started(&mut self, started: &ReviewStarted, at: Timestamp) {
        self.activity = None;
        self.doing = Doing::Review {
            story: started.story.clone(),
            review: started.review.clone(),
            since: at,
        };
        let Some(story) = self.story_mut(&started.story) else {
            return;
        };
        let (_, repair) = story.judged_now(started.attempt.is_some());
        story.reviews.push(ReviewProgress {
            name: started.review.clone(),
            attempt: started.attempt,
            repair,
            agent: started.agent.clone(),
            advisory: started.advisory,
            transcript: started.transcript.clone(),
            output: started.output,
            started_at: at,
            usage: Usage::default(),
            prices: None,
            result: None,
            retrying: false,
            duration: None,
            superseded: false,
        });
    }

    pub(super) fn on_reviewer(&mut self, story: &StoryId, agent: &AgentEvent) {
        let AgentEvent::Usage { usage, prices } = agent else {
            self.note_activity(agent);
            return;
        };
        // What is read from a transcript has no computed cost; the record has it.
        let cost_usd = usage.cost_usd.or(self.review_in_flight.cost_usd);
        self.review_in_flight = Usage { cost_usd, ..*usage };
        let usage = self.review_in_flight;
        if let Some(review) = self.story_mut(story).and_then(|it| it.reviews.last_mut()) {
            review.usage = usage;
            if prices.is_some() {
                review.prices.clone_from(prices);
            }
        }
    }

    pub(super) fn on_review_finished(&mut self, finished: &ReviewFinished) {
        self.review_in_flight = finished.usage;
        self.settle_review();
        self.doing = Doing::Between;
        let story = self.story_mut(&finished.story);
        if let Some(review) = story.and_then(|it| it.reviews.last_mut()) {
            review.usage = finished.usage;
            review.prices.clone_from(&finished.prices);
            review.result = Some(finished.result.clone());
            review.retrying = finished.retrying;
            review.duration = Some(Duration::from_millis(finished.duration_ms));
        }
    }

    /// Adds what the reviewer that is gone used to the total.
    pub(super) fn settle_review(&mut self) {
        let usage = std::mem::take(&mut self.review_in_flight);
        self.settled.add(&usage);
        self.activity = None;
    }

    /// The run ended or was interrupted: a reviewer that was at work will not answer.
    pub(super) fn break_off_review(&mut self, at: Timestamp) {
        self.settle_review();
        let reviews = self.stories.iter_mut().flat_map(|it| &mut it.reviews);
        for review in reviews.filter(|it| it.duration.is_none()) {
            review.duration = Some(between(review.started_at, at));
        }
    }

    /// A story is done: what was said of the whole change before does not speak of it.
    pub(super) fn supersede_whole_reviews(&mut self) {
        let reviews = self.stories.iter_mut().flat_map(|it| &mut it.reviews);
        for review in reviews.filter(|it| it.is_whole()) {
            review.superseded = true;
        }
    }

    /// The last word of each review of the whole change as it is now.
    fn whole_reviews(&self) -> impl Iterator<Item = &ReviewProgress> {
        let reviews = self.stories.iter().flat_map(|it| &it.reviews);
        reviews.filter(|it| it.is_whole() && !it.superseded && !it.retrying)
    }

    /// The reviews that gave no verdict on work that is done, and should have.
    pub(crate) fn unreviewed(&self) -> Vec<Unreviewed> {
        let names = self.header.iter().flat_map(|header| &header.reviews);
        let found = names.filter_map(|name| {
            let is_missing =
                |it: &ReviewProgress| it.name == *name && !it.advisory && it.gave_none();
            let stories = self.stories.iter();
            let stories = stories.filter(|story| story.deciding_reviews().any(&is_missing));
            let stories: Vec<StoryId> = stories.map(|story| story.id.clone()).collect();
            let is_found = !stories.is_empty() || self.whole_reviews().any(&is_missing);
            is_found.then(|| Unreviewed {
                review: name.clone(),
                stories,
            })
        });
        found.collect()
    }

    /// The names of the reviews at the end that did not take place.
    pub(super) fn reviews_not_run(&self) -> Vec<String> {
        let at_end = self.header.iter().flat_map(|header| &header.reviews_at_end);
        let has_run = |name: &String| {
            let mut reviews = self.whole_reviews();
            reviews.any(|it| it.name == *name && it.result.is_some())
        };
        at_end.filter(|name| !has_run(name)).cloned().collect()
    }

    /// What reviews of the whole change doubt, a line each.
    pub(super) fn whole_doubts(&self) -> Vec<String> {
        let doubts = self.whole_reviews().filter_map(|review| {
            let items = review.doubts();
            let lines: Vec<String> = items.into_iter().map(JudgedItem::line).collect();
            let name = &review.name;
            (!lines.is_empty())
                .then(|| format!("review `{name}` of the whole change: {}", lines.join("; ")))
        });
        doubts.collect()
    }
}
