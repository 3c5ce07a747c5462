//! The messages that the app handles and the requests it returns.
//!
//! `session` carries out the requests and answers queries with messages. The app itself never reads
//! a file or a clock.

use std::path::PathBuf;

use ratatui::crossterm::event::KeyEvent;

use ralph_agents::dialect::Output;
use ralph_agents::transcript::{Entry, Source};
use ralph_base::ids::{AttemptId, RunId};
use ralph_plan::change::Change;
use ralph_plan::summary::ChangeSummary;
use ralph_run::check::CheckedChange;
use ralph_run::history::listed::LastRuns;
use ralph_run::machine::UserCommand;
use ralph_run::preview::Remark;
use ralph_run::records::event::Record;
use ralph_run::settings::trust::TrustQuestion;
use ralph_run::settings::{PartialSettings, Settings};
use ralph_vault::diff::Diff;

/// One thing that happened.
#[derive(Debug)]
pub(crate) enum Msg {
    Key(KeyEvent),
    Paste(String),
    /// The mouse wheel was turned.
    Wheel(Wheel),
    /// The terminal has another size.
    Resize {
        columns: u16,
        rows: u16,
    },
    /// What the parts of the run before this one recorded.
    Earlier(Vec<Record>),
    /// The run has written a record.
    Record(Box<Record>),
    /// The loop is over, or could not start.
    RunOver(RunOver),
    /// Whether the run in another terminal has been interrupted: its process died before it ended.
    Interrupted(bool),
    /// The run in another terminal can no longer be shown.
    Lost(ErrorText),
    /// A request was carried out.
    Answer(Box<Answer>),
    /// The user should be notified.
    Notify(String),
    /// A signal asks the program to end.
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
    /// It could not start, or failed.
    Failed(ErrorText),
    /// There is nothing left to do in the change.
    NothingLeft,
    /// It did not start, because the user has to allow it first.
    NeedsTrust(Box<TrustPrompt>),
}

/// What the user is asked before a run starts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TrustPrompt {
    /// What the repository's settings file asks for.
    pub(crate) question: TrustQuestion,
    /// What was recovered from an interrupted run before this question.
    pub(crate) recovered: Vec<String>,
    /// The run to start after a yes.
    pub(crate) start: Start,
}

/// An error as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ErrorText {
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
}

/// What the app asks `session` to do.
#[derive(Debug, PartialEq)]
pub(crate) enum Request {
    Quit,
    /// Stop the process, as Ctrl-Z does in a shell.
    Suspend,
    /// Clear the terminal and draw everything again.
    Redraw,
    /// Whether to receive mouse events; if not, the terminal can select text.
    Mouse(bool),
    Copy(String),
    Notify(String),
    Start(Box<Start>),
    /// Show the run that is at work in another terminal.
    Attach,
    /// No longer show it; read the changes again.
    Detach,
    /// Send a command to the running loop.
    Command(UserCommand),
    /// Look something up.
    Query(Query),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Start {
    pub(crate) change: String,
    /// The settings chosen on the preview.
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
    /// An attempt's whole transcript.
    Transcript(TranscriptId),
}

/// Something the app has to know, or to have done, for which files are read or git is started.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Query {
    Changes,
    /// Everything a preview shows of a change, with the settings chosen on the screen.
    Preview(String, Box<PartialSettings>),
    /// Part of what an agent said.
    Window(TranscriptId, Part),
    /// The next entry that contains a text.
    Find(TranscriptId, Needle),
    /// The full text of an entry.
    Detail(TranscriptId, Source),
    Diff(DiffId),
    /// The last lines of a file, at most this many.
    File(PathBuf, usize),
    /// More about the change with this target.
    Look(String),
    /// Write a new change of this name from the template.
    Create(String),
    /// The change of this name as it is after its run.
    Result(String),
    /// Revert what was done last with the branch of this run.
    Undo(RunId),
    /// Write an export to a path.
    Export(PathBuf, Export),
}

/// Which entries of a transcript are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The last ones, at most this many.
    Last(usize),
    /// From this one on, at most this many.
    From(usize, usize),
}

impl Part {
    /// The first entry and the most entries of a transcript with `total` entries.
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
    /// The entry at the cursor, which is searched last.
    pub(crate) here: usize,
    /// Search towards the end, then from the start; otherwise the other way round.
    pub(crate) forward: bool,
}

/// The transcript of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TranscriptId {
    pub(crate) attempt: AttemptId,
    pub(crate) folder: PathBuf,
    /// The format of the agent's output.
    pub(crate) output: Output,
}

/// A diff between two states of the tree.
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

/// The answer to a query.
#[derive(Debug)]
pub(crate) enum Answer {
    Changes(Result<ChangesFound, ErrorText>),
    Preview(Result<Box<Previewed>, ErrorText>),
    Window(TranscriptId, Result<Window, String>),
    /// The entry that contains a text; none if no entry does.
    Found(TranscriptId, Needle, Option<usize>),
    /// The full text of an entry, by lines.
    Detail(TranscriptId, Source, Vec<String>),
    Diff(DiffId, Result<Box<Diff>, String>),
    File(PathBuf, Result<FileWindow, String>),
    Look(String, Result<Box<ChangeDetail>, ErrorText>),
    Created(Result<Created, ErrorText>),
    Result(Option<Box<Change>>),
    Undone(Result<Undone, ErrorText>),
    /// Where an export was written.
    Exported(Result<PathBuf, String>),
}

/// The changes of a repository.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChangesFound {
    /// The folder that was searched.
    pub(crate) folder: String,
    pub(crate) rows: Vec<ChangeSummary>,
    /// The last run of each change.
    pub(crate) runs: LastRuns,
}

/// Everything a preview shows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Previewed {
    pub(crate) change: Change,
    pub(crate) documents: Vec<DocumentText>,
    /// The settings a run would have.
    pub(crate) settings: Settings,
    /// Problems and notes about a start.
    pub(crate) remarks: Vec<Remark>,
    /// What is weak in the plan and its gates.
    pub(crate) checked: CheckedChange,
    /// The prompt the next agent would get.
    pub(crate) prompt: String,
    /// Whether there is a run of this change that a fresh start would leave.
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
    /// How many entries the transcript has, as far as they are counted.
    pub(crate) total: usize,
    /// Whether there is more on disk that is not counted yet.
    pub(crate) more: bool,
}

/// Part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileWindow {
    /// The number of the first line, from 0.
    pub(crate) first: usize,
    pub(crate) lines: Vec<String>,
}

/// More about a change.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChangeDetail {
    pub(crate) change: Box<Change>,
    /// The text that says why it was written; empty if there is none.
    pub(crate) proposal: String,
    /// The gates that a run would have.
    pub(crate) gates: Vec<String>,
}

/// A change that was written from the template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Created {
    pub(crate) name: String,
    pub(crate) folder: String,
    /// The files to edit, relative to the folder: the one that must be edited first.
    pub(crate) files: Vec<String>,
}

/// What an undo restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Undone {
    /// Where HEAD is now, if it moved.
    pub(crate) head: Option<String>,
    /// What else came back: a sentence each.
    pub(crate) restored: Vec<String>,
    /// The command that does again what was undone.
    pub(crate) way_back: String,
}
