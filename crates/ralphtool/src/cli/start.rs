//! Starts a run and shows it: on the screen, or with a reporter on a thread of its own, so that a
//! slow terminal never holds up the loop.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::mpsc::{Receiver, channel};

use super::reporter;
use crate::console::context::Context;
use crate::console::flags::RunArguments;
use crate::console::output;
use crate::console::runtime::on_runtime;
use crate::launch::{self, LaunchOutcome, RunRequest, dry_run};
use crate::tui::session;
use crate::ui::{Reporter, bell, words};
use ralph_plan::change::Change;
use ralph_run::engine::RecordSink;
use ralph_run::engine::prepare::PreparedRun;
use ralph_run::failure::Failure;
use ralph_run::records::event::Record;
use ralph_run::records::notify::Listener;

/// How many times records may wait to be shown.
const WAITING: usize = 256;

/// How often a reporter may draw again.
const TICK: Duration = Duration::from_millis(100);

/// Runs the loop, or says what it would do.
pub(super) fn run(request: &RunRequest<'_>, context: &Context) -> Result<ExitCode, Failure> {
    if request.flags.dry_run {
        return dry_run::show(request, context);
    }
    on_runtime(start(request, context))
}

async fn start(request: &RunRequest<'_>, context: &Context) -> Result<ExitCode, Failure> {
    // To find the time zone for the first time means to list all there are; git is at work meanwhile.
    drop(tokio::task::spawn_blocking(jiff::tz::TimeZone::system));
    match launch::prepare(request, context).await? {
        LaunchOutcome::NothingLeft(change, repaired) => {
            nothing_left(&change, request.flags, repaired)
        }
        LaunchOutcome::DoneElsewhere(text, mut lines) => {
            lines.push(text);
            lines.push("`ralphtool finish --cleanup` brings the work to your branch".to_owned());
            lines.push("`ralphtool run CHANGE --fresh` starts over".to_owned());
            nothing_to_run(&lines, request.flags)
        }
        // Only a screen is answered so.
        LaunchOutcome::Asks(..) => Err(Failure::refused("not allowed: nothing was run")),
        LaunchOutcome::Ready(ready) if request.attended => {
            Box::pin(session::run(ready, context)).await
        }
        LaunchOutcome::Ready(ready) => {
            let reporter = reporter::of_run(request.flags, context);
            let calls = !request.flags.json && context.can_redraw();
            let caller = ready.caller().filter(|_| calls);
            Ok(show_run(ready, reporter, caller).await?.into())
        }
    }
}

fn nothing_left(
    change: &Change,
    flags: &RunArguments,
    mut lines: Vec<String>,
) -> Result<ExitCode, Failure> {
    let tally = change.story_tally();
    lines.push(words::nothing_left(&change.name, tally.done, tally.total));
    nothing_to_run(&lines, flags)
}

fn nothing_to_run(lines: &[String], flags: &RunArguments) -> Result<ExitCode, Failure> {
    if flags.json {
        // Only records may appear on stdout, and no run took place.
        return Ok(ExitCode::SUCCESS);
    }
    output::print(format!("{}\n", lines.join("\n")).as_bytes())
}

/// Runs what is ready while a reporter shows it, and a listener calls the user; gives the run's
/// exit code.
pub(super) async fn show_run(
    ready: Box<PreparedRun>,
    mut reporter: Box<dyn Reporter + Send>,
    caller: Option<Listener>,
) -> Result<u8, Failure> {
    reporter.recall(&ready.earlier());
    let (records, receiver) = channel(WAITING);
    let sink = RecordSink {
        records,
        detail_level: reporter.detail_level(),
    };
    let shown = std::thread::spawn(move || report(reporter, caller, receiver));
    let end = Box::pin(ready.run(sink, None)).await;
    match shown.join() {
        Ok(shown) => {
            shown.map_err(|error| Failure::system("could not write the output").because(error))?;
        }
        Err(panic) => std::panic::resume_unwind(panic),
    }
    let end = end.map_err(|error| Failure::system("the run could not continue").because(error))?;
    Ok(end.exit_code)
}

/// Shows records until the sender is gone.
fn report(
    mut reporter: Box<dyn Reporter + Send>,
    mut caller: Option<Listener>,
    mut receiver: Receiver<Vec<Record>>,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    runtime.block_on(async {
        loop {
            match tokio::time::timeout(TICK, receiver.recv()).await {
                Ok(Some(records)) => {
                    let now = Timestamp::now();
                    for record in &records {
                        reporter.show(record, now)?;
                        let notice = caller
                            .as_mut()
                            .and_then(|caller| caller.notification(record));
                        if let Some(notice) = notice {
                            reporter.flush()?;
                            let mut out = output::stdout();
                            out.write_all(bell::call(&notice.message).as_bytes())?;
                            out.flush()?;
                        }
                    }
                    reporter.flush()?;
                }
                Ok(None) => return reporter.close(),
                Err(_elapsed) => reporter.tick(Timestamp::now())?,
            }
        }
    })
}
