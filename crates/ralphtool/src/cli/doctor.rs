//! `ralphtool doctor`: what would keep a run from starting, and what earlier ones left behind.

use std::process::ExitCode;

use clap::Args;

use super::context::Context;
use super::output;
use super::runtime::on_runtime;
use crate::ui::doctor;
use ralph_run::doctor::checks::{Patient, examine};
use ralph_run::failure::Failure;
use ralph_vault::store::state_directory;

const EXAMPLES: &str = "\
Examples:
  ralphtool doctor                  before the first run, and whenever something is odd
  ralphtool doctor --json           the same, for a program

";

const EXIT_CODES: &str = "\
Exit codes:
  0    a run can start; there may be warnings
  2    a run would refuse to start
  4    git or the system does not work";

/// Flags of `doctor`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}{EXIT_CODES}"))]
pub(super) struct DoctorArguments {
    /// Write a JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// Looks at everything a run needs.
pub(super) fn run(arguments: &DoctorArguments, context: &Context) -> Result<ExitCode, Failure> {
    on_runtime(look(arguments, context))
}

async fn look(arguments: &DoctorArguments, context: &Context) -> Result<ExitCode, Failure> {
    let patient = Patient {
        directory: context.folder()?,
        state: state_directory(&context.environment),
        config: context.config.clone(),
        home: std::env::home_dir(),
        surroundings: context.surroundings()?,
        environment: context.environment.clone(),
    };
    let diagnosis = examine(&patient).await;
    if arguments.json {
        output::json(&diagnosis)?;
    } else {
        let paint = context.paint_for(&std::io::stdout());
        output::present(|out| doctor::write(out, paint, &diagnosis))?;
    }
    Ok(diagnosis.exit_code().into())
}
