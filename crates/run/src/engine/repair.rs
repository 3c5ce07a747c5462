//! The first thing at every start: what a dead run left is found, repaired and said. Comes before
//! the settings and the change are read: what lies in the tree may be the work of an attempt that
//! never ended.

use std::path::Path;
use std::time::Duration;

use super::departure::Departure;
use super::gaps::fill_gaps;
use super::start::{outside_of_last, recorded};
use super::{REPAIR_TIMEOUT, chain, outside};
use crate::failure::Failure;
use crate::records::event::Event;
use crate::settings::Settings;
use ralph_base::ids::RunId;
use ralph_plan::source;
use ralph_process::leftovers::{ProcessIdentity, end_leftovers};
use ralph_vault::Vault;
use ralph_vault::git::repository::Repository;
use ralph_vault::journal::steps::Step;
use ralph_vault::store::where_now;
use ralph_vault::{AfterRecovery, CheckpointError, Failed, OpenRun, Opened, Session, Settled};

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
    pub(super) session: Session<Settled>,
    /// What was found and done.
    pub repaired: Vec<Event>,
    pub(super) departure: Option<Departure>,
}

impl OpenVault {
    /// Opens the vault and repairs what an interrupted run left.
    pub async fn open(request: RepairRequest<'_>) -> Result<Self, Failure> {
        let opened = Session::open(request.directory, request.state, REPAIR_TIMEOUT)?;
        let wanted = RepairFor {
            change: request.change,
            fresh: request.fresh,
            after: AfterRecovery::Continue,
        };
        let (session, repaired) = repair(opened, wanted).await?;
        Ok(Self {
            session,
            repaired,
            departure: None,
        })
    }

    pub fn repository(&self) -> &Repository {
        self.session.vault().repository()
    }

    /// The run that can be resumed: the open one, else the kept one.
    pub fn last_run(&self) -> Option<OpenRun> {
        let vault = self.session.vault();
        let run = vault.open_run().or_else(|| vault.kept_run())?;
        Some(self.here(run))
    }

    /// A run with its plan where it is now: the repository may have been moved.
    pub(super) fn here(&self, run: OpenRun) -> OpenRun {
        let folder = self.session.vault().vault_folder();
        let here = |plan: String| where_now(folder, self.repository(), &plan);
        let plan = run.plan.map(here);
        OpenRun { plan, ..run }
    }

    /// Makes the vault as the settings of the run want it.
    pub(super) fn adapt_to(&mut self, settings: &Settings) {
        let timeout = settings.command_timeout.value.or_zero();
        self.session.set_command_timeout(timeout);
        // The user may have been asked something since the repair.
        self.session.invalidate_scan();
    }
}

/// What a vault is repaired for.
pub(crate) struct RepairFor<'a> {
    /// The change that is asked for, if one is.
    pub change: Option<&'a str>,
    /// An open run is kept and not resumed.
    pub fresh: bool,
    pub after: AfterRecovery,
}

/// Repairs what an interrupted run left, and says what that was.
pub(crate) async fn repair(
    mut opened: Session<Opened>,
    RepairFor {
        change,
        fresh,
        after,
    }: RepairFor<'_>,
) -> Result<(Session<Settled>, Vec<Event>), Failure> {
    let moved = opened
        .vault_mut()
        .take_moved_from()
        .map(|from| Event::Recovered {
            found: format!("this repository was at `{}` before", from.display()),
            done: "found its runs again".to_owned(),
        });
    let mut said: Vec<Event> = moved.into_iter().collect();
    let checkpoints = opened.vault();
    if let Some(open) = checkpoints.open_run()
        && change.is_some_and(|change| change != open.change)
        && !fresh
    {
        return Err(other_run(&open.change));
    }
    if let Some(run) = checkpoints.unsettled_run() {
        said.extend(end_processes(checkpoints, &run).await?);
    }
    put_outside_back(checkpoints)?;
    let moving = checkpoints.unfinished_move();
    let recovered = opened.recover(after).map_err(Failed::into_error);
    let (settled, recovery) = recovered.map_err(|error| not_repaired(&error))?;
    if let Some(recovery) = recovery {
        said.push(Event::Recovered {
            found: recovery.found,
            done: recovery.done,
        });
    }
    if let Some((run, id)) = moving {
        follow_move(settled.vault(), &run, &id)?;
    }
    complete_last_record(settled.vault())?;
    Ok((settled, said))
}

/// What an interrupted run left could not be repaired.
pub(super) fn not_repaired(error: &CheckpointError) -> Failure {
    Failure::system(format!(
        "what an interrupted run left could not be repaired: {}",
        chain(error)
    ))
    .maybe_hint(error.hint())
}

/// A program can die after the last step of a run and before the event that records it.
fn complete_last_record(checkpoints: &Vault) -> Result<(), Failure> {
    fill_gaps(checkpoints)
        .map_err(|error| Failure::system("could not complete the record of the run").because(error))
}

/// Ends what an interrupted run left running.
async fn end_processes(checkpoints: &Vault, run: &RunId) -> Result<Option<Event>, Failure> {
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
fn follow_move(checkpoints: &Vault, run: &RunId, id: &str) -> Result<(), Failure> {
    let lines = checkpoints
        .journal_lines()
        .map_err(|error| Failure::system("could not read the journal").because(error))?;
    match lines.last().map(|line| &line.step) {
        Some(Step::Moved) => outside::put(&checkpoints.run_folder(run), id),
        _ => Ok(()),
    }
}

/// Task files that no checkpoint reaches go back with the attempt that had them in hand.
fn put_outside_back(checkpoints: &Vault) -> Result<(), Failure> {
    if !checkpoints.is_attempt_open() {
        return Ok(());
    }
    let Some(kept) = outside_of_last(checkpoints) else {
        return Ok(());
    };
    source::restore_outside(&kept).map_err(|error| {
        Failure::system(format!(
            "could not restore the task file: {}",
            chain(&error)
        ))
    })
}

/// A refusal of a run because another one is open in the same tree.
pub(crate) fn other_run(change: &str) -> Failure {
    unfinished(format!(
        "an unfinished run of `{change}` is in this work tree"
    ))
}

/// The same where the other run has a plan of the same name, in another place.
pub(super) fn other_plan(change: &str, plan: &str) -> Failure {
    unfinished(format!(
        "an unfinished run of `{change}` is in this work tree, and its plan is `{plan}`"
    ))
}

fn unfinished(message: String) -> Failure {
    Failure::refused(message)
        .hint("resume it with `ralphtool resume`, or end it with `ralphtool finish`")
        .hint("to leave it on its branch and start this one where it began, pass `--fresh`")
}
