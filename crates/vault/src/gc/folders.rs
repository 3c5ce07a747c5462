//! Snapshots, trash and logs: which belong to runs that go, and which to no run at all.
//!
//! Trash names no run, and what a crash leaves is named by no step; both are told by their time.
//! Whatever is older than the first run that stays belongs to none that stays.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::error::Result;
use crate::gc::policy::{PastRun, RunRow, Tally};
use crate::journal::steps::Line;
use crate::repo::snapshot::Snapshot;
use crate::store::Vault;
use ralph_base::disk::measure;
use ralph_base::files::{FileError, Tried, absent};
use ralph_base::ids::RunId;

/// How files begin that were being written when the program was killed.
pub(super) const TEMPORARY: &str = ".ralph-";

/// What goes of the vault's folders, and what stays.
#[derive(Debug)]
pub(crate) struct Folders {
    /// What goes.
    pub(super) paths: Vec<PathBuf>,
    /// What goes with each run.
    pub(super) rows: Vec<RunRow>,
    /// What belongs to no run.
    pub orphans: Tally,
    /// Snapshots that stay, those they build on included; none where that cannot be told.
    pub(super) snapshots: Option<BTreeSet<String>>,
    /// Trash that stays.
    pub(super) trash: Vec<PathBuf>,
    /// Runs that stay.
    pub(super) runs: BTreeSet<RunId>,
    /// What is older belongs to no run that stays; none where times cannot be relied on.
    pub(super) cut: Option<Timestamp>,
    /// What the user should know.
    pub(super) notes: Vec<String>,
}

/// What is known of the runs while folders are sorted.
struct Sorting<'a> {
    vault: &'a Vault,
    past: &'a [PastRun],
    lines: &'a [Line],
    goes: &'a BTreeSet<RunId>,
}

impl Folders {
    /// Sorts everything; changes nothing.
    pub(crate) fn find(
        vault: &Vault,
        past: &[PastRun],
        lines: &[Line],
        goes: &BTreeSet<RunId>,
    ) -> Result<Self> {
        let sorting = Sorting {
            vault,
            past,
            lines,
            goes,
        };
        let mut found = Self {
            paths: Vec::new(),
            rows: sorting.rows(),
            orphans: Tally::default(),
            snapshots: None,
            trash: Vec::new(),
            runs: past.iter().map(|run| run.run.clone()).collect(),
            cut: sorting.cut(),
            notes: Vec::new(),
        };
        found.runs.retain(|run| !goes.contains(run));
        if found.cut.is_none() && !lines.is_empty() {
            let note = "the clock went back between runs: what names no run is left alone";
            found.notes.push(note.to_owned());
        }
        sorting.snapshots(&mut found)?;
        sorting.logs(&mut found)?;
        sorting.trash(&mut found)?;
        found.temporaries(vault.folder())?;
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
        let made = match time_in_name(path) {
            Some((made, unit)) => return made < floor(cut, unit),
            None => fs::symlink_metadata(path).and_then(|metadata| metadata.modified()),
        };
        made.is_ok_and(|made| Timestamp::try_from(made).is_ok_and(|made| made < cut))
    }

    fn row(&mut self, run: &RunId) -> Option<&mut RunRow> {
        self.rows.iter_mut().find(|row| row.run == *run)
    }

    fn orphan(&mut self, path: PathBuf) {
        self.orphans.add(measure(&path));
        self.paths.push(path);
    }

    /// Files that were being written when the program was killed: nobody else is at work here.
    fn temporaries(&mut self, folder: &Path) -> Result<()> {
        for path in listing(folder)? {
            if name(&path).starts_with(TEMPORARY) {
                self.orphan(path);
            }
        }
        Ok(())
    }
}

impl Sorting<'_> {
    fn rows(&self) -> Vec<RunRow> {
        let gone = self.past.iter().filter(|run| self.goes.contains(&run.run));
        gone.map(|run| RunRow {
            run: run.run.clone(),
            change: run.change.clone(),
            ended: run.ended,
            attempts: run.attempts,
            snapshots: Tally::default(),
            trash: Tally::default(),
            logs: 0,
        })
        .collect()
    }

    /// When the first run that stays began; now where none stays.
    fn cut(&self) -> Option<Timestamp> {
        if self.lines.is_empty() || !self.lines.is_sorted_by_key(|line| line.at) {
            return None;
        }
        let stays = self
            .lines
            .iter()
            .find(|line| !self.goes.contains(&line.run));
        Some(stays.map_or_else(Timestamp::now, |line| line.at))
    }

    fn snapshots(&self, found: &mut Folders) -> Result<()> {
        let (gone, stays): (Vec<&Line>, Vec<&Line>) = self
            .lines
            .iter()
            .partition(|line| self.goes.contains(&line.run));
        let named = stays.iter().flat_map(|line| line.step.snapshots());
        let stay = match with_parents(self.vault, named) {
            Ok(snapshots) => snapshots,
            Err(error) => {
                found
                    .notes
                    .push(format!("snapshots are left alone: {error}"));
                return Ok(());
            }
        };
        for path in listing(&self.vault.snapshots())? {
            let id = name(&path);
            if stay.contains(&id) {
                continue;
            }
            let owner = gone
                .iter()
                .find(|line| line.step.snapshots().contains(&id.as_str()));
            if let Some(row) = owner.and_then(|line| found.row(&line.run)) {
                row.snapshots.add(measure(&path));
                found.paths.push(path);
            } else if found.is_before_all(&path) {
                found.orphan(path);
            }
        }
        found.snapshots = Some(stay);
        Ok(())
    }

    fn logs(&self, found: &mut Folders) -> Result<()> {
        for path in listing(&self.vault.runs())? {
            let run = RunId(name(&path));
            if found.runs.contains(&run) {
                continue;
            }
            if let Some(row) = found.row(&run) {
                row.logs += measure(&path);
                found.paths.push(path);
            } else if found.is_before_all(&path) {
                found.orphan(path);
            }
        }
        Ok(())
    }

    fn trash(&self, found: &mut Folders) -> Result<()> {
        for path in listing(&self.vault.trash_folder())? {
            if !found.is_before_all(&path) {
                found.trash.push(path);
                continue;
            }
            match self.owner_by_time(&path).and_then(|run| found.row(&run)) {
                Some(row) => {
                    row.trash.add(measure(&path));
                    found.paths.push(path);
                }
                None => found.orphan(path),
            }
        }
        Ok(())
    }

    /// The run that was the last to have begun when something was made.
    fn owner_by_time(&self, path: &Path) -> Option<RunId> {
        let (made, unit) = time_in_name(path)?;
        let begun = self.past.iter().rev();
        let mut begun = begun.filter(|run| floor(run.began, unit) <= made);
        begun.next().map(|run| run.run.clone())
    }
}

/// Snapshots and all they build on.
fn with_parents<'a>(
    vault: &Vault,
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

/// What is in a folder; nothing where there is none.
pub(super) fn listing(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(FileError::new("list", folder, error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.tried("list", folder)?.path());
    }
    paths.sort();
    Ok(paths)
}

/// The last part of a path, as text.
pub(super) fn name(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// How exactly a name tells a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Second,
    Millisecond,
}

/// The time a name of ours begins with: `20261115-194501`, for trash with milliseconds.
fn time_in_name(path: &Path) -> Option<(Timestamp, Unit)> {
    let name = name(path);
    let whole = DateTime::strptime("%Y%m%d-%H%M%S", name.get(..15)?).ok()?;
    let whole = whole.to_zoned(TimeZone::UTC).ok()?.timestamp();
    let rest = name.get(15..).and_then(|rest| rest.strip_prefix('-'));
    let part = rest
        .and_then(|rest| rest.split_once('-'))
        .filter(|(digits, _)| digits.len() == 3)
        .and_then(|(digits, _)| digits.parse::<i64>().ok());
    match part {
        Some(part) => {
            let exact = Timestamp::from_millisecond(whole.as_millisecond() + part).ok()?;
            Some((exact, Unit::Millisecond))
        }
        None => Some((whole, Unit::Second)),
    }
}

/// A time as a name would tell it.
fn floor(at: Timestamp, unit: Unit) -> Timestamp {
    let floored = match unit {
        Unit::Second => Timestamp::from_second(at.as_second()),
        Unit::Millisecond => Timestamp::from_millisecond(at.as_millisecond()),
    };
    floored.unwrap_or(at)
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
