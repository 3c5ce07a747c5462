//! `ralphtool show`: one change in full.

use std::process::ExitCode;

use clap::Args;

use super::context::Context;
use crate::failure::Failure;

/// Flags of `show`.
#[derive(Debug, Args)]
pub(super) struct ShowArguments {
    /// The change, or the path of any checklist file
    #[arg(value_name = "CHANGE|PATH")]
    pub(super) change: String,
    /// Write a JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// Shows a change.
pub(super) fn run(_arguments: &ShowArguments, _context: &Context) -> Result<ExitCode, Failure> {
    Err(Failure::system("not wired"))
}
