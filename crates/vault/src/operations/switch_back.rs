//! Back to the branch of a run: the user has switched away, and the run is to be resumed. Git does
//! it, by its own rule: what is not committed stays where it is, or nothing is changed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::preflight::{refuse_lock, refuse_operation, wait_for_passing_lock};
use super::standing::Standing;
use super::work_trees::refuse_other_work_tree;
use crate::error::{CheckpointError, Result};
use crate::git::object_id::ObjectId;
use crate::git::process::{Git, nul_separated};
use crate::git::repository::{Head, Repository, short};
use crate::journal::run_state::Current;
use crate::vault::Vault;
use ralph_base::files::{Tried as _, copy_with_time};
use ralph_base::shell::quoted;

/// How many lines of git's reason are shown.
const REASON_LINES: usize = 6;

/// Where HEAD was, and the branch it is on now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchedBack {
    pub from: Head,
    /// Short name of the branch.
    pub to: String,
}

impl Vault {
    /// Where a branch is that a new run will replace, in short; none where HEAD is on it.
    pub fn tip_to_replace(&self, branch: &str) -> Result<Option<String>> {
        let (refs, head) = self.repo.observe()?;
        let name = format!("refs/heads/{branch}");
        let is_here = matches!(&head, Head::Branch { name: here, .. } if *here == name);
        let tip = refs.get(&name).filter(|_| !is_here);
        Ok(tip.map(ObjectId::short))
    }

    /// The run that can be resumed: the open one, else the kept one.
    pub(crate) fn resumable(&self) -> Option<&Current> {
        let state = &self.log.state;
        state.current.as_ref().or_else(|| state.kept())
    }

    /// Switches to the branch of the run that can be resumed; none where HEAD is there already.
    pub(crate) fn switch_back(&mut self) -> Result<Option<SwitchedBack>> {
        let Some(run) = self.resumable().cloned() else {
            return Ok(None);
        };
        let (refs, head) = self.repo.observe()?;
        if run.is_on_branch(&head) {
            return Ok(None);
        }
        self.repo.refuse_operation()?;
        self.refuse_conflicts()?;
        let branch = short(&run.intent.branch).to_owned();
        let change = &run.intent.change;
        if !refs.contains_key(&run.intent.branch) {
            return Err(gone(change, &branch, run.commit));
        }
        let repository = &self.repo.places.repository;
        refuse_other_work_tree(repository, &self.repo.gits.user, &branch)?;
        wait_for_passing_lock(repository);
        refuse_lock(repository)?;
        match self.switch(&["--no-guess", &branch])? {
            Ok(()) => Ok(Some(SwitchedBack {
                from: head,
                to: branch,
            })),
            Err(reason) => Err(in_the_way(change, &head.shown(), &branch, &reason)),
        }
    }

    /// Switches to where HEAD was before [`Self::switch_back`].
    pub(crate) fn switch_again(&mut self, switched: &SwitchedBack) -> Result<()> {
        let done = match &switched.from {
            Head::Branch { name, .. } => self.switch(&["--no-guess", short(name)])?,
            Head::Detached { commit } => self.switch(&["--detach", &commit.to_string()])?,
        };
        done.map_err(|reason| {
            CheckpointError::refused(
                format!(
                    "git cannot switch from `{}` back to `{}`: {}",
                    switched.to,
                    switched.from.shown(),
                    first_lines(&reason)
                ),
                format!("HEAD is on `{}` now", switched.to),
            )
        })
    }

    /// Has git switch; its reason where it does not.
    fn switch(&mut self, args: &[&str]) -> Result<std::result::Result<(), String>> {
        let all = ["switch", "--quiet", "--no-overwrite-ignore"]
            .into_iter()
            .chain(args.iter().copied());
        let all: Vec<OsString> = all.map(OsString::from).collect();
        let output = self.repo.gits.user.patient().output(&all, &[])?;
        self.repo.ref_files.borrow_mut().git_answered();
        self.tree.invalidate_scan();
        let is_done = output.status.success();
        Ok(is_done.then_some(()).ok_or(output.stderr))
    }
}

/// Why git would not switch to the branch of a run, found without the lock. Nothing is changed.
pub fn switch_obstacle(repository: &Repository, git: &Git, standing: &Standing) -> Result<()> {
    let Standing {
        run, left, head, ..
    } = standing;
    refuse_operation(repository)?;
    let full = format!("refs/heads/{}", run.branch);
    if !repository.refs(git)?.contains_key(&full) {
        return Err(gone(&run.change, &run.branch, left.tip));
    }
    refuse_other_work_tree(repository, git, &run.branch)?;
    refuse_lock(repository)?;
    let folder = std::env::temp_dir();
    let folder = tempfile::tempdir_in(&folder).tried("create a folder in", &folder)?;
    let index = folder.path().join("index");
    copy_with_time(&repository.index(), &index)?;
    let git = git.patient().with_index(&index);
    // What it lists is modified or unmerged, and no error here.
    git.output(
        &["update-index", "-q", "--refresh"].map(OsString::from),
        &[],
    )?;
    let args = ["read-tree", "--dry-run", "-m", "-u", "HEAD", &full];
    let output = git.output(&args.map(OsString::from), &[])?;
    let reason = if output.status.success() {
        // That overwrites what git ignores; a switch must not.
        overwritten(repository, &git, &full)?
    } else {
        Some(output.stderr)
    };
    match reason {
        Some(reason) => Err(in_the_way(&run.change, head, &run.branch, &reason)),
        None => Ok(()),
    }
}

/// A file that a switch to a branch would create, and that is there already.
fn overwritten(repository: &Repository, git: &Git, branch: &str) -> Result<Option<String>> {
    let args = [
        "diff",
        "--name-only",
        "-z",
        "--no-renames",
        "--diff-filter=A",
        "HEAD",
        branch,
    ];
    let output = git.output(&args.map(OsString::from), &[])?;
    let mut paths = nul_separated(&output.stdout);
    let found = paths.find(|path| {
        let path = repository.work_tree.join(OsStr::from_bytes(path));
        path.symlink_metadata().is_ok()
    });
    Ok(found.map(|path| {
        let path = String::from_utf8_lossy(path);
        format!("`{path}` would be overwritten")
    }))
}

fn gone(change: &str, branch: &str, commit: ObjectId) -> CheckpointError {
    CheckpointError::refused(
        format!("the branch `{branch}` of the unfinished run of `{change}` is gone"),
        format!(
            "`git branch {} {}` restores it; or `ralphtool run {} --fresh` starts over",
            word(branch),
            commit,
            word(change)
        ),
    )
}

fn in_the_way(change: &str, from: &str, branch: &str, reason: &str) -> CheckpointError {
    let reason = first_lines(reason);
    CheckpointError::refused(
        format!(
            "an unfinished run of `{change}` is on `{branch}`, and git cannot switch there from \
             `{from}`: {reason}"
        ),
        format!(
            "commit or stash these changes, then `ralphtool resume`; or `ralphtool run {} --fresh` \
             starts over from `{from}`",
            word(change)
        ),
    )
}

/// The first lines of git's reason, in one.
fn first_lines(reason: &str) -> String {
    let lines: Vec<&str> = reason.lines().map(str::trim).collect();
    let more = if lines.len() > REASON_LINES {
        " …"
    } else {
        ""
    };
    let reason = lines[..lines.len().min(REASON_LINES)].join(" ");
    format!("{}{more}", reason.trim_start_matches("error: "))
}

/// A name as one word of a shell.
fn word(name: &str) -> String {
    quoted(Path::new(name))
}
