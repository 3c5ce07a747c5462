//! What is in a work tree, and what of it is in no commit, from one call of git each.

use std::fs;
use std::path::Path;

use crate::git::process::{Git, GitError};
use crate::paths::absolute;

/// What is in a work tree and in no commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeState {
    /// Files that are staged.
    pub staged: usize,
    /// Files that differ from what is staged.
    pub changed: usize,
    /// Files git does not know, with their sizes.
    pub untracked: Vec<(Vec<u8>, u64)>,
}

/// The files of a work tree that git does not ignore, as paths from its top folder.
pub fn kept_files(git: &Git) -> Result<Vec<String>, GitError> {
    let args = [
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ];
    let listing = git.patient().run(args)?;
    let paths = listing.split(|byte| *byte == 0);
    let paths = paths.filter(|path| !path.is_empty());
    Ok(paths
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect())
}

/// Asks git for the state of a work tree; changes nothing.
pub fn tree_state(git: &Git, work_tree: &Path) -> Result<TreeState, GitError> {
    let args = [
        "status",
        "--porcelain=v2",
        "-z",
        "--untracked-files=all",
        "--ignore-submodules=all",
    ];
    let listing = git.patient().run(args)?;
    let mut tree = TreeState::default();
    let mut fields = listing.split(|byte| *byte == 0);
    while let Some(field) = fields.next() {
        match field {
            [b'?', b' ', path @ ..] => {
                let size = fs::symlink_metadata(absolute(work_tree, path));
                let size = size.map_or(0, |metadata| metadata.len());
                tree.untracked.push((path.to_vec(), size));
            }
            [kind @ (b'1' | b'2' | b'u'), b' ', staged, changed, ..] => {
                tree.staged += usize::from(*staged != b'.');
                tree.changed += usize::from(*changed != b'.');
                if *kind == b'2' {
                    // The path it had before.
                    fields.next();
                }
            }
            _ => {}
        }
    }
    Ok(tree)
}
