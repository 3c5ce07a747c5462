//! What a scan needs to know beforehand, and what it found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::error::Notice;
use crate::git::index::Staged;
use crate::git::object_id::ObjectId;
use crate::tree::manifest::{Changes, Entries, Entry, Found, Manifest};
use crate::tree::walk::Walk;

/// A tracked file whose bytes may be those of its object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clean {
    pub id: ObjectId,
    /// What the index says of the file, where the two were not compared.
    pub staged: Option<Staged>,
}

/// Files that git does not read, because they have the fields its index has of them.
#[derive(Debug, Default)]
pub(crate) struct CleanToGit(BTreeMap<Vec<u8>, Staged>);

impl CleanToGit {
    /// True where a file has the fields the index has.
    pub(crate) fn is_clean(&self, path: &[u8], manifest: &Manifest) -> bool {
        let (Some(staged), Some(entry)) = (self.0.get(path), manifest.entries.get(path)) else {
            return false;
        };
        staged.stat.is_of(&entry.stat)
            && (staged.mode == 0o100_755) == (entry.stat.mode & 0o100 != 0)
    }
}

/// Whether a file has the bytes of its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CleanCheck {
    /// It has.
    Clean(ObjectId),
    /// It has if its bytes have this id.
    NeedsHash(ObjectId),
    /// It has others, or another mode.
    Dirty,
}

/// The work tree now, against a base.
#[derive(Debug, Clone)]
pub(crate) struct Scanned {
    pub manifest: Arc<Manifest>,
    /// What differs from the base.
    pub changes: Changes,
    /// Folders that were not entered.
    pub skipped: Vec<Vec<u8>>,
    /// Folders that could not be read.
    pub unreadable: Vec<Vec<u8>>,
    pub notices: Vec<Notice>,
}

/// What is known before a scan.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub submodules: BTreeSet<Vec<u8>>,
    /// What the index says, for the first scan of a run. Later ones have a checkpoint to compare with.
    pub index: Option<FirstIndex>,
}

impl Known {
    /// What later scans need to know of a checkpoint.
    pub(crate) fn of(submodules: &[Vec<u8>]) -> Self {
        Self {
            submodules: submodules.iter().cloned().collect(),
            index: None,
        }
    }

    /// All paths the index tracks, at the first scan of a run.
    pub(crate) fn tracked(&self) -> &BTreeSet<Vec<u8>> {
        static NONE: BTreeSet<Vec<u8>> = BTreeSet::new();
        self.index.as_ref().map_or(&NONE, |index| &index.tracked)
    }
}

/// The user's index, when a run begins.
#[derive(Debug, Default)]
pub(crate) struct FirstIndex {
    pub tracked: BTreeSet<Vec<u8>>,
    /// Tracked files that are not converted, and may be clean.
    pub clean: BTreeMap<Vec<u8>, Clean>,
    /// When git compared them, or they were about to be.
    pub clean_ns: i64,
    /// The second in which the index was written: what was touched in it may differ unseen.
    pub index_second: i64,
    /// Git may have converted files when it wrote them, and does not any more: that a file is clean to
    /// git then says nothing about its bytes.
    pub may_be_converted: bool,
}

impl FirstIndex {
    /// The files whose fields git trusts though their bytes may be others than those of their objects.
    pub(crate) fn clean_to_git(&self) -> CleanToGit {
        if !self.may_be_converted {
            return CleanToGit::default();
        }
        let is_trusted = |staged: &Staged| staged.stat.is_before(self.index_second);
        let trusted = self.clean.iter().filter_map(|(path, clean)| {
            let staged = clean.staged.filter(is_trusted)?;
            Some((path.clone(), staged))
        });
        CleanToGit(trusted.collect())
    }

    /// Whether a file has the bytes of the object the index names. The rules are git's, but stricter:
    /// times count to the nanosecond, and where git would read the file, it is read here.
    pub(crate) fn check_clean(&self, found: &Found) -> CleanCheck {
        let Some(clean) = self.clean.get(&found.path) else {
            return CleanCheck::Dirty;
        };
        // A file that changed since git compared it counts for nothing; and a file system may keep time
        // in whole seconds.
        let is_older = !self.may_be_converted
            && found.stat.modified_ns.max(found.stat.changed_ns) < self.clean_ns;
        let Some(staged) = clean.staged else {
            return if is_older {
                CleanCheck::Clean(clean.id)
            } else if self.may_be_converted {
                CleanCheck::NeedsHash(clean.id)
            } else {
                CleanCheck::Dirty
            };
        };
        let is_executable = found.stat.mode & 0o100 != 0;
        if (staged.mode == 0o100_755) != is_executable {
            return CleanCheck::Dirty;
        }
        if is_older && staged.stat.is_of(&found.stat) && staged.stat.is_before(self.index_second) {
            return CleanCheck::Clean(clean.id);
        }
        // Git writes no size where it wants the file to be read.
        match staged.stat.size {
            0 => CleanCheck::NeedsHash(clean.id),
            _ if staged.stat.has_size(found.stat.size) => CleanCheck::NeedsHash(clean.id),
            _ => CleanCheck::Dirty,
        }
    }
}

/// Folders with a repository of their own that is not a submodule and holds nothing tracked.
pub(crate) fn nested_repositories(walk: &Walk, base: &Manifest, known: &Known) -> Vec<Vec<u8>> {
    let mut nested: Vec<Vec<u8>> = known.submodules.iter().cloned().collect();
    for folder in &walk.repositories {
        let holds_visible = any_below(known.tracked(), folder)
            || below(&base.entries, folder).any(|(_, entry)| entry.is_visible());
        if !holds_visible {
            nested.push(folder.clone());
        }
    }
    nested
}

/// True where `path` is one of the folders or below one.
pub(crate) fn under_any(path: &[u8], folders: &[Vec<u8>]) -> bool {
    folders.iter().any(|folder| is_below(path, folder))
}

/// The entries below a folder.
pub(crate) fn below<'a>(
    entries: &'a Entries,
    folder: &[u8],
) -> impl Iterator<Item = (&'a Vec<u8>, &'a Entry)> {
    let start = [folder, b"/"].concat();
    entries
        .range(start.clone()..)
        .take_while(move |(path, _)| path.starts_with(&start))
}

pub(crate) fn is_below(path: &[u8], folder: &[u8]) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

pub(crate) fn any_below(paths: &BTreeSet<Vec<u8>>, folder: &[u8]) -> bool {
    let start = [folder, b"/"].concat();
    paths
        .range(start.clone()..)
        .next()
        .is_some_and(|path| path.starts_with(&start))
}
