//! Large files: whether one still has the bytes that were kept is found by comparing, which is
//! faster than hashing, and remembered, so that an unchanged one is read once.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Mutex;

use super::{READ_WHOLE, open_no_link, raw_path};
use crate::edge::checkpoint::taking::now_ns;
use crate::edge::checkpoint::{Places, Result, lock};
use crate::edge::files::Tried;
use crate::edge::manifest::{Content, Entry, RACY_NS, Stat};
use crate::edge::object_id::ObjectId;
use crate::edge::vault::random_name;
use crate::edge::walk::Found;

/// How much is compared at once.
const PORTION: usize = 1024 * 1024;

/// Large files that have the bytes of a copy: their fields, the copy, and when they were looked at.
pub(in crate::edge::checkpoint) type Seen = HashMap<Vec<u8>, (Stat, ObjectId, i64)>;

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

/// True where both can be read and have the same bytes; what cannot be read is kept anew.
fn same_bytes(one: io::Result<File>, other: io::Result<File>) -> bool {
    let (Ok(one), Ok(other)) = (one, other) else {
        return false;
    };
    compare(one, other).unwrap_or(false)
}

fn compare(mut one: impl Read, mut other: impl Read) -> io::Result<bool> {
    let mut buffers = (vec![0; PORTION], vec![0; PORTION]);
    loop {
        let count = fill(&mut one, &mut buffers.0)?;
        if fill(&mut other, &mut buffers.1)? != count || buffers.0[..count] != buffers.1[..count] {
            return Ok(false);
        }
        if count == 0 {
            return Ok(true);
        }
    }
}

/// Reads until the buffer is full or nothing is left.
fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while count < buffer.len() {
        match reader.read(&mut buffer[count..])? {
            0 => break,
            more => count += more,
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_the_same_or_not() {
        let long = vec![7; PORTION + 10];
        let mut other = long.clone();
        assert!(compare(&long[..], &other[..]).unwrap());
        other[PORTION + 5] = 8;
        assert!(!compare(&long[..], &other[..]).unwrap());
        assert!(!compare(&long[..], &long[..PORTION]).unwrap());
        assert!(compare(&[][..], &[][..]).unwrap());
    }
}
