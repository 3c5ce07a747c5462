//! All styles of the screens, each named after what it means.
//!
//! Only the named colours of the terminal's own theme and modifiers, and no background but by
//! reversing: right with 16 colours, on light and on dark. Without colours the modifiers stay.

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;

const fn colored(color: Color) -> Style {
    Style::new().fg(color)
}

const fn modified(modifier: Modifier) -> Style {
    Style::new().add_modifier(modifier)
}

pub(crate) const GOOD: Style = colored(Color::Green);
pub(crate) const BAD: Style = colored(Color::Red).add_modifier(Modifier::BOLD);
pub(crate) const WARN: Style = colored(Color::Yellow);
pub(crate) const NAME: Style = colored(Color::Cyan);
/// Something that happens now.
pub(crate) const ACTIVE: Style = colored(Color::Blue).add_modifier(Modifier::BOLD);
pub(crate) const PLAIN: Style = Style::new();
pub(crate) const STRONG: Style = modified(Modifier::BOLD);
pub(crate) const DIM: Style = modified(Modifier::DIM);
/// The row or tab that is selected.
pub(crate) const SELECTED: Style = modified(Modifier::REVERSED);
/// The field of an input.
pub(crate) const INPUT: Style = modified(Modifier::UNDERLINED);
/// What a search found.
pub(crate) const FOUND: Style = WARN.add_modifier(Modifier::REVERSED);
/// The characters of a name that a filter matched.
pub(crate) const MATCHED: Style = WARN
    .add_modifier(Modifier::BOLD)
    .add_modifier(Modifier::UNDERLINED);
/// A line that a change added or removed, and where in a file that is.
pub(crate) const ADDED: Style = colored(Color::Green);
pub(crate) const REMOVED: Style = colored(Color::Red);
pub(crate) const HUNK: Style = colored(Color::Cyan);
/// A key to press.
pub(crate) const KEY: Style = colored(Color::Cyan).add_modifier(Modifier::BOLD);
pub(crate) const ITALIC: Style = modified(Modifier::ITALIC);
pub(crate) const CODE: Style = colored(Color::Yellow);
pub(crate) const LINK: Style = colored(Color::Blue).add_modifier(Modifier::UNDERLINED);
pub(crate) const QUOTE: Style = colored(Color::Green).add_modifier(Modifier::ITALIC);

/// A heading of Markdown; 1 is the highest level.
pub(crate) fn heading(level: u8) -> Style {
    colored(Color::Magenta).add_modifier(match level {
        0 | 1 => Modifier::BOLD | Modifier::UNDERLINED,
        2 => Modifier::BOLD,
        _ => Modifier::BOLD | Modifier::ITALIC,
    })
}

/// The border of a pane; the one with the focus gets the keys.
pub(crate) const fn border(focused: bool) -> Style {
    if focused { KEY } else { DIM }
}

/// A row that is selected while another part of the screen has the focus.
pub(crate) fn chosen(mut row: Line<'static>) -> Line<'static> {
    for span in &mut row.spans {
        span.style = span.style.remove_modifier(Modifier::DIM);
    }
    row.style(STRONG)
}

/// A row that is selected: in one colour, because reversed ones would be a patchwork.
pub(crate) fn select(mut row: Line<'static>) -> Line<'static> {
    for span in &mut row.spans {
        span.style = Style {
            fg: None,
            ..span.style.remove_modifier(Modifier::DIM)
        };
    }
    row.style(SELECTED)
}

/// Takes all colours out of what was drawn.
pub(crate) fn remove_colors(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        (cell.fg, cell.bg) = (Color::Reset, Color::Reset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use ratatui::layout::Rect;
    use ratatui::text::Span;

    fn all() -> Vec<Style> {
        vec![
            GOOD,
            BAD,
            WARN,
            NAME,
            ACTIVE,
            PLAIN,
            STRONG,
            DIM,
            SELECTED,
            INPUT,
            FOUND,
            MATCHED,
            border(false),
            border(true),
            ADDED,
            REMOVED,
            HUNK,
            KEY,
            ITALIC,
            CODE,
            LINK,
            heading(1),
            heading(2),
            heading(3),
            QUOTE,
        ]
    }

    #[test]
    fn colours_are_named_and_readable_on_any_background() {
        let bearable = [
            Color::Red,
            Color::Green,
            Color::Yellow,
            Color::Blue,
            Color::Magenta,
            Color::Cyan,
        ];
        for style in all() {
            assert_eq!(style.bg, None);
            assert!(
                style.fg.is_none_or(|color| bearable.contains(&color)),
                "{style:?}"
            );
        }
    }

    #[test]
    fn without_colours_only_modifiers_are_left() {
        for style in all() {
            let mut with = Buffer::empty(Rect::new(0, 0, 1, 1));
            let mut without = with.clone();
            with.set_style(with.area, style);
            without.set_style(without.area, Style { fg: None, ..style });
            remove_colors(&mut with);
            assert_eq!(with, without);
        }
    }

    #[test]
    fn a_selected_row_has_one_style() {
        let row = Line::from(vec![Span::styled("a", BAD), Span::styled("b", DIM)]);
        let row = select(row);
        assert_eq!(row.style, SELECTED);
        let looks = row.spans.iter().map(|span| {
            let shown = span.style.add_modifier - span.style.sub_modifier;
            (span.style.fg, shown)
        });
        let want = [(None, Modifier::BOLD), (None, Modifier::empty())];
        assert_eq!(looks.collect::<Vec<_>>(), want);
    }

    #[test]
    fn selection_and_focus_are_visible_without_colour() {
        let modifier = |style: Style| style.add_modifier;
        assert_ne!(modifier(SELECTED), modifier(PLAIN));
        assert_ne!(modifier(border(true)), modifier(border(false)));
    }
}
