//! `RALPHTOOL_*` variables become one layer of settings.

use super::all::VARIABLES;
use super::value::{Kind, read_variable};
use super::{PartialSettings, SettingsProblem, nearest};

/// Names the start of every variable of ours.
const PREFIX: &str = "RALPHTOOL_";

/// The variable that names the configuration file.
pub const CONFIG: &str = "RALPHTOOL_CONFIG";

/// The variable that allows what the repository's own file asks for, this once.
pub const TRUST: &str = "RALPHTOOL_TRUST";

/// A variable that was a setting.
const REMOVED: &str = "RALPHTOOL_ISOLATE";

/// Variables that ralphtool itself gives to agents and tests: no settings, no warning.
const INTERNAL: [&str; 15] = [
    "RALPHTOOL_RUN",
    "RALPHTOOL_ATTEMPT",
    "RALPHTOOL_STORY",
    "RALPHTOOL_CHANGE",
    "RALPHTOOL_LEARNINGS",
    "RALPHTOOL_PROMPT",
    "RALPHTOOL_SESSION",
    "RALPHTOOL_OCCASION",
    "RALPHTOOL_MESSAGE",
    "RALPHTOOL_TEST_AGENTS",
    "RALPHTOOL_REQUIRE_AGENTS",
    "RALPHTOOL_REQUIRE_BWRAP",
    "RALPHTOOL_KILL_ALL",
    "RALPHTOOL_KILL_AT",
    "RALPHTOOL_KILL_LOG",
];

/// The settings in variables, and warnings about variables that set nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Variables {
    /// The layer.
    pub settings: PartialSettings,
    /// The configuration file asked for.
    pub config: Option<String>,
    /// What the repository's own file asks for is allowed, this once.
    pub trust: bool,
    /// Variables that look like ours and are not.
    pub warnings: Vec<String>,
}

/// Reads the environment, given as pairs. An empty value is as good as none.
pub fn parse<'a>(
    environment: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Variables, SettingsProblem> {
    let mut variables = Variables::default();
    for (name, value) in environment {
        if !name.starts_with(PREFIX) || INTERNAL.contains(&name) {
            continue;
        }
        match name {
            REMOVED if value.is_empty() => {}
            REMOVED => return Err(SettingsProblem::isolate_removed(name)),
            _ if !known().any(|known| known == name) => variables.warnings.push(unknown(name)),
            _ if value.is_empty() => {}
            CONFIG => variables.config = Some(value.to_owned()),
            TRUST => variables.trust = read_variable(Kind::Flag, TRUST, value)?.value,
            _ => variables.settings.read_variable(name, value)?,
        }
    }
    variables.warnings.sort();
    Ok(variables)
}

/// All variables that a user can set.
pub(super) fn known() -> impl Iterator<Item = &'static str> {
    VARIABLES.iter().copied().chain([CONFIG, TRUST])
}

fn unknown(name: &str) -> String {
    match nearest(name, &known().collect::<Vec<_>>()) {
        // Every name shares the prefix, so that only a close likeness is worth a word.
        Some(near) if strsim::levenshtein(name, near) <= 3 => {
            format!("`{name}` is set but has no effect; did you mean `{near}`?")
        }
        _ => format!("`{name}` is set but has no effect"),
    }
}
