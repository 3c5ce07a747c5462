//! `ralphtool resume`: resume the run that was interrupted, stopped or kept last.

use std::process::ExitCode;

use clap::Args;

use super::context::Context;
use super::flags::{EXIT_CODES, RunArguments};
use super::launch::{ChangeSelector, Consent, RunRequest};
use super::start;
use ralph_run::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  ralphtool resume                    goes on where the last run stopped
  ralphtool resume --max-retries 5    with more retries than before
  ralphtool resume --dry-run          what would be done; touches nothing

";

/// Flags of `resume`: those of `loop`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}{EXIT_CODES}"))]
pub(super) struct ResumeArguments {
    #[command(flatten)]
    run: RunArguments,
}

/// Resumes the last run.
pub(super) fn run(arguments: &ResumeArguments, context: &Context) -> Result<ExitCode, Failure> {
    let request = RunRequest {
        change: ChangeSelector::LastRun,
        fresh: false,
        flags: &arguments.run,
        chosen: None,
        attended: arguments.run.allow_screen() && context.has_screen(),
        consent: Consent::of(&arguments.run),
    };
    start::run(&request, context)
}
