//! Boxes: what an attempt did to them, and the smallest edits that set them right.
//!
//! An edit names its box by text, not by offset: the file is read again when it is written.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::box_match::{Place, pair_up};
use crate::change::{Change, Story, TaskFile};
use crate::tasks::{Task, TaskState, read_tasks};
use ralph_base::ids::StoryId;

/// What an attempt at a story did to the boxes of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoryCheck {
    /// Tasks of the story that are not in the files any more.
    pub missing: Vec<String>,
    /// Tasks of the story that are not ticked.
    pub still_open: Vec<String>,
    /// Tasks of the story that were open and are marked as skipped now.
    pub set_aside: Vec<String>,
    /// Boxes of other stories that changed.
    pub foreign: Vec<ForeignBox>,
    /// Tasks of other stories that are not in the files any more.
    pub foreign_missing: Vec<String>,
    /// Edits that tick what is still open.
    pub ticks: Vec<BoxEdit>,
}

/// A box of another story that an attempt changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignBox {
    /// The story it belongs to.
    pub story: StoryId,
    /// The task.
    pub task: String,
    /// The edit that restores it.
    pub edit: BoxEdit,
}

/// A change to one box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoxEdit {
    /// The task file.
    pub path: PathBuf,
    /// What is changed in it.
    pub what: EditKind,
}

/// What is changed in a task file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditKind {
    /// The mark of a box.
    Mark {
        /// The description of the task.
        raw: String,
        /// Which of the tasks with this description in the file, from 0.
        nth: usize,
        /// What to put between the brackets.
        put: Vec<u8>,
    },
    /// The flag of a story of a `prd.json`.
    Flag {
        /// The story.
        story: StoryId,
        /// What it is set to.
        done: bool,
    },
}

/// The task files after an attempt, and the stories in them.
pub(crate) struct After<'a> {
    pub files: &'a [TaskFile],
    pub stories: &'a [Story],
}

/// Compares the boxes before an attempt at a story with those after it. `tick` is what ticks one.
pub(crate) fn check_boxes(
    before: &Change,
    after: &After<'_>,
    story: &StoryId,
    tick: &[u8],
) -> StoryCheck {
    let (old, new) = (places(&before.stories), places(after.stories));
    let pairs = pair_up(&old, &new);
    let mut found = StoryCheck::default();
    for (place, partner) in old.iter().zip(&pairs) {
        let now = partner.map(|index| &new[index]);
        if place.story == story {
            found.own(place, now, after.files, tick);
        } else {
            let was = &before.task_files[place.file].bytes[place.task.mark.clone()];
            found.other(place, now, was, after.files);
        }
    }
    // A task the attempt added to its own story is one of the story's tasks like any other.
    for place in added_open(&new, &pairs, story) {
        found.still_open.push(place.task.raw.clone());
        found.ticks.push(edit(place, after.files, tick));
    }
    found
}

/// The letter that ticks a box in a file: the one that is used there already, else `first`.
pub(crate) fn tick_letter(bytes: &[u8], first: &'static [u8]) -> &'static [u8] {
    let tasks = read_tasks(bytes);
    let done = tasks.iter().filter(|task| task.state == TaskState::Done);
    let mut marks = done
        .map(|task| bytes[task.mark.clone()].trim_ascii())
        .peekable();
    if marks.peek().is_none() {
        return first;
    }
    if marks.all(|mark| mark == b"X") {
        b"X"
    } else {
        b"x"
    }
}

/// Edits that open every ticked box of a story.
pub(crate) fn open_boxes(change: &Change, story: &StoryId) -> Vec<BoxEdit> {
    let ticked = |place: &&Place<'_>| {
        place.story == story && place.task.is_work() && place.task.state == TaskState::Done
    };
    let places = places(&change.stories);
    let ticked = places.iter().filter(ticked);
    ticked
        .map(|place| edit(place, &change.task_files, b" "))
        .collect()
}

impl StoryCheck {
    fn own(&mut self, was: &Place<'_>, now: Option<&Place<'_>>, after: &[TaskFile], tick: &[u8]) {
        if !was.task.is_work() {
            return;
        }
        let raw = was.task.raw.clone();
        // A box without text asks for nothing: it is ticked with the rest, but not missed.
        let asks = was.task.is_listed();
        let Some(now) = now else {
            self.missing.extend(asks.then_some(raw));
            return;
        };
        match (was.task.state, now.task.state) {
            (_, TaskState::Open) => {
                self.still_open.extend(asks.then_some(raw));
                self.ticks.push(edit(now, after, tick));
            }
            (TaskState::Open, TaskState::Deferred) => self.set_aside.push(raw),
            (_, TaskState::Done | TaskState::Deferred) => {}
        }
    }

    fn other(&mut self, was: &Place<'_>, now: Option<&Place<'_>>, mark: &[u8], after: &[TaskFile]) {
        match now {
            None if was.task.is_work() && was.task.is_listed() => {
                self.foreign_missing.push(was.task.raw.clone());
            }
            Some(now) if now.task.state != was.task.state => self.foreign.push(ForeignBox {
                story: was.story.clone(),
                task: was.task.raw.clone(),
                edit: edit(now, after, mark),
            }),
            _ => {}
        }
    }
}

/// All tasks of all stories.
pub(crate) fn places(stories: &[Story]) -> Vec<Place<'_>> {
    stories
        .iter()
        .flat_map(|story| {
            story.tasks.iter().map(|task| Place {
                story: &story.id,
                file: story.file,
                task,
            })
        })
        .collect()
}

fn added_open<'a>(
    new: &'a [Place<'a>],
    pairs: &[Option<usize>],
    story: &StoryId,
) -> impl Iterator<Item = &'a Place<'a>> {
    let known: HashSet<usize> = pairs.iter().flatten().copied().collect();
    new.iter()
        .enumerate()
        .filter(move |(index, place)| {
            place.story == story && place.task.is_open_work() && !known.contains(index)
        })
        .map(|(_, place)| place)
}

fn edit(place: &Place<'_>, files: &[TaskFile], put: &[u8]) -> BoxEdit {
    let nth = read_tasks(&files[place.file].bytes)
        .iter()
        .filter(|task| task.raw == place.task.raw && task.line < place.task.line)
        .count();
    BoxEdit {
        path: files[place.file].path.clone(),
        what: EditKind::Mark {
            raw: place.task.raw.clone(),
            nth,
            put: put.to_vec(),
        },
    }
}

/// Makes the edits of boxes in a file as it is now; a box that is not there any more is left out.
pub(crate) fn set_marks(bytes: &[u8], edits: &[&BoxEdit]) -> Vec<u8> {
    let tasks = read_tasks(bytes);
    let mut marks: Vec<(&Task, &[u8])> = Vec::new();
    for edit in edits {
        if let EditKind::Mark { raw, nth, put } = &edit.what {
            let mut same = tasks.iter().filter(|task| task.raw == *raw);
            marks.extend(same.nth(*nth).map(|task| (task, put.as_slice())));
        }
    }
    // From the end, so that ranges further up stay true.
    marks.sort_unstable_by_key(|(task, _)| std::cmp::Reverse(task.mark.start));
    marks
        .into_iter()
        .fold(bytes.to_vec(), |bytes, (task, put)| mark(&bytes, task, put))
}

/// Ticks one box of the file it was read from; every other byte stays.
#[cfg(test)]
fn tick(bytes: &[u8], task: &Task) -> Vec<u8> {
    mark(bytes, task, b"x")
}

/// Puts a mark into one box of the file it was read from.
fn mark(bytes: &[u8], task: &Task, put: &[u8]) -> Vec<u8> {
    let (head, rest) = bytes.split_at(task.mark.start);
    let tail = &rest[task.mark.len()..];
    let blank = !put.is_empty() && put.trim_ascii().is_empty();
    let mut out = Vec::with_capacity(bytes.len() + 2);
    out.extend_from_slice(head);
    out.extend_from_slice(put);
    match tail {
        // `[x](` would be a link, and the task gone: keep it apart.
        [b']', next @ (b'(' | b'['), ..] if !blank => {
            out.extend_from_slice(b"] ");
            out.push(*next);
            out.extend_from_slice(&tail[2..]);
        }
        _ => out.extend_from_slice(tail),
    }
    out
}

#[cfg(test)]
mod tests;
