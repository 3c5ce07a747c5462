//! The first thing at every start: what a dead run left is found, repaired and said. Comes before
//! the settings and the change are read: what lies in the tree may be the work of an attempt that
//! never ended.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::gaps::fill_gaps;
use super::refusal::{not_repaired, other_run, refusal};
use super::start::{outside_of_last, recorded};
use super::{MENDING_TIMEOUT, chain, outside};
use crate::failure::Failure;
use crate::records::event::{Event, FinishChoice};
use crate::settings::Settings;
use ralph_base::ids::RunId;
use ralph_plan::source;
use ralph_process::leftovers::{ProcessIdentity, end_leftovers};
use ralph_vault::OpenRun;
use ralph_vault::git::repository::Repository;
use ralph_vault::journal::steps::Step;
use ralph_vault::session::Checkpoints;
use ralph_vault::store::where_now;

/// How long processes of a crashed run may take to end.
const LEFTOVER_GRACE: Duration = Duration::from_secs(3);

/// Where to repair what an interrupted run left, and for which run.
pub struct RepairRequest<'a> {
    /// Where the command was given.
    pub directory: &'a Path,
    /// The user's state directory.
    pub state: &'a Path,
    /// The change that is asked for, if one is.
    pub change: Option<&'a str>,
    /// An open run is kept and not resumed.
    pub fresh: bool,
}

/// The vault of a work tree in which nothing is interrupted. It is locked from the repair to the end
/// of the run: no other ralphtool can come in between.
pub struct OpenVault {
    checkpoints: Checkpoints,
    state: PathBuf,
    /// What was found and done.
    pub repaired: Vec<Event>,
}

impl OpenVault {
    /// Opens the vault and repairs what an interrupted run left.
    pub async fn open(request: RepairRequest<'_>) -> Result<Self, Failure> {
        let mut checkpoints = Checkpoints::open(request.directory, request.state, MENDING_TIMEOUT)
            .map_err(|error| refusal(&error))?;
        let repaired = repair(&mut checkpoints, request.change, request.fresh).await?;
        Ok(Self {
            checkpoints,
            state: request.state.to_owned(),
            repaired,
        })
    }

    pub fn repository(&self) -> &Repository {
        self.checkpoints.repository()
    }

    /// The run that can be resumed: the open one, else the kept one.
    pub fn last_run(&self) -> Option<OpenRun> {
        let open = self.checkpoints.open_run();
        let run = open.or_else(|| self.checkpoints.kept_run())?;
        let folder = self.checkpoints.vault_folder();
        let plan = run
            .plan
            .map(|plan| where_now(folder, self.repository(), &plan));
        Some(OpenRun { plan, ..run })
    }

    /// The checkpoints as the settings of the run want them.
    pub(super) fn for_run(self, settings: &Settings) -> Result<Checkpoints, Failure> {
        let timeout = settings.command_timeout.value.or_zero();
        let mut checkpoints = self.checkpoints;
        if timeout != MENDING_TIMEOUT {
            // The timeout of git commands is fixed when the vault is opened; the lock is kept.
            let (repository, lock) = (checkpoints.repository().clone(), checkpoints.vault_lock());
            drop(checkpoints);
            checkpoints = Checkpoints::open_held(repository, &self.state, timeout, lock)
                .map_err(|error| refusal(&error))?;
        }
        // The user may have been asked something since the repair.
        checkpoints.somebody_is_here();
        Ok(checkpoints)
    }
}

/// Repairs what an interrupted run left, and says what that was.
pub(crate) async fn repair(
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
        checked.map_err(|error| not_repaired(&error))?;
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
    if let Some(recovery) = recovery.map_err(|error| not_repaired(&error))? {
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
            .map_err(|error| not_repaired(&error))?;
        said.push(Event::Recovered {
            found: format!("an unfinished run of `{}`", open.change),
            done: format!("kept its branch `{}`", report.branch),
        });
    }
    complete_last_record(checkpoints)?;
    Ok(said)
}

/// A program can die after the last step of a run and before the event that records it.
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
