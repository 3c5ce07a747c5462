//! Lines of a file that may still be growing, read piece by piece.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;

/// How much is read at once.
pub(crate) const CHUNK: usize = 64 * 1024;

/// One line of a file, without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// The line, up to the cap.
    pub bytes: &'a [u8],
    /// The line was longer; the rest is only on disk.
    pub truncated: bool,
    /// Where it begins in the file.
    pub start: u64,
    /// Where the next one begins.
    pub end: u64,
}

/// A place in a file, and the start of the line there as far as it was read. What is held does not
/// grow with the line: at most `cap` bytes.
#[derive(Debug)]
pub struct FileLines {
    cap: usize,
    /// The next byte to read.
    position: u64,
    /// Where the unfinished line begins.
    start: u64,
    /// The unfinished line, up to the cap.
    held: Vec<u8>,
    /// The unfinished line is longer.
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
    /// Returns how many bytes were read; 0 at the end.
    pub fn read(
        &mut self,
        file: &File,
        most: usize,
        mut each: impl FnMut(Line<'_>) -> ControlFlow<()>,
    ) -> io::Result<usize> {
        let mut chunk = vec![0; most.min(CHUNK)];
        let mut read = 0;
        while read < most {
            let want = chunk.len().min(most - read);
            let got = match file.read_at(&mut chunk[..want], self.position) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if got == 0 {
                break;
            }
            let (used, flow) = self.split(&chunk[..got], &mut each);
            read += used;
            if flow.is_break() {
                break;
            }
        }
        Ok(read)
    }

    /// The start of a line whose end has not come yet.
    pub fn unfinished(&self) -> Option<Line<'_>> {
        (self.position > self.start).then(|| self.line(&self.held, self.truncated))
    }

    /// The line that ends here.
    fn line<'a>(&self, bytes: &'a [u8], truncated: bool) -> Line<'a> {
        Line {
            bytes: bytes.strip_suffix(b"\r").unwrap_or(bytes),
            truncated,
            start: self.start,
            end: self.position,
        }
    }

    /// Cuts bytes into lines; returns how many of them were used before `each` broke.
    fn split(
        &mut self,
        bytes: &[u8],
        each: &mut impl FnMut(Line<'_>) -> ControlFlow<()>,
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
        let mut keep = |line: Line<'_>| {
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
    fn only_the_start_of_a_long_line_is_held() {
        let cut = ("abcd".to_owned(), true, 0, 7);
        for most in [1, 2, 3, 1000] {
            let next = ("ab".to_owned(), false, 7, 10);
            assert_eq!(all(b"abcdef\nab\n", 4, most), [cut.clone(), next]);
            let whole = ("abcd".to_owned(), false, 0, 5);
            assert_eq!(all(b"abcd\n", 4, most), [whole]);
        }
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"abcdefghi").unwrap();
        let mut lines = FileLines::at(0, 4);
        let each = |_: Line<'_>| ControlFlow::Continue(());
        while lines.read(&file, 3, each).unwrap() > 0 {}
        assert_eq!(lines.held, b"abcd");
    }

    #[test]
    fn reading_stops_behind_the_line_that_was_enough() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"one\ntwo\nthree\n").unwrap();
        let mut lines = FileLines::at(0, 10);
        let read = lines.read(&file, 100, |_| ControlFlow::Break(())).unwrap();
        assert_eq!((read, lines.position()), (4, 4));
    }
}
