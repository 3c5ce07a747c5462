//! `ralphtool undo`: take back the last finish, rewind or restored attempt.

use std::process::ExitCode;

use clap::Args;

use super::afterwards::{Saying, carry_out, open, with_recovered};
use super::context::Context;
use super::runtime::on_runtime;
use ralph_run::failure::Failure;

/// Flags of `undo`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralphtool undo --dry-run          what would be taken back
  ralphtool undo                    takes it back")]
pub(super) struct UndoArguments {
    #[command(flatten)]
    saying: Saying,
}

/// Takes the last of these back.
pub(super) fn run(arguments: &UndoArguments, context: &Context) -> Result<ExitCode, Failure> {
    on_runtime(undo(arguments.saying, context))
}

async fn undo(saying: Saying, context: &Context) -> Result<ExitCode, Failure> {
    let mut session = open(context, saying).await?;
    match session.undo() {
        Ok(ready) => Box::pin(carry_out(context, saying, (session, ready))).await,
        Err(failure) => Err(with_recovered(failure, &session, saying)),
    }
}
