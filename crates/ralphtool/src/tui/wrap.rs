//! Styled lines fitted to a width: wrapped, cut, padded.
//!
//! Widths are counted in columns and by graphemes, as the terminal draws them: a wide character, an
//! emoji of several code points or a letter with its marks is never split.

use std::borrow::Cow;

use ratatui::style::Style;
use ratatui::text::{Line, Span, StyledGrapheme};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// What stands where something is missing.
pub(crate) const MISSING: &str = "…";

/// A line of one style. Unlike with `Line::styled`, the cells right of the text keep their style.
pub(crate) fn styled(text: impl Into<Cow<'static, str>>, style: Style) -> Line<'static> {
    Line::from(Span::styled(text, style))
}

/// The graphemes of a text: what a reader sees as one character.
pub(crate) fn graphemes(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.graphemes(true)
}

/// How many columns a text takes when it is drawn.
pub(crate) fn columns(text: &str) -> usize {
    graphemes(text).map(UnicodeWidthStr::width).sum()
}

/// How many columns a line takes when it is drawn.
pub(crate) fn width(line: &Line<'_>) -> usize {
    line.spans.iter().map(|span| columns(&span.content)).sum()
}

/// Breaks a line between words, or inside a word that is too long.
///
/// Lines after the first are indented by `hang`, at most by half of the columns. Between wide
/// characters there may be a break anywhere: their scripts have no spaces.
pub(crate) fn wrap(line: &Line<'_>, columns: usize, hang: usize) -> Vec<Line<'static>> {
    fill(line, columns, hang, Breaks::BetweenWords)
}

/// Breaks a line wherever the columns end: for code.
pub(crate) fn chop(line: &Line<'_>, columns: usize) -> Vec<Line<'static>> {
    fill(line, columns, 0, Breaks::Anywhere)
}

/// Cuts a line to a number of columns, with `…` where something is missing.
pub(crate) fn cut(line: &Line<'_>, columns: usize) -> Line<'static> {
    if width(line) <= columns {
        return owned(line);
    }
    let Some(room) = columns.checked_sub(1) else {
        return like(line, Vec::new());
    };
    let mut row = Row::default();
    let mut style = Style::default();
    for part in parts(line) {
        style = part.style;
        if row.used + part.symbol.width() > room {
            break;
        }
        row.push(part.symbol, style);
    }
    row.push(MISSING, style);
    like(line, row.spans)
}

/// A line of exactly this many columns: cut, or filled with spaces.
pub(crate) fn fit(line: &Line<'_>, columns: usize) -> Line<'static> {
    let mut fitted = cut(line, columns);
    let missing = columns.saturating_sub(width(&fitted));
    if missing > 0 {
        fitted.spans.push(Span::raw(" ".repeat(missing)));
    }
    fitted
}

/// A copy of a line that borrows nothing.
fn owned(line: &Line<'_>) -> Line<'static> {
    let spans = line.spans.iter();
    let spans = spans.map(|span| Span::styled(span.content.to_string(), span.style));
    like(line, spans.collect())
}

/// The places at which a line can be broken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Breaks {
    BetweenWords,
    Anywhere,
}

/// The graphemes of a line, each with the style of its span.
fn parts<'a>(line: &'a Line<'_>) -> impl Iterator<Item = StyledGrapheme<'a>> {
    let spans = line.spans.iter();
    spans.flat_map(|span| span.styled_graphemes(Style::default()))
}

/// A line that is built grapheme by grapheme.
#[derive(Default)]
pub(crate) struct Row {
    pub(crate) spans: Vec<Span<'static>>,
    used: usize,
}

impl Row {
    pub(crate) fn push(&mut self, text: &str, style: Style) {
        self.used += columns(text);
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(text),
            Some(_) | None => self.spans.push(Span::styled(text.to_owned(), style)),
        }
    }
}

/// A line that is being broken into rows.
struct Filling {
    /// The rows that are full.
    rows: Vec<Row>,
    row: Row,
    columns: usize,
    hang: usize,
    /// Whether the row has nothing but its indentation.
    fresh: bool,
}

impl Filling {
    fn next_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
        if self.hang > 0 {
            self.row.push(&" ".repeat(self.hang), Style::default());
        }
        self.fresh = true;
    }

    fn fits(&self, columns: usize) -> bool {
        self.row.used + columns <= self.columns
    }

    /// Adds one grapheme, on the next row if this one is full.
    fn add(&mut self, part: &StyledGrapheme<'_>) {
        let columns = part.symbol.width();
        if !self.fits(columns) && !self.fresh {
            self.next_row();
        }
        if !self.fits(columns) {
            // The indentation leaves no room for it.
            self.row = Row::default();
        }
        // It may be wider than the whole screen.
        let is_missing = !self.fits(columns);
        let shown = if is_missing { MISSING } else { part.symbol };
        self.row.push(shown, part.style);
        self.fresh = false;
    }

    /// Adds a word after the spaces before it, which are dropped where the row ends.
    fn add_word(
        &mut self,
        spaces: &mut Vec<StyledGrapheme<'_>>,
        word: &mut Vec<StyledGrapheme<'_>>,
    ) {
        if word.is_empty() {
            return;
        }
        let needed: usize = word.iter().map(|part| part.symbol.width()).sum();
        let leading = self.rows.is_empty() && self.row.used == 0;
        if leading {
            // The line's own indentation.
            spaces.truncate(self.columns / 2);
        }
        if self.fits(spaces.len() + needed) || leading {
            for space in spaces.iter() {
                self.row.push(space.symbol, space.style);
            }
        } else if !self.fresh {
            self.next_row();
        }
        spaces.clear();
        for part in word.drain(..) {
            self.add(&part);
        }
    }
}

fn fill(line: &Line<'_>, columns: usize, hang: usize, breaks: Breaks) -> Vec<Line<'static>> {
    if width(line) <= columns {
        return vec![owned(line)];
    }
    if columns == 0 {
        return vec![like(line, Vec::new())];
    }
    let mut filling = Filling {
        rows: Vec::new(),
        row: Row::default(),
        columns,
        hang: hang.min(columns / 2),
        fresh: true,
    };
    let (mut spaces, mut word) = (Vec::new(), Vec::new());
    for part in parts(line) {
        // A no-break space is part of a word.
        let is_space = part.symbol == " " && breaks == Breaks::BetweenWords;
        let is_word = part.symbol.width() > 1 || breaks == Breaks::Anywhere;
        if is_space || is_word {
            filling.add_word(&mut spaces, &mut word);
        }
        if is_space {
            spaces.push(part);
            continue;
        }
        word.push(part);
        if is_word {
            filling.add_word(&mut spaces, &mut word);
        }
    }
    filling.add_word(&mut spaces, &mut word);
    filling.rows.push(filling.row);
    let rows = filling.rows.into_iter();
    rows.map(|row| like(line, row.spans)).collect()
}

/// A line with other spans.
fn like(line: &Line<'_>, spans: Vec<Span<'static>>) -> Line<'static> {
    Line {
        style: line.style,
        alignment: line.alignment,
        spans,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use ratatui::style::Stylize;

    fn texts(lines: &[Line<'_>]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn wraps(text: &str, columns: usize, hang: usize, want: &[&str]) {
        assert_eq!(texts(&wrap(&Line::raw(text), columns, hang)), want);
    }

    #[test]
    fn breaks_between_words_and_keeps_the_indentation() {
        wraps("short", 10, 2, &["short"]);
        wraps("one two three", 8, 0, &["one two", "three"]);
        wraps("one two three", 8, 2, &["one two", "  three"]);
        wraps("  one two three", 9, 2, &["  one two", "  three"]);
        wraps("one  two   three", 10, 0, &["one  two", "three"]);
        wraps("one two   ", 7, 0, &["one two"]);
        wraps("", 5, 0, &[""]);
        wraps("     ", 3, 0, &[""]);
        wraps("a b", 0, 0, &[""]);
    }

    #[test]
    fn breaks_inside_a_word_that_is_too_long() {
        wraps("0123456789ab cd", 8, 0, &["01234567", "89ab cd"]);
        wraps("a 0123456789ab", 8, 2, &["a", "  012345", "  6789ab"]);
        wraps("abc", 1, 9, &["a", "b", "c"]);
    }

    #[test]
    fn wide_characters_are_never_split() {
        wraps("漢字漢字", 5, 0, &["漢字", "漢字"]);
        wraps("ab 漢字漢字", 6, 0, &["ab 漢", "字漢字"]);
        wraps("漢漢", 1, 0, &["…", "…"]);
        let family = "👨‍👩‍👧‍👦";
        wraps(&format!("{family}{family}"), 3, 0, &[family, family]);
        wraps(
            "e\u{301}e\u{301}e\u{301}",
            2,
            0,
            &["e\u{301}e\u{301}", "e\u{301}"],
        );
        wraps("🎉🎉 ok", 4, 0, &["🎉🎉", "ok"]);
    }

    #[test]
    fn styles_are_kept_across_breaks() {
        let line = Line::from(vec!["one ".into(), "two three".bold(), " four".into()]);
        let want = vec![
            Line::from(vec!["one ".into(), "two".bold()]),
            Line::from(vec!["three".bold(), " four".into()]),
        ];
        assert_eq!(
            wrap(&line.clone().dim(), 10, 0),
            want.into_iter().map(Line::dim).collect::<Vec<_>>()
        );
        assert_eq!(wrap(&line, 80, 0), [line]);
    }

    #[test]
    fn code_is_broken_anywhere() {
        assert_eq!(
            texts(&chop(&Line::raw("let a = 漢;"), 4)),
            ["let ", "a = ", "漢;"]
        );
    }

    #[test]
    fn a_cut_says_that_something_is_missing() {
        #[track_caller]
        fn case(text: &str, columns: usize, want: &str) {
            assert_eq!(cut(&Line::raw(text), columns).to_string(), want);
        }
        case("hello", 5, "hello");
        case("hello", 4, "hel…");
        case("漢字漢字", 5, "漢字…");
        case("漢字漢字", 4, "漢…");
        case("hello", 1, "…");
        case("hello", 0, "");
        assert_eq!(
            cut(&Line::from(vec!["ab".into(), "cdef".bold()]), 4),
            Line::from(vec!["ab".into(), "c…".bold()])
        );
    }

    #[test]
    fn padding_counts_columns() {
        assert_eq!(fit(&Line::raw("漢"), 4).to_string(), "漢  ");
        assert_eq!(fit(&Line::raw("hello"), 5).to_string(), "hello");
        assert_eq!(fit(&Line::raw("hello"), 4).to_string(), "hel…");
        assert_eq!(fit(&Line::raw("漢漢"), 3).to_string(), "漢…");
        assert_eq!(fit(&Line::raw("漢漢漢"), 4).to_string(), "漢… ");
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide_and_no_word_is_lost(text in "\\PC{0,60}", columns in 2_usize..40, hang in 0_usize..50) {
            let line = Line::raw(text.as_str());
            let wrapped = wrap(&line, columns, hang);
            for row in wrapped.iter().chain(&chop(&line, columns)).chain([&cut(&line, columns)]) {
                prop_assert!(width(row) <= columns, "{row}");
            }
            prop_assume!(graphemes(&text).all(|part| part.width() <= columns));
            let without_spaces = |text: &str| text.replace(' ', "");
            prop_assert_eq!(without_spaces(&texts(&wrapped).concat()), without_spaces(&text));
        }
    }
}
