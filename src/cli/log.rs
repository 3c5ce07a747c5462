//! `ralphtool log`: past runs of this repository, and what happened in one of them.

use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::context::Context;
use super::launch::{no_repository, on_runtime};
use super::output;
use super::tui;
use crate::domain::event::Record;
use crate::edge::repository::Repository;
use crate::edge::vault::{Vault, state_directory};
use crate::engine::history::{find_run, past_runs, read_run};
use crate::failure::Failure;
use crate::ui::json::Json;
use crate::ui::plain::{Look, NextSteps, Plain, Screen, Verbosity};
use crate::ui::{Face, log};

const EXAMPLES: &str = "\
Examples:
  ralphtool log                     the runs of this repository, the newest first
  ralphtool log last                what happened in the newest
  ralphtool log last --tui          the same, on the screen of a run
  ralphtool log last --json         the same, as JSON lines for a program";

/// Flags of `log`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct LogArguments {
    /// The run, as `ralphtool log` lists it, or `last`
    run: Option<String>,
    /// Write JSON: an array of runs, or the records of the run, one a line
    #[arg(long)]
    json: bool,
    /// Show the run on the screen it was, or would have been, shown on while it ran
    #[arg(long, requires = "run", conflicts_with = "json")]
    tui: bool,
}

/// Lists the runs, or shows one.
pub(super) fn run(arguments: &LogArguments, context: &Context) -> Result<ExitCode, Failure> {
    on_runtime(look(arguments, context))
}

async fn look(arguments: &LogArguments, context: &Context) -> Result<ExitCode, Failure> {
    let repository = Repository::discover(&context.folder()?)
        .await
        .map_err(|error| no_repository(&error))?;
    let vault = Vault::folder_for(&state_directory(&context.environment)?, &repository);
    let runs = past_runs(&repository, &vault)?;
    if let Some(name) = &arguments.run {
        let records = read_run(&vault, &find_run(&runs, name)?.run);
        if arguments.tui {
            return replay(records, context).await;
        }
        return show(&records, face(arguments, context));
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

async fn replay(records: Vec<Record>, context: &Context) -> Result<ExitCode, Failure> {
    if !tui::is_possible(context) {
        return Err(Failure::refused("there is no terminal to show the run on")
            .hint("leave out `--tui` for a log"));
    }
    Box::pin(tui::replay(records, context)).await
}

fn face(arguments: &LogArguments, context: &Context) -> Box<dyn Face> {
    if arguments.json {
        return Box::new(Json::new(output::stdout()));
    }
    let look = Look {
        // It is over, or goes on elsewhere: nothing is drawn again.
        screen: Screen::Pipe,
        paint: context.paint_for(&std::io::stdout()),
        verbosity: Verbosity::Normal,
        next: NextSteps::Untold,
        zone: TimeZone::system(),
    };
    Box::new(Plain::new(output::stdout(), look))
}

/// Shows what happened, as if it happened now.
fn show(records: &[Record], mut face: Box<dyn Face>) -> Result<ExitCode, Failure> {
    let mut all = records.iter();
    all.try_for_each(|record| face.show(record, record.at))
        .and_then(|()| face.close())
        .map_err(|error| Failure::system("could not write the output").because(error))?;
    Ok(ExitCode::SUCCESS)
}
