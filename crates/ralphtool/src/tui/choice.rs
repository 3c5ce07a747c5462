//! A dialog: a box over the screen with a text and the keys that answer it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Padding, Paragraph, Widget};

use super::wrap;
use crate::tui::palette::{DIM, KEY, STRONG, border};

/// Borders and a space on either side of the text.
const FRAME: usize = 4;

/// A dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    /// In its upper border.
    pub(crate) title: &'static str,
    /// Its text; wrapped here.
    pub(crate) body: Vec<Line<'static>>,
    /// Keys and what each does.
    pub(crate) keys: Vec<(&'static str, &'static str)>,
}

impl Choice {
    /// A question that only `y` answers with yes.
    pub(crate) fn yes_or_no(title: &'static str, text: String) -> Self {
        Self {
            title,
            body: vec![Line::from(text)],
            keys: vec![("y", "yes"), ("any other key", "no")],
        }
    }

    /// Draws it in the middle of an area, at most `columns` wide; returns where.
    ///
    /// If the body is too long, its end is missing; the keys are always visible.
    pub(crate) fn draw(&self, area: Rect, columns: usize, buffer: &mut Buffer) -> Rect {
        let room = columns.min(area.width.into()).saturating_sub(FRAME);
        let mut body: Vec<Line<'static>> = Vec::new();
        for line in &self.body {
            body.extend(wrap::wrap(line, room, 0));
        }
        let keys = self.key_lines(room);
        let rows = usize::from(area.height).saturating_sub(2);
        shorten(&mut body, rows.saturating_sub(keys.len() + 1));
        let mut lines = body;
        if !lines.is_empty() && !keys.is_empty() {
            lines.push(Line::default());
        }
        lines.extend(keys);
        let title = wrap::styled(format!(" {} ", self.title), STRONG);
        let title = wrap::cut(&title, room);
        let widest = lines.iter().chain([&title]).map(wrap::width).max();
        let place = centred(area, widest.unwrap_or(0) + FRAME, lines.len() + 2);
        draw_box(buffer, place, title, "", lines);
        place
    }

    fn key_lines(&self, columns: usize) -> Vec<Line<'static>> {
        let mut lines: Vec<Line<'static>> = Vec::new();
        for (key, meaning) in &self.keys {
            let answer = Line::from(vec![
                Span::styled(*key, KEY),
                Span::raw(format!(" {meaning}")),
            ]);
            match lines.last_mut() {
                Some(last) if wrap::width(last) + 3 + wrap::width(&answer) <= columns => {
                    last.spans.push(Span::raw("   "));
                    last.spans.extend(answer.spans);
                }
                Some(_) | None => lines.push(wrap::cut(&answer, columns)),
            }
        }
        lines
    }
}

/// Cuts a body that is too long, with a mark on its last line.
fn shorten(body: &mut Vec<Line<'static>>, rows: usize) {
    if body.len() <= rows {
        return;
    }
    body.truncate(rows.saturating_sub(1));
    if rows > 0 {
        body.push(wrap::styled(wrap::MISSING, DIM));
    }
}

/// Draws lines in a frame over the screen.
pub(crate) fn draw_box(
    buffer: &mut Buffer,
    place: Rect,
    title: Line<'_>,
    bottom: &str,
    lines: Vec<Line<'_>>,
) {
    Clear.render(place, buffer);
    clear_halves(buffer, place);
    let frame = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(border(true))
        .title(title)
        .title_bottom(bottom)
        .padding(Padding::horizontal(1));
    Paragraph::new(lines).block(frame).render(place, buffer);
}

/// A wide character left of a place reaches into it, and would be drawn over its border.
fn clear_halves(buffer: &mut Buffer, place: Rect) {
    let Some(left) = place.x.checked_sub(1) else {
        return;
    };
    for y in place.top()..place.bottom() {
        if let Some(cell) = buffer.cell_mut((left, y))
            && wrap::columns(cell.symbol()) > 1
        {
            cell.set_symbol(" ");
        }
    }
}

/// A rectangle in the middle of an area.
pub(crate) fn centred(area: Rect, columns: usize, rows: usize) -> Rect {
    let width = u16::try_from(columns).unwrap_or(u16::MAX).min(area.width);
    let height = u16::try_from(rows).unwrap_or(u16::MAX).min(area.height);
    Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::palette::PLAIN;
    use pretty_assertions::assert_eq;

    fn choice(body: &[&str]) -> Choice {
        Choice {
            title: "Stop",
            body: body
                .iter()
                .map(|text| Line::raw((*text).to_owned()))
                .collect(),
            keys: vec![("y", "stop it"), ("Esc", "return")],
        }
    }

    #[track_caller]
    fn case(choice: &Choice, (width, height): (u16, u16), columns: usize, want: &[&str]) {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::with_lines(vec!["x".repeat(width.into()); height.into()]);
        choice.draw(area, columns, &mut buffer);
        let rows: Vec<String> = (0..height)
            .map(|y| {
                let mut row = String::new();
                let mut x = 0;
                while x < width {
                    let symbol = buffer[(x, y)].symbol();
                    row.push_str(symbol);
                    x += u16::try_from(wrap::columns(symbol).max(1)).unwrap();
                }
                row
            })
            .collect();
        assert_eq!(rows, want);
    }

    #[test]
    fn a_dialog_is_centred_over_the_screen() {
        case(
            &choice(&["Stop 漢字?"]),
            (32, 7),
            60,
            &[
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
                "xxx╭ Stop ──────────────────╮xxx",
                "xxx│ Stop 漢字?             │xxx",
                "xxx│                        │xxx",
                "xxx│ y stop it   Esc return │xxx",
                "xxx╰────────────────────────╯xxx",
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            ],
        );
    }

    #[test]
    fn keys_are_visible_if_the_body_does_not_fit() {
        case(
            &choice(&["one two three four five six seven"]),
            (14, 7),
            60,
            &[
                "╭ Stop ──────╮",
                "│ one two    │",
                "│ …          │",
                "│            │",
                "│ y stop it  │",
                "│ Esc return │",
                "╰────────────╯",
            ],
        );
    }

    #[test]
    fn a_dialog_stays_within_any_area() {
        for width in 0..12 {
            for height in 0..8 {
                let area = Rect::new(0, 0, width, height);
                let mut buffer = Buffer::empty(area);
                let place = choice(&["漢字 and more"]).draw(area, 60, &mut buffer);
                assert_eq!(place.intersection(area), place);
            }
        }
    }

    #[test]
    fn a_wide_character_is_not_drawn_over_the_border() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 3));
        for y in 0..3 {
            buffer.set_string(0, y, "a漢字漢字漢", PLAIN);
        }
        let place = Rect::new(2, 0, 6, 3);
        draw_box(&mut buffer, place, Line::default(), "", Vec::new());
        let border: Vec<&str> = (0..3)
            .flat_map(|y| (1..3).map(move |x| (x, y)))
            .map(|place| buffer[place].symbol())
            .collect();
        assert_eq!(border, [" ", "╭", " ", "│", " ", "╰"]);
    }
}
