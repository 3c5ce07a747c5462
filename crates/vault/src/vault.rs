//! The checkpoints of one work tree, locked for one process: its parts, and what the journal says of
//! its run.

#[cfg(test)]
mod tests;

use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::error::{CheckpointError, Notice, Result};
use crate::git::process::Git;
use crate::git::refs::RefFiles;
use crate::git::repository::{Refs, Repository};
use crate::journal::Log;
use crate::journal::run_state::{Current, OpenRun, Phase, RunState};
use crate::journal::steps::{Journal, Line, Step};
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
    /// Where the repository was at its last run, if it was moved since; until that is said.
    pub(crate) moved_from: Option<PathBuf>,
}

impl Vault {
    /// The user's repository.
    pub fn repository(&self) -> &Repository {
        self.repo.repository()
    }

    /// The vault's folder.
    pub fn vault_folder(&self) -> &Path {
        self.repo.vault_folder()
    }

    /// The folder of one run: its records and transcripts.
    pub fn run_folder(&self, run: &RunId) -> PathBuf {
        self.repo.run_folder(run)
    }

    /// The folder of one attempt: prompt, stdout, stderr, the git commands the agent ran.
    pub fn attempt_folder(&self, run: &RunId, attempt: &AttemptId) -> PathBuf {
        self.repo.attempt_folder(run, attempt)
    }

    /// Everything the journal says.
    pub fn journal_lines(&self) -> std::result::Result<Vec<Line>, FileError> {
        self.repo.journal_lines()
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
        let git = repository.git(command_timeout);
        let work = Git::on_work_tree(
            &vault.scratch("work"),
            &repository.work_tree,
            command_timeout,
        )
        .with_objects(&repository.objects(), None)
        .with_own_config();
        // It writes objects and private indexes; the journal syncs all of them before it names one.
        // Without a way to tell an outage, objects that lost their bytes could not be looked for.
        let notices_outages = journal.uptime().is_some();
        let work = if notices_outages {
            work.unsynced()
        } else {
            work
        };
        let store = Git::on_bare(&vault.store(), command_timeout);
        // Git has just found the repository, so it can read its configuration.
        let mut ref_files = RefFiles::default();
        ref_files.accept_present(&repository);
        let mut checkpoints = Self {
            repo: Repo {
                places: Places { repository, vault },
                git,
                work,
                store,
                run: state.unsettled_run(),
                notices_outages,
                ref_files: RefCell::new(ref_files),
                links: RefCell::default(),
                users_config: RefCell::default(),
                written: RefCell::default(),
                module_links: RefCell::default(),
                git_copy: RefCell::default(),
                ready_branch: None,
                settings: OnceCell::default(),
                logged: RefCell::default(),
                object_listings: Arc::default(),
                is_fanned_out: false,
            },
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
            moved_from,
        };
        if let Some(open) = checkpoints.open_run() {
            checkpoints.tree.limits = checkpoints.repo.read_limits(&open.run);
        }
        Ok(checkpoints)
    }

    /// Sets how long a git command may take.
    pub(crate) fn set_command_timeout(&mut self, timeout: Duration) {
        for git in [
            &mut self.repo.git,
            &mut self.repo.work,
            &mut self.repo.store,
        ] {
            *git = git.with_timeout(timeout);
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
        self.log.state.kept().map(Current::seen)
    }

    /// True where an attempt was started and neither saved nor undone.
    pub fn is_attempt_open(&self) -> bool {
        let current = self.log.state.current.as_ref();
        current.is_some_and(|current| match current.phase {
            Phase::Working(_) | Phase::Restoring => true,
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
        self.repo.run = self.log.state.unsettled_run();
        Ok(())
    }
}

impl Repo {
    /// The user's repository.
    pub(crate) fn repository(&self) -> &Repository {
        &self.places.repository
    }

    /// The vault's folder.
    pub(crate) fn vault_folder(&self) -> &Path {
        self.places.vault.folder()
    }

    /// The folder of one run: its records and transcripts.
    pub(crate) fn run_folder(&self, run: &RunId) -> PathBuf {
        self.places.vault.folder().join("runs").join(&run.0)
    }

    /// The folder of one attempt: prompt, stdout, stderr, the git commands the agent ran.
    pub(crate) fn attempt_folder(&self, run: &RunId, attempt: &AttemptId) -> PathBuf {
        self.run_folder(run)
            .join("attempts")
            .join(attempt.to_string())
    }

    /// Everything the journal says.
    pub(crate) fn journal_lines(&self) -> std::result::Result<Vec<Line>, FileError> {
        crate::journal::steps::read(&self.places.vault.journal())
    }

    /// Marks the processes git starts, so that the next start can find them after a crash.
    pub(crate) fn mark_processes(&mut self, run: &RunId) {
        self.git = self.git.with_marker(&run.0);
        self.work = self.work.with_marker(&run.0);
        self.store = self.store.with_marker(&run.0);
    }

    /// Links objects the repository has gained into the vault.
    pub(crate) fn link_objects(&self) -> Result<()> {
        let places = &self.places;
        let links = &self.links;
        links.borrow_mut().link_new(
            &places.repository.objects(),
            &places.vault.store().join("objects"),
        )
    }
}

impl Log {
    /// The open run, for steps that need one.
    pub(crate) fn current(&self) -> Result<Current> {
        self.state.current.clone().ok_or_else(|| {
            CheckpointError::failed(
                "no run has begun here",
                "start one with `ralphtool loop CHANGE`",
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
