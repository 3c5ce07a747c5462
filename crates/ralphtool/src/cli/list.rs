//! `ralphtool list`: the changes of this repository, and its other plans.

use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;

use super::context::Context;
use super::output;
use crate::ui::list;
use ralph_plan::source;
use ralph_run::failure::Failure;

/// Flags of `list`.
#[derive(Debug, Default, Args)]
#[command(after_help = "\
Examples:
  ralphtool list                    what there is, of which kind, and how far it is
  ralphtool list --json             the same, for a program

Next: `ralphtool show CHANGE` looks at one, `ralphtool loop CHANGE` runs it.")]
pub(super) struct ListArguments {
    /// Write a JSON array
    #[arg(long)]
    pub(super) json: bool,
}

/// Lists the changes.
pub(super) fn run(arguments: &ListArguments, context: &Context) -> Result<ExitCode, Failure> {
    let around = context.surroundings()?;
    let found = source::survey(&around)?;
    output::warn(context, found.warnings.iter().map(|it| it.message.as_str()));
    let rows = list::rows(found.changes);
    if arguments.json {
        return output::json(&rows);
    }
    let paint = context.paint_for(&std::io::stdout());
    output::present(|out| {
        if rows.is_empty() {
            return list::write_empty(out, paint, &found.folder.display().to_string());
        }
        list::write(out, paint, &rows, Timestamp::now())
    })
}
