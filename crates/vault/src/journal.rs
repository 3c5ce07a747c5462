//! The write-ahead journal, and the state of the run that its lines add up to.

pub(crate) mod branches;
pub mod moved;
pub mod reopening;
pub(crate) mod run_state;
pub mod steps;

use run_state::RunState;
use steps::Journal;

use ralph_base::ids::RunId;

/// The journal, and the state that its lines add up to.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) journal: Journal,
    pub(crate) state: RunState,
    /// A kept run that was opened again; the journal says so with its next step.
    pub(crate) reopened: Option<RunId>,
}
