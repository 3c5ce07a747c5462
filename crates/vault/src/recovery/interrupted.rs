//! What an interrupted attempt left in place of parts of the git directory is moved aside before git
//! is asked where the repository is: git would wait for a named pipe without end.

use std::fs;
use std::path::Path;

use crate::error::Result;
use crate::git::repository::Repository;
use crate::journal::run_state::{Phase, RunState};
use crate::journal::steps::read;
use crate::repo::shape::Strictness;
use crate::repo::snapshot::Snapshot;
use crate::repo::switch::trash_name;
use crate::store::repository_lock::RepositoryLock;
use crate::store::{VaultError, VaultFolder};

/// Straightens the git directory of the folder or one above, where a run was interrupted while an
/// agent was at work or its attempt was being restored.
pub(crate) fn straighten(directory: &Path, state: &Path) -> Result<()> {
    let Ok(directory) = directory.canonicalize() else {
        return Ok(());
    };
    let mut above = directory.ancestors();
    let has_git = |folder: &&Path| fs::symlink_metadata(folder.join(".git")).is_ok();
    let Some(work_tree) = above.find(has_git) else {
        return Ok(());
    };
    let place = fs::symlink_metadata(work_tree.join(".git"));
    if !place.is_ok_and(|it| it.is_dir() || it.is_file()) {
        return Ok(());
    }
    let repository = Repository::layout(work_tree);
    let folder = VaultFolder::folder_for(state, &repository);
    let Some(current) = RunState::from_journal(&read(&folder.join("journal"))?).current else {
        return Ok(());
    };
    let strictness = match current.phase {
        Phase::Beginning | Phase::Still => return Ok(()),
        Phase::Working(_) | Phase::Restoring => Strictness::AfterFailure,
        Phase::Verified(_) | Phase::Saving(_) => Strictness::AfterSuccess,
    };
    let vault = match VaultFolder::open(&folder) {
        Ok(vault) => vault,
        // A run is at work; to open the vault again says so.
        Err(VaultError::Locked { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let _lock = match RepositoryLock::take(state, &repository, &folder) {
        Ok(lock) => lock,
        // One is at work in another work tree.
        Err(VaultError::RepositoryLocked { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let snapshot = Snapshot::read(&vault, &current.snapshot)?;
    let trash = vault.trash(&trash_name("recover"));
    snapshot
        .control
        .shape
        .straighten(&repository, strictness, &trash)?;
    Ok(())
}
