//! What a run is told to do: layers of settings, merged, each value with its origin.
//!
//! The order is: built in, the repository's file, the user's file, variables, flags; later
//! wins. Lists such as the gates are replaced whole; agents are merged by name.

pub(crate) mod agents;
pub(crate) mod file;
pub(crate) mod keys;
mod lines;
mod notify;
mod tamper;
pub(crate) mod trust;
pub(crate) mod variables;

use std::collections::BTreeMap;
use std::fmt;

pub(crate) use self::agents::{AgentList, AgentSettings, Escalation, StoryAgent};
pub(crate) use self::notify::{NotifySettings, Occasion};
pub(crate) use self::tamper::{Severity, TamperCheck, TamperSettings};
use super::agents::ADAPTERS;
use super::allowance::{CostLimit, Price, TokenLimit};
use super::duration::TimeLimit;
use super::guard::Limits;
use super::policy::Budget;
use super::size::SizeLimit;

/// The names of the agents that need no configuration.
pub(crate) fn built_in_agents<'a>() -> impl Iterator<Item = &'a str> {
    ADAPTERS.into_iter().map(|it| it.name).chain(["demo"])
}

/// How long a gate may run when nothing is said.
pub(crate) const GATE_TIMEOUT: TimeLimit = TimeLimit::seconds(30 * 60);

/// Where a value was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Built in.
    Default,
    /// A line of a configuration file.
    File {
        /// The file, as the user knows it.
        path: String,
        /// The line, from 1.
        line: usize,
    },
    /// An environment variable.
    Variable(&'static str),
    /// A flag of the command line.
    Flag(&'static str),
    /// Chosen on the screen.
    Screen,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{path}:{line}"),
            Self::Variable(name) | Self::Flag(name) => f.write_str(name),
            Self::Screen => f.write_str("chosen here"),
        }
    }
}

/// A value and where it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sourced<T> {
    /// The value.
    pub(crate) value: T,
    /// Where it was given.
    pub(crate) origin: Origin,
}

impl<T> Sourced<T> {
    /// A value given on the command line.
    pub(crate) fn flag(value: T, name: &'static str) -> Self {
        Self {
            value,
            origin: Origin::Flag(name),
        }
    }

    /// A value chosen on the screen.
    pub(crate) fn screen(value: T) -> Self {
        Self {
            value,
            origin: Origin::Screen,
        }
    }

    fn built_in(value: T) -> Self {
        Self {
            value,
            origin: Origin::Default,
        }
    }
}

/// What to do with the branch at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnFinish {
    /// Ask where someone can answer, else keep.
    Ask,
    /// Back to the original branch, the work as uncommitted changes.
    Cleanup,
    /// Stay on the checkpoint branch.
    Keep,
}

impl OnFinish {
    /// Every choice by its name.
    pub(crate) const NAMES: [(&'static str, Self); 3] = [
        ("ask", Self::Ask),
        ("cleanup", Self::Cleanup),
        ("keep", Self::Keep),
    ];

    /// The name users write.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Cleanup => "cleanup",
            Self::Keep => "keep",
        }
    }
}

/// A command that checks an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GateSettings {
    /// What it is called in the log.
    pub(crate) name: String,
    /// The shell line.
    pub(crate) run: String,
    /// How long it may run.
    pub(crate) timeout: TimeLimit,
    /// A gate that was red before the story does not fail the attempt.
    pub(crate) baseline: bool,
    /// When it runs.
    pub(crate) when: When,
    /// What it changes in the tree is part of the work.
    pub(crate) keep_changes: bool,
}

impl GateSettings {
    /// The gate of a `--gate` flag: named after its own line.
    pub(crate) fn from_line(run: &str) -> Self {
        Self {
            name: run.to_owned(),
            run: run.to_owned(),
            timeout: GATE_TIMEOUT,
            baseline: true,
            when: When::Story,
            keep_changes: false,
        }
    }
}

impl fmt::Display for GateSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name != self.run {
            write!(f, "{}: ", self.name)?;
        }
        write!(f, "{} (timeout {}", self.run, self.timeout)?;
        if self.when == When::End {
            f.write_str(", at the end")?;
        }
        if self.keep_changes {
            f.write_str(", its changes are kept")?;
        }
        f.write_str(if self.baseline { ")" } else { ", no baseline)" })
    }
}

/// When a gate runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum When {
    /// After every attempt that promises to be done.
    #[default]
    Story,
    /// Once, when every story is done, over the whole change.
    End,
}

impl When {
    /// Every moment by the name users write.
    pub(crate) const NAMES: [(&'static str, Self); 2] =
        [("story", Self::Story), ("end", Self::End)];
}

/// What is done with a variable of an agent's environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Variable {
    /// It gets this value.
    Set(String),
    /// It is taken away.
    Remove,
    /// It stays as it is, even if it belongs to another agent.
    Pass,
}

/// One layer: what was said, and nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PartialSettings {
    pub(crate) agent: Option<Sourced<AgentList>>,
    pub(crate) model: Option<Sourced<String>>,
    pub(crate) max_retries: Option<Sourced<u32>>,
    pub(crate) on_finish: Option<Sourced<OnFinish>>,
    pub(crate) strict_tasks: Option<Sourced<bool>>,
    pub(crate) require_changes: Option<Sourced<bool>>,
    pub(crate) command_timeout: Option<Sourced<TimeLimit>>,
    pub(crate) max_wait: Option<Sourced<TimeLimit>>,
    pub(crate) limit_pause: Option<Sourced<TimeLimit>>,
    pub(crate) max_cost: Option<Sourced<CostLimit>>,
    pub(crate) max_tokens: Option<Sourced<TokenLimit>>,
    pub(crate) max_time: Option<Sourced<TimeLimit>>,
    pub(crate) max_story_cost: Option<Sourced<CostLimit>>,
    pub(crate) max_story_tokens: Option<Sourced<TokenLimit>>,
    pub(crate) max_story_time: Option<Sourced<TimeLimit>>,
    pub(crate) prices: BTreeMap<String, Sourced<Price>>,
    pub(crate) tamper: BTreeMap<TamperCheck, Sourced<Severity>>,
    pub(crate) tamper_roots: Option<Sourced<Vec<String>>>,
    pub(crate) notify: Option<Sourced<NotifySettings>>,
    pub(crate) learnings_limit: Option<Sourced<SizeLimit>>,
    pub(crate) largest_file: Option<Sourced<SizeLimit>>,
    pub(crate) least_free: Option<Sourced<SizeLimit>>,
    pub(crate) vault_limit: Option<Sourced<SizeLimit>>,
    pub(crate) idle_timeout: Option<Sourced<TimeLimit>>,
    pub(crate) total_timeout: Option<Sourced<TimeLimit>>,
    pub(crate) grace: Option<Sourced<TimeLimit>>,
    pub(crate) gates: Option<Sourced<Vec<GateSettings>>>,
    pub(crate) agents: BTreeMap<String, Sourced<AgentSettings>>,
    pub(crate) escalate: Option<Sourced<Escalation>>,
    pub(crate) stories: Option<Sourced<Vec<StoryAgent>>>,
}

impl PartialSettings {
    /// Puts a later layer over this one; what it says wins.
    #[must_use]
    pub(crate) fn overlaid_by(self, later: Self) -> Self {
        let mut agents = self.agents;
        agents.extend(later.agents);
        let mut prices = self.prices;
        prices.extend(later.prices);
        let mut tamper = self.tamper;
        tamper.extend(later.tamper);
        Self {
            agent: later.agent.or(self.agent),
            model: later.model.or(self.model),
            max_retries: later.max_retries.or(self.max_retries),
            on_finish: later.on_finish.or(self.on_finish),
            strict_tasks: later.strict_tasks.or(self.strict_tasks),
            require_changes: later.require_changes.or(self.require_changes),
            command_timeout: later.command_timeout.or(self.command_timeout),
            max_wait: later.max_wait.or(self.max_wait),
            limit_pause: later.limit_pause.or(self.limit_pause),
            max_cost: later.max_cost.or(self.max_cost),
            max_tokens: later.max_tokens.or(self.max_tokens),
            max_time: later.max_time.or(self.max_time),
            max_story_cost: later.max_story_cost.or(self.max_story_cost),
            max_story_tokens: later.max_story_tokens.or(self.max_story_tokens),
            max_story_time: later.max_story_time.or(self.max_story_time),
            prices,
            tamper,
            tamper_roots: later.tamper_roots.or(self.tamper_roots),
            notify: later.notify.or(self.notify),
            learnings_limit: later.learnings_limit.or(self.learnings_limit),
            largest_file: later.largest_file.or(self.largest_file),
            least_free: later.least_free.or(self.least_free),
            vault_limit: later.vault_limit.or(self.vault_limit),
            idle_timeout: later.idle_timeout.or(self.idle_timeout),
            total_timeout: later.total_timeout.or(self.total_timeout),
            grace: later.grace.or(self.grace),
            gates: later.gates.or(self.gates),
            agents,
            escalate: later.escalate.or(self.escalate),
            stories: later.stories.or(self.stories),
        }
    }
}

/// Everything a run is told, complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The agents in order of preference.
    pub(crate) agent: Sourced<AgentList>,
    /// The model to ask the preferred agent for.
    pub(crate) model: Option<Sourced<String>>,
    /// How often a story may be retried.
    pub(crate) max_retries: Sourced<u32>,
    /// What to do with the branch at the end.
    pub(crate) on_finish: Sourced<OnFinish>,
    /// A box left open fails the attempt.
    pub(crate) strict_tasks: Sourced<bool>,
    /// An attempt that changes nothing fails.
    pub(crate) require_changes: Sourced<bool>,
    /// How long git and other short commands may take.
    pub(crate) command_timeout: Sourced<TimeLimit>,
    /// How long to wait at most for a limit of the agent to end.
    pub(crate) max_wait: Sourced<TimeLimit>,
    /// The first pause where a limit gives no time it ends at; it doubles from then on.
    pub(crate) limit_pause: Sourced<TimeLimit>,
    /// How much money a run may use.
    pub(crate) max_cost: Sourced<CostLimit>,
    /// How many tokens a run may use.
    pub(crate) max_tokens: Sourced<TokenLimit>,
    /// How long a run may take.
    pub(crate) max_time: Sourced<TimeLimit>,
    /// How much money one story may use.
    pub(crate) max_story_cost: Sourced<CostLimit>,
    /// How many tokens one story may use.
    pub(crate) max_story_tokens: Sourced<TokenLimit>,
    /// How long one story may take.
    pub(crate) max_story_time: Sourced<TimeLimit>,
    /// What tokens cost, by model or agent, where the agent does not say.
    pub(crate) prices: BTreeMap<String, Sourced<Price>>,
    /// What is made of an attempt that tampers with what judges it.
    pub(crate) tamper: TamperSettings,
    /// Whom to tell of what, and how.
    pub(crate) notify: Sourced<NotifySettings>,
    /// How much of the agents' notes goes into a prompt.
    pub(crate) learnings_limit: Sourced<SizeLimit>,
    /// An untracked file larger than this is not committed.
    pub(crate) largest_file: Sourced<SizeLimit>,
    /// Room that stays free wherever something is written.
    pub(crate) least_free: Sourced<SizeLimit>,
    /// How large the vault may get before old runs are removed from it.
    pub(crate) vault_limit: Sourced<SizeLimit>,
    /// How long an agent may be silent.
    pub(crate) idle_timeout: Sourced<TimeLimit>,
    /// How long an attempt may take.
    pub(crate) total_timeout: Sourced<TimeLimit>,
    /// How long an agent may take to end after its final message.
    pub(crate) grace: Sourced<TimeLimit>,
    /// The gates, in order.
    pub(crate) gates: Sourced<Vec<GateSettings>>,
    /// Agents of the user's own.
    pub(crate) agents: BTreeMap<String, Sourced<AgentSettings>>,
    /// Another agent or model for stories that keep failing.
    pub(crate) escalate: Option<Sourced<Escalation>>,
    /// Stories with an agent or model of their own.
    pub(crate) stories: Sourced<Vec<StoryAgent>>,
}

impl Settings {
    /// Merges the layers, the earliest first, over what is built in.
    pub(crate) fn resolve(
        layers: impl IntoIterator<Item = PartialSettings>,
    ) -> Result<Self, SettingsProblem> {
        let said = layers
            .into_iter()
            .fold(PartialSettings::default(), PartialSettings::overlaid_by);
        let settings = Self {
            agent: or(said.agent, AgentList::one("claude")),
            model: said.model,
            max_retries: or(said.max_retries, 3),
            on_finish: or(said.on_finish, OnFinish::Ask),
            strict_tasks: or(said.strict_tasks, false),
            require_changes: or(said.require_changes, false),
            command_timeout: or(said.command_timeout, TimeLimit::seconds(30)),
            max_wait: or(said.max_wait, TimeLimit::OFF),
            limit_pause: or(said.limit_pause, TimeLimit::seconds(60)),
            max_cost: or(said.max_cost, CostLimit::OFF),
            max_tokens: or(said.max_tokens, TokenLimit::OFF),
            max_time: or(said.max_time, TimeLimit::OFF),
            max_story_cost: or(said.max_story_cost, CostLimit::OFF),
            max_story_tokens: or(said.max_story_tokens, TokenLimit::OFF),
            max_story_time: or(said.max_story_time, TimeLimit::OFF),
            prices: said.prices,
            tamper: TamperSettings {
                severities: said.tamper,
                roots: said.tamper_roots,
            },
            notify: or(said.notify, NotifySettings::default()),
            learnings_limit: or(said.learnings_limit, SizeLimit::bytes(32_000)),
            largest_file: or(said.largest_file, Limits::DEFAULT.largest_file),
            least_free: or(
                said.least_free,
                SizeLimit::bytes(Limits::DEFAULT.least_free),
            ),
            vault_limit: or(said.vault_limit, SizeLimit::bytes(20_000_000_000)),
            idle_timeout: or(said.idle_timeout, TimeLimit::seconds(15 * 60)),
            total_timeout: or(said.total_timeout, TimeLimit::OFF),
            grace: or(said.grace, TimeLimit::seconds(20)),
            gates: or(said.gates, Vec::new()),
            agents: said.agents,
            escalate: said.escalate,
            stories: or(said.stories, Vec::new()),
        };
        settings.check_agents()?;
        Ok(settings)
    }

    /// What the whole run may use.
    pub(crate) fn budget(&self) -> Budget {
        Budget {
            usd: self.max_cost.value.usd(),
            tokens: self.max_tokens.value.0,
            time: self.max_time.value.0,
        }
    }

    /// What one story may use.
    pub(crate) fn story_budget(&self) -> Budget {
        Budget {
            usd: self.max_story_cost.value.usd(),
            tokens: self.max_story_tokens.value.0,
            time: self.max_story_time.value.0,
        }
    }

    /// What may be committed, and what must stay free.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            largest_file: self.largest_file.value,
            least_free: self.least_free.value.or_zero(),
        }
    }
}

fn or<T>(said: Option<Sourced<T>>, built_in: T) -> Sourced<T> {
    said.unwrap_or_else(|| Sourced::built_in(built_in))
}

/// Settings that cannot be used: where, what, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub(crate) struct SettingsProblem {
    /// A file with line and column, a variable or a flag.
    pub(crate) place: String,
    /// What is wrong.
    pub(crate) message: String,
    /// What to do.
    pub(crate) hint: Option<String>,
}

impl SettingsProblem {
    pub(crate) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            message: message.into(),
            hint: None,
        }
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Refuses the removed setting `isolate`: to ignore it would run agents on files that the user
    /// believes to be out of their reach.
    pub(crate) fn isolate_removed(place: impl Into<String>) -> Self {
        let message =
            "this version no longer has `isolate`: agents would work in your own work tree";
        Self::new(place, message).hint("remove it to run without isolation")
    }
}

/// The known name that looks most like the given one, if any does.
pub(crate) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let wanted = name.to_lowercase().replace('-', "_");
    known
        .iter()
        .map(|candidate| {
            let plain = candidate.to_lowercase().replace('-', "_");
            (strsim::jaro_winkler(&wanted, &plain), *candidate)
        })
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests;
