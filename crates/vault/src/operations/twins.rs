//! What a restored file has in common with others: the file it is another name of, and its owner.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::Path;

use crate::repo::Places;
use crate::stat::{Stat, stat};
use crate::tree::manifest::{Entry, Kind, Manifest, Wanted};
use ralph_base::os;

/// The other names a file had, for each path that is restored.
#[derive(Debug, Default)]
pub(crate) struct Twins {
    names: HashMap<Vec<u8>, Vec<Wanted>>,
    written: RefCell<HashSet<Vec<u8>>>,
}

impl Twins {
    /// Names of one file have all fields in common, also the time of the last change to any of them.
    pub(crate) fn of(target: &Manifest, wanted: &[Wanted]) -> Self {
        let is_file = |entry: &Entry| entry.kind == Kind::File;
        let key = |entry: &Entry| (entry.stat.inode, entry.stat.changed_ns);
        let files = wanted.iter().filter(|(_, entry)| is_file(entry));
        let keys: HashSet<(u64, i64)> = files.clone().map(|(_, entry)| key(entry)).collect();
        if keys.is_empty() {
            return Self::default();
        }
        let mut groups: HashMap<(u64, i64), Vec<Wanted>> = HashMap::new();
        for (path, entry) in &target.entries {
            if is_file(entry) && keys.contains(&key(entry)) {
                let group = groups.entry(key(entry)).or_default();
                group.push((path.clone(), entry.clone()));
            }
        }
        let others = files.filter_map(|(path, entry)| {
            let group = groups.get(&key(entry))?.iter();
            let is_other = |it: &&Wanted| it.0 != *path && it.1.stat == entry.stat;
            let others: Vec<Wanted> = group.filter(is_other).cloned().collect();
            (!others.is_empty()).then(|| (path.clone(), others))
        });
        Self {
            names: others.collect(),
            written: RefCell::default(),
        }
    }

    /// Makes a path another name of the file it was one of, where another name has its bytes already.
    pub(crate) fn link(&self, path: &[u8], full: &Path, places: &Places, now: &Manifest) -> bool {
        let twins = self.names.get(path).into_iter().flatten();
        let mut restored = twins.filter(|twin| self.is_restored(twin, places, now));
        restored.any(|(twin, _)| fs::hard_link(places.full(twin), full).is_ok())
    }

    /// Notes that a path was restored.
    pub(crate) fn note_written(&self, path: &[u8]) {
        if self.names.contains_key(path) {
            self.written.borrow_mut().insert(path.to_vec());
        }
    }

    /// True where a path has the wanted bytes: it was written just now, or was not changed.
    fn is_restored(&self, (path, wanted): &Wanted, places: &Places, now: &Manifest) -> bool {
        let metadata = fs::symlink_metadata(places.full(path));
        let Some(metadata) = metadata.ok().filter(fs::Metadata::is_file) else {
            return false;
        };
        if self.written.borrow().contains(path) {
            return true;
        }
        let fields = |stat: &Stat| (stat.size, stat.mode, stat.modified_ns, stat.inode);
        let unchanged = now.entries.get(path).filter(|now| now.same_state(wanted));
        unchanged.is_some_and(|now| fields(&now.stat) == fields(&stat(&metadata)))
    }
}

/// Gives what root restored to the owner of what it replaces, or else of its folder.
pub(crate) fn keep_owner(full: &Path, replaced: Option<&fs::Metadata>) {
    if !os::is_root() {
        return;
    }
    let folder = || fs::symlink_metadata(full.parent()?).ok();
    let Some(owner) = replaced.cloned().or_else(folder) else {
        return;
    };
    let Ok(written) = fs::symlink_metadata(full) else {
        return;
    };
    if (written.uid(), written.gid()) == (owner.uid(), owner.gid()) {
        return;
    }
    let _ = lchown(full, Some(owner.uid()), Some(owner.gid()));
    // A change of the owner clears some bits of the mode.
    if !written.is_symlink() {
        let _ = fs::set_permissions(full, written.permissions());
    }
}
