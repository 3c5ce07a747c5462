//! Splits bytes into lines with a cap on what is held.

use crate::Line;

/// Cuts a stream of bytes into lines; of a longer line only the start is reported.
#[derive(Debug)]
pub(crate) struct LineSplitter {
    cap: usize,
    /// The start of a line whose end has not come yet.
    held: Vec<u8>,
    truncated: bool,
    begun: bool,
}

/// How much memory is kept for the next line after a huge one.
const HELD_FOR_LONG: usize = 64 * 1024;

impl LineSplitter {
    /// A splitter that holds at most `cap` bytes of a line.
    pub(crate) fn new(cap: usize) -> Self {
        Self {
            cap,
            held: Vec::new(),
            truncated: false,
            begun: false,
        }
    }

    /// Takes more bytes; `each` gets the whole lines.
    pub(crate) fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(Line<'_>)) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            if self.begun {
                self.keep(line);
                self.report_held(&mut each);
            } else {
                // Most lines are whole in what was read, and need not be copied.
                let kept = &line[..line.len().min(self.cap)];
                each(Line::new(kept, kept.len() < line.len()));
            }
            bytes = rest;
        }
        self.keep(bytes);
    }

    /// Ends the stream: a last line without an end is a line too.
    pub(crate) fn finish(&mut self, mut each: impl FnMut(Line<'_>)) {
        if self.begun {
            self.report_held(&mut each);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = self.cap - self.held.len();
        let kept = &bytes[..bytes.len().min(room)];
        self.begun |= !bytes.is_empty();
        self.truncated |= kept.len() < bytes.len();
        self.held.extend_from_slice(kept);
    }

    fn report_held(&mut self, each: &mut impl FnMut(Line<'_>)) {
        each(Line::new(&self.held, self.truncated));
        self.begun = false;
        self.truncated = false;
        self.held.clear();
        self.held.shrink_to(HELD_FOR_LONG);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(cap: usize, pieces: &[&[u8]]) -> Vec<(Vec<u8>, bool)> {
        let mut splitter = LineSplitter::new(cap);
        let mut lines = Vec::new();
        let mut keep = |line: Line<'_>| lines.push((line.bytes.to_vec(), line.truncated));
        for piece in pieces {
            splitter.push(piece, &mut keep);
            assert!(splitter.held.len() <= cap);
        }
        splitter.finish(&mut keep);
        lines
    }

    fn whole(line: &[u8]) -> (Vec<u8>, bool) {
        (line.to_vec(), false)
    }

    #[test]
    fn cuts_at_line_ends_wherever_the_pieces_end() {
        let want = [whole(b"one"), whole(b""), whole(b"t\xffwo"), whole(b"rest")];
        assert_eq!(split(9, &[b"one\r\n\nt\xffwo\nrest"]), want);
        assert_eq!(
            split(9, &[b"on", b"e\r", b"\n", b"\nt\xffw", b"o\nrest"]),
            want
        );
        assert_eq!(split(9, &[b"one\n"]), [whole(b"one")]);
        assert_eq!(split(9, &[]), []);
        assert_eq!(split(9, &[b"\n", b"\n"]), [whole(b""), whole(b"")]);
    }

    #[test]
    fn keeps_the_start_of_a_long_line_and_goes_on_with_the_next() {
        let cut = (b"abcd".to_vec(), true);
        assert_eq!(split(4, &[b"abcdef\nab\n"]), [cut.clone(), whole(b"ab")]);
        assert_eq!(split(4, &[b"abc", b"def", b"ghi"]), [cut]);
        assert_eq!(split(4, &[b"abcd\n"]), [whole(b"abcd")]);
    }
}
