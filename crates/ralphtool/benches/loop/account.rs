//! What a process used of the machine, it and the children it waited for, as Linux counts it.

use std::fs;
use std::ops::{Range, Sub};
use std::time::Duration;

/// Ticks of the processor's clock a second: the same on every Linux.
const TICKS: u64 = 100;

/// What was used; nothing where the system does not tell.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Account {
    /// Bytes written to disk: whole pages of files, when they are first changed. Nothing on a file
    /// system in memory.
    pub(crate) written: u64,
    /// Time of processors, in hundredths of a second: exact in the mean of many.
    ticks: u64,
}

impl Account {
    /// Of a process and the children it waited for.
    pub(crate) fn of(process: u32) -> Self {
        Self {
            written: written(process).unwrap_or(0),
            ticks: ticks(process, 0..4).unwrap_or(0),
        }
    }

    /// Of the children alone that this process waited for, and of theirs; what was written is not told.
    pub(crate) fn of_children() -> Self {
        Self {
            written: 0,
            ticks: ticks(std::process::id(), 2..4).unwrap_or(0),
        }
    }

    /// Time of processors.
    pub(crate) fn processor(self) -> Duration {
        Duration::from_millis(self.ticks * 1000 / TICKS)
    }

    /// Two words for the log.
    pub(crate) fn words(self) -> String {
        format!("{},{}", self.written, self.ticks)
    }

    /// Reads what the log has.
    pub(crate) fn read(words: &str) -> Option<Self> {
        let (written, ticks) = words.split_once(',')?;
        Some(Self {
            written: written.parse().ok()?,
            ticks: ticks.parse().ok()?,
        })
    }
}

impl Sub for Account {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            written: self.written.saturating_sub(other.written),
            ticks: self.ticks.saturating_sub(other.ticks),
        }
    }
}

fn written(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/io")).ok()?;
    let mut lines = text.lines();
    let count = lines.find_map(|line| line.strip_prefix("write_bytes: "))?;
    count.parse().ok()
}

/// The sum of some of four counts: of the process itself twice, then of its children twice.
fn ticks(process: u32, which: Range<usize>) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program is in brackets and may have anything in it.
    let (_, after) = text.rsplit_once(')')?;
    let words = after.split_whitespace().skip(11 + which.start);
    let ticks = words.take(which.len());
    ticks.map(|word| word.parse::<u64>().ok()).sum()
}
