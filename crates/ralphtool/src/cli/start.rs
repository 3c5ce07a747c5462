//! Starts a run and shows it: on the screen, or with a reporter on a thread of its own, so that a
//! slow terminal never holds up the loop.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::sync::mpsc::{Receiver, channel};

use super::reporter;
use crate::console::context::Context;
use crate::console::output;
use crate::console::runtime::on_runtime;
use crate::launch::nothing_to_run::NothingToRun;
use crate::launch::{self, LaunchOutcome, RunRequest, dry_run};
use crate::tui::session;
use crate::ui::page::Page;
use crate::ui::text::clean;
use crate::ui::{Reporter, bell};
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
    drop(tokio::task::spawn_blocking(TimeZone::system));
    match launch::prepare(request, context).await? {
        LaunchOutcome::Nothing(nothing, repaired) => {
            let write = |page: &mut Page| {
                for line in &repaired {
                    page.line(clean(line));
                }
                nothing.write(page, &TimeZone::system());
            };
            if request.flags.json {
                repeat_end(&nothing, context, write)?;
            } else {
                output::page(context, write)?;
            }
            Ok(nothing.exit_code().into())
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

/// Only records may appear on stdout: the last one of the run that did the work, if there is one.
fn repeat_end(
    nothing: &NothingToRun,
    context: &Context,
    write: impl FnOnce(&mut Page),
) -> Result<(), Failure> {
    let Some(record) = nothing.record() else {
        return Ok(());
    };
    let mut page = Page::new(context.paint_for(&std::io::stderr()));
    write(&mut page);
    // There is nowhere else to report a failure.
    let _ = std::io::stderr().write_all(page.text.as_bytes());
    output::json_line(record).map(drop)
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
