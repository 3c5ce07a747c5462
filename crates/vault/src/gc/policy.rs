//! What may be removed from a vault: which runs are old enough, which are never touched, and what
//! a housekeeping found, for people and programs.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use ralph_base::ids::RunId;

/// Finished runs older than this are removed at the end of a later run.
pub const KEEP_FINISHED: Duration = Duration::from_secs(30 * 24 * 3600);

/// Where a run stands, as far as housekeeping is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It has begun and not been finished.
    Open,
    /// It is over.
    Over,
    /// Its begin failed and was undone: there is nothing to undo.
    TakenBack,
}

/// A run, as the journal has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastRun {
    pub run: RunId,
    pub change: String,
    /// Where its plan is read from, where that is known.
    pub plan: Option<String>,
    /// When its first step was written.
    pub began: Timestamp,
    /// When its last step was written.
    pub ended: Timestamp,
    /// Attempts that were started.
    pub attempts: usize,
    pub standing: Standing,
}

/// Runs that may be removed, oldest first: neither an open one nor the last that was finished,
/// which can still be undone.
pub fn removable(runs: &[PastRun]) -> impl Iterator<Item = &PastRun> {
    let last = runs.iter().rposition(|run| run.standing == Standing::Over);
    let runs = runs.iter().enumerate();
    runs.filter(move |(index, run)| Some(*index) != last && run.standing != Standing::Open)
        .map(|(_, run)| run)
}

/// Runs that may be removed and ended at least so long ago.
pub fn expired(runs: &[PastRun], older_than: Duration, now: Timestamp) -> Vec<RunId> {
    removable(runs)
        .filter(|run| is_older(run.ended, older_than, now))
        .map(|run| run.run.clone())
        .collect()
}

/// True where something is at least so old; what lies in the future is not.
pub fn is_older(at: Timestamp, older_than: Duration, now: Timestamp) -> bool {
    let limit = SignedDuration::try_from(older_than).unwrap_or(SignedDuration::MAX);
    now.duration_since(at) >= limit
}

/// How many, and how large together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub count: usize,
    /// Bytes on disk.
    pub bytes: u64,
}

impl Tally {
    /// Counts one more.
    pub fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes += bytes;
    }
}

/// A run that goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunRow {
    pub run: RunId,
    pub change: String,
    pub ended: Timestamp,
    pub attempts: usize,
    pub snapshots: Tally,
    /// Folders of what its restores took out of the tree.
    pub trash: Tally,
    /// Bytes of its records, prompts and transcripts.
    pub logs: u64,
}

impl RunRow {
    pub(super) fn of(run: &PastRun) -> Self {
        Self {
            run: run.run.clone(),
            change: run.change.clone(),
            ended: run.ended,
            attempts: run.attempts,
            snapshots: Tally::default(),
            trash: Tally::default(),
            logs: 0,
        }
    }

    /// All its bytes; shared ones are not a run's.
    pub const fn bytes(&self) -> u64 {
        self.snapshots.bytes + self.trash.bytes + self.logs
    }
}

/// Whose vault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VaultKind {
    /// Set aside because another repository stands where its own stood.
    SetAside,
    /// Its work tree no longer exists.
    Vanished,
    /// Its work tree is not there at the moment: the folder around it is missing too, or empty, as
    /// where a disk is not mounted.
    Away,
    /// Of another work tree that exists.
    Elsewhere,
}

/// What happens to another vault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "fate")]
pub enum Fate {
    /// It goes, all but the notes in it.
    Goes,
    Stays {
        reason: String,
    },
}

/// Another vault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VaultRow {
    pub folder: String,
    /// The work tree it was made for, where that is known.
    pub work_tree: Option<String>,
    pub kind: VaultKind,
    /// When it was last used.
    pub used: Option<Timestamp>,
    /// Bytes on disk.
    pub bytes: u64,
    #[serde(flatten)]
    pub fate: Fate,
}

/// What of the store goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum StoreRow {
    /// Objects nothing needs go.
    Known {
        /// Objects, and about how much room they take.
        #[serde(flatten)]
        gone: Tally,
    },
    /// What is needed could not be found out; all objects stay.
    LeftAlone { reason: String },
}

impl StoreRow {
    pub fn gone(&self) -> Tally {
        match self {
            Self::Known { gone } => *gone,
            Self::LeftAlone { .. } => Tally::default(),
        }
    }
}

/// What a housekeeping removes, or has removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Housekeeping {
    pub vault: String,
    pub done: bool,
    pub kept_runs: usize,
    /// Bytes of the vault before; what it shares with the repository is not counted.
    pub bytes_before: u64,
    /// Bytes of the vault after; an estimate until it was done.
    pub bytes_after: u64,
    pub runs: Vec<RunRow>,
    /// Snapshots, trash and logs that belong to no run.
    pub orphans: Tally,
    /// Copies of files that no snapshot needs.
    pub copies: Tally,
    pub store: StoreRow,
    pub vaults: Vec<VaultRow>,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl Housekeeping {
    /// True where there is nothing to remove.
    pub fn is_empty(&self) -> bool {
        let objects = self.store.gone().count;
        let vaults = self.vaults.iter().filter(|row| row.fate == Fate::Goes);
        self.runs.is_empty()
            && self.orphans.count + self.copies.count + objects + vaults.count() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn run(id: &str, ended: &str, standing: Standing) -> PastRun {
        let ended: Timestamp = ended.parse().unwrap();
        PastRun {
            run: RunId(id.to_owned()),
            change: "c".to_owned(),
            plan: None,
            began: ended,
            ended,
            attempts: 1,
            standing,
        }
    }

    #[track_caller]
    fn case(runs: &[PastRun], days: u64, want: &[&str]) {
        let now = "2026-06-01T00:00:00Z".parse().unwrap();
        let older_than = Duration::from_secs(days * 24 * 3600);
        let gone: Vec<String> = expired(runs, older_than, now)
            .into_iter()
            .map(|run| run.0)
            .collect();
        assert_eq!(gone, want);
    }

    #[test]
    fn old_runs_go_but_never_an_open_one_nor_the_last_finished() {
        use Standing::{Open, Over, TakenBack};
        let january = run("a", "2026-01-01T00:00:00Z", Over);
        let may = run("b", "2026-05-20T00:00:00Z", Over);
        let late = run("c", "2026-05-31T00:00:00Z", Over);
        case(&[january.clone(), may.clone(), late.clone()], 30, &["a"]);
        case(&[january.clone(), may.clone(), late], 0, &["a", "b"]);
        case(std::slice::from_ref(&january), 0, &[]);
        let open = run("c", "2026-05-31T00:00:00Z", Open);
        case(&[january.clone(), may.clone(), open.clone()], 0, &["a"]);
        case(&[open], 0, &[]);
        let taken_back = run("c", "2026-05-31T00:00:00Z", TakenBack);
        case(
            &[january.clone(), may.clone(), taken_back.clone()],
            0,
            &["a", "c"],
        );
        case(&[taken_back], 0, &["c"]);
        let future = run("d", "2027-01-01T00:00:00Z", Over);
        case(&[january, future.clone(), may], 0, &["a"]);
        case(&[future.clone(), future], 0, &[]);
    }
}
