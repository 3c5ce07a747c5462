//! ralphtool runs a coding agent through a written change, story by story.
//!
//! Read aloud: files become stories; the machine says what to do; the engine does it;
//! everything that happened is a record; every face is a fold of the records.
//!
//! | layer | knows | may not |
//! | --- | --- | --- |
//! | `cli` | how it is called | decide anything |
//! | `domain` | what it means | touch files, processes, clock, terminal, async |
//! | `edge` | how the world is touched | decide policy, print |
//! | `engine` | the one loop | hold state of its own beyond the loop |
//! | `ui` | how records look | see anything but records |

mod cli;
mod domain;
mod edge;
mod engine;
mod failure;
mod ui;

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the program with the given arguments, the program name first.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    cli::run(args)
}
