//! The terminal UI with everything around it: the terminal, the screen's thread, the desk that
//! looks things up, and the loop on this thread.
//!
//! The loop stays on the thread the program began on, because agents die with the thread that
//! started them. The screen is beside it, and asks for runs.

mod desk;
mod input;
mod lookup;
mod mailbox;
mod pace;
mod panic_key;
mod readers;
mod screen_guard;
mod show;

use std::process::ExitCode;
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{self, Receiver, UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::context::Context;
use super::flags::RunArguments;
use super::launch::{self, ChangeSelector, Consent, LaunchOutcome, RunRequest};
use super::output;
use super::runtime::on_runtime;
use crate::ui::style::Paint;
use crate::ui::tui::app::{App, Home, Terminal};
use crate::ui::tui::message::{Asked, Msg, RunOver, Start};
use ralph_agents::hearing::DetailLevel;
use ralph_run::engine::Audience;
use ralph_run::engine::prepare::PreparedRun;
use ralph_run::failure::Failure;
use ralph_run::machine::UserCommand;
use ralph_run::records::event::Record;
use ralph_run::status::State;
use ralph_run::status::lookup::Watch;

use desk::Desk;
use mailbox::Mailbox;
use screen_guard::ScreenGuard;
pub(super) use screen_guard::give_back;
use show::{Parts, Screen};

/// How many times records may wait to be collected.
const RECORDS: usize = 1024;

/// How many commands may wait for the loop.
const COMMANDS: usize = 64;

/// How often a run in another terminal is looked at, and how often one that has ended: it may be
/// gone on with.
const LIVE: Duration = Duration::from_millis(100);
const STILL: Duration = Duration::from_secs(1);

/// What the screen asks of this thread.
enum Ask {
    /// Run this, and heed these commands.
    Start(Box<Start>, Receiver<UserCommand>),
}

/// Opens the list of changes.
pub(super) fn pick(context: &Context) -> Result<ExitCode, Failure> {
    on_runtime(async {
        let mut stage = Stage::open(context, Home::Changes, None)?;
        stage.serve(context).await?;
        stage.close(context)
    })
}

/// Shows a run that is ready.
pub(super) async fn run(ready: Box<PreparedRun>, context: &Context) -> Result<ExitCode, Failure> {
    let (sender, commands) = mpsc::channel(COMMANDS);
    let mut stage = Stage::open(context, Home::Run, Some(sender))?;
    let over = stage.play(ready, commands).await;
    stage.tell(Msg::RunOver(over));
    stage.serve(context).await?;
    stage.close(context)
}

/// Shows a run of the past.
pub(super) async fn replay(records: Vec<Record>, context: &Context) -> Result<ExitCode, Failure> {
    let mut stage = Stage::open(context, Home::Replay, None)?;
    for record in records {
        stage.tell(Msg::Record(Box::new(record)));
    }
    stage.serve(context).await?;
    stage.close(context)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows a run that another terminal works on, until the user leaves.
pub(super) async fn attach(
    watch: Watch,
    so_far: Vec<Record>,
    context: &Context,
) -> Result<ExitCode, Failure> {
    let mut stage = Stage::open(context, Home::Attach, None)?;
    for record in so_far {
        stage.tell(Msg::Record(Box::new(record)));
    }
    let messages = stage.messages.clone();
    let lost = tokio::select! {
        served = stage.serve(context) => served.err(),
        failure = feed(watch, messages) => Some(failure),
    };
    stage.tell(Msg::Leave);
    stage.close(context)?;
    match lost {
        Some(failure) => Err(failure),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Tells the screen what happens in the run, for as long as that can be read.
async fn feed(mut watch: Watch, messages: UnboundedSender<Msg>) -> Failure {
    let mut orphaned = false;
    loop {
        let records = match watch.refresh(Timestamp::now()) {
            Ok(records) => records,
            Err(failure) => return failure,
        };
        let state = watch.status(Timestamp::now()).state;
        let mut news: Vec<Msg> = Vec::new();
        news.extend(records.into_iter().map(|it| Msg::Record(Box::new(it))));
        if orphaned != (state == State::Interrupted) {
            orphaned = !orphaned;
            news.push(Msg::Orphaned(orphaned));
        }
        for msg in news {
            // A screen that is gone needs to know nothing.
            let _ = messages.send(msg);
        }
        let pause = if state.is_live() { LIVE } else { STILL };
        tokio::time::sleep(pause).await;
    }
}

/// The screen's thread, and the ways to and from it.
struct Stage {
    mailbox: Mailbox,
    messages: UnboundedSender<Msg>,
    asks: UnboundedReceiver<Ask>,
    screen: JoinHandle<std::io::Result<App>>,
    /// From the beginning: one that ended a run ends the program, too.
    terminate: Signal,
    hang_up: Signal,
    /// The exit code of the last run.
    exit_code: Option<u8>,
}

impl Stage {
    fn open(
        context: &Context,
        home: Home,
        commands: Option<mpsc::Sender<UserCommand>>,
    ) -> Result<Self, Failure> {
        let unheard = |error| Failure::system("could not listen for signals").because(error);
        let terminate = signal(SignalKind::terminate()).map_err(unheard)?;
        let hang_up = signal(SignalKind::hangup()).map_err(unheard)?;
        let unfit = |error| Failure::system("could not take the terminal over").because(error);
        let guard = ScreenGuard::enter().map_err(unfit)?;
        let look = Terminal {
            size: guard.size().map_err(unfit)?,
            colored: context.paint_for(&std::io::stdout()) == Paint::Colored,
            zone: TimeZone::system(),
            exports: std::env::temp_dir().display().to_string(),
        };
        let (messages, receiver) = unbounded_channel();
        let (ask, asks) = unbounded_channel();
        let mailbox = Mailbox::default();
        let parts = Parts {
            app: App::new(home, look, Timestamp::now()),
            desk: Desk::open(context, &messages),
            mailbox: mailbox.clone(),
            asks: ask,
            guard,
            commands,
        };
        let sender = messages.clone();
        let screen = std::thread::spawn(move || Screen::new(parts, sender, receiver).run());
        Ok(Self {
            mailbox,
            messages,
            asks,
            screen,
            terminate,
            hang_up,
            exit_code: None,
        })
    }

    fn tell(&self, msg: Msg) {
        // A screen that is gone needs to know nothing.
        let _ = self.messages.send(msg);
    }

    /// Runs what the screen asks for until it is gone.
    async fn serve(&mut self, context: &Context) -> Result<(), Failure> {
        let unheard = |error| Failure::system("could not listen for signals").because(error);
        loop {
            // Anew each time: one that was for a run is not for the screen.
            let mut interrupt = signal(SignalKind::interrupt()).map_err(unheard)?;
            let ask = tokio::select! {
                ask = self.asks.recv() => ask,
                _ = self.terminate.recv() => { self.tell(Msg::Leave); continue }
                _ = self.hang_up.recv() => { self.tell(Msg::Leave); continue }
                _ = interrupt.recv() => { self.tell(Msg::Leave); continue }
            };
            let Some(Ask::Start(start, commands)) = ask else {
                return Ok(());
            };
            let over = self.start(&start, commands, context).await;
            self.tell(Msg::RunOver(over));
        }
    }

    async fn start(
        &mut self,
        start: &Start,
        commands: Receiver<UserCommand>,
        context: &Context,
    ) -> RunOver {
        let flags = RunArguments::default();
        let request = RunRequest {
            change: ChangeSelector::Named(&start.change),
            fresh: start.fresh,
            flags: &flags,
            chosen: Some(&start.chosen),
            attended: true,
            consent: Consent::Screen(start.allowed.as_deref()),
        };
        match Box::pin(launch::prepare(&request, context)).await {
            Ok(LaunchOutcome::Ready(ready)) => self.play(ready, commands).await,
            Ok(LaunchOutcome::NothingLeft(..) | LaunchOutcome::Shown(_)) => RunOver::NothingLeft,
            Ok(LaunchOutcome::Asks(question, repaired)) => RunOver::Asks(Box::new(Asked {
                question: *question,
                recovered: repaired.iter().filter_map(launch::recovered).collect(),
                start: start.clone(),
            })),
            Err(failure) => RunOver::Failed(lookup::told(&failure)),
        }
    }

    async fn play(&mut self, ready: Box<PreparedRun>, commands: Receiver<UserCommand>) -> RunOver {
        let (sender, records) = mpsc::channel(RECORDS);
        let audience = Audience {
            records: sender,
            // The screen shows what is in the transcript; of the records it needs the last.
            detail_level: DetailLevel::Latest,
        };
        let mut caller = ready.caller();
        let messages = self.messages.clone();
        let collected = self.mailbox.collect(records, move |record| {
            let caller = caller.as_mut();
            if let Some(told) = caller.and_then(|caller| caller.hear(record)) {
                let _ = messages.send(Msg::Call(told.message));
            }
        });
        let end = Box::pin(ready.run(audience, Some(commands))).await;
        // All records are in the mailbox before the end is told.
        let _ = collected.join();
        match end {
            Ok(end) => {
                self.exit_code = Some(end.exit_code);
                RunOver::Ended(end.exit_code)
            }
            Err(error) => {
                let failure = Failure::system("the run could not go on").because(error);
                RunOver::Failed(lookup::told(&failure))
            }
        }
    }

    /// Gives the terminal back and says on it what the last run came to.
    fn close(self, context: &Context) -> Result<ExitCode, Failure> {
        drop(self.messages);
        let app = match self.screen.join() {
            Ok(Ok(app)) => app,
            // A terminal that was closed stopped the run, which says how it went.
            Ok(Err(error)) => {
                let failure = Failure::system("the terminal could not be used").because(error);
                return self.exit_code.map(ExitCode::from).ok_or(failure);
            }
            Err(panic) => std::panic::resume_unwind(panic),
        };
        give_back();
        if let Some(summary) = app.summary() {
            let paint = context.paint_for(&std::io::stdout());
            // A terminal that was closed cannot be told; the exit code is the run's all the same.
            let _ = output::present(|out| {
                summary.write(out, paint)?;
                summary.write_next(out, paint)
            });
        }
        Ok(self.exit_code.unwrap_or(0).into())
    }
}
