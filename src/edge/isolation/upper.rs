//! What the upper layer of an overlay says: what was written, and what hides the layer below.

use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use crate::edge::files::{FileError, Tried, make_writable};
use crate::edge::walk::absolute;

/// The mark of a folder that hides everything below it in the lower layer.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
const OPAQUE: &str = "user.overlay.opaque";

/// What the upper layer has at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A folder; what the lower layer has in it shows through.
    Folder,
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A pipe, socket or device.
    Special,
    /// Nothing, whatever the lower layer has.
    Gone,
    /// A folder nested so deep that what is in it cannot be named.
    Deep,
}

/// A folder with a longer path is not looked into.
const LONGEST_FOLDER: usize = 4095 - 320;

/// One path of the upper layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// Relative to the top.
    pub(crate) path: Vec<u8>,
    /// What is there.
    pub(crate) kind: Kind,
    /// Its mode.
    pub(crate) mode: u32,
}

/// True for the device that stands for a removed path.
pub(crate) fn is_whiteout(metadata: &Metadata) -> bool {
    metadata.file_type().is_char_device() && metadata.rdev() == 0
}

/// True where a folder hides what the lower layer has in it.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
pub(crate) fn is_opaque(folder: &Path) -> bool {
    let mut value = [0; 1];
    let found = rustix::fs::lgetxattr(folder, OPAQUE, value.as_mut_slice());
    found.is_ok() && value == *b"y"
}

/// True where a folder hides what the lower layer has in it; there are no overlays on this system.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(crate) fn is_opaque(_folder: &Path) -> bool {
    false
}

/// Everything from `start` on, folders before what is in them. What a folder hides of the lower
/// layer is listed as gone, path by path.
pub(crate) fn list(upper: &Path, lower: &Path, start: &[u8]) -> Result<Vec<Item>, FileError> {
    let mut items = Vec::new();
    list_folder(upper, lower, start, &mut items)?;
    Ok(items)
}

fn list_folder(
    upper: &Path,
    lower: &Path,
    folder: &[u8],
    items: &mut Vec<Item>,
) -> Result<(), FileError> {
    let full = absolute(upper, folder);
    // An agent may have locked it; the item keeps the mode it had.
    make_writable(&full);
    let mut names: Vec<_> = fs::read_dir(&full)
        .tried("list", &full)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<_, _>>()
        .tried("list", &full)?;
    names.sort();
    if is_opaque(&full) {
        for name in names_in(&absolute(lower, folder))? {
            if names.binary_search(&name).is_err() {
                items.push(Item {
                    path: join(folder, name.as_bytes()),
                    kind: Kind::Gone,
                    mode: 0,
                });
            }
        }
    }
    for name in names {
        let path = join(folder, name.as_bytes());
        // The repository's own git directory is listed by itself.
        if path == b".git" {
            continue;
        }
        let source = full.join(&name);
        let metadata = fs::symlink_metadata(&source).tried("look at", &source)?;
        let kind = kind_from(&metadata);
        items.push(Item {
            path: path.clone(),
            kind,
            mode: metadata.mode() & 0o7777,
        });
        // What is in it has paths that no call takes.
        if kind == Kind::Folder && source.as_os_str().len() > LONGEST_FOLDER {
            if let Some(item) = items.last_mut() {
                item.kind = Kind::Deep;
            }
            continue;
        }
        if kind == Kind::Folder {
            list_folder(upper, lower, &path, items)?;
        }
    }
    Ok(())
}

/// What the upper layer has at one path.
pub(crate) fn kind_of(path: &Path) -> Result<Kind, FileError> {
    let metadata = fs::symlink_metadata(path).tried("look at", path)?;
    Ok(kind_from(&metadata))
}

fn kind_from(metadata: &Metadata) -> Kind {
    if metadata.is_dir() {
        Kind::Folder
    } else if metadata.is_file() {
        Kind::File
    } else if metadata.is_symlink() {
        Kind::Link
    } else if is_whiteout(metadata) {
        Kind::Gone
    } else {
        Kind::Special
    }
}

/// The names in a real folder; none where something else is there.
fn names_in(folder: &Path) -> Result<Vec<std::ffi::OsString>, FileError> {
    if !fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir()) {
        return Ok(Vec::new());
    }
    fs::read_dir(folder)
        .tried("list", folder)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<_, _>>()
        .tried("list", folder)
}

fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() {
        return name.to_vec();
    }
    [folder, b"/", name].concat()
}
