//! Numbers that two stories or two tasks share.

use std::collections::HashMap;

use super::{Finding, heading_line};
use crate::change::{Change, SourceKind, Story};
use crate::label::label;
use crate::tasks::Task;

pub(super) const CODE: (&str, &str) = (
    "duplicate_number",
    "two stories or two tasks have the same number, so that nothing else can say which is meant",
);

pub(super) fn find(change: &Change) -> Vec<Finding> {
    let mut findings = stories(change);
    findings.extend(tasks(change));
    findings
}

fn stories(change: &Change) -> Vec<Finding> {
    let mut first: HashMap<(usize, String), usize> = HashMap::new();
    let repeated = change.stories.iter().filter_map(|story| {
        let number = story_number(change, story)?;
        let line = heading_line(story);
        let earlier = *first.entry((story.file, number.clone())).or_insert(line);
        (earlier != line).then(|| {
            let message = format!(
                "the number {number} is that of another story, on line {earlier}: this one is called `{}`",
                story.id
            );
            let hint = "give each story a number of its own: `--story` and the branch's commits use it";
            Finding::new(CODE.0, message).hint(hint).in_story(change, story)
        })
    });
    repeated.collect()
}

/// The number in the heading of a story.
fn story_number(change: &Change, story: &Story) -> Option<String> {
    if change.source == SourceKind::PrdJson {
        return None;
    }
    let heading = story.section.trim_start().lines().next()?;
    let title = heading.strip_prefix('#')?.trim_start_matches('#').trim();
    label(title).number
}

fn tasks(change: &Change) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut first: HashMap<(usize, &str), usize> = HashMap::new();
    for story in &change.stories {
        let mut here: HashMap<&str, usize> = HashMap::new();
        for task in story.tasks.iter().filter(|task| task.is_work()) {
            let Some(id) = task.id.as_deref().filter(|id| is_number(id)) else {
                continue;
            };
            // `1`, `2`, `3` may begin again in each story.
            let known = if id.contains(['.', 'T']) {
                *first.entry((story.file, id)).or_insert(task.line)
            } else {
                *here.entry(id).or_insert(task.line)
            };
            if known != task.line {
                findings.push(duplicate(change, story, task, known));
            }
        }
    }
    findings
}

/// `2.1`, `2.1a`, `T012`: a number, and no label that several tasks may have.
fn is_number(id: &str) -> bool {
    let rest = id.strip_prefix('T').unwrap_or(id);
    rest.starts_with(|c: char| c.is_ascii_digit())
}

fn duplicate(change: &Change, story: &Story, task: &Task, earlier: usize) -> Finding {
    let id = task.id.as_deref().unwrap_or_default();
    let message = format!("the number {id} is that of another task, on line {earlier}");
    Finding::new(CODE.0, message).in_task(change, story, task)
}
