//! Past runs of a repository, looked up without the lock: the list of them, and what one of them
//! recorded, which is all a face needs to show it again.

use std::path::Path;

use super::chain;
use super::recorder::read_records;
use crate::domain::event::Record;
use crate::domain::history::RunSummary;
use crate::domain::housekeeping::Standing;
use crate::domain::ids::RunId;
use crate::domain::progress::Progress;
use crate::edge::checkpoint::look;
use crate::edge::repository::Repository;
use crate::edge::vault::{Vault, holder};
use crate::failure::Failure;

/// How many runs a hint names.
const NAMED: usize = 5;

/// The runs of a repository, the newest first.
pub(crate) fn past_runs(repository: &Repository, vault: &Path) -> Result<Vec<RunSummary>, Failure> {
    let unreadable = |error: &(dyn std::error::Error + 'static)| {
        Failure::system(format!("could not look for past runs: {}", chain(error)))
    };
    // What stood here before is another repository's.
    if !Vault::unlocked(vault)
        .belongs_to(repository)
        .map_err(|error| unreadable(&error))?
    {
        return Ok(Vec::new());
    }
    let found = look(vault).map_err(|error| unreadable(&error))?;
    let is_busy = holder(vault).is_ok_and(|owner| owner.is_some());
    let begun = found.runs.into_iter().rev();
    let begun = begun.filter(|run| run.standing != Standing::TakenBack);
    Ok(begun
        .map(|past| {
            let mut progress = Progress::default();
            for record in read_run(vault, &past.run) {
                progress.apply(&record);
            }
            RunSummary::of(past, &progress, is_busy)
        })
        .collect())
}

/// Everything a run recorded so far; what its agents said is in their transcripts.
pub(crate) fn read_run(vault: &Path, run: &RunId) -> Vec<Record> {
    read_records(&vault.join("runs").join(&run.0).join("events.jsonl"))
}

/// The run of that name; `last` is the newest.
pub(crate) fn find_run<'a>(runs: &'a [RunSummary], name: &str) -> Result<&'a RunSummary, Failure> {
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
                .hint("start one with `ralphtool loop CHANGE`");
        }
        Failure::refused(format!("found no run `{name}` of this repository"))
            .hint(format!("the newest are: {}", names.join(", ")))
            .hint("`ralphtool log` lists all of them")
    })
}
