//! Files among the refs that hold no ref: an attempt emptied or overwrote them, or left something
//! else there. Git neither reads nor updates such a ref, so the file is moved aside, and what the
//! checkpoint says of the ref is restored. A ref that was deleted has no file, and stays deleted.

use std::fs;
use std::path::Path;

use crate::error::Result;
use crate::git::object_id::ObjectId;
use crate::git::repository::Refs;
use crate::repo::Repo;
use crate::repo::snapshot::Snapshot;
use ralph_base::files::{free_name, move_away, read_line_file};

impl Repo {
    /// Moves such files aside and restores the refs; true where there were any.
    pub(crate) fn restore_broken_refs(
        &self,
        checkpoint: &Snapshot,
        refs: &Refs,
        trash: &Path,
    ) -> Result<bool> {
        let shared = &self.places.repository.common_dir;
        if fs::symlink_metadata(shared.join("reftable")).is_ok() {
            return Ok(false);
        }
        let mut broken = Vec::new();
        list_broken(shared, "refs", refs, &mut broken);
        for name in &broken {
            let aside = trash.join("broken-refs").join(name.replace('/', ":"));
            move_away(&shared.join(name), &free_name(&aside))?;
        }
        if broken.is_empty() {
            return Ok(false);
        }
        // One that is packed too is there again.
        let (refs, _) = self.observe()?;
        for name in broken {
            if let Some(id) = checkpoint.control.refs.get(&name) {
                self.move_ref(&name, &refs, Some(*id))?;
            }
        }
        Ok(true)
    }
}

/// Lists files that are no refs. Those git has just read are not read again.
fn list_broken(root: &Path, folder: &str, refs: &Refs, found: &mut Vec<String>) {
    let listing = fs::read_dir(root.join(folder)).into_iter().flatten();
    for entry in listing.filter_map(std::result::Result::ok) {
        let file = entry.file_name();
        let (Some(file), Ok(kind)) = (file.to_str(), entry.file_type()) else {
            continue;
        };
        let name = format!("{folder}/{file}");
        if kind.is_dir() {
            list_broken(root, &name, refs, found);
        } else if kind.is_file()
            && !refs.contains_key(&name)
            && !file.starts_with('.')
            && !file.as_bytes().ends_with(b".lock")
            && is_broken(&entry.path())
        {
            found.push(name);
        }
    }
}

fn is_broken(path: &Path) -> bool {
    let bytes = match read_line_file(path) {
        Ok(bytes) => bytes,
        Err(error) => return error.kind() == std::io::ErrorKind::FileTooLarge,
    };
    ObjectId::parse(bytes.trim_ascii()).is_none() && !bytes.starts_with(b"ref: ")
}
