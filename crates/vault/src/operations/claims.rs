//! Whether a new run may have its branch: work on a branch is never replaced by accident, and no run
//! is built on top of another one unless the user says so.

use std::path::Path;

use super::trial_merge::merge_brings_nothing;
use super::work_trees::other_work_trees;
use crate::error::{CheckpointError, Result};
use crate::git::object_id::ObjectId;
use crate::git::process::Git;
use crate::git::repository::{Head, Refs, Repository, short};
use crate::journal::branches::{BranchRun, BranchRuns};
use crate::store::named_after;
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

/// What branches there are, where a run is to begin.
#[derive(Clone, Copy)]
pub(crate) struct Claims<'a> {
    pub git: &'a Git,
    pub refs: &'a Refs,
    /// Where HEAD is when the run begins.
    pub head: &'a Head,
    /// The runs that made branches.
    pub runs: &'a BranchRuns,
    pub repository: &'a Repository,
    /// The folder of this work tree's vault.
    pub vault: &'a Path,
}

impl Claims<'_> {
    /// Refuses where the branch holds work that is not at HEAD, or where HEAD is on the branch of
    /// another run.
    pub(crate) fn refuse(self, wanted: &NewBranch<'_>) -> Result<()> {
        let Self {
            git,
            refs,
            head,
            runs,
            ..
        } = self;
        let place = match head {
            Head::Branch { name, .. } => short(name),
            Head::Detached { .. } => "",
        };
        if place == wanted.name {
            return Ok(());
        }
        if let Some(tip) = refs.get(&format!("refs/heads/{}", wanted.name)) {
            match runs.on(wanted.name) {
                None => return Err(self.foreign(wanted.name, *tip)?),
                Some(run) if run.tip != *tip => {
                    return Err(foreign_commits(run, wanted.name, head));
                }
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

    /// The branch is the user's, or that of a run in another work tree.
    fn foreign(self, branch: &str, tip: ObjectId) -> Result<CheckpointError> {
        for other in other_work_trees(self.repository, self.git)? {
            let name = named_after(&other.folder);
            let runs = BranchRuns::read(&self.vault.with_file_name(name))?;
            if runs.on(branch).is_some_and(|run| run.tip == tip) {
                return Ok(in_other_work_tree(branch, &other.folder));
            }
        }
        Ok(foreign(branch))
    }
}

/// True where a merge of the commit would bring nothing: HEAD has all of its work.
pub(crate) fn is_at_head(git: &Git, head: &Head, tip: ObjectId) -> Result<bool> {
    let Some(commit) = head.commit() else {
        return Ok(false);
    };
    merge_brings_nothing(git, commit, tip)
}

/// The branch is the user's.
fn foreign(branch: &str) -> CheckpointError {
    CheckpointError::refused(
        format!(
            "the branch `{branch}` was not made by a run in this work tree; it is never replaced"
        ),
        format!("rename it: {}", rename(branch)),
    )
}

/// A run of another work tree made the branch, and may be resumed there.
fn in_other_work_tree(branch: &str, folder: &Path) -> CheckpointError {
    CheckpointError::refused(
        format!(
            "the branch `{branch}` is that of a run in the work tree `{}`; it is never replaced",
            folder.display()
        ),
        format!(
            "`ralphtool -C {} status` says how it stands",
            quoted(folder)
        ),
    )
}

/// The user has committed to the branch of a run; `home` is where the next one begins.
pub(crate) fn foreign_commits(run: &BranchRun, branch: &str, home: &Head) -> CheckpointError {
    CheckpointError::refused(
        format!(
            "the branch `{branch}` has commits that the run {} did not make; it is never replaced",
            run.run
        ),
        format!(
            "rename it, with HEAD elsewhere: {}, {}",
            switch_to(home),
            rename(branch)
        ),
    )
}

fn rename(branch: &str) -> String {
    let old = format!("{branch}-old");
    format!("`git branch -m {} {}`", word(branch), word(&old))
}

fn switch_to(head: &Head) -> String {
    match head {
        Head::Branch { name, .. } => format!("`git switch {}`", word(short(name))),
        Head::Detached { commit } => format!("`git switch --detach {}`", commit.short()),
    }
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
