//! What the run and the story at hand have used, warned of in time, and how a cost is computed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use super::Machine;
use super::io::{AgentEnd, Effect, TimerKind};
use super::session::Attempt;
use crate::policy::STOP_GRACE;
use crate::policy::budget::{Bound, Budget, Scope, Used, UsedUp};
use crate::policy::prices::{cost, heading};
use crate::policy::roster::Choice;
use crate::words::{self, between};
use ralph_agents::agent_event::Usage;
use ralph_base::allowance::limit_dollars;
use ralph_base::ids::StoryId;

/// What stories have used, and what was said of it.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// What each story used, without the stretch that is under way.
    stories: BTreeMap<StoryId, Used>,
    /// The story whose clock runs, and since when.
    clock: Option<(StoryId, Timestamp)>,
    /// The bounds a warning was given for.
    warned: BTreeSet<(Scope, Bound)>,
    /// Something was used up while a gate runs.
    pub(super) overrun: Option<UsedUp>,
}

impl Ledger {
    /// Starts with what stories used before the run was resumed.
    pub(super) fn new(stories: BTreeMap<StoryId, Used>) -> Self {
        Self {
            stories,
            ..Self::default()
        }
    }

    /// An attempt at the story starts; its first one starts the clock.
    pub(super) fn start_clock(&mut self, story: &StoryId, now: Timestamp) {
        self.clock.get_or_insert_with(|| (story.clone(), now));
    }

    /// The story is done, or left for now.
    pub(super) fn stop_clock(&mut self, now: Timestamp) {
        if let Some((story, since)) = self.clock.take() {
            let used = self.stories.entry(story).or_default();
            used.time = used.time.saturating_add(between(since, now));
        }
    }

    /// Adds what an attempt at the story used.
    pub(super) fn add(&mut self, story: &StoryId, usage: &Usage) {
        let used = self.stories.entry(story.clone()).or_default();
        used.usage.add(usage);
    }

    fn used_by(&self, story: &StoryId, in_flight: &Usage, now: Timestamp) -> Used {
        let mut used = self.stories.get(story).copied().unwrap_or_default();
        used.usage.add(in_flight);
        if let Some((_, since)) = self.clock.as_ref().filter(|(id, _)| id == story) {
            used.time = used.time.saturating_add(between(*since, now));
        }
        used
    }
}

impl Machine {
    /// Whether each figure an agent tells matters: a budget of money or tokens is warned of in time.
    pub(crate) fn watches_figures(&self) -> bool {
        let policy = self.policy();
        let reviews = policy.reviewers.iter().map(|it| it.budget);
        let mut budgets = [policy.budget, policy.story_budget]
            .into_iter()
            .chain(reviews);
        budgets.any(|budget| budget.usd.is_some() || budget.tokens.is_some())
    }

    /// The budgets and what is used of them, an attempt in flight included. A story's time goes by
    /// from its first attempt to its checkpoint.
    pub(super) fn budgets(
        &self,
        story: Option<&StoryId>,
        in_flight: &Usage,
    ) -> Vec<(Budget, Scope, Used)> {
        let policy = self.policy();
        let mut usage = self.tally.usage;
        usage.add(in_flight);
        let time = self.since(self.started);
        let run = (policy.budget, Scope::Run, Used { usage, time });
        let story = story.map(|story| {
            let used = self.ledger.used_by(story, in_flight, self.now);
            (policy.story_budget, Scope::Story(story.clone()), used)
        });
        [run].into_iter().chain(story).collect()
    }

    /// The budgets of a gate that runs: the story is the one whose clock runs.
    fn budgets_of_gate(&self) -> Vec<(Budget, Scope, Used)> {
        let story = self.ledger.clock.as_ref().map(|(story, _)| story);
        self.budgets(story, &Usage::default())
    }

    /// Says what of a budget is used up, an attempt in flight included.
    pub(super) fn used_up(&self, story: &StoryId, in_flight: &Usage) -> Option<UsedUp> {
        let budgets = self.budgets(Some(story), in_flight);
        let mut used_up = budgets.iter();
        used_up.find_map(|(budget, scope, used)| budget.used_up(scope, used))
    }

    /// Warns once of each bound that is nearly used up.
    pub(super) fn warn_of_budget(&mut self, story: &StoryId, in_flight: &Usage) {
        self.warn_of(&self.budgets(Some(story), in_flight));
    }

    pub(super) fn warn_of(&mut self, budgets: &[(Budget, Scope, Used)]) {
        for (budget, scope, used) in budgets {
            for bound in budget.nearly_used_up(used) {
                if self.ledger.warned.insert((scope.clone(), bound)) {
                    self.warn("budget", budget.warning(bound, scope, used));
                }
            }
        }
    }

    /// How long until the time at hand has to be looked at, if it is bounded at all.
    pub(super) fn next_budget_check(&self, story: &StoryId) -> Option<Duration> {
        self.next_time_check(Some(story))
    }

    /// The same where no story may be at hand.
    pub(super) fn next_time_check(&self, story: Option<&StoryId>) -> Option<Duration> {
        next_check(&self.budgets(story, &Usage::default()))
    }

    /// The last moment the time allows for an attempt at the story to begin, and that time.
    pub(super) fn time_ends(&self, story: &StoryId) -> Option<(Timestamp, Duration)> {
        let budgets = self.budgets(Some(story), &Usage::default());
        let ends = budgets.iter().filter_map(|(budget, _, used)| {
            let time = budget.time?;
            Some((super::later(self.now, time.saturating_sub(used.time)), time))
        });
        ends.min()
    }

    /// Bounds the time of a gate that was just started.
    pub(super) fn watch_gate(&mut self) {
        self.ledger.overrun = None;
        self.check_gate_budget_later();
    }

    fn check_gate_budget_later(&mut self) {
        if let Some(after) = next_check(&self.budgets_of_gate()) {
            self.set_timer(TimerKind::Budget, after);
        }
    }

    /// Looks at the time while a gate runs, and ends the gate when it is used up.
    pub(super) fn check_gate_budget(&mut self) {
        let budgets = self.budgets_of_gate();
        self.warn_of(&budgets);
        if self.ledger.overrun.is_some() {
            return;
        }
        let mut used_up = budgets.iter().filter_map(|(budget, scope, used)| {
            let time = Budget {
                time: budget.time,
                ..Budget::default()
            };
            time.used_up(scope, used)
        });
        let Some(used_up) = used_up.next() else {
            return self.check_gate_budget_later();
        };
        self.ledger.overrun = Some(used_up);
        self.emit(Effect::StopProcess { grace: STOP_GRACE });
    }

    /// The gate is over: what ran out meanwhile.
    pub(super) fn unwatch_gate(&mut self) -> Option<UsedUp> {
        let policy = self.policy();
        if policy.budget.time.is_some() || policy.story_budget.time.is_some() {
            self.cancel_timer(TimerKind::Budget);
        }
        self.ledger.overrun.take()
    }

    /// Takes note of what an agent says it used, with a cost where only the prices tell it.
    pub(super) fn price(&self, attempt: &mut Attempt, told: Usage) {
        let model = attempt.model.as_deref();
        (attempt.usage, attempt.prices) = self.priced(told, model, &attempt.choice);
    }

    /// What an agent says it used, with its cost, and the prices where only they tell it.
    pub(super) fn priced(
        &self,
        told: Usage,
        model: Option<&str>,
        choice: &Choice,
    ) -> (Usage, Option<String>) {
        if told.cost_usd.is_some() || told.total_tokens() == 0 {
            return (told, None);
        }
        let models = [model, choice.model.as_deref()];
        let names: Vec<&str> = models
            .into_iter()
            .flatten()
            .chain([choice.agent.as_str()])
            .collect();
        match self.policy().prices.find(&names) {
            None => (told, None),
            Some((name, price)) => {
                let cost_usd = Some(cost(price, &told));
                (Usage { cost_usd, ..told }, Some(name.to_owned()))
            }
        }
    }

    /// Warns once of each agent that a budget does not limit, because it does not report what counts.
    pub(super) fn report_cost(
        &mut self,
        choice: &Choice,
        model: Option<&str>,
        usage: &Usage,
        end: &AgentEnd,
    ) {
        let Some(unlimited) = self.unlimited(usage, end) else {
            return;
        };
        let agent = &choice.agent;
        if !self.availability.costless.insert(agent.clone()) {
            return;
        }
        let message = match unlimited {
            Unlimited::Cost { usd } => {
                let model = model.or(choice.model.as_deref());
                let prices = heading(model.unwrap_or(agent));
                let limit = limit_dollars(usd);
                format!(
                    "`{agent}` does not report its cost, so the budget of {limit} does not limit \
                     it; set prices in `{prices}`, or use `--max-tokens`"
                )
            }
            Unlimited::Tokens { limit } => format!(
                "`{agent}` does not report its tokens, so the budget of {limit} does not limit \
                 it; use `--max-cost`"
            ),
            Unlimited::Everything { limit } => format!(
                "`{agent}` reports neither its cost nor its tokens, so the budget of {limit} does \
                 not limit it; use `--max-time`"
            ),
        };
        self.warn("no_cost", message);
    }

    /// What an attempt that has ended shows to be without a limit.
    fn unlimited(&self, usage: &Usage, end: &AgentEnd) -> Option<Unlimited> {
        let policy = self.policy();
        let usd = policy.budget.usd.or(policy.story_budget.usd);
        let tokens = policy.budget.tokens.or(policy.story_budget.tokens);
        let in_tokens = tokens.map(|limit| format!("{} tokens", words::tokens(limit)));
        match (usage.cost_usd, usage.total_tokens()) {
            (None, 0) if has_worked(end) => {
                let limits = usd.map(limit_dollars).into_iter().chain(in_tokens);
                let limits: Vec<String> = limits.collect();
                let limit = (!limits.is_empty()).then(|| limits.join(" and "))?;
                Some(Unlimited::Everything { limit })
            }
            (None, 0) => None,
            (None, _) => Some(Unlimited::Cost { usd: usd? }),
            (Some(_), 0) => Some(Unlimited::Tokens { limit: in_tokens? }),
            (Some(_), _) => None,
        }
    }
}

/// What no budget limits, because the agent does not report it.
enum Unlimited {
    /// It reports tokens only, and there are no prices.
    Cost { usd: f64 },
    /// It reports its cost only.
    Tokens { limit: String },
    /// It reports nothing.
    Everything { limit: String },
}

/// Whether an agent had its turn: one that was refused, or was ended before, had nothing to report.
fn has_worked(end: &AgentEnd) -> bool {
    end.final_seen && !end.is_error && end.trouble.is_none()
}

fn next_check(budgets: &[(Budget, Scope, Used)]) -> Option<Duration> {
    let checks = budgets.iter();
    let checks = checks.filter_map(|(budget, _, used)| budget.next_check(used.time));
    checks.min()
}
