//! `OpenSpec`: a change is a folder below `openspec/changes`, with files as its schema says.
//!
//! `root` finds the folder that has `openspec/`, `lookup` a change in it by its name, `project` what
//! all changes of a root share, and `read` reads one of them.

mod config;
mod delta;
mod lookup;
mod project;
mod read;
mod root;
mod schema;
pub(crate) mod template;
mod yaml;

use std::fs;
use std::path::Path;
use std::thread::{self, ScopedJoinHandle};

use crate::change::Change;
use crate::error::SourceError;
use crate::files::unreadable;
use crate::surroundings::Surroundings;
use project::Project;
use ralph_base::os::processors;

pub(crate) use lookup::is_there;
pub use root::{Root, find_root};

/// How many changes are worth a thread of their own.
const SMALLEST_SHARE: usize = 32;

/// Reads one change of a root by its name.
pub fn read_change(root: &Root, name: &str, around: &Surroundings) -> Result<Change, SourceError> {
    read_beside(root, name, Vec::new(), around)
}

/// The same, where the user may have meant plans of other formats with these names.
pub(crate) fn read_beside(
    root: &Root,
    name: &str,
    others: Vec<String>,
    around: &Surroundings,
) -> Result<Change, SourceError> {
    let folder = lookup::find(root, name, others)?;
    read::read_folder(name, &folder, &Project::read(root, around)?)
}

/// Reads how far every change of a root is, a share of them on each core.
pub(crate) fn each_change<T: Send>(
    root: &Root,
    around: &Surroundings,
    use_it: impl Fn(&str, Result<Change, SourceError>) -> T + Sync,
) -> Result<Vec<T>, SourceError> {
    let names = lookup::names(root)?;
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let folder = root.changes();
    // Folders are never links here, so that this makes all of their paths whole.
    let whole = fs::canonicalize(&folder).map_err(unreadable(&folder))?;
    let project = Project::read(root, around)?;
    let read_one = |name: &String| use_it(name, progress(name, &whole, &project));
    let share = names.len().div_ceil(processors()).max(SMALLEST_SHARE);
    let done: thread::Result<Vec<_>> = thread::scope(|scope| {
        let shares: Vec<_> = names
            .chunks(share)
            .map(|names| scope.spawn(|| names.iter().map(read_one).collect::<Vec<_>>()))
            .collect();
        shares.into_iter().map(ScopedJoinHandle::join).collect()
    });
    match done {
        Ok(done) => Ok(done.into_iter().flatten().collect()),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn progress(name: &str, changes: &Path, project: &Project<'_>) -> Result<Change, SourceError> {
    let folder = changes.join(name);
    lookup::check(name, &folder)?;
    let (change, _) = read::read_progress(name, &folder, project)?;
    Ok(change)
}

#[cfg(test)]
mod corpus_tests;
