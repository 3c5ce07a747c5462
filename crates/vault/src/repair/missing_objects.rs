//! Objects that were removed from the repository, or moved elsewhere, since a snapshot was taken:
//! linked again from the vault.
//!
//! The vault's store also has objects that the repository never had, those of parked attempts. The
//! two differ in the inode: one that was removed changed its inode, one that was moved with
//! its folder still has two names. Where the store has a file of its own for an object of both, the
//! commits of the run say whether the repository needs it.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::git::loose_object;
use crate::git::object_id::{ObjectFormat, ObjectId};
use crate::git::object_lookup::ObjectLookup;
use crate::git::pack_index::object_ids;
use crate::repo::objects::link;
use crate::stat::{changed_ns, make_readable, modified_ns};
use ralph_base::files::create_private_folder;

/// Which files are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// Those in folders that changed: a file that was replaced changes its folder.
    ChangedFolders,
    /// All.
    Everything,
}

/// One search for missing objects.
pub(crate) struct Missing<'a> {
    pub objects: &'a Path,
    pub store: &'a Path,
    pub format: ObjectFormat,
    /// When all objects were there.
    pub whole_at_ns: i64,
    pub search: Search,
}

/// What a search did.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// How many files were linked.
    pub linked: usize,
    /// Objects that the repository may never have had.
    pub doubtful: Vec<ObjectId>,
}

/// Whether the repository had an object that only the store has now.
#[derive(Debug, PartialEq, Eq)]
enum Origin {
    Repository,
    Unknown,
    Store,
}

impl Missing<'_> {
    /// Links what is missing.
    pub(crate) fn restore(&self) -> Result<Outcome> {
        let mut outcome = Outcome {
            // Packs first: what they hold is not missing.
            linked: self.restore_packs()?,
            doubtful: Vec::new(),
        };
        let present = ObjectLookup::new(self.objects, self.format);
        for (name, is_changed) in self.folders() {
            for (file, origin) in self.absent_from(&name) {
                let id = format!("{name}{}", file.to_string_lossy());
                let id = ObjectId::parse(id.as_bytes());
                let id = id.filter(|id| !present.is_packed(id));
                match (id, origin) {
                    (Some(_), Origin::Repository) => {
                        outcome.linked += self.link_all(&name, &[file])?;
                    }
                    (Some(id), Origin::Unknown) if is_changed => outcome.doubtful.push(id),
                    _ => {}
                }
            }
        }
        Ok(outcome)
    }

    /// The folders of loose objects to look into, and whether they changed.
    fn folders(&self) -> Vec<(String, bool)> {
        let present = loose_object::folders(self.objects);
        let is_top_changed = self.is_changed(self.objects);
        let mut folders: Vec<(String, bool)> = Vec::new();
        if is_top_changed || self.search == Search::Everything {
            let is_there = |name: &str| present.iter().any(|(present, _)| present == name);
            let kept = loose_object::folders(self.store).into_iter();
            let gone = kept.filter(|(name, _)| !is_there(name));
            folders.extend(gone.map(|(name, _)| (name, is_top_changed)));
        }
        folders.extend(present.into_iter().filter_map(|(name, metadata)| {
            let is_changed = changed_ns(&metadata) >= self.whole_at_ns;
            (is_changed || self.search == Search::Everything).then_some((name, is_changed))
        }));
        folders
    }

    /// Links single objects; gives their number.
    pub(crate) fn link(&self, ids: &[ObjectId]) -> Result<usize> {
        for id in ids {
            let text = id.to_string();
            let (folder, file) = text.split_at(2);
            self.link_all(folder, &[file.into()])?;
        }
        Ok(ids.len())
    }

    /// A pack is missing where it holds an object that the repository has nowhere else.
    fn restore_packs(&self) -> Result<usize> {
        if self.search == Search::ChangedFolders && !self.is_changed(&self.objects.join("pack")) {
            return Ok(0);
        }
        let mut lost = self.absent_from("pack");
        lost.retain(|(_, origin)| *origin == Origin::Repository);
        let lost: Vec<OsString> = lost.into_iter().map(|(name, _)| name).collect();
        let stems: BTreeSet<PathBuf> = lost
            .iter()
            .map(|name| Path::new(name).with_extension(""))
            .collect();
        let mut count = 0;
        for stem in stems {
            let index = self.store.join("pack").join(stem.with_extension("idx"));
            let ids = fs::read(index).ok();
            let Some(ids) = ids.and_then(|bytes| object_ids(&bytes, self.format)) else {
                continue;
            };
            let present = ObjectLookup::new(self.objects, self.format);
            if ids.iter().all(|id| present.has(id)) {
                continue;
            }
            let mut files: Vec<OsString> = lost
                .iter()
                .filter(|name| Path::new(name).with_extension("") == stem)
                .cloned()
                .collect();
            // An index must not appear before its pack.
            files.sort_unstable_by_key(|name| name.to_string_lossy().ends_with(".idx"));
            count += self.link_all("pack", &files)?;
        }
        Ok(count)
    }

    fn link_all(&self, folder: &str, files: &[OsString]) -> Result<usize> {
        let target = self.objects.join(folder);
        for file in files {
            create_private_folder(&target)?;
            link(&self.store.join(folder).join(file), &target.join(file))?;
        }
        Ok(files.len())
    }

    /// Files that the store has in a folder, and the repository has not; without those that it
    /// surely never had.
    fn absent_from(&self, folder: &str) -> Vec<(OsString, Origin)> {
        let kept = names(&self.store.join(folder));
        if kept.is_empty() {
            return Vec::new();
        }
        let present: HashSet<OsString> = names(&self.objects.join(folder)).into_iter().collect();
        let absent = kept.into_iter().filter(|name| !present.contains(name));
        let with_origin = absent.filter_map(|name| {
            let path = self.store.join(folder).join(&name);
            let kept = fs::symlink_metadata(&path).ok()?;
            // Its mode was changed with that of its other name, before that was removed.
            make_readable(&path, &kept);
            Some((name, self.origin(&kept)))
        });
        with_origin
            .filter(|(_, origin)| *origin != Origin::Store)
            .collect()
    }

    fn origin(&self, kept: &Metadata) -> Origin {
        if !kept.is_file() || modified_ns(kept) > self.whole_at_ns {
            return Origin::Store;
        }
        let is_changed = changed_ns(kept) >= self.whole_at_ns;
        if is_changed || kept.nlink() > 1 {
            Origin::Repository
        } else {
            Origin::Unknown
        }
    }

    /// By the time that cannot be set back; one that is gone has changed, too.
    fn is_changed(&self, folder: &Path) -> bool {
        let metadata = fs::symlink_metadata(folder).ok();
        metadata.is_none_or(|it| changed_ns(&it) >= self.whole_at_ns)
    }
}

fn names(folder: &Path) -> Vec<OsString> {
    let listing = fs::read_dir(folder).into_iter().flatten();
    listing
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .collect()
}
