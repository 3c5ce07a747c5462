//! Room on the disk: checked before anything is copied or committed, so that a step is refused on a full
//! disk instead of failing midway.

use std::path::Path;

use crate::error::{CheckpointError, Result};
use crate::repo::Repo;
use crate::repo::objects::room_of_raw;
use crate::scan::Tree;
use crate::tree::manifest::{Content, Entry, Kind, Manifest};
use ralph_base::disk::free_bytes;
use ralph_base::size::rounded;

impl Tree {
    /// Refuses where the bytes of some paths do not fit into a folder.
    pub(crate) fn check_room_for<'a>(
        &self,
        repo: &Repo,
        folder: &Path,
        manifest: &Manifest,
        paths: impl IntoIterator<Item = &'a Vec<u8>>,
    ) -> Result<()> {
        let entries = paths
            .into_iter()
            .filter_map(|path| manifest.entries.get(path))
            .filter(|entry| entry.kind == Kind::File);
        // Holes of a copy take up no room where it is written to.
        let room = |entry: &Entry| {
            let copied = match &entry.content {
                Content::Raw(id) => room_of_raw(&repo.places, id),
                _ => None,
            };
            copied.unwrap_or(entry.stat.size)
        };
        let needed = entries.fold(0, |sum: u64, entry| sum.saturating_add(room(entry)));
        check(folder, needed, self.limits.least_free)
    }
}

/// Refuses to write `needed` bytes into a folder where less than `least_free` would be left.
pub(crate) fn check(folder: &Path, needed: u64, least_free: u64) -> Result<()> {
    let Some(free) = free_bytes(folder) else {
        return Ok(());
    };
    let wanted = needed.saturating_add(least_free);
    if free >= wanted {
        return Ok(());
    }
    Err(CheckpointError::failed(
        format!(
            "too little space is left where `{}` is: {} are to be written and {} to stay free, \
             but only {} are free; the files are left as they are",
            folder.display(),
            rounded(needed),
            rounded(least_free),
            rounded(free)
        ),
        format!(
            "free {} there and run `ralphtool resume`",
            rounded(wanted - free)
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_the_figures() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check(folder.path(), 1, 0).is_ok());
        for (needed, least_free) in [(u64::MAX, 0), (1, u64::MAX), (u64::MAX, u64::MAX)] {
            let error = check(folder.path(), needed, least_free).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(&rounded(needed)), "{text}");
            assert!(
                text.contains(&folder.path().display().to_string()),
                "{text}"
            );
            assert!(error.hint().unwrap().starts_with("free "), "{error:?}");
        }
    }
}
