//! One thread of a walk: lists folders one in the other, and leaves some of them to other threads.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Mutex;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use rustix::path::Arg;

use super::{MOST_THREADS, Walk, WalkRoot};
use crate::stat::{Stat, nanoseconds};
use crate::tree::lock;
use crate::tree::manifest::{Found, Kind};
use ralph_base::files::FileError;

/// Up to this many names, one thread is done before another has started.
const FEW: usize = 1000;

/// Folders one thread holds open, one in the other. Deeper ones are opened again from the top.
const MOST_OPEN: usize = 32;

/// One thread of a walk.
pub(super) struct Worker<'a> {
    root: WalkRoot<'a>,
    /// Folders that wait to be walked, by whichever thread is free.
    waiting: &'a Mutex<Vec<Vec<u8>>>,
    top: Opened,
    part: Walk,
    /// Paths of the manifest that are there.
    seen: Vec<&'a [u8]>,
    names: usize,
}

/// What came of opening a folder.
#[derive(Debug)]
enum Opened {
    Open(OwnedFd),
    /// It is gone, or no folder any more.
    Gone,
    /// It may not be read.
    Locked,
}

impl<'a> Worker<'a> {
    /// Opens the folder that is walked; that of the whole tree must be there.
    pub(super) fn open(
        root: WalkRoot<'a>,
        waiting: &'a Mutex<Vec<Vec<u8>>>,
    ) -> Result<Self, FileError> {
        let failed = |error| FileError::new("list", root.folder, error);
        let top = match open(rustix::fs::CWD, root.folder, OFlags::empty()).map_err(failed)? {
            Opened::Gone if root.name.is_empty() => {
                return Err(failed(io::ErrorKind::NotFound.into()));
            }
            opened => opened,
        };
        Ok(Self {
            root,
            waiting,
            top,
            part: Walk::default(),
            seen: Vec::new(),
            names: 0,
        })
    }

    /// Walks one folder after the other until none waits; gives what was found, and the paths of the
    /// manifest that are there.
    pub(super) fn work(mut self) -> Result<(Walk, Vec<&'a [u8]>), FileError> {
        loop {
            let next = lock(self.waiting).pop();
            let Some(folder) = next else {
                return Ok((self.part, self.seen));
            };
            let opened = self.open_from_top(&folder)?;
            self.walk(&folder, opened, 1)?;
        }
    }

    /// Begins with a folder, and leaves what is more than a few names to others.
    pub(super) fn begin(&mut self, start: &[u8]) -> Result<(), FileError> {
        let opened = self.open_from_top(start)?;
        self.walk(start, opened, 1)
    }

    fn walk(&mut self, path: &[u8], opened: Opened, depth: usize) -> Result<(), FileError> {
        let failed = |error: Errno| self.failed(path, error.into());
        let mut listing = match opened {
            Opened::Gone => return Ok(()),
            Opened::Locked => return self.note_unreadable(path),
            Opened::Open(folder) => Dir::new(folder).map_err(failed)?,
        };
        let mut folders = Vec::new();
        while let Some(entry) = listing.read() {
            let entry = match entry {
                Ok(entry) => entry,
                // The folder was removed meanwhile.
                Err(Errno::NOENT) => break,
                Err(error) => return Err(self.failed(path, error.into())),
            };
            let name = entry.file_name();
            let is_git = name.to_bytes() == b".git";
            if matches!(name.to_bytes(), b"." | b"..") || is_git && path.is_empty() {
                continue;
            }
            let folder = listing
                .fd()
                .map_err(|error| self.failed(path, error.into()))?;
            let found = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => found(join(path, name.to_bytes()), &stat),
                Err(Errno::NOENT | Errno::NOTDIR) => continue,
                // Names can be read, nothing more.
                Err(Errno::ACCESS | Errno::PERM) => return self.note_unreadable(path),
                Err(error) => return Err(self.failed(path, error.into())),
            };
            self.names += 1;
            if is_git {
                self.part.repositories.push(path.to_vec());
            }
            if found.kind == Kind::Folder {
                if !(self.root.enter)(&found.path, &self.root.full(&found.path)) {
                    self.part.skipped.push(found.path);
                    continue;
                }
                folders.push(found.path.clone());
            }
            self.see(found);
        }
        for inside in folders {
            if depth >= MOST_OPEN || self.is_shared() {
                lock(self.waiting).push(inside);
                continue;
            }
            let folder = listing
                .fd()
                .map_err(|error| self.failed(path, error.into()))?;
            let opened = open(folder, last_name(&inside), OFlags::NOFOLLOW)
                .map_err(|error| self.failed(&inside, error))?;
            self.walk(&inside, opened, depth + 1)?;
        }
        Ok(())
    }

    /// True where there is enough for several threads, and they would soon run out of it.
    fn is_shared(&self) -> bool {
        self.names >= FEW && lock(self.waiting).len() < 4 * MOST_THREADS
    }

    fn see(&mut self, found: Found) {
        let base = self.root.base;
        let suspects = &mut self.part.suspects;
        match base.entries.get_key_value(&found.path) {
            None => suspects.created.push(found),
            Some((path, entry)) => {
                self.seen.push(path);
                if base.may_differ(entry, &found) {
                    suspects.touched.push(found);
                }
            }
        }
    }

    fn note_unreadable(&mut self, path: &[u8]) -> Result<(), FileError> {
        // Nothing can be said of a tree whose top may not be read.
        if path.is_empty() {
            return Err(self.failed(path, io::ErrorKind::PermissionDenied.into()));
        }
        self.part.unreadable.push(path.to_vec());
        Ok(())
    }

    /// Opens a folder by its path, one name after the other: none of them may be a link.
    fn open_from_top(&self, path: &[u8]) -> Result<Opened, FileError> {
        let names = self.root.below(path).split(|byte| *byte == b'/');
        let top = match &self.top {
            Opened::Open(top) => top,
            Opened::Gone => return Ok(Opened::Gone),
            Opened::Locked => return Ok(Opened::Locked),
        };
        let failed = |error| self.failed(path, error);
        let mut folder = open(top, ".", OFlags::NOFOLLOW).map_err(failed)?;
        for name in names.filter(|name| !name.is_empty()) {
            let Opened::Open(parent) = folder else {
                break;
            };
            folder = open(parent, name, OFlags::NOFOLLOW).map_err(failed)?;
        }
        Ok(folder)
    }

    fn failed(&self, path: &[u8], error: io::Error) -> FileError {
        FileError::new("list", &self.root.full(path), error)
    }
}

fn open(parent: impl AsFd, name: impl Arg, flags: OFlags) -> io::Result<Opened> {
    let always = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat(parent, name, always | flags, Mode::empty()) {
        Ok(folder) => Ok(Opened::Open(folder)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(Opened::Gone),
        Err(Errno::ACCESS | Errno::PERM) => Ok(Opened::Locked),
        Err(error) => Err(error.into()),
    }
}

fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    match folder {
        [] => name.to_vec(),
        _ => [folder, b"/", name].concat(),
    }
}

fn last_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

#[allow(
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::unnecessary_cast,
    clippy::cast_lossless,
    reason = "the fields have another type on every platform, and the standard library casts so"
)]
pub(super) fn found(path: Vec<u8>, stat: &rustix::fs::Stat) -> Found {
    Found {
        path,
        kind: match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            FileType::RegularFile => Kind::File,
            _ => Kind::Special,
        },
        stat: Stat {
            mode: stat.st_mode as u32 & 0o7777,
            size: stat.st_size as u64,
            modified_ns: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed_ns: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            inode: stat.st_ino as u64,
        },
    }
}
