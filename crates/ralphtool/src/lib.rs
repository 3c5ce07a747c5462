//! The program: commands, plain and JSON output, terminal UI.

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
