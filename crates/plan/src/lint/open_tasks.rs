//! The tasks that a run would still work on, with all that is written below each.

use super::open_stories;
use crate::change::{Change, SourceKind, Story};
use crate::outline::Outline;
use crate::tasks::Task;

/// A task that is to be done.
pub(super) struct OpenTask<'a> {
    pub(super) story: &'a Story,
    pub(super) task: &'a Task,
    /// Its text, with the lines that belong to it.
    pub(super) text: String,
    /// No other task is nested under it.
    pub(super) is_leaf: bool,
}

impl OpenTask<'_> {
    /// The task it is nested under.
    pub(super) fn parent(&self) -> Option<&Task> {
        self.story.tasks.get(self.task.parent?)
    }
}

/// All open tasks of open stories, in order.
pub(super) fn of(change: &Change) -> Vec<OpenTask<'_>> {
    let files = change.task_files.iter();
    let outlines: Vec<Outline> = files.map(|file| Outline::of(&file.bytes)).collect();
    let is_markdown = change.source != SourceKind::PrdJson;
    let mut found = Vec::new();
    for story in open_stories(change) {
        let outline = outlines.get(story.file).filter(|_| is_markdown);
        let tasks = story.tasks.iter().enumerate();
        found.extend(
            tasks
                .filter(|(_, task)| task.is_open_work())
                .map(|(index, task)| OpenTask {
                    story,
                    task,
                    text: whole_text(change, story, task, outline),
                    is_leaf: story.tasks.iter().all(|other| other.parent != Some(index)),
                }),
        );
    }
    found
}

/// The text of a task and of the lines below it, up to an empty line, a heading or another box.
fn whole_text(change: &Change, story: &Story, task: &Task, outline: Option<&Outline>) -> String {
    let file = change.task_files.get(story.file);
    let (Some(outline), Some(file)) = (outline, file) else {
        return task.text.clone();
    };
    let is_box = |line: usize| story.tasks.iter().any(|other| other.line == line);
    let is_heading = |line: usize| outline.headings.iter().any(|it| it.line + 1 == line);
    let mut text = task.text.clone();
    for line in task.line + 1..=outline.lines() {
        let below = outline.text(&file.bytes, line - 1..line);
        if below.trim().is_empty() || is_box(line) || is_heading(line) {
            break;
        }
        text.push('\n');
        text.push_str(below.trim());
    }
    text
}
