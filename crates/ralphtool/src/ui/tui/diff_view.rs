//! The lines of a diff as they are drawn.
//!
//! What a line is shows by its sign, and by colour where there is one. Long lines are cut: a
//! diff is read in columns.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::wrap;
use crate::ui::text::clean;
use crate::ui::tui::palette::{ADDED, DIM, HUNK, PLAIN, REMOVED};
use ralph_vault::diff::{DiffLine, LineKind};

/// Tabs go to the next multiple of these columns.
const TAB: usize = 4;
/// Line numbers are left out on a narrower screen.
const ROOM_FOR_NUMBERS: usize = 60;

/// A line of a diff and its number before and after the change.
struct Row<'a> {
    line: &'a DiffLine,
    old: Option<u32>,
    new: Option<u32>,
}

/// The lines of a diff in the given number of columns.
pub(crate) fn lines(lines: &[DiffLine], columns: usize) -> Vec<Line<'static>> {
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
            LineKind::Context => (old, new) = (take(&mut next_old), take(&mut next_new)),
            LineKind::Added => new = take(&mut next_new),
            LineKind::Removed => old = take(&mut next_old),
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
        let word = hunk
            .split_whitespace()
            .skip(1)
            .find_map(|word| word.strip_prefix(sign))?;
        word.split(',').next()?.parse().ok()
    };
    (side('-'), side('+'))
}

/// The number of this line; the next gets the one after it.
fn take(next: &mut Option<u32>) -> Option<u32> {
    let this = *next;
    *next = this.and_then(|number| number.checked_add(1));
    this
}

/// A text with spaces for its tabs.
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
        let lines = lines(&diff(), columns);
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
    fn colours_say_the_same_as_signs() {
        let style = |kind| lines(&[line(kind, "x")], 20)[0].spans[0].style;
        assert_eq!(style(LineKind::Added), ADDED);
        assert_eq!(style(LineKind::Removed), REMOVED);
        assert_eq!(style(LineKind::Hunk), HUNK);
        assert_eq!(style(LineKind::Context), PLAIN);
    }

    #[test]
    fn a_hunk_that_says_nothing_leaves_lines_without_numbers() {
        assert_eq!(starts("@@ -1 +1,0 @@"), (Some(1), Some(1)));
        assert_eq!(starts("@@ -99999999999 +x @@"), (None, None));
        assert_eq!(starts(""), (None, None));
    }
}
