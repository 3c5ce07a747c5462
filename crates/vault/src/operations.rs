//! What a run does to its work tree, one file per operation.

pub(crate) mod changed;
pub(crate) mod twins;

pub(crate) mod begin;
mod branch_commits;
pub(crate) mod claims;
pub(crate) mod converge;
pub(crate) mod finish;
pub(crate) mod gate_changes;
mod included;
pub(crate) mod incoming;
pub(crate) mod meanwhile;
pub(crate) mod modules;
pub(crate) mod moving;
pub(crate) mod park;
pub(crate) mod parked_diff;
pub(crate) mod preflight;
pub(crate) mod restore;
pub(crate) mod review_changes;
pub(crate) mod rewind;
pub(crate) mod rewrite;
pub(crate) mod save;
pub(crate) mod stage_again;
pub(crate) mod standing;
pub(crate) mod start_over;
pub(crate) mod switch_back;
mod trial_merge;
pub(crate) mod uncommitted;
pub(crate) mod undo;
pub(crate) mod unstorable_edits;
pub(crate) mod users_git;
mod work_trees;
