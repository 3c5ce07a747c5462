//! Stories and tasks without anything in them.

use super::{Finding, Place};
use crate::change::{Change, SourceKind, Story, StoryState, TaskFile};
use crate::label::label;
use crate::outline::{Heading, Outline};
use crate::task_id;
use crate::tasks::{Task, TaskKind, TaskState};

pub(super) const NO_TASK: (&str, &str) = (
    "no_open_task",
    "a run skips a story, or does not see it as one, because it has no task that is open",
);
pub(super) const NO_TEXT: (&str, &str) = ("empty_task", "a box has no text");
pub(super) const NO_TITLE: (&str, &str) = ("empty_title", "a story has a number, but no title");

pub(super) fn find(change: &Change) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_known = change
        .warnings
        .iter()
        .any(|warning| warning.code == "no_task_file");
    if change.stories.is_empty() && !is_known {
        let message = "there are no tasks";
        findings.push(Finding::new(NO_TASK.0, message).hint(change.source.example()));
    }
    for story in &change.stories {
        findings.extend(skipped(change, story));
        findings.extend(untitled(change, story));
        let blank = story.tasks.iter().filter(|task| is_blank(task));
        findings.extend(blank.map(|task| {
            let message = "the box has no text: an agent cannot know what is to be done";
            Finding::new(NO_TEXT.0, message).in_task(change, story, task)
        }));
    }
    if change.source != SourceKind::PrdJson {
        let files = change.task_files.iter();
        findings.extend(files.flat_map(|file| unboxed(change, file)));
    }
    findings
}

fn is_blank(task: &Task) -> bool {
    task.kind == TaskKind::Textless && task.state == TaskState::Open
}

/// A story that is deferred as a whole. One that is optional is meant to be.
fn skipped(change: &Change, story: &Story) -> Option<Finding> {
    let is_marked = |task: &Task| task.kind == TaskKind::Work && task.state == TaskState::Deferred;
    let is_skipped = story.state == StoryState::Deferred && !story.is_done();
    (is_skipped && story.tasks.iter().any(is_marked)).then(|| {
        let message = "the story is skipped: none of its tasks is open";
        let hint = "`[ ]` opens a task that a run should do";
        Finding::new(NO_TASK.0, message)
            .hint(hint)
            .in_story(change, story)
    })
}

fn untitled(change: &Change, story: &Story) -> Option<Finding> {
    let heading = story.section.trim_start().lines().next()?;
    let title = heading.strip_prefix('#')?.trim_start_matches('#');
    let is_empty = !title.contains(char::is_alphabetic);
    is_empty.then(|| {
        let message = "the story has no title: the log and its commit show only a number";
        Finding::new(NO_TITLE.0, message).in_story(change, story)
    })
}

/// Sections that are numbered as the stories are, and list their tasks without boxes: `- 3.1 Test it`.
fn unboxed(change: &Change, file: &TaskFile) -> Vec<Finding> {
    let outline = Outline::of(&file.bytes);
    let is_story = |heading: &&Heading| {
        change
            .stories
            .iter()
            .any(|story| story.line == heading.line + 1)
    };
    let Some(level) = outline
        .headings
        .iter()
        .find(is_story)
        .map(|heading| heading.level)
    else {
        return Vec::new();
    };
    let sections = outline
        .headings
        .iter()
        .filter(|it| it.level == level && !is_story(it));
    let unboxed = sections.filter(|heading| {
        let mut after = outline
            .headings
            .iter()
            .skip_while(|it| it.line <= heading.line);
        let end = after
            .find(|it| it.level <= level)
            .map_or(outline.lines(), |it| it.line);
        let text = outline.text(&file.bytes, heading.line + 1..end);
        label(&heading.title)
            .number
            .is_some_and(|number| has_task_of(&text, &number))
    });
    let findings = unboxed.map(|heading| {
        let message = format!(
            "`{}` lists tasks without boxes: it is not a story, and runs ignore it",
            heading.title
        );
        Finding {
            place: Some(Place::new(&file.path, heading.line + 1)),
            ..Finding::new(NO_TASK.0, message).hint("write `- [ ]` before each task")
        }
    });
    findings.collect()
}

/// Whether an item of a list has a number below this one.
fn has_task_of(section: &str, number: &str) -> bool {
    let items = section
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix(['-', '*', '+']));
    let mut ids = items.filter_map(|item| task_id::split(item.trim()).0);
    ids.any(|id| {
        id.strip_prefix(number)
            .is_some_and(|rest| rest.starts_with('.'))
    })
}
