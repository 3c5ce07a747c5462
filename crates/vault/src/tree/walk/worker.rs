//! One thread of a walk: takes a folder, goes through it in the order of paths beside the
//! manifest, and leaves folders to others where they wait.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::OFlags;

use super::listing::{Buffer, Decision, Item, Listing, Opened, open};
use super::queue::Queue;
use super::{Walk, WalkRoot};
use crate::tree::manifest::Kind;
use crate::tree::manifest::cursor::Cursor;
use ralph_base::files::FileError;

/// Up to this many names, one thread is done before another has started.
const FEW: usize = 1000;

/// Folders one thread holds open, one in the other. Deeper ones are opened again from the top.
const MOST_OPEN: usize = 32;

/// One thread of a walk.
pub(super) struct Worker<'a> {
    root: WalkRoot<'a>,
    queue: &'a Queue,
    top: Opened,
    buffer: Buffer,
    part: Walk,
    /// How many names it has read.
    count: usize,
    is_alone: bool,
}

impl<'a> Worker<'a> {
    /// Opens the top.
    pub(super) fn open(root: WalkRoot<'a>, queue: &'a Queue) -> Result<Self, FileError> {
        Ok(Self {
            root,
            queue,
            top: open_top(&root)?,
            buffer: Buffer::default(),
            part: Walk::default(),
            count: 0,
            is_alone: true,
        })
    }

    /// Begins with a folder, and leaves to others what is more than a few names.
    pub(super) fn begin(&mut self, start: &[u8]) -> Result<Walk, FileError> {
        self.walk(start)?;
        Ok(std::mem::take(&mut self.part))
    }

    /// Walks what waits, until there is no more.
    pub(super) fn help(mut self) -> Result<Walk, FileError> {
        self.is_alone = false;
        while let Some(folder) = self.queue.take() {
            let walked = self.walk(&folder);
            if walked.is_err() {
                self.queue.fail();
            }
            self.queue.done();
            walked?;
        }
        Ok(self.part)
    }

    /// Walks a folder.
    fn walk(&mut self, folder: &[u8]) -> Result<(), FileError> {
        let mut suspects = std::mem::take(&mut self.part.suspects);
        let base = self.root.base;
        let mut cursor = Cursor::below(base, folder, &mut suspects);
        let mut path = folder.to_vec();
        let mut open_folders: Vec<(usize, Listing)> = Vec::new();
        let opened = self.open_from_top(folder)?;
        open_folders.extend(self.list(&path, opened, &mut cursor)?);
        loop {
            let depth = open_folders.len();
            let Some((length, listing)) = open_folders.last_mut() else {
                break;
            };
            path.truncate(*length);
            let Some((name, item)) = listing.next() else {
                open_folders.pop();
                continue;
            };
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name);
            match item {
                Item::There(kind, stat) => cursor.see(&path, kind, stat),
                Item::Left => cursor.pass(&path),
                Item::LeftBelow => cursor.pass_below(&path),
                Item::Below if self.is_left_to_others(depth) => {
                    cursor.pass_below(&path);
                    self.queue.give(path.clone());
                }
                Item::Below => {
                    let name = path.rsplit(|byte| *byte == b'/').next();
                    let opened = open(&listing.folder, name.unwrap_or_default(), OFlags::NOFOLLOW)
                        .map_err(|error| self.failed(&path, error))?;
                    open_folders.extend(self.list(&path, opened, &mut cursor)?);
                }
            }
        }
        cursor.finish();
        self.part.suspects = suspects;
        Ok(())
    }

    fn is_left_to_others(&self, open_folders: usize) -> bool {
        open_folders >= MOST_OPEN
            || if self.is_alone {
                self.count >= FEW
            } else {
                self.queue.is_wanted()
            }
    }

    /// Lists a folder; none where there is nothing to see.
    fn list(
        &mut self,
        path: &[u8],
        opened: Opened,
        cursor: &mut Cursor,
    ) -> Result<Option<(usize, Listing)>, FileError> {
        let listing = match opened {
            Opened::Gone => return Ok(None),
            Opened::Locked => None,
            Opened::Open(folder) => self.read(path, folder)?,
        };
        if listing.is_none() {
            // Without its top nothing of the tree can be compared.
            if path.is_empty() {
                return Err(self.failed(path, io::ErrorKind::PermissionDenied.into()));
            }
            self.part.unreadable.push(path.to_vec());
            cursor.pass_below(path);
        }
        Ok(listing.map(|listing| (path.len(), listing)))
    }

    fn read(&mut self, path: &[u8], folder: OwnedFd) -> Result<Option<Listing>, FileError> {
        let (root, part, count) = (self.root, &mut self.part, &mut self.count);
        let decide = |name: &[u8], kind: Kind| {
            *count += 1;
            if name == b".git" {
                if path.is_empty() {
                    return Decision::Leave;
                }
                part.repositories.push(path.to_vec());
            }
            if kind != Kind::Folder {
                return Decision::See;
            }
            let inside = match path {
                [] => name.to_vec(),
                _ => [path, b"/", name].concat(),
            };
            if (root.enter)(&inside, &root.full(&inside)) {
                return Decision::Enter;
            }
            part.skipped.push(inside);
            Decision::Leave
        };
        Listing::read(folder, &mut self.buffer, decide).map_err(|error| self.failed(path, error))
    }

    /// Opens a folder by its path, one name after the other: none of them may be a link.
    fn open_from_top(&self, path: &[u8]) -> Result<Opened, FileError> {
        let names = self.root.below(path).split(|byte| *byte == b'/');
        let top = match &self.top {
            Opened::Open(top) => top,
            Opened::Gone => return Ok(Opened::Gone),
            Opened::Locked => return Ok(Opened::Locked),
        };
        let mut folder =
            open(top, ".", OFlags::NOFOLLOW).map_err(|error| self.failed(path, error))?;
        for name in names.filter(|name| !name.is_empty()) {
            let Opened::Open(parent) = folder else {
                break;
            };
            folder =
                open(parent, name, OFlags::NOFOLLOW).map_err(|error| self.failed(path, error))?;
        }
        Ok(folder)
    }

    fn failed(&self, path: &[u8], error: io::Error) -> FileError {
        FileError::new("list", &self.root.full(path), error)
    }
}

/// Opens the folder that is walked; that of the whole tree must be there.
fn open_top(root: &WalkRoot) -> Result<Opened, FileError> {
    let failed = |error| FileError::new("list", root.folder, error);
    match open(rustix::fs::CWD, root.folder, OFlags::empty()).map_err(failed)? {
        Opened::Gone if root.name.is_empty() => Err(failed(io::ErrorKind::NotFound.into())),
        opened => Ok(opened),
    }
}
