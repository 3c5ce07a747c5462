//! Follows a file that another process adds to.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::Line;
use crate::lines::LineSplitter;

/// How much is read at once.
const CHUNK: usize = 64 * 1024;
/// How much of a file's end is read for its last lines.
const TAIL_BYTES: u64 = 32 * 1024;

/// Reads what is added to a file, as lines.
#[derive(Debug)]
pub(crate) struct Tail {
    file: File,
    /// How much may still be read; all there is if it is not set.
    left: Option<u64>,
    splitter: LineSplitter,
    buffer: Vec<u8>,
}

impl Tail {
    /// Follows the file from its present end.
    pub(crate) fn open(path: &Path, line_cap: usize) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self {
            file,
            left: None,
            splitter: LineSplitter::new(line_cap),
            buffer: vec![0; CHUNK],
        })
    }

    /// Reads one piece, if there is one; `each` gets the whole lines.
    pub(crate) fn pull(&mut self, each: impl FnMut(Line<'_>)) -> bool {
        let left = self.left.map_or(CHUNK, |left| to_size(left).min(CHUNK));
        // A file that cannot be read now counts as silent; it may come back.
        let read = self.file.read(&mut self.buffer[..left]).unwrap_or(0);
        self.left = self.left.map(|left| left - read as u64);
        self.splitter.push(&self.buffer[..read], each);
        read > 0
    }

    /// Reads no further than the present end: another process may never stop writing.
    pub(crate) fn stop_at_end(&mut self) {
        let position = self.file.stream_position().unwrap_or(0);
        let length = self.file.metadata().map_or(position, |data| data.len());
        self.left = Some(length.saturating_sub(position));
    }

    /// Reports the last line, if it has no end.
    pub(crate) fn finish(&mut self, each: impl FnMut(Line<'_>)) {
        self.splitter.finish(each);
    }
}

fn to_size(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

/// The last lines of a file, at most `count`; nothing if it cannot be read.
pub(crate) fn last_lines(path: &Path, count: usize) -> String {
    let end = end_of(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&end);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

fn end_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut end = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut end)?;
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_last_lines_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        assert_eq!(last_lines(&path, 3), "");
        std::fs::write(&path, "one\ntwo\nth\u{e9}\nfour\n\n").unwrap();
        assert_eq!(last_lines(&path, 3), "two\nth\u{e9}\nfour");
        std::fs::write(&path, vec![b'x'; 1 << 20]).unwrap();
        assert_eq!(last_lines(&path, 3).len(), 32 * 1024);
    }
}
