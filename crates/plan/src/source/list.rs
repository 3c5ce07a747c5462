//! The list of plans: progress, age, and which of them can be run.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::{self, ScopedJoinHandle};

use jiff::Timestamp;

use crate::change::{Change, SourceKind, Tally, Warning};
use crate::summary::{ChangeState, ChangeSummary};
use crate::tasks::{TaskState, read_tasks};
use ralph_base::os::processors;

use super::error::SourceError;
use super::found::{self, Found};
use super::project::Project;
use super::root::{Root, Surroundings, find_root};
use super::{files, lookup, read, schema};

/// How many changes are worth a thread of their own.
const SMALLEST_SHARE: usize = 32;

/// All there is to run.
#[derive(Debug)]
pub struct Survey {
    /// Where it was looked for.
    pub folder: PathBuf,
    /// What was found, the most recently touched first.
    pub changes: Vec<ChangeSummary>,
    /// What the user should know.
    pub warnings: Vec<Warning>,
}

/// Sums up every plan; an error where there is no place for any.
pub(super) fn survey(around: &Surroundings) -> Result<Survey, SourceError> {
    let others = found::find(&around.folder)?;
    let start = fs::canonicalize(&around.folder).map_err(files::unreadable(&around.folder))?;
    let mut changes: Vec<ChangeSummary> = others.iter().map(|it| other(it, &start)).collect();
    let (folder, warnings) = match find_root(around) {
        Ok(root) => {
            changes.extend(openspec(&root, around, &start)?);
            let folder = if others.is_empty() {
                root.changes()
            } else {
                start
            };
            (folder, root.warnings)
        }
        Err(SourceError::NoRoot { .. }) if !others.is_empty() => (start, Vec::new()),
        Err(error) => return Err(error),
    };
    changes.sort_unstable_by(|a, b| {
        (Reverse(a.modified), &a.name, &a.path).cmp(&(Reverse(b.modified), &b.name, &b.path))
    });
    Ok(Survey {
        folder,
        changes,
        warnings,
    })
}

/// A path as people say it from a folder.
pub(super) fn said_from(start: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(start).unwrap_or(path).to_owned()
}

/// Sums up the changes of a root, a share of them on each core.
fn openspec(
    root: &Root,
    around: &Surroundings,
    start: &Path,
) -> Result<Vec<ChangeSummary>, SourceError> {
    let names = lookup::names(root)?;
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let folder = root.changes();
    // Folders are never links here, so that this makes all of their paths whole.
    let whole = fs::canonicalize(&folder).map_err(files::unreadable(&folder))?;
    let project = Project::read(root, around)?;
    let sum_up = |name: &String| {
        let place = whole.join(name);
        let read =
            lookup::check(name, &place).and_then(|()| read::read_progress(name, &place, &project));
        let found = Found {
            kind: SourceKind::OpenSpec,
            name: name.clone(),
            path: folder.join(name),
        };
        summary(&found, read, start)
    };
    let cores = processors();
    let share = names.len().div_ceil(cores).max(SMALLEST_SHARE);
    let done: thread::Result<Vec<_>> = thread::scope(|scope| {
        let shares: Vec<_> = names
            .chunks(share)
            .map(|names| scope.spawn(|| names.iter().map(sum_up).collect::<Vec<_>>()))
            .collect();
        shares.into_iter().map(ScopedJoinHandle::join).collect()
    });
    match done {
        Ok(done) => Ok(done.into_iter().flatten().collect()),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn other(found: &Found, start: &Path) -> ChangeSummary {
    summary(found, found.read(), start)
}

fn summary(found: &Found, read: Result<Change, SourceError>, start: &Path) -> ChangeSummary {
    let (tasks, stories, state) = match read {
        Ok(change) => (
            change.task_tally(),
            change.story_tally(),
            ChangeState::of(&change),
        ),
        Err(error) => {
            let reason = whole_reason(&error);
            let state = ChangeState::Invalid { reason };
            (plain_tally(&found.path), Tally::default(), state)
        }
    };
    ChangeSummary {
        name: found.name.clone(),
        kind: found.kind,
        path: said_from(start, &found.path),
        tasks,
        stories,
        modified: last_modified(&found.path),
        state,
    }
}

/// Counts `tasks.md` even where the schema is not understood, as `OpenSpec`'s list does.
fn plain_tally(folder: &Path) -> Tally {
    let bytes = files::read(&folder.join("tasks.md")).unwrap_or_default();
    let tasks = read_tasks(&bytes);
    Tally {
        done: tasks
            .iter()
            .filter(|task| task.state == TaskState::Done)
            .count(),
        total: tasks.len(),
    }
}

fn whole_reason(error: &SourceError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// The newest file of the plan; the folder itself where there is none.
fn last_modified(place: &Path) -> Option<Timestamp> {
    let mut paths = Vec::new();
    // What cannot be looked into has no say in how old the change is.
    let _ = schema::walk(place, true, &mut paths);
    let times = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
    let newest = paths.iter().filter_map(|path| times(path)).max();
    let time = newest.or_else(|| times(place))?;
    Timestamp::try_from(time).ok()
}
