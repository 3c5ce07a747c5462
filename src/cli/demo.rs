//! `ralphtool demo`: the whole thing on a throw-away repository.

use std::process::ExitCode;

use clap::Args;

use super::context::Context;
use crate::failure::Failure;

/// Flags of `demo`.
#[derive(Debug, Args)]
pub(super) struct DemoArguments {}

/// Makes the repository and runs the loop in it.
pub(super) fn run(_arguments: &DemoArguments, _context: &Context) -> Result<ExitCode, Failure> {
    Err(Failure::system("not wired"))
}
