//! `RALPHTOOL_*` variables become one layer of settings.

use std::fmt;
use std::str::FromStr;

use super::{OnFinish, Origin, PartialSettings, SettingsProblem, Sourced, nearest};

/// Names the start of every variable of ours.
const PREFIX: &str = "RALPHTOOL_";

/// The variable that names the configuration file.
pub(crate) const CONFIG: &str = "RALPHTOOL_CONFIG";

/// The variable that allows what the repository's own file asks for, this once.
pub(crate) const TRUST: &str = "RALPHTOOL_TRUST";

/// Variables that are settings.
pub(crate) const KNOWN: [&str; 23] = [
    "RALPHTOOL_AGENT",
    "RALPHTOOL_MODEL",
    "RALPHTOOL_MAX_RETRIES",
    "RALPHTOOL_ON_FINISH",
    "RALPHTOOL_IDLE_TIMEOUT",
    "RALPHTOOL_TIMEOUT",
    "RALPHTOOL_COMMAND_TIMEOUT",
    "RALPHTOOL_MAX_WAIT",
    "RALPHTOOL_LIMIT_PAUSE",
    "RALPHTOOL_MAX_COST",
    "RALPHTOOL_MAX_TOKENS",
    "RALPHTOOL_MAX_TIME",
    "RALPHTOOL_MAX_STORY_COST",
    "RALPHTOOL_MAX_STORY_TOKENS",
    "RALPHTOOL_MAX_STORY_TIME",
    "RALPHTOOL_LARGEST_FILE",
    "RALPHTOOL_LEAST_FREE",
    "RALPHTOOL_VAULT_LIMIT",
    "RALPHTOOL_LEARNINGS_LIMIT",
    "RALPHTOOL_STRICT_TASKS",
    "RALPHTOOL_REQUIRE_CHANGES",
    CONFIG,
    TRUST,
];

/// A variable that was a setting.
const REMOVED: &str = "RALPHTOOL_ISOLATE";

/// Variables that ralphtool itself gives to agents and tests: no settings, no warning.
const INTERNAL: [&str; 14] = [
    "RALPHTOOL_RUN",
    "RALPHTOOL_ATTEMPT",
    "RALPHTOOL_STORY",
    "RALPHTOOL_CHANGE",
    "RALPHTOOL_LEARNINGS",
    "RALPHTOOL_PROMPT",
    "RALPHTOOL_OCCASION",
    "RALPHTOOL_MESSAGE",
    "RALPHTOOL_TEST_AGENTS",
    "RALPHTOOL_REQUIRE_AGENTS",
    "RALPHTOOL_REQUIRE_BWRAP",
    "RALPHTOOL_KILL_ALL",
    "RALPHTOOL_KILL_AT",
    "RALPHTOOL_KILL_LOG",
];

/// What the variables say, and warnings about those that say nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Variables {
    /// The layer.
    pub(crate) settings: PartialSettings,
    /// The configuration file asked for.
    pub(crate) config: Option<String>,
    /// What the repository's own file asks for is allowed, this once.
    pub(crate) trust: bool,
    /// Variables that look like ours and are not.
    pub(crate) warnings: Vec<String>,
}

/// Reads the environment, given as pairs. An empty value is as good as none.
pub(crate) fn parse<'a>(
    environment: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Variables, SettingsProblem> {
    let mut variables = Variables::default();
    for (name, value) in environment {
        if !name.starts_with(PREFIX) || INTERNAL.contains(&name) {
            continue;
        }
        match KNOWN.into_iter().find(|known| *known == name) {
            Some(_) if value.is_empty() => {}
            Some(known) => read(&mut variables, known, value)?,
            None if name == REMOVED && value.is_empty() => {}
            None if name == REMOVED => return Err(SettingsProblem::isolate_removed(name)),
            None => variables.warnings.push(unknown(name)),
        }
    }
    variables.warnings.sort();
    Ok(variables)
}

fn read(variables: &mut Variables, name: &'static str, value: &str) -> Result<(), SettingsProblem> {
    let settings = &mut variables.settings;
    match name {
        "RALPHTOOL_AGENT" => settings.agent = Some(limit(name, value)?),
        "RALPHTOOL_MODEL" => settings.model = Some(sourced(name, value.to_owned())),
        "RALPHTOOL_MAX_RETRIES" => settings.max_retries = Some(count(name, value)?),
        "RALPHTOOL_ON_FINISH" => settings.on_finish = Some(on_finish(name, value)?),
        "RALPHTOOL_IDLE_TIMEOUT" => settings.idle_timeout = Some(limit(name, value)?),
        "RALPHTOOL_TIMEOUT" => settings.total_timeout = Some(limit(name, value)?),
        "RALPHTOOL_COMMAND_TIMEOUT" => settings.command_timeout = Some(limit(name, value)?),
        "RALPHTOOL_MAX_WAIT" => settings.max_wait = Some(limit(name, value)?),
        "RALPHTOOL_LIMIT_PAUSE" => settings.limit_pause = Some(limit(name, value)?),
        "RALPHTOOL_MAX_COST" => settings.max_cost = Some(limit(name, value)?),
        "RALPHTOOL_MAX_TOKENS" => settings.max_tokens = Some(limit(name, value)?),
        "RALPHTOOL_MAX_TIME" => settings.max_time = Some(limit(name, value)?),
        "RALPHTOOL_MAX_STORY_COST" => settings.max_story_cost = Some(limit(name, value)?),
        "RALPHTOOL_MAX_STORY_TOKENS" => settings.max_story_tokens = Some(limit(name, value)?),
        "RALPHTOOL_MAX_STORY_TIME" => settings.max_story_time = Some(limit(name, value)?),
        "RALPHTOOL_LEARNINGS_LIMIT" => settings.learnings_limit = Some(limit(name, value)?),
        "RALPHTOOL_LARGEST_FILE" => settings.largest_file = Some(limit(name, value)?),
        "RALPHTOOL_LEAST_FREE" => settings.least_free = Some(limit(name, value)?),
        "RALPHTOOL_VAULT_LIMIT" => settings.vault_limit = Some(limit(name, value)?),
        "RALPHTOOL_STRICT_TASKS" => settings.strict_tasks = Some(flag(name, value)?),
        "RALPHTOOL_REQUIRE_CHANGES" => settings.require_changes = Some(flag(name, value)?),
        TRUST => variables.trust = flag(name, value)?.value,
        _ => variables.config = Some(value.to_owned()),
    }
    Ok(())
}

fn count(name: &'static str, value: &str) -> Result<Sourced<u32>, SettingsProblem> {
    let Ok(count) = value.trim().parse() else {
        let message = format!("`{value}` is not a number from 0 to {}", u32::MAX);
        return Err(SettingsProblem::new(name, message));
    };
    Ok(sourced(name, count))
}

/// A limit of any sort, which names its own mistakes.
fn limit<T>(name: &'static str, value: &str) -> Result<Sourced<T>, SettingsProblem>
where
    T: FromStr<Err: fmt::Display>,
{
    match value.parse() {
        Ok(limit) => Ok(sourced(name, limit)),
        Err(bad) => Err(SettingsProblem::new(name, format!("{bad}"))),
    }
}

fn on_finish(name: &'static str, value: &str) -> Result<Sourced<OnFinish>, SettingsProblem> {
    let found = OnFinish::NAMES.iter().find(|(known, _)| *known == value);
    found.map_or_else(
        || {
            let message = format!("`{value}` is not one of `ask`, `cleanup`, `keep`");
            Err(SettingsProblem::new(name, message))
        },
        |(_, choice)| Ok(sourced(name, *choice)),
    )
}

fn flag(name: &'static str, value: &str) -> Result<Sourced<bool>, SettingsProblem> {
    match value.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(sourced(name, true)),
        "0" | "false" | "no" | "off" => Ok(sourced(name, false)),
        _ => {
            let message = format!("`{value}` is neither `true` nor `false`");
            Err(SettingsProblem::new(name, message))
        }
    }
}

fn sourced<T>(name: &'static str, value: T) -> Sourced<T> {
    Sourced {
        value,
        origin: Origin::Variable(name),
    }
}

fn unknown(name: &str) -> String {
    match nearest(name, &KNOWN) {
        // Every name shares the prefix, so that only a close likeness is worth a word.
        Some(near) if strsim::levenshtein(name, near) <= 3 => {
            format!("`{name}` is set but means nothing; did you mean `{near}`")
        }
        _ => format!("`{name}` is set but means nothing"),
    }
}
