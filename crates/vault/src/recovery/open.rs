//! Opening a session: the repository is found, repaired where a crash damaged it, and locked.

use std::path::Path;
use std::time::Duration;

use super::{interrupted, vanished};
use crate::error::Result;
use crate::git::repository::Repository;
use crate::look::describe_owner;
use crate::store::repository_lock::RepositoryLock;
use crate::store::{VaultFolder, VaultLock};
use crate::vault::Vault;

impl Vault {
    /// Finds the repository, locks its vault and reads the journal. Changes nothing in the
    /// repository, but rebuilds a git directory that an interrupted attempt removed.
    pub fn open(
        directory: &Path,
        state_directory: &Path,
        command_timeout: Duration,
    ) -> Result<Self> {
        let (from, state) = (directory.to_owned(), state_directory.to_owned());
        interrupted::straighten(directory, state_directory)?;
        let rebuilt = vanished::bring_back(&from, &state)?;
        let found = vanished::discover(directory, state_directory, command_timeout);
        let (repository, repaired) = found?;
        let mut checkpoints = Self::open_in(repository, state_directory, command_timeout)?;
        checkpoints
            .pending_notices
            .extend(rebuilt.into_iter().chain(repaired));
        Ok(checkpoints)
    }

    /// The same in a repository that was found just now.
    pub fn open_in(
        repository: Repository,
        state_directory: &Path,
        command_timeout: Duration,
    ) -> Result<Self> {
        Self::open_held(repository, state_directory, command_timeout, None)
    }

    /// The same with the lock of the vault, where this process holds it already.
    pub fn open_held(
        repository: Repository,
        state_directory: &Path,
        command_timeout: Duration,
        lock: Option<VaultLock>,
    ) -> Result<Self> {
        let folder = VaultFolder::folder_for(state_directory, &repository);
        let vault = match lock {
            Some(lock) => VaultFolder::open_locked(&folder, lock)?,
            None => VaultFolder::open(&folder)?,
        };
        let lock =
            RepositoryLock::take(state_directory, &repository, &folder).map_err(describe_owner)?;
        Self::open_vault(repository, (vault, lock), command_timeout)
    }
}
