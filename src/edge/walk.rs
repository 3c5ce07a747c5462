//! One walk of the work tree: every path with the stat fields that tell whether it changed.
//!
//! Knows nothing of git but the name `.git`; whether a folder is worth entering is asked of the
//! caller.

use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::files::{FileError, Tried, absent};
use super::manifest::{Kind, Stat};

/// One path as the walk found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// Path relative to the top, as bytes.
    pub(crate) path: Vec<u8>,
    /// What it is.
    pub(crate) kind: Kind,
    /// Fields that change when the content does.
    pub(crate) stat: Stat,
}

/// What a walk found.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// Everything, in no particular order.
    pub(crate) found: Vec<Found>,
    /// Folders that were not entered because the caller said so.
    pub(crate) not_entered: Vec<Vec<u8>>,
    /// Folders that could not be read.
    pub(crate) unreadable: Vec<Vec<u8>>,
}

/// Whose `.git` is at the top of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Top {
    /// The repository's own: passed over.
    WorkTree,
    /// Somebody else's: user bytes like any other.
    Folder,
}

/// Walks everything below `top`.
pub(crate) fn walk(
    top: &Path,
    what: Top,
    enter: &mut dyn FnMut(&[u8], &Path) -> bool,
) -> Result<Walk, FileError> {
    let mut walk = Walk::default();
    let mut pending: Vec<Vec<u8>> = vec![Vec::new()];
    while let Some(folder) = pending.pop() {
        let path = absolute(top, &folder);
        let listing = match fs::read_dir(&path) {
            Ok(listing) => listing,
            Err(error) if absent(&error) && !folder.is_empty() => continue,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                walk.unreadable.push(folder);
                continue;
            }
            Err(error) => return Err(FileError::new("list", &path, error)),
        };
        for entry in listing {
            let entry = entry.tried("list", &path)?;
            let name = entry.file_name();
            if what == Top::WorkTree && folder.is_empty() && name == ".git" {
                continue;
            }
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                Err(error) if absent(&error) => continue,
                // Names can be read, nothing more.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    walk.unreadable.push(folder);
                    break;
                }
                Err(error) => return Err(FileError::new("look at", &entry.path(), error)),
            };
            let relative = join(&folder, name.as_bytes());
            let kind = kind(&metadata);
            if kind == Kind::Folder {
                if enter(&relative, &entry.path()) {
                    pending.push(relative.clone());
                } else {
                    walk.not_entered.push(relative);
                    continue;
                }
            }
            walk.found.push(Found {
                path: relative,
                kind,
                stat: stat(&metadata),
            });
        }
    }
    Ok(walk)
}

/// The stat fields of one path now; none where nothing is there.
pub(crate) fn look(top: &Path, path: &[u8]) -> Result<Option<Found>, FileError> {
    let full = absolute(top, path);
    match fs::symlink_metadata(&full) {
        Ok(metadata) => Ok(Some(Found {
            path: path.to_vec(),
            kind: kind(&metadata),
            stat: stat(&metadata),
        })),
        Err(error) if absent(&error) => Ok(None),
        Err(error) => Err(FileError::new("look at", &full, error)),
    }
}

fn kind(metadata: &fs::Metadata) -> Kind {
    if metadata.is_dir() {
        Kind::Folder
    } else if metadata.is_symlink() {
        Kind::Link
    } else if metadata.is_file() {
        Kind::File
    } else {
        Kind::Special
    }
}

/// The stat fields that tell whether a path changed.
pub(crate) fn stat(metadata: &fs::Metadata) -> Stat {
    Stat {
        mode: metadata.mode() & 0o7777,
        size: metadata.size(),
        modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        inode: metadata.ino(),
    }
}

fn nanoseconds(seconds: i64, nanos: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() {
        return name.to_vec();
    }
    let mut path = Vec::with_capacity(folder.len() + name.len() + 1);
    path.extend_from_slice(folder);
    path.push(b'/');
    path.extend_from_slice(name);
    path
}

/// The absolute path of a relative one.
pub(crate) fn absolute(top: &Path, relative: &[u8]) -> PathBuf {
    if relative.is_empty() {
        return top.to_owned();
    }
    top.join(std::ffi::OsString::from_vec(relative.to_vec()))
}
