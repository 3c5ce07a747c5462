//! Flags of stories: what an attempt did to them, and how one is set.
//!
//! An agent need not set a flag, ralphtool does: one that an attempt left alone is no open task.

use std::ops::Range;

use serde_json::value::RawValue;

use super::{Prd, read_stories, spans};
use crate::box_match::pair_up;
use crate::boxes::{BoxEdit, EditKind, ForeignBox, StoryCheck, places};
use crate::change::{Change, Story, StoryState, TaskFile};
use ralph_base::ids::StoryId;

/// Compares the stories before an attempt with the same files after it.
pub(in crate::formats) fn check(
    before: &Change,
    after: &[TaskFile],
    story: &StoryId,
) -> StoryCheck {
    let mut found = StoryCheck::default();
    for file in after {
        if let Err(problem) = Prd::read(&file.bytes) {
            let what = format!("`{}` cannot be read any more: {problem}", file.label);
            found.missing.push(what);
        }
    }
    if !found.missing.is_empty() {
        return found;
    }
    let (stories, _) = read_stories(after);
    find_missing(&mut found, before, &stories, story);
    let is_done = |story: &Story| story.state == StoryState::Done;
    for was in &before.stories {
        let is_own = was.id == *story;
        match stories.iter().find(|now| now.id == was.id) {
            Some(now) if is_own && !is_done(now) => {
                found.ticks.push(edit(&after[now.file], story, true));
            }
            Some(now) if !is_own && is_done(was) != is_done(now) => {
                found.foreign.push(ForeignBox {
                    story: was.id.clone(),
                    task: was.title.clone(),
                    edit: edit(&after[now.file], &was.id, is_done(was)),
                });
            }
            None if is_own && found.missing.is_empty() => found.missing.push(was.title.clone()),
            _ => {}
        }
    }
    found
}

/// Criteria that are gone, or have other words.
fn find_missing(found: &mut StoryCheck, before: &Change, stories: &[Story], story: &StoryId) {
    let (old, new) = (places(&before.stories), places(stories));
    let pairs = pair_up(&old, &new);
    for (place, _) in old.iter().zip(pairs).filter(|(_, pair)| pair.is_none()) {
        let raw = place.task.raw.clone();
        if place.story == story {
            found.missing.push(raw);
        } else {
            found.foreign_missing.push(raw);
        }
    }
}

fn edit(file: &TaskFile, story: &StoryId, done: bool) -> BoxEdit {
    BoxEdit {
        path: file.path.clone(),
        what: EditKind::Flag {
            story: story.clone(),
            done,
        },
    }
}

/// Edits that say of a story that it is not done.
pub(in crate::formats) fn open(change: &Change, story: &StoryId) -> Vec<BoxEdit> {
    let files = change.task_files.iter();
    files.map(|file| edit(file, story, false)).collect()
}

/// Makes the edits of flags in a file as it is now.
pub(in crate::formats) fn set_flags(bytes: Vec<u8>, edits: &[&BoxEdit]) -> Vec<u8> {
    edits.iter().fold(bytes, |bytes, edit| match &edit.what {
        EditKind::Flag { story, done } => set_flag(bytes, story, *done),
        EditKind::Mark { .. } => bytes,
    })
}

/// Says in a file that a story is done, or that it is not; every other byte stays. A file or a
/// story that is not there any more is left alone.
pub(super) fn set_flag(mut bytes: Vec<u8>, story: &StoryId, done: bool) -> Vec<u8> {
    if let Some((span, text)) = flag_edit(&bytes, story, done) {
        bytes.splice(span, text.into_bytes());
    }
    bytes
}

fn flag_edit(bytes: &[u8], story: &StoryId, done: bool) -> Option<(Range<usize>, String)> {
    let prd = Prd::read(bytes).ok()?;
    let place = prd.ids().iter().position(|id| id == story)?;
    let object = prd.items.get(place)?.raw;
    match spans::member(object, prd.flag) {
        Some(value) => Some((spans::span(value, bytes), done.to_string())),
        // Without a flag it is open already.
        None if !done => None,
        None => Some(new_flag(object, prd.flag, bytes)),
    }
}

/// Where a missing flag goes, and its text: written as its neighbour is.
fn new_flag(object: &RawValue, flag: &str, bytes: &[u8]) -> (Range<usize>, String) {
    let start = spans::span(object, bytes).start + 1;
    let members = spans::members(object);
    let mut values: Vec<_> = members.values().map(|it| spans::span(it, bytes)).collect();
    values.sort_unstable_by_key(|span| span.start);
    let Some(last) = values.pop() else {
        return (start..start, format!("\"{flag}\": true"));
    };
    let head = values.last().map_or(start, |before| before.end);
    // What is between two values: `, "name": `.
    let between = String::from_utf8_lossy(&bytes[head..last.start]);
    let (before, name) = between.split_once('"').unwrap_or_default();
    let (_, colon) = name.rsplit_once('"').unwrap_or_default();
    let space = &before[before.trim_end().len()..];
    let text = format!(",{space}\"{flag}\"{colon}true");
    (last.end..last.end, text)
}
