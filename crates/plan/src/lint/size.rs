//! Stories that are too large for one sitting.

use super::open_tasks::OpenTask;
use super::{Finding, open_stories};
use crate::change::{Change, Story};

pub(super) const CODE: (&str, &str) = (
    "large_story",
    "a story has more open tasks, or more text, than one agent process is likely to finish",
);

/// More open tasks than these are reported. Of the 1467 stories in 300 public plans 23 have more, in 10
/// plans; half of all stories have at most 4, and 95 of 100 at most 11.
const MOST_TASKS: usize = 20;

/// More words than these are reported: 3 of the same stories have more, and half have at most 61.
const MOST_WORDS: usize = 1000;

const HINT: &str =
    "make two stories of it, each with its own tests: a failed attempt loses all of its work";

pub(super) fn find(change: &Change, tasks: &[OpenTask<'_>]) -> Vec<Finding> {
    let large = open_stories(change).filter_map(|story| {
        let size = excess(story, tasks)?;
        let message = format!("the story has {size}, which is a lot for one agent");
        let finding = Finding::new(CODE.0, message).hint(HINT);
        Some(finding.in_story(change, story))
    });
    large.collect()
}

/// What a story has too much of.
fn excess(story: &Story, tasks: &[OpenTask<'_>]) -> Option<String> {
    let leaves = tasks
        .iter()
        .filter(|open| open.is_leaf && open.story.id == story.id);
    let leaves = leaves.count();
    if leaves > MOST_TASKS {
        return Some(format!("{leaves} open tasks"));
    }
    let words = story.section.split_whitespace().count();
    (words > MOST_WORDS).then(|| format!("{words} words"))
}
