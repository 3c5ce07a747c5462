//! One walk of the work tree against what a manifest says: the paths that are new, gone, or may
//! have changed.
//!
//! Knows nothing of git but the name `.git`; whether a folder is worth entering is asked of the
//! caller. No link is ever followed.
//!
//! | file | part |
//! | --- | --- |
//! | `listing` | one folder: its names with the stat fields that tell whether they changed |
//! | `worker` | one thread: folders in the order of paths, beside the manifest |
//! | `queue` | folders that any thread may take |

mod listing;
mod queue;
#[cfg(test)]
mod tests;
mod worker;

use std::io;
use std::path::{Path, PathBuf};

use queue::Queue;
use rustix::io::Errno;
use worker::Worker;

use super::manifest::{Manifest, Suspects};
use crate::paths::absolute;
use crate::tree::manifest::Found;
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
    /// Folders that were not entered because `enter` refused them.
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

    /// Puts everything in the order of paths.
    pub(crate) fn sort(&mut self) {
        for found in [&mut self.suspects.created, &mut self.suspects.touched] {
            found.sort_by(|a, b| a.path.cmp(&b.path));
        }
        self.suspects.gone.sort();
        self.repositories.sort();
        self.skipped.sort();
        self.unreadable.sort();
    }
}

/// What is walked, and against what.
#[derive(Clone, Copy)]
pub(crate) struct WalkRoot<'a> {
    /// The folder on disk.
    pub folder: &'a Path,
    /// What the manifest calls it. Empty for the top of the tree, whose own `.git` is skipped.
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

/// Walks everything below a folder of the root, with several threads where there is much of it.
pub(crate) fn walk(root: WalkRoot, start: &[u8]) -> Result<Walk, FileError> {
    let queue = Queue::default();
    let mut worker = Worker::open(root, &queue)?;
    let mut whole = worker.begin(start)?;
    let threads = processors();
    if queue.has_work() {
        let parts = std::thread::scope(|scope| {
            let helpers: Vec<_> = (1..threads.min(MOST_THREADS))
                .map(|_| scope.spawn(|| Worker::open(root, &queue)?.help()))
                .collect();
            let mut parts = vec![worker.help()];
            for helper in helpers {
                let died = || io::Error::other("a thread of the walk died");
                let died = |_| Err(FileError::new("list", root.folder, died()));
                parts.push(helper.join().unwrap_or_else(died));
            }
            parts
        });
        for part in parts {
            whole.extend(part?);
        }
    }
    whole.sort();
    Ok(whole)
}

/// The stat fields of one path now; none where nothing is there.
pub(crate) fn stat_path(top: &Path, path: &[u8]) -> Result<Option<Found>, FileError> {
    let full = absolute(top, path);
    match rustix::fs::lstat(&full) {
        Ok(stat) => Ok(Some(Found {
            path: path.to_vec(),
            kind: listing::kind(&stat),
            stat: listing::fields(&stat),
        })),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(FileError::new("look at", &full, error.into())),
    }
}
