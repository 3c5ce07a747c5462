//! What checklists and `prd.json` share: a plan is one file.

use std::fs;
use std::path::Path;

use crate::change::{Change, Document, SourceKind};
use crate::error::SourceError;
use crate::files::{self, stem, unreadable};
use crate::label::slug;

/// Reads a file as a change that has no stories yet.
pub(super) fn read(path: &Path, kind: SourceKind) -> Result<Change, SourceError> {
    let path = fs::canonicalize(path).map_err(unreadable(path))?;
    let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
    Ok(Change {
        documents: vec![document(&path)],
        task_files: vec![files::task_file(&folder, path.clone())?],
        ..Change::new(name_of(&path), folder, kind)
    })
}

/// The name of a plan that is one file.
pub(super) fn name_of(path: &Path) -> String {
    slug(&stem(path))
}

/// A document that is one file and has its name.
pub(super) fn document(path: &Path) -> Document {
    Document::new(&stem(path), vec![path.to_owned()])
}
