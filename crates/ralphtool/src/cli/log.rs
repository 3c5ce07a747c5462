//! `ralphtool log`: past runs of this repository, and what happened in one of them.

use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;

use super::context::Context;
use super::repository::repository_to_read;
use super::runtime::on_runtime;
use super::{output, reporter, tui};
use crate::ui::{Reporter, log, receipt};
use ralph_run::failure::Failure;
use ralph_run::history::lookup::{find_run, past_runs, read_run};
use ralph_run::receipt::Receipt;
use ralph_run::records::event::Record;
use ralph_vault::store::{Vault, state_directory};

const EXAMPLES: &str = "\
Examples:
  ralphtool log                     the runs of this repository, the newest first
  ralphtool log last                the receipt of the newest, story by story
  ralphtool log last --markdown     the same, for the body of a pull request
  ralphtool log last --json         the same, as one JSON object for a program
  ralphtool log last --events       everything that happened in it, in order
  ralphtool log last --tui          the same, on the screen of a run";

/// Flags of `log`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag people can give"
)]
pub(super) struct LogArguments {
    /// The run, as `ralphtool log` lists it, or `last`
    run: Option<String>,
    /// Write JSON: an array of runs, the receipt of the run, or with `--events` its records, one a line
    #[arg(long)]
    json: bool,
    /// Write the receipt as Markdown, fit for the body of a pull request
    #[arg(long, requires = "run", conflicts_with = "json")]
    markdown: bool,
    /// Show everything that happened, as it was, or would have been, shown while the run was at work
    #[arg(long, requires = "run", conflicts_with = "markdown")]
    events: bool,
    /// Show the run on the screen it was, or would have been, shown on while it ran
    #[arg(long, requires = "run", conflicts_with_all = ["json", "markdown", "events"])]
    tui: bool,
}

/// Lists the runs, or shows one.
pub(super) fn run(arguments: &LogArguments, context: &Context) -> Result<ExitCode, Failure> {
    on_runtime(list_or_show(arguments, context))
}

async fn list_or_show(arguments: &LogArguments, context: &Context) -> Result<ExitCode, Failure> {
    let repository = repository_to_read(context)?;
    let vault = Vault::folder_for(&state_directory(&context.environment)?, &repository);
    let runs = past_runs(&repository, &vault)?;
    if let Some(name) = &arguments.run {
        let run = find_run(&runs, name)?;
        let records = read_run(&vault, &run.run);
        if arguments.tui {
            return replay(records, context).await;
        }
        if arguments.events {
            return show(&records, reporter::of_past(arguments.json, context));
        }
        let receipt = Receipt::of(run, &records, Timestamp::now());
        return show_receipt(&receipt, arguments, context);
    }
    if arguments.json {
        return output::json(&runs);
    }
    let paint = context.paint_for(&std::io::stdout());
    output::present(|out| match runs.as_slice() {
        [] => log::write_empty(out),
        runs => log::write(out, paint, runs, Timestamp::now()),
    })
}

fn show_receipt(
    receipt: &Receipt,
    arguments: &LogArguments,
    context: &Context,
) -> Result<ExitCode, Failure> {
    if arguments.json {
        return output::json(receipt);
    }
    if arguments.markdown {
        return output::print(receipt::markdown::page(receipt).as_bytes());
    }
    let paint = context.paint_for(&std::io::stdout());
    output::present(|out| receipt::write(out, paint, receipt))
}

async fn replay(records: Vec<Record>, context: &Context) -> Result<ExitCode, Failure> {
    if !context.has_screen() {
        return Err(Failure::refused("there is no terminal to show the run on")
            .hint("leave out `--tui` for a log"));
    }
    Box::pin(tui::replay(records, context)).await
}

/// Shows what happened, as if it happened now.
fn show(records: &[Record], mut reporter: Box<dyn Reporter>) -> Result<ExitCode, Failure> {
    let mut all = records.iter();
    all.try_for_each(|record| reporter.show(record, record.at))
        .and_then(|()| reporter.close())
        .map_err(|error| Failure::system("could not write the output").because(error))?;
    Ok(ExitCode::SUCCESS)
}
