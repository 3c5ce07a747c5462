//! Where changes come from: finds and reads them, and writes ticked boxes back.
//!
//! What the files mean is `domain`'s business; here is only where they are and how they are
//! replaced. Everything blocks: call it from a blocking task.

mod config;
mod error;
mod files;
mod list;
mod lookup;
mod outside;
mod read;
mod root;
mod schema;
mod yaml;

use std::collections::BTreeMap;
use std::path::Path;

use crate::domain::boxes::{BoxEdit, StoryCheck, apply, check, opened};
use crate::domain::change::{Change, SourceKind, TaskFile};
use crate::domain::ids::StoryId;
use crate::domain::summary::ChangeSummary;

pub(crate) use error::SourceError;
pub(crate) use outside::{keep_outside, keep_outside_again, put_back_outside};
pub(crate) use root::{Root, Surroundings, find_root};

/// Lists the changes of a root, the most recently touched first.
pub(crate) fn list_changes(
    root: &Root,
    around: &Surroundings,
) -> Result<Vec<ChangeSummary>, SourceError> {
    list::list(root, around)
}

/// Reads one change of a root by its name.
pub(crate) fn read_change(
    root: &Root,
    name: &str,
    around: &Surroundings,
) -> Result<Change, SourceError> {
    let folder = lookup::find(root, name)?;
    read::read_folder(name, &folder, root, around)
}

/// Reads one markdown file with boxes as a change.
pub(crate) fn read_checklist(path: &Path) -> Result<Change, SourceError> {
    read::read_checklist(path)
}

/// Reads what a user named: a change, the folder of one, or a checklist file.
pub(crate) fn read_target(target: &str, around: &Surroundings) -> Result<Change, SourceError> {
    let path = around.folder.join(target);
    let is_path = target.contains('/') || path.extension().is_some_and(|end| end == "md");
    if !is_path {
        return read_change(&find_root(around)?, target, around);
    }
    let name = path.file_name().and_then(|name| name.to_str());
    match name.filter(|_| path.is_dir()) {
        // The folder of a change, as a shell completes it.
        Some(name) => {
            let inside = Surroundings {
                folder: path.clone(),
                ..around.clone()
            };
            read_change(&find_root(&inside)?, name, around)
        }
        None => read_checklist(&path),
    }
}

/// Reads a change again, from where it was read before.
pub(crate) fn read_again(change: &Change, around: &Surroundings) -> Result<Change, SourceError> {
    match (change.source, change.task_files.first()) {
        (SourceKind::Checklist, Some(file)) => read_checklist(&file.path),
        _ => read_change(&Root::at(change.root.clone()), &change.name, around),
    }
}

/// Where a change can be read from again: a checklist's file, or the folder its plans belong to.
/// None where no text can say it.
pub(crate) fn place_of(change: &Change) -> Option<String> {
    let path = match (change.source, change.task_files.first()) {
        (SourceKind::Checklist, file) => file?.path.as_path(),
        (SourceKind::OpenSpec, _) => &change.root,
    };
    path.to_str().map(str::to_owned)
}

/// Reads a change by its name from the place [`place_of`] says.
pub(crate) fn read_from(
    place: &Path,
    name: &str,
    around: &Surroundings,
) -> Result<Change, SourceError> {
    if place.is_dir() {
        return read_change(&Root::at(place.to_owned()), name, around);
    }
    read_checklist(place)
}

/// Reads the task files again and says what an attempt at a story did to the boxes.
pub(crate) fn check_story(before: &Change, story: &StoryId) -> Result<StoryCheck, SourceError> {
    let after = before
        .task_files
        .iter()
        .map(|file| {
            Ok(TaskFile {
                path: file.path.clone(),
                label: file.label.clone(),
                // A file that is gone has no boxes: its tasks are missing.
                bytes: files::read_if_there(&file.path)?.unwrap_or_default(),
            })
        })
        .collect::<Result<Vec<_>, SourceError>>()?;
    Ok(check(before, &after, story))
}

/// Puts back the boxes of other stories that an attempt changed; returns their tasks.
pub(crate) fn put_back_foreign(check: &StoryCheck) -> Result<Vec<String>, SourceError> {
    let edits: Vec<&BoxEdit> = check.foreign.iter().map(|foreign| &foreign.edit).collect();
    write_edits(&edits)?;
    Ok(check
        .foreign
        .iter()
        .map(|foreign| foreign.task.clone())
        .collect())
}

/// Ticks what an attempt left open in its story; returns the tasks ticked.
pub(crate) fn tick_story(before: &Change, story: &StoryId) -> Result<Vec<String>, SourceError> {
    let check = check_story(before, story)?;
    let edits: Vec<&BoxEdit> = check.ticks.iter().collect();
    write_edits(&edits)?;
    Ok(check.still_open)
}

/// Opens every box of a story that is ticked.
pub(crate) fn open_story(change: &Change, story: &StoryId) -> Result<(), SourceError> {
    let edits = opened(change, story);
    let edits: Vec<&BoxEdit> = edits.iter().collect();
    write_edits(&edits)
}

fn write_edits(edits: &[&BoxEdit]) -> Result<(), SourceError> {
    let mut by_path: BTreeMap<&Path, Vec<&BoxEdit>> = BTreeMap::new();
    for edit in edits {
        by_path.entry(&edit.path).or_default().push(edit);
    }
    for (path, edits) in by_path {
        let bytes = files::read(path)?;
        let edited = apply(&bytes, &edits);
        if edited != bytes {
            files::replace(path, &edited)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod corpus_tests;
#[cfg(test)]
mod tests;
