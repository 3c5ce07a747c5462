//! The environment of an agent: what is set for it, what it must not inherit.

use super::{Agent, Work, filled};
use crate::settings::Variable;
use ralph_agents::adapters::{ADAPTERS, Adapter, Rights, Role};
use ralph_process::{EnvChange, RUN_VARIABLE};

/// The id of the session, for scripts that keep something under it.
const SESSION_VARIABLE: &str = "RALPHTOOL_SESSION";

/// What git uses to be about another repository than the one it stands in.
const GIT_LOCAL: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// Removes what would point git at another repository.
pub(crate) fn git_scrubbed() -> impl Iterator<Item = EnvChange> {
    GIT_LOCAL.into_iter().map(EnvChange::remove)
}

/// All changes to the environment for one attempt; the attempt's mark comes with its process.
pub(super) fn of(agent: &Agent, work: &Work<'_>, is_root: bool) -> Vec<EnvChange> {
    let mut env = always(agent, work.role, is_root, |value| {
        filled(value, agent.model.as_deref(), work)
    });
    env.extend([
        EnvChange::set(RUN_VARIABLE, &work.run.0),
        EnvChange::set("RALPHTOOL_STORY", &work.attempt.story.0),
        EnvChange::set("RALPHTOOL_CHANGE", work.change),
        EnvChange::set("RALPHTOOL_LEARNINGS", work.learnings),
        EnvChange::set("RALPHTOOL_PROMPT", work.prompt_file),
        EnvChange::set("GIT_TRACE2_EVENT", work.git_trace),
    ]);
    env.push(match work.session_id() {
        Some(id) => EnvChange::set(SESSION_VARIABLE, id),
        // It may be that of a run around this one.
        None => EnvChange::remove(SESSION_VARIABLE),
    });
    env
}

/// The changes that hold whatever the agent is started for; what the user wrote is filled in.
pub(super) fn always(
    agent: &Agent,
    role: Role,
    is_root: bool,
    fill: impl Fn(&str) -> String,
) -> Vec<EnvChange> {
    let mut env: Vec<EnvChange> = git_scrubbed().collect();
    let inside = ADAPTERS.into_iter().flat_map(|it| it.nesting);
    env.extend(inside.map(EnvChange::remove));
    if let Some(adapter) = agent.adapter() {
        env.extend(foreign_credentials(adapter, &agent.env).map(EnvChange::remove));
        env.extend(set(adapter.environment));
    }
    let own = agent.env.iter();
    let own = own.filter_map(|(name, how)| env_change(name, how, &fill));
    let rights = agent.adapter().map(|it| it.rights(role));
    let rights = rights.into_iter().flat_map(|it| rights_of(it, is_root));
    match role {
        Role::Worker => env.extend(rights.chain(own)),
        // What it must not do is not lifted by a variable that was set for its work.
        Role::Reviewer => env.extend(own.chain(rights)),
    }
    env
}

fn rights_of(rights: &'static Rights, is_root: bool) -> impl Iterator<Item = EnvChange> {
    let as_root = if is_root { rights.as_root } else { &[] };
    set(rights.environment).chain(set(as_root))
}

fn set(variables: &'static [(&'static str, &'static str)]) -> impl Iterator<Item = EnvChange> {
    variables
        .iter()
        .map(|(name, value)| EnvChange::set(*name, *value))
}

/// Keys of other agents, which this one would bill although the user did not ask for it.
fn foreign_credentials<'a>(
    adapter: &'a Adapter,
    own: &'a [(String, Variable)],
) -> impl Iterator<Item = &'static str> + 'a {
    let all = ADAPTERS.into_iter().flat_map(|it| it.credentials);
    all.copied().filter(|name| {
        let is_wanted =
            |(wanted, how): &(String, Variable)| wanted == name && *how == Variable::Pass;
        !adapter.credentials.contains(name) && !own.iter().any(is_wanted)
    })
}

/// What the user wants done with a variable.
fn env_change(name: &str, how: &Variable, fill: impl Fn(&str) -> String) -> Option<EnvChange> {
    match how {
        Variable::Set(value) => Some(EnvChange::set(name, fill(value))),
        Variable::Remove => Some(EnvChange::remove(name)),
        Variable::Pass => None,
    }
}
