//! Past runs of a repository, read without the lock: the list of them, and what one of them
//! recorded, which is all that is needed to show it again.

use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::failure::{Failure, chain};
use crate::history::RunSummary;
use crate::records::event::{Event, Record};
use crate::records::file::{self, RunRecords};
use crate::records::progress::Progress;
use crate::records::state::Place;
use crate::words::counted;
use ralph_base::ids::RunId;
use ralph_vault::gc::policy::{PastRun, Standing};
use ralph_vault::git::repository::Repository;
use ralph_vault::look::look;
use ralph_vault::store::{VaultFolder, holder};
use ralph_vault::{CheckpointError, Look};

/// How many runs a hint names.
const NAMED: usize = 5;

/// The runs of a repository, the newest first.
pub fn past_runs(repository: &Repository, vault: &Path) -> Result<Vec<RunSummary>, Failure> {
    let zone = TimeZone::system();
    let Some(journal) = look_at_journal(repository, vault)? else {
        return Ok(Vec::new());
    };
    let runs = journal.begun().map(|past| {
        let progress = Progress::of(&read_run(vault, &past.run));
        RunSummary::of(past.clone(), &progress, journal.place(&past.run), &zone)
    });
    Ok(runs.collect())
}

/// What the journal says of the runs of a repository.
pub(super) struct Journal {
    look: Look,
    is_busy: bool,
}

impl Journal {
    /// The runs that have begun, the newest first.
    pub(super) fn begun(&self) -> impl Iterator<Item = &PastRun> {
        let newest_first = self.look.runs.iter().rev();
        newest_first.filter(|run| run.standing != Standing::TakenBack)
    }

    /// The runs that have begun, first the one that commands mean where none is named.
    pub(super) fn last_first(&self) -> impl Iterator<Item = &PastRun> {
        self.look.last_run().into_iter().chain(self.begun())
    }

    /// Whether the branch of a run was kept, so that it can be resumed.
    pub(super) fn is_kept(&self, run: &RunId) -> bool {
        self.look.open.is_none() && self.look.kept_runs.contains(run)
    }

    /// What is known of a run.
    pub(super) fn place(&self, run: &RunId) -> Place {
        let open = self.look.open.as_ref().map(|open| &open.run);
        let newest = || self.begun().next().map(|newest| &newest.run);
        Place {
            is_open: open == Some(run),
            is_busy: self.is_busy && open.or_else(newest) == Some(run),
        }
    }
}

/// Reads the journal; none where no run took place.
pub(super) fn look_at_journal(
    repository: &Repository,
    vault: &Path,
) -> Result<Option<Journal>, Failure> {
    let found = look_at_own_vault(repository, vault).map_err(|error| {
        Failure::system(format!("could not look for past runs: {}", chain(&error)))
    })?;
    Ok(found.map(|look| Journal {
        look,
        is_busy: holder(vault).is_ok_and(|owner| owner.is_some()),
    }))
}

/// The runs of a repository, the newest first, each with its change. Reads no records.
pub fn run_names(
    repository: &Repository,
    vault: &Path,
) -> Result<Vec<(RunId, String)>, CheckpointError> {
    let found = look_at_own_vault(repository, vault)?;
    let runs = found.into_iter().flat_map(|it| it.runs.into_iter().rev());
    let begun = runs.filter(|run| run.standing != Standing::TakenBack);
    Ok(begun.map(|past| (past.run, past.change)).collect())
}

/// What the journal in a vault says; nothing where the vault is that of a repository that was here
/// before.
pub(crate) fn look_at_own_vault(
    repository: &Repository,
    vault: &Path,
) -> Result<Option<Look>, CheckpointError> {
    if !VaultFolder::unlocked(vault).belongs_to(repository)? {
        return Ok(None);
    }
    look(vault).map(Some)
}

/// Everything a run recorded so far; the output of its agents is in their transcripts. If its record
/// is damaged, gone or unreadable, the last record is a warning about that.
pub fn read_run(vault: &Path, run: &RunId) -> Vec<Record> {
    let folder = vault.join("runs").join(&run.0);
    let (found, complaint) = match file::read(&folder) {
        Ok(Some(found)) => {
            let complaint = damage(found.damaged);
            (found, complaint)
        }
        Ok(None) => {
            let path = file::path_in(&folder);
            let complaint = format!("the run's record `{}` is gone", path.display());
            (RunRecords::default(), Some(complaint))
        }
        Err(error) => (RunRecords::default(), Some(chain(&error))),
    };
    let mut records = found.records;
    if let Some(message) = complaint {
        records.push(complaint_after(records.last(), run, message));
    }
    records
}

/// The warning about damage to a record, if there is any.
pub(crate) fn damage(lines: usize) -> Option<String> {
    let verb = match lines {
        0 => return None,
        1 => "is",
        _ => "are",
    };
    let count = counted(lines, "line");
    Some(format!(
        "{count} of the run's record {verb} damaged and {verb} skipped: the run may have spent \
         more than is shown"
    ))
}

/// A warning that is not in the record, with the time and number of the record before it.
pub(crate) fn complaint_after(last: Option<&Record>, run: &RunId, message: String) -> Record {
    let number = last.map_or(0, |record| record.seq);
    let at = last.map_or_else(Timestamp::now, |record| record.at);
    Record::new(
        number,
        at,
        run.clone(),
        Event::warning("record_damaged", message),
    )
}

/// The run of that name; `last` is the newest.
pub fn find_run<'a>(runs: &'a [RunSummary], name: &str) -> Result<&'a RunSummary, Failure> {
    let found = match name {
        "last" => runs.first(),
        name => runs.iter().find(|run| run.run.0 == name),
    };
    found.ok_or_else(|| {
        let names: Vec<&str> = runs
            .iter()
            .take(NAMED)
            .map(|it| it.run.0.as_str())
            .collect();
        if names.is_empty() {
            return Failure::refused("no run took place in this repository")
                .hint("start one with `ralphtool run CHANGE`");
        }
        Failure::refused(format!("found no run `{name}` of this repository"))
            .hint(format!("the newest are: {}", names.join(", ")))
            .hint("`ralphtool log` lists all of them")
    })
}
