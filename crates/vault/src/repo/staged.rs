//! What only the index says: an agent may have added an ignored file by force, stopped tracking
//! one, or added a submodule. None of it shows in the files themselves.

use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use crate::error::Result;
use crate::git::process::nul_separated;
use crate::journal::run_state::Current;
use crate::paths::absolute;
use crate::repo::Repo;
use crate::repo::snapshot::Snapshot;
use crate::tree::manifest::{Entry, Kind, Lane};
use crate::tree::scanned::Scanned;
use ralph_base::files::read_plain;

/// How the agent's index differs from the checkpoint, apart from what the files show.
#[derive(Debug, Default)]
pub(crate) struct Staged {
    /// Ignored files that were added anyway.
    pub added: Vec<Vec<u8>>,
    /// Files that are still there, but ignored and no longer tracked.
    pub removed: Vec<Vec<u8>>,
    /// Submodules that were added.
    pub submodules: Vec<Vec<u8>>,
}

impl Repo {
    /// Compares the agent's index with the checkpoint; `scanned` learns what belongs into commits.
    pub(crate) fn staged(
        &self,
        current: &Current,
        base: &Snapshot,
        scanned: &mut Scanned,
    ) -> Result<Staged> {
        let mut staged = Staged::default();
        if self.index_is_as_left(base) {
            return Ok(staged);
        }
        let git = self.gits.work.patient();
        let index = git.with_index(&self.places.repository.index());
        let head = current.commit.to_string();
        let args = ["diff-index", "--cached", "--raw", "-z", "--no-renames"];
        let listing = index.run(args.into_iter().chain([head.as_str()]));
        // An unreadable index says nothing.
        let listing = listing.unwrap_or_default();
        let mut fields = nul_separated(&listing);
        let entries = &mut Arc::make_mut(&mut scanned.manifest).entries;
        while let (Some(meta), Some(path)) = (fields.next(), fields.next()) {
            let mode = meta.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
            let entry = entries.get_mut(path).filter(|entry| holds_bytes(entry));
            match (meta.last(), entry) {
                (Some(b'A'), None) if mode == b"160000" && self.is_submodule(path) => {
                    staged.submodules.push(path.to_vec());
                }
                (Some(b'A'), Some(entry)) if !entry.is_visible() && !below_git(path) => {
                    entry.lane = Lane::Committed;
                    staged.added.push(path.to_vec());
                }
                (Some(b'D'), Some(entry)) if entry.is_visible() => {
                    staged.removed.push(path.to_vec());
                }
                _ => {}
            }
        }
        if !staged.removed.is_empty() {
            // Asked with an index that does not have them: what is tracked is never ignored.
            let ignored = self.check_ignore(&index, &staged.removed)?;
            staged.removed.retain(|path| ignored.contains(path));
        }
        for path in &staged.removed {
            if let Some(entry) = entries.get_mut(path) {
                entry.lane = Lane::Ignored;
            }
        }
        Ok(staged)
    }

    /// True where the index was not written since the checkpoint put it there.
    pub(crate) fn index_is_as_left(&self, base: &Snapshot) -> bool {
        let left = Snapshot::index(&self.places.vault, &base.id);
        let of = |path: &std::path::Path| {
            let metadata = std::fs::metadata(path).ok()?;
            Some((metadata.size(), metadata.mtime(), metadata.mtime_nsec()))
        };
        of(&left) == of(&self.places.repository.index())
    }

    /// True where a repository is at the path and `.gitmodules` names it.
    fn is_submodule(&self, path: &[u8]) -> bool {
        let top = &self.places.repository.work_tree;
        let named = read_plain(&top.join(".gitmodules")).unwrap_or_default();
        let line = [b"path = ", path].concat();
        let mut lines = named.split(|byte| *byte == b'\n');
        lines.any(|named| named.trim_ascii() == line) && absolute(top, path).join(".git").exists()
    }
}

fn holds_bytes(entry: &Entry) -> bool {
    matches!(entry.kind, Kind::File | Kind::Link)
}

fn below_git(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|name| name == b".git")
}
