//! `ralphtool list`: the changes of this repository.

use std::process::ExitCode;

use clap::Args;

use super::context::Context;
use crate::failure::Failure;

/// Flags of `list`.
#[derive(Debug, Default, Args)]
pub(super) struct ListArguments {
    /// Write a JSON array
    #[arg(long)]
    pub(super) json: bool,
}

/// Lists the changes.
pub(super) fn run(_arguments: &ListArguments, _context: &Context) -> Result<ExitCode, Failure> {
    Err(Failure::system("not wired"))
}
