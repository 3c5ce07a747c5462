//! The write-ahead journal: every step that changes the repository is written here, durably, as
//! an intent before it is done and as a result after.
//!
//! Each step is one line: a checksum and JSON. A torn end is expected after a crash and ignored.
//!
//! A process that is killed loses nothing it has written, a machine that stops loses what is not
//! synced. Lines that only matter after a kill are not synced: they name the uptime they were
//! written in, and in another uptime a recovery checks what they say.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::git::object_id::ObjectId;
use crate::git::repository::Head;
use crate::journal::reopening::Reopening;
use crate::outcome::{FailureKind, FinishChoice};
use ralph_base::durability;
use ralph_base::files::{FileError, Tried, open_append, read_if_present, sync_file_system};
use ralph_base::ids::{AttemptId, RunId, StoryId};
use ralph_base::kill_point::{Point, reached, reached_after};
use ralph_base::os::uptime;
use ralph_base::shell::quoted;

/// The ref of the stash.
pub const STASH: &str = "refs/stash";

/// A step of the checkpoint protocol.
///
/// Recovery goes by the `Phase` that the steps add up to, see `run_state`.
///
/// | step | synced before the next step | recovery, if it is the last |
/// | --- | --- | --- |
/// | `BeginIntent` | snapshots and commit, then the line | undoes the begin; no file was touched |
/// | `Begun` | branch, HEAD and index | nothing to do |
/// | `BeginTakenBack` | files, then the line | nothing to do |
/// | `AttemptStarted` | the line | parks the attempt and restores the checkpoint |
/// | `RoundStarted` | nothing | parks the attempt and restores the checkpoint |
/// | `Parked` | the parked attempt, then the line | restores; parks later edits first |
/// | `RestoreIntent` | the line | restores; parks later edits first, where an attempt came before |
/// | `RestoredUnsynced` | nothing | syncs; after an outage restores again |
/// | `Restored` | files, then the line | nothing to do |
/// | `Verified` | nothing | commits the story; parks it after an outage or an edit, or to abandon the run |
/// | `SaveIntent` | commit and snapshot, then the line | moves branch, HEAD and index to the commit |
/// | `Saved` | nothing | nothing to do; after an outage moves branch and index again |
/// | `Kept` | files, then the line | nothing to do |
/// | `Reopened` | the line | nothing to do |
/// | `MoveIntent` | both snapshots, then the line | completes the move, unless branches or HEAD were moved since |
/// | `Moved`, `MoveGivenUp` | files, then the line | nothing to do |
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// The branch is about to be made and HEAD moved to it; everything needed is durable.
    BeginIntent { intent: Box<BeginIntent> },
    /// The branch exists, HEAD and index are there.
    Begun,
    /// A begin that failed midway was undone.
    BeginTakenBack,
    /// An agent is about to be started on the checkpoint.
    AttemptStarted {
        attempt: AttemptId,
        /// Retries of the story used up before it.
        retries_used: u32,
    },
    /// The session of an attempt's agent is about to go on, in the tree as it is.
    RoundStarted {
        attempt: AttemptId,
        /// Which round of the attempt; the one it began with is the first.
        round: u32,
    },
    /// The whole state an attempt left is in the vault.
    Parked {
        attempt: AttemptId,
        snapshot: String,
        /// What the prompt of the next attempt says.
        reason: Option<String>,
        /// It uses up a retry.
        counts: bool,
        #[serde(flatten)]
        note: ParkedNote,
    },
    /// From here on the tree may differ from the checkpoint: a restore, a gate on the checkpoint or the
    /// reopening of a story begins. Recovery restores the checkpoint.
    RestoreIntent,
    /// The checkpoint is restored, and the next attempt follows at once.
    #[serde(rename = "put_back")]
    RestoredUnsynced,
    /// The checkpoint is restored, and the user may change the tree.
    Restored,
    /// A story is done and verified; its checkpoint is about to be made.
    Verified { story: StoryNote },
    /// A checkpoint commit exists and the branch is about to be moved to it.
    SaveIntent {
        commit: ObjectId,
        /// The tree it was made from.
        snapshot: String,
        work: SavedWork,
        /// Files the commit changes.
        changed_files: usize,
    },
    /// The branch is at the commit.
    Saved,
    /// The run is over and its branch was kept.
    Kept {
        /// Files that differ from where the run began.
        changed_files: usize,
    },
    /// A run whose branch was kept is resumed, or finished in another way.
    Reopened,
    /// Everything is about to be moved from one state to another; both are in the vault.
    MoveIntent { intent: Box<MoveIntent> },
    /// Everything is where the intent said.
    Moved,
    /// A move was interrupted, and the user has worked on since: everything was left as found.
    MoveGivenUp,
}

/// What a checkpoint commit holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SavedWork {
    /// The work of a story.
    Story(StoryId),
    /// The open boxes of a story that has to be done again.
    Reopened(Reopening),
    /// What the user changed while no agent was at work.
    Meanwhile,
    /// What was in the tree when an interrupted run was resumed.
    Resumed,
}

impl SavedWork {
    /// The story whose work it is.
    pub fn story(&self) -> Option<&StoryId> {
        match self {
            Self::Story(story) => Some(story),
            Self::Reopened(_) | Self::Meanwhile | Self::Resumed => None,
        }
    }

    /// The subject of its commit.
    pub(crate) fn subject(&self) -> String {
        match self {
            Self::Story(story) => format!("checkpoint: {story}"),
            Self::Reopened(reopening) => format!("reopen: {}", reopening.story),
            Self::Meanwhile | Self::Resumed => self.to_string(),
        }
    }
}

impl fmt::Display for SavedWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Story(story) => story.fmt(f),
            Self::Reopened(reopening) => write!(f, "reopened {}", reopening.story),
            Self::Meanwhile => f.write_str("changes made meanwhile"),
            Self::Resumed => f.write_str("resumed state"),
        }
    }
}

/// What must be on disk before the step after a line is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durable {
    /// The line names files, objects or refs: sync those, then the line.
    FilesThenLine,
    /// Sync the files, not the line.
    Files,
    /// Sync the line alone: what it needs is durable already, or can be done again.
    Line,
    /// Losing this line is harmless: recovery redoes the step.
    Nothing,
}

impl Step {
    /// Every snapshot the step names: as long as its line is in the journal they are needed.
    pub fn snapshots(&self) -> Vec<&str> {
        match self {
            Self::BeginIntent { intent } => {
                let before = intent
                    .before
                    .as_ref()
                    .map(|before| before.snapshot.as_str());
                let own = [intent.start.as_str(), &intent.checkpoint];
                own.into_iter().chain(before).collect()
            }
            Self::Parked { snapshot, .. } | Self::SaveIntent { snapshot, .. } => vec![snapshot],
            Self::MoveIntent { intent } => vec![&intent.before, &intent.after],
            Self::Begun
            | Self::BeginTakenBack
            | Self::AttemptStarted { .. }
            | Self::RoundStarted { .. }
            | Self::RestoreIntent
            | Self::RestoredUnsynced
            | Self::Restored
            | Self::Verified { .. }
            | Self::Saved
            | Self::Kept { .. }
            | Self::Reopened
            | Self::Moved
            | Self::MoveGivenUp => Vec::new(),
        }
    }

    /// What must be on disk for the step.
    pub const fn durable(&self) -> Durable {
        match self {
            // Verified: what the agent wrote is not synced either, so after an outage the attempt
            // counts as interrupted. Saved: the intent is durable and is carried out again.
            // PutBack: so is a restore, as long as only an attempt follows it.
            // RoundStarted: the attempt is parked with or without it.
            Self::Verified { .. }
            | Self::Saved
            | Self::RestoredUnsynced
            | Self::RoundStarted { .. } => Durable::Nothing,
            // AttemptStarted: undoing the attempt sets branch, HEAD, index and tree to the
            // checkpoint, so those of a save just before need not be durable.
            Self::AttemptStarted { .. } | Self::RestoreIntent | Self::Reopened => Durable::Line,
            // Begun: without it a begin is undone, which touches no file. The next line makes this one
            // durable too.
            Self::Begun => Durable::Files,
            // Restored: if the run ends here, what differs from the checkpoint at the next
            // start counts as the user's, and must not be a file that lost its bytes.
            Self::BeginIntent { .. }
            | Self::BeginTakenBack
            | Self::Parked { .. }
            | Self::Restored
            | Self::SaveIntent { .. }
            | Self::Kept { .. }
            | Self::MoveIntent { .. }
            | Self::Moved
            | Self::MoveGivenUp => Durable::FilesThenLine,
        }
    }
}

/// What a move is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MoveKind {
    /// The work goes home to the original branch, uncommitted.
    Cleanup {
        /// Files that differ from where the run began.
        changed_files: usize,
    },
    /// Everything goes back to how it was before the run.
    Abandon,
    /// All of the work becomes one commit on the run's branch.
    Squash {
        /// Files that differ from where the run began.
        changed_files: usize,
    },
    /// The commits of the run's branch get other messages.
    Reword {
        /// Files that differ from where the run began.
        changed_files: usize,
    },
    /// Files, index and HEAD go back to how they were before the run, whose branch is kept: another
    /// run starts from there.
    StartOver {
        /// Files that differ from where the run began; 0 if that was not recorded.
        #[serde(default)]
        changed_files: usize,
    },
    /// Back to the checkpoint before a story.
    Rewind {
        story: String,
        /// How many checkpoints are left.
        left: usize,
    },
    /// Files of a parked attempt come back into the tree.
    #[serde(rename = "put_back")]
    RestoreAttempt {
        label: String,
        /// Only what is at or below it, where that can be written down.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    /// The last move is undone.
    Undo,
}

impl MoveKind {
    /// The way of finishing a run that it is; none where the run goes on.
    pub const fn finish(&self) -> Option<FinishChoice> {
        match self {
            Self::Cleanup { .. } => Some(FinishChoice::Cleanup),
            Self::Abandon => Some(FinishChoice::Abandon),
            Self::StartOver { .. } => Some(FinishChoice::Keep),
            Self::Squash { .. } => Some(FinishChoice::Squash),
            Self::Reword { .. } => Some(FinishChoice::Reword),
            Self::Rewind { .. } | Self::RestoreAttempt { .. } | Self::Undo => None,
        }
    }
}

/// One branch in a move. Where both ends are the same, it only must be there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefMove {
    pub name: String,
    pub from: Option<ObjectId>,
    /// Where it is to be.
    pub to: Option<ObjectId>,
}

/// What a move is about to do. Paths that are the same in both snapshots are not touched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveIntent {
    #[serde(flatten)]
    pub kind: MoveKind,
    /// Snapshot of everything just before, the user's index included.
    pub before: String,
    /// Snapshot of everything as it is to be, the index included.
    pub after: String,
    pub refs: Vec<RefMove>,
    /// Where HEAD is.
    pub head_from: Head,
    /// Where HEAD is to be.
    pub head_to: Head,
    /// Config, hooks and the stash go along.
    pub with_control: bool,
}

/// What the user is shown of a parked attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParkedNote {
    /// Its name: `2.1`, or with a suffix where the same attempt was parked again.
    pub label: String,
    /// Why it was parked.
    pub kind: FailureKind,
    /// `kind` in words.
    pub why: String,
    /// Files it had changed.
    pub changed_files: usize,
    /// Its commit in the vault's store, where one could be made.
    pub commit: Option<ObjectId>,
    /// How many agent processes it had, one after the other in one session.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub rounds: u32,
}

const fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_one(rounds: &u32) -> bool {
    *rounds == 1
}

/// What a checkpoint commit says of its story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoryNote {
    pub id: StoryId,
    pub title: String,
    /// Attempts it took.
    pub attempts: u32,
    /// Gates that passed.
    pub gates: Vec<String>,
}

/// What a begin is about to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeginIntent {
    pub run: RunId,
    pub change: String,
    /// Where it was read from, where that can be written down.
    #[serde(default)]
    pub plan: Option<String>,
    /// The folder with its task files, where that can be written down.
    #[serde(default)]
    pub plan_folder: Option<String>,
    /// Full name of the checkpoint branch.
    pub branch: String,
    /// Where the user was; for a run that follows a kept one on its branch, where that one began.
    pub original: Head,
    /// Where HEAD was just before.
    pub head: Head,
    /// What the branch was before, where it existed.
    pub old_branch: Option<ObjectId>,
    /// Snapshot of everything before the run.
    pub start: String,
    /// The "initial state" commit.
    pub commit: ObjectId,
    /// Snapshot of the first checkpoint.
    pub checkpoint: String,
    /// The state before the run was started over, where it was: to abandon the run leads there, and
    /// not to `start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<BeforeStartOver>,
}

/// Where everything was before a run was started over, with HEAD on the branch of the run before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeforeStartOver {
    /// The run whose branch it was.
    pub run: RunId,
    pub snapshot: String,
    pub head: Head,
}

impl BeginIntent {
    /// HEAD on the run's branch, with the branch at a commit.
    pub fn head_at(&self, commit: ObjectId) -> Head {
        Head::Branch {
            name: self.branch.clone(),
            commit: Some(commit),
        }
    }

    /// Where HEAD is after the run was abandoned.
    pub fn head_before(&self) -> &Head {
        self.before.as_ref().map_or(&self.head, |it| &it.head)
    }

    /// The snapshot to go back to when the run is abandoned.
    pub(crate) fn snapshot_before(&self) -> &str {
        self.before.as_ref().map_or(&self.start, |it| &it.snapshot)
    }

    /// Whether an earlier run was left to start over, or its branch replaced.
    pub(crate) fn is_started_over(&self) -> bool {
        let is_on = |head: &Head| matches!(head, Head::Branch { name, .. } if *name == self.branch);
        self.before.is_some() || (self.old_branch.is_some() && !is_on(&self.head))
    }

    /// The refs a run looks after: its own branch, the one the user came from, and the stash.
    pub fn refs(&self) -> Vec<&str> {
        let mut names = vec![self.branch.as_str(), STASH];
        if let Head::Branch { name, .. } = &self.original
            && *name != self.branch
        {
            names.push(name);
        }
        names
    }
}

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub run: RunId,
    pub at: jiff::Timestamp,
    /// The uptime it was written in; none where the system has no such id, and then every line is
    /// synced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uptime: Option<String>,
    #[serde(flatten)]
    pub step: Step,
}

/// The journal, open for appending.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    /// File systems that must be durable before a step is written.
    barriers: Vec<PathBuf>,
    /// The uptime lines are written in.
    uptime: Option<String>,
    /// When it was made, where it was there and had no line.
    empty_since: Option<SystemTime>,
}

impl Journal {
    /// Opens the journal and reads what it says.
    pub fn open(path: &Path, barriers: Vec<PathBuf>) -> Result<(Self, Vec<Line>), FileError> {
        let found = std::fs::metadata(path).and_then(|found| found.modified());
        let mut file = open_append(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).tried("read", path)?;
        let (lines, good, health) = parse(&bytes);
        if health == JournalHealth::Damaged {
            let error = "a line in it is damaged, or was written by a newer ralphtool";
            let error = std::io::Error::new(std::io::ErrorKind::InvalidData, error);
            return Err(error).tried("read", path);
        }
        if health == JournalHealth::Torn {
            // A new line must not be glued to a torn one.
            file.set_len(good as u64).tried("repair", path)?;
            file.seek(SeekFrom::End(0)).tried("repair", path)?;
        }
        let journal = Self {
            file,
            path: path.to_owned(),
            uptime: uptime(&barriers),
            barriers,
            empty_since: found.ok().filter(|_| lines.is_empty()),
        };
        Ok((journal, lines))
    }

    /// When the journal was made, in nanoseconds, where an earlier process made it and wrote no line.
    pub fn empty_since(&self) -> Option<i64> {
        let age = self.empty_since?.duration_since(SystemTime::UNIX_EPOCH);
        age.ok().and_then(|age| age.as_nanos().try_into().ok())
    }

    /// The uptime lines are written in; none where the system has no such id.
    pub fn uptime(&self) -> Option<&String> {
        self.uptime.as_ref()
    }

    /// Makes what the step needs durable, then writes the step and makes that durable.
    pub fn write(&mut self, line: &Line) -> Result<(), FileError> {
        if !durability::is_on() {
            return Ok(());
        }
        let durable = match line.step.durable() {
            // A later start could not decide whether to believe it.
            Durable::Nothing | Durable::Files if line.uptime.is_none() => Durable::FilesThenLine,
            durable => durable,
        };
        if matches!(durable, Durable::FilesThenLine | Durable::Files) {
            for folder in &self.barriers {
                sync_file_system(folder)?;
            }
        }
        let json = serde_json::to_string(line)
            .map_err(std::io::Error::other)
            .tried("write", &self.path)?;
        let text = format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()));
        let length = self.file.metadata().tried("write", &self.path)?.len();
        reached(Point::JournalLine);
        reached_after(Point::TornLine, || {
            let _ = self.file.write_all(&text.as_bytes()[..text.len() / 2]);
        });
        let written = self
            .file
            .write_all(text.as_bytes())
            .and_then(|()| match durable {
                Durable::Nothing | Durable::Files => Ok(()),
                Durable::Line | Durable::FilesThenLine => self.file.sync_data(),
            });
        reached(Point::JournalSynced);
        if written.is_err() {
            // Half a line would spoil the next one.
            let _ = self.file.set_len(length);
        }
        written.tried("write", &self.path)
    }
}

/// The end of the name of a vault that was moved aside because its journal is damaged.
pub const DAMAGED: &str = ".damaged";

/// What to do about a journal that cannot be read: the program would always refuse.
pub fn damaged_journal(vault: &Path) -> String {
    let mut aside = vault.as_os_str().to_owned();
    aside.push(DAMAGED);
    format!(
        "a newer ralphtool may have written it: use that one. If not, the files in the tree and the \
         commits on the run's branch are safe; parked attempts and the state before the run are in \
         the vault, but can only be reached by hand. To start again without them: `mv {} {}`",
        quoted(vault),
        quoted(Path::new(&aside))
    )
}

/// What a journal says, without opening it for writing; nothing where there is none.
pub fn read(path: &Path) -> Result<Vec<Line>, FileError> {
    Ok(read_checked(path)?.0)
}

/// Whether a journal can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalHealth {
    /// All of it.
    Whole,
    /// Except for the last line, which a crash cut off; the next start repairs that.
    Torn,
    /// It is damaged, or a newer ralphtool wrote it.
    Damaged,
}

/// What a journal says, and whether that is all of it.
pub fn read_checked(path: &Path) -> Result<(Vec<Line>, JournalHealth), FileError> {
    let bytes = read_if_present(path)?.unwrap_or_default();
    let (lines, _, health) = parse(&bytes);
    Ok((lines, health))
}

/// Reads whole lines up to the first that is not; gives how many bytes were good, too.
fn parse(bytes: &[u8]) -> (Vec<Line>, usize, JournalHealth) {
    let mut lines = Vec::new();
    let mut good = 0;
    for raw in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Some(line) = parse_line(raw) else {
            break;
        };
        lines.push(line);
        good += raw.len();
    }
    let health = match &bytes[good..] {
        [] => JournalHealth::Whole,
        rest if is_torn(rest) => JournalHealth::Torn,
        _ => JournalHealth::Damaged,
    };
    (lines, good, health)
}

/// True where a rest can be what a crash leaves of one last line, or an outage of the last two,
/// which one sync writes; nothing else may be cut off.
fn is_torn(rest: &[u8]) -> bool {
    let mut lines = rest.split_inclusive(|byte| *byte == b'\n');
    let Some(first) = lines.next() else {
        return true;
    };
    let more = lines.count();
    // Blocks that never reached the disk read as zeros.
    checked(first).is_none() && (more == 0 || more == 1 && first.contains(&0))
}

fn parse_line(raw: &[u8]) -> Option<Line> {
    serde_json::from_str(checked(raw)?).ok()
}

/// The JSON of a whole line with the right checksum.
fn checked(raw: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(raw.strip_suffix(b"\n")?).ok()?;
    let (checksum, json) = text.split_once(' ')?;
    let checksum = u32::from_str_radix(checksum, 16).ok()?;
    (checksum == crc32fast::hash(json.as_bytes())).then_some(json)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn line(step: Step) -> Line {
        Line {
            run: RunId("r".to_owned()),
            at: jiff::Timestamp::UNIX_EPOCH,
            uptime: None,
            step,
        }
    }

    #[test]
    fn a_torn_last_line_is_ignored_and_does_not_spoil_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let (mut journal, lines) = Journal::open(&path, Vec::new()).unwrap();
        assert_eq!(lines, []);
        journal.write(&line(Step::Begun)).unwrap();
        journal.write(&line(Step::Restored)).unwrap();
        drop(journal);
        let whole = std::fs::read(&path).unwrap();
        let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for cut in first..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let (mut journal, lines) = Journal::open(&path, Vec::new()).unwrap();
            assert_eq!(lines, [line(Step::Begun)]);
            journal.write(&line(Step::Saved)).unwrap();
            let (_, lines) = Journal::open(&path, Vec::new()).unwrap();
            assert_eq!(lines, [line(Step::Begun), line(Step::Saved)]);
        }
    }

    #[test]
    fn two_lines_that_one_sync_did_not_get_through_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let (mut journal, _) = Journal::open(&path, Vec::new()).unwrap();
        let unsynced = Line {
            uptime: Some("this one".to_owned()),
            ..line(Step::Saved)
        };
        for line in [&line(Step::Begun), &unsynced, &line(Step::RestoreIntent)] {
            journal.write(line).unwrap();
        }
        let whole = std::fs::read(&path).unwrap();
        let (_, lines) = Journal::open(&path, Vec::new()).unwrap();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[1], unsynced);
        let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for zeros in 1..whole.len() - first {
            let mut torn = whole.clone();
            torn[first..first + zeros].fill(0);
            std::fs::write(&path, &torn).unwrap();
            let (_, lines) = Journal::open(&path, Vec::new()).unwrap();
            assert_eq!(lines, [line(Step::Begun)]);
        }
        // Three lines are more than one sync writes.
        let mut damaged = whole.clone();
        damaged[..10].fill(0);
        std::fs::write(&path, &damaged).unwrap();
        assert!(Journal::open(&path, Vec::new()).is_err());
    }

    #[test]
    fn a_journal_that_is_damaged_or_newer_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let (mut journal, _) = Journal::open(&path, Vec::new()).unwrap();
        journal.write(&line(Step::Begun)).unwrap();
        journal.write(&line(Step::Saved)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let mut damaged = whole.clone();
        damaged[20] ^= 1;
        let json = r#"{"run":"r","at":"1970-01-01T00:00:00Z","step":"invented_later"}"#;
        let newer = format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()));
        for bytes in [damaged, [whole, newer.into_bytes()].concat()] {
            std::fs::write(&path, &bytes).unwrap();
            assert!(Journal::open(&path, Vec::new()).is_err());
            assert_eq!(std::fs::read(&path).unwrap(), bytes);
        }
    }

    #[test]
    fn a_torn_journal_is_told_from_a_damaged_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        assert_eq!(read_checked(&path).unwrap().1, JournalHealth::Whole);
        let (mut journal, _) = Journal::open(&path, Vec::new()).unwrap();
        for step in [Step::Begun, Step::Saved] {
            let line = Line {
                run: RunId("r".to_owned()),
                at: jiff::Timestamp::UNIX_EPOCH,
                uptime: None,
                step,
            };
            journal.write(&line).unwrap();
        }
        let health = || read_checked(&path).unwrap().1;
        let whole = std::fs::read(&path).unwrap();
        let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        assert_eq!(health(), JournalHealth::Whole);
        for cut in first + 1..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert_eq!(health(), JournalHealth::Torn);
        }
        let mut damaged = whole.clone();
        damaged[20] ^= 1;
        std::fs::write(&path, &damaged).unwrap();
        assert_eq!(health(), JournalHealth::Damaged);
        let json = r#"{"run":"r","at":"1970-01-01T00:00:00Z","step":"invented_later"}"#;
        let newer = format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()));
        std::fs::write(&path, [whole, newer.into_bytes()].concat()).unwrap();
        assert_eq!(health(), JournalHealth::Damaged);
    }
}
