//! Housekeeping: removes old runs and vaults, at the end of every run and when the user asks for it.
//! Which ones go is decided by the vault's own policy.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;

use super::{REPAIR_TIMEOUT, chain};
use crate::failure::Failure;
use crate::words::counted;
use ralph_base::ids::RunId;
use ralph_base::size::{SizeLimit, rounded};
use ralph_vault::Vault;
use ralph_vault::error::Notice;
use ralph_vault::gc::policy::{
    Fate, Housekeeping, KEEP_FINISHED, StoreRow, Tally, expired, removable,
};
use ralph_vault::git::repository::Repository;
use ralph_vault::other_vaults::{self, OtherVault, Scope};
use ralph_vault::store::VaultFolder;
use ralph_vault::{CheckpointError, GcPlan};
use ralph_vault::{Opened, Session};

/// What is asked for.
pub struct Request<'a> {
    /// Where the command was given.
    pub directory: &'a Path,
    /// The user's state directory.
    pub state: &'a Path,
    /// Runs and vaults younger than this stay.
    pub older_than: Duration,
    /// Vaults of other work trees are looked at, too.
    pub scope: Scope,
    /// Just this vault, and all of it: by its name, its folder or its work tree.
    pub forget: Option<&'a str>,
}

/// What goes, with the vault locked until it is done.
pub struct Prepared {
    pub report: Housekeeping,
    own: Option<(Session<Opened>, GcPlan)>,
    vaults: Vec<PathBuf>,
}

/// Finds out what goes; removes nothing.
pub fn prepare(request: &Request<'_>) -> Result<Prepared, Failure> {
    if let Some(name) = request.forget {
        return prepare_forgetting(request, name);
    }
    let now = Timestamp::now();
    let folder = match Repository::discover(request.directory) {
        Ok(repository) => Some(VaultFolder::folder_for(request.state, &repository)),
        // The vaults of other trees can be looked at from anywhere.
        Err(_) if request.scope == Scope::All => None,
        Err(error) => return Err(CheckpointError::from(error).into()),
    };
    let own = match &folder {
        Some(folder) if folder.exists() => Some(plan(request, now)?),
        _ => None,
    };
    let others = other_vaults::others(request.state, folder.as_deref(), request.scope)?;
    let place = folder.unwrap_or_else(|| request.state.join("ralphtool"));
    let mut report = match &own {
        Some((_, plan)) => plan.report.clone(),
        None => empty(&place),
    };
    let mut vaults = Vec::new();
    for other in others {
        let fate = other.fate(request.older_than, now);
        report.vaults.push(other.row(fate.clone()));
        if fate == Fate::Goes {
            vaults.push(other.folder);
        }
    }
    Ok(Prepared {
        report,
        own,
        vaults,
    })
}

/// The one vault the user named; everything in it goes, except notes.
fn prepare_forgetting(request: &Request<'_>, name: &str) -> Result<Prepared, Failure> {
    let all = other_vaults::others(request.state, None, Scope::All)?;
    let path = request.directory.join(name);
    let is_named = |other: &OtherVault| {
        let is_name = other.folder.file_name().is_some_and(|it| it == name);
        is_name || other.folder == path || other.work_tree.as_ref() == Some(&path)
    };
    let Some(other) = all.into_iter().find(is_named) else {
        return Err(Failure::refused(format!("found no vault `{name}`"))
            .hint("`ralphtool gc --all-vaults --dry-run` lists all vaults"));
    };
    if let Some(reason) = other.in_use() {
        return Err(Failure::refused(format!(
            "the vault `{}` is not removed: {reason}",
            other.folder.display()
        )));
    }
    let mut report = empty(&other.folder);
    report.bytes_before = other.bytes;
    report.vaults = vec![other.row(Fate::Goes)];
    Ok(Prepared {
        report,
        own: None,
        vaults: vec![other.folder],
    })
}

impl Prepared {
    /// Removes what goes and says how it is then.
    pub fn carry_out(self) -> Result<Housekeeping, Failure> {
        let mut report = self.report;
        if let Some((mut opened, plan)) = self.own {
            report.bytes_after = opened
                .vault_mut()
                .carry_out_gc(&plan)
                .map_err(|error| stopped(&error))?;
        }
        for folder in &self.vaults {
            other_vaults::remove(folder).map_err(|error| stopped(&error))?;
        }
        report.done = true;
        Ok(report)
    }
}

fn plan(
    request: &Request<'_>,
    now: Timestamp,
) -> Result<(Session<Opened>, GcPlan), CheckpointError> {
    let opened = Session::open(request.directory, request.state, REPAIR_TIMEOUT)?;
    let checkpoints = opened.vault();
    let goes = expired(&checkpoints.past_runs()?, request.older_than, now);
    let plan = checkpoints.plan_gc(&goes)?;
    Ok((opened, plan))
}

fn empty(vault: &Path) -> Housekeeping {
    Housekeeping {
        vault: vault.display().to_string(),
        done: false,
        kept_runs: 0,
        bytes_before: 0,
        bytes_after: 0,
        runs: Vec::new(),
        orphans: Tally::default(),
        copies: Tally::default(),
        store: StoreRow::Known {
            gone: Tally::default(),
        },
        vaults: Vec::new(),
        notes: Vec::new(),
    }
}

fn stopped(error: &CheckpointError) -> Failure {
    Failure::system(format!("not all could be removed: {}", chain(error)))
        .hint("nothing that is needed was touched; `ralphtool gc` continues from here")
}

/// Removes old runs at the end of a run, and more where the vault is too large; never fails.
pub fn tidy(checkpoints: &mut Vault, limit: SizeLimit) -> Vec<Notice> {
    let mut removed = Removed::default();
    let mut notices = match try_tidy(checkpoints, limit, &mut removed) {
        Ok(too_large) => too_large.into_iter().collect(),
        Err(error) => vec![Notice::new(
            "vault_not_tidied",
            format!(
                "old runs could not be removed from the vault: {}",
                chain(&error)
            ),
        )],
    };
    notices.extend(removed.notice());
    notices
}

/// What a tidying removed.
#[derive(Debug, Default)]
struct Removed {
    runs: usize,
    bytes: u64,
}

impl Removed {
    fn notice(&self) -> Option<Notice> {
        if self.runs == 0 {
            return None;
        }
        let message = format!(
            "removed {} from the vault, {}; `ralphtool gc --help` says what is kept",
            counted(self.runs, "old run"),
            rounded(self.bytes)
        );
        Some(Notice::new("vault_tidied", message))
    }
}

/// Gives a warning where the vault is still too large.
fn try_tidy(
    checkpoints: &mut Vault,
    limit: SizeLimit,
    removed: &mut Removed,
) -> Result<Option<Notice>, CheckpointError> {
    let runs = checkpoints.past_runs()?;
    let old = expired(&runs, KEEP_FINISHED, Timestamp::now());
    if !old.is_empty() {
        remove(checkpoints, &old, removed)?;
    }
    let Some(limit) = limit.0 else {
        return Ok(None);
    };
    let mut bytes = checkpoints.vault_bytes()?;
    if bytes > limit {
        // First what no run needs, then run by run, the oldest first.
        bytes = remove(checkpoints, &[], removed)?;
    }
    while bytes > limit {
        let runs = checkpoints.past_runs()?;
        let Some(oldest) = removable(&runs).next().map(|run| run.run.clone()) else {
            return Ok(Some(too_large(checkpoints, bytes, limit)));
        };
        bytes = remove(checkpoints, &[oldest], removed)?;
    }
    Ok(None)
}

/// Removes runs and what nothing needs; gives the size of the vault then.
fn remove(
    checkpoints: &mut Vault,
    runs: &[RunId],
    removed: &mut Removed,
) -> Result<u64, CheckpointError> {
    let plan = checkpoints.plan_gc(runs)?;
    let after = checkpoints.carry_out_gc(&plan)?;
    removed.runs += runs.len();
    removed.bytes += plan.report.bytes_before.saturating_sub(after);
    Ok(after)
}

fn too_large(checkpoints: &Vault, bytes: u64, limit: u64) -> Notice {
    let message = format!(
        "the vault `{}` is larger than `vault_limit` ({}): {}; the last run is never removed",
        checkpoints.vault_folder().display(),
        SizeLimit::bytes(limit),
        rounded(bytes)
    );
    Notice::new("vault_too_large", message)
}
