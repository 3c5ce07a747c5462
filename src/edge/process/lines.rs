//! Splits bytes into lines with a cap on what is held.

use std::collections::VecDeque;

use super::Line;

/// Cuts a stream of bytes into lines; of a longer line only the start is kept.
#[derive(Debug)]
pub(super) struct LineSplitter {
    cap: usize,
    held: Vec<u8>,
    truncated: bool,
    begun: bool,
}

impl LineSplitter {
    /// A splitter that holds at most `cap` bytes of a line.
    pub(super) fn new(cap: usize) -> Self {
        Self {
            cap,
            held: Vec::new(),
            truncated: false,
            begun: false,
        }
    }

    /// Takes more bytes; whole lines go to `lines`.
    pub(super) fn push(&mut self, mut bytes: &[u8], lines: &mut VecDeque<Line>) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.keep(&bytes[..end]);
            lines.push_back(self.take());
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    /// Ends the stream: a last line without an end is a line too.
    pub(super) fn finish(&mut self, lines: &mut VecDeque<Line>) {
        if self.begun {
            lines.push_back(self.take());
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = self.cap - self.held.len();
        let kept = &bytes[..bytes.len().min(room)];
        self.begun |= !bytes.is_empty();
        self.truncated |= kept.len() < bytes.len();
        self.held.extend_from_slice(kept);
    }

    fn take(&mut self) -> Line {
        let mut bytes = std::mem::take(&mut self.held);
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        self.begun = false;
        Line {
            bytes,
            truncated: std::mem::take(&mut self.truncated),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(cap: usize, pieces: &[&[u8]]) -> Vec<(Vec<u8>, bool)> {
        let mut splitter = LineSplitter::new(cap);
        let mut lines = VecDeque::new();
        for piece in pieces {
            splitter.push(piece, &mut lines);
            assert!(splitter.held.len() <= cap);
        }
        splitter.finish(&mut lines);
        let pair = |line: Line| (line.bytes, line.truncated);
        lines.into_iter().map(pair).collect()
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
    }

    #[test]
    fn keeps_the_start_of_a_long_line_and_goes_on_with_the_next() {
        let cut = (b"abcd".to_vec(), true);
        assert_eq!(split(4, &[b"abcdef\nab\n"]), [cut.clone(), whole(b"ab")]);
        assert_eq!(split(4, &[b"abc", b"def", b"ghi"]), [cut]);
        assert_eq!(split(4, &[b"abcd\n"]), [whole(b"abcd")]);
    }
}
