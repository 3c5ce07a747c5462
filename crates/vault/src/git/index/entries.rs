//! The entries of an index, read and written again.

use std::borrow::Cow;

use super::{Staged, StagedStat};
use crate::git::access::Reason;
use crate::git::object_id::{ObjectFormat, ObjectId};

/// Bytes before the first entry.
const HEADER: usize = 12;
/// The stat fields, the mode among them.
const FIELDS: usize = 40;
/// Where the mode is among them.
const MODE: usize = 24;
const EXTENDED: u16 = 0x4000;
const NAME: u16 = 0x0fff;

/// An index, read.
pub(super) struct Index<'a> {
    pub(super) version: u32,
    pub(super) entries: Vec<Entry<'a>>,
    /// The bytes after the entries, without the checksum.
    pub(super) extensions: &'a [u8],
}

/// One entry.
pub(super) struct Entry<'a> {
    /// Everything before the path.
    head: &'a [u8],
    pub(super) path: Cow<'a, [u8]>,
    pub(super) mode: u32,
    pub(super) id: ObjectId,
    pub(super) flags: Flags,
}

/// What else an index says of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Flags {
    basic: u16,
    extended: u16,
}

impl Flags {
    /// Which of several versions is right is not decided.
    pub(crate) fn is_conflict(self) -> bool {
        self.basic & 0x3000 != 0
    }

    /// Git does not look for edits of it.
    pub(crate) fn is_assumed(self) -> bool {
        self.basic & 0x8000 != 0
    }

    /// It is not meant to be in the work tree.
    pub(crate) fn is_skipped(self) -> bool {
        self.extended & 0x4000 != 0
    }

    /// It says nothing but what the path is.
    pub(crate) fn is_plain(self) -> bool {
        self.basic & !NAME == 0 && self.extended == 0
    }

    /// It is only announced (`git add -N`).
    pub(crate) fn is_intended(self) -> bool {
        self.extended & 0x2000 != 0
    }
}

impl<'a> Index<'a> {
    /// Reads an index; none where it is cut off or of a version that is not known.
    pub(super) fn parse(bytes: &'a [u8], format: ObjectFormat) -> Option<Self> {
        let body = bytes.get(..bytes.len().checked_sub(format.id_length())?)?;
        let version = number(body, 4)?;
        if !body.starts_with(b"DIRC") || !(2..=4).contains(&version) {
            return None;
        }
        let mut entries: Vec<Entry<'a>> = Vec::new();
        let mut at = HEADER;
        for _ in 0..number(body, 8)? {
            let before = entries.last().map_or(&[][..], |entry| &entry.path);
            let (entry, next) = Entry::parse(body, at, version, format, before)?;
            entries.push(entry);
            at = next;
        }
        Some(Self {
            version,
            entries,
            extensions: body.get(at..)?,
        })
    }
}

impl<'a> Entry<'a> {
    /// Reads the entry at a place, and where the next one begins.
    fn parse(
        body: &'a [u8],
        at: usize,
        version: u32,
        format: ObjectFormat,
        before: &[u8],
    ) -> Option<(Self, usize)> {
        let flags_at = at + FIELDS + format.id_length();
        let basic = short(body, flags_at)?;
        let (extended, name) = if basic & EXTENDED == 0 {
            (0, flags_at + 2)
        } else {
            (short(body, flags_at + 2)?, flags_at + 4)
        };
        let zero_after = |at: usize| body.get(at..)?.iter().position(|it| *it == 0);
        let (path, next) = if version == 4 {
            let (cut, begins) = varint(body, name)?;
            let end = begins + zero_after(begins)?;
            let kept = &before[..before.len().checked_sub(cut)?];
            (Cow::Owned([kept, &body[begins..end]].concat()), end + 1)
        } else {
            let length = match basic & NAME {
                NAME => zero_after(name)?,
                length => usize::from(length),
            };
            let path = body.get(name..name + length)?;
            (Cow::Borrowed(path), at + padded(name + length - at))
        };
        let entry = Self {
            head: body.get(at..name)?,
            path,
            mode: number(body, at + MODE)?,
            id: ObjectId::from_bytes(body.get(at + FIELDS..flags_at)?)?,
            flags: Flags { basic, extended },
        };
        Some((entry, next))
    }

    pub(super) fn stat(&self) -> Option<StagedStat> {
        let pair = |at: usize| Some((number(self.head, at)?, number(self.head, at + 4)?));
        Some(StagedStat {
            changed: pair(0)?,
            modified: pair(8)?,
            place: pair(16)?,
            owner: pair(MODE + 4)?,
            size: number(self.head, MODE + 12)?,
        })
    }
}

/// Writes an index.
pub(super) struct Writer {
    bytes: Vec<u8>,
    version: u32,
    format: ObjectFormat,
    count: u32,
    last: Vec<u8>,
}

impl Writer {
    pub(super) fn new(version: u32, format: ObjectFormat, room: usize) -> Self {
        let mut bytes = Vec::with_capacity(room + room / 16 + 1024);
        bytes.extend_from_slice(b"DIRC");
        bytes.extend_from_slice(&version.to_be_bytes());
        bytes.extend_from_slice(&[0; 4]);
        Self {
            bytes,
            version,
            format,
            count: 0,
            last: Vec::new(),
        }
    }

    pub(super) fn copy(&mut self, entry: &Entry<'_>) -> Result<(), Reason> {
        self.write(entry.head, &entry.path)
    }

    pub(super) fn add(&mut self, path: &[u8], staged: &Staged) -> Result<(), Reason> {
        let StagedStat {
            changed,
            modified,
            place,
            owner,
            size,
        } = staged.stat;
        let mut head = Vec::with_capacity(FIELDS + 34);
        for field in [
            changed.0,
            changed.1,
            modified.0,
            modified.1,
            place.0,
            place.1,
            staged.mode,
            owner.0,
            owner.1,
            size,
        ] {
            head.extend_from_slice(&field.to_be_bytes());
        }
        head.extend_from_slice(staged.id.as_bytes());
        let length = u16::try_from(path.len()).unwrap_or(NAME).min(NAME);
        head.extend_from_slice(&length.to_be_bytes());
        self.write(&head, path)
    }

    fn write(&mut self, head: &[u8], path: &[u8]) -> Result<(), Reason> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(head);
        if self.version == 4 {
            let same = self.last.iter().zip(path).take_while(|(a, b)| a == b);
            let same = same.count();
            write_varint(&mut self.bytes, self.last.len() - same);
            self.bytes.extend_from_slice(&path[same..]);
            self.bytes.push(0);
            self.last.clear();
            self.last.extend_from_slice(path);
        } else {
            self.bytes.extend_from_slice(path);
            let length = padded(self.bytes.len() - start);
            self.bytes.resize(start + length, 0);
        }
        self.count = self.count.checked_add(1).ok_or(Reason::OddIndex)?;
        Ok(())
    }

    /// Adds the known trees and the checksum.
    pub(super) fn finish(mut self, trees: &[u8]) -> Result<Vec<u8>, Reason> {
        self.bytes[8..HEADER].copy_from_slice(&self.count.to_be_bytes());
        self.bytes.extend_from_slice(b"TREE");
        let length = u32::try_from(trees.len()).map_err(|_| Reason::OddIndex)?;
        self.bytes.extend_from_slice(&length.to_be_bytes());
        self.bytes.extend_from_slice(trees);
        let checksum = ObjectId::checksum(self.format, &self.bytes);
        self.bytes.extend_from_slice(checksum.as_bytes());
        Ok(self.bytes)
    }
}

/// The length of an entry with its padding: at least one zero, up to a multiple of eight.
fn padded(length: usize) -> usize {
    (length + 8) & !7
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*field))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    let field = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_be_bytes(*field))
}

/// A number of any length, and where the bytes after it begin.
fn varint(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        let shifted = value.checked_add(1)?.checked_mul(128)?;
        value = shifted.checked_add(usize::from(byte & 0x7f))?;
    }
    Some((value, at + 1))
}

fn write_varint(bytes: &mut Vec<u8>, mut value: usize) {
    let mut digits = vec![low_bits(value)];
    while value > 0x7f {
        value = (value >> 7) - 1;
        digits.push(low_bits(value) | 0x80);
    }
    digits.reverse();
    bytes.extend_from_slice(&digits);
}

fn low_bits(value: usize) -> u8 {
    u8::try_from(value & 0x7f).unwrap_or_default()
}
