//! The first thing at every start: what a dead run left is found, mended and said. Comes before
//! the settings and the change are read: what lies in the tree may be the work of an attempt that
//! never ended.

use std::path::Path;
use std::time::Duration;

use super::gaps::fill_gaps;
use super::launch::{broken, other_run, refusal};
use super::start::{outside_of_last, recorded};
use super::{MENDING_TIMEOUT, chain, outside};
use crate::failure::Failure;
use crate::records::event::{Event, FinishChoice};
use ralph_base::ids::RunId;
use ralph_plan::source;
use ralph_process::leftovers::{ProcessIdentity, end_leftovers};
use ralph_vault::git::repository::Repository;
use ralph_vault::journal::steps::Step;
use ralph_vault::session::Checkpoints;
use ralph_vault::store::VaultLock;

/// How long processes of a crashed run may take to end.
const LEFTOVER_GRACE: Duration = Duration::from_secs(3);

/// What to do about a run that was interrupted.
pub struct Mending<'a> {
    /// Where the command was given.
    pub directory: &'a Path,
    /// The user's state directory.
    pub state: &'a Path,
    /// The change that is asked for, if one is.
    pub change: Option<&'a str>,
    /// An open run is not gone on with.
    pub fresh: bool,
}

/// A tree in which nothing is interrupted, for the run that is to start in it.
pub struct Mended {
    /// What was found and done.
    pub said: Vec<Event>,
    /// Where.
    pub repository: Repository,
    /// Held until the run starts: no other ralphtool can come in between.
    pub lock: Option<VaultLock>,
}

/// Mends what an interrupted run left, and says what that was, and where.
pub async fn mend(mending: Mending<'_>) -> Result<Mended, Failure> {
    let mut checkpoints = Checkpoints::open(mending.directory, mending.state, MENDING_TIMEOUT)
        .map_err(|error| refusal(&error))?;
    let said = mend_with(&mut checkpoints, mending.change, mending.fresh).await?;
    Ok(Mended {
        said,
        repository: checkpoints.repository().clone(),
        lock: checkpoints.vault_lock(),
    })
}

/// The same with checkpoints that are open already.
pub async fn mend_with(
    checkpoints: &mut Checkpoints,
    change: Option<&str>,
    fresh: bool,
) -> Result<Vec<Event>, Failure> {
    let moved = checkpoints.take_moved_from().map(|from| Event::Recovered {
        found: format!("this repository was at `{}` before", from.display()),
        done: "found its runs again".to_owned(),
    });
    let mut said: Vec<Event> = moved.into_iter().collect();
    let Some(run) = checkpoints.unsettled_run() else {
        let checked = checkpoints.set_damage_aside();
        checked.map_err(|error| broken(&error))?;
        complete_last_record(checkpoints)?;
        return Ok(said);
    };
    let open = checkpoints.open_run();
    if let Some(open) = &open
        && change.is_some_and(|change| change != open.change)
        && !fresh
    {
        return Err(other_run(&open.change));
    }
    said.extend(end_processes(checkpoints, &run).await?);
    put_outside_back(checkpoints)?;
    let moving = checkpoints.unfinished_move();
    let recovery = checkpoints.recover();
    if let Some(recovery) = recovery.map_err(|error| broken(&error))? {
        said.push(Event::Recovered {
            found: recovery.found,
            done: recovery.done,
        });
    }
    if let Some((run, id)) = moving {
        follow_move(checkpoints, &run, &id)?;
    }
    if fresh && let Some(open) = checkpoints.open_run() {
        let report = checkpoints
            .finish(FinishChoice::Keep)
            .map_err(|error| broken(&error))?;
        said.push(Event::Recovered {
            found: format!("an unfinished run of `{}`", open.change),
            done: format!("kept its branch `{}`", report.branch),
        });
    }
    complete_last_record(checkpoints)?;
    Ok(said)
}

/// A program can die after the last step of a run and before the event that tells of it.
fn complete_last_record(checkpoints: &Checkpoints) -> Result<(), Failure> {
    fill_gaps(checkpoints)
        .map_err(|error| Failure::system("could not complete the record of the run").because(error))
}

/// Ends what an interrupted run left running.
async fn end_processes(checkpoints: &Checkpoints, run: &RunId) -> Result<Option<Event>, Failure> {
    let last = checkpoints.open_run().and_then(|open| open.last_attempt);
    let recorded: Vec<ProcessIdentity> = last
        .iter()
        .filter_map(|last| recorded(&checkpoints.attempt_folder(run, &last.attempt)))
        .collect();
    let ended = end_leftovers(std::slice::from_ref(run), &recorded, LEFTOVER_GRACE).await;
    if !ended.survivors.is_empty() {
        // They could write into the tree while it is restored.
        return Err(Failure::system(format!(
            "processes of the interrupted run are still alive and cannot be ended: {}",
            ended.survivors.join(", ")
        ))
        .hint("nothing was touched: end them (`kill -9 PID`), then run `ralphtool resume`"));
    }
    Ok((!ended.ended.is_empty()).then(|| Event::Recovered {
        found: format!(
            "processes of the interrupted run: {}",
            ended.ended.join(", ")
        ),
        done: "ended them".to_owned(),
    }))
}

/// Task files that no checkpoint reaches go along with a move, if it was carried out.
fn follow_move(checkpoints: &Checkpoints, run: &RunId, id: &str) -> Result<(), Failure> {
    let lines = checkpoints
        .journal_lines()
        .map_err(|error| Failure::system("could not read the journal").because(error))?;
    match lines.last().map(|line| &line.step) {
        Some(Step::Moved) => outside::put(&checkpoints.run_folder(run), id),
        _ => Ok(()),
    }
}

/// Task files that no checkpoint reaches go back with the attempt that had them in hand.
fn put_outside_back(checkpoints: &Checkpoints) -> Result<(), Failure> {
    if !checkpoints.is_attempt_open() {
        return Ok(());
    }
    let Some(kept) = outside_of_last(checkpoints) else {
        return Ok(());
    };
    source::put_back_outside(&kept).map_err(|error| {
        Failure::system(format!(
            "could not put the task file back: {}",
            chain(&error)
        ))
    })
}
