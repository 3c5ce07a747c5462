//! `ralphtool finish`: end a run, or change one's mind about a kept one.

use std::io::{self, IsTerminal as _, Write};
use std::process::ExitCode;

use clap::Args;

use super::context::Context;
use super::finishing::{MoveFlags, run_opened};
use super::output::ask;
use crate::ui::style::{NAME, Paint, STRONG};
use crate::ui::text::clean;
use ralph_run::failure::Failure;
use ralph_run::finishing::{Opening, Session};
use ralph_run::records::event::FinishChoice;
use ralph_vault::OpenRun;

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
    flags: MoveFlags,
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
    let flags = arguments.flags;
    let given = arguments.choice.given();
    let can_ask = io::stdin().is_terminal() && io::stdout().is_terminal();
    if given.is_none() && (flags.json || !can_ask) {
        return Err(Failure::refused("say how the run is to be finished")
            .hint("`--cleanup`: back to your branch, the work as uncommitted changes")
            .hint("`--keep`: the commits stay on the checkpoint branch")
            .hint("`--abandon`: everything as it was before the run"));
    }
    let opening = Opening {
        dry_run: flags.dry_run,
        abandons: given == Some(FinishChoice::Abandon),
    };
    run_opened(context, flags, opening, |session| {
        let choice = match given {
            Some(choice) => Some(choice),
            None => ask_for_choice(context, session)?,
        };
        choice.map(|choice| session.finish(choice)).transpose()
    })
}

fn ask_for_choice(context: &Context, session: &Session) -> Result<Option<FinishChoice>, Failure> {
    let run = session.run_to_finish()?;
    let paint = context.paint_for(&io::stdout());
    let answer = ask(|out| write_question(out, paint, &run))?;
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

/// Writes what there is to choose from, and leaves the cursor behind it.
fn write_question(out: &mut dyn Write, paint: Paint, run: &OpenRun) -> io::Result<()> {
    let question = format!("what becomes of the run of `{}`?", run.change);
    writeln!(out, "{}", paint.apply(STRONG, clean(&question)))?;
    let keep = format!("keep: its commits stay on `{}`", run.branch);
    let cleanup = "cleanup: back to your branch, the work as uncommitted changes";
    for (key, what) in [
        ("c", cleanup),
        ("k", keep.as_str()),
        ("a", "abandon: everything as it was before the run"),
        ("q", "nothing: the run stays as it is"),
    ] {
        writeln!(out, "  {}  {}", paint.apply(NAME, key), clean(what))?;
    }
    write!(out, "[k] ")
}
