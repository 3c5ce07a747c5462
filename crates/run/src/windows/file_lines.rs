//! Lines of a file that may still be growing, read piece by piece, with marks to come back to.
//!
//! What is held does not grow with the file: the line under way up to a cap, and a limited number
//! of marks that stand wider apart the longer the file is.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// How much is read at once.
const CHUNK: usize = 64 * 1024;
/// How far apart marks stand at first, in bytes.
const FIRST_DISTANCE: u64 = 256 * 1024;
/// At most this number of marks is held.
const MOST_MARKS: usize = 1024;

/// One line, without its end.
#[derive(Debug, Clone, Copy)]
pub struct FileLine<'a> {
    /// Its bytes up to the cap.
    pub bytes: &'a [u8],
    /// It is longer than the cap.
    pub truncated: bool,
    /// Where it begins.
    pub start: u64,
    /// Where the next one begins.
    pub end: u64,
}

/// Reads a file line by line.
#[derive(Debug)]
pub struct FileLines {
    cap: usize,
    /// The next byte to read.
    position: u64,
    /// Where the line under way begins.
    start: u64,
    held: Vec<u8>,
    truncated: bool,
}

impl FileLines {
    /// Begins at an offset, which must be a line's start.
    pub fn at(offset: u64, cap: usize) -> Self {
        Self {
            cap,
            position: offset,
            start: offset,
            held: Vec::new(),
            truncated: false,
        }
    }

    /// How far the file was read.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Reads at most `most` bytes further and gives each whole line to `each`, until it breaks.
    /// Says how many bytes were taken; 0 at the end.
    pub fn read(
        &mut self,
        file: &File,
        most: usize,
        mut each: impl FnMut(FileLine<'_>) -> ControlFlow<()>,
    ) -> io::Result<usize> {
        let mut chunk = vec![0; most.min(CHUNK)];
        let mut taken = 0;
        while taken < most {
            let want = chunk.len().min(most - taken);
            let got = match file.read_at(&mut chunk[..want], self.position) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if got == 0 {
                break;
            }
            let (used, flow) = self.take(&chunk[..got], &mut each);
            taken += used;
            if flow.is_break() {
                break;
            }
        }
        Ok(taken)
    }

    /// The start of a line whose end has not come yet.
    pub fn unfinished(&self) -> Option<FileLine<'_>> {
        (self.position > self.start).then(|| self.line(&self.held, self.truncated))
    }

    /// The line that ends here.
    fn line<'a>(&self, bytes: &'a [u8], truncated: bool) -> FileLine<'a> {
        FileLine {
            bytes: bytes.strip_suffix(b"\r").unwrap_or(bytes),
            truncated,
            start: self.start,
            end: self.position,
        }
    }

    fn take(
        &mut self,
        bytes: &[u8],
        each: &mut impl FnMut(FileLine<'_>) -> ControlFlow<()>,
    ) -> (usize, ControlFlow<()>) {
        let mut used = 0;
        while let Some(length) = memchr::memchr(b'\n', &bytes[used..]) {
            let line = &bytes[used..used + length];
            used += length + 1;
            let flow = if self.position == self.start {
                // Most lines are whole in what was read, and need not be copied.
                let kept = &line[..length.min(self.cap)];
                self.position += length as u64 + 1;
                each(self.line(kept, kept.len() < length))
            } else {
                self.keep(line);
                self.position += 1;
                each(self.line(&self.held, self.truncated))
            };
            self.start = self.position;
            self.truncated = false;
            // One huge line must not keep its memory until the end.
            if self.held.capacity() > CHUNK {
                self.held = Vec::new();
            }
            self.held.clear();
            if flow.is_break() {
                return (used, flow);
            }
        }
        self.keep(&bytes[used..]);
        (bytes.len(), ControlFlow::Continue(()))
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = self.cap - self.held.len();
        let kept = bytes.len().min(room);
        self.held.extend_from_slice(&bytes[..kept]);
        self.truncated |= kept < bytes.len();
        self.position += bytes.len() as u64;
    }
}

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

    /// Goes back to the start where the file is gone or was written again from its start; says
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
        each: impl FnMut(FileLine<'_>) -> ControlFlow<()>,
    ) -> io::Result<usize> {
        let Some(file) = self.file.take() else {
            return Ok(0);
        };
        let taken = self.lines.read(&file, most, each)?;
        self.file = Some(file);
        Ok(taken)
    }

    /// Gives whole lines up to the present end, no further: another process may write without end.
    pub(crate) fn read_to_end(&mut self, mut each: impl FnMut(FileLine<'_>)) -> io::Result<()> {
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
        each: impl FnMut(FileLine<'_>) -> ControlFlow<()>,
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
    use pretty_assertions::assert_eq;
    use std::io::Write as _;

    fn all(bytes: &[u8], cap: usize, most: usize) -> Vec<(String, bool, u64, u64)> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let mut found = Vec::new();
        let mut lines = FileLines::at(0, cap);
        let mut keep = |line: FileLine<'_>| {
            let text = String::from_utf8_lossy(line.bytes).into_owned();
            found.push((text, line.truncated, line.start, line.end));
            ControlFlow::Continue(())
        };
        while lines.read(&file, most, &mut keep).unwrap() > 0 {}
        if let Some(line) = lines.unfinished() {
            let _ = keep(line);
        }
        found
    }

    #[test]
    fn lines_are_the_same_however_much_is_read_at_once() {
        let bytes = b"one\r\n\nlonger than ten\nrest";
        let want = [
            ("one".to_owned(), false, 0, 5),
            (String::new(), false, 5, 6),
            ("longer tha".to_owned(), true, 6, 22),
            ("rest".to_owned(), false, 22, 26),
        ];
        for most in [1, 2, 3, 7, 1000] {
            assert_eq!(all(bytes, 10, most), want);
        }
        assert_eq!(all(b"", 10, 5), []);
    }

    #[test]
    fn reading_stops_behind_the_line_that_was_enough() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"one\ntwo\nthree\n").unwrap();
        let mut lines = FileLines::at(0, 10);
        let taken = lines.read(&file, 100, |_| ControlFlow::Break(())).unwrap();
        assert_eq!((taken, lines.position()), (4, 4));
    }

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
