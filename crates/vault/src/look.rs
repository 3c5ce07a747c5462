//! What the journal of a vault says, and whether it is whole, read without the lock. Nothing is created
//! or changed.

use std::collections::BTreeSet;
use std::path::Path;

use super::gc::folders::Folders;
use super::gc::runs;
use super::parked::parked_attempts;
use crate::error::{CheckpointError, Result};
use crate::gc::policy::{self, PastRun, Tally};
use crate::git::process::Git;
use crate::git::repository::Repository;
use crate::journal::branches::BranchRuns;
use crate::journal::run_state::{Current, OpenRun, Phase, RunState};
use crate::journal::steps::{self, JournalHealth};
use crate::operations::standing::Standing;
use crate::store::{VaultError, VaultFolder, where_now};
use ralph_base::ids::RunId;

/// A summary of a vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The run that has begun and not been finished.
    pub open: Option<OpenRun>,
    /// How far that run got, and what the next start does about it; none where it just stopped.
    pub half_way: Option<(&'static str, &'static str)>,
    /// The change of the kept run, where the last run was kept.
    pub kept: Option<String>,
    /// That run. It is not the last one that began where that one was abandoned.
    pub kept_run: Option<RunId>,
    /// All kept runs that can be resumed, the newest first.
    pub kept_runs: Vec<RunId>,
    /// How many attempts are parked.
    pub parked: usize,
    pub runs: Vec<PastRun>,
    pub journal: JournalHealth,
}

impl Look {
    /// The run that commands mean where none is named: the open one, else the kept one, else the newest.
    pub fn last_run(&self) -> Option<&PastRun> {
        let named = self.open.as_ref().map(|open| &open.run);
        let named = named.or(self.kept_run.as_ref());
        let mut newest_first = self.runs.iter().rev();
        newest_first.find(|run| match named {
            Some(named) => run.run == *named,
            None => run.standing != policy::Standing::TakenBack,
        })
    }
}

/// Reads the summary of a vault.
pub fn look(vault: &Path) -> Result<Look> {
    let (lines, journal) = steps::read_checked(&vault.join("journal"))?;
    let state = RunState::from_journal(&lines);
    let open = state.open_run();
    Ok(Look {
        kept: state.kept().map(|kept| kept.intent.change.clone()),
        kept_run: state.kept().map(|kept| kept.intent.run.clone()),
        kept_runs: state
            .kept_runs()
            .map(|run| run.intent.run.clone())
            .collect(),
        parked: parked_attempts(&lines).len(),
        runs: runs::of_journal(&lines, &state),
        half_way: match (&state.moving, &state.current) {
            (Some(_), _) => Some(HALF_DONE),
            (None, Some(current)) => half_way(&current.phase),
            (None, None) => None,
        },
        open,
        journal,
    })
}

/// Snapshots, trash and logs that belong to no run.
pub fn strays(folder: &Path) -> Result<Tally> {
    let vault = VaultFolder::unlocked(folder);
    let lines = steps::read(&vault.journal())?;
    let runs = runs::of_journal(&lines, &RunState::from_journal(&lines));
    Ok(Folders::find(&vault, &runs, &lines, &BTreeSet::new())?.orphans)
}

/// A step that the next start only has to complete.
const HALF_DONE: (&str, &str) = ("a step was interrupted", "completes it");

/// What a run was in the middle of, and what the next start does about it.
fn half_way(phase: &Phase) -> Option<(&'static str, &'static str)> {
    match phase {
        Phase::Still => None,
        Phase::Beginning => Some(("it had just begun", "undoes it")),
        Phase::Working => Some((
            "an attempt was in progress",
            "parks its changes and restores the checkpoint",
        )),
        Phase::Verified(_) => Some((
            "a story was done, but its checkpoint not written",
            "writes the checkpoint",
        )),
        _ => Some(HALF_DONE),
    }
}

/// The run that can be resumed, looked up as [`peek`] does: the open one, else the kept one.
pub fn peek_last(state_directory: &Path, repository: &Repository) -> Result<Option<OpenRun>> {
    let folder = VaultFolder::folder_for(state_directory, repository);
    let state = RunState::from_journal(&steps::read(&folder.join("journal"))?);
    let last = state
        .open_run()
        .or_else(|| state.kept().map(Current::to_open_run));
    Ok(last.map(|run| OpenRun {
        plan: run.plan.map(|plan| where_now(&folder, repository, &plan)),
        ..run
    }))
}

/// The run that can be resumed, the wanted one if it was kept, seen from where HEAD is, and the runs that
/// made branches; looked up as [`peek`] does.
pub fn standing(
    state_directory: &Path,
    repository: &Repository,
    git: &Git,
    is_wanted: impl Fn(&OpenRun) -> bool,
) -> Result<(Option<Standing>, BranchRuns)> {
    let folder = VaultFolder::folder_for(state_directory, repository);
    let lines = if VaultFolder::unlocked(&folder).belongs_to(repository)? {
        steps::read(&folder.join("journal"))?
    } else {
        Vec::new()
    };
    let refs = repository.refs(git)?;
    let head = Repository::ask_head(git, &refs)?;
    let state = RunState::from_journal(&lines);
    let here = |run: &OpenRun| OpenRun {
        plan: run
            .plan
            .as_ref()
            .map(|plan| where_now(&folder, repository, plan)),
        ..run.clone()
    };
    let state = state.with_last(|run| is_wanted(&here(run)));
    let standing = Standing::of(&state, &refs, &head, git)?;
    let standing = standing.map(|mut standing| {
        standing.run = here(&standing.run);
        standing
    });
    Ok((standing, BranchRuns::of(&lines)))
}

/// The open run of a work tree, looked up without the lock and without touching anything.
pub fn peek(state_directory: &Path, repository: &Repository) -> Result<Option<OpenRun>> {
    let folder = VaultFolder::folder_for(state_directory, repository);
    Ok(look(&folder)?.open)
}

/// Adds to the error of a lock which run has the repository, and where.
pub(crate) fn describe_owner(error: VaultError) -> CheckpointError {
    let VaultError::RepositoryLocked { owner } = error else {
        return error.into();
    };
    let open = look(&owner.vault).ok().and_then(|found| found.open);
    let who = open.map_or_else(
        || "another ralphtool".to_owned(),
        |open| format!("a run of `{}`", open.change),
    );
    let place = owner.work_tree.display();
    CheckpointError::refused(
        format!(
            "{who} is at work in `{place}` ({}), and this work tree shares its git directory",
            owner.process
        ),
        format!(
            "wait until it ends, or stop it with Ctrl-C there; two runs at a time need two \
             repositories: `git clone {place} DIR`"
        ),
    )
}
