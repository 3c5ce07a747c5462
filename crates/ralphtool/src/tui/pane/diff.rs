//! What an attempt changed, file by file.

use std::collections::BTreeSet;

use jiff::Timestamp;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::tui::message::{DiffId, Query};
use crate::tui::palette::{ADDED, BAD, DIM, HUNK, PLAIN, REMOVED, STRONG, WARN};
use crate::tui::text_pane::{Item, TextPane};
use crate::tui::wrap;
use crate::ui::text::clean;
use crate::ui::words::count;
use ralph_vault::diff::{Cut, Diff, DiffLine, FileDiff, FileStatus, LineKind};

/// How long a diff of the current tree is shown before it is queried again.
const REFRESH_MS: i128 = 2_000;

/// Tabs go to the next multiple of these columns.
const TAB: usize = 4;
/// Line numbers are left out on a narrower screen.
const ROOM_FOR_NUMBERS: usize = 60;

/// Whether the changes of a whole run are shown, and who folds their files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Overview {
    /// The changes of one attempt are shown.
    #[default]
    No,
    /// Files are folded as far as there is no room for them.
    FoldedToFit,
    /// The user folded a file, so that no other is folded without the user.
    FoldedByUser,
}

#[derive(Debug, Default)]
pub(crate) struct DiffPane {
    id: Option<DiffId>,
    diff: Option<Result<Box<Diff>, String>>,
    /// The paths of folded files.
    folded: BTreeSet<String>,
    /// The paths of files in which something was found; they come first.
    flagged: BTreeSet<String>,
    pub(crate) text: TextPane,
    /// When it was last queried.
    asked: Option<Timestamp>,
    /// A query is not answered yet.
    waiting: bool,
    /// Files may have changed since the last query.
    stale: bool,
    overview: Overview,
}

impl DiffPane {
    /// A pane of the changes of a whole run: a list of files, expanded as far as there is room.
    pub(crate) fn overview() -> Self {
        Self {
            overview: Overview::FoldedToFit,
            ..Self::default()
        }
    }

    /// One line that says how much was changed, once that is known.
    pub(crate) fn summary(&self) -> Option<Line<'static>> {
        match &self.diff {
            Some(Ok(diff)) if !diff.files.is_empty() => Some(summary(diff)),
            _ => None,
        }
    }

    /// The paths of the changed files, once they are known.
    pub(crate) fn paths(&self) -> Vec<String> {
        match &self.diff {
            Some(Ok(diff)) => diff.files.iter().map(|file| file.path.clone()).collect(),
            _ => Vec::new(),
        }
    }

    /// Files may have changed.
    pub(crate) fn invalidate(&mut self) {
        self.stale = true;
    }

    /// A query for the diff if it is missing or old, unless one is not answered yet.
    pub(crate) fn query(&mut self, now: Timestamp) -> Option<Query> {
        let id = self.id.clone()?;
        let is_due = match self.asked {
            None => true,
            Some(at) => {
                let is_old = now.duration_since(at).as_millis() >= REFRESH_MS;
                matches!(id, DiffId::Live { .. }) && self.stale && is_old
            }
        };
        if self.waiting || !is_due {
            return None;
        }
        self.asked = Some(now);
        self.stale = false;
        self.waiting = true;
        Some(Query::Diff(id))
    }

    /// Shows another diff, or none.
    pub(crate) fn show(&mut self, id: Option<DiffId>) {
        if self.id == id {
            return;
        }
        self.asked = None;
        self.waiting = false;
        self.id = id;
        self.diff = None;
        self.text.rewind();
        self.lay_out();
    }

    /// Puts files in which something was found first.
    pub(crate) fn flag(&mut self, paths: BTreeSet<String>) {
        if self.flagged != paths {
            self.flagged = paths;
            self.sort();
            self.lay_out();
        }
    }

    fn sort(&mut self) {
        if let Some(Ok(diff)) = &mut self.diff {
            let flagged = &self.flagged;
            diff.files.sort_by_key(|file| !flagged.contains(&file.path));
        }
    }

    /// Receives a diff.
    pub(crate) fn receive(&mut self, id: &DiffId, found: Result<Box<Diff>, String>) {
        if self.id.as_ref() != Some(id) {
            return;
        }
        self.waiting = false;
        // A diff can fail while files change; the last good one stays.
        if found.is_err() && matches!(self.diff, Some(Ok(_))) {
            return;
        }
        self.diff = Some(found);
        self.sort();
        self.lay_out();
    }

    pub(crate) fn fit(&mut self, area: Rect) {
        let height = self.text.height();
        let is_wider = self.text.fit(area);
        if is_wider || self.overview == Overview::FoldedToFit && height != self.text.height() {
            self.lay_out();
        }
    }

    /// Folds or expands the file at the cursor.
    pub(crate) fn toggle(&mut self) {
        let (Some(Ok(diff)), Some(item)) = (&self.diff, self.text.item()) else {
            return;
        };
        let Some(file) = item.checked_sub(1).and_then(|place| diff.files.get(place)) else {
            return;
        };
        if self.overview == Overview::FoldedToFit {
            self.overview = Overview::FoldedByUser;
        }
        if !self.folded.remove(&file.path) {
            self.folded.insert(file.path.clone());
        }
        self.lay_out();
        self.text.go_to(item, 0);
    }

    /// Folds the files, from the first one that does not fit on.
    fn fold_to_fit(&mut self) {
        let Some(Ok(diff)) = &self.diff else {
            return;
        };
        let titles = 1 + diff.files.len();
        let mut room = self.text.height().saturating_sub(titles);
        let mut is_full = false;
        self.folded.clear();
        for file in &diff.files {
            is_full |= file.lines.len() > room;
            if is_full {
                self.folded.insert(file.path.clone());
            } else {
                room -= file.lines.len();
            }
        }
    }

    fn lay_out(&mut self) {
        if self.overview == Overview::FoldedToFit {
            self.fold_to_fit();
        }
        let items = match &self.diff {
            None if self.id.is_some() => self.note("looking …".to_owned(), DIM),
            None => self.note(self.nothing().to_owned(), DIM),
            Some(Ok(diff)) if diff.files.is_empty() && diff.cut.is_none() => {
                self.note(self.nothing().to_owned(), DIM)
            }
            Some(Err(problem)) => {
                let text = format!("the changes cannot be shown: {}", clean(problem));
                self.note(text, BAD)
            }
            Some(Ok(diff)) => self.items(diff),
        };
        self.text.set(items);
    }

    /// What it says where nothing was changed.
    fn nothing(&self) -> &'static str {
        match self.id {
            _ if self.overview != Overview::No => "no file was changed",
            None => "no attempt was made at this story",
            Some(DiffId::Live { .. }) => "nothing was changed yet",
            Some(_) => "this attempt changed nothing",
        }
    }

    fn note(&self, text: String, style: Style) -> Vec<Item> {
        let line = wrap::styled(text, style);
        vec![wrap::wrap(&line, self.text.columns(), 2)]
    }

    /// The summary, one item for each file, and what is missing.
    fn items(&self, diff: &Diff) -> Vec<Item> {
        let mut items = vec![vec![summary(diff)]];
        items.extend(diff.files.iter().map(|file| self.file(file)));
        if let Some(cut) = &diff.cut {
            items.extend(self.note(left_out(*cut), WARN));
        }
        items
    }

    fn file(&self, file: &FileDiff) -> Item {
        let folded = self.folded.contains(&file.path);
        let mut lines = vec![self.title(file, folded)];
        if !folded {
            lines.extend(diff_lines(&file.lines, self.text.columns()));
        }
        lines
    }

    fn title(&self, file: &FileDiff, folded: bool) -> Line<'static> {
        let mark = if folded { "▸" } else { "▾" };
        let (letter, style) = letter(file.status);
        let mut path = clean(&file.path);
        if let Some(old) = &file.old_path {
            path = format!("{} → {path}", clean(old));
        }
        let found = if self.flagged.contains(&file.path) {
            "! "
        } else {
            ""
        };
        let line = Line::from(vec![
            Span::styled(format!("{mark} "), DIM),
            Span::styled(found, WARN),
            Span::styled(format!("{letter} "), style),
            Span::styled(path, STRONG),
            Span::styled(format!("  +{}", file.added), ADDED),
            Span::styled(format!(" -{}", file.removed), REMOVED),
        ]);
        wrap::cut(&line, self.text.columns())
    }
}

/// The letter of a file's status and its colour.
pub(crate) fn letter(status: FileStatus) -> (char, Style) {
    match status {
        FileStatus::Added => ('A', ADDED),
        FileStatus::Modified => ('M', WARN),
        FileStatus::Deleted => ('D', REMOVED),
        FileStatus::Renamed => ('R', WARN),
        FileStatus::TypeChanged => ('T', WARN),
    }
}

/// One line that says how much was changed.
pub(crate) fn summary(diff: &Diff) -> Line<'static> {
    if diff.files.is_empty() {
        return wrap::styled("nothing was changed yet", DIM);
    }
    let added: usize = diff.files.iter().map(|file| file.added).sum();
    let removed: usize = diff.files.iter().map(|file| file.removed).sum();
    Line::from(vec![
        Span::raw(format!("{} ", count(diff.files.len(), "file"))),
        Span::styled(format!("+{added}"), ADDED),
        Span::raw(" "),
        Span::styled(format!("-{removed}"), REMOVED),
    ])
}

/// A text that says what is missing from a diff.
fn left_out(cut: Cut) -> String {
    let mut parts = Vec::new();
    match cut.lines {
        0 => {}
        1 => parts.push("1 line".to_owned()),
        lines => parts.push(format!("{lines} lines")),
    }
    if cut.new_files > 0 {
        parts.push(format!("{} that are new", count(cut.new_files, "file")));
    }
    if cut.unread {
        parts.push("perhaps more files".to_owned());
    }
    format!("… not shown: {}", parts.join(", "))
}

/// A line of a diff, and its line numbers before and after the change.
struct Row<'a> {
    line: &'a DiffLine,
    old: Option<u32>,
    new: Option<u32>,
}

/// The lines of a diff in the given number of columns.
fn diff_lines(lines: &[DiffLine], columns: usize) -> Vec<Line<'static>> {
    let rows = numbered(lines);
    let numbers = rows.iter().flat_map(|row| [row.old, row.new]);
    let highest = numbers.flatten().max();
    let digits = highest.map_or(0, |number| number.to_string().len());
    let rows = rows.iter();
    rows.map(|row| draw(row, digits, columns)).collect()
}

/// Numbers the lines of a diff by its hunks.
fn numbered(lines: &[DiffLine]) -> Vec<Row<'_>> {
    let (mut next_old, mut next_new) = (None, None);
    let rows = lines.iter().map(|line| {
        let (mut old, mut new) = (None, None);
        match line.kind {
            LineKind::Hunk => (next_old, next_new) = starts(&line.text),
            LineKind::Context => (old, new) = (advance(&mut next_old), advance(&mut next_new)),
            LineKind::Added => new = advance(&mut next_new),
            LineKind::Removed => old = advance(&mut next_old),
            LineKind::Note => {}
        }
        Row { line, old, new }
    });
    rows.collect()
}

/// One row in the given number of columns; `digits` is the width of a number of all rows.
fn draw(row: &Row<'_>, digits: usize, columns: usize) -> Line<'static> {
    let mut spans = Vec::new();
    if digits > 0 && columns >= ROOM_FOR_NUMBERS {
        let number = |number: Option<u32>| {
            let number = number.map(|it| it.to_string()).unwrap_or_default();
            format!("{number:>digits$} ")
        };
        let numbers = format!("{}{}│", number(row.old), number(row.new));
        spans.push(Span::styled(numbers, DIM));
    }
    let (sign, style) = sign(row.line.kind);
    let text = clean(&expanded(&row.line.text));
    spans.push(Span::styled(format!("{sign}{text}"), style));
    wrap::cut(&Line::from(spans), columns)
}

fn sign(kind: LineKind) -> (&'static str, Style) {
    match kind {
        LineKind::Hunk => ("", HUNK),
        LineKind::Context => (" ", PLAIN),
        LineKind::Added => ("+", ADDED),
        LineKind::Removed => ("-", REMOVED),
        LineKind::Note => ("", DIM),
    }
}

/// The first numbers of both sides of `@@ -1,2 +1,3 @@`.
fn starts(hunk: &str) -> (Option<u32>, Option<u32>) {
    let side = |sign: char| {
        let mut words = hunk.split_whitespace().skip(1);
        let range = words.find_map(|word| word.strip_prefix(sign))?;
        range.split(',').next()?.parse().ok()
    };
    (side('-'), side('+'))
}

/// Returns the number, and increments it for the next line.
fn advance(next: &mut Option<u32>) -> Option<u32> {
    let this = *next;
    *next = this.and_then(|number| number.checked_add(1));
    this
}

/// Replaces tabs by spaces.
fn expanded(text: &str) -> String {
    if !text.contains('\t') {
        return text.to_owned();
    }
    let mut expanded = String::with_capacity(text.len());
    let mut column = 0;
    for part in wrap::graphemes(text) {
        if part == "\t" {
            let spaces = TAB - column % TAB;
            expanded.extend(std::iter::repeat_n(' ', spaces));
            column += spaces;
        } else {
            expanded.push_str(part);
            column += wrap::columns(part);
        }
    }
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn diff() -> Vec<DiffLine> {
        let lines = [
            (LineKind::Note, "new mode 100755"),
            (LineKind::Hunk, "@@ -8,2 +9,3 @@ fn main() {"),
            (LineKind::Context, "a\tb"),
            (LineKind::Removed, "\u{1b}[31mold"),
            (LineKind::Added, "漢\tnew"),
            (LineKind::Added, "more"),
            (LineKind::Note, "\\ No newline at end of file"),
        ];
        let lines = lines.into_iter();
        lines.map(|(kind, text)| line(kind, text)).collect()
    }

    fn line(kind: LineKind, text: &str) -> DiffLine {
        let text = text.to_owned();
        DiffLine { kind, text }
    }

    fn drawn(columns: usize) -> Vec<String> {
        let lines = diff_lines(&diff(), columns);
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn shows_signs_and_numbers_where_there_is_room() {
        assert_eq!(
            drawn(60),
            [
                "      │new mode 100755",
                "      │@@ -8,2 +9,3 @@ fn main() {",
                " 8  9 │ a   b",
                " 9    │-old",
                "   10 │+漢  new",
                "   11 │+more",
                "      │\\ No newline at end of file",
            ]
        );
    }

    #[test]
    fn cuts_what_does_not_fit_and_leaves_out_the_numbers() {
        assert_eq!(
            drawn(8),
            [
                "new mod…",
                "@@ -8,2…",
                " a   b",
                "-old",
                "+漢  new",
                "+more",
                "\\ No ne…",
            ]
        );
    }

    #[test]
    fn each_kind_of_line_has_its_colour() {
        let style = |kind| diff_lines(&[line(kind, "x")], 20)[0].spans[0].style;
        assert_eq!(style(LineKind::Added), ADDED);
        assert_eq!(style(LineKind::Removed), REMOVED);
        assert_eq!(style(LineKind::Hunk), HUNK);
        assert_eq!(style(LineKind::Context), PLAIN);
    }

    #[test]
    fn a_hunk_header_that_cannot_be_read_gives_no_numbers() {
        assert_eq!(starts("@@ -1 +1,0 @@"), (Some(1), Some(1)));
        assert_eq!(starts("@@ -99999999999 +x @@"), (None, None));
        assert_eq!(starts(""), (None, None));
    }
}
