//! What a start moves before anything is checked, and the way back if no run comes of it.

use super::gaps::fill_gaps;
use super::{chain, outside};
use crate::failure::Failure;
use crate::records::event::{Event, FinishChoice};
use ralph_vault::{CheckpointError, Failed, MessageTemplate, Session, Settled, SwitchedBack};

/// What a start has moved to have settings and plan of where its run begins. If no run comes of it,
/// all of it is taken back.
#[derive(Debug)]
pub(super) struct Departure {
    /// What was moved.
    pub(super) event: Event,
    pub(super) way_back: WayBack,
}

#[derive(Debug)]
pub(super) enum WayBack {
    /// HEAD was switched by git.
    Switch(SwitchedBack),
    /// The last run was left.
    Undo(LeftRun),
}

/// How the last run was before it was left.
#[derive(Debug)]
pub(super) enum LeftRun {
    Open,
    Kept,
}

impl Departure {
    /// Goes back to where everything was before.
    pub(super) fn take_back(self, mut session: Session<Settled>) -> Result<(), Failure> {
        match self.way_back {
            WayBack::Switch(switched) => Ok(session.switch_again(&switched)?),
            WayBack::Undo(left) => {
                session = undo(session)?;
                if matches!(left, LeftRun::Kept) {
                    session = keep(session)?;
                }
                complete_record(&session)
            }
        }
    }
}

/// Ends the open run with its branch kept.
pub(super) fn keep(mut session: Session<Settled>) -> Result<Session<Settled>, Failure> {
    let prepared = session.prepare_finish(FinishChoice::Keep, &MessageTemplate::default());
    let prepared = prepared.map_err(|error| not_kept(&error))?;
    let finished = session.finish(prepared).map_err(Failed::into_error);
    let (kept, _) = finished.map_err(|error| not_kept(&error))?;
    Ok(kept)
}

fn not_kept(error: &CheckpointError) -> Failure {
    Failure::system(format!(
        "could not keep the branch of the last run: {}",
        chain(error)
    ))
    .maybe_hint(error.hint())
}

/// Reverts what was done last; task files that no checkpoint reaches go along.
fn undo(mut session: Session<Settled>) -> Result<Session<Settled>, Failure> {
    let prepared = session.prepare_undo()?;
    let folder = session.vault().run_folder(&prepared.run);
    let id = prepared.move_id().map(str::to_owned);
    if let (Some(id), Some(undone)) = (&id, prepared.undoes()) {
        outside::keep(&folder, id, &outside::before(&folder, undone))?;
    }
    let undone = session.undo(prepared).map_err(Failed::into_error);
    let (session, _) = undone.map_err(|error| {
        let error = chain(&error);
        Failure::system(format!(
            "could not go back to where the start began: {error}"
        ))
        .hint("no work was lost: any ralphtool command here continues it")
    })?;
    if let Some(id) = id {
        outside::put(&folder, &id)?;
    }
    Ok(session)
}

/// What was moved is in the record of the run.
pub(super) fn complete_record(session: &Session<Settled>) -> Result<(), Failure> {
    fill_gaps(session.vault())
        .map_err(|error| Failure::system("could not complete the record").because(error))
}
