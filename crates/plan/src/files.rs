//! Reading whole files within bounds, and replacing one atomically.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::change::TaskFile;
use crate::error::SourceError;
use ralph_base::files::{absent, place, read_within};

/// The largest file that is read.
const LARGEST: u64 = 16 * 1024 * 1024;

/// Reads a whole file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, SourceError> {
    read_within(path, LARGEST).map_err(|error| not_read(path, error))
}

/// Reads a whole file, if it is there.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, SourceError> {
    read_unless(path, absent)
}

/// Reads a whole file; none where it is gone, is no file, is too large or may not be read.
pub(crate) fn read_unless_spoiled(path: &Path) -> Result<Option<Vec<u8>>, SourceError> {
    read_unless(path, |error| {
        absent(error)
            || Errno::from_io_error(error) == Some(Errno::LOOP)
            || matches!(
                error.kind(),
                ErrorKind::InvalidInput | ErrorKind::FileTooLarge | ErrorKind::PermissionDenied
            )
    })
}

fn read_unless(
    path: &Path,
    is_none: fn(&io::Error) -> bool,
) -> Result<Option<Vec<u8>>, SourceError> {
    match read_within(path, LARGEST) {
        Err(error) if is_none(&error) => Ok(None),
        read => read.map(Some).map_err(|error| not_read(path, error)),
    }
}

fn not_read(path: &Path, error: io::Error) -> SourceError {
    let shown = path.display();
    match error.kind() {
        ErrorKind::InvalidInput => SourceError::unusable(format!("`{shown}` is not a file")),
        ErrorKind::FileTooLarge => {
            let bytes = fs::metadata(path).map_or(LARGEST + 1, |found| found.len());
            SourceError::unusable_but(
                format!("`{shown}` is too large to be read: {bytes} bytes"),
                "task files and specs are read up to 16 MB",
            )
        }
        _ => unreadable(path)(error),
    }
}

/// A read error that names the path.
pub(crate) fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> SourceError {
    let path = path.to_owned();
    move |source| SourceError::Unreadable { path, source }
}

/// A write error that names the path.
pub(crate) fn unwritable(path: &Path) -> impl FnOnce(io::Error) -> SourceError {
    let path = path.to_owned();
    move |source| SourceError::Unwritable { path, source }
}

/// Names and kinds in a folder, sorted; none if it is not there.
pub(crate) fn entries(folder: &Path) -> Result<Vec<Entry>, SourceError> {
    let listing = match fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if absent(&error) => return Ok(Vec::new()),
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

/// Collects everything below a folder that is not a folder itself.
pub(crate) fn walk(
    folder: &Path,
    hidden: bool,
    found: &mut Vec<PathBuf>,
) -> Result<(), SourceError> {
    for entry in entries(folder)? {
        if entry.is_hidden() && !hidden {
            continue;
        }
        if entry.is_folder {
            walk(&entry.path, hidden, found)?;
        } else {
            found.push(entry.path);
        }
    }
    Ok(())
}

/// Those of the named files that are in a folder.
pub(crate) fn named_in(folder: &Path, names: &[&str]) -> Vec<PathBuf> {
    let paths = names.iter().map(|name| folder.join(name));
    paths.filter(|path| path.is_file()).collect()
}

/// Reads a file with boxes that belongs to the plan in a folder.
pub(crate) fn task_file(folder: &Path, path: PathBuf) -> Result<TaskFile, SourceError> {
    Ok(TaskFile {
        label: inner_path(folder, &path),
        bytes: read(&path)?,
        path,
    })
}

/// The path within a folder, with slashes.
pub(crate) fn inner_path(folder: &Path, path: &Path) -> String {
    let inner = path.strip_prefix(folder).unwrap_or(path);
    let parts: Vec<_> = inner.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// The name of a file without its ending.
pub(crate) fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// A path as it is shown to a user who is in a folder.
pub(crate) fn shown_from(folder: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(folder).unwrap_or(path).to_owned()
}

/// Something in a folder.
pub(crate) struct Entry {
    /// Its name.
    pub(crate) name: OsString,
    /// Its whole path.
    pub(crate) path: PathBuf,
    /// Whether it is a real folder.
    pub(crate) is_folder: bool,
}

impl Entry {
    /// Whether its name starts with a dot.
    pub(crate) fn is_hidden(&self) -> bool {
        self.name.as_encoded_bytes().starts_with(b".")
    }
}

/// Replaces a file in one step: readers see the old or the new content, never a part of it.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), SourceError> {
    replace_target(path, bytes).map_err(unwritable(path))
}

fn replace_target(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays a link: what it points to is replaced.
    let target = fs::canonicalize(path)?;
    let old = fs::metadata(&target)?;
    place(&target, |new| {
        new.write_all(bytes)?;
        keep_owner(new, &old);
        // After the owner: changing that may clear mode bits.
        new.set_permissions(old.permissions())?;
        new.sync_all()
    })?;
    File::open(target.parent().unwrap_or(Path::new("/")))?.sync_all()
}

/// Sets the old file's owner and group on the new one, if permitted.
fn keep_owner(file: &File, old: &Metadata) {
    let same = file
        .metadata()
        .is_ok_and(|new| new.uid() == old.uid() && new.gid() == old.gid());
    if !same {
        // Not being allowed to is normal; the content matters more.
        let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    }
}
