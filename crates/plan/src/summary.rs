//! One line about a change: how far it is, and whether the loop can run it.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::Serialize;

use crate::change::{Change, SourceKind, Tally};

/// A change as it appears in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangeSummary {
    /// The name people call it by.
    pub name: String,
    /// What kind of plan it is.
    pub kind: SourceKind,
    /// Its folder or file, relative to where the search began if it is below that.
    pub path: PathBuf,
    /// Finished and all tasks, as `OpenSpec` counts them.
    pub tasks: Tally,
    /// Finished and all stories.
    pub stories: Tally,
    /// When a file of it last changed.
    pub modified: Option<Timestamp>,
    /// Whether the loop can run it.
    #[serde(flatten)]
    pub state: ChangeState,
}

/// Whether the loop can run a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ChangeState {
    /// There is an open story.
    Ready,
    /// Every story is done or skipped.
    NothingLeft,
    /// There is no box in its files.
    NoTasks,
    /// It cannot be read.
    Invalid {
        /// Why.
        reason: String,
    },
}

impl ChangeState {
    /// The state of a change that could be read.
    pub fn of(change: &Change) -> Self {
        if change.stories.is_empty() {
            Self::NoTasks
        } else if change.next_open().is_some() {
            Self::Ready
        } else {
            Self::NothingLeft
        }
    }
}
