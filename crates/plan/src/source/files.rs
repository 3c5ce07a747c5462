//! Reading whole files within bounds, and replacing one atomically.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Gid, Uid};
use rustix::io::Errno;

use super::error::SourceError;
use ralph_base::kill_point::{Point, reached};
use ralph_base::temporary_files::temporary_in;

/// The largest file that is read.
const LARGEST: u64 = 16 * 1024 * 1024;

/// Reads a whole file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, SourceError> {
    let found = fs::metadata(path).map_err(unreadable(path))?;
    // Opening a pipe would wait for a writer.
    if !found.is_file() {
        return Err(SourceError::NotAFile {
            path: path.to_owned(),
        });
    }
    let file = File::open(path).map_err(unreadable(path))?;
    // With room for one byte more, the end is seen without growing.
    let room = found.len().min(LARGEST) + 1;
    let mut bytes = Vec::with_capacity(usize::try_from(room).unwrap_or_default());
    // One byte more than allowed tells a file that grew since it was measured.
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable(path))?;
    let size = bytes.len() as u64;
    if size > LARGEST {
        return Err(SourceError::TooLarge {
            path: path.to_owned(),
            bytes: found.len().max(size),
        });
    }
    Ok(bytes)
}

/// Reads a whole file, if it is there.
pub(super) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, SourceError> {
    match read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(SourceError::Unreadable { source, .. }) if is_absent(&source) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a whole file; none where it is gone, is no file, is too large or may not be read.
pub(super) fn read_unless_spoiled(path: &Path) -> Result<Option<Vec<u8>>, SourceError> {
    let is_spoiled = |error: &io::Error| {
        error.kind() == io::ErrorKind::PermissionDenied
            || Errno::from_io_error(error) == Some(Errno::LOOP)
    };
    match read_if_there(path) {
        Err(SourceError::NotAFile { .. } | SourceError::TooLarge { .. }) => Ok(None),
        Err(SourceError::Unreadable { source, .. }) if is_spoiled(&source) => Ok(None),
        read => read,
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Turns a system error into one that names the path.
pub(super) fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> SourceError {
    let path = path.to_owned();
    move |source| SourceError::Unreadable { path, source }
}

/// Names and kinds in a folder, sorted; none if it is not there.
pub(super) fn entries(folder: &Path) -> Result<Vec<Entry>, SourceError> {
    let listing = match fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(folder)(error)),
    };
    let mut found = Vec::new();
    for entry in listing {
        let entry = entry.map_err(unreadable(folder))?;
        let kind = entry.file_type().map_err(unreadable(&entry.path()))?;
        found.push(Entry {
            name: entry.file_name(),
            path: entry.path(),
            // A symbolic link is neither: folders are not entered through links.
            is_folder: kind.is_dir(),
        });
    }
    found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Something in a folder.
pub(super) struct Entry {
    /// Its name.
    pub(super) name: OsString,
    /// Its whole path.
    pub(super) path: PathBuf,
    /// Whether it is a real folder.
    pub(super) is_folder: bool,
}

impl Entry {
    /// Whether its name starts with a dot.
    pub(super) fn is_hidden(&self) -> bool {
        self.name.as_encoded_bytes().starts_with(b".")
    }
}

/// Replaces a file in one step; whoever reads it sees the old or the new content, never less.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), SourceError> {
    replace_target(path, bytes).map_err(|source| SourceError::Unwritable {
        path: path.to_owned(),
        source,
    })
}

fn replace_target(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays a link: what it points to is replaced.
    let target = fs::canonicalize(path)?;
    let folder = target.parent().unwrap_or(Path::new("/"));
    let old = fs::metadata(&target)?;
    let mut new = temporary_in(folder)?;
    new.write_all(bytes)?;
    keep_owner(new.as_file(), &old);
    // After the owner: changing that may clear mode bits.
    new.as_file().set_permissions(old.permissions())?;
    new.as_file().sync_all()?;
    reached(Point::Rename);
    new.persist(&target).map_err(|error| error.error)?;
    reached(Point::Renamed);
    File::open(folder)?.sync_all()
}

/// Gives the new file the old one's owner and group where we may.
fn keep_owner(file: &File, old: &Metadata) {
    let same = file
        .metadata()
        .is_ok_and(|new| new.uid() == old.uid() && new.gid() == old.gid());
    if !same {
        let owner = (
            Some(Uid::from_raw(old.uid())),
            Some(Gid::from_raw(old.gid())),
        );
        // Not being allowed to is normal; the content matters more.
        let _ = rustix::fs::fchown(file, owner.0, owner.1);
    }
}
