//! The list of plans: progress, age, and which of them can be run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::change::{Change, SourceKind, Tally, Warning};
use crate::dependencies::is_about_dependencies;
use crate::error::SourceError;
use crate::files;
use crate::formats::openspec::{Root, each_change, find_root};
use crate::formats::{self, Found};
use crate::summary::{ChangeState, ChangeSummary};
use crate::surroundings::Surroundings;
use crate::tasks::read_tasks;
use ralph_base::ids::StoryId;

/// All there is to run.
#[derive(Debug)]
pub struct Survey {
    /// Where the search began, or the folder of all changes.
    pub folder: PathBuf,
    /// What was found, the most recently touched first.
    pub changes: Vec<ChangeSummary>,
    /// What the user should know.
    pub warnings: Vec<Warning>,
}

/// Lists all plans there are to run, the most recently touched first.
pub fn survey(around: &Surroundings) -> Result<Survey, SourceError> {
    let others = formats::find(around)?;
    let start = around.start()?;
    let mut about_plans = Vec::new();
    let mut changes = Vec::new();
    for found in &others {
        let read = found.read();
        about_plans.extend(read.iter().flat_map(about_dependencies));
        changes.push(summary(found, read, &start));
    }
    let (folder, mut warnings) = match find_root(around) {
        Ok(root) => {
            changes.extend(openspec(&root, around, &start)?);
            let folder = if others.is_empty() {
                root.changes()
            } else {
                start
            };
            (folder, root.warnings)
        }
        Err(SourceError::NoRoot { .. }) => (start, Vec::new()),
        Err(error) => return Err(error),
    };
    changes.sort_by_cached_key(|it| {
        (
            Reverse(it.modified),
            it.name.clone(),
            PathBuf::from(&it.path),
        )
    });
    name_targets(&mut changes);
    warnings.append(&mut about_plans);
    Ok(Survey {
        folder,
        changes,
        warnings,
    })
}

/// Dependencies of a plan that cannot hold, with its name.
fn about_dependencies(change: &Change) -> Vec<Warning> {
    let warnings = change
        .warnings
        .iter()
        .filter(|it| is_about_dependencies(it));
    warnings
        .map(|it| Warning::new(it.code, format!("`{}`: {}", change.name, it.message)))
        .collect()
}

/// Sums up the changes of a root.
fn openspec(
    root: &Root,
    around: &Surroundings,
    start: &Path,
) -> Result<Vec<ChangeSummary>, SourceError> {
    let folder = root.changes();
    each_change(root, around, |name, read| {
        let found = Found {
            kind: SourceKind::OpenSpec,
            name: name.to_owned(),
            path: folder.join(name),
        };
        summary(&found, read, start)
    })
}

fn summary(found: &Found, read: Result<Change, SourceError>, start: &Path) -> ChangeSummary {
    let (tasks, stories, depends_on, state) = match read {
        Ok(change) => (
            change.task_tally(),
            change.story_tally(),
            known(&change),
            ChangeState::of(&change),
        ),
        Err(error) => {
            let reason = whole_reason(&error);
            let state = ChangeState::Unreadable { reason };
            (plain_tally(&found.path), Tally::default(), None, state)
        }
    };
    ChangeSummary {
        name: found.name.clone(),
        kind: found.kind,
        path: files::shown_from(start, &found.path).display().to_string(),
        target: found.name.clone(),
        stories_done: stories.done,
        stories_total: stories.total,
        tasks_done: tasks.done,
        tasks_total: tasks.total,
        depends_on,
        modified: last_modified(&found.path),
        state,
    }
}

/// What the plan says of each story's dependencies; none where it says nothing of any.
fn known(change: &Change) -> Option<BTreeMap<StoryId, BTreeSet<StoryId>>> {
    let stories = change.stories.iter();
    let known: BTreeMap<_, _> = stories
        .filter_map(|it| Some((it.id.clone(), it.depends_on.known()?.clone())))
        .collect();
    (!known.is_empty()).then_some(known)
}

/// Changes that share a name are asked for by their paths.
fn name_targets(changes: &mut [ChangeSummary]) {
    let mut names: HashMap<String, usize> = HashMap::new();
    for change in changes.iter() {
        *names.entry(change.name.clone()).or_default() += 1;
    }
    for change in changes {
        if names.get(&change.name).is_some_and(|count| *count > 1) {
            change.target.clone_from(&change.path);
        }
    }
}

/// Counts `tasks.md` even where the schema is not understood, as `OpenSpec`'s list does.
fn plain_tally(folder: &Path) -> Tally {
    let bytes = files::read(&folder.join("tasks.md")).unwrap_or_default();
    Tally::of(&read_tasks(&bytes))
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
    // Folders that cannot be read do not count.
    let _ = files::walk(place, true, &mut paths);
    let times = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
    let newest = paths.iter().filter_map(|path| times(path)).max();
    let time = newest.or_else(|| times(place))?;
    Timestamp::try_from(time).ok()
}
