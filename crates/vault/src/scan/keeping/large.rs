//! Large files: whether one still has the bytes that were kept is found by comparing, which is
//! faster than hashing, and remembered, so that an unchanged one is read once.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Mutex;

use super::{READ_WHOLE, open_no_link};
use crate::error::Result;
use crate::git::object_id::ObjectId;
use crate::repo::Places;
use crate::repo::objects::raw_path;
use crate::stat::{Stat, now_ns};
use crate::tree::lock;
use crate::tree::manifest::{Content, Entry, Found, RACY_NS};
use ralph_base::files::Tried;
use ralph_base::random_name::random_name;
use ralph_base::sparse;

/// Large files that have the bytes of a copy: their fields, the copy, and when they were looked at.
pub(crate) type Seen = HashMap<Vec<u8>, (Stat, ObjectId, i64)>;

/// The copy that has the bytes of a large file, where there is one.
pub(super) fn kept_already(
    places: &Places,
    seen: &Mutex<Seen>,
    (full, found): (&Path, &Found),
    old: Option<&Entry>,
) -> Result<Option<ObjectId>> {
    if found.stat.size <= READ_WHOLE {
        return Ok(None);
    }
    let known = lock(seen).get(&found.path).copied();
    if let Some((stat, id, at)) = known
        && stat == found.stat
        && stat.modified_ns.max(stat.changed_ns) < at - RACY_NS
        && has_size(places, &id, found.stat.size)
    {
        return Ok(Some(id));
    }
    let now = now_ns();
    let of_base = old.and_then(|old| match old.content {
        Content::Raw(id) => Some(id),
        _ => None,
    });
    // After a crash the file may be the one that was copied just before it.
    for id in of_base.into_iter().chain([name_of(places, found, "")?]) {
        if has_size(places, &id, found.stat.size)
            && same_bytes(open_no_link(full), File::open(raw_path(places, &id)))
        {
            lock(seen).insert(found.path.clone(), (found.stat, id, now));
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// A name for the copy of a large file that no other copy has.
pub(super) fn free_name(places: &Places, found: &Found) -> Result<ObjectId> {
    let name = name_of(places, found, "")?;
    if raw_path(places, &name).exists() {
        return name_of(places, found, &random_name(20));
    }
    Ok(name)
}

/// A name made of what the file system says of a file.
fn name_of(places: &Places, found: &Found, more: &str) -> Result<ObjectId> {
    let Stat {
        size,
        modified_ns,
        changed_ns,
        inode,
        ..
    } = found.stat;
    let text = format!("{size} {modified_ns} {changed_ns} {inode} {more}");
    let bytes = [text.as_bytes(), b"\0", &found.path].concat();
    let name = ObjectId::of_blob(
        places.repository.format,
        bytes.len() as u64,
        bytes.as_slice(),
    );
    Ok(name.tried("name", &places.full(&found.path))?)
}

fn has_size(places: &Places, id: &ObjectId, size: u64) -> bool {
    let copy = fs::metadata(raw_path(places, id));
    copy.is_ok_and(|copy| copy.size() == size)
}

/// True where both can be read and have the same bytes; what cannot be read is kept again.
fn same_bytes(one: io::Result<File>, other: io::Result<File>) -> bool {
    let (Ok(one), Ok(other)) = (one, other) else {
        return false;
    };
    sparse::same_bytes(&one, &other).unwrap_or(false)
}
