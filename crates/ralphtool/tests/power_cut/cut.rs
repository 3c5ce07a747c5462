//! What a power cut leaves of a disk: everything up to the last flush, and a part of what was
//! written after it.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What a disk writes at once, or not at all.
const SECTOR: usize = 512;

/// Something that happened while a history was recorded.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// Bytes were written; on disk for certain only after the next flush.
    Write { offset: u64, bytes: Vec<u8> },
    /// Everything before this is on disk.
    Flush,
    /// The program printed that a story is done, as this commit.
    Announced { commit: String },
    /// A command of the history is about to start.
    Starts { act: usize },
    /// A command of the history ended with success.
    Ends { act: usize },
}

/// Which of the writes after the last flush are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Loss {
    /// All of them.
    All,
    /// Those after one of them.
    Later,
    /// Any of them.
    Some,
    /// Any of them, and of others some sectors.
    Torn,
}

impl Loss {
    pub(crate) const EACH: [Self; 4] = [Self::All, Self::Later, Self::Some, Self::Torn];
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::All => "all unsynced lost",
            Self::Later => "later ones lost",
            Self::Some => "a random part lost",
            Self::Torn => "torn writes",
        })
    }
}

/// One cut: after this many events of the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) at: usize,
    pub(crate) loss: Loss,
    pub(crate) seed: u64,
}

impl Cut {
    /// Draws a cut within a part of the log.
    pub(crate) fn draw(part: &Range<usize>, loss: Loss, random: &mut Random) -> Self {
        let at = part.start + random.below(part.len().max(1)) + 1;
        let seed = random.next();
        Self { at, loss, seed }
    }

    /// Writes what is left on the disk over an image of how it was when the log began.
    pub(crate) fn apply(&self, log: &[Event], image: &Path) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(image)?;
        let before = &log[..self.at.min(log.len())];
        let flushed = before
            .iter()
            .rposition(|event| matches!(event, Event::Flush))
            .map_or(0, |at| at + 1);
        for (offset, bytes) in writes(&before[..flushed]) {
            file.write_all_at(bytes, offset)?;
        }
        let mut random = Random::new(self.seed);
        let loose: Vec<_> = writes(&before[flushed..]).collect();
        let reached = random.below(loose.len() + 1);
        // How many of a hundred are lost.
        let share = 1 + random.below(99);
        for (number, (offset, bytes)) in loose.into_iter().enumerate() {
            let is_lost = match self.loss {
                Loss::All => true,
                Loss::Later => number >= reached,
                Loss::Some | Loss::Torn => random.below(100) < share,
            };
            if is_lost {
                continue;
            }
            if self.loss == Loss::Torn && random.below(2) == 0 {
                tear(&file, offset, bytes, &mut random)?;
            } else {
                file.write_all_at(bytes, offset)?;
            }
        }
        Ok(())
    }
}

fn writes(log: &[Event]) -> impl Iterator<Item = (u64, &Vec<u8>)> {
    log.iter().filter_map(|event| match event {
        Event::Write { offset, bytes } => Some((*offset, bytes)),
        _ => None,
    })
}

/// Writes some sectors only: the first ones, the last ones, or any.
fn tear(file: &File, offset: u64, bytes: &[u8], random: &mut Random) -> io::Result<()> {
    let sectors = bytes.len().div_ceil(SECTOR);
    let (way, place) = (random.below(3), random.below(sectors + 1));
    for (number, sector) in bytes.chunks(SECTOR).enumerate() {
        let is_written = match way {
            0 => number < place,
            1 => number >= place,
            _ => random.below(2) == 0,
        };
        if is_written {
            file.write_all_at(sector, offset + (number * SECTOR) as u64)?;
        }
    }
    Ok(())
}

/// Numbers that are the same for the same seed (xorshift).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mixed = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self(mixed | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap_or_default()
    }
}
