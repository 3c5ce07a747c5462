//! The box of the settings: one row each, and below them what is to be known before a start.

use std::ops::Range;

use ratatui::text::{Line, Span};

use super::checked;
use super::editor::{Editor, LABEL};
use super::fields::{Fields, Shown};
use crate::tui::message::Previewed;
use crate::tui::palette::{ACTIVE, BAD, DIM, STRONG, WARN};
use crate::tui::wrap;
use crate::ui::text::clean;
use ralph_run::preview::{Remark, Weight};

/// All lines of the box.
pub(super) struct Side {
    lines: Vec<Line<'static>>,
    /// The lines of the selected setting, which stay visible; none where another part has the focus.
    selected: Option<Range<usize>>,
    /// The column of the cursor of an input, in the first of those lines.
    cursor: Option<usize>,
}

impl Side {
    pub(super) fn new(
        fields: &Fields,
        data: &Previewed,
        has_focus: bool,
        editor: Option<&Editor>,
        columns: usize,
    ) -> Self {
        let columns = columns.max(8);
        let mut side = Self {
            lines: Vec::new(),
            selected: None,
            cursor: None,
        };
        for field in fields.all() {
            let is_selected = has_focus && field == fields.current();
            let first = side.lines.len();
            if let Some(editor) = editor.filter(|_| is_selected) {
                let drawn = editor.draw(columns);
                side.lines.extend(drawn.lines);
                side.cursor = Some(drawn.cursor);
            } else {
                let shown = fields.shown(field, &data.settings);
                side.lines.push(field_line(&shown, is_selected, columns));
            }
            if is_selected {
                side.selected = Some(first..side.lines.len());
            }
        }
        side.lines.push(Line::default());
        let remarks = data.remarks.iter().cloned().chain(checked::remark(data));
        let remarks: Vec<_> = remarks.map(|it| remark_lines(&it, columns)).collect();
        if remarks.is_empty() {
            side.lines.pop();
        }
        side.lines.extend(remarks.into_iter().flatten());
        side
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// How far the lines may be scrolled below the last setting.
    pub(super) fn most_scroll(&self, height: usize) -> usize {
        let hidden = self.lines.len().saturating_sub(height);
        hidden.saturating_sub(self.first(height))
    }

    /// The first line that is shown, so that the selected setting is, above a line for the rest.
    fn first(&self, height: usize) -> usize {
        if self.lines.len() <= height {
            return 0;
        }
        let selected = self.selected.clone().unwrap_or(0..0);
        let room = height.saturating_sub(usize::from(self.has_room_for_more(height)));
        selected.end.saturating_sub(room).min(selected.start)
    }

    /// Whether the selected setting leaves a line that says how much more there is.
    fn has_room_for_more(&self, height: usize) -> bool {
        self.selected.as_ref().is_none_or(|it| it.len() < height)
    }

    /// The lines that fit into the given rows, and where the cursor of an input is among them.
    pub(super) fn window(
        self,
        height: usize,
        scroll: usize,
    ) -> (Vec<Line<'static>>, Option<(u16, u16)>) {
        let first = self.first(height) + scroll;
        let says_more = self.has_room_for_more(height);
        let at = self.selected.as_ref().zip(self.cursor);
        let at = at.and_then(|(selected, column)| {
            let row = selected.start.checked_sub(first)?;
            Some((u16::try_from(column).ok()?, u16::try_from(row).ok()?))
        });
        let keys = match self.selected {
            Some(_) => "↓",
            None => "S, then ↓",
        };
        let mut lines: Vec<Line<'static>> = self.lines.into_iter().skip(first).collect();
        if lines.len() > height && says_more {
            let more = lines.len() + 1 - height;
            lines.truncate(height.saturating_sub(1));
            lines.push(wrap::styled(format!("… {more} more: {keys}"), DIM));
        }
        (lines, at.filter(|(_, row)| usize::from(*row) < height))
    }
}

fn field_line(shown: &Shown, selected: bool, columns: usize) -> Line<'static> {
    let mark = if selected { "▌" } else { " " };
    let value = if shown.changed {
        Span::styled(format!("{} *", clean(&shown.value)), WARN)
    } else {
        Span::raw(clean(&shown.value))
    };
    let line = Line::from(vec![
        Span::styled(mark, ACTIVE),
        Span::styled(format!("{:LABEL$}", shown.label), DIM),
        value,
    ]);
    let line = wrap::cut(&line, columns);
    if selected { line.style(STRONG) } else { line }
}

fn remark_lines(remark: &Remark, columns: usize) -> Vec<Line<'static>> {
    let (mark, style) = match remark.weight {
        Weight::Stops => ("✗ ", BAD),
        Weight::Warns => ("! ", WARN),
        Weight::Tells => ("· ", DIM),
    };
    let text = wrap::styled(format!("{mark}{}", clean(&remark.text)), style);
    let mut lines = wrap::wrap(&text, columns, 2);
    if let Some(hint) = &remark.hint {
        let hint = Line::from(format!("  → {}", clean(hint)));
        lines.extend(wrap::wrap(&hint, columns, 4));
    }
    lines
}
