//! `ralphtool gc`: makes room in the vault.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;

use crate::console::context::Context;
use crate::console::output;
use crate::launch::trust::can_ask;
use crate::ui::gc;
use ralph_base::amount::BadAmount;
use ralph_base::duration::TimeLimit;
use ralph_run::engine::housekeeping::{Request, prepare};
use ralph_run::failure::Failure;
use ralph_vault::gc::policy::Housekeeping;
use ralph_vault::other_vaults::Scope;
use ralph_vault::store::state_directory;

const EXAMPLES: &str = "\
Examples:
  ralphtool gc --dry-run            what would be removed, and how much room it takes
  ralphtool gc --older-than 7d      runs that ended more than a week ago
  ralphtool gc --all-vaults --yes   those of work trees that no longer exist, too
  ralphtool gc --forget repo-1a2b3c4d5e6f
                                    one vault with kept runs and parked attempts in it";

/// Flags of `gc`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(super) struct GcArguments {
    /// Keep runs that ended less than so long ago
    #[arg(long, value_name = "DURATION", default_value = "30d", value_parser = age)]
    pub(super) older_than: Duration,
    /// Look at the vaults of all other work trees, too; those whose work tree is gone are removed
    /// where they hold nothing you may want
    #[arg(long)]
    pub(super) all_vaults: bool,
    /// Remove one vault whose work tree is gone, with kept runs and parked attempts in it: its
    /// name, as `--all-vaults` lists it, or the path of its work tree
    #[arg(long, value_name = "VAULT", conflicts_with = "all_vaults")]
    pub(super) forget: Option<String>,
    /// Say what would be removed, and remove nothing
    #[arg(long, conflicts_with = "yes")]
    pub(super) dry_run: bool,
    /// Remove without asking
    #[arg(long, short)]
    pub(super) yes: bool,
    /// Write a JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// Reads an age; `off` would be a riddle here.
fn age(text: &str) -> Result<Duration, BadAmount> {
    let limit: TimeLimit = text.parse()?;
    match limit.0 {
        None if text.trim().eq_ignore_ascii_case("off") => Err(TimeLimit::refuse(text)),
        limit => Ok(limit.unwrap_or_default()),
    }
}

/// Makes room.
pub(super) fn run(arguments: &GcArguments, context: &Context) -> Result<ExitCode, Failure> {
    let prepared = prepare(&Request {
        directory: &context.folder()?,
        state: &state_directory(&context.environment)?,
        older_than: arguments.older_than,
        scope: if arguments.all_vaults {
            Scope::All
        } else {
            Scope::OwnOld
        },
        forget: arguments.forget.as_deref(),
    })?;
    let is_over = arguments.dry_run || prepared.report.is_empty();
    if is_over || !arguments.yes || !arguments.json {
        show(&prepared.report, arguments, context)?;
    }
    if is_over {
        return Ok(ExitCode::SUCCESS);
    }
    if !arguments.yes {
        if arguments.json || !can_ask() {
            return Err(
                Failure::refused("nothing was removed: nobody is here to ask")
                    .hint("pass `--yes` to remove it, or `--dry-run` to just look"),
            );
        }
        let answer = output::ask("remove it? [y/N] ")?;
        if !matches!(answer.as_deref(), Some("y" | "yes")) {
            return output::print(b"nothing was removed\n");
        }
    }
    let report = prepared.carry_out()?;
    show(&report, arguments, context)
}

fn show(
    report: &Housekeeping,
    arguments: &GcArguments,
    context: &Context,
) -> Result<ExitCode, Failure> {
    if arguments.json {
        return output::json(report);
    }
    let paint = context.paint_for(&std::io::stdout());
    output::present(|out| gc::write(out, paint, report, Timestamp::now()))
}
