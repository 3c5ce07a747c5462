//! From the name of an agent to what can be started, and whether it can.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use crate::domain::agents::adapter;
use crate::domain::roster::{Choice, Roster};
use crate::domain::settings::agents::{AgentSettings, Calling};
use crate::domain::settings::{Settings, Variable};
use crate::edge::agent::{Agent, find_program};
use crate::failure::Failure;

/// The agents of a run, as its settings describe them.
#[derive(Debug, Clone)]
pub(crate) struct Agents {
    own: BTreeMap<String, AgentSettings>,
}

impl Agents {
    /// The agents the settings know.
    pub(super) fn of(settings: &Settings) -> Self {
        let own = settings.agents.iter();
        Self {
            own: own
                .map(|(name, agent)| (name.clone(), agent.value.clone()))
                .collect(),
        }
    }

    /// The agent of a choice; whether there is one was checked when the settings were read.
    pub(super) fn agent(&self, choice: &Choice) -> Agent {
        let Some(own) = self.own.get(&choice.agent) else {
            return built_in(&choice.agent, &[], choice.model.clone(), Vec::new());
        };
        let env = own.env.clone().into_iter().collect();
        let model = choice.model.clone();
        match &own.calling {
            Calling::Like { name, wrap } => built_in(name, wrap, model, env),
            Calling::Command(command) => Agent::Command {
                command: command.clone(),
                model,
                env,
            },
        }
    }
}

fn built_in(
    name: &str,
    wrap: &[String],
    model: Option<String>,
    env: Vec<(String, Variable)>,
) -> Agent {
    match adapter(name) {
        Some(adapter) => Agent::BuiltIn {
            adapter,
            wrap: wrap.to_vec(),
            model,
            env,
        },
        None => Agent::Demo,
    }
}

/// Every agent that may be asked must be there, as seen from where it will run.
pub(super) fn check(
    settings: &Settings,
    change: &str,
    environment: &[(OsString, OsString)],
    root: &Path,
) -> Result<(), Failure> {
    let agents = Agents::of(settings);
    Roster::of(settings, change)
        .all()
        .iter()
        .try_for_each(|choice| check_one(choice, &agents.agent(choice), environment, root))
}

fn check_one(
    choice: &Choice,
    agent: &Agent,
    environment: &[(OsString, OsString)],
    root: &Path,
) -> Result<(), Failure> {
    let name = &choice.agent;
    if agent.lacks_model() {
        let problem =
            format!("the command of the agent `{name}` has `{{model}}`, and there is none");
        return Err(Failure::refused(problem).hint(format!(
            "name one with `--model` or `model = \"…\"` in `[agents.{name}]`"
        )));
    }
    let folder = agent.folder(root);
    if !folder.is_dir() {
        let problem = format!(
            "the agent `{name}` starts in `{}`, which is no folder",
            folder.display()
        );
        return Err(Failure::refused(problem).hint("make it, or mend `cwd`"));
    }
    let Some(program) = agent.program() else {
        return Ok(());
    };
    let path = environment.iter().find(|(name, _)| name == "PATH");
    let path = path.map(|(_, value)| value.as_os_str());
    if find_program(program.as_ref(), path, &folder).is_some() {
        return Ok(());
    }
    let install = match agent {
        Agent::BuiltIn { adapter, wrap, .. } if wrap.is_empty() => {
            format!(
                "install it with `{}`, or choose another agent with `--agent NAME`",
                adapter.install
            )
        }
        Agent::BuiltIn { .. } | Agent::Command { .. } | Agent::Demo => {
            "install it, or choose another agent with `--agent NAME`".to_owned()
        }
    };
    Err(Failure::refused(format!(
        "the agent `{name}` needs `{program}`, which was not found"
    ))
    .hint(install)
    .hint("`ralphtool demo` shows a run without any agent"))
}
