//! The states of a vault. Each is a type, and a step is a method of the state it starts from: a save,
//! park, restore or finish in the wrong order does not compile.
//!
//! | state | what holds | steps |
//! | --- | --- | --- |
//! | [`Opened`] | locked; an interrupted step may have left anything | `recover` |
//! | [`Settled`] | nothing is interrupted; a run may be open at its checkpoint | `begin`, `resume`, `finish`, `carry_out`, `undo` |
//! | [`AtCheckpoint`] | a run is open; what differs from the checkpoint is the user's or a gate's | `start_attempt`, `start_gate`, `start_review`, `start_reopening`, `leave`, `finish` |
//! | [`Attempt`] | an agent may have changed anything; a recovery parks and undoes it | `end_gates`, `start_round`, `save`, `park` |
//! | [`Parked`] | the attempt is in the vault; the tree is that of the attempt, or partly restored | `restore` |
//! | [`GateOnCheckpoint`] | a gate or a reviewer may have changed anything; a recovery undoes that | `restore` |
//! | [`Reopening`] | the boxes of a story are being opened; a recovery undoes that | `save` |
//!
//! A step that fails comes back as [`Failed`], with the error and the vault: in the state the step
//! started from, or as [`Opened`] where a finish, rewind or undo may be half done. How far a step got
//! is in the journal. After a failure the caller reports it and leaves; the next start recovers.
//!
//! ```no_run
//! use ralph_vault::{AfterRecovery, BeginRequest, Failed, Opened, Session, Setback, StoryNote};
//! # use ralph_base::ids::{AttemptId, RunId};
//! # fn example(directory: &std::path::Path, state: &std::path::Path, run: &RunId, id: &AttemptId,
//! #     agent: impl FnOnce() -> Result<StoryNote, Setback>) -> Result<(), Box<dyn std::error::Error>> {
//! let timeout = std::time::Duration::from_secs(30);
//! let opened = Session::<Opened>::open(directory, state, timeout)?;
//! let (settled, _recovery) = opened.recover(AfterRecovery::Continue).map_err(Failed::into_error)?;
//! let request = BeginRequest { run, change: "greeting", branch: "ralph/greeting", plan: None, plan_folder: None };
//! let (at_checkpoint, _begun) = settled.begin(request).map_err(Failed::into_error)?;
//! let attempt = at_checkpoint.start_attempt(id).map_err(Failed::into_error)?;
//! let (at_checkpoint, _notices) = match agent() {
//!     Ok(story) => {
//!         let (session, report) = attempt.save(&story).map_err(Failed::into_error)?;
//!         (session, report.notices)
//!     }
//!     Err(setback) => {
//!         let (parked, _report) = attempt.park(setback).map_err(Failed::into_error)?;
//!         parked.restore().map_err(Failed::into_error)?
//!     }
//! };
//! let _settled = at_checkpoint.leave().map_err(Failed::into_error)?;
//! # Ok(())
//! # }
//! ```
//!
//! Nothing is restored that was not parked:
//!
//! ```compile_fail,E0599
//! # use ralph_vault::{Attempt, Session};
//! fn undo(attempt: Session<Attempt>) {
//!     attempt.restore();
//! }
//! ```
//!
//! and an attempt is saved once:
//!
//! ```compile_fail,E0382
//! # use ralph_vault::{Attempt, Session, StoryNote};
//! fn save_twice(attempt: Session<Attempt>, story: &StoryNote) {
//!     let _ = attempt.save(story);
//!     let _ = attempt.save(story);
//! }
//! ```

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::commit_message::MessageTemplate;
use crate::error::{CheckpointError, Notice, Result};
use crate::journal::reopening;
use crate::journal::steps::{SavedWork, StoryNote};
use crate::operations::begin::{BeginRequest, Begun};
use crate::operations::finish::{FinishReport, PreparedFinish};
use crate::operations::gate_changes::{ChangedBy, TreeBeforeGates};
use crate::operations::meanwhile::Meanwhile;
use crate::operations::moving::PreparedMove;
use crate::operations::park::{ParkReport, ParkedTree, Setback};
use crate::operations::review_changes::GitBeforeReview;
use crate::operations::rewind::PreparedRewind;
use crate::operations::save::SaveReport;
use crate::operations::switch_back::SwitchedBack;
use crate::operations::undo::PreparedUndo;
use crate::outcome::FinishChoice;
use crate::parked::ParkedAttempt;
use crate::scan::changed::Changed;
use crate::tree::guard::Limits;
use crate::tree::scanned::Scanned;
use crate::vault::{AfterRecovery, Recovery, Vault};
use ralph_base::ids::{AttemptId, RunId, StoryId};

/// A locked vault in one of its states.
#[derive(Debug)]
pub struct Session<S> {
    vault: Box<Vault>,
    state: S,
}

/// What an interrupted step left is not recovered yet.
#[derive(Debug)]
pub struct Opened;

/// Nothing is interrupted.
#[derive(Debug)]
pub struct Settled;

/// A run is open, and no agent is at work.
#[derive(Debug)]
pub struct AtCheckpoint;

/// An agent works, or has worked.
#[derive(Debug, Default)]
pub struct Attempt {
    /// The last scan of what the agent left.
    scan: Option<Box<Scanned>>,
    /// The tree to go back to after gates and reviewers.
    before_gates: Option<Box<TreeBeforeGates>>,
    /// The tree to go back to before another try of the gate that runs.
    before_tries: Option<Box<TreeBeforeGates>>,
    before_review: Option<Box<GitBeforeReview>>,
}

/// A failed attempt is in the vault, and still in the tree.
#[derive(Debug)]
pub struct Parked(ParkedTree);

/// A gate or a reviewer judges the checkpoint.
#[derive(Debug, Default)]
pub struct GateOnCheckpoint {
    before_review: Option<Box<GitBeforeReview>>,
}

/// A story that was done is being opened again.
#[derive(Debug)]
pub struct Reopening;

/// A step that failed, and the vault after it.
#[derive(Debug)]
pub struct Failed<S> {
    pub session: Session<S>,
    pub error: CheckpointError,
}

impl<S> Failed<S> {
    /// The error; the vault is unlocked.
    #[expect(clippy::boxed_local, reason = "steps return their failure in a box")]
    pub fn into_error(self: Box<Self>) -> CheckpointError {
        self.error
    }
}

/// The outcome of a step; the vault is in the state `S` if it failed.
pub type StepResult<T, S> = std::result::Result<T, Box<Failed<S>>>;

impl<S> Session<S> {
    /// What can be read in every state.
    pub fn vault(&self) -> &Vault {
        &self.vault
    }

    /// The user, an agent or a gate may change the tree from now on.
    pub fn invalidate_scan(&mut self) {
        self.vault.tree.invalidate_scan();
    }

    fn with_state<N>(self, state: N) -> Session<N> {
        Session {
            vault: self.vault,
            state,
        }
    }

    /// Carries out a step that ends in the state `next`.
    fn step<N, T>(
        mut self,
        next: N,
        work: impl FnOnce(&mut Vault, &S) -> Result<T>,
    ) -> StepResult<(Session<N>, T), S> {
        match work(&mut self.vault, &self.state) {
            Ok(done) => Ok((self.with_state(next), done)),
            Err(error) => Err(Box::new(Failed {
                session: self,
                error,
            })),
        }
    }
}

impl Session<Opened> {
    /// Finds the repository, locks its vault and reads the journal. Changes nothing in the
    /// repository, but rebuilds a git directory that an interrupted attempt removed.
    pub fn open(directory: &Path, state: &Path, command_timeout: Duration) -> Result<Self> {
        let vault = Box::new(Vault::open(directory, state, command_timeout)?);
        Ok(Self {
            vault,
            state: Opened,
        })
    }

    /// The vault, to collect garbage in it.
    pub fn vault_mut(&mut self) -> &mut Vault {
        &mut self.vault
    }

    /// Completes or undoes what an interrupted run left; none where nothing was interrupted.
    /// Processes of that run must be dead.
    pub fn recover(
        self,
        after: AfterRecovery,
    ) -> StepResult<(Session<Settled>, Option<Recovery>), Opened> {
        self.step(Settled, |vault, _| {
            if vault.unsettled_run().is_none() {
                vault.clear_leftovers()?;
                return Ok(None);
            }
            vault.recover(after)
        })
    }

    /// The same vault, if nothing needs recovering.
    pub fn if_settled(self) -> Option<Session<Settled>> {
        (!self.vault.needs_recovery()).then(|| self.with_state(Settled))
    }
}

impl Session<Settled> {
    /// The vault, to collect garbage in it.
    pub fn vault_mut(&mut self) -> &mut Vault {
        &mut self.vault
    }

    /// Sets how long a git command may take.
    pub fn set_command_timeout(&mut self, timeout: Duration) {
        self.vault.set_command_timeout(timeout);
    }

    /// Sets what may be committed and what must stay free.
    pub fn set_limits(&mut self, limits: Limits) -> Result<()> {
        self.vault.set_limits(limits)
    }

    /// Makes the branch of a new run and its first commit; no file of the work tree is touched.
    pub fn begin(
        self,
        request: BeginRequest<'_>,
    ) -> StepResult<(Session<AtCheckpoint>, Begun), Settled> {
        self.step(AtCheckpoint, |vault, _| vault.begin(request))
    }

    /// Resumes the open run: what the user changed since it stopped becomes part of it.
    pub fn resume(self) -> StepResult<(Session<AtCheckpoint>, Begun), Settled> {
        self.step(AtCheckpoint, |vault, _| vault.resume())
    }

    /// The open run at its checkpoint, as it is; the same vault where no run is open.
    pub fn at_checkpoint(self) -> std::result::Result<Session<AtCheckpoint>, Self> {
        if self.vault.open_run().is_none() {
            return Err(self);
        }
        Ok(self.with_state(AtCheckpoint))
    }

    /// Makes a kept run the one that the steps below are about; false if it is no longer known.
    pub fn recall(&mut self, run: &RunId) -> bool {
        self.vault.recall(run)
    }

    /// Opens the run again whose branch was kept. The journal has it only before the next step.
    pub fn reopen_kept(&mut self) -> Result<()> {
        self.vault.reopen()
    }

    /// Switches to the branch of the run that can be resumed; none where HEAD is there already.
    pub fn switch_back(&mut self) -> Result<Option<SwitchedBack>> {
        self.vault.switch_back()
    }

    /// Switches to where HEAD was before [`Self::switch_back`].
    pub fn switch_again(&mut self, switched: &SwitchedBack) -> Result<()> {
        self.vault.switch_again(switched)
    }

    /// Prepares the way back to before the open run, which keeps its branch; nothing is touched yet.
    pub fn prepare_start_over(&mut self) -> Result<PreparedMove> {
        self.vault.prepare_start_over()
    }

    /// Goes back to before the open run, and ends it with its branch kept.
    pub fn start_over(self, prepared: PreparedMove) -> StepResult<(Self, Vec<Notice>), Opened> {
        self.moved(|vault| vault.carry_out_start_over(prepared))
    }

    /// Prepares the end of the open run; nothing is touched yet.
    pub fn prepare_finish(
        &mut self,
        choice: FinishChoice,
        template: &MessageTemplate,
    ) -> Result<PreparedFinish> {
        self.vault.prepare_finish(choice, template)
    }

    /// What to know about the branch of the last run where it is kept as it is.
    pub fn notices_of_kept_branch(&self) -> Vec<Notice> {
        self.vault.notices_of_kept_branch()
    }

    /// Prepares the way back to before a story; nothing is touched yet.
    pub fn prepare_rewind(&mut self, story: &StoryId) -> Result<PreparedRewind> {
        self.vault.prepare_rewind(story)
    }

    /// Prepares to restore files of a parked attempt, all it changed or what is at or below `only`;
    /// nothing is touched yet.
    pub fn prepare_restore(
        &mut self,
        parked: &ParkedAttempt,
        only: Option<&[u8]>,
    ) -> Result<PreparedMove> {
        self.vault.prepare_restore(parked, only)
    }

    /// Prepares to undo the last finish, rewind or restore of an attempt; nothing is touched yet.
    pub fn prepare_undo(&mut self) -> Result<PreparedUndo> {
        self.vault.prepare_undo()
    }

    /// Ends the open run. A finish that fails may be half done: it is completed by a recovery.
    pub fn finish(self, prepared: PreparedFinish) -> StepResult<(Self, FinishReport), Opened> {
        self.moved(|vault| vault.carry_out_finish(prepared))
    }

    /// Carries out a rewind, or a restore of an attempt's files.
    pub fn carry_out(self, prepared: PreparedMove) -> StepResult<(Self, Vec<Notice>), Opened> {
        self.moved(|vault| vault.carry_out(prepared))
    }

    /// Carries out an undo.
    pub fn undo(self, prepared: PreparedUndo) -> StepResult<(Self, Vec<Notice>), Opened> {
        self.moved(|vault| vault.carry_out_undo(prepared))
    }

    /// Moves everything; what fails midway needs a recovery.
    fn moved<T>(self, work: impl FnOnce(&mut Vault) -> Result<T>) -> StepResult<(Self, T), Opened> {
        self.with_state(Opened)
            .step(Settled, |vault, _| work(vault))
    }
}

impl Session<AtCheckpoint> {
    /// Makes what changed since the checkpoint, or its restore, a checkpoint of its own: no agent was
    /// at work, so all of it is the user's or a gate's.
    pub fn include_user_changes(&mut self) -> Result<Meanwhile> {
        self.vault.include_user_changes()
    }

    /// Starts an attempt. After a crash it is parked, and the checkpoint restored.
    pub fn start_attempt(self, attempt: &AttemptId) -> StepResult<Session<Attempt>, AtCheckpoint> {
        let started = self.step(Attempt::default(), |vault, _| {
            vault.attempt_started(attempt)
        });
        Ok(started?.0)
    }

    /// Starts a gate on the checkpoint. After a crash what it changed is undone.
    pub fn start_gate(self) -> StepResult<Session<GateOnCheckpoint>, AtCheckpoint> {
        let started = self.step(GateOnCheckpoint::default(), |vault, _| vault.gate_started());
        Ok(started?.0)
    }

    /// Starts a reviewer on the checkpoint, whose git commands are recorded in the folder `traces`.
    /// After a crash what it changed is undone.
    pub fn start_review(
        self,
        traces: &Path,
    ) -> StepResult<Session<GateOnCheckpoint>, AtCheckpoint> {
        let (mut session, before) = self.step(GateOnCheckpoint::default(), |vault, _| {
            let before = vault.before_review(Some(traces))?;
            vault.gate_started()?;
            Ok(before)
        })?;
        session.state.before_review = Some(Box::new(before));
        Ok(session)
    }

    /// Announces that the boxes of a story will be opened. After a crash they are as before.
    pub fn start_reopening(self) -> StepResult<Session<Reopening>, AtCheckpoint> {
        Ok(self
            .step(Reopening, |vault, _| vault.reopening_started())?
            .0)
    }

    /// Makes the restore before it durable: what differs from the checkpoint later on is the user's,
    /// and must not be a file that lost its bytes.
    pub fn make_restore_durable(&mut self) -> Result<()> {
        self.vault.settle_restore()
    }

    /// Leaves the run at its checkpoint, to finish it or to resume it later.
    pub fn leave(self) -> StepResult<Session<Settled>, AtCheckpoint> {
        Ok(self.step(Settled, |vault, _| vault.settle_restore())?.0)
    }

    /// Prepares the end of the run; nothing is touched yet.
    pub fn prepare_finish(
        &mut self,
        choice: FinishChoice,
        template: &MessageTemplate,
    ) -> Result<PreparedFinish> {
        self.make_restore_durable()?;
        self.vault.prepare_finish(choice, template)
    }

    /// Ends the run.
    pub fn finish(
        self,
        prepared: PreparedFinish,
    ) -> std::result::Result<(Session<Settled>, FinishReport), Box<FinishFailed>> {
        let finished = self.step(Settled, |vault, _| vault.carry_out_finish(prepared));
        finished.map_err(|failed| {
            let Failed { session, error } = *failed;
            Box::new(if session.vault.unfinished_move().is_none() {
                FinishFailed::NotBegun(Failed { session, error })
            } else {
                let session = session.with_state(Opened);
                FinishFailed::HalfDone(Failed { session, error })
            })
        })
    }
}

/// A finish that failed.
#[derive(Debug)]
pub enum FinishFailed {
    /// The run is still at its checkpoint.
    NotBegun(Failed<AtCheckpoint>),
    /// A recovery completes it.
    HalfDone(Failed<Opened>),
}

impl Session<Attempt> {
    /// Makes the folders that a park needs, on a thread of its own.
    pub fn prewarm_object_folders(&mut self) {
        self.vault.prewarm_object_folders();
    }

    /// What differs from the checkpoint, with the texts that are wanted; `besides` is not counted.
    pub fn changed(
        &mut self,
        besides: &[PathBuf],
        wants_text: impl Fn(&str) -> bool,
    ) -> Result<Changed> {
        let (changed, scan) = self.vault.changed(besides, wants_text)?;
        self.state.scan = Some(Box::new(scan));
        Ok(changed)
    }

    /// No further gate runs on the attempt as it is: undoes what they changed in the tree. What changes
    /// from here on is part of the attempt.
    pub fn end_gates(&mut self) -> Result<Vec<Notice>> {
        let notices = self.undo_gate_changes()?;
        self.state = Attempt::default();
        Ok(notices)
    }

    /// The session of the attempt's agent goes on in the tree as it is, without what gates changed
    /// in it.
    pub fn start_round(&mut self, attempt: &AttemptId, round: u32) -> Result<Vec<Notice>> {
        let notices = self.end_gates()?;
        self.vault.round_started(attempt, round)?;
        Ok(notices)
    }

    /// Gates run from here on: what they change to the tree that [`Self::changed`] found can be undone.
    pub fn start_gates(&mut self) {
        let scan = self.state.scan.take();
        self.state.before_gates = scan.map(|scan| Box::new(self.vault.before_gates(*scan)));
    }

    /// Makes what a gate changed part of the work, and returns all paths that the work changes now.
    pub fn accept_gate_changes(&mut self) -> Result<Vec<String>> {
        let tree = self.vault.scan_before_gates()?;
        let changed = self.vault.changed_before_gates(&tree)?;
        self.state.before_gates = Some(Box::new(tree));
        Ok(changed)
    }

    /// A gate that may run again starts: what its tries change can be undone without what gates before
    /// it changed.
    pub fn start_gate_tries(&mut self) -> Result<()> {
        self.state.before_tries = Some(Box::new(self.vault.scan_before_gates()?));
        Ok(())
    }

    /// Undoes what a try of the gate changed, also where that was made part of the work.
    pub fn undo_gate_try(&mut self) -> Result<Vec<Notice>> {
        match &self.state.before_tries {
            Some(before) => self.vault.undo_gates(before, ChangedBy::Gates),
            None => Ok(Vec::new()),
        }
    }

    /// Undoes what gates changed in the tree.
    pub fn undo_gate_changes(&mut self) -> Result<Vec<Notice>> {
        match &self.state.before_gates {
            Some(before) => self.vault.undo_gates(before, ChangedBy::Gates),
            None => Ok(Vec::new()),
        }
    }

    /// A reviewer runs from here on, after [`Self::start_gates`]: all that it changes can be undone.
    pub fn start_review(&mut self) -> Result<()> {
        self.state.before_review = Some(Box::new(self.vault.before_review(None)?));
        Ok(())
    }

    /// Undoes what the reviewer changed.
    pub fn undo_review(&mut self) -> Result<Vec<Notice>> {
        match (self.state.before_review.take(), &self.state.before_gates) {
            (Some(git), Some(tree)) => self.vault.undo_review(&git, tree),
            _ => Ok(Vec::new()),
        }
    }

    /// This program wrote these files, and nothing else changed.
    pub fn note_own_writes(&mut self, files: &[PathBuf]) {
        let Vault { tree, repo, .. } = &mut *self.vault;
        tree.note_own_writes(repo, files);
    }

    /// Makes the work a checkpoint: one commit, durable before this returns.
    pub fn save(
        self,
        story: &StoryNote,
    ) -> StepResult<(Session<AtCheckpoint>, SaveReport), Attempt> {
        self.step(AtCheckpoint, |vault, _| vault.save(story))
    }

    /// Saves everything the attempt left to the vault.
    pub fn park(self, setback: Setback) -> StepResult<(Session<Parked>, ParkReport), Attempt> {
        let (session, (tree, report)) = self.step((), |vault, _| vault.park(setback))?;
        Ok((session.with_state(Parked(tree)), report))
    }
}

impl Session<Parked> {
    /// Writes the diff of the attempt once git has it; [`Self::restore`] does not wait for it.
    pub fn end_diff(&mut self) {
        self.vault.end_diff();
    }

    /// Restores the checkpoint.
    pub fn restore(self) -> StepResult<(Session<AtCheckpoint>, Vec<Notice>), Parked> {
        self.step(AtCheckpoint, |vault, Parked(tree)| {
            vault.restore(&tree.scanned, tree.git)
        })
    }
}

impl Session<GateOnCheckpoint> {
    /// Restores the checkpoint after the gate, or after the reviewer.
    pub fn restore(self) -> StepResult<(Session<AtCheckpoint>, Vec<Notice>), GateOnCheckpoint> {
        self.step(AtCheckpoint, |vault, state| match &state.before_review {
            None => vault.undo_gate_on_checkpoint(ChangedBy::Gates),
            Some(git) => {
                let mut notices = vault.undo_review_of_git(git)?;
                notices.extend(vault.undo_gate_on_checkpoint(ChangedBy::Reviewer)?);
                Ok(notices)
            }
        })
    }
}

impl Session<Reopening> {
    /// Commits the open boxes.
    pub fn save(
        self,
        reopened: reopening::Reopening,
    ) -> StepResult<(Session<AtCheckpoint>, SaveReport), Reopening> {
        self.step(AtCheckpoint, |vault, _| {
            vault.save_as(SavedWork::Reopened(reopened))
        })
    }
}
