//! An index of git with some of its paths changed, and the tree it then stands for, worked out
//! without a git process: the entries that stay are copied as they are, and only the trees of
//! folders something changed in are written again.
//!
//! Bytes in, bytes out. An index that says more than plain entries (conflicts, a split or sparse
//! index, no known trees) is none of its business: then there is no answer, and git is asked.

mod entries;
mod trees;

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

pub(crate) use entries::Flags;
use entries::{Index, Writer};
use trees::{Trees, optional, parse_trees};

use super::access::Reason;
use super::object_id::{ObjectFormat, ObjectId};
use crate::stat::Stat;

/// What an index says of a file besides its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Staged {
    /// `100644`, `100755`, `120000`, or for a submodule `160000`, in octal.
    pub mode: u32,
    /// Its content.
    pub id: ObjectId,
    /// The fields by which git tells that a file did not change; all zero makes it look.
    pub stat: StagedStat,
}

/// The stat fields in the order in which an index has them, each cut to 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct StagedStat {
    /// Seconds and nanoseconds of the last change of the inode.
    pub changed: (u32, u32),
    /// Seconds and nanoseconds of the last change of the content.
    pub modified: (u32, u32),
    /// Device and inode.
    pub place: (u32, u32),
    /// User and group.
    pub owner: (u32, u32),
    /// Length.
    pub size: u32,
}

impl StagedStat {
    /// The fields of a file.
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let pair =
            |seconds: i64, rest: i64| (cut(seconds.cast_unsigned()), cut(rest.cast_unsigned()));
        Self {
            changed: pair(metadata.ctime(), metadata.ctime_nsec()),
            modified: pair(metadata.mtime(), metadata.mtime_nsec()),
            place: (cut(metadata.dev()), cut(metadata.ino())),
            owner: (metadata.uid(), metadata.gid()),
            size: cut(metadata.size()),
        }
    }

    /// True where these are the fields of a file that was looked at, to the nanosecond.
    pub(crate) fn is_of(&self, stat: &Stat) -> bool {
        self.changed == split(stat.changed_ns)
            && self.modified == split(stat.modified_ns)
            && self.place.1 == cut(stat.inode)
            && self.has_size(stat.size)
    }

    /// True where a file of this length could have the fields.
    pub(crate) fn has_size(&self, size: u64) -> bool {
        self.size == cut(size)
    }

    /// True where the file was last touched in a second before the given one.
    pub(crate) fn is_before(&self, second: i64) -> bool {
        let last = self.changed.0.max(self.modified.0);
        i64::from(last) < second
    }
}

/// Seconds and nanoseconds, as an index keeps them.
fn split(time_ns: i64) -> (u32, u32) {
    let part = |value: i64| cut(value.cast_unsigned());
    (
        part(time_ns.div_euclid(1_000_000_000)),
        part(time_ns.rem_euclid(1_000_000_000)),
    )
}

/// The lowest 32 bits.
fn cut(value: u64) -> u32 {
    u32::try_from(value & 0xffff_ffff).unwrap_or_default()
}

/// What paths change to; none removes a path.
pub(crate) type Edits = BTreeMap<Vec<u8>, Option<Staged>>;

/// An index after its edits.
#[derive(Debug)]
pub(crate) struct Edited {
    /// The new index, its known trees included.
    pub bytes: Vec<u8>,
    /// Trees that may not exist as objects yet.
    pub trees: Vec<(ObjectId, Vec<u8>)>,
    /// The tree of everything.
    pub root: ObjectId,
}

/// One entry of an index.
#[derive(Debug)]
pub(crate) struct Listed {
    pub path: Vec<u8>,
    pub staged: Staged,
    pub flags: Flags,
}

/// Reads an index whose entries are all in it: not those of a split or sparse one.
fn parse(index: &[u8], format: ObjectFormat) -> Option<Index<'_>> {
    let index = Index::parse(index, format)?;
    optional(index.extensions)?;
    Some(index)
}

/// True where paths are in conflict.
pub(crate) fn has_conflicts(index: &[u8], format: ObjectFormat) -> Result<bool, Reason> {
    let entries = parse(index, format).ok_or(Reason::OddIndex)?.entries;
    Ok(entries.iter().any(|entry| entry.flags.is_conflict()))
}

/// Everything an index says of its paths.
pub(crate) fn list(index: &[u8], format: ObjectFormat) -> Result<Vec<Listed>, Reason> {
    let index = parse(index, format).ok_or(Reason::OddIndex)?;
    let entries = index.entries.into_iter();
    let listed = entries.map(|entry| {
        let stat = entry.stat()?;
        Some(Listed {
            path: entry.path.into_owned(),
            staged: Staged {
                mode: entry.mode,
                id: entry.id,
                stat,
            },
            flags: entry.flags,
        })
    });
    listed.collect::<Option<_>>().ok_or(Reason::OddIndex)
}

/// Applies edits to an index.
pub(crate) fn edit(old: &[u8], format: ObjectFormat, edits: &Edits) -> Result<Edited, Reason> {
    let index = Index::parse(old, format).ok_or(Reason::OddIndex)?;
    let known = parse_trees(index.extensions, format).ok_or(Reason::OddIndex)?;
    let mut trees = Trees::new(known, edits);
    let mut writer = Writer::new(index.version, format, old.len());
    let mut pending = edits.iter().peekable();
    for entry in &index.entries {
        if entry.flags.is_conflict() || entry.flags.is_intended() {
            return Err(Reason::OddIndex);
        }
        let here = &*entry.path;
        while let Some((path, staged)) = pending.next_if(|(path, _)| path.as_slice() < here) {
            if let Some(staged) = staged {
                trees.add(path, staged.mode, staged.id)?;
                writer.add(path, staged)?;
            }
        }
        match pending.next_if(|(path, _)| path.as_slice() == here) {
            None => {
                trees.keep(here, entry.mode, entry.id);
                writer.copy(entry)?;
            }
            Some((path, None)) => trees.remove(path)?,
            Some((path, Some(staged))) => {
                trees.keep(path, staged.mode, staged.id);
                writer.add(path, staged)?;
            }
        }
    }
    for (path, staged) in pending {
        if let Some(staged) = staged {
            trees.add(path, staged.mode, staged.id)?;
            writer.add(path, staged)?;
        }
    }
    let built = trees.build(format)?;
    let bytes = writer.finish(&built.extension)?;
    Ok(Edited {
        bytes,
        trees: built.objects,
        root: built.root,
    })
}

#[cfg(test)]
mod tests;
