//! Checkpoints: begin, save, park, restore, finish and recover, by a protocol in which nothing is
//! switched before what it needs is durable, and nothing is removed before it is kept.
//!
//! | file | step |
//! | --- | --- |
//! | `preflight` | refuses to start where it cannot work, touching nothing |
//! | `begin` | the branch and its "initial state" commit |
//! | `changed` | what an attempt changed, with the texts that are looked at |
//! | `save` | a finished story becomes a commit |
//! | `staged` | what only the agent's index says of a story |
//! | `park`, `restore` | a failed attempt goes to the vault, the tree back to the checkpoint |
//! | `meanwhile` | what the user does while the loop runs |
//! | `agent_git` | the git commands an agent ran |
//! | `proof` | whether a ref was moved by the agent |
//! | `stale_locks` | lock files of git that a dead process left |
//! | `users_config` | what the user adds to the config meanwhile |
//! | `stash` | the stash after a failed attempt |
//! | `finish` | the work goes home, the branch stays, or all goes back to before the run |
//! | `incoming` | what the original branch gained meanwhile |
//! | `rewind` | back to before a story |
//! | `parked` | parked attempts, looked at and put back |
//! | `twins` | other names and the owner of a restored file |
//! | `undo` | the last of these is taken back |
//! | `moving` | how all of them move everything from one state to another |
//! | `stage_again` | what the user had staged is staged again after a cleanup |
//! | `recover` | what an interrupted run left is mended |
//! | `outage` | what a machine that stopped had not yet on disk is found and put right |
//! | `interrupted` | what it left in place of parts of the git directory is moved aside |
//! | `plain_commit` | a commit without git, of files it would store as they are |
//! | `conversions` | which files those are |
//! | `first_index` | what is in the user's index, and which files have the bytes it names |
//! | `frozen_config` | the user's git configuration as it was when the run began |
//! | `gate_changes` | what gates change in the tree is put back |
//! | `guarding` | what is kept out of commits, and said once |
//! | `modules` | the git directories of submodules |
//! | `room` | is there space on the disk |
//! | `taking` | one walk: what changed, where its bytes are kept |
//! | `looking` | which look at the tree still holds, so that it is walked once a story |
//! | `keeping` | bytes git does not hold, copied into the vault |
//! | `control` | HEAD, refs, config, hooks and the like |
//! | `objects` | the repository's objects, linked into the vault |
//! | `shape` | kinds and modes of what is in the git directory |
//! | `object_repair` | objects with wrong bytes come back from the vault |
//! | `git_paths` | which paths of a git directory are files, folders, or looked into |
//! | `missing_objects` | objects that were removed or moved elsewhere are linked again from the vault |
//! | `git_copy` | what else is in the git directory, copied into the vault |
//! | `content` | LFS and annex content that was removed is linked back from that copy |
//! | `repair` | what a git directory lost comes back from the vault |
//! | `error` | why a step did not work |
//! | `switch` | moving branch, HEAD and index |
//! | `mend` | a git directory that was damaged or removed becomes usable again |
//! | `broken_refs` | refs whose files hold no ref any more are restored |
//! | `vanished` | the same where the program was ended before it could |
//! | `converge` | the work tree becomes what a manifest says |
//! | `look` | what a vault says, without its lock and without touching it |
//! | `shown` | diffs to look at, without the lock, while a run is at work |
//! | `gc` | what no run needs any more leaves the vault |
//!
//! It carries out; whether to retry, stop or finish is not decided here.

mod agent_git;
mod begin;
mod broken_refs;
mod changed;
mod content;
mod control;
mod converge;
mod conversions;
mod error;
mod finish;
mod first_index;
mod frozen_config;
mod gate_changes;
mod gc;
mod git_copy;
mod git_paths;
mod guarding;
mod incoming;
mod interrupted;
mod keeping;
mod look;
mod looking;
mod meanwhile;
mod mend;
mod missing_objects;
mod modules;
mod moving;
mod object_repair;
mod objects;
mod outage;
mod park;
mod parked;
mod parked_diff;
mod plain_commit;
mod preflight;
mod proof;
mod recover;
mod repair;
mod restore;
mod rewind;
mod room;
mod run_state;
mod save;
mod shape;
mod shown;
mod snapshot;
mod stage_again;
mod staged;
mod stale_locks;
mod stash;
mod switch;
mod taking;
#[cfg(test)]
mod tests;
mod twins;
mod undo;
mod users_config;
mod vanished;
mod visible;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::files::{FileError, device};
use super::git::Git;
use super::object_id::ObjectId;
use super::ref_files::RefReader;
use super::repository::{Refs, Repository};
use super::repository_lock::RepositoryLock;
use super::steps::{Journal, Line, Step};
use super::vault::{Vault, VaultError, VaultLock, where_now};
use crate::domain::guard::Limits;
use crate::domain::ids::{AttemptId, RunId};

pub(crate) use begin::Begun;
pub(crate) use changed::Changed;
pub(crate) use error::CheckpointError;
pub(crate) use finish::{FinishReport, PreparedFinish};
pub(crate) use gc::GcPlan;
pub(crate) use look::{JournalHealth, Look, look, strays};
pub(crate) use moving::{Outline, PreparedMove};
pub(crate) use park::Setback;
pub(crate) use parked::{ParkedAttempt, Shelf};
pub(crate) use preflight::{branch_obstacles, obstacles, passing_obstacles};
pub(crate) use run_state::OpenRun;
pub(crate) use shown::Diffs;
pub(crate) use undo::{PreparedUndo, Undone};
pub(crate) use vanished::{told_damaged, unfinished_at};

use conversions::Conversions;
use error::describe_owner;
use git_copy::GitCopy;
use keeping::large::Seen;
use looking::Latest;
use modules::ModuleLinks;
use object_repair::ObjectListings;
use objects::ObjectLinks;
use park::Parked;
use parked_diff::Diffing;
use plain_commit::Identity;
use run_state::{Current, Phase, RunState};
use snapshot::Snapshot;
use taking::Opaque;

/// A result of this module.
type Result<T, E = CheckpointError> = std::result::Result<T, E>;

/// Something the user should hear about; the run goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    /// Stable name.
    pub(crate) code: &'static str,
    /// For people.
    pub(crate) message: String,
}

impl Notice {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

/// Where everything is, for work that runs on a blocking thread.
#[derive(Debug)]
struct Places {
    repository: Repository,
    vault: Vault,
}

/// The checkpoints of one work tree, locked for one process.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    places: Arc<Places>,
    _repository_lock: RepositoryLock,
    /// Git on the user's repository; only refs and HEAD are touched through it.
    git: Git,
    /// Git with a configuration of our own, so that nothing an agent writes into the
    /// repository's config, hooks or attributes is ever executed by us.
    work: Git,
    /// Git on the vault's store.
    store: Git,
    journal: Arc<Mutex<Journal>>,
    ref_reader: Arc<Mutex<RefReader>>,
    /// Who moves refs, as git's logs say it, once it was asked; none where git does not know.
    committer: tokio::sync::OnceCell<Option<String>>,
    links: Arc<Mutex<ObjectLinks>>,
    /// What the user added to the config since a checkpoint, which its snapshot does not have.
    users_config: Mutex<Option<(String, String)>>,
    /// What the last save wrote into the repository's objects.
    written: Mutex<Vec<ObjectId>>,
    module_links: Arc<Mutex<ModuleLinks>>,
    /// The copy of what no snapshot has of the git directory.
    git_copy: Mutex<GitCopy>,
    opaque: Mutex<Opaque>,
    seen_large: Arc<Mutex<Seen>>,
    /// What may be committed, and what must stay free.
    limits: Limits,
    /// Paths that were named as kept out of commits.
    told: Mutex<HashSet<Vec<u8>>>,
    /// Paths that were named as secrets in the branch.
    told_secrets: Mutex<HashSet<Vec<u8>>>,
    state: RunState,
    /// The snapshot of the current checkpoint, once it was needed.
    loaded: Option<Arc<Snapshot>>,
    /// The file that becomes the branch once it moves to a commit.
    ready_branch: Option<(ObjectId, PathBuf)>,
    /// Refs after the last restore: what changed before it was told already.
    told_refs: Option<Refs>,
    /// What was mended when nobody could be told.
    unsaid: Vec<Notice>,
    /// Where the repository was at its last run, if it was moved since; until that is said.
    moved_from: Option<PathBuf>,
    /// What git makes of files before it stores them, once it was needed.
    conversions: Arc<OnceLock<Conversions>>,
    /// Who makes the commits, once git has made one.
    identity: Mutex<Option<Identity>>,
    /// What the last park took, for the restore that follows it.
    parked: Option<Parked>,
    /// What is in the folders of objects.
    object_listings: Arc<ObjectListings>,
    /// The diff of it that git is at work on.
    diffing: Option<Diffing>,
    /// The store has all folders for objects, or gets them.
    is_fanned_out: bool,
    /// The last look at the tree, while it holds.
    latest: Latest,
    /// The tree before gates ran on it.
    marked: Option<gate_changes::Marked>,
    /// Where the change of the next run is read from.
    plan: Option<String>,
    /// The folder with its task files.
    plan_folder: Option<String>,
    /// A kept run that is taken for open, which the journal says with the next step of it.
    reopened: Option<RunId>,
    /// All goes back to before the run next: a tree that the user may have switched is not restored
    /// in between.
    leaves_tree: bool,
}

impl Checkpoints {
    /// Where the repository was at its last run, if it was moved since; once.
    pub(crate) fn take_moved_from(&mut self) -> Option<PathBuf> {
        self.moved_from.take()
    }

    /// Finds the repository, locks its vault and reads the journal. Changes nothing in the
    /// repository, but rebuilds a git directory that an interrupted attempt removed.
    pub(crate) async fn open(
        directory: &Path,
        state_directory: &Path,
        command_timeout: Duration,
    ) -> Result<Self> {
        let (from, state) = (directory.to_owned(), state_directory.to_owned());
        interrupted::straighten(directory, state_directory)?;
        let rebuilt = blocking(move || vanished::bring_back(&from, &state)).await?;
        let found = vanished::discover(directory, state_directory, command_timeout);
        let (repository, repaired) = found.await?;
        let mut checkpoints = Self::open_in(repository, state_directory, command_timeout).await?;
        checkpoints
            .unsaid
            .extend(rebuilt.into_iter().chain(repaired));
        Ok(checkpoints)
    }

    /// The same in a repository that was found just now.
    pub(crate) async fn open_in(
        repository: Repository,
        state_directory: &Path,
        command_timeout: Duration,
    ) -> Result<Self> {
        Self::open_held(repository, state_directory, command_timeout, None).await
    }

    /// The same with the lock of the vault, where this process holds it already.
    pub(crate) async fn open_held(
        repository: Repository,
        state_directory: &Path,
        command_timeout: Duration,
        lock: Option<VaultLock>,
    ) -> Result<Self> {
        let folder = Vault::folder_for(state_directory, &repository);
        blocking(|| {
            let vault = match lock {
                Some(lock) => Vault::open_locked(&folder, lock)?,
                None => Vault::open(&folder)?,
            };
            let lock = RepositoryLock::take(state_directory, &repository, &folder)
                .map_err(describe_owner)?;
            Self::open_vault(repository, (vault, lock), command_timeout)
        })
        .await
    }

    /// The lock of the vault, which stays locked as long as this lives.
    pub(crate) fn vault_lock(&self) -> Option<VaultLock> {
        self.places.vault.lock()
    }

    fn open_vault(
        repository: Repository,
        (vault, repository_lock): (Vault, RepositoryLock),
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
        let work = match journal.uptime() {
            Some(_) => work.unsynced(),
            None => work,
        };
        let store = Git::on_bare(&vault.store(), command_timeout);
        // Git has just found the repository, so it can read its configuration.
        let mut ref_reader = RefReader::default();
        ref_reader.accept_present(&repository);
        let mut checkpoints = Self {
            places: Arc::new(Places { repository, vault }),
            _repository_lock: repository_lock,
            git,
            work,
            store,
            journal: Arc::new(Mutex::new(journal)),
            ref_reader: Arc::new(Mutex::new(ref_reader)),
            committer: tokio::sync::OnceCell::new(),
            links: Arc::default(),
            written: Mutex::default(),
            users_config: Mutex::default(),
            module_links: Arc::default(),
            git_copy: Mutex::default(),
            opaque: Mutex::default(),
            seen_large: Arc::default(),
            limits: Limits::DEFAULT,
            told: Mutex::default(),
            told_secrets: Mutex::default(),
            state,
            loaded: None,
            ready_branch: None,
            told_refs: None,
            unsaid: token.into_iter().collect(),
            moved_from,
            conversions: Arc::default(),
            identity: Mutex::default(),
            parked: None,
            object_listings: Arc::default(),
            diffing: None,
            latest: Latest::default(),
            is_fanned_out: false,
            marked: None,
            plan: None,
            plan_folder: None,
            reopened: None,
            leaves_tree: false,
        };
        if let Some(open) = checkpoints.open_run() {
            checkpoints.limits = checkpoints.read_limits(&open.run);
        }
        Ok(checkpoints)
    }

    /// The open run, for steps that need one.
    fn current(&self) -> Result<Current> {
        self.state.current.clone().ok_or_else(|| {
            CheckpointError::failed(
                "no run has begun here",
                "start one with `ralphtool loop CHANGE`",
            )
        })
    }

    /// The snapshot of the current checkpoint.
    async fn checkpoint(&mut self) -> Result<Arc<Snapshot>> {
        let current = self.current()?;
        if let Some(loaded) = &self.loaded
            && loaded.id == current.snapshot
        {
            return Ok(Arc::clone(loaded));
        }
        let places = Arc::clone(&self.places);
        let snapshot = blocking(move || Snapshot::read(&places.vault, &current.snapshot)).await?;
        lock(&self.opaque).adopt(&snapshot.opaque);
        self.was_told(&snapshot);
        let snapshot = Arc::new(snapshot);
        self.loaded = Some(Arc::clone(&snapshot));
        Ok(snapshot)
    }

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

    /// The run that has begun and not been finished, if any.
    pub(crate) fn open_run(&self) -> Option<OpenRun> {
        self.state.open_run()
    }

    /// The run that is open, or whose move is under way.
    pub(crate) fn unsettled_run(&self) -> Option<RunId> {
        let moving = self.state.moving.as_ref().map(|(run, _)| run.clone());
        moving.or_else(|| Some(self.state.current.as_ref()?.intent.run.clone()))
    }

    /// The run whose branch was kept last.
    pub(crate) fn kept_run(&self) -> Option<OpenRun> {
        self.state.kept().map(Current::seen)
    }

    /// Everything the journal says.
    pub(crate) fn journal_lines(&self) -> std::result::Result<Vec<Line>, FileError> {
        super::steps::read(&self.places.vault.journal())
    }

    /// True where an attempt was started and neither saved nor undone.
    pub(crate) fn is_attempt_open(&self) -> bool {
        let current = self.state.current.as_ref();
        current.is_some_and(|current| match current.phase {
            Phase::Working(_) | Phase::Restoring => true,
            Phase::Verified(_) => self.is_after_outage(),
            Phase::Beginning | Phase::Still | Phase::Saving(_) => false,
        })
    }

    /// Marks the processes git starts, so that the next start can find them after a crash.
    fn mark_processes(&mut self, run: &RunId) {
        self.git = self.git.with_marker(&run.0);
        self.work = self.work.with_marker(&run.0);
        self.store = self.store.with_marker(&run.0);
    }

    /// Says that all goes back to before the run next.
    pub(crate) fn is_to_be_abandoned(&mut self) {
        self.leaves_tree = true;
    }

    /// Sets where the change of the next run is read from, and the folder with its task files.
    pub(crate) fn set_plan(&mut self, place: Option<String>, folder: Option<String>) {
        self.plan = place;
        self.plan_folder = folder;
    }

    /// True where the last run ended in a step that can be taken back.
    pub(crate) fn can_undo(&self) -> bool {
        !self.state.undoable.is_empty()
    }

    /// True where something must be mended before anything else is done.
    pub(crate) fn needs_mending(&self) -> bool {
        let current = self.state.current.as_ref();
        self.state.moving.is_some() || current.is_some_and(|current| current.phase != Phase::Still)
    }

    /// Writes a step to the journal after everything before it is durable.
    async fn record(&mut self, run: &RunId, step: Step) -> Result<()> {
        if let Some(reopened) = self.reopened.clone() {
            self.append(&reopened, Step::Reopened).await?;
            self.reopened = None;
        }
        let line = self.append(run, step).await?;
        self.state.apply(&line);
        Ok(())
    }

    async fn append(&self, run: &RunId, step: Step) -> Result<Line> {
        let line = Line {
            run: run.clone(),
            at: jiff::Timestamp::now(),
            uptime: lock(&self.journal).uptime().cloned(),
            step,
        };
        let journal = Arc::clone(&self.journal);
        let written = line.clone();
        blocking(move || Ok(lock(&journal).write(&written)?)).await?;
        Ok(line)
    }

    /// Links objects the repository has gained into the vault.
    async fn link_objects(&self) -> Result<()> {
        let places = Arc::clone(&self.places);
        let links = Arc::clone(&self.links);
        blocking(move || {
            lock(&links).link_new(
                &places.repository.objects(),
                &places.vault.store().join("objects"),
            )
        })
        .await
    }
}

/// The run that can be gone on with, looked up as [`peek`] does: the open one, else the kept one.
pub(crate) fn peek_last(
    state_directory: &Path,
    repository: &Repository,
) -> Result<Option<OpenRun>> {
    let folder = Vault::folder_for(state_directory, repository);
    let state = RunState::from_journal(&super::steps::read(&folder.join("journal"))?);
    let last = state.open_run().or_else(|| state.kept().map(Current::seen));
    Ok(last.map(|run| OpenRun {
        plan: run.plan.map(|plan| where_now(&folder, repository, &plan)),
        ..run
    }))
}

/// The open run of a work tree, looked up without the lock and without touching anything.
pub(crate) fn peek(state_directory: &Path, repository: &Repository) -> Result<Option<OpenRun>> {
    let folder = Vault::folder_for(state_directory, repository);
    Ok(look::look(&folder)?.open)
}

/// Folders whose file systems must be durable before a step is written, one per file system.
fn barriers(repository: &Repository, vault: &Vault) -> Vec<PathBuf> {
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

/// Does file work. The loop waits for it anyway: a thread of its own would make nothing else happen
/// meanwhile, and costs two changes of threads for each of a dozen small steps a story.
async fn blocking<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    work()
}

/// A lock whose holder cannot leave it half-changed in a way that matters.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
