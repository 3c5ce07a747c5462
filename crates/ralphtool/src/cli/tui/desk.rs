//! Looks things up for the screen, on two threads: one for what is read from files and must be
//! quick, one for what asks git or reads whole changes and may take a while.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvError, Sender, TryRecvError, channel};
use std::thread;

use tokio::runtime::Runtime;
use tokio::sync::mpsc::UnboundedSender;

use super::lookup::Lookup;
use super::readers::Readers;
use crate::cli::context::Context;
use crate::ui::tui::message::{Answer, Export, Look, Msg};

/// Where looks are handed in.
pub(super) struct Desk {
    quick: Sender<Job>,
    slow: Sender<Job>,
}

/// One thing to do.
pub(super) enum Job {
    Look(Look),
    Export(PathBuf, Export),
}

impl Desk {
    /// Opens the desk; answers go to the screen.
    pub(super) fn open(context: &Context, answers: &UnboundedSender<Msg>) -> Self {
        let (quick, quick_jobs) = channel();
        let (slow, slow_jobs) = channel();
        let to_screen = answers.clone();
        thread::spawn(move || read(&quick_jobs, &to_screen));
        let to_screen = answers.clone();
        let context = context.clone();
        thread::spawn(move || ask(&slow_jobs, context, &to_screen));
        Self { quick, slow }
    }

    /// Hands in a look.
    pub(super) fn look(&self, look: Look) {
        let line = match look {
            Look::Window(..) | Look::Find(..) | Look::Detail(..) | Look::File(..) => &self.quick,
            Look::Changes | Look::Preview(..) | Look::Diff(_) | Look::Result(_) => &self.slow,
        };
        // Threads end with the program only.
        let _ = line.send(Job::Look(look));
    }

    /// Hands in something to write.
    pub(super) fn export(&self, path: PathBuf, export: Export) {
        let _ = self.slow.send(Job::Export(path, export));
    }
}

fn read(jobs: &Receiver<Job>, answers: &UnboundedSender<Msg>) {
    let mut readers = Readers::default();
    while let Ok(job) = next(jobs, &mut readers) {
        let Job::Look(look) = job else {
            continue;
        };
        if let Some(answer) = readers.answer(look)
            && tell(answers, answer).is_none()
        {
            return;
        }
    }
}

/// The next job; until it comes, what agents said is read.
fn next(jobs: &Receiver<Job>, readers: &mut Readers) -> Result<Job, RecvError> {
    while readers.is_behind() {
        match jobs.try_recv() {
            Ok(job) => return Ok(job),
            Err(TryRecvError::Empty) => readers.read_ahead(),
            Err(TryRecvError::Disconnected) => return Err(RecvError),
        }
    }
    jobs.recv()
}

fn ask(jobs: &Receiver<Job>, context: Context, answers: &UnboundedSender<Msg>) {
    let Ok(runtime) = runtime() else {
        return;
    };
    let mut lookup = Lookup::new(context);
    while let Ok(job) = jobs.recv() {
        let answer = match job {
            Job::Look(look) => runtime.block_on(lookup.answer(look)),
            Job::Export(path, export) => {
                let path = lookup.exported_to(&path);
                Some(Answer::Exported(super::readers::export(&path, export)))
            }
        };
        if let Some(answer) = answer
            && tell(answers, answer).is_none()
        {
            return;
        }
    }
}

fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

fn tell(answers: &UnboundedSender<Msg>, answer: Answer) -> Option<()> {
    answers.send(Msg::Answer(Box::new(answer))).ok()
}
