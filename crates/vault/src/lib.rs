//! Crash-safe checkpoints of one git work tree.
//!
//! A run works on the branch `ralph/CHANGE` of a repository that belongs to the user. Each story that
//! is done becomes one commit; each attempt that failed is parked in the vault, a folder outside of
//! the repository, and the work tree, the refs, the index and the configuration are restored to the
//! last checkpoint. At the end the work goes back to the user's branch, stays, or is taken back.
//! Nothing is switched before what it needs is durable, and nothing is removed before it is saved.
//!
//! Everything here is synchronous and carries out what it is asked to; whether to retry, stop or
//! finish is decided by the caller.
//!
//! From the bottom up, each module imports only modules of the rows above it:
//!
//! | module | what it is about |
//! | --- | --- |
//! | `paths`, `stat`, [`outcome`] | paths as bytes, file times, how attempts and runs end |
//! | [`git`] | git processes, and the formats of git's files: refs, index, objects, ignore rules |
//! | [`tree`] | manifests: what a work tree held at one moment; the walk that compares it with the disk |
//! | [`journal`], [`store`] | the write-ahead journal and the state its lines add up to; the vault's folder |
//! | [`commit_message`] | what commits say, and the template for it |
//! | [`error`] | why a step failed, and notices for the user |
//! | `repo` | the git directory: refs, HEAD, index, objects, stash, configuration, hooks |
//! | `scan` | one scan of the work tree: what changed, and copies of it in the vault |
//! | [`vault`] | the vault of one work tree, locked for one process |
//! | `repair` | a git directory that an attempt or a crash damaged |
//! | `operations` | begin, save, park, restore, finish, rewind, undo: one file each |
//! | `recovery` | opening a vault; what an interrupted run left is undone or completed |
//! | [`session`] | the states of a vault as types: the API |
//! | [`gc`], [`diff`], [`mod@look`], [`other_vaults`] | housekeeping, diffs, and views from outside, without the lock |

#![forbid(unsafe_code)]

pub mod commit_message;
pub mod diff;
pub mod error;
pub mod gc;
pub mod git;
pub mod journal;
pub mod look;
pub(crate) mod operations;
pub mod other_vaults;
pub mod outcome;
pub(crate) mod parked;
pub(crate) mod paths;
pub(crate) mod recovery;
pub mod repair;
pub mod repo;
pub mod scan;
pub mod session;
pub(crate) mod stat;
pub mod store;
pub(crate) mod threads;
pub mod tree;
pub mod vault;

pub use commit_message::MessageTemplate;
pub use diff::shown::Diffs;
pub use error::CheckpointError;
pub use gc::GcPlan;
pub use journal::branches::{BranchRun, BranchRuns};
pub use journal::run_state::OpenRun;
pub use journal::steps::{JournalHealth, StoryNote};
pub use look::{Look, look, strays};
pub use operations::begin::{BeginRequest, Begun};
pub use operations::changed::CommittedPath;
pub use operations::claims::NewBranch;
pub use operations::finish::{FinishReport, PreparedFinish};
pub use operations::moving::{BranchChange, Outline, PreparedMove};
pub use operations::park::Setback;
pub use operations::preflight::{BranchPlace, branch_obstacle, obstacles, passing_obstacles};
pub use operations::standing::{HeadPlace, Leaving, RunPlace, Standing};
pub use operations::switch_back::{SwitchedBack, switch_obstacle};
pub use operations::undo::{PreparedUndo, Undone};
pub use operations::unstorable_edits::{RequiredFilter, required_filters};
pub use parked::{ParkedAttempt, ParkedCommits, Shelf};
pub use recovery::vanished::{describe_damage, unfinished_at};
pub use scan::changed::Changed;
pub use session::{
    AtCheckpoint, Attempt, Failed, FinishFailed, GateOnCheckpoint, Opened, Parked, Reopening,
    Session, Settled, StepResult,
};
pub use vault::{AfterRecovery, Recovery, Vault};
