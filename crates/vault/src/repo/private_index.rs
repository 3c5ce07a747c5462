//! Writes to a private index: changed paths go in, and git says which of them it cannot store.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::unstorable::Unstorable;
use super::visible::nul_joined;
use crate::error::{Notice, Result};
use crate::git::index::list;
use crate::git::object_id::ObjectFormat;
use crate::git::process::{Git, GitError};
use crate::paths::{absolute, ancestors};
use crate::repo::Repo;

/// What came of putting changed paths into an index.
#[derive(Debug, Default)]
pub(crate) struct Updated {
    pub notices: Vec<Notice>,
    /// Paths the index has as before.
    pub unstorable: Vec<Unstorable>,
}

impl Repo {
    /// Puts changed paths into a private index.
    pub(crate) fn update_index(&self, git: &Git, paths: &[Vec<u8>]) -> Result<Updated> {
        if paths.is_empty() {
            return Ok(Updated::default());
        }
        let unstorable = match self.update(git, paths) {
            Ok(()) => Vec::new(),
            // No path is to blame, and trying them one by one would not help.
            Err(error) if is_disk_full(error.stderr()) => return Err(error.into()),
            Err(_) => {
                // Git does not look behind a link in the place of a folder: what was there is gone.
                let top = &self.places.repository.work_tree;
                let (gone, present): (Vec<_>, Vec<_>) = paths
                    .iter()
                    .cloned()
                    .partition(|path| is_behind_link(top, path));
                self.forget(git, &gone)?;
                self.update_one_by_one(git, &present)?
            }
        };
        Ok(Updated {
            notices: self.report_links_to_modules(paths),
            unstorable,
        })
    }

    /// Takes paths out of a private index, so that git must read them again.
    pub(crate) fn forget(&self, git: &Git, paths: &[Vec<u8>]) -> Result<()> {
        if !paths.is_empty() {
            let args = ["update-index", "-z", "--force-remove", "--stdin"];
            self.write_index(git, &args, &nul_joined(paths))?;
        }
        Ok(())
    }

    /// Runs a git command that writes the index of `git`.
    ///
    /// Whatever it is to write, git compares files that are no older than the index, which may have
    /// changed within the second in which they were added. One whose filter fails makes the whole
    /// command fail: then these files are noted as not compared, and git is asked again.
    pub(crate) fn write_index(
        &self,
        git: &Git,
        args: &[&str],
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        match git.run_with_input(args, input) {
            Err(error) if error.is_about_content() => {
                let format = self.places.repository.format;
                match uncompared(git, format) {
                    Some(entries) => {
                        git.run_with_input(["update-index", "-z", "--index-info"], &entries)?;
                        git.run_with_input(args, input)
                    }
                    None => Err(error),
                }
            }
            other => other,
        }
    }

    fn update(&self, git: &Git, paths: &[Vec<u8>]) -> Result<(), GitError> {
        let args = [
            "update-index",
            "-z",
            "--add",
            "--remove",
            "--replace",
            "--stdin",
        ];
        self.write_index(git, &args, &nul_joined(paths)).map(drop)
    }

    /// Some path cannot be stored: finds which, and stores the others.
    fn update_one_by_one(&self, git: &Git, paths: &[Vec<u8>]) -> Result<Vec<Unstorable>> {
        let mut pending = vec![paths.to_vec()];
        let mut unstorable = Vec::new();
        let mut stored = 0;
        let mut last_error = None;
        while let Some(group) = pending.pop() {
            match (self.update(git, &group), group.as_slice()) {
                (Ok(()), _) => stored += group.len(),
                (Err(error), [path]) => {
                    unstorable.push(Unstorable::new(git, path, &error));
                    last_error = Some(error);
                }
                (Err(_), _) => {
                    let (left, right) = group.split_at(group.len() / 2);
                    pending.push(right.to_vec());
                    pending.push(left.to_vec());
                }
            }
        }
        match last_error {
            // Not one path could be stored: that is no odd file but a disk or a store in trouble, unless
            // git says that the content is what it cannot store.
            Some(error) if stored == 0 && !error.is_about_content() => Err(error.into()),
            _ => Ok(unstorable),
        }
    }
}

/// The entries that git compares when it writes the index, as lines that set them to not compared.
/// None without any, or where the index cannot be read.
fn uncompared(git: &Git, format: ObjectFormat) -> Option<Vec<u8>> {
    let index = git.index()?;
    let written = fs::metadata(index).ok()?.mtime();
    let mut entries = list(&fs::read(index).ok()?, format).ok()?;
    // What else an entry says would be lost.
    entries.retain(|it| it.flags.is_plain() && !it.staged.stat.is_before(written));
    let line = |it: &crate::git::index::Listed| {
        let staged = &it.staged;
        let start = format!("{:o} {} 0\t", staged.mode, staged.id);
        [start.as_bytes(), &it.path, &[0]].concat()
    };
    (!entries.is_empty()).then(|| entries.iter().flat_map(line).collect())
}

/// True where a folder above the path is a symbolic link now.
fn is_behind_link(top: &Path, path: &[u8]) -> bool {
    ancestors(path).any(|folder| {
        let metadata = fs::symlink_metadata(absolute(top, folder));
        metadata.is_ok_and(|metadata| metadata.is_symlink())
    })
}

fn is_disk_full(stderr: &str) -> bool {
    stderr.contains("No space left on device") || stderr.contains("Disk quota exceeded")
}
