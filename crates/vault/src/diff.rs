//! What `git diff` prints, as files and lines to show. Nothing in it is an error: what is not
//! understood is passed over.

mod listing;
mod paths;
pub(crate) mod shown;

use paths::{header_path, unquoted};

use crate::paths::show;

pub use listing::changed_files;

/// How many lines are kept.
const MOST_LINES: usize = 20_000;
/// How many bytes of lines are kept.
const MOST_BYTES: usize = 4 << 20;
/// How much of one line is kept.
const LINE_CAP: usize = 2000;

/// A diff, as far as it is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// The files, in git's order.
    pub files: Vec<FileDiff>,
    /// What is not shown of it.
    pub cut: Option<Cut>,
}

impl Diff {
    /// The same, of which so much is not shown.
    #[must_use]
    pub fn without(mut self, cut: Cut) -> Self {
        let known = self.cut.unwrap_or_default();
        let all = Cut {
            lines: known.lines + cut.lines,
            unread: known.unread || cut.unread,
            new_files: known.new_files + cut.new_files,
        };
        self.cut = (all != Cut::default()).then_some(all);
        self
    }
}

/// What is not shown of a diff.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cut {
    /// How many lines; they are counted in their files.
    pub lines: usize,
    /// It went on after what was read, so that files may be missing and counts too low.
    pub unread: bool,
    /// How many new files are missing in it.
    pub new_files: usize,
}

/// One file of a diff.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileDiff {
    /// Its path now, or the last one it had.
    pub path: String,
    /// Its path before, where it is another.
    pub old_path: Option<String>,
    pub status: FileStatus,
    /// How many lines came.
    pub added: usize,
    /// How many lines went.
    pub removed: usize,
    /// Its content is not text, so that no lines are counted.
    pub binary: bool,
    /// Its lines; none in a list of changed files.
    pub lines: Vec<DiffLine>,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FileStatus {
    Added,
    /// Its content or mode is another.
    #[default]
    Modified,
    Deleted,
    /// It is somewhere else.
    Renamed,
    /// A file became a link, or the like.
    TypeChanged,
}

impl FileStatus {
    /// The letter git says for it.
    #[cfg(test)]
    pub const fn letter(self) -> char {
        match self {
            Self::Added => 'A',
            Self::Modified => 'M',
            Self::Deleted => 'D',
            Self::Renamed => 'R',
            Self::TypeChanged => 'T',
        }
    }
}

/// One line of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    pub kind: LineKind,
    /// The line without its sign and its end.
    pub text: String,
}

/// The sort of a line in a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Where the next lines stand: `@@ -1,2 +1,3 @@`.
    Hunk,
    Context,
    /// A line that came.
    Added,
    /// A line that went.
    Removed,
    /// Something about the file.
    Note,
}

/// Reads what `git diff` printed; `unread` where there was more of it.
pub fn parse(bytes: &[u8], unread: bool) -> Diff {
    let mut parser = Parser::default();
    let whole_lines = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    for line in whole_lines.split(|byte| *byte == b'\n') {
        parser.line(line);
    }
    parser.close();
    let cut = Cut {
        lines: parser.cut_lines,
        unread,
        new_files: 0,
    };
    let files = parser.files;
    Diff { files, cut: None }.without(cut)
}

#[derive(Debug, Default)]
struct Parser {
    files: Vec<FileDiff>,
    file: Option<OpenFile>,
    kept_lines: usize,
    kept_bytes: usize,
    cut_lines: usize,
}

/// The file whose part of the diff is being read.
#[derive(Debug, Default)]
struct OpenFile {
    diff: FileDiff,
    old_mode: String,
    /// Lines of the hunk that are still to come, before and after.
    left: (usize, usize),
    /// Changed lines that end with a carriage return, before and after.
    returns: (usize, usize),
}

impl Parser {
    fn line(&mut self, line: &[u8]) {
        let is_in_hunk = self.file.as_ref().is_some_and(|file| file.left != (0, 0));
        if let Some(names) = line.strip_prefix(b"diff --git ")
            && !is_in_hunk
        {
            self.close();
            let file = self.file.get_or_insert_default();
            file.diff.path = header_path(names);
        } else if let Some(file) = &mut self.file
            && let Some(shown) = if is_in_hunk {
                Some(file.content(line))
            } else {
                file.about(line)
            }
        {
            self.keep(shown);
        }
    }

    fn keep(&mut self, line: DiffLine) {
        let Some(file) = &mut self.file else {
            return;
        };
        if self.kept_lines >= MOST_LINES || self.kept_bytes + line.text.len() > MOST_BYTES {
            self.cut_lines += 1;
            return;
        }
        self.kept_lines += 1;
        self.kept_bytes += line.text.len();
        file.diff.lines.push(line);
    }

    fn close(&mut self) {
        if self.file.as_ref().is_some_and(OpenFile::changes_line_ends) {
            self.keep(note("line endings changed"));
        }
        let Some(file) = self.file.take().map(|file| file.diff) else {
            return;
        };
        // Git says a change of type as one file that goes and another that comes.
        match self.files.last_mut() {
            Some(last)
                if last.status == FileStatus::Deleted
                    && file.status == FileStatus::Added
                    && last.path == file.path =>
            {
                last.status = FileStatus::TypeChanged;
                last.added += file.added;
                last.removed += file.removed;
                last.binary |= file.binary;
                last.lines.extend(file.lines);
            }
            _ => self.files.push(file),
        }
    }
}

impl OpenFile {
    /// A line inside of a hunk.
    fn content(&mut self, line: &[u8]) -> DiffLine {
        let (sign, text) = match line.split_first() {
            Some((sign, text)) => (*sign, text),
            None => (b' ', line),
        };
        let ends_with_return = usize::from(text.ends_with(b"\r"));
        let (before, after) = &mut self.left;
        let kind = match sign {
            b'+' => {
                self.diff.added += 1;
                *after = after.saturating_sub(1);
                self.returns.1 += ends_with_return;
                LineKind::Added
            }
            b'-' => {
                self.diff.removed += 1;
                *before = before.saturating_sub(1);
                self.returns.0 += ends_with_return;
                LineKind::Removed
            }
            b'\\' => return no_newline(),
            _ => {
                *before = before.saturating_sub(1);
                *after = after.saturating_sub(1);
                LineKind::Context
            }
        };
        let text = shown(text);
        DiffLine { kind, text }
    }

    /// A line of a file's head, or between two hunks.
    fn about(&mut self, line: &[u8]) -> Option<DiffLine> {
        let text = String::from_utf8_lossy(line);
        let name = |path: &[u8]| show(&unquoted(path));
        if let Some(left) = hunk(&text) {
            self.left = left;
            let (kind, text) = (LineKind::Hunk, shown(line));
            return Some(DiffLine { kind, text });
        }
        if line.starts_with(b"\\") {
            return Some(no_newline());
        }
        if let Some(path) = line.strip_prefix(b"rename from ") {
            self.diff.status = FileStatus::Renamed;
            self.diff.old_path = Some(name(path));
        } else if let Some(path) = line.strip_prefix(b"rename to ") {
            self.diff.path = name(path);
        } else if let Some(path) = line.strip_prefix(b"copy to ") {
            self.diff.status = FileStatus::Added;
            self.diff.path = name(path);
        } else if text.starts_with("new file mode ") {
            self.diff.status = FileStatus::Added;
        } else if text.starts_with("deleted file mode ") {
            self.diff.status = FileStatus::Deleted;
        } else if let Some(mode) = text.strip_prefix("old mode ") {
            mode.clone_into(&mut self.old_mode);
        } else if let Some(mode) = text.strip_prefix("new mode ") {
            return Some(note(&format!("mode {} → {mode}", self.old_mode)));
        } else if text.starts_with("Binary files ") || text == "GIT binary patch" {
            self.diff.binary = true;
            return Some(note("binary file"));
        }
        None
    }

    fn changes_line_ends(&self) -> bool {
        let (before, after) = self.returns;
        let is_both_ways = self.diff.added > 0 && self.diff.removed > 0;
        is_both_ways && (before > 0) != (after > 0)
    }
}

fn note(text: &str) -> DiffLine {
    DiffLine {
        kind: LineKind::Note,
        text: text.to_owned(),
    }
}

fn no_newline() -> DiffLine {
    note("no newline at end of file")
}

/// How many lines a hunk has before and after, if the line begins one.
fn hunk(line: &str) -> Option<(usize, usize)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let count = |range: &str| match range.split_once(',') {
        Some((_, count)) => count.parse().ok(),
        None => Some(1),
    };
    Some((count(old)?, count(new)?))
}

/// A line as text, cut where it is very long.
fn shown(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= LINE_CAP {
        return String::from_utf8_lossy(line).into_owned();
    }
    let mut end = LINE_CAP;
    // Back to the start of a character.
    while end > LINE_CAP - 4 && line[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    format!("{}…", String::from_utf8_lossy(&line[..end]))
}

#[cfg(test)]
mod tests;
