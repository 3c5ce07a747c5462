//! Follows a file that another process adds to.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::Path;

use crate::lines::{CHUNK, FileLines, Line};

/// How much of a file's end is read for its last lines.
const TAIL_BYTES: u64 = 32 * 1024;

/// Reads what is added to a file, as lines.
#[derive(Debug)]
pub(crate) struct Tail {
    file: File,
    lines: FileLines,
    /// Where reading stops; at the end of the file if it is not set.
    end: Option<u64>,
}

impl Tail {
    /// Follows the file from its present end.
    pub(crate) fn open(path: &Path, line_cap: usize) -> io::Result<Self> {
        let file = File::open(path)?;
        let lines = FileLines::at(file.metadata()?.len(), line_cap);
        let end = None;
        Ok(Self { file, lines, end })
    }

    /// Reads one piece, if there is one; `each` gets the whole lines.
    pub(crate) fn pull(&mut self, mut each: impl FnMut(Line<'_>)) -> bool {
        let position = self.lines.position();
        let left = self
            .end
            .map_or(u64::MAX, |end| end.saturating_sub(position));
        let most = usize::try_from(left).map_or(CHUNK, |left| left.min(CHUNK));
        let read = self.lines.read(&self.file, most, |line| {
            each(line);
            ControlFlow::Continue(())
        });
        // A file that cannot be read now counts as silent; it may come back.
        read.unwrap_or(0) > 0
    }

    /// Reads no further than the present end: another process may never stop writing.
    pub(crate) fn stop_at_end(&mut self) {
        self.end = Some(self.file.metadata().map_or(0, |data| data.len()));
    }

    /// Reports the last line, if it has no end.
    pub(crate) fn finish(&self, each: impl FnMut(Line<'_>)) {
        self.lines.unfinished().into_iter().for_each(each);
    }
}

/// The last lines of a file, at most `count`; nothing if it cannot be read.
pub fn last_lines(path: &Path, count: usize) -> String {
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
