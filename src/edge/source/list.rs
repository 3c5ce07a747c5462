//! The list of changes of a root: progress, age, and which of them can be run.

use std::cmp::Reverse;
use std::fs;
use std::path::Path;

use jiff::Timestamp;

use crate::domain::change::Tally;
use crate::domain::summary::{ChangeState, ChangeSummary};
use crate::domain::tasks::{TaskState, read_tasks};

use super::error::SourceError;
use super::root::{Root, Surroundings};
use super::{files, lookup, read, schema};

/// Sums up every change, the most recently touched first.
pub(super) fn list(root: &Root, around: &Surroundings) -> Result<Vec<ChangeSummary>, SourceError> {
    let mut found: Vec<ChangeSummary> = lookup::names(root)?
        .iter()
        .map(|name| summary(name, root, around))
        .collect();
    found.sort_by(|a, b| (Reverse(a.modified), &a.name).cmp(&(Reverse(b.modified), &b.name)));
    Ok(found)
}

fn summary(name: &str, root: &Root, around: &Surroundings) -> ChangeSummary {
    let folder = root.changes().join(name);
    let modified = last_modified(&folder);
    let read =
        lookup::find(root, name).and_then(|folder| read::read_folder(name, &folder, root, around));
    match read {
        Ok(change) => ChangeSummary {
            name: name.to_owned(),
            tasks: change.task_tally(),
            stories: change.story_tally(),
            modified,
            state: ChangeState::of(&change),
        },
        Err(error) => ChangeSummary {
            name: name.to_owned(),
            tasks: plain_tally(&folder),
            stories: Tally::default(),
            modified,
            state: ChangeState::Invalid {
                reason: whole_reason(&error),
            },
        },
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

/// The newest file of the change; the folder itself where there is none.
fn last_modified(folder: &Path) -> Option<Timestamp> {
    let mut paths = Vec::new();
    // What cannot be looked into has no say in how old the change is.
    let _ = schema::walk(folder, true, &mut paths);
    let times = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
    let newest = paths.iter().filter_map(|path| times(path)).max();
    let time = newest.or_else(|| times(folder))?;
    Timestamp::try_from(time).ok()
}
