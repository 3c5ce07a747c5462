//! A file that may still be growing, and marks in it to read from again.
//!
//! What is held does not grow with the file: the unfinished line up to a cap, and a limited number
//! of marks that stand wider apart the longer the file is.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;

use ralph_process::lines::{FileLines, Line};

/// How far apart marks stand at first, in bytes.
const FIRST_DISTANCE: u64 = 256 * 1024;
/// At most this number of marks is held.
const MOST_MARKS: usize = 1024;

/// A file that grows, may not be there yet, and may be written again from its start.
#[derive(Debug)]
pub(crate) struct GrowingFile {
    path: PathBuf,
    cap: usize,
    /// Open once it was there.
    pub(super) file: Option<File>,
    pub(super) lines: FileLines,
}

impl GrowingFile {
    /// Reads nothing yet; lines are held up to a cap.
    pub(crate) fn new(path: PathBuf, cap: usize) -> Self {
        Self {
            path,
            cap,
            file: None,
            lines: FileLines::at(0, cap),
        }
    }

    /// How far it was read.
    pub(crate) fn position(&self) -> u64 {
        self.lines.position()
    }

    /// Reads on from an offset.
    pub(crate) fn skip_to(&mut self, offset: u64) {
        self.lines = FileLines::at(offset, self.cap);
    }

    /// The present length; none where the file is missing.
    pub(crate) fn length(&mut self) -> io::Result<Option<u64>> {
        let file = match self.file.take() {
            Some(file) => file,
            None => match File::open(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                file => file?,
            },
        };
        let length = file.metadata()?.len();
        self.file = Some(file);
        Ok(Some(length))
    }

    /// Goes back to the start if the file is gone or was written again from its start; returns
    /// whether it did.
    pub(super) fn rewind_if_replaced(&mut self) -> io::Result<bool> {
        let is_replaced = self.length()?.unwrap_or(0) < self.position();
        if is_replaced {
            self.skip_to(0);
        }
        Ok(is_replaced)
    }

    /// Reads at most `most` bytes further, as [`FileLines::read`] does; nothing of a missing file.
    pub(super) fn read_on(
        &mut self,
        most: usize,
        each: impl FnMut(Line<'_>) -> ControlFlow<()>,
    ) -> io::Result<usize> {
        let Some(file) = self.file.take() else {
            return Ok(0);
        };
        let read = self.lines.read(&file, most, each)?;
        self.file = Some(file);
        Ok(read)
    }

    /// Gives whole lines up to the present end, no further: another process may write without end.
    pub(crate) fn read_to_end(&mut self, mut each: impl FnMut(Line<'_>)) -> io::Result<()> {
        let left = self.length()?.unwrap_or(0).saturating_sub(self.position());
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        self.read_on(left, |line| {
            each(line);
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    /// Gives lines again that were read before, from a line's start on.
    pub(super) fn read_again(
        &self,
        offset: u64,
        each: impl FnMut(Line<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        if let Some(file) = &self.file {
            let most = usize::try_from(self.position() - offset).unwrap_or(usize::MAX);
            FileLines::at(offset, self.cap).read(file, most, each)?;
        }
        Ok(())
    }
}

/// A place in a file to read from again.
#[derive(Debug, Clone)]
pub struct Mark<S> {
    /// Where, in bytes.
    pub offset: u64,
    /// How many lines or entries come before it.
    pub number: usize,
    /// What a reader knows there.
    pub state: S,
}

/// Marks in a file, fewer than a limit whatever its length.
#[derive(Debug)]
pub struct Marks<S> {
    distance: u64,
    marks: Vec<Mark<S>>,
}

impl<S> Marks<S> {
    /// The mark at the start of a file.
    pub fn new(state: S) -> Self {
        Self {
            distance: FIRST_DISTANCE,
            marks: vec![Mark {
                offset: 0,
                number: 0,
                state,
            }],
        }
    }

    /// Sets a mark if the last one is far enough away.
    pub fn reached(&mut self, offset: u64, number: usize, state: impl FnOnce() -> S) {
        let last = self.marks.last().map_or(0, |mark| mark.offset);
        if offset < last + self.distance {
            return;
        }
        self.marks.push(Mark {
            offset,
            number,
            state: state(),
        });
        if self.marks.len() >= MOST_MARKS {
            self.thin_out();
        }
    }

    /// Which mark is the last at or before a line or entry.
    pub(crate) fn place_before(&self, number: usize) -> usize {
        self.marks
            .partition_point(|mark| mark.number <= number)
            .saturating_sub(1)
    }

    /// A mark by its place.
    pub fn get(&self, place: usize) -> Option<&Mark<S>> {
        self.marks.get(place)
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.marks.len()
    }

    fn thin_out(&mut self) {
        self.distance *= 2;
        let mut place = 0;
        self.marks.retain(|_| {
            place += 1;
            place % 2 == 1
        });
        self.marks.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stay_few_and_find_what_is_before_a_line() {
        let mut marks = Marks::new(());
        let step = FIRST_DISTANCE / 2;
        for number in 1..100_000_usize {
            marks.reached(number as u64 * step, number, || ());
        }
        assert!(marks.count() < MOST_MARKS, "{}", marks.count());
        for number in [0, 1, 777, 50_000, 99_999] {
            let mark = marks.get(marks.place_before(number)).unwrap();
            assert!(mark.number <= number && number - mark.number < 2_000);
            assert_eq!(mark.offset, mark.number as u64 * step);
        }
    }
}
