//! Lock files of git that a dead process left, freed before git is used.

use std::path::Path;

use crate::error::{Notice, Result};
use crate::git::locks::{find, find_in_submodules};
use crate::repo::stale_locks::moved_notice;
use crate::vault::Vault;

impl Vault {
    /// Moves stale lock files aside: an agent that was ended leaves such. Waits for those that stand in
    /// the way of what comes next; all others stay where they are not stale.
    pub fn free_locks(&self, refs: &[&str], trash: &Path) -> Result<Vec<Notice>> {
        let repository = &self.repo.places.repository;
        let mut needed = vec![
            repository.git_dir.join("index.lock"),
            repository.git_dir.join("HEAD.lock"),
        ];
        let of_ref = |name: &&str| repository.common_dir.join(format!("{name}.lock"));
        needed.extend(refs.iter().map(of_ref));
        let mut notices = Vec::new();
        for lock in &needed {
            if self.repo.free_lock(lock, trash)? {
                notices.push(moved_notice(lock));
            }
        }
        // Without git commands of the agent's, refs and other work trees have none of its locks.
        let current = self.log.state.current.as_ref();
        let everywhere = current.is_none_or(|current| self.repo.agent_ran_git(current));
        for lock in find(repository, everywhere) {
            if self.repo.free_if_stale(&lock, trash)? {
                notices.push(moved_notice(&lock));
            }
        }
        Ok(notices)
    }

    /// Moves stale lock files of submodules aside.
    pub(crate) fn free_module_locks(&self, trash: &Path) -> Result<Vec<Notice>> {
        let mut notices = Vec::new();
        for lock in find_in_submodules(&self.repo.places.repository) {
            if self.repo.free_if_stale(&lock, trash)? {
                notices.push(moved_notice(&lock));
            }
        }
        Ok(notices)
    }
}
