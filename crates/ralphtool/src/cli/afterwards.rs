//! What the commands that follow a run share: where they work, what they say before and after, and
//! the flags for it.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::context::Context;
use super::output;
use crate::ui::afterwards as words;
use ralph_run::afterwards::perform::{Afterwards, Ready};
use ralph_run::afterwards::{Done, Plan, Recovered};
use ralph_run::failure::Failure;
use ralph_vault::store::state_directory;

/// Flags of every command that moves something.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(super) struct Saying {
    /// Say what would be done, and touch nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Write one JSON object with the plan and the result, and nothing else
    #[arg(long)]
    pub(super) json: bool,
}

/// All that is said, as one object.
#[derive(Serialize)]
struct Report<'a> {
    v: u32,
    recovered: &'a [Recovered],
    plan: &'a Plan,
    dry_run: bool,
    /// None in a dry run.
    result: Option<&'a Done>,
}

/// Opens the checkpoints, and says what was recovered.
pub(super) async fn open(context: &Context, saying: Saying) -> Result<Afterwards, Failure> {
    open_to(context, saying, false).await
}

/// Opens the checkpoints, says what was recovered, and knows whether all goes back to before the run.
pub(super) async fn open_to(
    context: &Context,
    saying: Saying,
    abandons: bool,
) -> Result<Afterwards, Failure> {
    let directory = context.folder()?;
    let state = state_directory(&context.environment)?;
    let session = Afterwards::open(&directory, &state, (saying.dry_run, abandons)).await?;
    if !saying.json {
        let paint = context.paint_for(&std::io::stdout());
        output::present(|out| words::write_recovered(out, paint, &session.recovered))?;
    }
    Ok(session)
}

/// Says what will be done, does it, and says how to take it back.
pub(super) async fn carry_out(
    context: &Context,
    saying: Saying,
    (mut session, ready): (Afterwards, Ready),
) -> Result<ExitCode, Failure> {
    let paint = context.paint_for(&std::io::stdout());
    let plan = ready.plan.clone();
    if !saying.json {
        output::present(|out| words::write_plan(out, paint, &plan))?;
    }
    let done = if saying.dry_run {
        None
    } else {
        Some(session.carry_out(ready)?)
    };
    if saying.json {
        return output::json(&Report {
            v: ralph_run::records::event::WIRE_VERSION,
            recovered: &session.recovered,
            plan: &plan,
            dry_run: saying.dry_run,
            result: done.as_ref(),
        });
    }
    output::present(|out| match &done {
        None => words::write_dry(out, paint),
        Some(_) if plan.already => Ok(()),
        Some(done) => words::write_done(out, paint, &plan, done),
    })
}

/// A failure that says in JSON mode, too, what was recovered before it.
pub(super) fn with_recovered(failure: Failure, session: &Afterwards, saying: Saying) -> Failure {
    if !saying.json {
        return failure;
    }
    let told = session.recovered.iter();
    let told = told.map(|it| format!("recovered: {}: {}", it.found, it.done));
    told.fold(failure, Failure::hint)
}

/// Asks a question on the terminal; the answer's first letter, or none at the end of the input.
pub(super) fn ask(
    write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>,
) -> Result<Option<String>, Failure> {
    let unheard = |error| Failure::system("could not ask").because(error);
    let mut out = output::stdout();
    write(&mut *out)
        .and_then(|()| out.flush())
        .map_err(unheard)?;
    let mut answer = String::new();
    let length = std::io::stdin().read_line(&mut answer).map_err(unheard)?;
    Ok((length > 0).then(|| answer.trim().to_lowercase()))
}
