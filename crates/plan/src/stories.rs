//! Stories: which tasks belong together, and what each group is called.
//!
//! `OpenSpec` has no groups; these are ours. Every task of a file lands in exactly one story, in
//! file order. A story is a second-level section with tasks; where one such section holds all
//! tasks in two or more third-level ones, those; without sections the file is one story.

use std::ops::Range;
use std::path::Path;

use crate::change::{Story, StoryState, TaskFile, Warning};
use crate::files::stem;
use crate::label::{Label, label};
use crate::outline::Outline;
use crate::story_ids::{Candidate, assign};
use crate::tasks::{Task, TaskKind, read_tasks};
use ralph_base::ids::StoryId;

/// What a markdown format does its own way.
pub(crate) struct Rules {
    /// Changes what boxes mean beyond the marks in them.
    pub adjust: fn(&mut [Task], &[u8], &Outline),
    /// What numbered items are, where sections do not say what is a story.
    pub numbered_items: NumberedItems,
    /// The letter that ticks a box in a file that has no ticked box yet.
    pub first_tick: &'static [u8],
}

impl Rules {
    /// Boxes mean what their marks say, and stories are sections.
    pub(crate) const PLAIN: Self = Self {
        adjust: |_, _, _| {},
        numbered_items: NumberedItems::AreTasks,
        first_tick: b"x",
    };
}

/// What items such as `1.` and `2.` are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberedItems {
    /// Tasks like any others.
    AreTasks,
    /// Stories, if at least one of them has tasks below it.
    GroupTasks,
    /// Stories, even below a single heading.
    AreStories,
}

/// The stories of all task files, and warnings about them.
pub(crate) fn read_markdown(files: &[TaskFile], rules: &Rules) -> (Vec<Story>, Vec<Warning>) {
    let drafts: Vec<Draft> = files
        .iter()
        .enumerate()
        .flat_map(|(index, file)| drafts_of(index, file, rules))
        .collect();
    let candidates: Vec<Candidate<'_>> = drafts
        .iter()
        .map(|draft| Candidate {
            label: &draft.label,
            file: &files[draft.file].label,
        })
        .collect();
    let ids = assign(&candidates);
    let warnings = fenced_warnings(&drafts, files);
    let stories = drafts
        .into_iter()
        .zip(ids)
        .map(|(draft, id)| draft.into_story(id))
        .collect();
    (stories, warnings)
}

/// A story that has no id yet.
struct Draft {
    file: usize,
    label: Label,
    section: String,
    /// The line the section begins with, from 1.
    line: usize,
    tasks: Vec<Task>,
}

impl Draft {
    fn into_story(mut self, id: StoryId) -> Story {
        link_parents(&mut self.tasks);
        Story {
            id,
            title: self.label.title,
            state: StoryState::of(&self.tasks),
            tasks: self.tasks,
            section: self.section,
            file: self.file,
            line: self.line,
        }
    }
}

/// The lines under one heading or item.
struct Segment {
    lines: Range<usize>,
    /// The level of its heading, 0 if it has none.
    level: usize,
    label: Label,
}

impl Segment {
    fn has_any(&self, lines: &[usize]) -> bool {
        let first = lines.partition_point(|line| *line < self.lines.start);
        lines.get(first).is_some_and(|line| *line < self.lines.end)
    }
}

fn drafts_of(index: usize, file: &TaskFile, rules: &Rules) -> Vec<Draft> {
    let outline = Outline::of(&file.bytes);
    let mut tasks = read_tasks(&file.bytes);
    for task in &mut tasks {
        if outline.is_fenced(task.line - 1) {
            task.kind = TaskKind::Fenced;
        }
    }
    (rules.adjust)(&mut tasks, &file.bytes, &outline);
    if tasks.is_empty() {
        return Vec::new();
    }
    let work = tasks.iter().filter(|task| task.is_work());
    let work: Vec<usize> = work.map(|task| task.line - 1).collect();
    let level = story_level(&outline, &work);
    let by_item = match level {
        // A single section such as `## Tasks` is no group.
        Some(2) if rules.numbered_items == NumberedItems::AreStories => {
            sections_with(&outline, 2, &work).len() == 1
        }
        Some(_) => false,
        None => true,
    };
    let items = by_item.then(|| items(&outline, &tasks, rules.numbered_items));
    let mut segments = items.flatten().unwrap_or_else(|| match level {
        Some(level) => sections(&outline, level),
        None => vec![whole_file(&outline)],
    });
    segments.retain(|segment| work.is_empty() || segment.has_any(&work));
    distribute(tasks, &segments)
        .into_iter()
        .zip(segments)
        .map(|(tasks, segment)| Draft {
            file: index,
            line: segment.lines.start + 1,
            section: outline.text(&file.bytes, segment.lines),
            label: with_title(segment.label, &file.label),
            tasks,
        })
        .collect()
}

/// Which headings open a story: 2, 3, or none.
fn story_level(outline: &Outline, work: &[usize]) -> Option<usize> {
    let second = sections_with(outline, 2, work);
    let third = sections_with(outline, 3, work);
    match second.as_slice() {
        [] if third.is_empty() => None,
        [] => Some(3),
        [only] => {
            let inside = |it: &&Segment| only.lines.contains(&it.lines.start);
            let groups = third.iter().filter(inside).count();
            Some(if groups >= 2 { 3 } else { 2 })
        }
        _ => Some(2),
    }
}

/// The sections of a level that have some of the lines.
fn sections_with(outline: &Outline, level: usize, work: &[usize]) -> Vec<Segment> {
    let mut found = sections(outline, level);
    found.retain(|segment| segment.level == level && segment.has_any(work));
    found
}

/// Cuts the file at every heading of this level or above.
fn sections(outline: &Outline, level: usize) -> Vec<Segment> {
    let mut last = Segment {
        lines: 0..outline.lines(),
        level: 0,
        label: label(""),
    };
    let mut found = Vec::new();
    for heading in outline.headings.iter().filter(|it| it.level <= level) {
        last.lines.end = heading.line;
        let next = Segment {
            lines: heading.line..outline.lines(),
            level: heading.level,
            label: label(&heading.title),
        };
        found.push(std::mem::replace(&mut last, next));
    }
    found.push(last);
    found
}

fn whole_file(outline: &Outline) -> Segment {
    let first = outline.headings.first();
    Segment {
        lines: 0..outline.lines(),
        level: 0,
        label: Label {
            number: None,
            title: first.map_or_else(String::new, |heading| heading.title.clone()),
        },
    }
}

/// Cuts at numbered items: `1.` with `1.1` below it, nested or not. None where there are none, or
/// not all boxes belong to one.
fn items(outline: &Outline, tasks: &[Task], meaning: NumberedItems) -> Option<Vec<Segment>> {
    let work: Vec<&Task> = tasks.iter().filter(|task| task.is_work()).collect();
    let tops: Vec<&Task> = work.iter().copied().filter(|task| is_top(task)).collect();
    let mut ids: Vec<_> = tops.iter().filter_map(|task| task.id.as_deref()).collect();
    ids.sort_unstable();
    ids.dedup();
    let leads = work.first().is_some_and(|task| is_top(task));
    let are_tasks = match meaning {
        NumberedItems::AreTasks => true,
        NumberedItems::GroupTasks => tops.len() == work.len(),
        NumberedItems::AreStories => false,
    };
    if tops.len() < 2 || are_tasks || ids.len() < tops.len() || !leads {
        return None;
    }
    let starts = tops.iter().skip(1).map(|task| task.line - 1);
    // What stands before the first item belongs to the whole file; the first takes it.
    let starts = || std::iter::once(0).chain(starts.clone());
    let ends = starts().skip(1).chain([outline.lines()]);
    let segments = tops.iter().zip(starts().zip(ends));
    let segments = segments.map(|(task, (start, end))| Segment {
        lines: start..end.min(next_section(outline, task.line)),
        level: 0,
        label: Label {
            number: task.id.clone(),
            title: task.text.clone(),
        },
    });
    Some(segments.collect())
}

/// The line of the next first- or second-level heading below a line, both counted from 0.
fn next_section(outline: &Outline, line: usize) -> usize {
    let mut below = outline.headings.iter().filter(|it| it.line >= line);
    below
        .find(|heading| heading.level <= 2)
        .map_or(outline.lines(), |heading| heading.line)
}

fn is_top(task: &Task) -> bool {
    let number = |id: &String| id.bytes().all(|byte| byte.is_ascii_digit());
    task.indent == 0 && task.id.as_ref().is_some_and(number)
}

fn with_title(mut label: Label, file: &str) -> Label {
    if label.title.is_empty() {
        label.title = stem(Path::new(file));
    }
    label
}

/// Groups tasks by segment; a fenced one outside all of them goes to the segment before it.
fn distribute(tasks: Vec<Task>, segments: &[Segment]) -> Vec<Vec<Task>> {
    let mut groups: Vec<Vec<Task>> = segments.iter().map(|_| Vec::new()).collect();
    for task in tasks {
        let after = segments.partition_point(|segment| segment.lines.start < task.line);
        if let Some(group) = groups.get_mut(after.saturating_sub(1)) {
            group.push(task);
        }
    }
    groups
}

/// A task is the child of the nearest shallower one above it; a fenced box is part of the last.
fn link_parents(tasks: &mut [Task]) {
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (index, task) in tasks.iter_mut().enumerate() {
        if task.is_work() {
            open.retain(|(indent, _)| *indent < task.indent);
        }
        task.parent = open.last().map(|(_, parent)| *parent);
        if task.is_work() {
            open.push((task.indent, index));
        }
    }
}

fn fenced_warnings(drafts: &[Draft], files: &[TaskFile]) -> Vec<Warning> {
    let mut fenced = vec![0; files.len()];
    for draft in drafts {
        let tasks = draft.tasks.iter();
        fenced[draft.file] += tasks.filter(|it| it.kind == TaskKind::Fenced).count();
    }
    let warned = files.iter().zip(fenced).filter(|(_, count)| *count > 0);
    warned
        .map(|(file, count)| Warning {
            code: "fenced_boxes",
            message: format!(
                "`{}` has boxes inside code fences ({count}): they are text, not tasks, but \
                 OpenSpec counts them",
                file.label
            ),
        })
        .collect()
}

#[cfg(test)]
mod tests;
