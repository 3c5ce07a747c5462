//! `ralphtool finish`: end a run, or change one's mind about a kept one.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Args;

use super::afterwards::{Saying, ask, carry_out, open_to, with_recovered};
use super::context::Context;
use super::runtime::on_runtime;
use crate::ui::afterwards as words;
use ralph_run::afterwards::perform::Afterwards;
use ralph_run::failure::Failure;
use ralph_run::records::event::FinishChoice;

const EXAMPLES: &str = "\
Examples:
  ralphtool finish --cleanup             the work on your branch, uncommitted
  ralphtool finish --abandon --dry-run   what going back to before the run would do
  ralphtool undo                         takes a finish back";

/// Flags of `finish`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct FinishArguments {
    #[command(flatten)]
    choice: ChoiceArguments,
    #[command(flatten)]
    saying: Saying,
}

/// How a run is ended; a terminal is asked where none is given.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct ChoiceArguments {
    /// Back to the original branch, the work as uncommitted changes; `ralph/CHANGE` goes
    #[arg(long)]
    cleanup: bool,
    /// Stay on `ralph/CHANGE` with all commits
    #[arg(long)]
    keep: bool,
    /// Put everything back exactly as it was before the run
    #[arg(long)]
    abandon: bool,
}

impl ChoiceArguments {
    const fn given(&self) -> Option<FinishChoice> {
        match (self.cleanup, self.keep, self.abandon) {
            (true, _, _) => Some(FinishChoice::Cleanup),
            (_, true, _) => Some(FinishChoice::Keep),
            (_, _, true) => Some(FinishChoice::Abandon),
            (false, false, false) => None,
        }
    }
}

/// Ends a run.
pub(super) fn run(arguments: &FinishArguments, context: &Context) -> Result<ExitCode, Failure> {
    on_runtime(finish(arguments, context))
}

async fn finish(arguments: &FinishArguments, context: &Context) -> Result<ExitCode, Failure> {
    let saying = arguments.saying;
    let given = arguments.choice.given();
    let can_ask = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if given.is_none() && (saying.json || !can_ask) {
        return Err(Failure::refused("say how the run is to be finished")
            .hint("`--cleanup`: back to your branch, the work as uncommitted changes")
            .hint("`--keep`: the commits stay on the checkpoint branch")
            .hint("`--abandon`: everything as it was before the run"));
    }
    let abandons = given == Some(FinishChoice::Abandon);
    let mut session = open_to(context, saying, abandons).await?;
    let choice = match given {
        Some(choice) => choice,
        None => match asked(context, &session)? {
            Some(choice) => choice,
            None => return Ok(ExitCode::SUCCESS),
        },
    };
    match session.finish(choice) {
        Ok(ready) => Box::pin(carry_out(context, saying, (session, ready))).await,
        Err(failure) => Err(with_recovered(failure, &session, saying)),
    }
}

fn asked(context: &Context, session: &Afterwards) -> Result<Option<FinishChoice>, Failure> {
    let run = session.run_to_finish()?;
    let paint = context.paint_for(&std::io::stdout());
    let answer = ask(|out| words::write_question(out, paint, &run.change, &run.branch))?;
    match answer.as_deref() {
        None | Some("q") => Ok(None),
        Some("" | "k") => Ok(Some(FinishChoice::Keep)),
        Some("c") => Ok(Some(FinishChoice::Cleanup)),
        Some("a") => Ok(Some(FinishChoice::Abandon)),
        Some(other) => Err(Failure::refused(format!(
            "`{other}` is none of c, k, a and q"
        ))),
    }
}
