//! One walk of the work tree against what a manifest says: the paths that are new, gone, or may
//! have changed.
//!
//! Knows nothing of git but the name `.git`; whether a folder is worth entering is asked of the
//! caller. No link is ever followed.

#[cfg(test)]
mod tests;
mod worker;

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::io::Errno;
use worker::Worker;

use super::manifest::{Found, Manifest, Suspects};
use super::scanned::{Known, any_below, below, under_any};
use crate::paths::absolute;
use crate::tree::lock;
use ralph_base::files::FileError;
use ralph_base::os::processors;

/// More threads than this only wait for the same folders.
const MOST_THREADS: usize = 4;

/// What a walk found.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    pub began_ns: i64,
    /// What differs from the manifest, each in the order of paths.
    pub suspects: Suspects,
    /// Folders below the top that hold a `.git`.
    pub repositories: Vec<Vec<u8>>,
    /// Folders that were not entered because the caller said so.
    pub skipped: Vec<Vec<u8>>,
    /// Folders that could not be read.
    pub unreadable: Vec<Vec<u8>>,
}

impl Walk {
    /// Adds what another walk found elsewhere.
    pub(crate) fn extend(&mut self, other: Self) {
        self.suspects.created.extend(other.suspects.created);
        self.suspects.touched.extend(other.suspects.touched);
        self.suspects.gone.extend(other.suspects.gone);
        self.repositories.extend(other.repositories);
        self.skipped.extend(other.skipped);
        self.unreadable.extend(other.unreadable);
    }

    /// Puts everything in the order of paths. A folder that changes while it is read may name
    /// something twice.
    pub(crate) fn sort(&mut self) {
        for found in [&mut self.suspects.created, &mut self.suspects.touched] {
            found.sort_by(|a, b| a.path.cmp(&b.path));
            found.dedup_by(|a, b| a.path == b.path);
        }
        for paths in [
            &mut self.suspects.gone,
            &mut self.repositories,
            &mut self.skipped,
            &mut self.unreadable,
        ] {
            paths.sort();
            paths.dedup();
        }
    }

    /// Submodules, and folders with a repository of their own that holds nothing tracked.
    pub(crate) fn nested_repositories(&self, base: &Manifest, known: &Known) -> Vec<Vec<u8>> {
        let holds_visible = |folder: &[u8]| {
            any_below(known.tracked(), folder)
                || below(&base.entries, folder).any(|(_, entry)| entry.is_visible())
        };
        let others = self.repositories.iter().filter(|it| !holds_visible(it));
        known.submodules.iter().chain(others).cloned().collect()
    }
}

/// What is walked, and against what.
#[derive(Clone, Copy)]
pub(crate) struct WalkRoot<'a> {
    /// The folder on disk.
    pub folder: &'a Path,
    /// What the manifest calls it. Empty for the top of the tree, whose own `.git` is passed over.
    pub name: &'a [u8],
    /// What was there before.
    pub base: &'a Manifest,
    /// Whether a folder, named and on disk, is worth entering.
    pub enter: &'a (dyn Fn(&[u8], &Path) -> bool + Sync),
}

impl WalkRoot<'_> {
    /// A path of the manifest as it is called below the folder on disk.
    fn below<'p>(&self, path: &'p [u8]) -> &'p [u8] {
        let rest = path.strip_prefix(self.name).unwrap_or(path);
        rest.strip_prefix(b"/").unwrap_or(rest)
    }

    fn full(&self, path: &[u8]) -> PathBuf {
        absolute(self.folder, self.below(path))
    }
}

/// Walks a folder of the root and everything below it, with several threads where there is much of it.
pub(crate) fn walk(root: WalkRoot, start: &[u8]) -> Result<Walk, FileError> {
    let waiting = Mutex::default();
    let mut worker = Worker::open(root, &waiting)?;
    worker.begin(start)?;
    let helpers = match lock(&waiting).len() {
        0 => 0,
        _ => processors().min(MOST_THREADS) - 1,
    };
    let parts = std::thread::scope(|scope| {
        let helpers: Vec<_> = (0..helpers)
            .map(|_| scope.spawn(|| Worker::open(root, &waiting)?.work()))
            .collect();
        let mut parts = vec![worker.work()];
        for helper in helpers {
            let died = || io::Error::other("a thread of the walk died");
            let died = |_| Err(FileError::new("list", root.folder, died()));
            parts.push(helper.join().unwrap_or_else(died));
        }
        parts
    });
    let mut whole = Walk::default();
    let mut seen = HashSet::new();
    for part in parts {
        let (part, seen_there) = part?;
        whole.extend(part);
        seen.extend(seen_there);
    }
    let known = below(&root.base.entries, start).map(|(path, _)| path);
    let gone = known.filter(|path| {
        !seen.contains(path.as_slice())
            && !under_any(path, &whole.skipped)
            && !under_any(path, &whole.unreadable)
    });
    whole.suspects.gone = gone.cloned().collect();
    if !start.is_empty() {
        root.base
            .suspect(start, stat(start, &root.full(start))?, &mut whole.suspects);
    }
    whole.sort();
    Ok(whole)
}

/// The stat fields of one path now; none where nothing is there.
pub(crate) fn stat_path(top: &Path, path: &[u8]) -> Result<Option<Found>, FileError> {
    stat(path, &absolute(top, path))
}

fn stat(path: &[u8], full: &Path) -> Result<Option<Found>, FileError> {
    match rustix::fs::lstat(full) {
        Ok(stat) => Ok(Some(worker::found(path.to_vec(), &stat))),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(FileError::new("look at", full, error.into())),
    }
}
