//! The changes and other plans of a repository, as `list` and the terminal UI show them.

use std::collections::HashMap;

use jiff::Timestamp;
use serde::Serialize;

use ralph_plan::change::SourceKind;
use ralph_plan::summary::{self, ChangeSummary};

/// What can be done with a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub(crate) enum ChangeState {
    /// There is work left.
    Open,
    /// Every task is done.
    Done,
    /// What is left is set aside.
    Deferred,
    /// There is nothing to do in it yet.
    NoTasks,
    /// It cannot be read.
    Unreadable { reason: String },
}

/// One change of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ChangeRow {
    pub(crate) name: String,
    pub(crate) kind: SourceKind,
    /// Its folder or file.
    pub(crate) path: String,
    /// What to say to mean this one: its name, or its path where another has the same name.
    pub(crate) target: String,
    pub(crate) stories_done: usize,
    pub(crate) stories_total: usize,
    pub(crate) tasks_done: usize,
    pub(crate) tasks_total: usize,
    /// When one of its files was last changed.
    pub(crate) modified: Option<Timestamp>,
    /// What can be done with it.
    #[serde(flatten)]
    pub(crate) state: ChangeState,
}

/// The rows of the list.
pub(crate) fn rows(found: Vec<ChangeSummary>) -> Vec<ChangeRow> {
    let mut names: HashMap<String, usize> = HashMap::new();
    for summary in &found {
        *names.entry(summary.name.clone()).or_default() += 1;
    }
    let row = |summary: ChangeSummary| {
        let is_unique = names.get(&summary.name) == Some(&1);
        let path = summary.path.display().to_string();
        let (stories, tasks) = (summary.stories, summary.tasks);
        ChangeRow {
            target: if is_unique {
                summary.name.clone()
            } else {
                path.clone()
            },
            name: summary.name,
            kind: summary.kind,
            path,
            stories_done: stories.done,
            stories_total: stories.total,
            tasks_done: tasks.done,
            tasks_total: tasks.total,
            modified: summary.modified,
            state: match summary.state {
                summary::ChangeState::Ready => ChangeState::Open,
                summary::ChangeState::NothingLeft if stories.done == stories.total => {
                    ChangeState::Done
                }
                summary::ChangeState::NothingLeft => ChangeState::Deferred,
                summary::ChangeState::NoTasks => ChangeState::NoTasks,
                summary::ChangeState::Invalid { reason } => ChangeState::Unreadable { reason },
            },
        }
    };
    found.into_iter().map(row).collect()
}

/// Whether the kinds of plans are worth a column.
pub(crate) fn shows_kind(rows: &[ChangeRow]) -> bool {
    rows.iter().any(|row| row.kind != SourceKind::OpenSpec)
}
