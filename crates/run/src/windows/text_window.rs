//! Windows of lines of a text file of any length, such as the log of a gate, while it is written and
//! after.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use super::file_lines::{GrowingFile, Marks};
use ralph_process::lines::Line;

/// How much of a line is shown.
const LINE_CAP: usize = 4 * 1024;

/// A text file, read through windows.
#[derive(Debug)]
pub struct TextWindow {
    file: GrowingFile,
    count: usize,
    marks: Marks<()>,
}

impl TextWindow {
    /// A window on a file, which may not exist yet. Reads nothing.
    pub fn open(path: &Path) -> Self {
        Self {
            file: GrowingFile::new(path.to_owned(), LINE_CAP),
            count: 0,
            marks: Marks::new(()),
        }
    }

    /// Reads at most `most_bytes` further; returns whether the present end was reached.
    pub fn refresh(&mut self, most_bytes: usize) -> io::Result<Caught> {
        let is_replaced = self.file.rewind_if_replaced()?;
        if is_replaced {
            self.count = 0;
            self.marks = Marks::new(());
        }
        let Self { file, count, marks } = self;
        let read = file.read_on(most_bytes, |line| {
            *count += 1;
            marks.reached(line.end, *count, || ());
            ControlFlow::Continue(())
        })?;
        Ok(Caught {
            changed: is_replaced || read > 0,
            at_end: read < most_bytes,
        })
    }

    /// How many lines there are as far as the file was read, an unfinished last one included.
    pub fn len(&self) -> usize {
        self.count + usize::from(self.file.lines.unfinished().is_some())
    }

    /// Whether nothing was read yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// At most `count` lines, the first of them the one after `from` others.
    pub fn window(&self, from: usize, count: usize) -> io::Result<Vec<String>> {
        let end = from.saturating_add(count).min(self.count);
        let mut shown = Vec::new();
        if let Some(mark) = self.marks.get(self.marks.place_before(from))
            && from < end
        {
            let mut number = mark.number;
            self.file.read_again(mark.offset, |line| {
                if number >= from {
                    shown.push(text(line));
                }
                number += 1;
                if number >= end {
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            })?;
        }
        if from <= self.count && from.saturating_add(count) > self.count {
            shown.extend(self.file.lines.unfinished().map(text));
        }
        Ok(shown)
    }
}

/// How far a search came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// This entry or line has it.
    Found(usize),
    /// Not found yet: continue at this one.
    NotYet(usize),
    /// None in this direction has it.
    Nowhere,
}

fn text(line: Line<'_>) -> String {
    let mut text = String::from_utf8_lossy(line.bytes).into_owned();
    if line.truncated {
        text.push('…');
    }
    text
}

/// Whether a refresh read something, and how far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caught {
    /// There is something new to show.
    pub changed: bool,
    /// The present end was reached.
    pub at_end: bool,
}

#[cfg(test)]
impl Caught {
    /// Nothing is left to read.
    pub(super) fn all(changed: bool) -> Self {
        Self {
            changed,
            at_end: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::fmt::Write as _;

    fn all(window: &mut TextWindow) -> Vec<String> {
        while !window.refresh(1000).unwrap().at_end {}
        window.window(0, usize::MAX).unwrap()
    }

    #[test]
    fn a_file_is_seen_while_it_comes_grows_shrinks_and_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gate.log");
        let mut window = TextWindow::open(&path);
        assert_eq!(window.refresh(10).unwrap(), Caught::all(false));
        assert_eq!(window.window(0, 10).unwrap(), Vec::<String>::new());
        std::fs::write(&path, "one\ntwo\nth").unwrap();
        assert_eq!(window.refresh(1000).unwrap(), Caught::all(true));
        assert_eq!(window.refresh(1000).unwrap(), Caught::all(false));
        assert_eq!(
            (window.len(), all(&mut window)),
            (3, vec!["one".into(), "two".into(), "th".into()])
        );
        assert_eq!(window.window(1, 1).unwrap(), ["two"]);
        assert_eq!(window.window(2, 9).unwrap(), ["th"]);
        assert_eq!(window.window(3, 9).unwrap(), Vec::<String>::new());
        std::fs::write(&path, b"one\ntwo\nthree\r\n\xff").unwrap();
        assert_eq!(all(&mut window).len(), 4);
        std::fs::write(&path, "new\n").unwrap();
        assert_eq!(all(&mut window), ["new"]);
    }

    #[test]
    fn windows_of_a_long_file_are_its_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gate.log");
        let mut text = String::new();
        for number in 0..200_000 {
            writeln!(text, "line {number}").unwrap();
        }
        text.push_str(&"x".repeat(10_000));
        std::fs::write(&path, &text).unwrap();
        let mut window = TextWindow::open(&path);
        while !window.refresh(100_000).unwrap().at_end {}
        assert_eq!(window.len(), 200_001);
        assert_eq!(
            window.window(123_456, 2).unwrap(),
            ["line 123456", "line 123457"]
        );
        assert_eq!(
            window.window(199_999, 5).unwrap()[1].len(),
            LINE_CAP + '…'.len_utf8()
        );
    }
}
