//! The loop of the screen's thread: it passes messages to the app, carries out its requests, and
//! draws a frame when something has changed, at most thirty a second.

use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

use jiff::Timestamp;
use rustix::process::Signal as Signals;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{self, Sender, UnboundedReceiver, UnboundedSender};
use tokio::time::{Instant, sleep_until};

use super::pace::Pace;
use super::record_queue::RecordQueue;
use super::screen_guard::ScreenGuard;
use super::workers::Workers;
use super::{COMMANDS, Order, input};
use crate::tui::app::App;
use crate::tui::message::{Msg, Query, Request};
use ralph_run::machine::UserCommand;
use ralph_run::records::event::Record;

/// How often clocks are drawn.
const TICK: Duration = Duration::from_secs(1);

/// The screen, and everything it is connected to.
pub(super) struct ScreenLoop {
    pub(super) app: App,
    pub(super) guard: ScreenGuard,
    pub(super) queue: RecordQueue,
    pub(super) messages: UnboundedReceiver<Msg>,
    pub(super) workers: Workers,
    /// To the main thread, which starts and follows runs.
    pub(super) orders: UnboundedSender<Order>,
    /// To the current run.
    pub(super) commands: Option<Sender<UserCommand>>,
    pub(super) pace: Pace,
    /// Whether the process is stopped and the terminal restored.
    pub(super) suspended: bool,
}

impl ScreenLoop {
    /// Runs until the app quits or the terminal is closed; returns the app.
    pub(super) fn run(mut self) -> io::Result<App> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let shown = runtime.block_on(self.show());
        runtime.shutdown_background();
        shown.map(|()| self.app)
    }

    async fn show(&mut self) -> io::Result<()> {
        let mut stops = signal(raw(Signals::TSTP))?;
        let mut resumes = signal(raw(Signals::CONT))?;
        let first = self.app.first_query();
        if self.perform(first)?.is_break() {
            return Ok(());
        }
        loop {
            self.draw_if_due()?;
            let mut batch = VecDeque::new();
            let due = self.next_wake();
            tokio::select! {
                // Keys come first.
                biased;
                msg = self.messages.recv() => match msg {
                    Some(msg) => batch.push_back(msg),
                    // All senders are gone.
                    None => return Ok(()),
                },
                _ = stops.recv() => self.suspend()?,
                _ = resumes.recv() => self.resume()?,
                // Once there is something to draw, records can wait until the next frame is due.
                () = self.queue.filled(), if !self.app.has_changed() => {}
                () = until(due) => {}
            }
            while let Ok(msg) = self.messages.try_recv() {
                batch.push_back(msg);
            }
            let batch = in_order(batch, self.queue.take());
            self.app.set_now(Timestamp::now());
            let is_input = |msg: &Msg| matches!(msg, Msg::Key(_) | Msg::Wheel(_));
            let was_input = batch.iter().any(is_input);
            for msg in batch {
                match &msg {
                    Msg::Key(key) => input::panic_if_named(key),
                    // The terminal may have been smaller in between and cut off what was drawn.
                    Msg::Resize { .. } if !self.suspended => self.guard.invalidate()?,
                    _ => {}
                }
                let request = self.app.update(msg);
                if self.perform(request)?.is_break() {
                    return Ok(());
                }
            }
            if was_input {
                self.pace.pressed();
                // Ask now, so that the next frame shows what the key has made visible.
                self.ask_for_missing();
            }
        }
    }

    /// When to wake up if no message arrives.
    fn next_wake(&self) -> Option<Instant> {
        if self.suspended {
            return None;
        }
        let now = Instant::now();
        if self.app.has_changed() {
            return Some(self.pace.due(now));
        }
        self.app.is_ticking().then(|| now + TICK)
    }

    fn draw_if_due(&mut self) -> io::Result<()> {
        let now = Instant::now();
        let is_due = self.pace.due(now) <= now;
        if self.suspended || !is_due || !self.app.take_changed() {
            return Ok(());
        }
        self.ask_for_missing();
        self.guard.draw(&self.app)?;
        self.app.drawn();
        self.pace.drew(Instant::now());
        Ok(())
    }

    fn ask_for_missing(&mut self) {
        if let Some(query) = self.app.missing() {
            self.workers.query(query);
        }
    }

    /// Carries out a request; breaks if the app quits.
    fn perform(&mut self, request: Option<Request>) -> io::Result<ControlFlow<()>> {
        match request {
            None => {}
            // The terminal belongs to the shell at the moment.
            Some(Request::Notify(_)) if self.suspended => {}
            Some(Request::Quit) => return Ok(ControlFlow::Break(())),
            Some(Request::Suspend) => self.suspend()?,
            Some(Request::Redraw) => {
                self.guard.invalidate()?;
                self.redraw()?;
            }
            Some(Request::Mouse(on)) => self.guard.set_mouse(on)?,
            Some(Request::Copy(text)) => ScreenGuard::copy(&text)?,
            Some(Request::Notify(message)) => ScreenGuard::notify(&message)?,
            Some(Request::Query(query)) => self.workers.query(query),
            Some(Request::Command(command)) => {
                // A command for a run that has ended is dropped, as is one for a full channel.
                let commands = self.commands.as_ref();
                let _ = commands.map(|commands| commands.try_send(command));
            }
            Some(Request::Start(start)) => {
                let (sender, receiver) = mpsc::channel(COMMANDS);
                self.commands = Some(sender);
                self.order(Order::Start(start, receiver));
            }
            Some(Request::Attach) => self.order(Order::Attach),
            Some(Request::Detach) => {
                self.order(Order::Detach);
                self.workers.query(Query::Changes);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn order(&self, order: Order) {
        // If the receiver is gone, the program is about to end.
        let _ = self.orders.send(order);
    }

    /// Restores the terminal and stops the process. This thread may run on for a moment after the
    /// signal, and must not touch the terminal then.
    fn suspend(&mut self) -> io::Result<()> {
        self.suspended = true;
        ScreenGuard::suspend()
    }

    fn resume(&mut self) -> io::Result<()> {
        self.suspended = false;
        self.guard.take_over()?;
        self.redraw()
    }

    /// Draws again; the terminal may have a new size.
    fn redraw(&mut self) -> io::Result<()> {
        let (columns, rows) = self.guard.size()?;
        self.app.update(Msg::Resize { columns, rows });
        Ok(())
    }
}

/// Orders a batch: keys and answers, then records, then the end of the run, because all its records
/// were queued before its end was sent.
fn in_order(messages: VecDeque<Msg>, records: VecDeque<Record>) -> Vec<Msg> {
    let is_end = |msg: &Msg| matches!(msg, Msg::RunOver(_) | Msg::Leave);
    let (ends, mut batch): (Vec<Msg>, Vec<Msg>) = messages.into_iter().partition(is_end);
    batch.extend(records.into_iter().map(|it| Msg::Record(Box::new(it))));
    batch.extend(ends);
    batch
}

/// A signal by its number.
fn raw(which: Signals) -> SignalKind {
    SignalKind::from_raw(which.as_raw())
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::message::RunOver;
    use pretty_assertions::assert_eq;
    use ralph_base::ids::RunId;
    use ralph_run::records::event::{Event, WIRE_VERSION};

    #[test]
    fn a_run_is_over_only_after_its_last_record() {
        let record = Record {
            v: WIRE_VERSION,
            seq: 0,
            at: Timestamp::UNIX_EPOCH,
            run: RunId("r".to_owned()),
            event: Event::NoteAdded {
                text: "n".to_owned(),
                story: None,
            },
        };
        let messages = VecDeque::from([
            Msg::RunOver(RunOver::Ended(0)),
            Msg::Leave,
            Msg::Paste("p".to_owned()),
        ]);
        let order = in_order(messages, VecDeque::from([record]));
        let names: Vec<&str> = order
            .iter()
            .map(|msg| match msg {
                Msg::Paste(_) => "paste",
                Msg::Record(_) => "record",
                Msg::RunOver(_) => "over",
                Msg::Leave => "leave",
                _ => "other",
            })
            .collect();
        assert_eq!(names, ["paste", "record", "over", "leave"]);
    }
}
