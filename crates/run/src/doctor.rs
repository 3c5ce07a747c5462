//! The doctor: checks everything a run needs and reports what it finds. Changes nothing and holds
//! no lock.
//!
//! Each check is independent; one more is one more line in `examine`.

mod agent_health;
mod agents;
mod branches;
mod filters;
mod gates;
mod repository;
mod settings;
mod source;
mod vault;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use self::agent_health::AgentHealth;
pub use self::gates::GateHealth;
use crate::failure::chain;
use crate::gate::GatePlace;
use ralph_plan::source::Surroundings;
use ralph_vault::CheckpointError;
use ralph_vault::git::repository::Repository;
use ralph_vault::store::{StateDirectoryError, VaultFolder};

/// How long a git command may take during a check.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How good or bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// All is well.
    Good,
    /// Nothing was checked, and nothing has to be done.
    Note,
    /// Worth knowing; a run can start.
    Warning,
    /// A run would refuse to start.
    Refusal,
    /// Git or the system does not work.
    Fault,
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub check: &'static str,
    pub level: Level,
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Finding {
    /// Something that is well.
    pub fn good(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, Level::Good, message)
    }

    /// Something that is neither well nor wrong.
    pub fn note(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, Level::Note, message)
    }

    /// Something worth knowing.
    pub fn warning(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, Level::Warning, message)
    }

    /// Something that keeps a run from starting.
    pub fn refusal(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, Level::Refusal, message)
    }

    /// Something that does not work.
    pub fn fault(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, Level::Fault, message)
    }

    fn new(check: &'static str, level: Level, message: impl Into<String>) -> Self {
        Self {
            check,
            level,
            message: message.into(),
            hint: None,
        }
    }

    /// An error that keeps a run from starting.
    fn error(check: &'static str, error: &CheckpointError) -> Self {
        let level = if error.is_refusal() {
            Level::Refusal
        } else {
            Level::Fault
        };
        Self {
            hint: error.hint(),
            ..Self::new(check, level, chain(error))
        }
    }

    /// Says what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// What is examined.
#[derive(Debug)]
pub struct Scope {
    /// Where the command was given.
    pub directory: PathBuf,
    /// The user's state directory.
    pub state: Result<PathBuf, StateDirectoryError>,
    /// The configuration file asked for.
    pub config: Option<PathBuf>,
    pub home: Option<PathBuf>,
    /// Where changes are searched.
    pub surroundings: Surroundings,
    pub environment: Vec<(OsString, OsString)>,
    pub run_gates: RunGates,
}

/// Whether gates are run.
#[derive(Debug, Clone, Copy)]
pub enum RunGates {
    No,
    /// In the work tree as it is; each name is announced first.
    Yes(fn(&str)),
    /// It was asked for, and may not be done.
    Withheld(&'static str),
}

/// A repository with the place of its vault.
struct Place<'a> {
    repository: &'a Repository,
    state: &'a Path,
    vault: PathBuf,
}

/// Runs all checks.
pub async fn examine(scope: &Scope) -> Diagnosis {
    let (mut findings, found_repository) = repository::check(scope);
    let root = found_repository
        .as_ref()
        .map_or(scope.directory.as_path(), |it| it.work_tree.as_path());
    let (configured, settings) = settings::check(scope, root);
    let mut run_gates = scope.run_gates;
    if let (Some(repository), Ok(state)) = (&found_repository, &scope.state) {
        let place = place_of(repository, state);
        let shown = settings.as_ref().map(|found| &found.shown);
        if matches!(run_gates, RunGates::Yes(_)) && vault::is_busy(&place) {
            run_gates = RunGates::Withheld("ralphtool is at work in this tree");
        }
        findings.extend(repository::obstacles(&place));
        findings.extend(filters::check(repository, &scope.environment));
        findings.extend(vault::check(&place, shown));
    }
    findings.extend(vault::state_directory(scope));
    findings.extend(configured);
    let mut gates = Vec::new();
    if let Some(found) = &settings {
        if matches!(run_gates, RunGates::Yes(_)) && !found.is_trusted {
            run_gates = RunGates::Withheld("the settings are not allowed yet");
        }
        let place = GatePlace {
            root,
            environment: &scope.environment,
        };
        let (found, healths) = gates::check(&found.shown, place, run_gates).await;
        findings.extend(found);
        gates = healths;
    }
    let mut agents = Vec::new();
    if let Some(allowed) = settings.and_then(|found| found.allowed) {
        let (found, healths) = agents::check(&allowed, scope, root).await;
        findings.extend(found);
        agents = healths;
    }
    let (found, open) = source::check(scope);
    findings.extend(found);
    if let (Some(repository), Ok(state)) = (&found_repository, &scope.state) {
        findings.extend(branches::check(scope, &place_of(repository, state), &open));
    }
    Diagnosis {
        agents,
        gates,
        open_changes: open.len(),
        ..Diagnosis::of(findings)
    }
}

fn place_of<'a>(repository: &'a Repository, state: &'a Path) -> Place<'a> {
    Place {
        vault: VaultFolder::folder_for(state, repository),
        repository,
        state,
    }
}

/// Everything that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// A run can start.
    pub can_run: bool,
    /// What the checks found, in order.
    pub findings: Vec<Finding>,
    /// The agents that were looked at: those the settings name, then the others that are built in.
    pub agents: Vec<AgentHealth>,
    /// The gates of the settings.
    pub gates: Vec<GateHealth>,
    /// How many changes have work left.
    pub open_changes: usize,
}

impl Diagnosis {
    /// Sums findings up.
    pub fn of(findings: Vec<Finding>) -> Self {
        Self {
            can_run: findings.iter().all(|it| it.level <= Level::Warning),
            findings,
            agents: Vec::new(),
            gates: Vec::new(),
            open_changes: 0,
        }
    }

    /// What it comes to, in a sentence.
    pub fn verdict(&self) -> &'static str {
        match self.findings.iter().map(|it| it.level).max() {
            Some(Level::Fault) => "git or the system does not work: a run cannot start",
            Some(Level::Refusal) => "a run cannot start: correct what is marked ✗",
            _ if self.open_changes == 0 => {
                "no change has work left: write one with `ralphtool new NAME`"
            }
            Some(Level::Warning) => "a run can start: look at what is marked !",
            Some(Level::Good | Level::Note) | None => "everything is ready",
        }
    }

    /// The exit code: what a run would end with that cannot start.
    pub fn exit_code(&self) -> u8 {
        match self.findings.iter().map(|it| it.level).max() {
            None | Some(Level::Good | Level::Note | Level::Warning) => 0,
            Some(Level::Refusal) => 2,
            Some(Level::Fault) => 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_keeps_a_run_from_starting_is_an_error() {
        let good = || Finding::good("a", "well");
        let cases = [
            (vec![good()], 0, true),
            (vec![Finding::note("a", "so"), good()], 0, true),
            (vec![Finding::warning("b", "look"), good()], 0, true),
            (vec![Finding::refusal("c", "no"), good()], 2, false),
            (
                vec![Finding::fault("d", "broken"), Finding::refusal("c", "no")],
                4,
                false,
            ),
        ];
        for (findings, code, can_run) in cases {
            let diagnosis = Diagnosis::of(findings);
            assert_eq!((diagnosis.exit_code(), diagnosis.can_run), (code, can_run));
        }
    }
}
