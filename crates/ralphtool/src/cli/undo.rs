//! `ralphtool undo`: take back the last finish, rewind or restored attempt.

use std::process::ExitCode;

use clap::Args;

use super::context::Context;
use super::finishing::{self, MoveFlags};
use ralph_run::failure::Failure;
use ralph_run::finishing::Session;

/// Flags of `undo`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralphtool undo --dry-run          what would be taken back
  ralphtool undo                    takes it back")]
pub(super) struct UndoArguments {
    #[command(flatten)]
    flags: MoveFlags,
}

/// Reverts the last of these.
pub(super) fn run(arguments: &UndoArguments, context: &Context) -> Result<ExitCode, Failure> {
    finishing::run(context, arguments.flags, Session::undo)
}
