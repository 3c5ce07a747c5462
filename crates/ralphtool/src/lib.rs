//! The program: commands, plain and JSON output, terminal UI. A module imports only modules above it:
//!
//! | module | what |
//! | --- | --- |
//! | `ui` | what the user reads, made from values: the log of a run, pages, words, styles |
//! | `console` | what every command needs: where it works, flags, standard output |
//! | `launch` | turns flags, settings and a change into a run that is ready to start |
//! | `tui` | the terminal UI |
//! | `cli` | the commands |

#![forbid(unsafe_code)]

mod cli;
mod console;
mod launch;
mod tui;
mod ui;

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the program with its arguments, the name of the program first.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    cli::run(args)
}
