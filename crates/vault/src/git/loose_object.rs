//! Writing objects into a repository the way git does it for a few: each deflated in a file of its
//! own, named by its id.
//!
//! Nothing here is synced: callers that depend on an object sync it first.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use super::access::{Direct, Reason};
use super::object_id::{ObjectFormat, ObjectId};
use ralph_base::durability;
use ralph_base::files::{FileError, Tried, read_if_present};
use ralph_base::kill_point::{Point, reached};

/// How often an object is written again whose folder, or whose temporary file, git removed meanwhile.
const TRIES: u32 = 1000;

/// Where an object of a repository is.
pub(crate) fn path(objects: &Path, id: &ObjectId) -> PathBuf {
    let text = id.to_string();
    let (folder, name) = text.split_at(2);
    objects.join(folder).join(name)
}

/// The folders of loose objects that are there, by name.
pub(crate) fn folders(objects: &Path) -> Vec<(String, fs::Metadata)> {
    let listing = fs::read_dir(objects).into_iter().flatten().flatten();
    let mut folders: Vec<(String, fs::Metadata)> = listing
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_folder = is_folder(&name) && entry.file_type().is_ok_and(|kind| kind.is_dir());
            is_folder.then_some((name, entry.metadata().ok()?))
        })
        .collect();
    folders.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    folders
}

/// True for the first two digits of an object's name.
pub(crate) fn is_folder(name: &str) -> bool {
    name.len() == 2
        && name
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Reads an object that has a file of its own and is of the given kind.
pub(crate) fn read(objects: &Path, id: &ObjectId, kind: &str) -> Option<Vec<u8>> {
    let file = fs::File::open(path(objects, id)).ok()?;
    let mut bytes = Vec::new();
    ZlibDecoder::new(file).read_to_end(&mut bytes).ok()?;
    let start = bytes.iter().position(|byte| *byte == 0)? + 1;
    let is_kind = bytes.starts_with(format!("{kind} ").as_bytes());
    is_kind.then(|| bytes.split_off(start))
}

/// The same, where it has the bytes its id says.
pub(crate) fn read_whole(
    objects: &Path,
    id: &ObjectId,
    kind: &str,
    format: ObjectFormat,
) -> Direct<Vec<u8>> {
    let bytes = read(objects, id, kind);
    let whole = bytes.filter(|bytes| ObjectId::of_object(format, kind, bytes) == *id);
    Ok(whole.ok_or(Reason::NotLoose(*id))?)
}

/// True where a loose object can be read and does not have the bytes its id says.
pub(crate) fn is_damaged(file: &Path, id: &ObjectId, format: ObjectFormat) -> bool {
    let Ok(file) = fs::File::open(file) else {
        return false;
    };
    !ObjectId::of_stream(format, ZlibDecoder::new(file)).is_ok_and(|found| found == *id)
}

/// Writes objects one after the other; what it takes to deflate one is used for the next.
pub(crate) struct Writer<'a> {
    objects: &'a Path,
    deflate: ZlibEncoder<Vec<u8>>,
    syncs: bool,
}

impl<'a> Writer<'a> {
    /// Writes into the objects of a repository.
    pub(crate) fn new(objects: &'a Path) -> Self {
        Self {
            objects,
            deflate: ZlibEncoder::new(Vec::new(), Compression::fast()),
            syncs: false,
        }
    }

    /// Makes each object durable before it has its name, or leaves that to the caller.
    pub(crate) fn syncing(self, syncs: bool) -> Self {
        Self { syncs, ..self }
    }

    /// Writes an object whose id is known, where it is not there already.
    pub(crate) fn write(
        &mut self,
        id: &ObjectId,
        kind: &str,
        bytes: &[u8],
    ) -> Result<(), FileError> {
        let target = path(self.objects, id);
        if is_present(&target) {
            return Ok(());
        }
        self.replace(id, kind, bytes)
    }

    /// Writes an object. One that exists counts only if it has these bytes, in a file that
    /// has no other link: writing to the other name would change this one too.
    pub(crate) fn write_apart(
        &mut self,
        id: &ObjectId,
        kind: &str,
        bytes: &[u8],
    ) -> Result<(), FileError> {
        let is_ours = fs::metadata(path(self.objects, id)).is_ok_and(|it| it.nlink() == 1);
        if is_ours && read(self.objects, id, kind).is_some_and(|present| present == bytes) {
            return Ok(());
        }
        self.replace(id, kind, bytes)
    }

    fn replace(&mut self, id: &ObjectId, kind: &str, bytes: &[u8]) -> Result<(), FileError> {
        let target = path(self.objects, id);
        let header = format!("{kind} {}\0", bytes.len());
        let deflated = self
            .deflate
            .write_all(header.as_bytes())
            .and_then(|()| self.deflate.write_all(bytes))
            .and_then(|()| self.deflate.reset(Vec::new()));
        self.place(&target, &deflated.tried("write", &target)?)
    }

    /// Writes what another repository has in a file of its own, where it is not there already; false
    /// where it has no such file.
    pub(crate) fn copy(&self, from: &Path, id: &ObjectId) -> Result<bool, FileError> {
        let target = path(self.objects, id);
        if is_present(&target) {
            return Ok(true);
        }
        let Some(deflated) = read_if_present(&path(from, id))? else {
            return Ok(false);
        };
        self.place(&target, &deflated)?;
        Ok(true)
    }

    fn place(&self, target: &Path, deflated: &[u8]) -> Result<(), FileError> {
        let folder = target.parent().unwrap_or(self.objects);
        let mut tries = TRIES;
        loop {
            match self.place_once(folder, target, deflated) {
                // `git gc` removes folders that it finds empty, and files that look left over.
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries > 0 => tries -= 1,
                other => return other,
            }
        }
    }

    fn place_once(&self, folder: &Path, target: &Path, deflated: &[u8]) -> Result<(), FileError> {
        if !folder.is_dir() {
            fs::create_dir_all(folder).tried("create", folder)?;
        }
        // The name by which git finds and removes what a dead process left.
        let mut temporary = tempfile::Builder::new()
            .prefix("tmp_obj_")
            .permissions(fs::Permissions::from_mode(0o444))
            .tempfile_in(folder)
            .tried("write into", folder)?;
        let written = temporary.as_file_mut().write_all(deflated);
        written.tried("write", target)?;
        if self.syncs && durability::is_on() {
            temporary.as_file().sync_all().tried("sync", target)?;
        }
        reached(Point::Rename);
        let placed = temporary.persist(target);
        reached(Point::Renamed);
        placed
            .map(drop)
            .map_err(|error| FileError::new("write", target, error.error))
    }
}

/// One without bytes is what a power cut leaves.
fn is_present(object: &Path) -> bool {
    fs::metadata(object).is_ok_and(|present| present.len() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::object_id::ObjectFormat;

    #[test]
    fn what_is_written_is_read_again_one_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::new(folder.path());
        // Bytes that do not get smaller, and none at all.
        let noise: Vec<u8> = (0..100_000u32)
            .map(|it| it.wrapping_mul(2_654_435_761).to_be_bytes()[0])
            .collect();
        for bytes in [&b""[..], b"hello\n", &noise, &vec![b'a'; 300_000]] {
            let id = ObjectId::of_object(ObjectFormat::Sha1, "blob", bytes);
            writer.write(&id, "blob", bytes).unwrap();
            writer.write(&id, "blob", bytes).unwrap();
            assert_eq!(read(folder.path(), &id, "blob").as_deref(), Some(bytes));
            assert_eq!(read(folder.path(), &id, "tree"), None);
        }
    }

    #[test]
    fn an_object_that_others_can_change_is_written_apart_from_them() {
        let folder = tempfile::tempdir().unwrap();
        let id = ObjectId::of_object(ObjectFormat::Sha1, "blob", b"hello\n");
        let mut writer = Writer::new(folder.path());
        writer.write(&id, "blob", b"hello\n").unwrap();
        let (object, other) = (path(folder.path(), &id), folder.path().join("other"));
        let inode = || fs::metadata(&object).unwrap().ino();
        let ours = inode();
        writer.write_apart(&id, "blob", b"hello\n").unwrap();
        assert_eq!(inode(), ours);
        fs::hard_link(&object, &other).unwrap();
        writer.write_apart(&id, "blob", b"hello\n").unwrap();
        assert_ne!(inode(), ours);
        fs::remove_file(&object).unwrap();
        fs::write(&object, "junk").unwrap();
        writer.write_apart(&id, "blob", b"hello\n").unwrap();
        let present = read(folder.path(), &id, "blob");
        assert_eq!(present.as_deref(), Some(&b"hello\n"[..]));
    }

    #[test]
    fn objects_are_written_although_empty_folders_are_removed_meanwhile() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let folder = tempfile::tempdir().unwrap();
        let objects = folder.path();
        let is_over = AtomicBool::new(false);
        let tidy = || {
            while !is_over.load(Ordering::Relaxed) {
                for number in 0..=255u8 {
                    let _ = fs::remove_dir(objects.join(format!("{number:02x}")));
                }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(tidy);
            let mut writer = Writer::new(objects);
            let mut written = Vec::new();
            for number in 0..3000u32 {
                let bytes = number.to_be_bytes();
                let id = ObjectId::of_object(ObjectFormat::Sha1, "blob", &bytes);
                let result = writer.write(&id, "blob", &bytes);
                written.push(result.map(|()| path(objects, &id).exists()));
                let _ = fs::remove_file(path(objects, &id));
            }
            is_over.store(true, Ordering::Relaxed);
            for result in written {
                assert!(result.unwrap());
            }
        });
    }

    #[test]
    fn an_object_is_copied_as_it_is_where_there_is_one() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let id = ObjectId::of_object(ObjectFormat::Sha1, "blob", b"hello\n");
        let writer = Writer::new(to.path());
        assert!(!writer.copy(from.path(), &id).unwrap());
        assert!(!path(to.path(), &id).exists());
        let mut source = Writer::new(from.path());
        source.write(&id, "blob", b"hello\n").unwrap();
        assert!(writer.copy(from.path(), &id).unwrap());
        assert!(writer.copy(from.path(), &id).unwrap());
        assert_eq!(
            read(to.path(), &id, "blob").as_deref(),
            Some(&b"hello\n"[..])
        );
    }
}
