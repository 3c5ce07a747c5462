//! A place in a manifest that moves along with a walk. Both are in the order of whole paths, so
//! that one pass over them shows what differs.

use std::cmp::Ordering;
use std::ops::Bound;

use imbl::ordmap::RangedIter;

use super::{Entry, Kind, Manifest, Suspects};
use crate::stat::Stat;
use crate::tree::manifest::Found;

/// What comes after a slash in the order of bytes: the first path that is not below a folder.
const AFTER_SLASH: u8 = b'/' + 1;

/// A place in the part of a manifest that is below one folder.
pub(crate) struct Cursor<'a> {
    manifest: &'a Manifest,
    /// Where the part ends; none where it is all of the manifest.
    end: Option<Vec<u8>>,
    rest: RangedIter<'a, Vec<u8>, Entry, imbl::shared_ptr::DefaultSharedPtr>,
    next: Option<(&'a Vec<u8>, &'a Entry)>,
    suspects: &'a mut Suspects,
}

impl<'a> Cursor<'a> {
    /// Before the first path below a folder; an empty name is the top.
    pub(crate) fn below(manifest: &'a Manifest, folder: &[u8], suspects: &'a mut Suspects) -> Self {
        let (start, end) = match folder {
            [] => (Vec::new(), None),
            _ => (with(folder, b'/'), Some(with(folder, AFTER_SLASH))),
        };
        let mut rest = range(manifest, &start, end.as_deref());
        Self {
            next: rest.next(),
            manifest,
            end,
            rest,
            suspects,
        }
    }

    /// A path is there. All paths before it that were not named are gone.
    pub(crate) fn see(&mut self, path: &[u8], kind: Kind, stat: Stat) {
        let found = || Found {
            path: path.to_vec(),
            kind,
            stat,
        };
        match self.advance_to(path) {
            None => self.suspects.created.push(found()),
            Some(entry) if self.manifest.may_differ(entry, kind, &stat) => {
                self.suspects.touched.push(found());
            }
            Some(_) => {}
        }
    }

    /// A path is there, and nothing more is asked of it.
    pub(crate) fn pass(&mut self, path: &[u8]) {
        self.advance_to(path);
    }

    /// Passes over everything below a folder.
    pub(crate) fn pass_below(&mut self, folder: &[u8]) {
        let start = with(folder, b'/');
        self.lose_before(&start);
        if self.next.is_some_and(|(path, _)| path.starts_with(&start)) {
            let after = with(folder, AFTER_SLASH);
            self.rest = range(self.manifest, &after, self.end.as_deref());
            self.next = self.rest.next();
        }
    }

    /// The walk is over: what was not named is gone.
    pub(crate) fn finish(self) {
        let rest = self.next.into_iter().chain(self.rest);
        self.suspects
            .gone
            .extend(rest.map(|(path, _)| path.clone()));
    }

    /// Goes behind a path and says what the manifest has there.
    fn advance_to(&mut self, path: &[u8]) -> Option<&'a Entry> {
        self.lose_before(path);
        let (_, entry) = self.next.filter(|(next, _)| next.as_slice() == path)?;
        self.next = self.rest.next();
        Some(entry)
    }

    fn lose_before(&mut self, path: &[u8]) {
        while let Some((next, _)) = self.next
            && next.as_slice().cmp(path) == Ordering::Less
        {
            self.suspects.gone.push(next.clone());
            self.next = self.rest.next();
        }
    }
}

fn range<'a>(
    manifest: &'a Manifest,
    start: &[u8],
    end: Option<&[u8]>,
) -> RangedIter<'a, Vec<u8>, Entry, imbl::shared_ptr::DefaultSharedPtr> {
    let end = end.map_or(Bound::Unbounded, Bound::Excluded);
    manifest
        .entries
        .range::<_, [u8]>((Bound::Included(start), end))
}

fn with(folder: &[u8], byte: u8) -> Vec<u8> {
    [folder, &[byte]].concat()
}
