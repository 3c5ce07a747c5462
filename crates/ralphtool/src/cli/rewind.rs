//! `ralphtool rewind`: back to the checkpoint before a story.

use std::process::ExitCode;

use clap::Args;

use super::context::Context;
use super::finishing::{self, MoveFlags};
use ralph_base::ids::StoryId;
use ralph_run::failure::Failure;

/// Flags of `rewind`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralphtool rewind 3 --dry-run      which checkpoints would go
  ralphtool rewind 3                back to before story 3; then edit the plan, or
  ralphtool resume                  do it again from there")]
pub(super) struct RewindArguments {
    /// The story that is to be done again; it and all after it go
    story: String,
    #[command(flatten)]
    flags: MoveFlags,
}

/// Goes back to before a story.
pub(super) fn run(arguments: &RewindArguments, context: &Context) -> Result<ExitCode, Failure> {
    finishing::run(context, arguments.flags, |session| {
        session.rewind(&StoryId(arguments.story.clone()))
    })
}
