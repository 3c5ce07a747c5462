//! Which checkpoints count after each rewind and each undo of a run.

use super::run_state::RunState;
use super::steps::{Line, MoveKind, Step};
use crate::git::object_id::ObjectId;
use ralph_base::ids::{RunId, StoryId};

/// Where a rewind or an undo left a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The line of the journal that says so.
    pub line: usize,
    /// The story it was rewound to; none for an undo.
    pub story: Option<StoryId>,
    /// What an undo reverted.
    pub undone: Option<MoveKind>,
    /// The commits of the checkpoints that count.
    pub checkpoints: Vec<ObjectId>,
    /// Whether the run is open.
    pub is_open: bool,
}

/// The rewinds and undos of a run, in order.
pub fn moves_of(lines: &[Line], run: &RunId) -> Vec<Moved> {
    let mut state = RunState::default();
    let mut moves = Vec::new();
    // What can still be undone, the last at the end.
    let mut done = Vec::new();
    for (line, it) in lines.iter().enumerate() {
        let moving = state.moving.as_ref().filter(|(of, _)| of == run);
        let kind = moving.map(|(_, intent)| intent.kind.clone());
        state.apply(it);
        if it.step != Step::Moved {
            continue;
        }
        let (story, undone) = match kind {
            Some(MoveKind::Undo) => (None, done.pop()),
            kind => {
                done.extend(kind.clone());
                let Some(MoveKind::Rewind { story, .. }) = kind else {
                    continue;
                };
                (Some(StoryId(story)), None)
            }
        };
        let Some(stands) = state.last_run().filter(|last| last.intent.run == *run) else {
            continue;
        };
        moves.push(Moved {
            line,
            story,
            undone,
            checkpoints: stands.saved.iter().map(|saved| saved.commit).collect(),
            is_open: state.current.is_some(),
        });
    }
    moves
}
