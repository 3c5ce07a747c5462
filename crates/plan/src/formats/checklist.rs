//! A checklist: one markdown file with boxes in it.

use std::path::{Path, PathBuf};

use super::single_file;
use super::spec_folder::TASKS;
use crate::change::{Change, SourceKind};
use crate::error::SourceError;
use crate::files;
use crate::label::label;
use crate::outline::Outline;
use crate::stories::{NumberedItems, Rules, read_markdown};
use crate::tasks::Task;

/// How its boxes are read.
pub(super) const RULES: Rules = Rules {
    adjust,
    numbered_items: NumberedItems::GroupTasks,
    ..Rules::PLAIN
};

/// Checklists that are made for loops.
const NAMES: [&str; 5] = [
    "fix_plan.md",
    "@fix_plan.md",
    ".ralph/fix_plan.md",
    "PRD.md",
    "IMPLEMENTATION_PLAN.md",
];

/// Files that belong to a `tasks.md` they are beside.
const COMPANIONS: [&str; 6] = [
    "requirements.md",
    "spec.md",
    "plan.md",
    "design.md",
    "research.md",
    "data-model.md",
];

/// Sections whose boxes need not be ticked.
const OPTIONAL_SECTIONS: [&str; 4] = ["optional", "future", "future enhancements", "nice to have"];

/// The checklists of a project. Prose with such a name is none; one that cannot be read is listed,
/// so that the user sees why.
pub(super) fn find(project: &Path) -> Vec<PathBuf> {
    let mut found = files::named_in(project, &NAMES);
    found.retain(|path| read(path).map_or(true, |change| !change.stories.is_empty()));
    found
}

/// Reads one markdown file as a change.
pub(super) fn read(path: &Path) -> Result<Change, SourceError> {
    let mut change = single_file::read(path, SourceKind::Checklist)?;
    (change.stories, change.warnings) = read_markdown(&change.task_files, &RULES);
    if change.task_files.iter().any(|file| file.label == TASKS) {
        let companions = files::named_in(&change.root, &COMPANIONS);
        let companions = companions.iter().map(|path| single_file::document(path));
        change.documents.splice(0..0, companions);
    }
    Ok(change)
}

fn adjust(tasks: &mut [Task], _: &[u8], outline: &Outline) {
    for task in tasks.iter_mut().filter(|task| task.is_work()) {
        if outline.around(task.line - 1).any(is_optional) {
            task.make_optional();
        }
    }
}

fn is_optional(heading: &str) -> bool {
    let title = label(heading).title;
    let title = title.trim_end_matches(':').trim();
    OPTIONAL_SECTIONS
        .iter()
        .any(|known| title.eq_ignore_ascii_case(known))
}
