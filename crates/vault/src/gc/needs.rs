//! What the runs that stay need: plain copies of files, and objects of the store. Too much rather
//! than too little: whatever looks like an object's name counts as needed.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::folders::{Folders, TEMPORARY};
use crate::error::{CheckpointError, Result};
use crate::git::object_id::{ObjectId, named_in};
use crate::git::process::nul_separated;
use crate::journal::steps::Line;
use crate::repo::snapshot::Snapshot;
use crate::repo::{Places, Repo};
use crate::store::{listing, name};
use crate::tree::manifest::Content;

/// A file of the trash larger than this is no file of a git directory that names objects.
const LARGEST_NOTE: u64 = 1024 * 1024;

/// What is needed.
#[derive(Debug, Default)]
pub(super) struct Needs {
    pub(super) copies: HashSet<ObjectId>,
    /// Contents of files in the store, which lead nowhere further.
    pub(super) blobs: HashSet<ObjectId>,
    /// Objects, with all they lead to.
    pub(super) roots: HashSet<ObjectId>,
}

impl Repo {
    /// Gathers what snapshots, steps, refs, trash and index files name.
    pub(super) fn needs(
        &self,
        found: &Folders,
        stays: &[Line],
        refs: &[ObjectId],
    ) -> Result<Needs> {
        let Some(snapshots) = found.snapshots.clone() else {
            return Err(CheckpointError::failed(
                "a snapshot cannot be read, so it is not known what it needs",
                "nothing it may need was removed",
            ));
        };
        let vault = &self.places.vault;
        let mut needs = Needs::default();
        for id in &snapshots {
            needs.of_snapshot(&self.places, id)?;
        }
        let mut indexes = vec![vault.folder().to_owned()];
        indexes.extend(snapshots.iter().map(|id| vault.snapshot(id)));
        let mut indexes: Vec<PathBuf> = indexes.iter().flat_map(|it| index_files(it)).collect();
        for folder in &found.trash {
            needs.of_trash(&folder.join("git"), &mut indexes)?;
        }
        needs.roots.extend(refs);
        for line in stays {
            let text = serde_json::to_vec(line).unwrap_or_default();
            needs.roots.extend(named_in(&text));
        }
        for index in &indexes {
            self.of_index(&mut needs, index)?;
        }
        Ok(needs)
    }

    fn of_index(&self, needs: &mut Needs, index: &Path) -> Result<()> {
        let git = self.gits.work.patient().with_index(index);
        let listing = git.run(["ls-files", "--stage", "--sparse", "-z"])?;
        for line in nul_separated(&listing) {
            // `mode id stage<TAB>path`
            let id = line.split(|byte| *byte == b' ').nth(1);
            needs.roots.extend(id.and_then(ObjectId::parse));
        }
        Ok(())
    }

    /// Copies that nothing needs, and what a kill left of copying.
    pub(super) fn needless_copies(&self, needs: &Needs) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for path in listing(&self.places.vault.raw())? {
            // An older vault has a folder for each first two digits.
            if path.is_dir() {
                let digits = name(&path);
                let inside = listing(&path)?.into_iter();
                files.extend(inside.map(|file| (format!("{digits}{}", name(&file)), file)));
            } else {
                files.push((name(&path), path));
            }
        }
        files.retain(|(text, file)| {
            let is_left = name(file).starts_with(TEMPORARY) || name(file).starts_with(".tmp");
            let id = ObjectId::parse(text.as_bytes());
            is_left || id.is_some_and(|id| !needs.copies.contains(&id))
        });
        Ok(files.into_iter().map(|(_, file)| file).collect())
    }
}

impl Needs {
    fn of_snapshot(&mut self, places: &Places, id: &str) -> Result<()> {
        let (control, difference) = Snapshot::read_alone(&places.vault, id)?;
        self.roots.extend(control.object_ids());
        for (_, entry) in difference.upserts {
            match entry.content {
                Content::Git(id) => self.blobs.insert(id),
                Content::Raw(id) => self.copies.insert(id),
                Content::Link(_) | Content::Nothing | Content::Unkept => continue,
            };
        }
        Ok(())
    }

    /// Files of a git directory in the trash: an index, or small ones that may name objects.
    fn of_trash(&mut self, folder: &Path, indexes: &mut Vec<PathBuf>) -> Result<()> {
        for path in listing(folder)? {
            let Ok(metadata) = fs::symlink_metadata(&path) else {
                continue;
            };
            if metadata.is_dir() {
                self.of_trash(&path, indexes)?;
            } else if name(&path) == "index" {
                indexes.push(path);
            } else if metadata.is_file() && metadata.len() <= LARGEST_NOTE {
                let bytes = fs::read(&path).unwrap_or_default();
                self.roots.extend(named_in(&bytes));
            }
        }
        Ok(())
    }
}

/// Index files right in a folder.
fn index_files(folder: &Path) -> Vec<PathBuf> {
    let mut paths = listing(folder).unwrap_or_default();
    paths.retain(|path| path.is_file() && name(path).ends_with("index"));
    paths
}
