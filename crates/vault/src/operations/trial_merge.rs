//! Merges of two commits that leave no trace: git works in a folder of its own, so that it writes no
//! object into the repository and knows none of the user's merge drivers and filters.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::git::object_id::{ObjectFormat, ObjectId};
use crate::git::process::Git;
use ralph_base::files::{Tried, create_private_folder, read_line_file, write_whole};

/// A git directory for one merge, which reads the objects of a repository. It is removed when this is
/// dropped.
struct MergeFolder {
    git: Git,
    _folder: tempfile::TempDir,
}

impl MergeFolder {
    fn new(git: &Git, format: ObjectFormat) -> Result<Self> {
        let shared = shared_directory(git.directory());
        let place = std::env::temp_dir();
        let folder = tempfile::Builder::new()
            .prefix("ralphtool-merge-")
            .tempdir_in(&place)
            .tried("create a folder in", &place)?;
        let path = folder.path();
        for name in ["refs/heads", "objects"] {
            create_private_folder(&path.join(name))?;
        }
        let config = format!(
            "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = {}\n",
            format.name()
        );
        write_whole(&path.join("config"), config.as_bytes(), 0o600)?;
        write_whole(&path.join("HEAD"), b"ref: refs/heads/none\n", 0o600)?;
        let git = Git::on_bare(path, git.timeout())
            .with_objects(&path.join("objects"), Some(&shared.join("objects")))
            .with_own_config()
            .with_shallow(&shared.join("shallow"))
            .unsynced()
            .patient();
        Ok(Self {
            git,
            _folder: folder,
        })
    }
}

/// True where a merge of `tip` into `commit` brings nothing, and without a conflict.
pub(super) fn merge_brings_nothing(git: &Git, commit: ObjectId, tip: ObjectId) -> Result<bool> {
    let merging = MergeFolder::new(git, commit.format())?;
    let (name, tip) = (commit.to_string(), tip.to_string());
    let args = ["merge-tree", "--write-tree", "--no-messages", &name, &tip];
    let merged = merging.git.output(&args.map(OsString::from), &[])?;
    if !merged.status.success() {
        return Ok(false);
    }
    let tree = merging.git.id(["rev-parse", &format!("{name}^{{tree}}")])?;
    Ok(ObjectId::parse(merged.stdout.trim_ascii()) == Some(tree))
}

/// The git directory that all work trees share.
fn shared_directory(git_dir: &Path) -> PathBuf {
    let pointer = read_line_file(&git_dir.join("commondir")).unwrap_or_default();
    match pointer.trim_ascii_end() {
        [] => git_dir.to_owned(),
        to => git_dir.join(OsStr::from_bytes(to)),
    }
}
