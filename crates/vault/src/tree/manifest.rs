//! What the work tree held at one moment: every path with the fields that tell whether it
//! changed, and where its bytes are kept.
//!
//! Pure data and comparison; the walk fills it, the checkpoint uses it.

pub(crate) mod codec;
pub(crate) mod cursor;

use imbl::OrdMap;
use imbl::ordmap::DiffItem;

use crate::git::object_id::ObjectId;
use crate::stat::Stat;

/// A file that was read within this time after its last change may change again with the same time:
/// file systems keep time in ticks, some in whole seconds.
pub(crate) const RACY_NS: i64 = 2_000_000_000;

/// What a path is; the numbers are those in manifests on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File = 0,
    /// A symbolic link.
    Link = 1,
    Folder = 2,
    /// A pipe, socket or device.
    Special = 3,
}

/// Where the bytes of a path are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A git object of the repository, linked into the vault's store; the file's bytes exactly.
    Git(ObjectId),
    /// A plain copy in the vault, named by the id its bytes have as a blob; that of a large file
    /// outside of commits has a name of its own.
    Raw(ObjectId),
    /// A symbolic link's target.
    Link(Vec<u8>),
    /// Nothing to keep: a folder or a special file.
    Nothing,
    /// Not kept: too large for an ignored file, or unreadable.
    Unkept,
}

impl Content {
    /// The id of a file's bytes.
    pub fn id(&self) -> Option<ObjectId> {
        match self {
            Self::Git(id) | Self::Raw(id) => Some(*id),
            Self::Link(_) | Self::Nothing | Self::Unkept => None,
        }
    }
}

/// How a path is saved; the numbers are those in manifests on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// Git ignores it, or another repository has it: kept where it is small, left where it is new.
    Ignored = 0,
    /// It is in the checkpoint commit.
    Committed = 1,
    /// It is kept out of commits, but kept whole, whatever its size; where a failed attempt made
    /// it, it goes.
    Kept = 2,
}

/// One path of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub kind: Kind,
    /// Its fields when it was scanned.
    pub stat: Stat,
    /// Where its bytes are.
    pub content: Content,
    pub lane: Lane,
}

impl Entry {
    /// It is in the checkpoint commit.
    pub fn is_visible(&self) -> bool {
        self.lane == Lane::Committed
    }

    /// The same bytes, kind and mode, whatever the times say.
    pub fn same_state(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.stat.mode == other.stat.mode
            && match (self.content.id(), other.content.id()) {
                (Some(mine), Some(theirs)) => mine == theirs,
                _ => self.content == other.content,
            }
    }
}

/// The work tree at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// When the walk began.
    pub scanned_ns: i64,
    pub entries: Entries,
}

/// Entries by their paths. A clone shares all it can with the original, and what differs between
/// the two is found without a look at what they share.
pub(crate) type Entries = OrdMap<Vec<u8>, Entry>;

/// What a walk shows against a manifest, before any content is read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Suspects {
    /// Paths the manifest does not have.
    pub created: Vec<Found>,
    /// Paths whose fields differ, or that may have changed without a change of their fields.
    pub touched: Vec<Found>,
    /// Paths that are no longer there.
    pub gone: Vec<Vec<u8>>,
}

/// What changed between two manifests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub created: Vec<Vec<u8>>,
    /// Paths with other bytes, kind or mode.
    pub modified: Vec<Vec<u8>>,
    pub removed: Vec<Vec<u8>>,
}

impl Changes {
    pub(crate) fn count(&self) -> usize {
        self.created.len() + self.modified.len() + self.removed.len()
    }

    /// Adds a path where it differs; false where it does not.
    pub(crate) fn add(
        &mut self,
        path: &[u8],
        before: Option<&Entry>,
        after: Option<&Entry>,
    ) -> bool {
        let list = match (before, after) {
            (None, Some(_)) => &mut self.created,
            (Some(_), None) => &mut self.removed,
            (Some(before), Some(after)) if !before.same_state(after) => &mut self.modified,
            _ => return false,
        };
        list.push(path.to_vec());
        true
    }

    /// Leaves some paths out.
    pub(crate) fn retain(&mut self, stays: impl Fn(&Vec<u8>) -> bool) {
        for list in [&mut self.created, &mut self.modified, &mut self.removed] {
            list.retain(|path| stays(path));
        }
    }

    /// All changed paths, those that make room for others first.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.removed
            .iter()
            .chain(&self.modified)
            .chain(&self.created)
    }
}

impl Manifest {
    /// Adds one path to the suspects where it is new, gone, or may have changed.
    pub fn suspect(&self, path: &[u8], found: Option<Found>, suspects: &mut Suspects) {
        match (self.entries.get(path), found) {
            (None, Some(found)) => suspects.created.push(found),
            (Some(entry), Some(found)) if self.may_differ(entry, found.kind, &found.stat) => {
                suspects.touched.push(found);
            }
            (Some(_), None) => suspects.gone.push(path.to_vec()),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }

    fn may_differ(&self, entry: &Entry, kind: Kind, stat: &Stat) -> bool {
        if entry.kind != kind {
            return true;
        }
        match kind {
            // Times of a folder change with every file in it.
            Kind::Folder | Kind::Special => entry.stat.mode != stat.mode,
            Kind::File | Kind::Link => entry.stat != *stat || self.is_racy(&entry.stat),
        }
    }

    fn is_racy(&self, stat: &Stat) -> bool {
        stat.modified_ns.max(stat.changed_ns) >= self.scanned_ns - RACY_NS
    }
}

/// Compares two manifests; costs with what they do not share.
pub(crate) fn compare(before: &Manifest, after: &Manifest) -> Changes {
    let mut changes = Changes::default();
    for item in before.entries.diff(&after.entries) {
        let (path, before, after) = match item {
            DiffItem::Add(path, after) => (path, None, Some(after)),
            DiffItem::Update { old, new } => (new.0, Some(old.1), Some(new.1)),
            DiffItem::Remove(path, before) => (path, Some(before), None),
        };
        changes.add(path, before, after);
    }
    changes
}

/// One path to write back.
pub(crate) type Wanted = (Vec<u8>, Entry);

/// One path as the walk found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Path relative to the top, as bytes.
    pub path: Vec<u8>,
    pub kind: Kind,
    /// Fields that change when the content does.
    pub stat: Stat,
}

#[cfg(test)]
mod tests {
    use super::cursor::Cursor;
    use super::*;
    use pretty_assertions::assert_eq;

    fn stat(size: u64, modified_ns: i64) -> Stat {
        Stat {
            mode: 0o644,
            size,
            modified_ns,
            changed_ns: modified_ns,
            inode: 7,
        }
    }

    fn file(size: u64, modified_ns: i64) -> Entry {
        Entry {
            kind: Kind::File,
            stat: stat(size, modified_ns),
            content: Content::Unkept,
            lane: Lane::Committed,
        }
    }

    fn found(path: &str, size: u64, modified_ns: i64) -> Found {
        Found {
            path: path.into(),
            kind: Kind::File,
            stat: stat(size, modified_ns),
        }
    }

    #[test]
    fn a_file_is_suspect_when_a_field_differs_or_when_it_was_young() {
        let hour = 3_600_000_000_000;
        let manifest = Manifest {
            scanned_ns: 2 * hour,
            entries: [
                (b"gone".to_vec(), file(1, hour)),
                (b"grown".to_vec(), file(1, hour)),
                (b"same".to_vec(), file(1, hour)),
                (b"young".to_vec(), file(1, 2 * hour - 1)),
            ]
            .into_iter()
            .collect(),
        };
        let mut suspects = Suspects::default();
        let mut cursor = Cursor::below(&manifest, b"", &mut suspects);
        let seen = [
            found("grown", 2, hour),
            found("new", 1, hour),
            found("same", 1, hour),
            found("young", 1, 2 * hour - 1),
        ];
        for it in &seen {
            cursor.see(&it.path, it.kind, it.stat);
        }
        cursor.finish();
        assert_eq!(
            suspects,
            Suspects {
                created: vec![found("new", 1, hour)],
                touched: vec![found("grown", 2, hour), found("young", 1, 2 * hour - 1)],
                gone: vec![b"gone".to_vec()],
            }
        );
    }
}
