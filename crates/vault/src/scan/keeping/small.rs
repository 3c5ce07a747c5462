//! Small files that belong into a commit: each becomes an object of the vault's store at once, so
//! that the same bytes are not written as a plain copy first.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use super::{Keeper, READ_WHOLE, Suspects, open_no_link};
use crate::error::Result;
use crate::git::loose_object::Writer;
use crate::git::object_id::ObjectId;
use crate::threads::in_shares;
use crate::tree::manifest::{Content, Entry, Found, Kind, Lane};
use ralph_base::files::{FileError, Tried};

/// How many files are worth a second thread.
const MANY: usize = 64;

/// Where the bytes of paths are; none where one is gone by now.
type Kept = HashMap<Vec<u8>, Option<Content>>;

/// A file with its entry in the base.
type Small<'a> = (&'a Found, Option<&'a Entry>);

impl Keeper<'_> {
    /// Writes the small files that belong into a commit into the store.
    pub(super) fn keep_small(&self, suspects: &Suspects) -> Result<Kept> {
        // Before the first checkpoint, that something is a git object says that the index knows it.
        if self.index.is_some() {
            return Ok(Kept::new());
        }
        let all = suspects.touched.iter().chain(&suspects.created);
        let small: Vec<Small<'_>> = all
            .filter(|found| found.kind == Kind::File && found.stat.size <= READ_WHOLE)
            .map(|found| (found, self.base.entries.get(&found.path)))
            .filter(|(found, old)| self.lane_of(found, *old) == Lane::Committed)
            .collect();
        if small.len() < MANY {
            return self.keep_some(&small);
        }
        let mut kept = Kept::with_capacity(small.len());
        for share in in_shares(&small, 8, |share| self.keep_some(share)) {
            kept.extend(share?);
        }
        Ok(kept)
    }

    fn keep_some(&self, small: &[Small<'_>]) -> Result<Kept> {
        let objects = self.places.vault.objects();
        let mut writer = Writer::new(&objects);
        let mut kept = Kept::with_capacity(small.len());
        for (found, old) in small {
            let content = match read(&self.places.full(&found.path)) {
                Ok(bytes) => Some(self.store(&mut writer, &bytes, *old)?),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    Some(Content::Unkept)
                }
                Err(error) => return Err(error.into()),
            };
            kept.insert(found.path.clone(), content);
        }
        Ok(kept)
    }

    fn store(
        &self,
        writer: &mut Writer<'_>,
        bytes: &[u8],
        old: Option<&Entry>,
    ) -> Result<Content, FileError> {
        let id = ObjectId::of_object(self.places.repository.format, "blob", bytes);
        if let Some(old) = old.filter(|old| old.content.id() == Some(id)) {
            return Ok(old.content.clone());
        }
        writer.write_apart(&id, "blob", bytes)?;
        Ok(Content::Git(id))
    }
}

fn read(full: &Path) -> Result<Vec<u8>, FileError> {
    let mut file = open_no_link(full).tried("read", full)?;
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut file, &mut bytes).tried("read", full)?;
    Ok(bytes)
}
