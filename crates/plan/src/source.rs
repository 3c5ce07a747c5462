//! Where changes come from: finds and reads them, writes ticked boxes back, and writes new ones from
//! a template.
//!
//! Everything here blocks: async code calls it from a blocking task.

mod list;
mod outside;
mod target;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::boxes::{BoxEdit, StoryCheck};
use crate::change::{Change, SourceKind, Story, TaskFile};
use crate::files;
use crate::formats::{self, Found};
use ralph_base::ids::StoryId;

pub use crate::error::SourceError;
pub use crate::formats::openspec::template::{
    NewChange, check_new_name, create, has_template_task, similar_name, template_story,
};
pub use crate::formats::openspec::{Root, find_root, read_change};
pub use crate::formats::speckit::current_feature;
pub use crate::formats::{read_stories, tick_of};
pub use crate::surroundings::Surroundings;
pub use list::{Survey, survey};
pub use outside::{keep_outside, keep_outside_again, restore_outside};
pub use target::{name_of, read_target};

/// Reads a change again, from where it was read before.
pub fn read_again(change: &Change, around: &Surroundings) -> Result<Change, SourceError> {
    read_from(&place(change), &change.name, around)
}

/// Where a change can be read from again: its file, or the folder `OpenSpec`'s plans belong to.
/// None where no text can say it.
pub fn place_of(change: &Change) -> Option<String> {
    place(change).into_os_string().into_string().ok()
}

fn place(change: &Change) -> PathBuf {
    match (change.source, change.task_files.first()) {
        (SourceKind::OpenSpec, _) => change.root.clone(),
        (_, Some(file)) => file.path.clone(),
        // A folder that has documents, but no tasks yet.
        (_, None) => change.root.join(formats::TASKS),
    }
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
    Ok(formats::check(before, &task_files_now(before)?, story))
}

/// Reads the task files again and gives a story as it is there; none where it is gone.
pub fn read_story(before: &Change, story: &StoryId) -> Result<Option<Story>, SourceError> {
    let (stories, _) = read_stories(&task_files_now(before)?, before.source);
    Ok(stories.into_iter().find(|it| it.id == *story))
}

/// The task files of a change as they are now.
fn task_files_now(before: &Change) -> Result<Vec<TaskFile>, SourceError> {
    let files = before.task_files.iter().map(|file| {
        Ok(TaskFile {
            path: file.path.clone(),
            label: file.label.clone(),
            // A file the attempt removed or spoiled has no boxes: its tasks are missing.
            bytes: files::read_unless_spoiled(&file.path)?.unwrap_or_default(),
        })
    });
    files.collect()
}

/// Restores the boxes of other stories that an attempt changed; returns their tasks.
pub fn restore_foreign(check: &StoryCheck) -> Result<Vec<String>, SourceError> {
    write_edits(check.foreign.iter().map(|foreign| &foreign.edit))?;
    let tasks = check.foreign.iter().map(|foreign| foreign.task.clone());
    Ok(tasks.collect())
}

/// Ticks what an attempt left open in its story; returns the tasks ticked.
pub fn tick_story(before: &Change, story: &StoryId) -> Result<Vec<String>, SourceError> {
    let check = check_story(before, story)?;
    write_edits(&check.ticks)?;
    Ok(check.still_open)
}

/// Opens every box of a story that is ticked.
pub fn open_story(change: &Change, story: &StoryId) -> Result<(), SourceError> {
    write_edits(&formats::open(change, story))
}

fn write_edits<'a>(edits: impl IntoIterator<Item = &'a BoxEdit>) -> Result<(), SourceError> {
    let mut by_path: BTreeMap<&Path, Vec<&BoxEdit>> = BTreeMap::new();
    for edit in edits {
        by_path.entry(&edit.path).or_default().push(edit);
    }
    for (path, edits) in by_path {
        let bytes = files::read(path)?;
        let edited = formats::apply(&bytes, &edits);
        if edited != bytes {
            files::replace(path, &edited)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
