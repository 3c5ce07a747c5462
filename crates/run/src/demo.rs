//! The demo: a throw-away repository with a small change, the agent that works through it, and
//! what a run leaves to look at.

pub mod agent;
mod remains;
mod stage;
mod stories;
pub mod summary;

pub use stage::{Stage, StageError};

/// The change of the demo.
pub const CHANGE: &str = "friendly-greeting";
/// The branch the throw-away repository begins on.
const ORIGINAL: &str = "main";

/// The program that the change is about.
const SCRIPT: &str = "greet.sh";
/// What checks it: the demo's gate.
const CHECKS: &str = "checks.sh";
/// A file that "the user" has edited and not committed.
pub const EDITED: &str = "README.md";
/// A file that "the user" has not told git about; the failing attempt deletes it.
pub const UNTRACKED: &str = "ideas.txt";
