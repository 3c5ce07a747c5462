//! Why a change could not be found, read or written, and what to do about it.

use std::error::Error as StdError;
use std::io;
use std::path::{Path, PathBuf};

const NO_ROOT_HINT: &str = "`ralphtool new NAME` writes a small one, `ralphtool run ./TODO.md` runs a checklist, \
     and `ralphtool demo` shows how it works";
const NO_CHANGE_HINT: &str = "there is no change yet: write one with `ralphtool new NAME`";

/// How alike two names must be for one to be a misspelling of the other.
const ALIKE: f64 = 0.8;

/// Why a change could not be found, read or written.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// No plan anywhere above.
    #[error("found no plan in `{}` or above", start.display())]
    NoRoot {
        /// Where the search began.
        start: PathBuf,
    },
    /// The system refused to read something.
    #[error("could not read `{}`", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The system refused to write something.
    #[error("could not write `{}`", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A YAML or JSON file that does not parse.
    #[error("could not understand `{}`", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// No folder of that name.
    #[error("found no change `{name}` in `{}`", folder.display())]
    NoSuchChange {
        /// The name.
        name: String,
        /// Where changes are.
        folder: PathBuf,
        /// What to do next.
        hint: String,
    },
    /// A name, a file or a project that breaks a rule: what is wrong, and what to do next.
    #[error("{message}")]
    Unusable {
        message: String,
        hint: Option<String>,
    },
}

impl SourceError {
    /// There is no plan of that name, but there are these.
    pub(crate) fn no_such_change(name: &str, folder: PathBuf, known: &[String]) -> Self {
        let hint = match nearest(name, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => NO_CHANGE_HINT.to_owned(),
            None => there_are(known),
        };
        Self::NoSuchChange {
            name: name.to_owned(),
            folder,
            hint,
        }
    }

    /// A file does not parse.
    pub(crate) fn malformed(path: &Path, error: impl StdError + Send + Sync + 'static) -> Self {
        Self::Malformed {
            path: path.to_owned(),
            source: Box::new(error),
        }
    }

    /// Something breaks a rule.
    pub(crate) const fn unusable(message: String) -> Self {
        let hint = None;
        Self::Unusable { message, hint }
    }

    /// Something breaks a rule, and there is something to do about it.
    pub(crate) fn unusable_but(message: String, hint: impl Into<String>) -> Self {
        let hint = Some(hint.into());
        Self::Unusable { message, hint }
    }

    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoRoot { .. } => Some(NO_ROOT_HINT.to_owned()),
            Self::NoSuchChange { hint, .. } => Some(hint.clone()),
            Self::Unusable { hint, .. } => hint.clone(),
            Self::Unreadable { .. } | Self::Unwritable { .. } | Self::Malformed { .. } => None,
        }
    }

    /// Whether it happened while writing, so that the state of the files matters.
    pub const fn is_write(&self) -> bool {
        matches!(self, Self::Unwritable { .. })
    }
}

/// The hint for a name that is none of these.
pub(crate) fn there_are(known: &[String]) -> String {
    format!("there are {}", quoted(known))
}

fn nearest(name: &str, known: &[String]) -> Option<String> {
    let name = name.to_lowercase();
    known
        .iter()
        .map(|other| (strsim::jaro_winkler(&name, &other.to_lowercase()), other))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, other)| other.clone())
}

/// The first of these names, in quotes, and how many more there are.
pub(crate) fn quoted(names: &[String]) -> String {
    let quoted: Vec<String> = names
        .iter()
        .take(8)
        .map(|name| format!("`{name}`"))
        .collect();
    match names.len() - quoted.len() {
        0 => quoted.join(", "),
        more => format!("{} and {more} more", quoted.join(", ")),
    }
}
