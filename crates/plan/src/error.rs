//! Why a change could not be found, read or written, and what to do about it.

use std::error::Error as StdError;
use std::io;
use std::path::{Path, PathBuf};

const NO_ROOT_HINT: &str = "run `openspec init`, go to a project with `openspec/changes`, `specs`, `.kiro/specs` or `prd.json`, \
     or name a checklist file";
const NO_CHANGE_HINT: &str = "there is no change yet: write one with `openspec new change`";
const PRD_JSON_HINT: &str = "understood are lists of stories with `passes`, `complete`, `completed` or `done` as \
     `true` or `false`: in `userStories`, `stories`, `items` or `phases[].tasks`, below `prd`, or as the whole file";
const STORE_HINT: &str = "register it with `openspec store register`, or correct the name";

/// How alike two names must be for one to be a misspelling of the other.
const ALIKE: f64 = 0.8;

/// Why a change could not be found, read or written.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// No `OpenSpec` project anywhere above.
    #[error("found no OpenSpec project in `{}` or above", start.display())]
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
    /// A file beyond any sensible size.
    #[error("`{}` is too large to be read: {bytes} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// A folder, pipe or device where a file should be.
    #[error("`{}` is not a file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
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
    /// A name no change can have.
    #[error("`{name}` cannot be the name of a change: {rule}")]
    BadName {
        /// The name.
        name: String,
        /// The rule it breaks.
        rule: &'static str,
    },
    /// No folder of that name.
    #[error("found no change `{name}` in `{}`", folder.display())]
    NoSuchChange {
        /// The name.
        name: String,
        /// Where changes are.
        folder: PathBuf,
        /// The nearest name.
        near: Option<String>,
        /// All names.
        known: Vec<String>,
    },
    /// Several plans of that name.
    #[error("`{name}` is the name of several plans: {}", quoted(paths))]
    Ambiguous {
        /// The name.
        name: String,
        /// Where they are.
        paths: Vec<String>,
    },
    /// A `prd.json` that is none we know.
    #[error("could not understand `{}`: {reason}", path.display())]
    UnknownShape {
        /// The file.
        path: PathBuf,
        /// What is odd about it.
        reason: String,
    },
    /// A folder that only holds other change folders.
    #[error("`{name}` is not a change, but a folder around {}", quoted(inner))]
    Wrapper {
        /// The folder.
        name: String,
        /// The changes inside it.
        inner: Vec<String>,
    },
    /// A schema that is not defined anywhere.
    #[error("found no schema `{name}`, asked for by `{}`", asked_by.display())]
    UnknownSchema {
        /// Its name.
        name: String,
        /// The file that names it.
        asked_by: PathBuf,
        /// Schemas that exist.
        known: Vec<String>,
    },
    /// A schema that cannot be used.
    #[error("could not use the schema `{}`: {reason}", path.display())]
    BadSchema {
        /// The schema file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A store that is not registered.
    #[error("found no store `{id}` in `{}`", registry.display())]
    UnknownStore {
        /// Its id.
        id: String,
        /// Where stores are registered.
        registry: PathBuf,
    },
    /// A registered folder that is not that store.
    #[error("`{}` is not the store `{id}`", path.display())]
    BadStore {
        /// Its id.
        id: String,
        /// Where it should be.
        path: PathBuf,
    },
}

impl SourceError {
    /// There is no plan of that name, but there are these.
    pub(crate) fn no_such_change(name: &str, folder: PathBuf, known: Vec<String>) -> Self {
        Self::NoSuchChange {
            name: name.to_owned(),
            folder,
            near: nearest(name, &known),
            known,
        }
    }

    /// A file does not parse.
    pub(crate) fn malformed(path: &Path, error: impl StdError + Send + Sync + 'static) -> Self {
        Self::Malformed {
            path: path.to_owned(),
            source: Box::new(error),
        }
    }

    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoRoot { .. } => Some(NO_ROOT_HINT.to_owned()),
            Self::NoSuchChange {
                near: Some(near), ..
            } => Some(format!("did you mean `{near}`")),
            Self::NoSuchChange { known, .. } if known.is_empty() => Some(NO_CHANGE_HINT.to_owned()),
            Self::NoSuchChange { known, .. } | Self::UnknownSchema { known, .. } => {
                Some(format!("there are {}", quoted(known)))
            }
            Self::Wrapper { inner, .. } => inner.first().map(|first| {
                let flat = first.replace('/', "-");
                format!("move each inner folder up, for example to `openspec/changes/{flat}`")
            }),
            Self::Ambiguous { paths, .. } => paths
                .first()
                .map(|first| format!("say which by its path, for example `{first}`")),
            Self::UnknownShape { .. } => Some(PRD_JSON_HINT.to_owned()),
            Self::UnknownStore { .. } => Some(STORE_HINT.to_owned()),
            Self::BadStore { .. } => Some("look at it with `openspec store doctor`".to_owned()),
            Self::TooLarge { .. } => Some("task files and specs are read up to 16 MB".to_owned()),
            Self::Unreadable { .. }
            | Self::Unwritable { .. }
            | Self::NotAFile { .. }
            | Self::Malformed { .. }
            | Self::BadName { .. }
            | Self::BadSchema { .. } => None,
        }
    }

    /// Whether it happened while writing, so that the state of the files matters.
    pub const fn is_write(&self) -> bool {
        matches!(self, Self::Unwritable { .. })
    }
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

fn quoted(names: &[String]) -> String {
    let quoted: Vec<String> = names
        .iter()
        .take(8)
        .map(|name| format!("`{name}`"))
        .collect();
    let more = names.len().saturating_sub(quoted.len());
    let rest = if more == 0 {
        String::new()
    } else {
        format!(" and {more} more")
    };
    format!("{}{rest}", quoted.join(", "))
}
