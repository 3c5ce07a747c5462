//! Paths as git names them: bytes, from the top of the work tree.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use ralph_base::files::{FileError, Tried, create_private_folder};

/// The absolute path of a relative one.
pub(crate) fn absolute(top: &Path, relative: &[u8]) -> PathBuf {
    if relative.is_empty() {
        return top.to_owned();
    }
    top.join(std::ffi::OsString::from_vec(relative.to_vec()))
}

/// The folders above the paths, from the top of the work tree.
pub(crate) fn folders_above(paths: &[Vec<u8>]) -> BTreeSet<&[u8]> {
    let above = |path| ancestors(path).chain([&b""[..]]);
    paths.iter().flat_map(|path| above(path)).collect()
}

/// The folders above a path, without the top of the work tree, nearest first.
pub(crate) fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = (0..path.len()).rev().filter(|at| path[*at] == b'/');
    slashes.map(|at| &path[..at])
}

/// True for a named pipe, also behind a link: git would wait for what is written into it.
pub(crate) fn is_pipe(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|it| it.file_type().is_fifo())
}

/// A path for people.
pub(crate) fn show(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

/// A list of at most ten names for a message; none where there is none.
pub(crate) fn list(named: &[String]) -> Option<String> {
    list_some(named, NAMED)
}

/// The same, with at most `most` names.
pub(crate) fn list_some(named: &[String], most: usize) -> Option<String> {
    let shown = named[..named.len().min(most)].join(", ");
    match named.len().saturating_sub(most) {
        _ if named.is_empty() => None,
        0 => Some(shown),
        more => Some(format!("{shown} and {more} more")),
    }
}

/// [`list`] for paths, each in backquotes.
pub(crate) fn list_paths<'a>(paths: impl IntoIterator<Item = &'a Vec<u8>>) -> Option<String> {
    let paths = paths.into_iter();
    let named: Vec<String> = paths.map(|path| format!("`{}`", show(path))).collect();
    list(&named)
}

/// True for a path in the git directory of a submodule.
pub(crate) fn is_module_path(path: &[u8]) -> bool {
    is_at_or_below(path, PREFIX)
}

/// What stands before the paths of submodules' git directories.
pub(crate) const PREFIX: &[u8] = b".git/modules";

/// How many files a notice names.
pub(crate) const NAMED: usize = 10;

/// True for a folder and for what is below it.
pub(crate) fn is_at_or_below(path: impl AsRef<[u8]>, folder: impl AsRef<[u8]>) -> bool {
    let rest = path.as_ref().strip_prefix(folder.as_ref());
    rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

/// Creates the folder that a path is in, where it is missing.
pub(crate) fn create_folder_above(path: &Path) -> Result<(), FileError> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).tried("create", folder)
}

/// The same, for its owner only.
pub(crate) fn create_private_folder_above(path: &Path) -> Result<(), FileError> {
    create_private_folder(path.parent().unwrap_or(path))
}

/// A path without `..`, as its text is: nothing is read from disk.
pub(crate) fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, part| {
        match part {
            std::path::Component::ParentDir => drop(path.pop()),
            other => path.push(other),
        }
        path
    })
}
