//! What goes into the app and what comes out of it: messages and requests.
//!
//! `session` carries the requests out and answers queries with messages. The app itself never reads a
//! file or a clock.

use std::path::PathBuf;

use jiff::Timestamp;
use ratatui::crossterm::event::KeyEvent;

use crate::ui::change_rows::ChangeRow;
use ralph_agents::dialect::Output;
use ralph_agents::transcript::{Entry, Source};
use ralph_base::ids::AttemptId;
use ralph_plan::change::Change;
use ralph_run::machine::UserCommand;
use ralph_run::preview::Remark;
use ralph_run::records::event::Record;
use ralph_run::settings::trust::TrustQuestion;
use ralph_run::settings::{PartialSettings, Settings};
use ralph_vault::diff::{Diff, FileDiff};

/// One thing that happened.
#[derive(Debug)]
pub(crate) enum Msg {
    Clock(Timestamp),
    /// The screen is about to be drawn: what is missing for it may be asked for.
    Frame,
    Key(KeyEvent),
    Paste(String),
    /// The mouse wheel was turned.
    Wheel(Wheel),
    /// The terminal has another size.
    Resize {
        columns: u16,
        rows: u16,
    },
    /// The run says something.
    Record(Box<Record>),
    /// The loop is over, or could not start.
    RunOver(RunOver),
    /// Whether the process of a run in another terminal has gone without an end of its own.
    Interrupted(bool),
    /// A request was carried out.
    Answer(Box<Answer>),
    /// The user should be notified.
    Notify(String),
    /// The system wants the program to end.
    Leave,
}

/// A turn of the mouse wheel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wheel {
    pub(crate) up: bool,
    pub(crate) column: u16,
    pub(crate) row: u16,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RunOver {
    /// The loop ended with this exit code.
    Ended(u8),
    /// It did not start, or broke.
    Failed(ErrorText),
    /// There is nothing left to do in the change.
    NothingLeft,
    /// It did not start: the user has to be asked first.
    NeedsTrust(Box<TrustPrompt>),
}

/// What the user is asked before a run starts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TrustPrompt {
    /// What the repository's own settings file asks for.
    pub(crate) question: TrustQuestion,
    /// What was recovered before.
    pub(crate) recovered: Vec<String>,
    /// The run to start after a yes.
    pub(crate) start: Start,
}

/// An error in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ErrorText {
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
}

/// What the app wants done.
#[derive(Debug, PartialEq)]
pub(crate) enum Request {
    Quit,
    /// Stop the process until the user brings it back.
    Suspend,
    /// Forget what is on the screen and draw it all.
    Redraw,
    /// Listen to the mouse, or leave it to the terminal.
    Mouse(bool),
    Copy(String),
    Notify(String),
    Start(Box<Start>),
    /// Send a command to the running loop.
    Command(UserCommand),
    /// Look up something.
    Query(Query),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Start {
    pub(crate) change: String,
    /// What was chosen on the screen.
    pub(crate) chosen: PartialSettings,
    /// Start over, even if an interrupted run could be resumed.
    pub(crate) fresh: bool,
    /// The content of the repository's settings file that the user has just allowed.
    pub(crate) allowed: Option<String>,
}

/// What is exported.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Export {
    Text(String),
    /// The whole of an attempt's transcript.
    Transcript(TranscriptId),
}

/// Something the app needs from outside.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Query {
    Changes,
    /// One change with everything a preview shows, under settings chosen on the screen.
    Preview(String, Box<PartialSettings>),
    /// What an agent said, from this entry or up to the end.
    Window(TranscriptId, Span),
    /// An entry with a text.
    Find(TranscriptId, Needle),
    /// All of what is behind an entry.
    Detail(TranscriptId, Source),
    Diff(DiffId),
    /// The last lines of a file, at most this many.
    File(PathBuf, usize),
    Result(Box<ResultId>),
    /// Where an export was written.
    Export(PathBuf, Export),
}

/// Part of something long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Span {
    /// The last lines or entries, at most this many.
    Last(usize),
    /// From this one on, at most this many.
    From(usize, usize),
}

impl Span {
    /// Where it begins in something of this length, and how long it may be.
    pub(crate) fn of(self, total: usize) -> (usize, usize) {
        match self {
            Self::Last(count) => (total.saturating_sub(count), count),
            Self::From(from, count) => (from.min(total.saturating_sub(1)), count),
        }
    }
}

/// What is searched for in a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Needle {
    pub(crate) text: String,
    /// The entry the cursor is on; it is looked at last.
    pub(crate) here: usize,
    /// Towards the end, and then from the start; otherwise the other way round.
    pub(crate) forward: bool,
}

/// The transcript of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TranscriptId {
    pub(crate) attempt: AttemptId,
    pub(crate) folder: PathBuf,
    /// How it is to be read.
    pub(crate) output: Output,
}

/// A difference between two states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DiffId {
    /// The tree as it is now, against a checkpoint.
    Live {
        /// The checkpoint's commit.
        base: String,
    },
    /// Between two commits.
    Between { from: String, to: String },
    /// What a failed attempt had changed.
    Parked {
        /// The attempt's folder.
        folder: PathBuf,
    },
}

/// What a result is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResultId {
    pub(crate) change: String,
    /// The commits the run began at and came to; none where it completed nothing.
    pub(crate) range: Option<(String, String)>,
}

/// What was found.
#[derive(Debug)]
pub(crate) enum Answer {
    Changes(Result<ChangesFound, ErrorText>),
    Preview(Result<Box<Previewed>, ErrorText>),
    Window(TranscriptId, Result<Window, String>),
    /// Where a text is in a transcript; nowhere else.
    Found(TranscriptId, Needle, Option<usize>),
    /// All of what is behind an entry.
    Detail(TranscriptId, Source, Vec<String>),
    Diff(DiffId, Result<Box<Diff>, String>),
    File(PathBuf, Result<FileWindow, String>),
    Result(Box<ResultFound>),
    /// Where something was written.
    Exported(Result<PathBuf, String>),
}

/// The changes of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangesFound {
    /// Where they were looked for.
    pub(crate) folder: String,
    pub(crate) rows: Vec<ChangeRow>,
    /// The run that can be resumed.
    pub(crate) open: Option<OpenRun>,
}

/// A run that is not finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenRun {
    /// The change it works through.
    pub(crate) change: String,
    /// Its branch was kept, and it can be opened again.
    pub(crate) kept: bool,
}

/// Everything a preview shows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Previewed {
    pub(crate) change: Change,
    /// The texts that belong to it: artifact, path and text.
    pub(crate) documents: Vec<DocumentText>,
    /// The settings a run would have.
    pub(crate) settings: Settings,
    /// What to know before a start.
    pub(crate) remarks: Vec<Remark>,
    /// The prompt the next agent would get.
    pub(crate) prompt: String,
    /// A run of this change is open.
    pub(crate) open: bool,
}

/// A text that belongs to a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentText {
    /// What it is: `proposal`, `design`, `specs`.
    pub(crate) artifact: String,
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Part of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Window {
    pub(crate) entries: Vec<Entry>,
    /// How many there are altogether, as far as known.
    pub(crate) total: usize,
    /// There is more on disk that was not counted yet.
    pub(crate) more: bool,
}

/// Part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileWindow {
    /// The number of the first line, from 0.
    pub(crate) first: usize,
    pub(crate) lines: Vec<String>,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ResultFound {
    /// The change as it is now.
    pub(crate) change: Option<Change>,
    pub(crate) files: Result<Vec<FileDiff>, String>,
}
