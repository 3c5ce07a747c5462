//! The checkpoints of one work tree, locked for one process: its parts, and what the journal says of
//! its run.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::error::{CheckpointError, Notice, Result};
use crate::git::process::Started;
use crate::git::repository::{Refs, Repository};
use crate::journal::Log;
use crate::journal::run_state::{Current, OpenRun, Phase, RunState};
use crate::journal::steps::{Journal, Line, Step, read};
use crate::repo::snapshot::Snapshot;
use crate::repo::{Places, Repo};
use crate::scan::Tree;
use crate::store::repository_lock::RepositoryLock;
use crate::store::{VaultError, VaultFolder};
use crate::tree::guard::Limits;
use ralph_base::files::{FileError, device};
use ralph_base::ids::{AttemptId, RunId};

/// The vault of one work tree, locked for one process. Which steps are possible is in the types of
/// [`crate::session`]; here is what all states share.
#[derive(Debug)]
pub struct Vault {
    pub(crate) repo: Repo,
    pub(crate) tree: Tree,
    pub(crate) log: Log,
    pub(crate) _repository_lock: RepositoryLock,
    /// The snapshot of the current checkpoint, once it was needed.
    pub(crate) loaded: Option<Arc<Snapshot>>,
    /// Refs after the last restore: what changed before it is reported already.
    pub(crate) reported_refs: Option<Refs>,
    /// What was repaired and is not reported yet.
    pub(crate) pending_notices: Vec<Notice>,
    /// The diff of the attempt that was parked last, while git writes it.
    pub(crate) started_diff: Option<StartedDiff>,
    /// Where the repository was at its last run, if it was moved since; until that is said.
    pub(crate) moved_from: Option<PathBuf>,
}

/// A diff that git is writing.
#[derive(Debug)]
pub(crate) struct StartedDiff {
    pub(crate) path: PathBuf,
    pub(crate) git: Started,
}

impl Vault {
    /// The user's repository.
    pub fn repository(&self) -> &Repository {
        &self.repo.places.repository
    }

    /// The vault's folder.
    pub fn vault_folder(&self) -> &Path {
        self.repo.places.vault.folder()
    }

    /// The folder of one run: its records and transcripts.
    pub fn run_folder(&self, run: &RunId) -> PathBuf {
        self.repo.places.vault.run_folder(run)
    }

    /// The folder of one attempt: prompt, stdout, stderr, the git commands the agent ran.
    pub fn attempt_folder(&self, run: &RunId, attempt: &AttemptId) -> PathBuf {
        self.repo.places.vault.attempt_folder(run, attempt)
    }

    /// Everything the journal says.
    pub fn journal_lines(&self) -> std::result::Result<Vec<Line>, FileError> {
        read(&self.repo.places.vault.journal())
    }

    /// The run whose finish, rewind or undo was interrupted, and the snapshot from before it.
    pub fn unfinished_move(&self) -> Option<(RunId, String)> {
        self.log.unfinished_move()
    }

    /// Where the repository was at its last run, if it was moved since; once.
    pub fn take_moved_from(&mut self) -> Option<PathBuf> {
        self.moved_from.take()
    }

    pub(crate) fn open_vault(
        repository: Repository,
        vault: VaultFolder,
        repository_lock: RepositoryLock,
        command_timeout: Duration,
    ) -> Result<Self> {
        let barriers = barriers(&repository, &vault);
        let (journal, lines) = Journal::open(&vault.journal(), barriers)?;
        let state = RunState::from_journal(&lines);
        let places = Places { repository, vault };
        let token = places.restore_lost_token(&state)?;
        let Places { repository, vault } = places;
        let mut moved_from = None;
        let (vault, journal, state) = if vault.belongs_to(&repository)? {
            moved_from = vault.note_place(&repository)?;
            (vault, journal, state)
        } else if state.open_run().is_some() {
            return Err(VaultError::OtherRepository {
                work_tree: repository.work_tree,
                vault: vault.folder().to_owned(),
            }
            .into());
        } else {
            // Another repository stands where a finished one stood; its vault stays, aside.
            let vault = vault.set_aside()?;
            let barriers = self::barriers(&repository, &vault);
            let (journal, lines) = Journal::open(&vault.journal(), barriers)?;
            (vault, journal, RunState::from_journal(&lines))
        };
        let notices_outages = journal.uptime().is_some();
        let places = Places { repository, vault };
        let mut checkpoints = Self {
            repo: Repo::new(places, &state, notices_outages, command_timeout),
            tree: Tree::new(Limits::DEFAULT),
            log: Log {
                journal,
                state,
                reopened: None,
            },
            _repository_lock: repository_lock,
            loaded: None,
            reported_refs: None,
            pending_notices: token.into_iter().collect(),
            started_diff: None,
            moved_from,
        };
        if let Some(open) = checkpoints.open_run() {
            checkpoints.tree.limits = checkpoints.repo.read_limits(&open.run);
        }
        Ok(checkpoints)
    }

    /// Sets how long a git command may take.
    pub(crate) fn set_command_timeout(&mut self, timeout: Duration) {
        self.repo.gits.set_timeout(timeout);
    }

    /// Sets what may be committed and what must stay free.
    pub(crate) fn set_limits(&mut self, limits: Limits) -> Result<()> {
        self.tree.limits = limits;
        match self.open_run() {
            Some(open) => self.tree.keep_limits(&self.repo, &open.run),
            None => Ok(()),
        }
    }

    /// The snapshot of the current checkpoint.
    pub(crate) fn checkpoint(&mut self) -> Result<Arc<Snapshot>> {
        let current = self.log.current()?;
        if let Some(loaded) = &self.loaded
            && loaded.id == current.snapshot
        {
            return Ok(Arc::clone(loaded));
        }
        let places = &self.repo.places;
        let snapshot = Snapshot::read(&places.vault, &current.snapshot)?;
        self.tree.skipped.borrow_mut().adopt(&snapshot.skipped);
        self.tree.mark_reported(&snapshot);
        let snapshot = Arc::new(snapshot);
        self.loaded = Some(Arc::clone(&snapshot));
        Ok(snapshot)
    }

    /// The run that has begun and not been finished, if any.
    pub fn open_run(&self) -> Option<OpenRun> {
        self.log.state.open_run()
    }

    /// The run that is open, or whose move is under way.
    pub fn unsettled_run(&self) -> Option<RunId> {
        self.log.state.unsettled_run()
    }

    /// The run whose branch was kept last.
    pub fn kept_run(&self) -> Option<OpenRun> {
        self.log.state.kept().map(Current::to_open_run)
    }

    /// Makes a kept run the last one, to be opened again. The journal has it only when it is opened.
    pub(crate) fn recall(&mut self, run: &RunId) -> bool {
        self.log.state.recall(run)
    }

    /// True where an attempt was started and neither saved nor undone.
    pub fn is_attempt_open(&self) -> bool {
        let current = self.log.state.current.as_ref();
        current.is_some_and(|current| match current.phase {
            Phase::Working | Phase::Restoring => true,
            Phase::Verified(_) => self.log.is_after_outage(),
            Phase::Beginning | Phase::Still | Phase::Saving(_) => false,
        })
    }

    /// True where the last run ended in a step that can be taken back.
    pub fn can_undo(&self) -> bool {
        !self.log.state.undoable.is_empty()
    }

    /// True where something must be recovered before anything else is done.
    pub fn needs_recovery(&self) -> bool {
        let current = self.log.state.current.as_ref();
        self.log.state.moving.is_some()
            || current.is_some_and(|current| current.phase != Phase::Still)
    }

    /// Writes a step to the journal after everything before it is durable.
    pub(crate) fn record(&mut self, run: &RunId, step: Step) -> Result<()> {
        if let Some(reopened) = self.log.reopened.clone() {
            self.log.append(&reopened, Step::Reopened)?;
            self.log.reopened = None;
        }
        let line = self.log.append(run, step)?;
        self.log.state.apply(&line);
        self.repo.reasons.follow(&self.log.state);
        Ok(())
    }
}

impl Log {
    /// The open run, for steps that need one.
    pub(crate) fn current(&self) -> Result<Current> {
        self.state.current.clone().ok_or_else(|| {
            CheckpointError::failed(
                "no run has begun here",
                "start one with `ralphtool run CHANGE`",
            )
        })
    }

    pub(crate) fn append(&mut self, run: &RunId, step: Step) -> Result<Line> {
        let line = Line {
            run: run.clone(),
            at: jiff::Timestamp::now(),
            uptime: self.journal.uptime().cloned(),
            step,
        };
        self.journal.write(&line)?;
        Ok(line)
    }
}

/// Folders whose file systems must be durable before a step is written, one per file system.
pub(crate) fn barriers(repository: &Repository, vault: &VaultFolder) -> Vec<PathBuf> {
    let mut seen = Vec::new();
    let mut folders = Vec::new();
    for folder in [
        vault.folder(),
        &repository.work_tree,
        &repository.common_dir,
    ] {
        let number = device(folder);
        if !seen.contains(&number) {
            seen.push(number);
            folders.push(folder.to_owned());
        }
    }
    folders
}

/// What the caller does after a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterRecovery {
    /// Anything but to abandon the run.
    Continue,
    /// The run is abandoned: a tree that the user may have switched is not restored in between.
    Abandon,
}

/// What was found and what was done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// What was found.
    pub found: String,
    /// What was done.
    pub done: String,
}
