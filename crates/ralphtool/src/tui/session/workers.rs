//! Answers the queries of the screen on two threads: one for quick reads of open files, one for
//! queries that start git or read whole changes and may take a while.

use std::sync::mpsc::{Receiver, RecvError, Sender, TryRecvError, channel};
use std::thread;

use tokio::sync::mpsc::UnboundedSender;

use super::lookup::Lookup;
use super::readers::Readers;
use crate::console::context::Context;
use crate::tui::message::{Answer, Msg, Query};

/// The queues of the two threads.
pub(super) struct Workers {
    quick: Sender<Query>,
    slow: Sender<Query>,
}

impl Workers {
    /// Starts the threads; answers go to the screen.
    pub(super) fn start(context: &Context, answers: &UnboundedSender<Msg>) -> Self {
        let (quick, quick_queries) = channel();
        let (slow, slow_queries) = channel();
        let to_screen = answers.clone();
        thread::spawn(move || {
            let mut readers = Readers::default();
            while let Ok(query) = next(&quick_queries, &mut readers)
                && send(&to_screen, readers.answer(query))
            {}
        });
        let to_screen = answers.clone();
        let mut lookup = Lookup::new(context.clone());
        thread::spawn(move || {
            while let Ok(query) = slow_queries.recv()
                && send(&to_screen, lookup.answer(query))
            {}
        });
        Self { quick, slow }
    }

    pub(super) fn query(&self, query: Query) {
        let worker = match query {
            Query::Window(..) | Query::Find(..) | Query::Detail(..) | Query::File(..) => {
                &self.quick
            }
            Query::Changes
            | Query::Preview(..)
            | Query::Diff(_)
            | Query::Result(_)
            | Query::Undo(_)
            | Query::Look(_)
            | Query::Create(_)
            | Query::Export(..) => &self.slow,
        };
        // Threads end with the program only.
        let _ = worker.send(query);
    }
}

/// Waits for the next query, and reads ahead in the transcript meanwhile.
fn next(queries: &Receiver<Query>, readers: &mut Readers) -> Result<Query, RecvError> {
    while readers.is_behind() {
        match queries.try_recv() {
            Ok(query) => return Ok(query),
            Err(TryRecvError::Empty) => readers.read_ahead(),
            Err(TryRecvError::Disconnected) => return Err(RecvError),
        }
    }
    queries.recv()
}

/// Sends an answer; returns whether the screen is still running.
fn send(answers: &UnboundedSender<Msg>, answer: Option<Answer>) -> bool {
    answer.is_none_or(|answer| answers.send(Msg::Answer(Box::new(answer))).is_ok())
}
