//! Snapshots, trash and logs: which belong to runs that go, and which to no run at all.
//!
//! Trash names no run, and what a crash leaves is named by no step; both are sorted by their time.
//! Whatever is older than the first run that stays belongs to none that stays.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{RoundMode, Timestamp, TimestampRound, Unit};

use crate::error::Result;
use crate::gc::policy::{PastRun, RunRow, Tally};
use crate::journal::steps::Line;
use crate::repo::snapshot::Snapshot;
use crate::store::{VaultFolder, listing, name};
use ralph_base::disk::measure;
use ralph_base::ids::RunId;

/// How files begin that were being written when the program was killed.
pub(super) const TEMPORARY: &str = ".ralph-";

/// What goes of the vault's folders, and what stays.
#[derive(Debug)]
pub(crate) struct Folders<'a> {
    past: &'a [PastRun],
    pub(super) paths: Vec<PathBuf>,
    /// What goes with each run.
    pub(super) rows: Vec<RunRow>,
    /// What belongs to no run.
    pub orphans: Tally,
    /// Snapshots that stay, those they build on included; none where that is not known.
    pub(super) snapshots: Option<BTreeSet<String>>,
    /// Trash that stays.
    pub(super) trash: Vec<PathBuf>,
    pub(super) runs: BTreeSet<RunId>,
    /// What is older belongs to no run that stays; none where times cannot be relied on.
    cut: Option<Timestamp>,
    /// What the user should know.
    pub(super) notes: Vec<String>,
}

impl<'a> Folders<'a> {
    /// Sorts everything; changes nothing.
    pub(crate) fn find(
        vault: &VaultFolder,
        past: &'a [PastRun],
        lines: &[Line],
        goes: &BTreeSet<RunId>,
    ) -> Result<Self> {
        let (going, staying): (Vec<&PastRun>, Vec<&PastRun>) =
            past.iter().partition(|run| goes.contains(&run.run));
        let mut found = Self {
            past,
            paths: Vec::new(),
            rows: going.into_iter().map(RunRow::of).collect(),
            orphans: Tally::default(),
            snapshots: None,
            trash: Vec::new(),
            runs: staying.into_iter().map(|run| run.run.clone()).collect(),
            cut: cut(lines, goes),
            notes: Vec::new(),
        };
        if found.cut.is_none() && !lines.is_empty() {
            let note = "the clock was set back between runs: entries that name no run are skipped";
            found.notes.push(note.to_owned());
        }
        found.sort_snapshots(vault, lines)?;
        found.sort_logs(vault)?;
        found.sort_trash(vault)?;
        // The vault is locked, so these were being written when a process was killed.
        for path in listing(vault.folder())? {
            if name(&path).starts_with(TEMPORARY) {
                found.orphan(path);
            }
        }
        Ok(found)
    }

    /// All bytes that go.
    pub(super) fn bytes(&self) -> u64 {
        self.orphans.bytes + self.rows.iter().map(RunRow::bytes).sum::<u64>()
    }

    /// True where something of this name was made before the first run that stays began.
    pub(super) fn is_before_all(&self, path: &Path) -> bool {
        let Some(cut) = self.cut else {
            return false;
        };
        if let Some((made, unit)) = time_in_name(path) {
            return made < floor(cut, unit);
        }
        let made = fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
        made.is_ok_and(|made| Timestamp::try_from(made).is_ok_and(|made| made < cut))
    }

    /// The row of a run that goes.
    fn row(&mut self, run: &RunId) -> Option<&mut RunRow> {
        self.rows.iter_mut().find(|row| row.run == *run)
    }

    fn orphan(&mut self, path: PathBuf) {
        self.orphans.add(measure(&path));
        self.paths.push(path);
    }

    fn sort_snapshots(&mut self, vault: &VaultFolder, lines: &[Line]) -> Result<()> {
        let (stays, gone): (Vec<&Line>, Vec<&Line>) =
            lines.iter().partition(|line| self.runs.contains(&line.run));
        let named = stays.iter().flat_map(|line| line.step.snapshots());
        let stay = match with_parents(vault, named) {
            Ok(snapshots) => snapshots,
            Err(error) => {
                let note = format!("snapshots skipped: {error}");
                self.notes.push(note);
                return Ok(());
            }
        };
        for path in listing(&vault.snapshots())? {
            let id = name(&path);
            if stay.contains(&id) {
                continue;
            }
            let mut gone = gone.iter();
            let owner = gone.find(|line| line.step.snapshots().contains(&id.as_str()));
            if let Some(row) = owner.and_then(|line| self.row(&line.run)) {
                row.snapshots.add(measure(&path));
                self.paths.push(path);
            } else if self.is_before_all(&path) {
                self.orphan(path);
            }
        }
        self.snapshots = Some(stay);
        Ok(())
    }

    fn sort_logs(&mut self, vault: &VaultFolder) -> Result<()> {
        for path in listing(&vault.runs())? {
            let run = RunId(name(&path));
            if self.runs.contains(&run) {
                continue;
            }
            if let Some(row) = self.row(&run) {
                row.logs += measure(&path);
                self.paths.push(path);
            } else if self.is_before_all(&path) {
                self.orphan(path);
            }
        }
        Ok(())
    }

    fn sort_trash(&mut self, vault: &VaultFolder) -> Result<()> {
        for path in listing(&vault.trash_folder())? {
            if !self.is_before_all(&path) {
                self.trash.push(path);
                continue;
            }
            match self.owner_by_time(&path).and_then(|run| self.row(run)) {
                Some(row) => {
                    row.trash.add(measure(&path));
                    self.paths.push(path);
                }
                None => self.orphan(path),
            }
        }
        Ok(())
    }

    /// The run that was the last to have begun when something was made.
    fn owner_by_time(&self, path: &Path) -> Option<&'a RunId> {
        let (made, unit) = time_in_name(path)?;
        let mut past = self.past.iter().rev();
        let owner = past.find(|run| floor(run.began, unit) <= made)?;
        Some(&owner.run)
    }
}

/// When the first run that stays began; now where none stays.
fn cut(lines: &[Line], goes: &BTreeSet<RunId>) -> Option<Timestamp> {
    if lines.is_empty() || !lines.is_sorted_by_key(|line| line.at) {
        return None;
    }
    let first = lines.iter().find(|line| !goes.contains(&line.run));
    Some(first.map_or_else(Timestamp::now, |line| line.at))
}

/// Snapshots and all they build on.
fn with_parents<'a>(
    vault: &VaultFolder,
    named: impl Iterator<Item = &'a str>,
) -> Result<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    let mut next: Vec<String> = named.map(str::to_owned).collect();
    while let Some(id) = next.pop() {
        if all.contains(&id) {
            continue;
        }
        next.extend(Snapshot::parent_of(vault, &id)?);
        all.insert(id);
    }
    Ok(all)
}

/// The time a name of ours begins with, and how exactly it says it: `20261115-194501`, for trash with
/// milliseconds.
fn time_in_name(path: &Path) -> Option<(Timestamp, Unit)> {
    let name = name(path);
    let read = |format: &str, length, unit| {
        let time = DateTime::strptime(format, name.get(..length)?).ok()?;
        Some((time.to_zoned(TimeZone::UTC).ok()?.timestamp(), unit))
    };
    read("%Y%m%d-%H%M%S-%3f-", 20, Unit::Millisecond)
        .or_else(|| read("%Y%m%d-%H%M%S", 15, Unit::Second))
}

/// A time as a name would say it.
fn floor(at: Timestamp, unit: Unit) -> Timestamp {
    let floor = TimestampRound::new().smallest(unit).mode(RoundMode::Floor);
    at.round(floor).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn names_tell_their_time() {
        #[track_caller]
        fn case(name: &str, want: Option<(&str, Unit)>) {
            let want = want.map(|(at, unit)| (at.parse().unwrap(), unit));
            assert_eq!(time_in_name(Path::new(name)), want);
        }
        let second = Some(("2026-11-15T19:45:01Z", Unit::Second));
        case("20261115-194501-x7k2", second);
        case("20261115-194501-abc234", second);
        case("20261115-194501", second);
        case(
            "20261115-194501-042-restore",
            Some(("2026-11-15T19:45:01.042Z", Unit::Millisecond)),
        );
        case("20261115-994501-042-restore", None);
        case("test-run", None);
    }

    #[test]
    fn a_time_is_never_earlier_than_its_name() {
        let at: Timestamp = "2026-11-15T19:45:01.0425Z".parse().unwrap();
        for name in ["20261115-194501-x7k2", "20261115-194501-042-restore"] {
            let (made, unit) = time_in_name(Path::new(name)).unwrap();
            assert_eq!(made, floor(at, unit));
        }
    }
}
