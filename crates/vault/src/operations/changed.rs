//! What an attempt changed, for the checks of a run.

use std::path::PathBuf;

use crate::error::Result;
use crate::git::process::nul_separated;
use crate::paths::{absolute, show};
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
        let new_repositories = new_repositories(&scanned, &base.submodules);
        let new_repositories: Vec<String> = new_repositories.iter().map(|it| show(it)).collect();
        let changed = Changed {
            count: counted + new_repositories.len() + uncommitted_modules.len(),
            uncommitted_modules,
            new_repositories,
            tops: tops(&base.manifest),
            paths: self
                .repo
                .read(&paths, &base.manifest, &scanned.manifest, wants_text),
        };
        Ok((changed, scanned))
    }

    /// Paths in which the checkpoint commit differs from the one that the run began with.
    pub fn changed_since_begin(&self) -> Result<Vec<String>> {
        let current = self.log.current()?;
        let (begun, now) = (current.intent.commit, current.commit);
        let changed = self
            .repo
            .changed_between(&begun.to_string(), &now.to_string())?;
        Ok(changed.iter().map(|path| show(path)).collect())
    }

    /// Every path of the checkpoint commit.
    pub fn checkpoint_paths(&self) -> Result<Vec<CommittedPath>> {
        let commit = self.log.current()?.commit.to_string();
        let args = ["ls-tree", "-r", "-z", "--full-tree", &commit];
        let listing = self.repo.gits.user.patient().run(args)?;
        let paths = nul_separated(&listing).filter_map(|line| {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            Some(CommittedPath {
                path: show(&line[tab + 1..]),
                content: show(&line[..tab]),
            })
        });
        Ok(paths.collect())
    }
}

/// A path of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedPath {
    pub path: String,
    /// Its mode, kind and object, as git lists them.
    pub content: String,
}
