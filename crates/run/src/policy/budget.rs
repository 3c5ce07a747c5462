//! What a run and each of its stories may use: money, tokens and time; how near a bound is, in
//! words, and how to go on past it.
//!
//! Time is that of the wall clock while the run is at work: waits and pauses count, the time
//! between an end and a resume does not. A story's time begins with its first attempt.

use std::time::Duration;

use crate::policy::in_words;
use crate::settings::Settings;
use crate::words::{cost, elapsed, in_ms, tokens};
use ralph_agents::agent_event::Usage;
use ralph_base::allowance::{TokenLimit, limit_dollars};
use ralph_base::duration::exact;
use ralph_base::ids::StoryId;

/// From this part of a bound on, in percent, the user is warned.
const WARNED_FROM: u32 = 80;

/// Sums of money are not exact: what is missing less than this is not missing.
const ROUNDING: f64 = 1e-9;

/// What may be used; nothing set means no bound.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Budget {
    /// Money, in US dollars.
    pub usd: Option<f64>,
    /// Tokens of all sorts.
    pub tokens: Option<u64>,
    /// Wall clock time.
    pub time: Option<Duration>,
}

/// What was used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Used {
    /// Tokens and money.
    pub usage: Usage,
    /// Time at work.
    pub time: Duration,
}

/// Whose budget it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The whole run's.
    Run,
    /// One story's, all of its attempts together.
    Story(StoryId),
}

/// One thing a budget bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// Money.
    Cost,
    /// Tokens.
    Tokens,
    /// Time.
    Time,
}

/// Something that is used up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedUp {
    /// The story whose budget it is; none if it is the run's.
    pub story: Option<StoryId>,
    /// What was used: `$0.31`, `1.2M tokens`, `2h05m`.
    pub used: String,
    /// What may be used.
    pub limit: String,
    /// What.
    pub reason: String,
    /// How to go on.
    pub way_out: String,
    /// The flags of `resume` that raise it.
    pub flags: String,
}

const BOUNDS: [Bound; 3] = [Bound::Cost, Bound::Tokens, Bound::Time];

impl Budget {
    /// What the settings allow the whole run.
    pub fn of_run(settings: &Settings) -> Self {
        Self {
            usd: settings.max_cost.value.usd(),
            tokens: settings.max_tokens.value.0,
            time: settings.max_time.value.0,
        }
    }

    /// What the settings allow each story.
    pub fn of_story(settings: &Settings) -> Self {
        Self {
            usd: settings.max_story_cost.value.usd(),
            tokens: settings.max_story_tokens.value.0,
            time: settings.max_story_time.value.0,
        }
    }

    /// The first bound that is used up, if any is.
    pub fn used_up(&self, scope: &Scope, used: &Used) -> Option<UsedUp> {
        let bound = BOUNDS
            .into_iter()
            .find(|bound| self.has_reached(*bound, used, 100))?;
        let (used_so_far, limit) = self.figures(bound, used);
        let flags = format!("{} {}", flag(bound, scope), self.raised(bound, used));
        Some(UsedUp {
            story: match scope {
                Scope::Run => None,
                Scope::Story(story) => Some(story.clone()),
            },
            used: used_so_far,
            limit,
            reason: format!("{} is used up", self.name(bound, scope)),
            way_out: format!("resume with a higher one: `ralphtool resume {flags}`"),
            flags,
        })
    }

    /// The bounds that are nearly used up.
    pub(crate) fn nearly_used_up(&self, used: &Used) -> Vec<Bound> {
        let is_near = |bound: &Bound| {
            self.has_reached(*bound, used, WARNED_FROM) && !self.has_reached(*bound, used, 100)
        };
        BOUNDS.into_iter().filter(is_near).collect()
    }

    /// The warning for a bound that is nearly used up.
    pub fn warning(&self, bound: Bound, scope: &Scope, used: &Used) -> String {
        let reached = |percent: &u32| self.has_reached(bound, used, *percent);
        let percent = (WARNED_FROM..100).rev().find(reached);
        let percent = percent.unwrap_or(WARNED_FROM);
        let name = self.name(bound, scope);
        format!("{percent}% of {name} used; the run stops at 100%")
    }

    /// How long until the time budget needs a warning or ends the run, if it is not used up.
    pub(crate) fn next_check(&self, elapsed: Duration) -> Option<Duration> {
        let time = self.time.filter(|time| elapsed < *time)?;
        let warned_at = part(time, WARNED_FROM);
        let next = if elapsed < warned_at { warned_at } else { time };
        Some(next.saturating_sub(elapsed))
    }

    const fn has(&self, bound: Bound) -> bool {
        match bound {
            Bound::Cost => self.usd.is_some(),
            Bound::Tokens => self.tokens.is_some(),
            Bound::Time => self.time.is_some(),
        }
    }

    fn has_reached(&self, bound: Bound, used: &Used, percent: u32) -> bool {
        match bound {
            Bound::Cost => self.usd.is_some_and(|usd| {
                let cost = used.usage.cost_usd.unwrap_or(0.0);
                cost + ROUNDING >= usd * f64::from(percent) / 100.0
            }),
            Bound::Tokens => self.tokens.is_some_and(|most| {
                let total = u128::from(used.usage.total_tokens());
                total * 100 >= u128::from(most) * u128::from(percent)
            }),
            Bound::Time => self
                .time
                .is_some_and(|time| used.time >= part(time, percent)),
        }
    }

    fn name(&self, bound: Bound, scope: &Scope) -> String {
        let what = match bound {
            Bound::Cost => format!("the budget of {}", limit_dollars(self.usd.unwrap_or(0.0))),
            Bound::Tokens => format!("the budget of {} tokens", self.tokens.unwrap_or(0)),
            Bound::Time => format!("the time of {}", in_words(self.time.unwrap_or_default())),
        };
        match scope {
            Scope::Run => what,
            Scope::Story(story) => format!("{what} for story `{story}`"),
        }
    }

    /// What was used and what may be used, in words.
    fn figures(&self, bound: Bound, used: &Used) -> (String, String) {
        match bound {
            Bound::Cost => (
                cost(used.usage.cost_usd.unwrap_or(0.0)),
                limit_dollars(self.usd.unwrap_or(0.0)),
            ),
            Bound::Tokens => (
                tokens(used.usage.total_tokens()),
                format!("{} tokens", tokens(self.tokens.unwrap_or(0))),
            ),
            Bound::Time => (
                elapsed(in_ms(used.time)),
                elapsed(in_ms(self.time.unwrap_or_default())),
            ),
        }
    }

    /// A higher bound to suggest, as the flag takes it: at least twice the present one.
    fn raised(&self, bound: Bound, used: &Used) -> String {
        match bound {
            Bound::Cost => {
                let twice = self.usd.unwrap_or(0.0) * 2.0;
                let cost = used.usage.cost_usd.unwrap_or(0.0);
                let raised = limit_dollars(cents_up(twice.max(cost * 1.5)));
                let raised = raised.trim_start_matches('$');
                raised.strip_suffix(".00").unwrap_or(raised).to_owned()
            }
            Bound::Tokens => {
                let total = used.usage.total_tokens();
                let wanted = self.tokens.unwrap_or(0).saturating_mul(2);
                let wanted = wanted.max(total.saturating_add(total / 2));
                TokenLimit(Some(wanted)).to_string()
            }
            Bound::Time => {
                let wanted = self.time.unwrap_or_default().saturating_mul(2);
                let wanted = wanted.max(used.time.saturating_add(used.time / 2));
                exact(Duration::from_secs(wanted.as_secs().max(1)))
            }
        }
    }
}

/// The flags that lift every bound of the two budgets, as they are typed; empty where there is none.
pub(crate) fn flags_off(run: &Budget, story: &Budget) -> String {
    let scopes = [
        (run, Scope::Run),
        (story, Scope::Story(StoryId(String::new()))),
    ];
    let mut flags = Vec::new();
    for (budget, scope) in &scopes {
        let set = BOUNDS.into_iter().filter(|bound| budget.has(*bound));
        flags.extend(set.map(|bound| format!("{} off", flag(bound, scope))));
    }
    flags.join(" ")
}

/// An amount of US dollars in whole cents: rounded, but never to nothing.
fn cents_up(usd: f64) -> f64 {
    ((usd * 100.0).round() / 100.0).max(0.01)
}

/// A percentage of a time.
fn part(time: Duration, percent: u32) -> Duration {
    if percent == 100 {
        return time;
    }
    time / 100 * percent
}

const fn flag(bound: Bound, scope: &Scope) -> &'static str {
    match (scope, bound) {
        (Scope::Run, Bound::Cost) => "--max-cost",
        (Scope::Run, Bound::Tokens) => "--max-tokens",
        (Scope::Run, Bound::Time) => "--max-time",
        (Scope::Story(_), Bound::Cost) => "--max-story-cost",
        (Scope::Story(_), Bound::Tokens) => "--max-story-tokens",
        (Scope::Story(_), Bound::Time) => "--max-story-time",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const BUDGET: Budget = Budget {
        usd: Some(2.0),
        tokens: Some(100),
        time: Some(Duration::from_secs(90 * 60)),
    };

    fn used(cost: f64, tokens: u64, minutes: u64) -> Used {
        Used {
            usage: Usage {
                input_tokens: tokens,
                cost_usd: Some(cost),
                ..Usage::default()
            },
            time: Duration::from_secs(minutes * 60),
        }
    }

    #[test]
    fn the_flags_that_lift_a_budget_are_those_of_its_bounds() {
        let tokens = Budget {
            tokens: Some(1),
            ..Budget::default()
        };
        let nothing = Budget::default();
        assert_eq!(flags_off(&nothing, &nothing), "");
        assert_eq!(
            flags_off(&BUDGET, &tokens),
            "--max-cost off --max-tokens off --max-time off --max-story-tokens off"
        );
    }

    #[test]
    fn a_budget_names_what_is_used_up_and_the_way_out() {
        #[track_caller]
        fn case(scope: &Scope, used: Used, want: Option<(&str, &str)>) {
            let said = BUDGET.used_up(scope, &used);
            let said = said.as_ref();
            let said = said.map(|it| (it.reason.as_str(), it.way_out.as_str()));
            assert_eq!(said, want);
        }
        let run = &Scope::Run;
        let story = &Scope::Story(StoryId("1".to_owned()));
        case(run, used(1.99, 99, 89), None);
        case(
            run,
            used(2.0, 0, 0),
            Some((
                "the budget of $2.00 is used up",
                "resume with a higher one: `ralphtool resume --max-cost 4`",
            )),
        );
        case(
            run,
            used(0.0, 100, 0),
            Some((
                "the budget of 100 tokens is used up",
                "resume with a higher one: `ralphtool resume --max-tokens 200`",
            )),
        );
        case(
            run,
            used(0.0, 0, 90),
            Some((
                "the time of 1h 30m is used up",
                "resume with a higher one: `ralphtool resume --max-time 3h`",
            )),
        );
        case(
            story,
            used(5.5, 0, 0),
            Some((
                "the budget of $2.00 for story `1` is used up",
                "resume with a higher one: `ralphtool resume --max-story-cost 8.25`",
            )),
        );
        case(
            story,
            used(0.0, 0, 200),
            Some((
                "the time of 1h 30m for story `1` is used up",
                "resume with a higher one: `ralphtool resume --max-story-time 5h`",
            )),
        );
        let nothing = Budget::default();
        assert_eq!(nothing.used_up(run, &used(1e9, u64::MAX, 9_999)), None);
    }

    #[test]
    fn sums_of_money_that_should_be_the_bound_reach_it() {
        let budget = Budget {
            usd: Some(1.0),
            ..Budget::default()
        };
        let sum: f64 = std::iter::repeat_n(0.1, 10).sum();
        assert!(sum < 1.0, "the sum is not exact");
        assert!(budget.used_up(&Scope::Run, &used(sum, 0, 0)).is_some());
    }

    #[test]
    fn a_bound_is_near_from_80_percent_on_until_it_is_reached() {
        #[track_caller]
        fn case(used: Used, want: &[Bound]) {
            assert_eq!(BUDGET.nearly_used_up(&used), want);
        }
        case(used(1.59, 79, 71), &[]);
        case(used(1.6, 79, 71), &[Bound::Cost]);
        case(used(0.0, 80, 0), &[Bound::Tokens]);
        case(used(0.0, 99, 72), &[Bound::Tokens, Bound::Time]);
        case(used(2.0, 100, 90), &[]);
        let story = Scope::Story(StoryId("2".to_owned()));
        assert_eq!(
            BUDGET.warning(Bound::Cost, &Scope::Run, &used(1.7, 0, 0)),
            "85% of the budget of $2.00 used; the run stops at 100%"
        );
        assert_eq!(
            BUDGET.warning(Bound::Time, &story, &used(0.0, 0, 72)),
            "80% of the time of 1h 30m for story `2` used; the run stops at 100%"
        );
    }

    #[test]
    fn the_time_is_looked_at_when_there_is_something_to_say() {
        let minutes = |n: u64| Duration::from_secs(n * 60);
        assert_eq!(BUDGET.next_check(minutes(0)), Some(minutes(72)));
        assert_eq!(BUDGET.next_check(minutes(72)), Some(minutes(18)));
        assert_eq!(BUDGET.next_check(minutes(90)), None);
        assert_eq!(Budget::default().next_check(minutes(1)), None);
    }
}
