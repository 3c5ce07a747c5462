//! Repairs of the git directory, before anything is done in it.

pub(crate) mod broken_refs;
pub(crate) mod content;
pub(crate) mod directory;
pub(crate) mod locks;
pub(crate) mod missing_objects;
pub(crate) mod objects;
pub(crate) mod parts;

use std::fs;
use std::path::Path;

use ralph_base::files::{FileError, free_name, move_away};

/// Moves what is in a place of the git directory, if anything is, to the trash.
fn move_aside(path: &Path, trash: &Path, name: impl AsRef<Path>) -> Result<(), FileError> {
    if fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    move_away(path, &free_name(&trash.join("git").join(name)))
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| it.is_dir())
}
