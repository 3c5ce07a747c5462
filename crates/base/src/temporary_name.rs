//! The name of a file while it is written: `.ralph-`, the process that writes it, six random
//! characters. If that process dies, a later one knows the file by its name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) const PREFIX: &str = ".ralph-";

/// How many random characters a name ends with.
const RANDOM: usize = 6;

/// A new temporary file.
pub(crate) fn temporary_in(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    // A short fixed-length name: the target's own name may already be 255 bytes long.
    tempfile::Builder::new()
        .prefix(&format!("{PREFIX}{}-", std::process::id()))
        .rand_bytes(RANDOM)
        .tempfile_in(folder)
}

/// A temporary name that nothing in a folder has yet.
pub(crate) fn free_name_in(folder: &Path) -> PathBuf {
    let name = |number: u32| format!("{PREFIX}{}-{number:0RANDOM$}", std::process::id());
    let mut names = (0..).map(|number| folder.join(name(number)));
    let free = names.find(|path| fs::symlink_metadata(path).is_err());
    free.unwrap_or_else(|| folder.join(PREFIX))
}

/// The process that was writing a temporary file; none for any other file.
pub(crate) fn writer_of(path: &[u8]) -> Option<i32> {
    let name = path.rsplit(|byte| *byte == b'/').next()?;
    let rest = std::str::from_utf8(name).ok()?.strip_prefix(PREFIX)?;
    let (process, random) = rest.split_once('-')?;
    (random.len() == RANDOM).then(|| process.parse().ok())?
}
