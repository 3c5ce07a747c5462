//! Writing objects into a repository the way git does it for a few: each deflated in a file of its
//! own, named by its id.
//!
//! Nothing here is synced: whoever leans on an object makes it durable first.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use super::files::{FileError, Tried};
use super::kill_point::{Point, reached};
use super::object_id::ObjectId;

/// Where an object of a repository is.
pub(crate) fn path(objects: &Path, id: &ObjectId) -> PathBuf {
    let text = id.to_string();
    let (folder, name) = text.split_at(2);
    objects.join(folder).join(name)
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

/// Writes an object whose id is known, where it is not there already.
pub(crate) fn write(
    objects: &Path,
    (id, kind): (&ObjectId, &str),
    bytes: &[u8],
) -> Result<(), FileError> {
    let target = path(objects, id);
    // One without bytes is what a power cut leaves.
    if fs::metadata(&target).is_ok_and(|present| present.len() > 0) {
        return Ok(());
    }
    let folder = target.parent().unwrap_or(objects);
    fs::create_dir_all(folder).tried("create", folder)?;
    // The name by which git finds and removes what a dead process left.
    let mut temporary = tempfile::Builder::new()
        .prefix("tmp_obj_")
        .permissions(fs::Permissions::from_mode(0o444))
        .tempfile_in(folder)
        .tried("write into", folder)?;
    let mut encoder = ZlibEncoder::new(temporary.as_file_mut(), Compression::fast());
    encoder
        .write_all(format!("{kind} {}\0", bytes.len()).as_bytes())
        .and_then(|()| encoder.write_all(bytes))
        .and_then(|()| encoder.finish().map(drop))
        .tried("write", &target)?;
    reached(Point::Rename);
    let placed = temporary.persist(&target);
    reached(Point::Renamed);
    placed
        .map(drop)
        .map_err(|error| FileError::new("write", &target, error.error))
}
