//! Runs the terminal UI: gives the app a terminal, keys and answers, and carries out its requests.
//!
//! The loop stays on the main thread, because agents die with the thread that started them. The
//! screen has its own thread and asks the main thread to start and follow runs.
//!
//! | file | what |
//! | --- | --- |
//! | `screen_loop` | the thread of the screen: messages in, requests out, when to draw (`pace`) |
//! | `screen_guard` | takes over the terminal and restores it |
//! | `input` | reads keys, the wheel and new sizes |
//! | `record_queue` | carries records from the loop to the screen |
//! | `workers` | answers queries: `readers` from open files, `lookup` from git and plans |

mod input;
mod lookup;
mod pace;
mod readers;
mod record_queue;
mod screen_guard;
mod screen_loop;
mod workers;

use std::process::ExitCode;
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{self, Receiver, UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::console::context::Context;
use crate::console::flags::RunArguments;
use crate::console::output;
use crate::console::repository::usable_repository;
use crate::console::runtime::on_runtime;
use crate::launch::{self, ChangeSelector, Consent, LaunchOutcome, RunRequest};
use crate::tui::app::{App, Terminal};
use crate::tui::message::{Msg, RunOver, Start, TrustPrompt};
use crate::tui::screen::run::RunMode;
use crate::ui::plain::NextSteps;
use crate::ui::style::Paint;
use ralph_agents::event_batch::DetailLevel;
use ralph_run::engine::RecordSink;
use ralph_run::engine::entry::StartMode;
use ralph_run::engine::prepare::PreparedRun;
use ralph_run::failure::Failure;
use ralph_run::machine::UserCommand;
use ralph_run::records::event::Record;
use ralph_run::records::state::RunState;
use ralph_run::status::lookup::Watch;

use pace::Pace;
use record_queue::RecordQueue;
use screen_guard::ScreenGuard;
pub(crate) use screen_guard::restore as restore_terminal;
use screen_loop::ScreenLoop;
use workers::Workers;

/// How many times records may wait to be collected.
const RECORDS: usize = 1024;

/// How many commands may wait for the loop.
const COMMANDS: usize = 64;

/// How often the records of a run in another terminal are read while it is active, and after it has
/// ended: it may be resumed.
const LIVE: Duration = Duration::from_millis(100);
const STILL: Duration = Duration::from_secs(1);

/// What the screen asks of the main thread.
enum Order {
    /// Start a run, with the user's commands for it.
    Start(Box<Start>, Receiver<UserCommand>),
    /// Show the run of another terminal.
    Attach,
    /// No longer show it.
    Detach,
}

/// Opens the list of changes.
pub(crate) fn pick(context: &Context) -> Result<ExitCode, Failure> {
    on_runtime(async {
        let mut session = Session::open(context, None, None)?;
        session.serve(context).await?;
        session.close(context)
    })
}

/// Shows a run that is ready.
pub(crate) async fn run(ready: Box<PreparedRun>, context: &Context) -> Result<ExitCode, Failure> {
    run_with(ready, NextSteps::Shown, context).await
}

/// Shows a run that is ready; the caller may say itself what to type next.
pub(crate) async fn run_with(
    ready: Box<PreparedRun>,
    next: NextSteps,
    context: &Context,
) -> Result<ExitCode, Failure> {
    let (sender, commands) = mpsc::channel(COMMANDS);
    let mut session = Session::open(context, Some(RunMode::Live), Some(sender))?;
    session.next = next;
    let over = session.run(ready, commands).await;
    session.send(Msg::RunOver(over));
    session.serve(context).await?;
    session.close(context)
}

/// Shows a run from its records.
pub(crate) async fn replay(records: Vec<Record>, context: &Context) -> Result<ExitCode, Failure> {
    let mut session = Session::open(context, Some(RunMode::Replay), None)?;
    session.send_all(records);
    session.serve(context).await?;
    session.close(context)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows a run of another terminal until the user leaves.
pub(crate) async fn attach(
    watch: Watch,
    so_far: Vec<Record>,
    context: &Context,
) -> Result<ExitCode, Failure> {
    let mut session = Session::open(
        context,
        Some(RunMode::Attached { interrupted: false }),
        None,
    )?;
    session.send_all(so_far);
    let messages = session.messages.clone();
    let lost = tokio::select! {
        served = session.serve(context) => served.err(),
        failure = feed(watch, messages) => Some(failure),
    };
    session.send(Msg::Leave);
    session.close(context)?;
    match lost {
        Some(failure) => Err(failure),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Sends the records of the run to the screen; returns when they can no longer be read.
async fn feed(mut watch: Watch, messages: UnboundedSender<Msg>) -> Failure {
    let mut interrupted = false;
    loop {
        let records = match watch.refresh(Timestamp::now()) {
            Ok(records) => records,
            Err(failure) => return failure,
        };
        let status = watch.status(&Zoned::now());
        // Sending fails only after the screen has ended.
        for record in records {
            let _ = messages.send(Msg::Record(Box::new(record)));
        }
        let is_interrupted = status.state == Some(RunState::Interrupted);
        if interrupted != is_interrupted {
            interrupted = !interrupted;
            let _ = messages.send(Msg::Interrupted(interrupted));
        }
        let pause = if status.is_live() { LIVE } else { STILL };
        tokio::time::sleep(pause).await;
    }
}

/// Sends the records of the run of this repository to the screen; returns when they can no longer be
/// read.
async fn follow(context: &Context, messages: UnboundedSender<Msg>) -> Failure {
    let watch = usable_repository(context)
        .and_then(|repository| Watch::open(repository.clone(), context.vault(&repository)?));
    match watch {
        Ok(watch) => feed(watch, messages).await,
        Err(failure) => failure,
    }
}

/// Waits for the end of what is followed; forever where nothing is.
async fn next_failure<F: Future<Output = Failure> + Unpin>(followed: &mut Option<F>) -> Failure {
    match followed {
        Some(followed) => followed.await,
        None => std::future::pending().await,
    }
}

/// The screen's thread, and the channels to and from it.
struct Session {
    queue: RecordQueue,
    messages: UnboundedSender<Msg>,
    orders: UnboundedReceiver<Order>,
    screen: JoinHandle<std::io::Result<App>>,
    /// Listens from the start: a signal that has ended a run ends the program, too.
    terminate: Signal,
    hang_up: Signal,
    /// The exit code of the last run.
    exit_code: Option<u8>,
    /// Whether the closing words say what to type next.
    next: NextSteps,
}

impl Session {
    fn open(
        context: &Context,
        mode: Option<RunMode>,
        commands: Option<mpsc::Sender<UserCommand>>,
    ) -> Result<Self, Failure> {
        let terminate = listen_for(SignalKind::terminate())?;
        let hang_up = listen_for(SignalKind::hangup())?;
        let unfit = |error| Failure::system("could not start the screen").because(error);
        let guard = ScreenGuard::enter().map_err(unfit)?;
        let terminal = Terminal {
            size: guard.size().map_err(unfit)?,
            colored: context.paint_for(&std::io::stdout()) == Paint::Colored,
            zone: TimeZone::system(),
            exports: std::env::temp_dir().display().to_string(),
        };
        let (messages, receiver) = unbounded_channel();
        let (to_main, orders) = unbounded_channel();
        let queue = RecordQueue::default();
        let screen = ScreenLoop {
            app: App::new(mode, terminal, Timestamp::now()),
            workers: Workers::start(context, &messages),
            queue: queue.clone(),
            messages: receiver,
            orders: to_main,
            guard,
            commands,
            pace: Pace::default(),
            suspended: false,
        };
        input::listen(messages.clone());
        let screen = std::thread::spawn(move || screen.run());
        Ok(Self {
            queue,
            messages,
            orders,
            screen,
            terminate,
            hang_up,
            exit_code: None,
            next: NextSteps::Shown,
        })
    }

    fn send(&self, msg: Msg) {
        // Sending fails only after the screen has ended.
        let _ = self.messages.send(msg);
    }

    fn send_all(&self, records: Vec<Record>) {
        for record in records {
            self.send(Msg::Record(Box::new(record)));
        }
    }

    /// Starts and follows the runs that the screen asks for, until the screen has ended.
    async fn serve(&mut self, context: &Context) -> Result<(), Failure> {
        let mut followed = None;
        loop {
            // A new listener each time: a signal that was sent to a run must not end the screen.
            let mut interrupt = listen_for(SignalKind::interrupt())?;
            let order = tokio::select! {
                order = self.orders.recv() => order,
                _ = self.terminate.recv() => { self.send(Msg::Leave); continue }
                _ = self.hang_up.recv() => { self.send(Msg::Leave); continue }
                _ = interrupt.recv() => { self.send(Msg::Leave); continue }
                lost = next_failure(&mut followed) => {
                    followed = None;
                    self.send(Msg::Lost(lookup::error_text(lost)));
                    continue
                }
            };
            match order {
                None => return Ok(()),
                Some(Order::Start(start, commands)) => {
                    let over = self.start(&start, commands, context).await;
                    self.send(Msg::RunOver(over));
                }
                Some(Order::Attach) => {
                    followed = Some(Box::pin(follow(context, self.messages.clone())));
                }
                Some(Order::Detach) => followed = None,
            }
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
            mode: StartMode {
                fresh: start.fresh,
                on_top: false,
            },
            flags: &flags,
            chosen: Some(&start.chosen),
            attended: true,
            consent: Consent::Screen(start.allowed.as_deref()),
        };
        match Box::pin(launch::prepare(&request, context)).await {
            Ok(LaunchOutcome::Ready(ready)) => self.run(ready, commands).await,
            Ok(LaunchOutcome::Nothing(nothing, _)) => {
                let failure = nothing.as_failure(&TimeZone::system());
                failure.map_or(RunOver::NothingLeft, |failure| {
                    RunOver::Failed(lookup::error_text(failure))
                })
            }
            Ok(LaunchOutcome::Asks(question, repaired)) => {
                RunOver::NeedsTrust(Box::new(TrustPrompt {
                    question: *question,
                    recovered: repaired,
                    start: start.clone(),
                }))
            }
            Err(failure) => RunOver::Failed(lookup::error_text(failure)),
        }
    }

    async fn run(&mut self, ready: Box<PreparedRun>, commands: Receiver<UserCommand>) -> RunOver {
        self.send(Msg::Earlier(ready.earlier()));
        let (sender, records) = mpsc::channel(RECORDS);
        let sink = RecordSink {
            records: sender,
            // The screen reads the transcript itself.
            detail_level: DetailLevel::Latest,
        };
        let mut caller = ready.caller();
        let messages = self.messages.clone();
        let collected = self.queue.collect(records, move |record| {
            let caller = caller.as_mut();
            if let Some(notice) = caller.and_then(|caller| caller.notification(record)) {
                let _ = messages.send(Msg::Notify(notice.message));
            }
        });
        let end = Box::pin(ready.run(sink, Some(commands))).await;
        // All records are in the queue before the end is sent.
        let _ = collected.join();
        match end {
            Ok(end) => {
                self.exit_code = Some(end.exit_code);
                RunOver::Ended(end.exit_code)
            }
            Err(error) => {
                let failure = Failure::system("the run could not continue").because(error);
                RunOver::Failed(lookup::error_text(failure))
            }
        }
    }

    /// Restores the terminal and prints the summary of the last run.
    fn close(self, context: &Context) -> Result<ExitCode, Failure> {
        drop(self.messages);
        let app = match self.screen.join() {
            Ok(Ok(app)) => app,
            // If the terminal was closed, that has stopped the run: its exit code counts.
            Ok(Err(error)) => {
                let failure = Failure::system("the terminal could not be used").because(error);
                return self.exit_code.map(ExitCode::from).ok_or(failure);
            }
            Err(panic) => std::panic::resume_unwind(panic),
        };
        restore_terminal();
        if let Some(summary) = app.summary() {
            // Writing to a closed terminal fails; the exit code is still the run's.
            let _ = output::page(context, |page| {
                summary.write(page);
                if self.next == NextSteps::Shown {
                    summary.write_next(page);
                }
            });
        }
        Ok(self.exit_code.unwrap_or(0).into())
    }
}

fn listen_for(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| Failure::system("could not listen for signals").because(error))
}
