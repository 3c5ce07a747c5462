//! From the name of an agent to what can be started, and whether it can.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::agent::{Agent, Program, find_program};
use crate::failure::Failure;
use crate::policy::reviewer::reviewers;
use crate::policy::roster::{Choice, Roster};
use crate::settings::Settings;
use crate::settings::agents::Calling;
use ralph_agents::adapters::{Role, adapter};
use ralph_process::EnvChange;

/// The agent of a choice; whether there is one was checked when the settings were read.
pub(crate) fn agent(settings: &Settings, choice: &Choice) -> Agent {
    let own = settings.agents.get(&choice.agent).map(|own| &own.value);
    Agent {
        program: match own.map(|own| &own.calling) {
            None => built_in(&choice.agent, &[]),
            Some(Calling::Like { name, wrap }) => built_in(name, wrap),
            Some(Calling::Command(command)) => Program::Command(command.clone()),
        },
        model: choice.model.clone(),
        env: own.map_or_else(Vec::new, |own| own.env.clone().into_iter().collect()),
    }
}

fn built_in(name: &str, wrap: &[String]) -> Program {
    match adapter(name) {
        Some(adapter) => Program::BuiltIn {
            adapter,
            wrap: wrap.to_vec(),
        },
        None => Program::Demo,
    }
}

/// Every agent that may be asked, for work or for a review, must be there, as seen from where it
/// will run.
pub(crate) fn check(
    settings: &Settings,
    change: &str,
    environment: &[(OsString, OsString)],
    root: &Path,
) -> Result<(), Failure> {
    for choice in Roster::of(settings, change).all() {
        let agent = agent(settings, &choice);
        find(&choice, &agent, Role::Worker, environment, root)?;
    }
    for reviewer in reviewers(settings) {
        let choice = reviewer.choice;
        let agent = agent(settings, &choice);
        find(&choice, &agent, Role::Reviewer, environment, root)?;
    }
    Ok(())
}

/// Finds the program of an agent, as seen from where it will run; the demo has none. The first hint
/// of a refusal says how to make the agent fit.
pub(crate) fn find(
    choice: &Choice,
    agent: &Agent,
    role: Role,
    environment: &[(OsString, OsString)],
    root: &Path,
) -> Result<Option<PathBuf>, Failure> {
    let name = &choice.agent;
    if role == Role::Reviewer && agent.program == Program::Demo {
        let problem = format!("the agent `{name}` cannot review");
        return Err(Failure::refused(problem).hint("name another agent in `[[review]]`"));
    }
    if agent.lacks_model() {
        let problem =
            format!("the command of the agent `{name}` has `{{model}}`, and there is none");
        let hint = format!("name one with `--model` or `model = \"…\"` in `[agents.{name}]`");
        return Err(Failure::refused(problem).hint(hint));
    }
    let folder = agent.folder(root);
    if !folder.is_dir() {
        let problem = format!(
            "the agent `{name}` starts in `{}`, which is no folder",
            folder.display()
        );
        return Err(Failure::refused(problem).hint("create it, or correct `cwd`"));
    }
    let Some(program) = agent.program(role) else {
        return Ok(None);
    };
    let environment = EnvChange::applied(&agent.environment(root), environment);
    let path = environment.get(OsStr::new("PATH"));
    let found = find_program(program.as_ref(), path.map(OsString::as_os_str), &folder);
    if found.is_some() {
        return Ok(found);
    }
    let other = match role {
        Role::Worker => "choose another agent with `--agent NAME`",
        Role::Reviewer => "name another agent in `[[review]]`",
    };
    let install = match &agent.program {
        Program::BuiltIn { adapter, wrap } if wrap.is_empty() => {
            format!("install it with `{}`, or {other}", adapter.install)
        }
        Program::BuiltIn { .. } | Program::Command(_) | Program::Demo => {
            format!("install it, or {other}")
        }
    };
    let message = format!("the agent `{name}` needs `{program}`, which was not found");
    Err(Failure::refused(message)
        .hint(install)
        .hint("`ralphtool demo` shows a run without any agent"))
}
