//! The help: every key of the screen below it.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::choice::{centred, draw_box};
use super::keys::{self, Place};
use super::wrap;
use crate::tui::palette::{KEY, STRONG};
use crate::ui::text::pad;

/// How wide the keys are.
const KEYS: usize = 12;

/// The highest index of a line that may be at the top of the help.
pub(crate) fn last_top(place: Place, screen: Rect) -> usize {
    let area = area(screen);
    let height = usize::from(area.height.saturating_sub(2));
    lines(place, area).len().saturating_sub(height)
}

/// Draws the help over a screen, from the line `top` on.
pub(crate) fn draw(
    frame: &mut Frame<'_>,
    screen: Rect,
    place: Place,
    is_read_only: bool,
    top: usize,
) {
    let mut area = area(screen);
    let lines = lines(place, area);
    let needed = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    area.height = area.height.min(needed);
    let has_more = lines.len() > top + usize::from(area.height.saturating_sub(2));
    let title = if is_read_only {
        " Keys (read-only: another terminal steers the run) "
    } else {
        " Keys "
    };
    let more = if has_more { " ↓ more " } else { "" };
    let shown = lines.into_iter().skip(top).collect();
    let title = wrap::styled(title, STRONG);
    draw_box(frame.buffer_mut(), area, title, more, shown);
}

fn lines(place: Place, area: Rect) -> Vec<Line<'static>> {
    let columns = usize::from(area.width.saturating_sub(4)).max(8);
    keys::at(place)
        .filter(|binding| !binding.shown.is_empty())
        .flat_map(|binding| {
            let line = Line::from(vec![
                Span::styled(pad(binding.shown, KEYS), KEY),
                Span::raw(binding.does),
            ]);
            wrap::wrap(&line, columns, KEYS)
        })
        .collect()
}

/// The area of the help on a screen.
fn area(screen: Rect) -> Rect {
    // In a narrow margin, only the first letters of the screen would be visible.
    let width = if screen.width < 84 { screen.width } else { 78 };
    let height = screen.height.saturating_sub(2).max(3).min(screen.height);
    centred(screen, width.into(), height.into())
}
