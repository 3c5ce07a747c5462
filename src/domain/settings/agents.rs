//! Which agents a run may use, and how those of the user's own are called.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::{Origin, Settings, SettingsProblem, Variable, built_in_agents, nearest};
use crate::domain::dialect::Output;

/// Agents in order of preference, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentList(Vec<String>);

impl AgentList {
    /// A list of names; nothing where there is none, an empty one, or one twice.
    pub(crate) fn new(names: Vec<String>) -> Option<Self> {
        let is_twice = |(place, name): (usize, &String)| names[..place].contains(name);
        let is_bad = names.is_empty()
            || names.iter().any(|name| name.trim().is_empty())
            || names.iter().enumerate().any(is_twice);
        (!is_bad).then_some(Self(names))
    }

    /// Just one agent.
    pub(crate) fn one(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }

    /// The agent that is preferred.
    pub(crate) fn first(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    /// All names in order.
    pub(crate) fn names(&self) -> &[String] {
        &self.0
    }
}

impl FromStr for AgentList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = text.split(',').map(|name| name.trim().to_owned());
        Self::new(names.collect())
            .ok_or_else(|| format!("`{text}` is no list of agents such as `claude,codex`"))
    }
}

impl fmt::Display for AgentList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

/// An agent of the user's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentSettings {
    /// What is started.
    pub(crate) calling: Calling,
    /// The model to ask it for.
    pub(crate) model: Option<String>,
    /// What it finds in its environment.
    pub(crate) env: BTreeMap<String, Variable>,
}

/// What is started for an agent of the user's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Calling {
    /// A command.
    Command(CommandSettings),
    /// A built-in agent.
    Like {
        /// Its name.
        name: String,
        /// What stands before its own command line, such as a sandbox.
        wrap: Vec<String>,
    },
}

/// A command of the user's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandSettings {
    /// The program and its arguments.
    pub(crate) words: Vec<String>,
    /// How it gets its prompt.
    pub(crate) prompt: PromptBy,
    /// How its output is read.
    pub(crate) output: Output,
    /// The folder it starts in, seen from the top of the work tree.
    pub(crate) cwd: Option<String>,
}

/// How an agent gets its prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum PromptBy {
    /// By standard input.
    #[default]
    Stdin,
    /// By a file whose path stands in the command and in `RALPHTOOL_PROMPT`.
    File,
}

impl PromptBy {
    /// Every way by the name users write.
    pub(crate) const NAMES: [(&'static str, Self); 2] =
        [("stdin", Self::Stdin), ("file", Self::File)];
}

/// Another agent or model for stories that keep failing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Escalation {
    /// After so many failed attempts.
    pub(crate) after: u32,
    /// The agent; the story's usual one where none is named.
    pub(crate) agent: Option<String>,
    /// Its model.
    pub(crate) model: Option<String>,
}

/// Another agent or model for a story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoryAgent {
    /// The change; any where none is named.
    pub(crate) change: Option<String>,
    /// The story's id.
    pub(crate) id: String,
    /// The agent; the usual one where none is named.
    pub(crate) agent: Option<String>,
    /// Its model.
    pub(crate) model: Option<String>,
}

impl fmt::Display for Escalation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whom = who(self.agent.as_deref(), self.model.as_deref());
        match self.after {
            1 => write!(f, "{whom} after 1 failed attempt"),
            after => write!(f, "{whom} after {after} failed attempts"),
        }
    }
}

impl fmt::Display for StoryAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whom = who(self.agent.as_deref(), self.model.as_deref());
        write!(f, "{whom} for story {}", self.id)?;
        match &self.change {
            Some(change) => write!(f, " of {change}"),
            None => Ok(()),
        }
    }
}

fn who(agent: Option<&str>, model: Option<&str>) -> String {
    let words: Vec<&str> = agent.into_iter().chain(model).collect();
    words.join(" ")
}

impl Settings {
    /// Every agent must be built in or configured.
    pub(super) fn check_agents(&self) -> Result<(), SettingsProblem> {
        let list = self.agent.value.names().iter();
        let list = list.map(|name| (name.as_str(), &self.agent.origin));
        let escalated = self.escalate.as_ref();
        let escalated = escalated.and_then(|it| Some((it.value.agent.as_deref()?, &it.origin)));
        let stories = self.stories.value.iter();
        let stories = stories.filter_map(|it| Some((it.agent.as_deref()?, &self.stories.origin)));
        list.chain(escalated)
            .chain(stories)
            .try_for_each(|(name, origin)| self.check_agent(name, origin))
    }

    fn check_agent(&self, name: &str, origin: &Origin) -> Result<(), SettingsProblem> {
        let own = self.agents.keys().map(String::as_str);
        let known: Vec<&str> = built_in_agents().chain(own).collect();
        if known.contains(&name) {
            return Ok(());
        }
        let hint = match nearest(name, &known) {
            Some(near) => format!("did you mean `{near}`"),
            None => format!(
                "known agents: {}; add your own as `[agents.{name}]` in `ralphtool.toml`",
                known.join(", ")
            ),
        };
        let problem =
            SettingsProblem::new(origin.to_string(), format!("there is no agent `{name}`"));
        Err(problem.hint(hint))
    }
}
