//! The doctor: looks at everything a run needs and says what it finds. Changes nothing and holds
//! no lock.
//!
//! Each check stands for itself; one more is one more line in `examine`.

mod agents;
mod leftovers;
mod repository;
mod settings;
mod source;
mod vault;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::doctor::{Diagnosis, Finding};
use crate::settings::Settings;
use ralph_plan::source::Surroundings;
use ralph_vault::git::repository::Repository;
use ralph_vault::store::{StateDirectoryError, Vault};

/// How long a git command may take while things are looked at.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What is examined.
#[derive(Debug)]
pub struct Patient {
    /// Where the command was given.
    pub directory: PathBuf,
    /// The user's state directory.
    pub state: Result<PathBuf, StateDirectoryError>,
    /// The configuration file asked for.
    pub config: Option<PathBuf>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// Where changes are looked for.
    pub surroundings: Surroundings,
    /// The environment.
    pub environment: Vec<(OsString, OsString)>,
}

/// A repository with the place of its vault.
struct Place<'a> {
    repository: &'a Repository,
    state: &'a Path,
    vault: PathBuf,
}

/// Runs all checks.
pub async fn examine(patient: &Patient) -> Diagnosis {
    let (mut findings, found) = repository::look(patient);
    let root = found
        .as_ref()
        .map_or(patient.directory.as_path(), |it| it.work_tree.as_path());
    let (configured, settings) = settings::look(patient, root);
    if let (Some(repository), Ok(state)) = (&found, &patient.state) {
        let place = Place {
            vault: Vault::folder_for(state, repository),
            repository,
            state,
        };
        findings.extend(repository::obstacles(&place));
        let shown = settings.as_ref().map(|found| &found.shown);
        findings.extend(in_vault(&place, shown));
    }
    findings.extend(vault::state_directory(patient));
    findings.extend(configured);
    let allowed = settings.as_ref().and_then(|found| found.allowed.as_ref());
    let (words, agents) = match allowed {
        Some(settings) => agents::look(settings, patient, root).await,
        None => (Vec::new(), Vec::new()),
    };
    findings.extend(words);
    findings.extend(source::look(patient));
    Diagnosis::of(findings).with(agents)
}

fn in_vault(place: &Place<'_>, settings: Option<&Settings>) -> Vec<Finding> {
    let mut findings = vault::look(place, settings);
    findings.extend(leftovers::look(place));
    findings
}
