//! All colours of the screens, each by what it means.
//!
//! Only the named colours of the terminal's own theme and modifiers, and no background but by
//! reversing: right with 16 colours, on light and on dark. Without colours the modifiers stay.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;

/// The styles of the screens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Palette {
    colored: bool,
}

#[expect(
    clippy::unused_self,
    reason = "every style is asked for in the same way, coloured or not"
)]
impl Palette {
    /// A palette with colours, or with modifiers alone.
    pub(crate) const fn new(colored: bool) -> Self {
        Self { colored }
    }

    /// Whether there are colours; where not, signs have to say what they say.
    pub(crate) const fn is_colored(self) -> bool {
        self.colored
    }

    /// Something went well.
    pub(crate) fn good(self) -> Style {
        self.in_color(Color::Green)
    }

    /// Something failed.
    pub(crate) fn bad(self) -> Style {
        self.in_color(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// Something to know.
    pub(crate) fn warn(self) -> Style {
        self.in_color(Color::Yellow)
    }

    /// A name that matters.
    pub(crate) fn name(self) -> Style {
        self.in_color(Color::Cyan)
    }

    /// Something that happens now.
    pub(crate) fn active(self) -> Style {
        self.in_color(Color::Blue).add_modifier(Modifier::BOLD)
    }

    /// Ordinary text.
    pub(crate) fn plain(self) -> Style {
        Style::new()
    }

    /// Text that stands out.
    pub(crate) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Something that may be overlooked.
    pub(crate) fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// The row or tab that is chosen.
    pub(crate) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// A row that is chosen: of one colour, because reversed ones would be a patchwork.
    pub(crate) fn choose(self, mut row: Line<'static>) -> Line<'static> {
        for span in &mut row.spans {
            span.style = Style {
                fg: None,
                ..span.style.remove_modifier(Modifier::DIM)
            };
        }
        row.style(self.selected())
    }

    /// What a search found.
    pub(crate) fn found(self) -> Style {
        self.in_color(Color::Yellow)
            .add_modifier(Modifier::REVERSED)
    }

    /// The characters of a name that a filter matched.
    pub(crate) fn matched(self) -> Style {
        self.in_color(Color::Yellow)
            .add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
    }

    /// The border of a pane, and of the one that gets the keys.
    pub(crate) fn border(self, focused: bool) -> Style {
        if focused { self.key() } else { self.dim() }
    }

    /// A line that a change added.
    pub(crate) fn added(self) -> Style {
        self.in_color(Color::Green)
    }

    /// A line that a change removed.
    pub(crate) fn removed(self) -> Style {
        self.in_color(Color::Red)
    }

    /// Where in a file a change is.
    pub(crate) fn hunk(self) -> Style {
        self.in_color(Color::Cyan)
    }

    /// A key to press.
    pub(crate) fn key(self) -> Style {
        self.in_color(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    /// Code within text.
    pub(crate) fn code(self) -> Style {
        self.in_color(Color::Yellow)
    }

    /// Text that leads elsewhere.
    pub(crate) fn link(self) -> Style {
        self.in_color(Color::Blue)
            .add_modifier(Modifier::UNDERLINED)
    }

    /// A heading; 1 is the highest level.
    pub(crate) fn heading(self, level: u8) -> Style {
        let modifiers = match level {
            0 | 1 => Modifier::BOLD | Modifier::UNDERLINED,
            2 => Modifier::BOLD,
            _ => Modifier::BOLD | Modifier::ITALIC,
        };
        self.in_color(Color::Magenta).add_modifier(modifiers)
    }

    /// A quotation.
    pub(crate) fn quote(self) -> Style {
        self.in_color(Color::Green).add_modifier(Modifier::ITALIC)
    }

    fn in_color(self, color: Color) -> Style {
        if self.colored {
            Style::new().fg(color)
        } else {
            Style::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use ratatui::text::Span;

    fn all(palette: Palette) -> Vec<Style> {
        vec![
            palette.good(),
            palette.bad(),
            palette.warn(),
            palette.name(),
            palette.active(),
            palette.plain(),
            palette.strong(),
            palette.dim(),
            palette.selected(),
            palette.found(),
            palette.matched(),
            palette.border(false),
            palette.border(true),
            palette.added(),
            palette.removed(),
            palette.hunk(),
            palette.key(),
            palette.code(),
            palette.link(),
            palette.heading(1),
            palette.heading(2),
            palette.heading(3),
            palette.quote(),
        ]
    }

    #[test]
    fn colours_are_named_ones_that_any_background_bears() {
        let bearable = [
            Color::Red,
            Color::Green,
            Color::Yellow,
            Color::Blue,
            Color::Magenta,
            Color::Cyan,
        ];
        for style in all(Palette::new(true)) {
            assert_eq!(style.bg, None);
            assert!(
                style.fg.is_none_or(|color| bearable.contains(&color)),
                "{style:?}"
            );
        }
    }

    #[test]
    fn without_colours_only_modifiers_are_left() {
        for (with, without) in all(Palette::new(true))
            .into_iter()
            .zip(all(Palette::new(false)))
        {
            assert_eq!(without, Style { fg: None, ..with });
        }
    }

    #[test]
    fn a_chosen_row_is_of_one_colour() {
        let palette = Palette::new(true);
        let row = Line::from(vec![
            Span::styled("a", palette.bad()),
            Span::styled("b", palette.dim()),
        ]);
        let row = palette.choose(row);
        assert_eq!(row.style, palette.selected());
        let looks = row.spans.iter().map(|span| {
            let shown = span.style.add_modifier - span.style.sub_modifier;
            (span.style.fg, shown)
        });
        let want = [(None, Modifier::BOLD), (None, Modifier::empty())];
        assert_eq!(looks.collect::<Vec<_>>(), want);
    }

    #[test]
    fn what_is_chosen_or_focused_is_told_without_colour() {
        let palette = Palette::new(false);
        assert_ne!(palette.selected(), palette.plain());
        assert_ne!(palette.border(true), palette.border(false));
    }
}
