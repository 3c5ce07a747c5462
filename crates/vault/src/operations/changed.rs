//! What an attempt changed, for the checks of a run.

use std::path::PathBuf;

use crate::error::Result;
use crate::paths::absolute;
use crate::repo::RepairFor;
use crate::repo::visible::visible_paths;
use crate::scan::changed::{Changed, tops};
use crate::scan::modules::new_repositories;
use crate::tree::scanned::Scanned;
use crate::vault::Vault;

impl Vault {
    /// What differs from the checkpoint, with the texts that are wanted, and the scan that found it.
    /// Files in `besides` are not counted.
    pub(crate) fn changed(
        &mut self,
        besides: &[PathBuf],
        wants_text: impl Fn(&str) -> bool,
    ) -> Result<(Changed, Scanned)> {
        let base = self.checkpoint()?;
        let mut scanned = self.tree.current_scan(&self.repo, &base);
        if scanned.is_err() {
            // The git directory may be gone, or be another one.
            let current = self.log.current()?;
            let trash = self.repo.new_trash("look");
            let repaired = self.repair_git(&current, &base, &trash, RepairFor::Save)?;
            scanned = self.tree.current_scan(&self.repo, &base);
            self.pending_notices = repaired.notices;
        }
        let scanned = scanned?;
        let top = &self.repo.places.repository.work_tree;
        let besides: Vec<PathBuf> = besides
            .iter()
            .filter_map(|path| path.canonicalize().ok())
            .collect();
        let paths = visible_paths(&scanned.changes, &base.manifest, &scanned.manifest);
        let counted = paths
            .iter()
            .filter(|path| !besides.contains(&absolute(top, path)))
            .count();
        let uncommitted_modules = self.uncommitted_modules(&base, &scanned);
        let changed = Changed {
            count: counted
                + new_repositories(&scanned, &base.submodules).len()
                + uncommitted_modules.len(),
            uncommitted_modules,
            tops: tops(&base.manifest),
            paths: self
                .repo
                .read(&paths, &base.manifest, &scanned.manifest, wants_text),
        };
        Ok((changed, scanned))
    }
}
