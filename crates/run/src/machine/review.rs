//! Reviews: agents that judge what passed the gates. What they find not met fails the attempt, or
//! opens the last story again. One that gives no verdict fails nothing: the work stays, and is not
//! verified.

use std::time::Duration;

use jiff::Timestamp;

use super::attempt::still_alive;
use super::io::{AgentEnd, AgentStart, Answer, Effect, ReviewEnd, ReviewRequest, Step, TimerKind};
use super::review_verdict::{Ending, NoVerdict, findings, judge, refused};
use super::subject::Subject;
use super::verdict::AttemptFailure;
use super::{Machine, Phase};
use crate::policy::budget::{Scope, Used};
use crate::policy::reviewer::Reviewer;
use crate::policy::{STOP_GRACE, When, in_words};
use crate::records::event::{Event, Outcome, ReviewFinished, ReviewStarted};
use crate::records::review::{JudgedItem, ReviewResult, Unreviewed, Verdict};
use crate::words::quoted;
use ralph_agents::agent_event::{AgentEvent, Usage};
use ralph_base::ids::StoryId;
use ralph_vault::journal::reopening::Reopening;

/// A reviewer that is at work.
#[derive(Debug)]
pub(super) struct Review {
    pub(super) subject: Subject,
    /// Who, by the place in the policy.
    reviewer: usize,
    /// Why it is asked once more.
    again: Option<String>,
    /// When it was asked first.
    started: Timestamp,
    /// When this process of it was started.
    process_started: Timestamp,
    /// What its first process used.
    before: Usage,
    /// What this process uses.
    usage: Usage,
    /// The model the agent says it uses.
    model: Option<String>,
    /// The prices its cost is computed from.
    prices: Option<String>,
    announced: bool,
    armed: Vec<TimerKind>,
    ending: Ending,
}

impl Review {
    /// Whether it is an attempt that is reviewed.
    pub(super) const fn has_attempt(&self) -> bool {
        matches!(self.subject, Subject::Attempt(_))
    }

    /// What it used in both of its processes.
    fn used(&self) -> Usage {
        let mut used = self.before;
        used.add(&self.usage);
        used
    }
}

impl Machine {
    /// Asks the next reviewer, from this place on; without one the work has passed.
    pub(super) fn next_review(&mut self, subject: Subject, from: usize) -> Phase {
        let mut rest = self.policy().reviewers.iter().enumerate().skip(from);
        let next = rest.find(|(_, it)| it.when == subject.when());
        let Some((reviewer, _)) = next else {
            return self.on_reviewed(subject);
        };
        let started = self.now;
        self.ask_reviewer(Review {
            subject,
            reviewer,
            again: None,
            started,
            process_started: started,
            before: Usage::default(),
            usage: Usage::default(),
            model: None,
            prices: None,
            announced: false,
            armed: Vec::new(),
            ending: Ending::Open,
        })
    }

    fn on_reviewed(&mut self, subject: Subject) -> Phase {
        match subject {
            Subject::Attempt(passed) => self.tick(passed.verified),
            Subject::Whole(whole) => self.end_done(whole.outcome),
        }
    }

    fn reviewer(&self, place: usize) -> &Reviewer {
        &self.setup.policy.reviewers[place]
    }

    fn ask_reviewer(&mut self, review: Review) -> Phase {
        // A budget that is used up by now must not undo work that is done.
        if let Some(reason) = self.review_budget_used_up(&review) {
            self.announce_review(&review, AgentStart::default());
            let result = ReviewResult::NoVerdict { reason };
            return self.on_result(review, result, None);
        }
        let gates = match &review.subject {
            Subject::Attempt(passed) => &passed.gates,
            Subject::Whole(whole) => &whole.judged,
        };
        self.request(Step::Review(ReviewRequest {
            attempt: match &review.subject {
                Subject::Attempt(passed) => passed.verified.attempt.id.clone(),
                Subject::Whole(whole) => self.last_attempt_at(&whole.story),
            },
            whole: !review.has_attempt(),
            reviewer: review.reviewer,
            gates: gates.clone(),
            again: review.again.clone(),
        }));
        Phase::Reviewing(review)
    }

    fn announce_review(&mut self, review: &Review, start: AgentStart) {
        let reviewer = self.reviewer(review.reviewer);
        let event = Event::ReviewStarted(ReviewStarted {
            story: review.subject.story().clone(),
            attempt: review.subject.attempt(),
            review: reviewer.name.clone(),
            agent: reviewer.choice.clone(),
            advisory: reviewer.advisory,
            again: review.again.clone(),
            transcript: start.transcript,
            output: start.output,
        });
        self.announce(event);
    }

    pub(super) fn on_reviewer(&mut self, mut review: Review, answer: Answer) -> Phase {
        match answer {
            Answer::AgentStarted(start) => self.on_reviewer_started(&mut review, start),
            Answer::AgentSaid(event) => self.on_reviewer_said(&mut review, event),
            Answer::AgentFinal => self.on_reviewer_final(&mut review),
            Answer::ReviewEnded(end) => return self.on_review_ended(review, *end),
            _stray => {}
        }
        Phase::Reviewing(review)
    }

    fn on_reviewer_started(&mut self, review: &mut Review, start: AgentStart) {
        if std::mem::replace(&mut review.announced, true) {
            return;
        }
        self.announce_review(review, start);
        let timeout = self.reviewer(review.reviewer).timeout;
        let left = timeout.map(|timeout| timeout.saturating_sub(self.since(review.started)));
        let check = self.next_time_check(review.subject.billed());
        for (kind, after) in [(TimerKind::Total, left), (TimerKind::Budget, check)] {
            if let Some(after) = after {
                self.arm_review(review, kind, after);
            }
        }
    }

    fn on_reviewer_said(&mut self, review: &mut Review, mut event: AgentEvent) {
        if !review.announced {
            return;
        }
        match &mut event {
            AgentEvent::Usage { usage, prices } => {
                self.price_review(review, *usage);
                *usage = review.usage;
                prices.clone_from(&review.prices);
            }
            AgentEvent::Session {
                model: Some(model), ..
            } => review.model = Some(model.clone()),
            _ => {}
        }
        let goes_on = matches!(
            event,
            AgentEvent::Text { .. } | AgentEvent::Thinking { .. } | AgentEvent::ToolCall { .. }
        );
        if goes_on && review.ending == Ending::Grace {
            review.ending = Ending::Open;
            self.disarm_review(review, TimerKind::FinalGrace);
        }
        let refused = match &event {
            AgentEvent::Auth { message, .. } => Some(refused(message)),
            _ => None,
        };
        let gave_up = matches!(event, AgentEvent::Limit { .. });
        self.announce(Event::Reviewer {
            story: review.subject.story().clone(),
            review: self.reviewer(review.reviewer).name.clone(),
            agent: event,
        });
        self.warn_of_review_budget(&review.subject, &review.usage);
        if review.ending != Ending::Open {
            return;
        }
        if let Some(reason) = refused.or_else(|| self.review_budget_used_up(review)) {
            self.end_reviewer(review, reason);
        } else if gave_up {
            self.on_reviewer_final(review);
        }
    }

    fn on_reviewer_final(&mut self, review: &mut Review) {
        if review.ending == Ending::Open {
            review.ending = Ending::Grace;
            self.arm_review(review, TimerKind::FinalGrace, self.policy().final_grace);
        }
    }

    fn price_review(&self, review: &mut Review, told: Usage) {
        let choice = &self.reviewer(review.reviewer).choice;
        (review.usage, review.prices) = self.priced(told, review.model.as_deref(), choice);
    }

    fn warn_of_review_budget(&mut self, subject: &Subject, in_flight: &Usage) {
        let budgets = self.budgets(subject.billed(), in_flight);
        self.warn_of(&budgets);
    }

    /// What is used up: by this review, by its story, or by the run.
    fn review_budget_used_up(&self, review: &Review) -> Option<String> {
        let own = Used {
            usage: review.used(),
            time: Duration::ZERO,
        };
        let own = self
            .reviewer(review.reviewer)
            .budget
            .used_up(&Scope::Run, &own);
        let own = own.map(|it| format!("{} for one review", it.reason));
        let budgets = self.budgets(review.subject.billed(), &review.usage);
        let mut others = budgets.iter();
        own.or_else(|| {
            others.find_map(|(budget, scope, used)| Some(budget.used_up(scope, used)?.reason))
        })
    }

    pub(super) fn on_review_timer(&mut self, review: &mut Review, kind: TimerKind) {
        review.armed.retain(|armed| *armed != kind);
        match (kind, &review.ending) {
            (TimerKind::FinalGrace, Ending::Grace) => {
                review.ending = Ending::AfterFinal;
                self.emit(Effect::StopProcess { grace: STOP_GRACE });
            }
            // While it may exit by itself other bounds wait; it may yet go on working.
            (_, Ending::Grace) => self.arm_review(review, kind, self.policy().final_grace),
            (TimerKind::Total, Ending::Open) => {
                let timeout = self.reviewer(review.reviewer).timeout.unwrap_or_default();
                let reason = format!("it took longer than {}", in_words(timeout));
                self.end_reviewer(review, reason);
            }
            (TimerKind::Budget, Ending::Open) => self.on_review_budget_timer(review),
            _ => {}
        }
    }

    fn on_review_budget_timer(&mut self, review: &mut Review) {
        self.warn_of_review_budget(&review.subject, &review.usage);
        if let Some(reason) = self.review_budget_used_up(review) {
            return self.end_reviewer(review, reason);
        }
        if let Some(after) = self.next_time_check(review.subject.billed()) {
            self.arm_review(review, TimerKind::Budget, after);
        }
    }

    fn end_reviewer(&mut self, review: &mut Review, reason: String) {
        review.ending = Ending::NoVerdict(reason);
        self.emit(Effect::StopProcess { grace: STOP_GRACE });
    }

    fn arm_review(&mut self, review: &mut Review, kind: TimerKind, after: Duration) {
        review.armed.push(kind);
        self.set_timer(kind, after);
    }

    fn disarm_review(&mut self, review: &mut Review, kind: TimerKind) {
        review.armed.retain(|armed| *armed != kind);
        self.cancel_timer(kind);
    }

    /// Forgets the timers of a reviewer that is gone, and counts what it used.
    pub(super) fn settle_review(&mut self, review: &mut Review) {
        for kind in std::mem::take(&mut review.armed) {
            self.cancel_timer(kind);
        }
        let usage = review.usage;
        self.tally.usage.add(&usage);
        if let Subject::Attempt(passed) = &mut review.subject {
            let attempt = &mut passed.verified.attempt;
            attempt.story.usage.add(&usage);
            self.ledger.add(&attempt.id.story, &usage);
        }
    }

    fn on_review_ended(&mut self, mut review: Review, end: ReviewEnd) -> Phase {
        if !review.announced {
            self.announce_review(&review, AgentStart::default());
        }
        if let Some(told) = end.agent.usage {
            self.price_review(&mut review, told);
        }
        self.settle_review(&mut review);
        self.report_reviewer(&review, &end.agent);
        if let Some(outcome) = still_alive(&end.agent.still_running) {
            return self.end(outcome);
        }
        match judge(end, &review.ending) {
            Ok(items) => self.on_result(review, ReviewResult::Judged { items }, None),
            Err(NoVerdict {
                reason,
                may_help_again,
            }) => {
                let is_wanted = may_help_again && review.again.is_none();
                let again = is_wanted.then(|| reason.clone());
                self.on_result(review, ReviewResult::NoVerdict { reason }, again)
            }
        }
    }

    fn report_reviewer(&mut self, review: &Review, end: &AgentEnd) {
        if !end.swept.is_empty() {
            let left = quoted(&end.swept);
            let message = format!("the reviewer left processes running, which were ended: {left}");
            self.warn("swept", message);
        }
        let choice = self.reviewer(review.reviewer).choice.clone();
        self.report_cost(&choice, review.model.as_deref(), &review.usage, end);
        self.warn_of_review_budget(&review.subject, &Usage::default());
    }

    /// The review is over, or its reviewer is asked once more.
    fn on_result(&mut self, review: Review, result: ReviewResult, again: Option<String>) -> Phase {
        let is_cut_short = self.stop.is_some() || self.skip;
        let again = again.filter(|_| !is_cut_short);
        let reviewer = self.reviewer(review.reviewer).clone();
        self.announce(Event::ReviewFinished(ReviewFinished {
            story: review.subject.story().clone(),
            attempt: review.subject.attempt(),
            review: reviewer.name.clone(),
            result: result.clone(),
            retrying: again.is_some(),
            duration_ms: self.ms_since(review.process_started),
            usage: review.usage,
            prices: review.prices.clone(),
        }));
        if is_cut_short {
            return self.cut_short(review.subject);
        }
        if again.is_some() {
            return self.ask_once_more(review, again);
        }
        let next = review.reviewer + 1;
        match (result, review.subject) {
            (ReviewResult::NoVerdict { reason }, subject) => {
                self.on_no_verdict(&reviewer, subject, next, &reason)
            }
            (result, subject) if !reviewer.advisory && result.has(Verdict::NotMet) => {
                self.on_not_met(&reviewer, subject, &result)
            }
            (result, subject) => {
                self.report_doubts(&reviewer, &result);
                self.next_review(subject, next)
            }
        }
    }

    /// The run is stopped or the story skipped while it is reviewed.
    fn cut_short(&mut self, subject: Subject) -> Phase {
        match subject {
            Subject::Whole(_) => self.end(Outcome::Stopped),
            Subject::Attempt(passed) if self.stop.is_some() => {
                self.fail(passed.verified.attempt, AttemptFailure::stopped())
            }
            Subject::Attempt(passed) => {
                self.fail(passed.verified.attempt, AttemptFailure::skipped())
            }
        }
    }

    fn ask_once_more(&mut self, review: Review, again: Option<String>) -> Phase {
        self.ask_reviewer(Review {
            before: review.used(),
            usage: Usage::default(),
            model: None,
            prices: None,
            again,
            process_started: self.now,
            announced: false,
            ending: Ending::Open,
            ..review
        })
    }

    /// The work stays, and is not verified.
    fn on_no_verdict(
        &mut self,
        reviewer: &Reviewer,
        mut subject: Subject,
        next: usize,
        reason: &str,
    ) -> Phase {
        let name = &reviewer.name;
        let message = format!("review `{name}` gave no verdict: {reason}");
        self.warn("not_reviewed", message);
        if !reviewer.advisory {
            match &mut subject {
                Subject::Attempt(passed) => passed.verified.unreviewed.push(name.clone()),
                Subject::Whole(_) => {
                    self.unreviewed.insert((name.clone(), None));
                }
            }
        }
        self.next_review(subject, next)
    }

    fn on_not_met(
        &mut self,
        reviewer: &Reviewer,
        subject: Subject,
        result: &ReviewResult,
    ) -> Phase {
        let reason = findings(&reviewer.name, result);
        match subject {
            Subject::Attempt(passed) => {
                let failure = AttemptFailure::review(reason);
                self.fail(passed.verified.attempt, failure)
            }
            Subject::Whole(whole) => self.reopen(Reopening {
                story: whole.story,
                gate: reviewer.name.clone(),
                review: true,
                reason,
            }),
        }
    }

    /// Warns of what a review that fails nothing found.
    fn report_doubts(&mut self, reviewer: &Reviewer, result: &ReviewResult) {
        let name = &reviewer.name;
        for (code, verdict, what) in [
            ("review_not_met", Verdict::NotMet, "found not met"),
            ("review_cannot_tell", Verdict::CannotTell, "cannot tell"),
        ] {
            let items: Vec<String> = result
                .with(verdict)
                .map(JudgedItem::without_verdict)
                .collect();
            if !items.is_empty() {
                let message = format!("review `{name}` {what}: {}", items.join("; "));
                self.warn(code, message);
            }
        }
    }

    /// Takes note of the reviews that gave no verdict on a story that is done.
    pub(super) fn note_unreviewed(&mut self, story: &StoryId, reviews: Vec<String>) {
        self.unreviewed.retain(|(_, of)| of.as_ref() != Some(story));
        let found = reviews.into_iter().map(|name| (name, Some(story.clone())));
        self.unreviewed.extend(found);
    }

    /// The reviews that gave no verdict on work that is done, and should have.
    pub(super) fn unreviewed(&self) -> Vec<Unreviewed> {
        let reviewers = self.policy().reviewers.iter().filter(|it| !it.advisory);
        let found = reviewers.filter_map(|reviewer| {
            let name = &reviewer.name;
            let has =
                |story: Option<&StoryId>| self.unreviewed.contains(&(name.clone(), story.cloned()));
            let stories = self.stories.iter().map(|it| &it.id);
            let stories: Vec<StoryId> = stories.filter(|it| has(Some(it))).cloned().collect();
            let is_found = match reviewer.when {
                When::Story => !stories.is_empty(),
                When::End => has(None),
            };
            is_found.then(|| Unreviewed {
                review: name.clone(),
                stories,
            })
        });
        found.collect()
    }
}
