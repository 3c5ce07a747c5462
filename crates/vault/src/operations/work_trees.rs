//! The other work trees of a repository, and what is checked out there.

use std::path::PathBuf;

use crate::error::{CheckpointError, Result};
use crate::git::process::{Git, nul_separated};
use crate::git::repository::Repository;

/// Refuses where a branch is checked out in another work tree.
pub(super) fn refuse_other_work_tree(
    repository: &Repository,
    git: &Git,
    branch: &str,
) -> Result<()> {
    let mut others = other_work_trees(repository, git)?.into_iter();
    let Some(other) = others.find(|other| other.branch.as_deref() == Some(branch)) else {
        return Ok(());
    };
    let folder = other.folder.display();
    Err(CheckpointError::refused(
        format!("`{branch}` is checked out in another work tree: `{folder}`"),
        format!("switch that one away, or run `ralphtool -C {folder} loop`"),
    ))
}

/// Another work tree of the repository.
pub(super) struct OtherWorkTree {
    pub folder: PathBuf,
    /// Short name of the branch HEAD is on there.
    pub branch: Option<String>,
}

/// The other work trees of a repository.
pub(super) fn other_work_trees(repository: &Repository, git: &Git) -> Result<Vec<OtherWorkTree>> {
    let has_others = repository.common_dir.join("worktrees").exists();
    if !has_others && repository.git_dir == repository.common_dir {
        return Ok(Vec::new());
    }
    let listing = git.run(["worktree", "list", "--porcelain", "-z"])?;
    let mut found: Vec<OtherWorkTree> = Vec::new();
    for line in nul_separated(&listing) {
        let line = String::from_utf8_lossy(line);
        if let Some(path) = line.strip_prefix("worktree ") {
            found.push(OtherWorkTree {
                folder: path.into(),
                branch: None,
            });
        }
        let branch = line.strip_prefix("branch refs/heads/");
        if let (Some(last), Some(branch)) = (found.last_mut(), branch) {
            last.branch = Some(branch.to_owned());
        }
    }
    found.retain(|other| other.folder != repository.work_tree);
    Ok(found)
}
