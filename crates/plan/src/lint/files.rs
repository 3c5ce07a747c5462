//! Files that a task changes, and that do not exist.

use super::open_tasks::OpenTask;
use super::paths::{Named, is_file_name, named, tokens};
use super::project_files::ends_with;
use super::words::is_word_of;
use super::{Exists, Finding};
use crate::change::Change;
use crate::tasks::TaskState;

pub(super) const CODE: (&str, &str) = (
    "missing_file",
    "a task changes or reads a file that does not exist, and nothing in the plan creates it",
);

/// What is done to a file that is there.
const CHANGES: &str = "\
    adjust audit change clean correct delete deprecate drop edit existing expand extend fix \
    follow import inspect migrate mirror modify open patch read refactor register remove replace \
    retire reuse review rewire rewrite see simplify strip trim tweak update use wrap";

/// Where these stand, the file may be new even if it is said to be changed.
const MAKES: &str = "\
    create created creates creating exist exists e.g example extract generate generated \
    generates if missing move moved new optional rename renamed scaffold split stub";

/// Where these stand, the task may put something into a new file.
const PUTS: &str = "\
    add added adding adds build capture commit copy define document draft emit expose implement \
    implements initialize install introduce output place port produce publish record save setup \
    vendor write writes";

/// What stands before the file in which something is changed.
const PLACES: &str = "at from in inside of within";

pub(super) fn find(change: &Change, tasks: &[OpenTask<'_>], exists: Exists<'_>) -> Vec<Finding> {
    let missing = tasks.iter().flat_map(|open| {
        let named = expected_files(&open.text).into_iter();
        let unknown = named.filter(|path| !path.starts_with("openspec/") && !exists(path));
        let missing = unknown.filter(|path| !is_made(change, open, path));
        missing
            .map(|path| finding(change, open, path))
            .collect::<Vec<_>>()
    });
    missing.collect()
}

fn finding(change: &Change, open: &OpenTask<'_>, path: &str) -> Finding {
    let message = format!("`{path}` does not exist");
    let hint = "correct the path, or say which task creates it";
    let finding = Finding::new(CODE.0, message).hint(hint);
    finding.in_task(change, open.story, open.task)
}

/// The files that a task takes to be there, each once.
fn expected_files(text: &str) -> Vec<&str> {
    let tokens = tokens(text);
    let says = |list: &str| {
        tokens
            .iter()
            .any(|token| token.word().is_some_and(|word| is_word_of(word, list)))
    };
    // Words of other languages are not in the lists.
    if tokens.iter().filter_map(Named::word).any(is_foreign) || says(MAKES) {
        return Vec::new();
    }
    let is_changed = says(CHANGES) && !says(PUTS);
    let mut found: Vec<&str> = Vec::new();
    let mut was_expected = false;
    for (index, token) in tokens.iter().enumerate() {
        let Some(path) = token.file() else {
            // In `a.rs`, `b.rs` and `c.rs`, what holds for the first holds for all.
            was_expected &= token.word() == Some("and");
            continue;
        };
        let before = index.checked_sub(1).and_then(|index| tokens[index].word());
        let after = tokens.get(index + 1).and_then(Named::word);
        let is_before = |list: &str| before.is_some_and(|word| is_word_of(word, list));
        let is_object = is_before(CHANGES) || (index == 1 && is_before("in"));
        let is_place = is_changed && is_before(PLACES);
        let has_choice = is_before("or") || after == Some("or");
        was_expected = (is_object || is_place || was_expected) && !has_choice;
        if was_expected && !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

fn is_foreign(word: &str) -> bool {
    word.contains(|c: char| c.is_alphabetic() && !c.is_ascii())
}

/// Whether a line of this story, or of one before it, creates the file, or a task that is done was
/// about it and may have removed it.
fn is_made(change: &Change, open: &OpenTask<'_>, path: &str) -> bool {
    let names = |text: &str| named(text).any(|name| is_same(name, path));
    let last = change
        .stories
        .iter()
        .position(|story| story.id == open.story.id);
    let so_far = change.stories.iter().take(last.map_or(0, |last| last + 1));
    let mut lines = so_far.flat_map(|story| story.section.lines());
    let mut tasks = change.stories.iter().flat_map(|story| &story.tasks);
    let makes = |line: &str| {
        let tokens = tokens(line);
        let mut words = tokens.iter().filter_map(Named::word);
        words.any(|word| is_foreign(word) || is_word_of(word, MAKES) || is_word_of(word, PUTS))
    };
    lines.any(|line| !line.contains(&open.task.raw) && names(line) && makes(line))
        || tasks.any(|other| other.state == TaskState::Done && names(&other.text))
}

/// Whether two paths may be one file, or the first is a folder that has the second.
fn is_same(named: &str, path: &str) -> bool {
    let inner = format!("/{named}/");
    let is_folder_of = path.starts_with(&inner[1..]) || path.contains(&inner);
    is_folder_of || (is_file_name(named) && (ends_with(path, named) || ends_with(named, path)))
}
