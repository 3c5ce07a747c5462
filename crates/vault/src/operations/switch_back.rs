//! Back to the branch of a run: the user has switched away, and the run is to be resumed. Git does
//! it, by its own rule: what is not committed stays where it is, or nothing is changed.

use std::ffi::OsString;
use std::path::Path;

use super::preflight::{refuse_lock, refuse_other_work_tree, wait_for_passing_lock};
use crate::error::{CheckpointError, Result};
use crate::git::object_id::ObjectId;
use crate::git::repository::{Head, short};
use crate::journal::run_state::Current;
use crate::vault::Vault;
use ralph_base::shell::quoted;

/// How many lines of git's reason are shown.
const REASON_LINES: usize = 6;

/// Where HEAD was, and the branch it is on now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchedBack {
    pub from: String,
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
        if !refs.contains_key(&run.intent.branch) {
            return Err(gone(&run, &branch));
        }
        let repository = &self.repo.places.repository;
        refuse_other_work_tree(repository, &self.repo.gits.user, &branch)?;
        wait_for_passing_lock(repository);
        refuse_lock(repository)?;
        let args = ["switch", "--quiet", "--no-guess", &branch].map(OsString::from);
        let output = self.repo.gits.user.patient().output(&args, &[])?;
        self.repo.ref_files.borrow_mut().git_answered();
        self.tree.invalidate_scan();
        let from = head.shown();
        if output.status.success() {
            return Ok(Some(SwitchedBack { from, to: branch }));
        }
        Err(in_the_way(&run, &from, &branch, &output.stderr))
    }
}

fn gone(run: &Current, branch: &str) -> CheckpointError {
    CheckpointError::refused(
        format!(
            "the branch `{branch}` of the unfinished run of `{}` is gone",
            run.intent.change
        ),
        format!(
            "`git branch {} {}` restores it; or `ralphtool run {} --fresh` starts over",
            word(branch),
            run.commit,
            word(&run.intent.change)
        ),
    )
}

fn in_the_way(run: &Current, from: &str, branch: &str, reason: &str) -> CheckpointError {
    let lines: Vec<&str> = reason.lines().map(str::trim).collect();
    let more = if lines.len() > REASON_LINES {
        " …"
    } else {
        ""
    };
    let reason = lines[..lines.len().min(REASON_LINES)].join(" ");
    let reason = reason.trim_start_matches("error: ");
    let change = &run.intent.change;
    CheckpointError::refused(
        format!(
            "an unfinished run of `{change}` is on `{branch}`, and git cannot switch there from \
             `{from}`: {reason}{more}"
        ),
        format!(
            "commit or stash these changes, then `ralphtool resume`; or `ralphtool run {} --fresh` \
             starts over from `{from}`",
            word(change)
        ),
    )
}

/// A name as one word of a shell.
fn word(name: &str) -> String {
    quoted(Path::new(name))
}
