//! Keeping bytes: suspects of a walk become entries of a manifest, and every byte that git does not
//! already hold is written into the vault: as an object of its store where it belongs into a commit
//! (a commit needs that object anyway), as a plain copy otherwise.

pub(crate) mod large;
pub(crate) mod small;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex};

use large::Seen;

use super::guarding::Lanes;
use super::room;
use crate::error::{Notice, Result};
use crate::git::object_id::ObjectId;
use crate::paths::show;
use crate::repo::Places;
use crate::repo::objects::raw_path;
use crate::stat::now_ns;
use crate::tree::lock;
use crate::tree::manifest::{Changes, Content, Entry, Found, Kind, Lane, Manifest, Suspects};
use crate::tree::scanned::{Known, Likeness};
use crate::tree::walk::look;
use ralph_base::files::{FileError, Tried, absent, place};
use ralph_base::kill_point::{Point, reached};
use ralph_base::sparse;

/// An ignored file larger than this is not kept.
const LARGEST_IGNORED: u64 = 10 * 1024 * 1024;

/// All ignored files together are kept up to this size.
const ALL_IGNORED: u64 = 256 * 1024 * 1024;

/// Files up to this size are read whole; larger ones are copied and then hashed.
pub(crate) const READ_WHOLE: u64 = 4 * 1024 * 1024;

/// Turns suspects into entries, keeping their bytes.
pub(crate) struct Keeper<'a> {
    pub places: &'a Places,
    pub base: Arc<Manifest>,
    pub known: Known,
    pub lanes: Lanes,
    pub seen: &'a Mutex<Seen>,
    /// Bytes that must stay free in the vault.
    pub least_free: u64,
}

impl Keeper<'_> {
    /// Reads and keeps what may have changed.
    pub(crate) fn keep(self, suspects: Suspects) -> Result<(Manifest, Changes, Vec<Notice>)> {
        room::check(
            self.places.vault.folder(),
            self.needed(&suspects),
            self.least_free,
        )?;
        let mut manifest = (*self.base).clone();
        let mut changes = Changes::default();
        let mut left_out = Vec::new();
        let mut budget = ALL_IGNORED;
        let objects = self.keep_small(&suspects)?;
        for found in suspects.touched {
            let Some(old) = self.base.entries.get(&found.path) else {
                continue;
            };
            let lane = self.lane_of(&found, old.lane);
            let content = self.content(&found, lane, (Some(old), &objects), &mut budget)?;
            let Some(entry) = content.map(|content| entry(&found, lane, content)) else {
                changes.removed.push(found.path.clone());
                manifest.entries.remove(&found.path);
                continue;
            };
            if !old.same_state(&entry) {
                if entry.is_visible() && entry.content == Content::Unkept {
                    left_out.push(show(&found.path));
                }
                changes.modified.push(found.path.clone());
            }
            manifest.entries.insert(found.path, entry);
        }
        for found in suspects.created {
            let lane = self.lane_of(&found, Lane::Ignored);
            let content = self.content(&found, lane, (None, &objects), &mut budget)?;
            let Some(entry) = content.map(|content| entry(&found, lane, content)) else {
                continue;
            };
            if entry.content == Content::Unkept {
                left_out.push(show(&found.path));
            }
            changes.created.push(found.path.clone());
            manifest.entries.insert(found.path, entry);
        }
        for path in suspects.gone {
            manifest.entries.remove(&path);
            changes.removed.push(path);
        }
        Ok((manifest, changes, left_out_notice(&left_out)))
    }

    /// The lane of a path that was in another one, or in none, before.
    fn lane_of(&self, found: &Found, before: Lane) -> Lane {
        match found.kind {
            Kind::File | Kind::Link => self.lanes.get(&found.path).copied().unwrap_or(before),
            Kind::Folder | Kind::Special => Lane::Ignored,
        }
    }

    /// How many bytes will be copied; a file that kept its size may turn out to be the same.
    fn needed(&self, suspects: &Suspects) -> u64 {
        let has_same_size = |found: &Found| {
            let old = self.base.entries.get(&found.path);
            old.is_some_and(|old| old.kind == Kind::File && old.stat.size == found.stat.size)
        };
        let touched = suspects
            .touched
            .iter()
            .filter(|found| !has_same_size(found));
        let mut ignored = 0;
        let mut sum: u64 = 0;
        for found in suspects.created.iter().chain(touched) {
            let old = self.base.entries.get(&found.path);
            let before = old.map_or(Lane::Ignored, |old| old.lane);
            let size = found.stat.size;
            if found.kind != Kind::File || self.known.likeness(found) != Likeness::Other {
                continue;
            }
            if self.lane_of(found, before) == Lane::Ignored {
                if size > LARGEST_IGNORED || ignored + size > ALL_IGNORED {
                    continue;
                }
                ignored += size;
            }
            sum = sum.saturating_add(self.room_of(found));
        }
        sum
    }

    /// The room a copy of a file takes up: holes take none.
    fn room_of(&self, found: &Found) -> u64 {
        let size = found.stat.size;
        if size <= READ_WHOLE {
            return size;
        }
        let metadata = fs::symlink_metadata(self.places.full(&found.path));
        metadata.map_or(size, |metadata| size.min(sparse::allocated(&metadata)))
    }

    /// Where the bytes of a path are, once they are kept; none where it is gone by now.
    fn content(
        &self,
        found: &Found,
        lane: Lane,
        (old, objects): (Option<&Entry>, &HashMap<Vec<u8>, Option<Content>>),
        budget: &mut u64,
    ) -> Result<Option<Content>> {
        match found.kind {
            Kind::Folder | Kind::Special => Ok(Some(Content::Nothing)),
            Kind::Link => self.link_target(&found.path),
            Kind::File => match objects.get(&found.path) {
                Some(kept) => Ok(kept.clone()),
                None => self.file_content(found, lane, old, budget),
            },
        }
    }

    fn link_target(&self, path: &[u8]) -> Result<Option<Content>> {
        let full = self.places.full(path);
        match fs::read_link(&full) {
            Ok(target) => Ok(Some(Content::Link(target.as_os_str().as_bytes().to_vec()))),
            Err(error) if absent(&error) || error.kind() == io::ErrorKind::InvalidInput => Ok(None),
            Err(error) => Err(error).tried("read", &full).map_err(Into::into),
        }
    }

    fn file_content(
        &self,
        found: &Found,
        lane: Lane,
        old: Option<&Entry>,
        budget: &mut u64,
    ) -> Result<Option<Content>> {
        let likeness = match old {
            // What was an object and is looked at again mostly still is that object.
            Some(old)
                if old.stat.size == found.stat.size
                    && let Content::Git(id) = old.content =>
            {
                Likeness::Perhaps(id)
            }
            _ => self.known.likeness(found),
        };
        match likeness {
            Likeness::Same(id) => return Ok(Some(Content::Git(id))),
            Likeness::Perhaps(id) if self.has_bytes(found, &id) => {
                return Ok(Some(Content::Git(id)));
            }
            Likeness::Perhaps(_) | Likeness::Other => {}
        }
        if lane == Lane::Ignored {
            if found.stat.size > LARGEST_IGNORED || found.stat.size > *budget {
                return Ok(Some(Content::Unkept));
            }
            *budget -= found.stat.size;
        }
        let full = self.places.full(&found.path);
        if let Some(id) = large::kept_already(self.places, self.seen, (&full, found), old)? {
            return Ok(Some(Content::Raw(id)));
        }
        if lane != Lane::Kept || found.stat.size <= READ_WHOLE {
            return keep_raw(self.places, &full, Naming::ByBytes);
        }
        let now = now_ns();
        let name = large::free_name(self.places, found)?;
        let content = keep_raw(self.places, &full, Naming::As(name))?;
        if let Some(Content::Raw(id)) = content {
            lock(self.seen).insert(found.path.clone(), (found.stat, id, now));
        }
        Ok(content)
    }

    /// True where a file has the bytes of an object now.
    fn has_bytes(&self, found: &Found, id: &ObjectId) -> bool {
        let format = self.places.repository.format;
        let hashed = open_no_link(&self.places.full(&found.path)).and_then(|file| {
            let metadata = file.metadata()?;
            if sparse::is_mostly_holes(&metadata) {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            ObjectId::of_blob(format, metadata.size(), file)
        });
        // What cannot be read, or changes meanwhile, is told of where it is kept.
        hashed.is_ok_and(|hashed| hashed == *id)
    }
}

fn entry(found: &Found, lane: Lane, content: Content) -> Entry {
    Entry {
        kind: found.kind,
        stat: found.stat,
        content,
        lane,
    }
}

fn left_out_notice(left_out: &[String]) -> Vec<Notice> {
    if left_out.is_empty() {
        return Vec::new();
    }
    let shown: Vec<_> = left_out.iter().take(5).map(String::as_str).collect();
    let more = match left_out.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    vec![Notice::new(
        "not_kept",
        format!(
            "too large or unreadable, so left alone and not kept in the vault: {}{more}",
            shown.join(", ")
        ),
    )]
}

/// The entry of a file or link that lies anywhere, its bytes kept; it belongs into a commit.
pub(crate) fn entry_of(places: &Places, full: &Path) -> Result<Option<Entry>> {
    let Some(found) = look(full, b"")? else {
        return Ok(None);
    };
    let content = match found.kind {
        Kind::Link => {
            let target = fs::read_link(full).tried("read", full)?;
            Content::Link(target.as_os_str().as_bytes().to_vec())
        }
        _ => Content::Raw(copy_raw(places, full, Naming::ByBytes)?),
    };
    Ok(Some(Entry {
        kind: found.kind,
        stat: found.stat,
        content,
        lane: Lane::Committed,
    }))
}

/// How a copy is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// By the id its bytes have as a blob: the same bytes are kept once, and git may know them.
    ByBytes,
    /// As the caller says: of a large file that git never hears of, it would cost more to hash the
    /// bytes than to copy them.
    As(ObjectId),
}

/// Copies a file's bytes into the vault; none where it is gone, `Unkept` where it may not be read.
fn keep_raw(places: &Places, full: &Path, naming: Naming) -> Result<Option<Content>> {
    // Tried a few times: a file may change while it is read.
    for _ in 0..5 {
        match copy_raw(places, full, naming) {
            Ok(id) => return Ok(Some(Content::Raw(id))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Ok(Some(Content::Unkept));
            }
            Err(error) if error.kind() == io::ErrorKind::Other => {}
            Err(error) => return Err(error.into()),
        }
    }
    let error = io::Error::other("it changes faster than it can be read");
    Err(FileError::new("keep", full, error).into())
}

fn copy_raw(places: &Places, full: &Path, naming: Naming) -> Result<ObjectId, FileError> {
    let format = places.repository.format;
    let source = open_no_link(full).tried("read", full)?;
    let before = source.metadata().tried("look at", full)?;
    if before.size() <= READ_WHOLE && naming == Naming::ByBytes {
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut &source, &mut bytes).tried("read", full)?;
        let id =
            ObjectId::of_blob(format, bytes.len() as u64, bytes.as_slice()).tried("hash", full)?;
        let target = raw_path(places, &id);
        // A power cut can leave a copy without its bytes.
        if !fs::metadata(&target).is_ok_and(|copy| copy.size() == bytes.len() as u64) {
            place(&target, |file| io::Write::write_all(file, &bytes))?;
        }
        return Ok(id);
    }
    let temporary = tempfile::NamedTempFile::new_in(places.vault.raw()).tried("copy", full)?;
    sparse::copy(&source, temporary.as_file()).tried("copy", full)?;
    let copied = temporary.as_file().metadata().tried("copy", full)?.size();
    let id = match naming {
        Naming::ByBytes => {
            let reader = File::open(temporary.path()).tried("read", temporary.path())?;
            ObjectId::of_blob(format, copied, reader)
        }
        Naming::As(id) => {
            let after = source.metadata().tried("look at", full)?;
            let is_same = copied == before.size()
                && (before.mtime(), before.mtime_nsec()) == (after.mtime(), after.mtime_nsec());
            is_same.then_some(id).ok_or_else(changed)
        }
    }
    .tried("hash", full)?;
    let target = raw_path(places, &id);
    reached(Point::Rename);
    temporary
        .persist(&target)
        .map_err(|error| FileError::new("keep", full, error.error))?;
    Ok(id)
}

fn changed() -> io::Error {
    io::Error::other("the file changed while it was copied")
}

/// Opens a file, never what a link points to.
fn open_no_link(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
}
