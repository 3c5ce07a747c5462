//! One folder: its names in the order of paths, with what `lstat` says of them.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::stat::{Stat, nanoseconds};
use crate::tree::manifest::Kind;

/// What a name of a listing stands for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Item {
    /// Something that is there.
    There(Kind, Stat),
    /// What is in a folder, which comes after the folder's neighbours that sort before `/`.
    Below,
    /// A folder that is not entered.
    Left,
    /// What is in it.
    LeftBelow,
}

/// A folder that is open, with its names.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) folder: OwnedFd,
    names: Vec<u8>,
    /// Where each name is, and what it stands for; the last one comes first.
    items: Vec<(u32, u32, Item)>,
}

/// What came of opening a folder.
#[derive(Debug)]
pub(super) enum Opened {
    Open(OwnedFd),
    /// It is gone, or no folder any more.
    Gone,
    /// It may not be read.
    Locked,
}

/// Opens a folder.
pub(super) fn open(parent: impl AsFd, name: impl Arg, flags: OFlags) -> io::Result<Opened> {
    let always = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat(parent, name, always | flags, Mode::empty()) {
        Ok(folder) => Ok(Opened::Open(folder)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(Opened::Gone),
        Err(Errno::ACCESS | Errno::PERM) => Ok(Opened::Locked),
        Err(error) => Err(error.into()),
    }
}

impl Listing {
    /// Reads a folder, with what `decide` says of the folders in it; none where it may not be read.
    pub(super) fn read(
        folder: OwnedFd,
        buffer: &mut Buffer,
        mut decide: impl FnMut(&[u8], Kind) -> Decision,
    ) -> io::Result<Option<Self>> {
        let mut names = Vec::new();
        let mut items = Vec::new();
        let mut is_locked = false;
        buffer.for_each_name(&folder, |name| {
            let bytes = name.to_bytes();
            let (kind, stat) = match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => (kind(&stat), fields(&stat)),
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
                // Names can be read, nothing more.
                Err(Errno::ACCESS | Errno::PERM) => {
                    is_locked = true;
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            let (at, length) = (short(names.len())?, short(bytes.len())?);
            names.extend_from_slice(bytes);
            let (there, below) = match decide(bytes, kind) {
                Decision::See => (Item::There(kind, stat), None),
                Decision::Enter => (Item::There(kind, stat), Some(Item::Below)),
                Decision::Leave => (Item::Left, Some(Item::LeftBelow)),
            };
            items.push((at, length, there));
            if let Some(below) = below {
                names.push(b'/');
                items.push((at, length + 1, below));
            }
            Ok(())
        })?;
        if is_locked {
            return Ok(None);
        }
        let name = |item: &(u32, u32, Item)| &names[item.0 as usize..][..item.1 as usize];
        items.sort_unstable_by(|a, b| name(b).cmp(name(a)));
        // A folder that changes while it is read may name something twice.
        items.dedup_by(|a, b| name(a) == name(b));
        Ok(Some(Self {
            folder,
            names,
            items,
        }))
    }

    /// The next name, without a slash.
    pub(super) fn next(&mut self) -> Option<(&[u8], Item)> {
        let (start, length, item) = self.items.pop()?;
        let name = &self.names[start as usize..][..length as usize];
        Some((name.strip_suffix(b"/").unwrap_or(name), item))
    }
}

/// What the walk does with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// It is compared.
    See,
    /// It is compared, and what is in it.
    Enter,
    /// It is left alone.
    Leave,
}

fn short(length: usize) -> Result<u32, Errno> {
    u32::try_from(length).map_err(|_| Errno::OVERFLOW)
}

pub(super) fn kind(stat: &rustix::fs::Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        FileType::RegularFile => Kind::File,
        _ => Kind::Special,
    }
}

#[allow(
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::unnecessary_cast,
    clippy::cast_lossless,
    reason = "the fields have another type on every platform, and the standard library casts so"
)]
pub(super) fn fields(stat: &rustix::fs::Stat) -> Stat {
    Stat {
        mode: stat.st_mode as u32 & 0o7777,
        size: stat.st_size as u64,
        modified_ns: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        changed_ns: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        inode: stat.st_ino as u64,
    }
}

/// Room for the names of a folder, used for one folder after the other.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    #[cfg(target_os = "linux")]
    room: Vec<u8>,
}

impl Buffer {
    /// Calls `each` with all names of a folder.
    #[cfg(target_os = "linux")]
    fn for_each_name(
        &mut self,
        folder: &OwnedFd,
        mut each: impl FnMut(&CStr) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        const ROOM: usize = 32 * 1024;
        self.room.reserve(ROOM);
        let mut listing = rustix::fs::RawDir::new(folder, self.room.spare_capacity_mut());
        while let Some(entry) = listing.next() {
            match entry {
                Ok(entry) if is_name(entry.file_name()) => each(entry.file_name())?,
                Ok(_) => {}
                // The folder was removed meanwhile.
                Err(Errno::NOENT) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Calls `each` with all names of a folder.
    #[cfg(not(target_os = "linux"))]
    #[expect(
        clippy::unused_self,
        reason = "the same call as where the room is used"
    )]
    fn for_each_name(
        &mut self,
        folder: &OwnedFd,
        mut each: impl FnMut(&CStr) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        for entry in rustix::fs::Dir::read_from(folder)? {
            let entry = entry?;
            if is_name(entry.file_name()) {
                each(entry.file_name())?;
            }
        }
        Ok(())
    }
}

fn is_name(name: &CStr) -> bool {
    !matches!(name.to_bytes(), b"." | b"..")
}
