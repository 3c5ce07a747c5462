//! The titles of tabs in one line.

use ratatui::text::{Line, Span};

use super::wrap;
use crate::ui::tui::palette::{DIM, PLAIN, SELECTED};

/// The titles, the selected one in brackets and reversed.
///
/// Where there is no room for all, those farthest from the selected one give way to `‹` and `›`.
pub(crate) fn tabs<T: AsRef<str>>(titles: &[T], selected: usize, columns: usize) -> Line<'static> {
    let Some(last) = titles.len().checked_sub(1) else {
        return Line::default();
    };
    let selected = selected.min(last);
    let (mut first, mut end) = (0, titles.len());
    while end - first > 1 && needed(titles, first, end) > columns {
        // The farther end gives way.
        if selected - first > end - 1 - selected {
            first += 1;
        } else {
            end -= 1;
        }
    }
    let mut spans = Vec::new();
    if first > 0 {
        spans.push(Span::styled("‹", DIM));
    }
    for (index, title) in titles.iter().enumerate().take(end).skip(first) {
        let title = title.as_ref();
        spans.push(if index == selected {
            Span::styled(format!("[{title}]"), SELECTED)
        } else {
            Span::styled(format!(" {title} "), PLAIN)
        });
    }
    if end < titles.len() {
        spans.push(Span::styled("›", DIM));
    }
    wrap::cut(&Line::from(spans), columns)
}

fn needed<T: AsRef<str>>(titles: &[T], first: usize, end: usize) -> usize {
    let marks = usize::from(first > 0) + usize::from(end < titles.len());
    let titles = titles[first..end].iter();
    marks
        + titles
            .map(|title| wrap::columns(title.as_ref()) + 2)
            .sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const TITLES: [&str; 5] = ["Agent", "Diff", "Attempts", "Gates", "Log"];

    #[track_caller]
    fn case(selected: usize, columns: usize, want: &str) {
        let line = tabs(&TITLES, selected, columns);
        assert_eq!(line.to_string(), want);
    }

    #[test]
    fn the_selected_one_is_in_brackets() {
        case(0, 80, "[Agent] Diff  Attempts  Gates  Log ");
        case(1, 80, " Agent [Diff] Attempts  Gates  Log ");
        case(9, 80, " Agent  Diff  Attempts  Gates [Log]");
    }

    #[test]
    fn the_selected_one_is_in_sight_where_there_is_no_room_for_all() {
        case(0, 20, "[Agent] Diff ›");
        case(2, 20, "‹ Diff [Attempts]›");
        case(4, 20, "‹ Gates [Log]");
        case(2, 8, "‹[Attem…");
        case(0, 0, "");
    }

    #[test]
    fn no_titles_are_nothing_and_wide_ones_count() {
        let none: [&str; 0] = [];
        assert_eq!(tabs(&none, 0, 10), Line::default());
        let line = tabs(&["漢字", "仮名"], 0, 12);
        assert_eq!(line.to_string(), "[漢字] 仮名 ");
        let line = tabs(&["漢字", "仮名"], 0, 11);
        assert_eq!(line.to_string(), "[漢字]›");
    }
}
