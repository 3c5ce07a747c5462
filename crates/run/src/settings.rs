//! How a run works: layers of settings, merged, each value with its origin.
//!
//! The order is: built in, the repository's file, the user's file, variables, flags; later
//! wins. Lists such as the gates are replaced whole; agents are merged by name.

pub(crate) mod agents;
mod all;
mod dependencies;
pub mod file;
mod file_text;
pub mod files;
mod gate;
mod key_table;
pub mod keys;
mod lines;
mod notify;
mod on_exhausted;
mod on_finish;
mod path_patterns;
mod prices;
mod review;
mod tamper;
pub mod trust;
mod value;
pub mod variables;

use std::fmt;

pub use self::agents::{AgentList, StorySettings, Variable};
pub use self::all::{PartialSettings, Settings};
pub use self::gate::{GateSettings, When};
pub use self::notify::{NotifySettings, Occasion};
pub use self::on_exhausted::OnExhausted;
pub use self::on_finish::{OnBlocked, OnFinish};
pub use self::path_patterns::PathPatterns;
pub use self::review::ReviewSettings;
pub use self::tamper::{Severity, TamperCheck};
use ralph_agents::adapters::ADAPTERS;
use ralph_vault::tree::guard::Limits;

/// The names of the agents that need no configuration.
pub fn built_in_agents<'a>() -> impl Iterator<Item = &'a str> {
    ADAPTERS.into_iter().map(|it| it.name).chain(["demo"])
}

/// Where a value was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// A line of a configuration file.
    File {
        /// The file, as the user knows it.
        path: String,
        /// The line, from 1.
        line: usize,
        /// The line of each of its tables, where it is a list of tables.
        tables: Vec<usize>,
    },
    /// An environment variable.
    Variable(&'static str),
    /// A flag of the command line.
    Flag(&'static str),
    /// Chosen on the screen.
    Screen,
}

impl Origin {
    /// The origin of one table of a list.
    pub(crate) fn of(&self, place: usize) -> String {
        match self {
            Self::File { path, tables, .. } if place < tables.len() => {
                format!("{path}:{}", tables[place])
            }
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line, .. } => write!(f, "{path}:{line}"),
            Self::Variable(name) | Self::Flag(name) => f.write_str(name),
            Self::Screen => f.write_str("chosen here"),
        }
    }
}

/// A value and where it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it was given.
    pub origin: Origin,
}

impl<T> Sourced<T> {
    fn new(value: T, origin: Origin) -> Self {
        Self { value, origin }
    }

    /// A value given on the command line.
    pub fn flag(value: T, name: &'static str) -> Self {
        Self::new(value, Origin::Flag(name))
    }

    /// A value chosen on the screen.
    pub fn screen(value: T) -> Self {
        Self::new(value, Origin::Screen)
    }
}

impl Settings {
    /// Merges the layers, the earliest first, over what is built in.
    pub fn resolve(
        layers: impl IntoIterator<Item = PartialSettings>,
    ) -> Result<Self, SettingsProblem> {
        let layers = layers.into_iter();
        let merged = layers.fold(PartialSettings::default(), PartialSettings::overlaid_by);
        let settings = merged.resolve();
        settings.check_agents()?;
        Ok(settings)
    }

    /// What may be committed, and what must stay free.
    pub fn limits(&self) -> Limits {
        Limits {
            largest_file: self.largest_file.value,
            least_free: self.least_free.value.or_zero(),
        }
    }
}

/// Settings that cannot be used: where, what, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct SettingsProblem {
    /// A file with line and column, a variable or a flag.
    pub place: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl SettingsProblem {
    pub fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            message: message.into(),
            hint: None,
        }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Refuses the removed setting `isolate`: to ignore it would run agents on files that the user
    /// believes to be out of their reach.
    pub fn isolate_removed(place: impl Into<String>) -> Self {
        let message =
            "this version no longer has `isolate`: agents would work in your own work tree";
        Self::new(place, message).hint("remove it to run without isolation")
    }
}

/// The known name that is most similar to the given one, if one is similar enough.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
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
