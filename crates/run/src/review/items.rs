//! The tasks and scenarios that a reviewer judges, each with a short name.

use crate::records::review::Judged;
use ralph_agents::agent_event::first_chars;
use ralph_plan::change::{Change, Story};
use ralph_plan::tasks::{Task, TaskKind, TaskState};

/// How much of a task or of the name of a scenario is recorded.
const TEXT_CHARS: usize = 200;

/// A task or a scenario that is to be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReviewItem {
    /// What it is called: `T1`, `S2`.
    pub item: String,
    pub what: Judged,
    /// The start of its text.
    pub text: String,
    /// It may be for another story of the change to fulfil.
    pub may_be_elsewhere: bool,
}

/// What is judged of a story: its tasks, and the scenarios of its change.
pub(crate) fn of_story(change: &Change, story: &Story) -> Vec<ReviewItem> {
    let tasks = tasks_of(story).map(|task| shown(&task.raw));
    let has_others = change.stories.len() > 1;
    let scenarios = scenarios(change).map(|scenario| ReviewItem {
        may_be_elsewhere: has_others,
        ..scenario
    });
    numbered(Judged::Task, tasks).chain(scenarios).collect()
}

/// What is judged of a whole change: the tasks of all of its stories, and its scenarios.
pub(crate) fn of_change(change: &Change) -> Vec<ReviewItem> {
    let tasks = change.stories.iter().flat_map(|story| {
        let tasks = tasks_of(story);
        tasks.map(|task| shown(&format!("story {}: {}", story.id, task.raw)))
    });
    numbered(Judged::Task, tasks)
        .chain(scenarios(change))
        .collect()
}

/// The tasks of a story that are work, without those that are deferred.
fn tasks_of(story: &Story) -> impl Iterator<Item = &Task> {
    story.tasks.iter().filter(|task| {
        task.is_listed() && task.kind != TaskKind::Fenced && task.state != TaskState::Deferred
    })
}

fn scenarios(change: &Change) -> impl Iterator<Item = ReviewItem> {
    let names = change.scenarios.iter();
    let names = names.map(|it| shown(&format!("{}: {}", it.requirement, it.name)));
    numbered(Judged::Scenario, names)
}

fn numbered(what: Judged, texts: impl Iterator<Item = String>) -> impl Iterator<Item = ReviewItem> {
    let letter = match what {
        Judged::Task => 'T',
        Judged::Scenario => 'S',
    };
    texts.enumerate().map(move |(place, text)| ReviewItem {
        item: format!("{letter}{}", place + 1),
        what,
        text,
        may_be_elsewhere: false,
    })
}

fn shown(text: &str) -> String {
    first_chars(text.trim(), TEXT_CHARS).to_owned()
}
