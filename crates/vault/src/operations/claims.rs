//! Whether a new run may have its branch: work on a branch is never replaced by accident, and no run
//! is built on top of another one unless the user says so.

use std::path::Path;

use super::trial_merge::merge_brings_nothing;
use crate::error::{CheckpointError, Result};
use crate::git::object_id::ObjectId;
use crate::git::process::Git;
use crate::git::repository::{Head, Refs, short};
use crate::journal::branches::{BranchRun, BranchRuns};
use ralph_base::shell::quoted;

/// The branch of a run that is to begin.
#[derive(Debug, Clone, Copy)]
pub struct NewBranch<'a> {
    /// Short name of the branch.
    pub name: &'a str,
    /// The change of the run.
    pub change: &'a str,
    /// The branch of an earlier run may be replaced.
    pub replaces: bool,
    /// The run may be built on top of another one.
    pub on_top: bool,
}

/// Refuses where the branch holds work that is not at HEAD, or where HEAD is on the branch of another
/// run.
pub(crate) fn refuse_claimed(
    git: &Git,
    refs: &Refs,
    head: &Head,
    runs: &BranchRuns,
    wanted: &NewBranch<'_>,
) -> Result<()> {
    let place = match head {
        Head::Branch { name, .. } => short(name),
        Head::Detached { .. } => "",
    };
    if place == wanted.name {
        return Ok(());
    }
    if let Some(tip) = refs.get(&format!("refs/heads/{}", wanted.name)) {
        match runs.on(wanted.name).filter(|run| run.tip == *tip) {
            None => return Err(foreign(wanted.name, runs.on(wanted.name))),
            Some(_) if wanted.replaces => {}
            Some(run) if is_at_head(git, head, run.tip)? => {}
            Some(run) => return Err(holds_work(wanted, run)),
        }
    }
    match runs.on(place).filter(|_| !wanted.on_top) {
        Some(other) => Err(on_other(place, wanted, other)),
        None => Ok(()),
    }
}

/// True where a merge of the commit would bring nothing: HEAD has all of its work.
pub(crate) fn is_at_head(git: &Git, head: &Head, tip: ObjectId) -> Result<bool> {
    let Some(commit) = head.commit() else {
        return Ok(false);
    };
    merge_brings_nothing(git, commit, tip)
}

/// The branch is the user's, or the user has committed to it.
fn foreign(branch: &str, run: Option<&BranchRun>) -> CheckpointError {
    let why = match run {
        Some(run) => format!("has commits that the run {} did not make", run.run),
        None => "was not made by a run in this work tree".to_owned(),
    };
    let name = word(branch);
    CheckpointError::refused(
        format!("the branch `{branch}` {why}; it is never replaced"),
        format!(
            "rename it: `git branch -m {name} {}`",
            word(&format!("{branch}-old"))
        ),
    )
}

fn holds_work(wanted: &NewBranch<'_>, run: &BranchRun) -> CheckpointError {
    let (branch, change) = (wanted.name, word(wanted.change));
    CheckpointError::refused(
        format!(
            "`{branch}` holds the work of the run {} ({}), which is over and cannot be resumed",
            run.run,
            run.stories_done()
        ),
        format!(
            "`git switch {}` to build on it; or `ralphtool run {change} --fresh` starts over and \
             replaces the branch",
            word(branch)
        ),
    )
}

fn on_other(place: &str, wanted: &NewBranch<'_>, other: &BranchRun) -> CheckpointError {
    let change = word(wanted.change);
    CheckpointError::refused(
        format!(
            "HEAD is on `{place}`, the branch of a run of `{}`: `{}` would be built on top of it",
            other.change, wanted.change
        ),
        format!(
            "`git switch {}` first, to start without that work; or `ralphtool run {change} --on-top`",
            word(&other.original)
        ),
    )
}

/// A name as one word of a shell.
fn word(name: &str) -> String {
    quoted(Path::new(name))
}
