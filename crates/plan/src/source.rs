//! Where changes come from: finds and reads them, and writes ticked boxes back.
//!
//! What the files mean is `domain`'s business; here is only where they are and how they are
//! replaced. Everything blocks: call it from a blocking task.

mod config;
mod error;
mod feature;
mod files;
mod found;
mod list;
mod lookup;
mod outside;
mod plain;
mod project;
mod read;
mod root;
mod schema;
mod target;
mod yaml;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::boxes::{BoxEdit, StoryCheck, apply, check, opened};
use crate::change::{Change, SourceKind, TaskFile};
use ralph_base::ids::StoryId;

use found::Found;
use project::Project;

pub use error::SourceError;
pub use list::Survey;
pub use outside::{keep_outside, keep_outside_again, put_back_outside};
pub use root::{Root, Surroundings, find_root};

/// Lists all plans there are to run, the most recently touched first.
pub fn survey(around: &Surroundings) -> Result<Survey, SourceError> {
    list::survey(around)
}

/// The name of the feature spec-kit is at, where it says so.
pub fn current_feature(around: &Surroundings) -> Result<Option<String>, SourceError> {
    found::current_feature(around)
}

/// Reads one change of a root by its name.
pub fn read_change(root: &Root, name: &str, around: &Surroundings) -> Result<Change, SourceError> {
    let folder = lookup::find(root, name)?;
    read::read_folder(name, &folder, &Project::read(root, around)?)
}

/// Reads what a user named: a plan by its name, its folder, or its file.
pub fn read_target(target: &str, around: &Surroundings) -> Result<Change, SourceError> {
    target::read(target, around)
}

/// The name of what a user named, even where it cannot be read just now.
pub fn name_of(target: &str, around: &Surroundings) -> String {
    target::name_of(target, around)
}

/// Reads a change again, from where it was read before.
pub fn read_again(change: &Change, around: &Surroundings) -> Result<Change, SourceError> {
    match (change.source, change.task_files.first()) {
        (SourceKind::OpenSpec, _) => {
            read_change(&Root::at(change.root.clone()), &change.name, around)
        }
        (_, Some(file)) => read_file(&file.path),
        (source, None) => feature::read(&change.root, source),
    }
}

/// Where a change can be read from again: its file, or the folder `OpenSpec`'s plans belong to.
/// None where no text can say it.
pub fn place_of(change: &Change) -> Option<String> {
    let path = match (change.source, change.task_files.first()) {
        (SourceKind::OpenSpec, _) => &change.root,
        (_, file) => file?.path.as_path(),
    };
    path.to_str().map(str::to_owned)
}

/// The folder with the task files of a change that was read from the place [`place_of`] says.
pub fn folder_of_plan(place: &Path, name: &str) -> PathBuf {
    if place.is_dir() {
        return place.join("openspec/changes").join(name);
    }
    place.parent().unwrap_or(place).to_owned()
}

/// Reads a change by its name from the place [`place_of`] says.
pub fn read_from(place: &Path, name: &str, around: &Surroundings) -> Result<Change, SourceError> {
    if place.is_dir() {
        return read_change(&Root::at(place.to_owned()), name, around);
    }
    read_file(place)
}

/// Reads a plan by the file with its tasks.
fn read_file(path: &Path) -> Result<Change, SourceError> {
    Found::in_file(path).read()
}

/// Reads the task files again and says what an attempt at a story did to the boxes.
pub fn check_story(before: &Change, story: &StoryId) -> Result<StoryCheck, SourceError> {
    let after = before
        .task_files
        .iter()
        .map(|file| {
            Ok(TaskFile {
                path: file.path.clone(),
                label: file.label.clone(),
                // A file the attempt removed or spoiled has no boxes: its tasks are missing.
                bytes: files::read_unless_spoiled(&file.path)?.unwrap_or_default(),
            })
        })
        .collect::<Result<Vec<_>, SourceError>>()?;
    Ok(check(before, &after, story))
}

/// Puts back the boxes of other stories that an attempt changed; returns their tasks.
pub fn put_back_foreign(check: &StoryCheck) -> Result<Vec<String>, SourceError> {
    let edits: Vec<&BoxEdit> = check.foreign.iter().map(|foreign| &foreign.edit).collect();
    write_edits(&edits)?;
    Ok(check
        .foreign
        .iter()
        .map(|foreign| foreign.task.clone())
        .collect())
}

/// Ticks what an attempt left open in its story; returns the tasks ticked.
pub fn tick_story(before: &Change, story: &StoryId) -> Result<Vec<String>, SourceError> {
    let check = check_story(before, story)?;
    let edits: Vec<&BoxEdit> = check.ticks.iter().collect();
    write_edits(&edits)?;
    Ok(check.still_open)
}

/// Opens every box of a story that is ticked.
pub fn open_story(change: &Change, story: &StoryId) -> Result<(), SourceError> {
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
