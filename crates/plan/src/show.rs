//! The JSON value of `show`: one change with stories, tasks and scenarios.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Serialize;

use crate::change::{Change, Scenario, SourceKind, Story, StoryState};
use crate::tasks::{Task, TaskState};
use ralph_base::ids::StoryId;

/// One change, as `show --json` prints it.
#[derive(Debug, Serialize)]
pub struct ChangeView<'a> {
    /// The change's name.
    change: &'a str,
    /// The folder the plan belongs to.
    root: Cow<'a, str>,
    /// What kind of plan it is.
    kind: SourceKind,
    /// All stories, in document order.
    stories: Vec<StoryView<'a>>,
    /// What the added and modified requirements ask for.
    scenarios: &'a [Scenario],
}

/// One story.
#[derive(Debug, Serialize)]
struct StoryView<'a> {
    /// What people call it.
    id: &'a StoryId,
    /// Its heading without the number.
    title: &'a str,
    /// Whether there is something left to do.
    state: StoryState,
    /// The stories that must be done before it; null where the plan does not say.
    depends_on: Option<&'a BTreeSet<StoryId>>,
    /// The tasks `OpenSpec` lists, in file order.
    tasks: Vec<TaskView<'a>>,
}

/// One task.
#[derive(Debug, Serialize)]
struct TaskView<'a> {
    /// The id in front of the description.
    id: Option<&'a str>,
    /// The description as `OpenSpec` gives it.
    raw: &'a str,
    /// The description without the id.
    text: &'a str,
    /// Whether `OpenSpec` counts it as done.
    done: bool,
    /// How its box is marked.
    state: TaskState,
}

impl<'a> ChangeView<'a> {
    /// The view of a change.
    pub fn of(change: &'a Change) -> Self {
        Self {
            change: &change.name,
            root: change.root.to_string_lossy(),
            kind: change.source,
            stories: change.stories.iter().map(StoryView::of).collect(),
            scenarios: &change.scenarios,
        }
    }
}

impl<'a> StoryView<'a> {
    fn of(story: &'a Story) -> Self {
        let listed = story.tasks.iter().filter(|task| task.is_listed());
        Self {
            id: &story.id,
            title: &story.title,
            state: story.state,
            depends_on: story.depends_on.known(),
            tasks: listed.map(TaskView::of).collect(),
        }
    }
}

impl<'a> TaskView<'a> {
    fn of(task: &'a Task) -> Self {
        Self {
            id: task.id.as_deref(),
            raw: &task.raw,
            text: &task.text,
            done: task.state == TaskState::Done,
            state: task.state,
        }
    }
}
