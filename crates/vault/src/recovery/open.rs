//! Opening a vault: the repository is found, repaired where a crash damaged it, and locked.

use std::path::Path;
use std::time::Duration;

use super::vanished;
use crate::error::Result;
use crate::look::describe_owner;
use crate::store::VaultFolder;
use crate::store::repository_lock::RepositoryLock;
use crate::vault::Vault;

impl Vault {
    /// Finds the repository, locks its vault and reads the journal. Changes nothing in the
    /// repository, but rebuilds a git directory that an interrupted attempt removed.
    pub fn open(
        directory: &Path,
        state_directory: &Path,
        command_timeout: Duration,
    ) -> Result<Self> {
        vanished::enforce_shape(directory, state_directory)?;
        let rebuilt = vanished::bring_back(directory, state_directory)?;
        let (repository, repaired) =
            vanished::discover(directory, state_directory, command_timeout)?;
        let folder = VaultFolder::folder_for(state_directory, &repository);
        let vault = VaultFolder::open(&folder)?;
        let lock =
            RepositoryLock::take(state_directory, &repository, &folder).map_err(describe_owner)?;
        let mut vault = Self::open_vault(repository, vault, lock, command_timeout)?;
        vault
            .pending_notices
            .extend(rebuilt.into_iter().chain(repaired));
        Ok(vault)
    }
}
