//! The entries of an index, read one after the other and written again.

use super::{Staged, StagedStat};
use crate::git::object_id::{ObjectFormat, ObjectId};

/// Bytes before the first entry.
const HEADER: usize = 12;
/// The stat fields, the mode among them.
const FIELDS: usize = 40;
/// Where the mode is among them.
const MODE: usize = 24;
const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
const NAME: u16 = 0x0fff;
const INTENT_TO_ADD: u16 = 0x2000;
const ASSUMED: u16 = 0x8000;
const SKIPPED: u16 = 0x4000;

/// One entry as it is in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawEntry<'a> {
    /// Everything before the path.
    head: &'a [u8],
    pub(super) mode: u32,
    pub(super) id: ObjectId,
}

impl RawEntry<'_> {
    /// The stat fields; none where edits of the file are not looked for, or it is not meant to be
    /// there.
    pub(super) fn looked_at(&self) -> Option<StagedStat> {
        let flags_at = FIELDS + self.id.as_bytes().len();
        let flags = short(self.head, flags_at)?;
        let is_skipped = flags & EXTENDED != 0 && short(self.head, flags_at + 2)? & SKIPPED != 0;
        if is_skipped || flags & ASSUMED != 0 {
            return None;
        }
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

/// All entries of an index, one after the other.
pub(super) struct Entries<'a> {
    bytes: &'a [u8],
    version: u32,
    id_length: usize,
    left: u32,
    at: usize,
    path: Vec<u8>,
}

impl<'a> Entries<'a> {
    pub(super) fn new(bytes: &'a [u8], format: ObjectFormat) -> Option<Self> {
        let id_length = format.zero().as_bytes().len();
        if bytes.len() < HEADER + id_length || !bytes.starts_with(b"DIRC") {
            return None;
        }
        let version = number(bytes, 4)?;
        (2..=4).contains(&version).then_some(Self {
            bytes,
            version,
            id_length,
            left: number(bytes, 8)?,
            at: HEADER,
            path: Vec::new(),
        })
    }

    pub(super) fn version(&self) -> u32 {
        self.version
    }

    /// The bytes after the entries, without the checksum.
    pub(super) fn extensions(&self) -> Option<&'a [u8]> {
        let mut all = Self {
            path: Vec::new(),
            ..*self
        };
        while all.left > 0 {
            all.pass()?;
        }
        self.bytes.get(all.at..self.bytes.len() - self.id_length)
    }

    /// Reads where the next entry ends, and its path; gives where its path begins.
    fn pass(&mut self) -> Option<usize> {
        let start = self.at;
        let flags_at = start + FIELDS + self.id_length;
        let flags = short(self.bytes, flags_at)?;
        let mut name = flags_at + 2;
        if flags & EXTENDED != 0 {
            name += 2;
        }
        if self.version == 4 {
            let (cut, begins) = varint(self.bytes, name)?;
            let end = begins + self.bytes.get(begins..)?.iter().position(|it| *it == 0)?;
            let kept = self.path.len().checked_sub(cut)?;
            self.path.truncate(kept);
            self.path.extend_from_slice(&self.bytes[begins..end]);
            self.at = end + 1;
        } else {
            let length = match flags & NAME {
                NAME => self.bytes.get(name..)?.iter().position(|it| *it == 0)?,
                length => usize::from(length),
            };
            self.path.clear();
            let path = self.bytes.get(name..name + length)?;
            self.path.extend_from_slice(path);
            self.at = start + padded(name + length - start);
        }
        self.left -= 1;
        Some(name)
    }

    /// All entries were read.
    pub(super) fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Goes to the next entry; no answer where it is out of the ordinary.
    pub(super) fn advance(&mut self) -> Option<RawEntry<'a>> {
        let start = self.at;
        let name = self.pass()?;
        let head = self.bytes.get(start..name)?;
        let flags_at = FIELDS + self.id_length;
        let flags = short(head, flags_at)?;
        let extended = flags & EXTENDED != 0;
        if flags & STAGE != 0 || extended && short(head, flags_at + 2)? & INTENT_TO_ADD != 0 {
            return None;
        }
        Some(RawEntry {
            head,
            mode: number(head, MODE)?,
            id: ObjectId::from_bytes(head.get(FIELDS..flags_at)?)?,
        })
    }

    /// The path of the entry it is at.
    pub(super) fn path(&self) -> &[u8] {
        &self.path
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

    pub(super) fn copy(&mut self, entry: RawEntry<'_>, path: &[u8]) -> Option<()> {
        self.write(entry.head, path)
    }

    pub(super) fn add(&mut self, path: &[u8], staged: &Staged) -> Option<()> {
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

    fn write(&mut self, head: &[u8], path: &[u8]) -> Option<()> {
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
        self.count = self.count.checked_add(1)?;
        Some(())
    }

    /// Adds the known trees and the checksum.
    pub(super) fn finish(mut self, trees: &[u8]) -> Option<Vec<u8>> {
        self.bytes[8..HEADER].copy_from_slice(&self.count.to_be_bytes());
        self.bytes.extend_from_slice(b"TREE");
        let length = u32::try_from(trees.len()).ok()?;
        self.bytes.extend_from_slice(&length.to_be_bytes());
        self.bytes.extend_from_slice(trees);
        let checksum = ObjectId::checksum(self.format, &self.bytes);
        self.bytes.extend_from_slice(checksum.as_bytes());
        Some(self.bytes)
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
