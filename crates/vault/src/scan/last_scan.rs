//! One walk per story: a scan of the tree holds for as long as only this program can have changed it.
//! While an agent or a gate runs, and whenever the loop waits for anything, others may.

use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use crate::error::Result;
use crate::repo::Repo;
use crate::repo::snapshot::Snapshot;
use crate::scan::Tree;
use crate::stat::now_ns;
use crate::tree::scanned::{Known, Scanned};
use crate::tree::walk::{Walk, stat_path};

/// What is known of the tree without another walk.
#[derive(Debug)]
pub(crate) enum LastScan {
    /// Others may have changed it.
    Unknown,
    /// It is what the checkpoint says.
    Clean,
    /// It was scanned against a checkpoint.
    Known {
        checkpoint: String,
        scanned: Scanned,
        /// Files this program wrote since.
        written: Vec<Vec<u8>>,
    },
}

impl Tree {
    /// The tree against the checkpoint, walked only where others may have changed it since the last
    /// walk.
    pub(crate) fn current_scan(&mut self, repo: &Repo, base: &Arc<Snapshot>) -> Result<Scanned> {
        let last = std::mem::replace(&mut self.last_scan, LastScan::Unknown);
        let scanned = match last {
            LastScan::Known {
                checkpoint,
                scanned,
                written,
            } if checkpoint == base.id => self.scan_written(repo, base, scanned, &written)?,
            _ => self.scan(repo, base)?,
        };
        self.last_scan = LastScan::Known {
            checkpoint: base.id.clone(),
            scanned: scanned.clone(),
            written: Vec::new(),
        };
        Ok(scanned)
    }

    /// A second scan found nothing that changed since the first, which was against a checkpoint.
    pub(crate) fn confirm_scan(&mut self, base: &Snapshot, first: &Scanned, second: Scanned) {
        self.last_scan = LastScan::Known {
            checkpoint: base.id.clone(),
            scanned: Scanned {
                changes: first.changes.clone(),
                notices: first.notices.clone(),
                ..second
            },
            written: Vec::new(),
        };
    }

    /// Others may change the tree from now on.
    pub(crate) fn invalidate_scan(&mut self) {
        self.last_scan = LastScan::Unknown;
    }

    /// The tree is what the checkpoint says, and only this program ran since.
    pub(crate) fn mark_clean(&mut self) {
        self.last_scan = LastScan::Clean;
    }

    /// True where only this program ran since the tree was what the checkpoint says.
    pub(crate) fn is_clean(&self) -> bool {
        matches!(self.last_scan, LastScan::Clean)
    }

    /// This program wrote some files, and nothing else changed.
    pub(crate) fn note_own_writes(&mut self, repo: &Repo, files: &[PathBuf]) {
        let top = &repo.places.repository.work_tree;
        let inside = |file: &PathBuf| {
            let real = file.canonicalize().ok()?;
            let path = real.strip_prefix(top).ok();
            Some(path.map(|path| path.as_os_str().as_bytes().to_vec()))
        };
        let paths: Option<Vec<_>> = files.iter().map(inside).collect();
        match (&mut self.last_scan, paths) {
            (LastScan::Known { written, .. }, Some(paths)) => {
                written.extend(paths.into_iter().flatten());
            }
            _ => self.invalidate_scan(),
        }
    }

    /// Walks the tree and compares it with a checkpoint.
    pub(crate) fn scan(&self, repo: &Repo, base: &Snapshot) -> Result<Scanned> {
        let index = Snapshot::index(&repo.places.vault, &base.id);
        self.scan_against(repo, &base.manifest, &Known::of(&base.submodules), &index)
    }

    /// The same scan, except for a few files that were written since.
    fn scan_written(
        &self,
        repo: &Repo,
        base: &Arc<Snapshot>,
        scanned: Scanned,
        paths: &[Vec<u8>],
    ) -> Result<Scanned> {
        if paths.is_empty() {
            return Ok(scanned);
        }
        let mut walk = Walk {
            began_ns: scanned.manifest.scanned_ns.min(now_ns()),
            ..Walk::default()
        };
        for path in paths {
            let found = stat_path(&repo.places.repository.work_tree, path)?;
            match (found, scanned.manifest.entries.contains_key(path)) {
                (Some(found), true) => walk.suspects.touched.push(found),
                (None, false) => {}
                // It is more than a change of a file's content.
                _ => return self.scan(repo, base),
            }
        }
        let index = Snapshot::index(&repo.places.vault, &base.id);
        let git = repo.gits.work.patient().with_index(&index);
        let known = Known::of(&base.submodules);
        let again = self.keep_found(repo, &git, walk, &scanned.manifest, &known)?;
        let mut notices = scanned.notices;
        notices.extend(again.notices);
        let mut changes = scanned.changes;
        changes.retain(|path| !paths.contains(path));
        for path in paths {
            let before = base.manifest.entries.get(path);
            changes.add(path, before, again.manifest.entries.get(path));
        }
        Ok(Scanned {
            manifest: again.manifest,
            changes,
            notices,
            ..scanned
        })
    }
}
