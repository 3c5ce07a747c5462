//! One plan in the list of changes: how far it is, and whether the loop can run it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;

use crate::change::{Change, SourceKind};
use crate::formats::openspec::template::template_story;
use ralph_base::ids::StoryId;

/// A change as it appears in a list, also in that of `list --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangeSummary {
    pub name: String,
    pub kind: SourceKind,
    /// Its folder or file, relative to where the search began if it is below that.
    pub path: String,
    /// What commands take for it: its name, or its path if another plan has the same name.
    pub target: String,
    pub stories_done: usize,
    pub stories_total: usize,
    /// Tasks as `OpenSpec` counts them.
    pub tasks_done: usize,
    pub tasks_total: usize,
    /// The stories that must be done before each story; null where the plan says it of none.
    pub depends_on: Option<BTreeMap<StoryId, BTreeSet<StoryId>>>,
    /// When a file of it last changed.
    pub modified: Option<Timestamp>,
    #[serde(flatten)]
    pub state: ChangeState,
}

/// Whether the loop can run a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ChangeState {
    /// There is an open story.
    Open,
    /// There is one, but its tasks are still those that `ralphtool new` wrote.
    Template,
    /// Every story is done.
    Done,
    /// No story is open; some are deferred in the plan.
    Deferred,
    /// There is no box in its files.
    NoTasks,
    /// It cannot be read.
    Unreadable { reason: String },
}

impl ChangeState {
    /// The state of a change that could be read.
    pub fn of(change: &Change) -> Self {
        let stories = change.story_tally();
        if change.stories.is_empty() {
            Self::NoTasks
        } else if template_story(change).is_some() {
            Self::Template
        } else if change.next_open().is_some() {
            Self::Open
        } else if stories.done == stories.total {
            Self::Done
        } else {
            Self::Deferred
        }
    }
}

/// Whether a list of these changes has to say of which kind each is.
pub fn shows_kind<'a>(changes: impl IntoIterator<Item = &'a ChangeSummary>) -> bool {
    changes
        .into_iter()
        .any(|it| it.kind != SourceKind::OpenSpec)
}
