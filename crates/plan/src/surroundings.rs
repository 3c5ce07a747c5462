//! What of the environment decides where plans are.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::SourceError;
use crate::files::unreadable;

/// Where to search for plans. A value, so that a test or another process can be given its own.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Where the search begins.
    pub folder: PathBuf,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// `XDG_DATA_HOME`, where set.
    pub data_home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`, where set.
    pub config_home: Option<PathBuf>,
    /// `SPECIFY_FEATURE`, where set: the feature spec-kit works on.
    pub feature: Option<PathBuf>,
}

impl Surroundings {
    /// Reads them from the environment of the process.
    pub fn from_environment(folder: PathBuf) -> Self {
        let variable = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        Self {
            folder,
            home: variable("HOME"),
            data_home: variable("XDG_DATA_HOME"),
            config_home: variable("XDG_CONFIG_HOME"),
            feature: variable("SPECIFY_FEATURE"),
        }
    }

    /// The folder and those above it up to the top of its work tree, the nearest first. Outside a
    /// work tree only the folder itself.
    pub(crate) fn searched_folders(&self) -> Result<Vec<PathBuf>, SourceError> {
        let start = self.start()?;
        let above: Vec<PathBuf> = start.ancestors().map(Path::to_owned).collect();
        let top = above.iter().position(|folder| folder.join(".git").exists());
        Ok(above.into_iter().take(top.unwrap_or(0) + 1).collect())
    }

    /// The folder without symbolic links.
    pub(crate) fn start(&self) -> Result<PathBuf, SourceError> {
        fs::canonicalize(&self.folder).map_err(unreadable(&self.folder))
    }
}
