//! Keeping bytes: suspects of a walk become entries of a manifest, and every byte that git does not
//! already hold is written into the vault: as an object of its store where it belongs into a commit
//! (a commit needs that object anyway), as a plain copy otherwise.

pub(crate) mod large;
pub(crate) mod small;

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use large::LargeCopies;

use super::guarding::Lanes;
use super::room;
use crate::error::{Notice, Result};
use crate::git::object_id::{ObjectFormat, ObjectId};
use crate::paths::{list_some, show};
use crate::repo::Places;
use crate::repo::objects::raw_path;
use crate::stat::now_ns;
use crate::tree::manifest::{Changes, Content, Entry, Found, Kind, Lane, Manifest, Suspects};
use crate::tree::scanned::{CleanCheck, FirstIndex};
use crate::tree::walk::stat_path;
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
    pub base: &'a Manifest,
    /// The index of the first scan of a run. Later scans have a checkpoint to compare with.
    pub index: Option<&'a FirstIndex>,
    pub lanes: Lanes,
    pub large_copies: &'a mut LargeCopies,
    /// Bytes that must stay free in the vault.
    pub least_free: u64,
}

impl Keeper<'_> {
    /// Reads and keeps what may have changed.
    pub(crate) fn keep(
        &mut self,
        suspects: Suspects,
    ) -> Result<(Manifest, Changes, Option<Notice>)> {
        room::check(
            self.places.vault.folder(),
            self.needed(&suspects),
            self.least_free,
        )?;
        let mut manifest = self.base.clone();
        let mut changes = Changes::default();
        let mut left_out = Vec::new();
        let mut budget = ALL_IGNORED;
        let objects = self.keep_small(&suspects)?;
        for found in suspects.touched.into_iter().chain(suspects.created) {
            let old = self.base.entries.get(&found.path);
            let lane = self.lane_of(&found, old);
            let content = match found.kind {
                Kind::Folder | Kind::Special => Some(Content::Nothing),
                Kind::Link => link_target(&self.places.full(&found.path))?,
                Kind::File => match objects.get(&found.path) {
                    Some(kept) => kept.clone(),
                    None => self.file_content(&found, lane, old, &mut budget)?,
                },
            };
            let entry = content.map(|content| Entry {
                kind: found.kind,
                stat: found.stat,
                content,
                lane,
            });
            let is_changed = changes.add(&found.path, old, entry.as_ref());
            let Some(entry) = entry else {
                manifest.entries.remove(&found.path);
                continue;
            };
            if is_changed
                && entry.content == Content::Unkept
                && (old.is_none() || entry.is_visible())
            {
                left_out.push(show(&found.path));
            }
            manifest.entries.insert(found.path, entry);
        }
        for path in suspects.gone {
            manifest.entries.remove(&path);
            changes.removed.push(path);
        }
        Ok((manifest, changes, left_out_notice(&left_out)))
    }

    /// The lane of a path; that of its entry in the base where nothing says otherwise.
    fn lane_of(&self, found: &Found, old: Option<&Entry>) -> Lane {
        let before = old.map_or(Lane::Ignored, |old| old.lane);
        match found.kind {
            Kind::File | Kind::Link => self.lanes.get(&found.path).copied().unwrap_or(before),
            Kind::Folder | Kind::Special => Lane::Ignored,
        }
    }

    /// How a file stands to the object that the index names.
    fn check_clean(&self, found: &Found) -> CleanCheck {
        self.index
            .map_or(CleanCheck::Dirty, |index| index.check_clean(found))
    }

    /// How many bytes will be copied; a file that kept its size may turn out to be the same.
    fn needed(&self, suspects: &Suspects) -> u64 {
        let mut ignored = 0;
        let mut sum: u64 = 0;
        for found in suspects.created.iter().chain(&suspects.touched) {
            let old = self.base.entries.get(&found.path);
            let size = found.stat.size;
            let has_same_size =
                old.is_some_and(|old| old.kind == Kind::File && old.stat.size == size);
            if found.kind != Kind::File
                || has_same_size
                || self.check_clean(found) != CleanCheck::Dirty
            {
                continue;
            }
            if self.lane_of(found, old) == Lane::Ignored {
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

    /// Where the bytes of a file are, once they are kept; none where it is gone by now.
    fn file_content(
        &mut self,
        found: &Found,
        lane: Lane,
        old: Option<&Entry>,
        budget: &mut u64,
    ) -> Result<Option<Content>> {
        let check = match old {
            // A file that was an object mostly still has the same bytes.
            Some(old)
                if old.stat.size == found.stat.size
                    && let Content::Git(id) = old.content =>
            {
                CleanCheck::NeedsHash(id)
            }
            _ => self.check_clean(found),
        };
        let full = self.places.full(&found.path);
        match check {
            CleanCheck::Clean(id) => return Ok(Some(Content::Git(id))),
            CleanCheck::NeedsHash(id) if has_bytes(&full, self.places.repository.format, id) => {
                return Ok(Some(Content::Git(id)));
            }
            CleanCheck::NeedsHash(_) | CleanCheck::Dirty => {}
        }
        if lane == Lane::Ignored {
            if found.stat.size > LARGEST_IGNORED || found.stat.size > *budget {
                return Ok(Some(Content::Unkept));
            }
            *budget -= found.stat.size;
        }
        if found.stat.size <= READ_WHOLE {
            return keep_raw(self.places, &full, Naming::ByBytes);
        }
        if let Some(id) = self.large_copies.find(self.places, found, old) {
            return Ok(Some(Content::Raw(id)));
        }
        if lane != Lane::Kept {
            return keep_raw(self.places, &full, Naming::ByBytes);
        }
        let now = now_ns();
        let name = large::free_name(self.places, found);
        let content = keep_raw(self.places, &full, Naming::As(name))?;
        if let Some(Content::Raw(id)) = content {
            self.large_copies.insert(found, id, now);
        }
        Ok(content)
    }
}

/// True where a file has the bytes of an object now. What cannot be read, or changes meanwhile, is
/// reported where it is kept.
fn has_bytes(full: &Path, format: ObjectFormat, id: ObjectId) -> bool {
    let hashed = open_no_link(full).and_then(|file| {
        let metadata = file.metadata()?;
        if sparse::is_mostly_holes(&metadata) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        ObjectId::of_blob(format, metadata.size(), file)
    });
    hashed.is_ok_and(|hashed| hashed == id)
}

/// The target of a link; none where it is gone, or no link any more.
fn link_target(full: &Path) -> Result<Option<Content>> {
    match fs::read_link(full) {
        Ok(target) => Ok(Some(Content::Link(target.into_os_string().into_vec()))),
        Err(error) if absent(&error) || error.kind() == io::ErrorKind::InvalidInput => Ok(None),
        Err(error) => Err(error).tried("read", full).map_err(Into::into),
    }
}

fn left_out_notice(left_out: &[String]) -> Option<Notice> {
    let named = list_some(left_out, 5)?;
    Some(Notice::new(
        "not_kept",
        format!("too large or unreadable, so not touched and not kept in the vault: {named}"),
    ))
}

/// The entry of a file or link that lies anywhere, its bytes kept; it belongs into a commit.
pub(crate) fn entry_of(places: &Places, full: &Path) -> Result<Option<Entry>> {
    let Some(found) = stat_path(full, b"")? else {
        return Ok(None);
    };
    let content = match found.kind {
        Kind::Link => link_target(full)?,
        _ => Some(Content::Raw(copy_raw(places, full, Naming::ByBytes)?)),
    };
    Ok(content.map(|content| Entry {
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
        let id = ObjectId::of_object(format, "blob", &bytes);
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
            let changed = || io::Error::other("the file changed while it was copied");
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

/// Opens a file, never what a link points to.
fn open_no_link(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
}
