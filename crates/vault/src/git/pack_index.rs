//! What a pack of git's holds, read from its index.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use crate::git::object_id::{ObjectFormat, ObjectId};

/// An index of version 2 begins so.
const MAGIC: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];

/// The table of how many objects begin with each byte.
const FANOUT: usize = 256 * 4;

/// The indexes of all packs of a repository, open.
#[derive(Debug)]
pub(crate) struct PackIndexes {
    files: Vec<File>,
    length: usize,
}

impl PackIndexes {
    /// Opens the indexes of those packs that are there. Those that cannot be read are left out.
    pub(crate) fn open(objects: &Path, format: ObjectFormat) -> Self {
        let listing = fs::read_dir(objects.join("pack")).into_iter().flatten();
        let paths = listing.filter_map(|entry| Some(entry.ok()?.path()));
        let indexes = paths.filter(|path| path.extension() == Some(OsStr::new("idx")));
        let with_pack = indexes.filter(|path| path.with_extension("pack").exists());
        Self {
            files: with_pack.filter_map(|path| File::open(path).ok()).collect(),
            length: format.id_length(),
        }
    }

    /// True where one of the packs has the object; false also where none can tell.
    pub(crate) fn hold(&self, id: &ObjectId) -> bool {
        self.files
            .iter()
            .any(|file| self.holds(file, id.as_bytes()) == Some(true))
    }

    fn holds(&self, file: &File, id: &[u8]) -> Option<bool> {
        let mut head = [0; MAGIC.len() + FANOUT];
        file.read_exact_at(&mut head, 0).ok()?;
        let fanout = head.strip_prefix(&MAGIC)?;
        let upto = |first: usize| {
            let bytes = fanout.get(first * 4..)?.first_chunk::<4>()?;
            Some(u64::from(u32::from_be_bytes(*bytes)))
        };
        let first = usize::from(*id.first()?);
        let (mut low, mut high) = (first.checked_sub(1).map_or(Some(0), upto)?, upto(first)?);
        let mut name = vec![0; self.length];
        while low < high {
            let middle = low.midpoint(high);
            let at = head.len() as u64 + middle * self.length as u64;
            file.read_exact_at(&mut name, at).ok()?;
            match name.as_slice().cmp(id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(true),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Some(false)
    }
}

/// Ids of all objects in a pack; none where its index cannot be read.
pub(crate) fn object_ids(index: &[u8], format: ObjectFormat) -> Option<Vec<ObjectId>> {
    let rest = index.strip_prefix(&MAGIC)?;
    let (fanout, rest) = rest.split_at_checked(FANOUT)?;
    let count = u32::from_be_bytes(*fanout.last_chunk::<4>()?);
    let length = format.id_length();
    let names = rest.get(..usize::try_from(count).ok()?.checked_mul(length)?)?;
    names
        .chunks_exact(length)
        .map(ObjectId::from_bytes)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn what_a_pack_holds_is_found_while_the_pack_is_there() {
        let objects = tempfile::tempdir().unwrap();
        fs::create_dir(objects.path().join("pack")).unwrap();
        let names: Vec<[u8; 20]> = [0, 0, 1, 7, 7, 7, 254, 255]
            .into_iter()
            .zip(0..)
            .map(|(first, last)| {
                let mut name = [first; 20];
                name[19] = last;
                name
            })
            .collect();
        let mut bytes = MAGIC.to_vec();
        for first in 0..=255u8 {
            let upto = names.iter().filter(|name| name[0] <= first).count();
            bytes.extend_from_slice(&u32::try_from(upto).unwrap().to_be_bytes());
        }
        bytes.extend(names.iter().flatten());
        let index = objects.path().join("pack/pack-1.idx");
        fs::write(&index, &bytes).unwrap();
        let id = |name: &[u8; 20]| ObjectId::from_bytes(name).unwrap();
        let open = || PackIndexes::open(objects.path(), ObjectFormat::Sha1);

        assert!(!open().hold(&id(&names[0])));
        fs::write(index.with_extension("pack"), "").unwrap();
        let packs = open();
        assert!(names.iter().all(|name| packs.hold(&id(name))));
        for other in [[0; 20], [3; 20], [255; 20]] {
            assert_eq!(packs.hold(&id(&other)), names.contains(&other));
        }
        for cut in [0, 7, 500, bytes.len() - 1] {
            fs::write(&index, &bytes[..cut]).unwrap();
            assert!(!open().hold(&id(&names[7])));
        }
    }

    #[test]
    fn an_index_names_what_its_pack_holds() {
        let (one, two) = ([1; 20], [2; 20]);
        let mut bytes = MAGIC.to_vec();
        for first in 0..=255u8 {
            let upto = u32::from(first >= 1) + u32::from(first >= 2);
            bytes.extend_from_slice(&upto.to_be_bytes());
        }
        bytes.extend_from_slice(&one);
        bytes.extend_from_slice(&two);
        let want = [one, two].map(|raw| ObjectId::from_bytes(&raw).unwrap());
        let read = object_ids(&bytes, ObjectFormat::Sha1);
        assert_eq!(read, Some(want.to_vec()));
        for cut in 0..bytes.len() {
            assert_eq!(object_ids(&bytes[..cut], ObjectFormat::Sha1), None);
        }
    }
}
