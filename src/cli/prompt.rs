//! `ralphtool prompt`: what an agent would be told.

use std::process::ExitCode;

use clap::Args;

use super::context::Context;
use crate::failure::Failure;

/// Flags of `prompt`.
#[derive(Debug, Args)]
pub(super) struct PromptArguments {
    /// The change
    pub(super) change: String,
    /// The story, instead of the next open one
    #[arg(long, value_name = "ID")]
    pub(super) story: Option<String>,
}

/// Prints the prompt of a story.
pub(super) fn run(_arguments: &PromptArguments, _context: &Context) -> Result<ExitCode, Failure> {
    Err(Failure::system("not wired"))
}
