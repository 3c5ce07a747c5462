//! Crash-safe checkpoints of one work tree.

pub mod other_vaults;

pub mod git;
pub mod repair;
pub mod scan;
pub mod session;

pub mod diff;
pub mod error;
pub mod gc;
pub mod journal;
pub mod look;
pub(crate) mod operations;
pub mod outcome;
pub(crate) mod parked;
pub(crate) mod paths;
pub(crate) mod recovery;
pub mod repo;
pub(crate) mod stat;
pub mod store;
pub mod tree;

pub use diff::shown::Diffs;
pub use error::CheckpointError;
pub use gc::GcPlan;
pub use journal::run_state::OpenRun;
pub use look::{JournalHealth, Look, look, strays};
pub use operations::begin::Begun;
pub use operations::finish::{FinishReport, PreparedFinish};
pub use operations::moving::{Outline, PreparedMove};
pub use operations::park::Setback;
pub use operations::preflight::{branch_obstacles, obstacles, passing_obstacles};
pub use operations::undo::{PreparedUndo, Undone};
pub use parked::{ParkedAttempt, Shelf};
pub use recovery::vanished::{told_damaged, unfinished_at};
pub use scan::changed::Changed;
