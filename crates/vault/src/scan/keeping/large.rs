//! Large files: whether one still has the bytes that were kept is found by comparing, which is
//! faster than hashing, and remembered, so that an unchanged one is read once.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;

use super::open_no_link;
use crate::git::object_id::ObjectId;
use crate::repo::Places;
use crate::repo::objects::raw_path;
use crate::stat::{Stat, now_ns};
use crate::tree::manifest::{Content, Entry, Found, RACY_NS};
use ralph_base::random_name::random_name;
use ralph_base::sparse;

/// Large files that have the bytes of a copy, by their paths.
#[derive(Debug, Default)]
pub(crate) struct LargeCopies(HashMap<Vec<u8>, LargeCopy>);

/// A file, as it was when it had the bytes of the copy.
#[derive(Debug)]
struct LargeCopy {
    stat: Stat,
    id: ObjectId,
    compared_ns: i64,
}

impl LargeCopies {
    /// The copy that has the bytes of a large file, where there is one.
    pub(super) fn find(
        &mut self,
        places: &Places,
        found: &Found,
        old: Option<&Entry>,
    ) -> Option<ObjectId> {
        let has_size = |id: &ObjectId| {
            let copy = fs::metadata(raw_path(places, id));
            copy.is_ok_and(|copy| copy.size() == found.stat.size)
        };
        if let Some(LargeCopy {
            stat,
            id,
            compared_ns,
        }) = self.0.get(&found.path)
            && *stat == found.stat
            && stat.modified_ns.max(stat.changed_ns) < compared_ns - RACY_NS
            && has_size(id)
        {
            return Some(*id);
        }
        let now = now_ns();
        let of_base = match old {
            Some(Entry {
                content: Content::Raw(id),
                ..
            }) => Some(*id),
            _ => None,
        };
        // After a crash the file may be the one that was copied just before it.
        let mut copies = of_base.into_iter().chain([name_of(places, found, "")]);
        let id = copies.find(|id| has_size(id) && has_bytes_of(places, found, id))?;
        self.insert(found, id, now);
        Some(id)
    }

    /// A file has the bytes of a copy, or had at some time.
    pub(super) fn insert(&mut self, found: &Found, id: ObjectId, compared_ns: i64) {
        let copy = LargeCopy {
            stat: found.stat,
            id,
            compared_ns,
        };
        self.0.insert(found.path.clone(), copy);
    }
}

/// A name for the copy of a large file that no other copy has.
pub(super) fn free_name(places: &Places, found: &Found) -> ObjectId {
    let name = name_of(places, found, "");
    if raw_path(places, &name).exists() {
        return name_of(places, found, &random_name(20));
    }
    name
}

/// A name made of what the file system says of a file.
fn name_of(places: &Places, found: &Found, more: &str) -> ObjectId {
    let Stat {
        size,
        modified_ns,
        changed_ns,
        inode,
        ..
    } = found.stat;
    let text = format!("{size} {modified_ns} {changed_ns} {inode} {more}");
    let bytes = [text.as_bytes(), b"\0", &found.path].concat();
    ObjectId::of_object(places.repository.format, "blob", &bytes)
}

/// True where both can be read and have the same bytes; what cannot be read is kept again.
fn has_bytes_of(places: &Places, found: &Found, copy: &ObjectId) -> bool {
    let file = open_no_link(&places.full(&found.path));
    let (Ok(file), Ok(copy)) = (file, File::open(raw_path(places, copy))) else {
        return false;
    };
    sparse::same_bytes(&file, &copy).unwrap_or(false)
}
