//! The parts of a `ralphtool.toml` that are about agents.

use std::collections::BTreeMap;

use toml::de::DeValue;

use super::{File, Key, Value};
use crate::domain::agents::{ADAPTERS, adapter};
use crate::domain::dialect::Output;
use crate::domain::settings::agents::{
    AgentList, AgentSettings, Calling, CommandSettings, Escalation, PromptBy, StoryAgent,
};
use crate::domain::settings::{SettingsProblem, Sourced, Variable};

impl File<'_> {
    /// One name or several.
    pub(super) fn agent_list(&self, value: &Value<'_>) -> Result<AgentList, SettingsProblem> {
        let names = match value.get_ref() {
            DeValue::Array(names) => names
                .iter()
                .map(|name| self.string(name))
                .collect::<Result<_, _>>()?,
            _ => vec![self.string(value)?],
        };
        // As `--agent` takes them.
        let are_joined = names.iter().any(|name| name.contains(','));
        AgentList::new(names)
            .filter(|_| !are_joined)
            .ok_or_else(|| {
                let message = "expected names of agents, each once";
                let problem = self.problem(&value.span(), message);
                problem.hint("write several as `agent = [\"claude\", \"codex\"]`")
            })
    }

    pub(super) fn agents(
        &self,
        value: &Value<'_>,
    ) -> Result<BTreeMap<String, Sourced<AgentSettings>>, SettingsProblem> {
        let mut agents = BTreeMap::new();
        for (key, value) in self.table(value)? {
            let agent = self.sourced(key, self.agent(key, value)?);
            agents.insert(key.get_ref().clone().into_owned(), agent);
        }
        Ok(agents)
    }

    fn agent(&self, name: &Key<'_>, value: &Value<'_>) -> Result<AgentSettings, SettingsProblem> {
        let (mut words, mut like, mut model) = (None, None, None);
        let (mut output, mut prompt, mut cwd, mut wrap) = (None, None, None, None);
        let mut env = BTreeMap::new();
        for (key, value) in self.table(value)? {
            match key.get_ref().as_ref() {
                "command" => words = Some(self.words(value)?),
                "like" => like = Some(self.built_in(value)?),
                "wrap" => wrap = Some(self.words(value)?),
                "model" => model = Some(self.filled_model(value)?),
                "output" => output = Some(self.choice(value, &Output::NAMES)?),
                "prompt" => prompt = Some(self.choice(value, &PromptBy::NAMES)?),
                "env" => env = self.variables(value)?,
                "cwd" => cwd = Some(self.filled(value)?),
                _ => {
                    let place = format!(" in `[agents.{}]`", name.get_ref());
                    return Err(self.unknown(key, "[agents.mine]", &place));
                }
            }
        }
        let of_a_command = output.is_some() || prompt.is_some() || cwd.is_some();
        // What is said about a built-in agent is about just that one.
        let own_name = name.get_ref().as_ref();
        let itself = adapter(own_name).filter(|_| words.is_none() && !of_a_command);
        let like = like.or_else(|| itself.map(|it| it.name.to_owned()));
        let calling = match (words, like) {
            (Some(words), None) if wrap.is_none() => Calling::Command(CommandSettings {
                words,
                prompt: prompt.unwrap_or_default(),
                output: output.unwrap_or_default(),
                cwd,
            }),
            (None, Some(name)) if !of_a_command => Calling::Like {
                name,
                wrap: wrap.unwrap_or_default(),
            },
            (None, None) if adapter(own_name).is_none() => return Err(self.no_command(name)),
            _ => return Err(self.two_ways(name)),
        };
        Ok(AgentSettings {
            calling,
            model,
            env,
        })
    }

    fn filled_model(&self, value: &Value<'_>) -> Result<String, SettingsProblem> {
        self.filled(value)?;
        self.model(value)
    }

    fn no_command(&self, name: &Key<'_>) -> SettingsProblem {
        let message = format!("the agent `{}` has no `command`", name.get_ref());
        self.problem(&name.span(), &message).hint(
            "say what to start, such as `command = [\"my-agent\"]`, or `like = \"claude\"` for a built-in agent",
        )
    }

    fn two_ways(&self, name: &Key<'_>) -> SettingsProblem {
        let message = format!(
            "the agent `{}` is both a command and like a built-in agent",
            name.get_ref()
        );
        self.problem(&name.span(), &message)
            .hint("`like` goes with `wrap`, `model` and `env`; `command` with `output`, `prompt`, `cwd`, `model` and `env`")
    }

    fn built_in(&self, value: &Value<'_>) -> Result<String, SettingsProblem> {
        let names: Vec<(&str, &str)> = ADAPTERS.iter().map(|it| (it.name, it.name)).collect();
        self.choice(value, &names).map(str::to_owned)
    }

    pub(super) fn escalation(&self, value: &Value<'_>) -> Result<Escalation, SettingsProblem> {
        let (mut after, mut agent, mut model) = (None, None, None);
        for (key, value) in self.table(value)? {
            match key.get_ref().as_ref() {
                "after" => after = Some(self.count(value)?),
                "agent" => agent = Some(self.filled(value)?),
                "model" => model = Some(self.filled_model(value)?),
                _ => return Err(self.unknown(key, "[escalate]", " in `[escalate]`")),
            }
        }
        let Some(after) = after.filter(|after| *after > 0) else {
            let problem = self.problem(
                &value.span(),
                "`[escalate]` does not say after how many failed attempts",
            );
            return Err(problem.hint("write `after = 2`"));
        };
        if agent.is_none() && model.is_none() {
            let problem = self.problem(
                &value.span(),
                "`[escalate]` names neither an agent nor a model",
            );
            return Err(problem.hint("write `model = \"opus\"`, `agent = \"codex\"` or both"));
        }
        Ok(Escalation {
            after,
            agent,
            model,
        })
    }

    pub(super) fn story_agents(
        &self,
        value: &Value<'_>,
    ) -> Result<Vec<StoryAgent>, SettingsProblem> {
        let DeValue::Array(array) = value.get_ref() else {
            let problem = self.wrong_type(value, "an array of tables");
            return Err(problem.hint("write each story under its own `[[story]]`"));
        };
        array.iter().map(|item| self.story_agent(item)).collect()
    }

    fn story_agent(&self, item: &Value<'_>) -> Result<StoryAgent, SettingsProblem> {
        let (mut id, mut change, mut agent, mut model) = (None, None, None, None);
        for (key, value) in self.table(item)? {
            match key.get_ref().as_ref() {
                "id" => id = Some(self.filled(value)?),
                "change" => change = Some(self.filled(value)?),
                "agent" => agent = Some(self.filled(value)?),
                "model" => model = Some(self.filled_model(value)?),
                _ => return Err(self.unknown(key, "[[story]]", " in `[[story]]`")),
            }
        }
        match id {
            Some(id) if agent.is_some() || model.is_some() => Ok(StoryAgent {
                change,
                id,
                agent,
                model,
            }),
            Some(_) => {
                let problem = self.problem(
                    &item.span(),
                    "this story names neither an agent nor a model",
                );
                Err(problem.hint("write `model = \"opus\"`, `agent = \"codex\"` or both"))
            }
            None => {
                let problem = self.problem(&item.span(), "this story has no `id`");
                Err(problem.hint("say which story, such as `id = \"3\"`"))
            }
        }
    }

    pub(super) fn words(&self, value: &Value<'_>) -> Result<Vec<String>, SettingsProblem> {
        let DeValue::Array(array) = value.get_ref() else {
            let problem = self.wrong_type(value, "an array of strings");
            return Err(problem.hint("give program and arguments as a list"));
        };
        let words: Vec<String> = array
            .iter()
            .map(|word| self.string(word))
            .collect::<Result<_, _>>()?;
        if words
            .first()
            .is_none_or(|program| program.trim().is_empty())
        {
            return Err(self.problem(&value.span(), "the command names no program"));
        }
        Ok(words)
    }

    fn variables(&self, value: &Value<'_>) -> Result<BTreeMap<String, Variable>, SettingsProblem> {
        let variable = |value: &Value<'_>| match value.get_ref() {
            DeValue::String(text) => Ok(Variable::Set(text.clone().into_owned())),
            DeValue::Boolean(true) => Ok(Variable::Pass),
            DeValue::Boolean(false) => Ok(Variable::Remove),
            _ => Err(self.wrong_type(value, "a string, `true` or `false`")),
        };
        let name = |key: &Key<'_>| {
            let name = key.get_ref().clone().into_owned();
            let is_bad = name.is_empty() || name.contains(['=', '\0']);
            let problem = || self.problem(&key.span(), "this is no name of a variable");
            if is_bad { Err(problem()) } else { Ok(name) }
        };
        self.table(value)?
            .iter()
            .map(|(key, value)| Ok((name(key)?, variable(value)?)))
            .collect()
    }
}
