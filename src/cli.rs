//! How it is called: clap types, one file a command, no logic.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::edge::process::guard;

/// Parses the arguments and runs the command.
pub(crate) fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    // Before anything else: the guard must be quick and must not touch the world.
    if let Some(code) = guard::dispatch(&args) {
        return code;
    }
    ExitCode::SUCCESS
}
