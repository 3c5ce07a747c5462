//! `ralphtool show`: one change in full.

use std::process::ExitCode;

use clap::Args;

use super::context::Context;
use super::output;
use crate::ui::show;
use ralph_plan::show::ChangeView;
use ralph_run::failure::Failure;

/// Flags of `show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralphtool show add-retry          its stories, with the ids that other commands take
  ralphtool show PRD.md             the same for a checklist

Next: `ralphtool prompt CHANGE` prints what the agent is told.")]
pub(super) struct ShowArguments {
    /// The change: its name in `list`, or the path of its folder or file
    #[arg(value_name = "CHANGE|PATH")]
    pub(super) change: String,
    /// Write a JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// Shows a change.
pub(super) fn run(arguments: &ShowArguments, context: &Context) -> Result<ExitCode, Failure> {
    let change = context.change(&arguments.change)?;
    output::warn(
        context,
        change.warnings.iter().map(|it| it.message.as_str()),
    );
    if arguments.json {
        return output::json(&ChangeView::of(&change));
    }
    let paint = context.paint_for(&std::io::stdout());
    let here = context.folder()?;
    output::present(|out| show::write(out, paint, &change, &here))
}
