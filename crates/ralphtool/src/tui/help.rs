//! The help: every key of the screen below it, in groups, in two columns where there is room.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::choice::{centred, draw_box};
use super::keys::{self, Group, Place};
use super::wrap;
use crate::tui::palette::{KEY, STRONG};
use crate::ui::text::pad;

/// How wide the keys are.
const KEYS: usize = 12;

/// From this width of the screen on there are two columns.
const WIDE: u16 = 116;

/// The columns between two columns.
const GAP: usize = 3;

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
        " Keys (read-only: another terminal controls the run) "
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
    if area.width < WIDE - 4 {
        let mut lines = Vec::new();
        for group in Group::ALL {
            lines.extend(group_lines(place, group, columns));
        }
        lines.pop();
        return lines;
    }
    let each = (columns - GAP) / 2;
    let [mut left, mut right] = [[Group::Move, Group::Leave], [Group::Steer, Group::Look]].map(
        |groups| -> Vec<Line<'static>> {
            let groups = groups.into_iter();
            groups
                .flat_map(|group| group_lines(place, group, each))
                .collect()
        },
    );
    let rows = left.len().max(right.len()).saturating_sub(1);
    left.resize(rows, Line::default());
    right.resize(rows, Line::default());
    left.into_iter()
        .zip(right)
        .map(|(left, right)| {
            let mut line = wrap::fit(&left, each + GAP);
            line.spans.extend(right.spans);
            line
        })
        .collect()
}

/// The heading of a group, its keys at a place, and an empty line; nothing if it has no keys there.
fn group_lines(place: Place, group: Group, columns: usize) -> Vec<Line<'static>> {
    let bindings = keys::at(place).filter(|it| it.group == group && !it.shown.is_empty());
    let mut lines: Vec<Line<'static>> = bindings
        .flat_map(|binding| {
            let line = Line::from(vec![
                Span::styled(pad(binding.shown, KEYS), KEY),
                Span::raw(binding.does),
            ]);
            wrap::wrap(&line, columns, KEYS)
        })
        .collect();
    if !lines.is_empty() {
        lines.insert(0, wrap::styled(group.title(), STRONG));
        lines.push(Line::default());
    }
    lines
}

/// The area of the help on a screen.
fn area(screen: Rect) -> Rect {
    // In a narrow margin, only the first letters of the screen would be visible.
    let width = match screen.width {
        ..84 => screen.width,
        84..WIDE => 78,
        WIDE.. => screen.width.min(150) - 4,
    };
    let height = screen.height.saturating_sub(2).max(3).min(screen.height);
    centred(screen, width.into(), height.into())
}
