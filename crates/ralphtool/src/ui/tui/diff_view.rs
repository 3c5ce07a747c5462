//! The lines of a diff as they are drawn.
//!
//! What a line is shows by its sign, and by colour where there is one. Long lines are cut: a
//! diff is read in columns.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::palette::Palette;
use super::wrap;
use crate::ui::text::clean;

/// Tabs go to the next multiple of these columns.
const TAB: usize = 4;
/// Line numbers are left out on a narrower screen.
const ROOM_FOR_NUMBERS: usize = 60;

/// What a line of a diff is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiffKind {
    /// The name of a file above its hunks.
    File,
    /// Where a hunk is, as `@@ -1,2 +1,3 @@` with whatever follows.
    Hunk,
    /// A line that stays.
    Context,
    /// A line that was added.
    Added,
    /// A line that was removed.
    Removed,
    /// Something about the file, such as that it is binary.
    Note,
}

/// A line of a diff and where it is in both files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiffRow {
    /// What it is.
    pub(crate) kind: DiffKind,
    /// Its number before the change.
    pub(crate) old: Option<u32>,
    /// Its number after the change.
    pub(crate) new: Option<u32>,
    /// Its text without the sign in front.
    pub(crate) text: String,
}

/// Numbers the lines of a diff by its hunks.
pub(crate) fn rows<'a>(lines: impl IntoIterator<Item = (DiffKind, &'a str)>) -> Vec<DiffRow> {
    let (mut old, mut new) = (None, None);
    let mut rows = Vec::new();
    for (kind, text) in lines {
        let (mut here_old, mut here_new) = (None, None);
        match kind {
            DiffKind::File => (old, new) = (None, None),
            DiffKind::Hunk => (old, new) = starts(text),
            DiffKind::Context => (here_old, here_new) = (take(&mut old), take(&mut new)),
            DiffKind::Added => here_new = take(&mut new),
            DiffKind::Removed => here_old = take(&mut old),
            DiffKind::Note => {}
        }
        rows.push(DiffRow {
            kind,
            old: here_old,
            new: here_new,
            text: text.to_owned(),
        });
    }
    rows
}

/// How wide a line number of these rows gets.
pub(crate) fn digits(rows: &[DiffRow]) -> usize {
    let numbers = rows.iter().flat_map(|row| [row.old, row.new]);
    let highest = numbers.flatten().max();
    highest.map_or(0, |number| number.to_string().len())
}

/// One row in so many columns; `digits` is the width of a number of all rows.
pub(crate) fn line(
    row: &DiffRow,
    digits: usize,
    columns: usize,
    palette: Palette,
) -> Line<'static> {
    let mut spans = Vec::new();
    if digits > 0 && columns >= ROOM_FOR_NUMBERS && row.kind != DiffKind::File {
        let number = |number: Option<u32>| {
            let number = number.map(|it| it.to_string()).unwrap_or_default();
            format!("{number:>digits$} ")
        };
        let numbers = format!("{}{}│", number(row.old), number(row.new));
        spans.push(Span::styled(numbers, palette.dim()));
    }
    let (sign, style) = look(row.kind, palette);
    let text = clean(&expanded(&row.text));
    spans.push(Span::styled(format!("{sign}{text}"), style));
    wrap::cut(&Line::from(spans), columns)
}

/// All rows in so many columns.
pub(crate) fn lines(rows: &[DiffRow], columns: usize, palette: Palette) -> Vec<Line<'static>> {
    let digits = digits(rows);
    let rows = rows.iter();
    rows.map(|row| line(row, digits, columns, palette))
        .collect()
}

fn look(kind: DiffKind, palette: Palette) -> (&'static str, Style) {
    match kind {
        DiffKind::File => ("", palette.file()),
        DiffKind::Hunk => ("", palette.hunk()),
        DiffKind::Context => (" ", palette.plain()),
        DiffKind::Added => ("+", palette.added()),
        DiffKind::Removed => ("-", palette.removed()),
        DiffKind::Note => ("", palette.dim()),
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

    const LINES: [(DiffKind, &str); 8] = [
        (DiffKind::File, "src/main.rs"),
        (DiffKind::Note, "new mode 100755"),
        (DiffKind::Hunk, "@@ -8,2 +9,3 @@ fn main() {"),
        (DiffKind::Context, "a\tb"),
        (DiffKind::Removed, "\u{1b}[31mold"),
        (DiffKind::Added, "漢\tnew"),
        (DiffKind::Added, "more"),
        (DiffKind::Note, "\\ No newline at end of file"),
    ];

    fn drawn(columns: usize) -> Vec<String> {
        let lines = lines(&rows(LINES), columns, Palette::new(false));
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn shows_signs_and_numbers_where_there_is_room() {
        assert_eq!(
            drawn(60),
            [
                "src/main.rs",
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
                "src/mai…",
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
        let palette = Palette::new(true);
        let row = |kind| DiffRow {
            kind,
            old: None,
            new: None,
            text: "x".to_owned(),
        };
        let style = |kind| line(&row(kind), 0, 20, palette).spans[0].style;
        assert_eq!(style(DiffKind::Added), palette.added());
        assert_eq!(style(DiffKind::Removed), palette.removed());
        assert_eq!(style(DiffKind::Hunk), palette.hunk());
        assert_eq!(style(DiffKind::Context), palette.plain());
    }

    #[test]
    fn a_hunk_that_says_nothing_leaves_lines_without_numbers() {
        assert_eq!(starts("@@ -1 +1,0 @@"), (Some(1), Some(1)));
        assert_eq!(starts("@@ -99999999999 +x @@"), (None, None));
        assert_eq!(starts(""), (None, None));
    }
}
