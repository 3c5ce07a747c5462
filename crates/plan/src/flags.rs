//! Flags: what an attempt did to a `prd.json`, as [`super::boxes`] says it of boxes.
//!
//! Nobody but ralphtool has to set a flag: one that an attempt left alone is no task left open.

use super::box_match::pair_up;
use super::boxes::{BoxEdit, EditKind, ForeignBox, StoryCheck, places};
use super::change::{Change, SourceKind, Story, StoryState, TaskFile};
use super::prd;
use super::stories::read_stories;
use ralph_base::ids::StoryId;

/// Compares the stories before an attempt with the same files after it.
pub(crate) fn check(before: &Change, after: &[TaskFile], story: &StoryId) -> StoryCheck {
    let mut found = StoryCheck::of(story);
    for file in after {
        if let Err(problem) = prd::read(&file.bytes) {
            let what = format!("`{}` cannot be read any more: {problem}", file.label);
            found.missing.push(what);
        }
    }
    if !found.missing.is_empty() {
        return found;
    }
    let (stories, _) = read_stories(after, SourceKind::PrdJson);
    find_missing(&mut found, before, &stories);
    for was in &before.stories {
        let Some(now) = stories.iter().find(|now| now.id == was.id) else {
            if was.id == *story && found.missing.is_empty() {
                found.missing.push(was.title.clone());
            }
            continue;
        };
        compare(&mut found, was, now, after);
    }
    found
}

/// Criteria that are gone, or have other words.
fn find_missing(found: &mut StoryCheck, before: &Change, stories: &[Story]) {
    let (old, new) = (places(&before.stories), places(stories));
    let pairs = pair_up(&old, &new);
    for (place, _) in old.iter().zip(pairs).filter(|(_, pair)| pair.is_none()) {
        let raw = place.task.raw.clone();
        if *place.story == found.story {
            found.missing.push(raw);
        } else {
            found.foreign_missing.push(raw);
        }
    }
}

fn compare(found: &mut StoryCheck, was: &Story, now: &Story, after: &[TaskFile]) {
    let is_done = |story: &Story| story.state == StoryState::Done;
    let edit = |done| BoxEdit {
        path: after[now.file].path.clone(),
        what: EditKind::Flag {
            story: now.id.clone(),
            done,
        },
    };
    if was.id == found.story {
        found.ticks.extend((!is_done(now)).then(|| edit(true)));
    } else if is_done(was) != is_done(now) {
        found.foreign.push(ForeignBox {
            story: was.id.clone(),
            task: was.title.clone(),
            edit: edit(is_done(was)),
        });
    }
}
