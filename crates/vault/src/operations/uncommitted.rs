//! Submodules in which an attempt left work that it did not commit there: a checkpoint holds the commit
//! of a submodule, so that such work is in no commit.

use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::git::object_id::ObjectId;
use crate::git::process::{Git, nul_separated};
use crate::paths::{absolute, normal, show};
use crate::repo::snapshot::Snapshot;
use crate::tree::manifest::Kind;
use crate::tree::scanned::{Scanned, under_any};
use crate::vault::Vault;
use ralph_base::files::{copy_with_time, read_line_file};
use ralph_base::sparse::is_mostly_holes;

impl Vault {
    /// Submodules with files that changed since the checkpoint and are not committed there.
    pub(crate) fn uncommitted_modules(&self, base: &Snapshot, scanned: &Scanned) -> Vec<String> {
        let modules = base.submodules.iter();
        let uncommitted = modules.filter(|module| {
            let changed = changed_files(module, base, scanned);
            // What git cannot read is not known to be uncommitted.
            !changed.is_empty()
                && self
                    .uncommitted_in(module)
                    .is_ok_and(|dirty| changed.iter().any(|path| under_any(path, &dirty)))
        });
        uncommitted.map(|module| show(module)).collect()
    }

    /// Paths in a submodule that differ from its commit; its configuration and hooks have no part in it.
    fn uncommitted_in(&self, module: &[u8]) -> Result<Vec<Vec<u8>>> {
        let repo = &self.repo;
        let place = absolute(&repo.places.repository.work_tree, module);
        let Some(git_dir) = git_dir_of(&place).filter(|folder| has_plain_files(folder)) else {
            return Ok(Vec::new());
        };
        let index = repo.places.vault.scratch("module-index");
        copy_with_time(&git_dir.join("index"), &index)?;
        let work = &repo.gits.work;
        let git = work
            .with_work_tree(&place)
            .with_objects(&git_dir.join("objects"), None)
            .with_index(&index);
        // It fails if a file needs an update; what the diff below lists is what counts.
        let _ = git.run(["update-index", "-q", "--refresh"]);
        let mut dirty = Vec::new();
        let mut list = |args: &[&str]| -> Result<()> {
            let output = git.run(args.iter().copied())?;
            dirty.extend(nul_separated(&output).map(<[u8]>::to_vec));
            Ok(())
        };
        if let Some(head) = head_of(&git_dir, work) {
            list(&["diff-index", "-z", "--name-only", &head.to_string()])?;
        }
        list(&["ls-files", "-z", "--others", "--exclude-standard"])?;
        Ok(dirty)
    }
}

/// Files in a submodule that differ from the checkpoint, as seen from there.
fn changed_files(module: &[u8], base: &Snapshot, scanned: &Scanned) -> Vec<Vec<u8>> {
    let is_folder = |path: &Vec<u8>| {
        let entries = [&scanned.manifest, &base.manifest].map(|it| it.entries.get(path));
        let entry = entries.into_iter().flatten().next();
        entry.is_some_and(|entry| entry.kind == Kind::Folder)
    };
    let prefix = [module, b"/"].concat();
    let changed = scanned.changes.paths().filter(|path| !is_folder(path));
    let inside = changed.filter_map(|path| path.strip_prefix(prefix.as_slice()));
    inside
        .filter(|path| *path != b".git")
        .map(<[u8]>::to_vec)
        .collect()
}

/// The git directory of a submodule that is checked out.
fn git_dir_of(place: &Path) -> Option<PathBuf> {
    let pointer = place.join(".git");
    if pointer.is_dir() {
        return Some(pointer);
    }
    let text = read_line_file(&pointer).ok()?;
    let folder = text.trim_ascii_end().strip_prefix(b"gitdir: ")?;
    Some(normal(&absolute(place, folder)))
}

/// False where git would wait for a pipe, or read all of one long hole: a save restores such files.
fn has_plain_files(git_dir: &Path) -> bool {
    let is_plain = |entry: fs::DirEntry| {
        let found = entry.metadata();
        found.is_ok_and(|it| !(it.file_type().is_fifo() || it.is_file() && is_mostly_holes(&it)))
    };
    let listing = fs::read_dir(git_dir).into_iter().flatten();
    listing.flatten().all(is_plain)
}

/// The commit of a submodule; none before its first one.
fn head_of(git_dir: &Path, like: &Git) -> Option<ObjectId> {
    let git = Git::on_bare(git_dir, like.timeout()).with_own_config();
    git.id(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
        .ok()
}
