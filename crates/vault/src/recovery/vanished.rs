//! A git directory that is gone or damaged when an interrupted run is found: its agent or a power cut
//! did that, and the program was ended before it could repair it. Git would see no repository, or take
//! one in the folders above. Where the vault of the work tree knows an open run, the same repairs are
//! made as inside a run; where something else stands in the place of the git directory, that is the
//! user's.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{CheckpointError, Notice, Result};
use crate::git::object_id::ObjectFormat;
use crate::git::process::Git;
use crate::git::repository::{Repository, RepositoryError};
use crate::journal::run_state::{Current, Phase, RunState};
use crate::journal::steps::read;
use crate::look::describe_owner;
use crate::repair::content::repaired_notice;
use crate::repair::parts::{DirectoryRepair, Found, rebuild, rebuilt_notice, repair_setup};
use crate::repo::shape::Folders;
use crate::repo::snapshot::Snapshot;
use crate::repo::switch::trash_name;
use crate::repo::{Places, RepairFor};
use crate::store::VaultFolder;
use crate::store::repository_lock::RepositoryLock;

/// A work tree whose vault knows an open run.
struct Known {
    repository: Repository,
    folder: PathBuf,
    current: Current,
}

impl Known {
    /// Looks for the open run of a work tree.
    fn find(work_tree: &Path, state: &Path) -> Result<Option<Self>> {
        let mut repository = Repository::layout(work_tree);
        let folder = VaultFolder::folder_for(state, &repository);
        let lines = read(&folder.join("journal"))?;
        let Some(current) = RunState::from_journal(&lines).current else {
            return Ok(None);
        };
        if current.commit.as_bytes().len() == ObjectFormat::Sha256.zero().as_bytes().len() {
            repository.format = ObjectFormat::Sha256;
        }
        Ok(Some(Self {
            repository,
            folder,
            current,
        }))
    }

    /// Locks the vault and the repository: no other work tree of it has a run at work meanwhile.
    fn hold(self, state: &Path) -> Result<Held> {
        let vault = VaultFolder::open(&self.folder)?;
        let lock = RepositoryLock::take(state, &self.repository, &self.folder);
        let lock = lock.map_err(describe_owner)?;
        let snapshot = Snapshot::read(&vault, &self.current.snapshot)?;
        let repository = self.repository;
        Ok(Held {
            places: Places { repository, vault },
            current: self.current,
            snapshot,
            _lock: lock,
        })
    }

    fn agent_was_at_work(&self) -> bool {
        !matches!(self.current.phase, Phase::Beginning | Phase::Still)
    }
}

/// The same, locked for this process.
struct Held {
    places: Places,
    current: Current,
    /// The last checkpoint.
    snapshot: Snapshot,
    _lock: RepositoryLock,
}

/// The nearest folder, this one or one above, with something called `.git`.
fn nearest(directory: &Path) -> Option<PathBuf> {
    let directory = directory.canonicalize().ok()?;
    let mut above = directory.ancestors();
    let work_tree = above.find(|it| fs::symlink_metadata(it.join(".git")).is_ok());
    work_tree.map(Path::to_owned)
}

/// Moves aside what an interrupted attempt left in place of parts of the git directory, before git is
/// asked where the repository is: git would wait for a named pipe without end.
pub(crate) fn enforce_shape(directory: &Path, state: &Path) -> Result<()> {
    let Some(work_tree) = nearest(directory) else {
        return Ok(());
    };
    let place = fs::symlink_metadata(work_tree.join(".git"));
    if !place.is_ok_and(|it| it.is_dir() || it.is_file()) {
        return Ok(());
    }
    let Some(known) = Known::find(&work_tree, state)? else {
        return Ok(());
    };
    let repair = match known.current.phase {
        Phase::Beginning | Phase::Still => return Ok(()),
        Phase::Working | Phase::Restoring => RepairFor::Restore,
        Phase::Verified(_) | Phase::Saving(_) => RepairFor::Save,
    };
    let held = match known.hold(state) {
        // A run is at work; to open the vault again says so.
        Err(error) if error.is_refusal() => return Ok(()),
        held => held?,
    };
    let trash = held.places.vault.trash(&trash_name("recover"));
    let shape = &held.snapshot.control.shape;
    shape.enforce(Folders::All, &held.places.repository, repair, &trash)?;
    Ok(())
}

/// The repository of the folder or one above whose git directory git cannot use, where an unfinished
/// run is known that the next start repairs it for. What the vault has of it can be read before that.
pub fn unfinished_at(directory: &Path, state: &Path) -> Option<Repository> {
    let directory = directory.canonicalize().ok()?;
    for work_tree in directory.ancestors() {
        let metadata = fs::symlink_metadata(work_tree.join(".git")).ok();
        let known = Known::find(work_tree, state).ok().flatten();
        match (metadata, known) {
            (Some(metadata), known) => {
                let known = known.filter(|_| metadata.is_dir() || metadata.is_file());
                return known.map(|known| known.repository);
            }
            (None, Some(known)) if known.agent_was_at_work() => return Some(known.repository),
            (None, _) => {}
        }
    }
    None
}

/// A message that git cannot use the git directory of an unfinished run, and a hint.
pub fn describe_damage(repository: &Repository) -> (String, &'static str) {
    let folder = repository.work_tree.display();
    let what =
        format!("git cannot use the git directory of `{folder}`, which has an unfinished run");
    (what, "`ralphtool resume` repairs it and resumes the run")
}

/// Rebuilds the git directory that an agent removed from the folder or one above.
pub(crate) fn bring_back(directory: &Path, state: &Path) -> Result<Option<Notice>> {
    let Ok(directory) = directory.canonicalize() else {
        return Ok(None);
    };
    for work_tree in directory.ancestors() {
        if fs::symlink_metadata(work_tree.join(".git")).is_ok() {
            break;
        }
        let Some(known) = Known::find(work_tree, state)? else {
            continue;
        };
        if !known.agent_was_at_work() {
            // The user removed it.
            break;
        }
        return rebuild_known(&known.hold(state)?);
    }
    Ok(None)
}

/// Finds the repository. Where git finds none, or one in a folder above a git directory that has an open
/// run, that one is repaired first, which the notice reports.
pub(crate) fn discover(
    directory: &Path,
    state: &Path,
    timeout: Duration,
) -> Result<(Repository, Option<Notice>)> {
    let found = Repository::discover(directory);
    let Some(nearest) = nearest(directory) else {
        return Ok((found?, None));
    };
    let is_there = |found: &Repository| found.work_tree == nearest;
    let place = nearest.join(".git");
    if found.as_ref().is_ok_and(is_there) || !(place.is_dir() || place.is_file()) {
        return Ok((found?, None));
    }
    let Some(known) = Known::find(&nearest, state)? else {
        return Ok((found?, None));
    };
    let vault = known.folder.clone();
    let Some(repaired) = repair_known(known, state, timeout)? else {
        return Err(CheckpointError::failed(
            format!(
                "the git directory of `{}` is damaged, and is not the one an unfinished run began in",
                nearest.display()
            ),
            format!(
                "the run's work is safe in `{}`; move that folder away to start over",
                vault.display()
            ),
        ));
    };
    match Repository::discover(directory) {
        Ok(found) if is_there(&found) => Ok((found, Some(repaired))),
        other => Err(still_damaged(&nearest, &vault, other.err())),
    }
}

/// Rebuilds a git directory, unless it is part of another one.
fn rebuild_known(held: &Held) -> Result<Option<Notice>> {
    if held.snapshot.control.is_linked() {
        return Ok(None);
    }
    let trash = held.places.vault.trash(&trash_name("rebuild"));
    rebuild(&held.places, &held.snapshot, &trash)?;
    Ok(Some(rebuilt_notice(&held.places)))
}

/// Repairs the git directory of an open run; none where it is another one. What is left of one that
/// an agent was removing looks like another one; git can use neither, so it is moved to the trash.
fn repair_known(known: Known, state: &Path, timeout: Duration) -> Result<Option<Notice>> {
    let agent_was_at_work = known.agent_was_at_work();
    let held = known.hold(state)?;
    let Held {
        places,
        current,
        snapshot,
        ..
    } = &held;
    let trash = places.vault.trash(&trash_name("repair"));
    let repair = DirectoryRepair {
        places,
        current,
        snapshot,
        trash: &trash,
        repair_for: RepairFor::Restore,
    };
    let Found::Same(mut parts) = repair.repair()? else {
        if agent_was_at_work {
            return rebuild_known(&held);
        }
        return Ok(None);
    };
    if places.repair_head(&current.intent.branch, &trash)? {
        parts.push("HEAD".to_owned());
    }
    let git = Git::on_bare(&places.vault.store(), timeout);
    parts.extend(repair_setup(&git, places, snapshot, &trash)?);
    Ok(Some(repaired_notice(places, &parts)))
}

fn still_damaged(
    work_tree: &Path,
    vault: &Path,
    error: Option<RepositoryError>,
) -> CheckpointError {
    CheckpointError::Failed {
        what: format!(
            "git cannot use the git directory of `{}`, in which an unfinished run began",
            work_tree.display()
        ),
        hint: format!(
            "the run's work is safe in `{}`; `mv .git .git.damaged` and start again to rebuild it",
            vault.display()
        ),
        source: error.map(Into::into),
    }
}
