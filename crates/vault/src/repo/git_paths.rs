//! Which paths of a git directory are folders and files wherever they are present, and which are
//! looked into.

use crate::git::loose_object::is_folder;
use crate::paths::is_at_or_below;
use crate::store::TOKEN_FILE;

/// Folders below the git directory that are looked into, with all below them.
const DEEP: &[&str] = &[
    "branches",
    "hooks",
    "info",
    "logs",
    "objects/info",
    "refs",
    "remotes",
    "worktrees",
];

/// Folders that are looked into, but not what is in their subfolders.
const FLAT: &[&str] = &["", "objects", "objects/pack"];

/// Folders in which every file is recorded, not just what is no file.
const FEW_FILES: &[&str] = &[
    "",
    "branches",
    "hooks",
    "info",
    "objects/info",
    "remotes",
    "worktrees",
];

/// Paths that are folders wherever they are present.
pub(crate) const FOLDERS: &[&str] = &[
    "branches",
    "hooks",
    "info",
    "logs",
    "logs/refs",
    "logs/refs/heads",
    "modules",
    "objects",
    "objects/info",
    "objects/pack",
    "refs",
    "refs/heads",
    "refs/tags",
    "remotes",
    "worktrees",
];

/// Paths that are files wherever they are present, besides operations in progress and locks.
const FILES: &[&str] = &[
    "COMMIT_EDITMSG",
    "FETCH_HEAD",
    "HEAD",
    "ORIG_HEAD",
    "config",
    "config.worktree",
    "description",
    "gc.log",
    "index",
    "info/attributes",
    "info/exclude",
    "info/sparse-checkout",
    "logs/HEAD",
    "logs/refs/stash",
    ALTERNATES,
    "objects/info/commit-graph",
    "objects/pack/multi-pack-index",
    "packed-refs",
    "refs/stash",
    "shallow",
    TOKEN_FILE,
];

/// Operations in progress that are folders.
const OPERATION_FOLDERS: &[&str] = &["rebase-merge", "rebase-apply", "sequencer"];

/// The list of places that objects are borrowed from.
pub(crate) const ALTERNATES: &str = "objects/info/alternates";

pub(crate) fn is_looked_into(path: &str) -> bool {
    FLAT.contains(&path) || DEEP.iter().any(|folder| is_at_or_below(path, folder))
}

pub(crate) fn has_few_files(path: &str) -> bool {
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    has_few_files_in(parent)
}

fn has_few_files_in(folder: &str) -> bool {
    // With reftables `refs/heads` is a file.
    folder == "refs"
        || FEW_FILES.iter().any(|few| {
            if few.is_empty() {
                folder.is_empty()
            } else {
                is_at_or_below(folder, few)
            }
        })
}

/// True for `objects/ab`.
pub(crate) fn is_fan_out(path: &str) -> bool {
    path.strip_prefix("objects/").is_some_and(is_folder)
}

/// True for a path that git has as a file.
pub(crate) fn is_file_path(path: &str) -> bool {
    let is_operation = IN_PROGRESS.contains(&path) && !OPERATION_FOLDERS.contains(&path);
    FILES.contains(&path) || is_operation || path.as_bytes().ends_with(b".lock")
}

/// Files and folders that exist while an operation of git is in progress.
pub(crate) const IN_PROGRESS: &[&str] = &[
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "MERGE_RR",
    "MERGE_AUTOSTASH",
    "AUTO_MERGE",
    "SQUASH_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "BISECT_LOG",
    "BISECT_START",
    "BISECT_TERMS",
    "BISECT_NAMES",
    "BISECT_EXPECTED_REV",
    "BISECT_ANCESTORS_OK",
    "BISECT_FIRST_PARENT",
    "BISECT_RUN",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
];
