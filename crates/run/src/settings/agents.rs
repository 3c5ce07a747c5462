//! Which agents a run may use, and how those of the user's own are called.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use toml::de::DeValue;

use super::key_table::table;
use super::value;
use super::value::{
    Command, Filled, FilledModel, FromTable, Item, Key, Kind, Mistake, Stories, choices, named,
    one_of, read, string, tables,
};
use super::{Settings, SettingsProblem, built_in_agents, nearest};
use ralph_agents::adapters::{ADAPTERS, SESSION, adapter};
use ralph_agents::dialect::Output;

/// Agents in order of preference, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentList(Vec<String>);

impl AgentList {
    /// A list of names; nothing where there is none, an empty one, or one twice.
    pub fn new(names: Vec<String>) -> Option<Self> {
        let is_twice = |(place, name): (usize, &String)| names[..place].contains(name);
        let is_bad = names.is_empty()
            || names.iter().any(|name| name.trim().is_empty())
            || names.iter().enumerate().any(is_twice);
        (!is_bad).then_some(Self(names))
    }

    /// Just one agent.
    pub fn one(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }

    /// The agent that is preferred.
    pub fn first(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    /// All names in order.
    pub fn names(&self) -> &[String] {
        &self.0
    }
}

impl FromStr for AgentList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = text.split(',').map(|name| name.trim().to_owned());
        Self::new(names.collect())
            .ok_or_else(|| format!("`{text}` is not a list of agents such as `claude,codex`"))
    }
}

read! {
    AgentList => Self, Kind::Agents, agent_list;
}

/// One name or a list of names; unlike `--agent`, a file does not join them with commas.
fn agent_list(item: &Item<'_>) -> Result<AgentList, Mistake> {
    let names: Vec<String> = match item.get_ref() {
        DeValue::Array(names) => names.iter().map(string).collect::<Result<_, _>>()?,
        _ => vec![string(item)?],
    };
    let are_joined = names.iter().any(|name| name.contains(','));
    AgentList::new(names)
        .filter(|_| !are_joined)
        .ok_or_else(|| {
            let mistake = Mistake::at(item, "expected names of agents, each once");
            mistake.hint("write several as `agent = [\"claude\", \"codex\"]`")
        })
}

impl fmt::Display for AgentList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

/// An agent of the user's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSettings {
    /// What is started.
    pub calling: Calling,
    /// The model to ask it for.
    pub model: Option<String>,
    /// What it finds in its environment.
    pub env: BTreeMap<String, Variable>,
}

/// What is started for an agent of the user's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Calling {
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
pub struct CommandSettings {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// What continues an earlier session instead.
    pub resume: Option<Vec<String>>,
    /// What is started instead where it reviews the work of another agent.
    pub review: Option<Vec<String>>,
    /// How it gets its prompt.
    pub prompt: PromptBy,
    /// How its output is read.
    pub output: Output,
    /// The folder it starts in, seen from the top of the work tree.
    pub cwd: Option<String>,
}

impl CommandSettings {
    /// The words of all its commands.
    pub fn all_words(&self) -> impl Iterator<Item = &String> {
        let others = self.resume.iter().chain(&self.review).flatten();
        self.words.iter().chain(others)
    }

    /// Whether ralphtool chooses the id of a new session.
    pub fn takes_session_id(&self) -> bool {
        self.words.iter().any(|word| word.contains(SESSION))
    }

    /// Whether the id of a session is known, because ralphtool chooses it or the output has it.
    fn knows_its_session(&self) -> bool {
        self.takes_session_id() || self.output.has_session()
    }
}

choices! {
    /// How an agent gets its prompt.
    #[derive(Default)]
    PromptBy {
        /// By standard input.
        #[default]
        Stdin = "stdin",
        /// By a file whose path stands in the command and in `RALPHTOOL_PROMPT`.
        File = "file",
    }
}

read! {
    Output => Self, Kind::OneOf(|| {
        Output::NAMES.iter().map(|(name, _)| *name).collect()
    }), |item| one_of(item, &Output::NAMES);
}

/// What is done with a variable of an agent's environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Variable {
    /// It gets this value.
    Set(String),
    /// It is removed.
    Remove,
    /// It stays as it is, even if it belongs to another agent.
    Pass,
}

/// The name of a built-in agent.
pub(super) struct BuiltIn;
/// The variables of an agent's environment.
pub(super) struct Environment;

read! {
    BuiltIn => String, Kind::OneOf(|| ADAPTERS.iter().map(|it| it.name).collect()), built_in;
    Environment => BTreeMap<String, Variable>, Kind::Environment, environment;
}

fn built_in(item: &Item<'_>) -> Result<String, Mistake> {
    let found = named(&string(item)?, &ADAPTERS.map(|it| (it.name, it.name)));
    found
        .map(str::to_owned)
        .map_err(|bad| Mistake::at(item, bad))
}

fn environment(item: &Item<'_>) -> Result<BTreeMap<String, Variable>, Mistake> {
    let variable = |(key, item): (&Key<'_>, &Item<'_>)| {
        let name = key.get_ref().clone().into_owned();
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(Mistake::at(key, "this is not the name of a variable"));
        }
        let variable = match item.get_ref() {
            DeValue::String(text) => Variable::Set(text.clone().into_owned()),
            DeValue::Boolean(true) => Variable::Pass,
            DeValue::Boolean(false) => Variable::Remove,
            _ => return Err(Mistake::wrong_type(item, "a string, `true` or `false`")),
        };
        Ok((name, variable))
    };
    value::table(item)?.iter().map(variable).collect()
}

table! {
    AgentKeys, "[agents.mine]",
    "An agent of your own: use it with `agent = \"mine\"`. At the end it must print a line of its own,\n\
     `<promise>COMPLETE</promise>`, `<promise>FAILED: why</promise>` or `<promise>BLOCKED: question</promise>`;\n\
     the prompt says so.",
    example "command = [\"my-agent\", \"--auto\"]\noutput = \"text\"";
    command: Command, without "needed, or `like`", example r#"["my-agent", "--auto"]"#,
        asks "the agent `{name}` runs", "The command that is started for each attempt.";
    resume: Command, without "nothing: a new session", example r#"["my-agent", "--resume", "{session}"]"#,
        asks "the agent `{name}` continues a session with",
        "With `command`: the command that continues an earlier session, `{session}`.";
    review: Command, without "the same as `command`", example r#"["my-agent", "--read-only"]"#,
        asks "the agent `{name}` reviews with",
        "With `command`: the command that is started where it reviews the work of another agent.";
    like: BuiltIn, without "needed, or `command`", example r#""claude""#,
        "The built-in agent to start, with other variables, another model or a wrapper.";
    wrap: Command, without "nothing", example r#"["my-sandbox", "--"]"#,
        asks "the agent `{name}` is started by",
        "With `like`: a command that starts the agent, such as a sandbox.";
    model: FilledModel, without "as the agent itself is set", example r#""opus""#,
        "The model to use.";
    output: Output, without "`\"text\"`", example r#""text""#,
        "With `command`: the format of its output.";
    prompt: PromptBy, without "`\"stdin\"`", example r#""stdin""#,
        "With `command`: how it gets the prompt.";
    env: Environment, without "nothing", example r#"{ MY_AGENT_MODE = "auto" }"#,
        asks "the agent `{name}` gets the variable",
        "Variables for it: text sets one, `true` passes yours on, `false` removes it.";
    cwd: Filled, without "the top of the work tree", example r#"".""#,
        asks "the agent `{name}` starts in the folder", "With `command`: the folder it starts in.";
}

impl FromTable for AgentSettings {
    fn from_table(key: &Key<'_>, item: &Item<'_>) -> Result<Self, Mistake> {
        let name = key.get_ref();
        let keys = AgentKeys::read(&format!("[agents.{name}]"), item)?;
        let is_command = keys.output.is_some()
            || keys.prompt.is_some()
            || keys.cwd.is_some()
            || keys.resume.is_some()
            || keys.review.is_some();
        // A table with the name of a built-in agent and no command is about that agent.
        let itself = adapter(name).filter(|_| keys.command.is_none() && !is_command);
        let like = keys.like.or_else(|| itself.map(|it| it.name.to_owned()));
        let calling = match (keys.command, like) {
            (Some(words), None) if keys.wrap.is_none() => {
                let command = CommandSettings {
                    words,
                    resume: keys.resume,
                    review: keys.review,
                    prompt: keys.prompt.unwrap_or_default(),
                    output: keys.output.unwrap_or_default(),
                    cwd: keys.cwd,
                };
                if command.resume.is_some() && !command.knows_its_session() {
                    let message = format!("the agent `{name}` has `resume`, but no known session");
                    return Err(Mistake::at(key, message).hint(
                        "write `{session}` into `command`: ralphtool puts an id there that `resume` gets again",
                    ));
                }
                Calling::Command(command)
            }
            (None, Some(name)) if !is_command => Calling::Like {
                name,
                wrap: keys.wrap.unwrap_or_default(),
            },
            (None, None) if adapter(name).is_none() => {
                let mistake = Mistake::at(key, format!("the agent `{name}` has no `command`"));
                return Err(mistake.hint(
                    "say what to start, such as `command = [\"my-agent\"]`, or `like = \"claude\"` for a built-in agent",
                ));
            }
            _ => {
                let message =
                    format!("the agent `{name}` mixes keys of a command and of a built-in agent");
                return Err(Mistake::at(key, message).hint(
                    "`like` goes with `wrap`, `model` and `env`; `command` with `resume`, `review`, `output`, `prompt`, `cwd`, `model` and `env`",
                ));
            }
        };
        Ok(Self {
            calling,
            model: keys.model,
            env: keys.env.unwrap_or_default(),
        })
    }
}

/// Another agent or model for stories that keep failing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Escalation {
    /// After this number of failed attempts.
    pub after: u32,
    /// The agent; the story's usual one where none is named.
    pub agent: Option<String>,
    /// Its model.
    pub model: Option<String>,
}

/// What the settings say of one story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorySettings {
    /// The change; any where none is named.
    pub change: Option<String>,
    /// The story's id.
    pub id: String,
    /// The agent; the usual one where none is named.
    pub agent: Option<String>,
    /// Its model.
    pub model: Option<String>,
    /// The stories that must be done before it; none where that is not said.
    pub depends_on: Option<Vec<String>>,
}

const AGENT_OR_MODEL: &str = "write `model = \"opus\"`, `agent = \"codex\"` or both";
const STORY_HINT: &str =
    "write `model = \"opus\"`, `agent = \"codex\"`, `depends_on = [\"1\"]` or several of them";

table! {
    EscalateKeys, "[escalate]", "Another agent or model for a story that keeps failing.",
    example "after = 2\nmodel = \"opus\"";
    after: u32, without "needed", example "2", "After how many failed attempts of a story.";
    agent: Filled, without "the same agent", example r#""codex""#,
        "The agent for the next attempts. Set this, `model` or both.";
    model: FilledModel, without "the agent's own model", example r#""opus""#,
        "The model for the next attempts.";
}

impl FromTable for Escalation {
    fn from_table(_: &Key<'_>, item: &Item<'_>) -> Result<Self, Mistake> {
        let keys = EscalateKeys::read(EscalateKeys::TABLE.header, item)?;
        let Some(after) = keys.after.filter(|after| *after > 0) else {
            let message = "`[escalate]` does not say after how many failed attempts";
            return Err(Mistake::at(item, message).hint("write `after = 2`"));
        };
        if keys.agent.is_none() && keys.model.is_none() {
            let message = "`[escalate]` names neither an agent nor a model";
            return Err(Mistake::at(item, message).hint(AGENT_OR_MODEL));
        }
        Ok(Self {
            after,
            agent: keys.agent,
            model: keys.model,
        })
    }
}

table! {
    StoryKeys, "[[story]]", "Another agent or model for one story, or the stories that it depends on.",
    example "id = \"2\"\nmodel = \"opus\"";
    id: Filled, without "needed", example r#""2""#, "The id of the story.";
    change: Filled, without "any change", example r#""add-retry""#, "The change of the story.";
    agent: Filled, without "the same agent", example r#""codex""#,
        "The agent for the story.";
    model: FilledModel, without "the agent's own model", example r#""opus""#,
        "The model to use.";
    depends_on: Stories, without "as the plan says", example r#"["1"]"#,
        "The stories that must be done before it; `[]` if it depends on no other.";
}

impl FromTable for Vec<StorySettings> {
    fn from_table(key: &Key<'_>, item: &Item<'_>) -> Result<Self, Mistake> {
        tables(key, item)?.iter().map(story_settings).collect()
    }
}

fn story_settings(item: &Item<'_>) -> Result<StorySettings, Mistake> {
    let keys = StoryKeys::read(StoryKeys::TABLE.header, item)?;
    let Some(id) = keys.id else {
        let mistake = Mistake::at(item, "this story has no `id`");
        return Err(mistake.hint("say which story, such as `id = \"3\"`"));
    };
    if keys.agent.is_none() && keys.model.is_none() && keys.depends_on.is_none() {
        let mistake = Mistake::at(item, "nothing is set for this story");
        return Err(mistake.hint(STORY_HINT));
    }
    Ok(StorySettings {
        change: keys.change,
        id,
        agent: keys.agent,
        model: keys.model,
        depends_on: keys.depends_on,
    })
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

impl fmt::Display for StorySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whom = who(self.agent.as_deref(), self.model.as_deref());
        let after = self.depends_on.as_ref().map(|ids| match ids.as_slice() {
            [] => "no dependencies".to_owned(),
            ids => format!("depends on {}", ids.join(", ")),
        });
        let said = Some(whom).filter(|whom| !whom.is_empty());
        let said: Vec<String> = said.into_iter().chain(after).collect();
        write!(f, "{} for story {}", said.join(", "), self.id)?;
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
        let named = list.chain(escalated).chain(stories);
        named
            .map(|(name, origin)| (name, origin.to_string()))
            .chain(self.reviewers())
            .try_for_each(|(name, place)| self.check_agent(name, place))
    }

    /// The agents that review, each with the place where it is named.
    fn reviewers(&self) -> impl Iterator<Item = (&str, String)> {
        let reviews = self.reviews.value.iter().enumerate();
        reviews.map(|(place, it)| (it.agent.as_str(), self.reviews.origin.of(place)))
    }

    fn check_agent(&self, name: &str, place: String) -> Result<(), SettingsProblem> {
        let own = self.agents.keys().map(String::as_str);
        let known: Vec<&str> = built_in_agents().chain(own).collect();
        if known.contains(&name) {
            return Ok(());
        }
        let hint = match nearest(name, &known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "known agents: {}; add your own as `[agents.{name}]` in `ralphtool.toml`",
                known.join(", ")
            ),
        };
        let problem = SettingsProblem::new(place, format!("there is no agent `{name}`"));
        Err(problem.hint(hint))
    }
}
