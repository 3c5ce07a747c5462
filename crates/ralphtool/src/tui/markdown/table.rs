//! A table fitted to a width.

use pulldown_cmark::Alignment;
use ratatui::text::{Line, Span};

use crate::tui::palette::DIM;
use crate::tui::wrap;

/// Between two columns.
const BETWEEN: &str = " │ ";
/// The same in the line below the head.
const CROSSING: &str = "─┼─";
/// No column is narrower.
const NARROWEST: usize = 3;

/// The cells of a table, the head first.
#[derive(Default)]
pub(super) struct Table {
    pub(super) alignments: Vec<Alignment>,
    pub(super) rows: Vec<Vec<Line<'static>>>,
    /// The row that is being parsed.
    pub(super) row: Vec<Line<'static>>,
}

impl Table {
    /// Its lines, with each cell wrapped in its column.
    ///
    /// If not even the narrowest columns fit, the cells of a row follow each other.
    pub(super) fn fitted(&self, columns: usize) -> Vec<Line<'static>> {
        let Some(widths) = self.widths(columns) else {
            return self.rows.iter().map(|row| joined(row)).collect();
        };
        let mut lines = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            lines.extend(self.row_lines(row, &widths));
            if index == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                let rule = Span::styled(rule.join(CROSSING), DIM);
                lines.push(Line::from(rule));
            }
        }
        lines
    }

    /// The width of each column: that of its widest cell; if there is no room, the widest columns
    /// shrink.
    fn widths(&self, columns: usize) -> Option<Vec<usize>> {
        let count = self.alignments.len();
        let between = wrap::columns(BETWEEN) * count.saturating_sub(1);
        let room = columns.checked_sub(between)?;
        if count == 0 || room < count * NARROWEST {
            return None;
        }
        let mut widths = vec![NARROWEST; count];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(wrap::width(cell)).min(room);
            }
        }
        let mut total: usize = widths.iter().sum();
        while total > room {
            let widest = widths.iter_mut().max()?;
            *widest -= 1;
            total -= 1;
        }
        Some(widths)
    }

    fn row_lines(&self, row: &[Line<'static>], widths: &[usize]) -> Vec<Line<'static>> {
        let cells = row.iter().zip(widths);
        let cells: Vec<Vec<Line<'static>>> = cells
            .map(|(cell, width)| wrap::wrap(cell, *width, 0))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let blank = Line::default();
        let mut lines = Vec::new();
        for at in 0..height {
            let mut spans = Vec::new();
            for (column, width) in widths.iter().enumerate() {
                if column > 0 {
                    spans.push(Span::styled(BETWEEN, DIM));
                }
                let cell = cells.get(column).and_then(|cell| cell.get(at));
                let alignment = self.alignments.get(column).copied();
                let alignment = alignment.unwrap_or(Alignment::None);
                spans.extend(aligned(cell.unwrap_or(&blank), *width, alignment));
            }
            lines.push(without_trailing_spaces(spans));
        }
        lines
    }
}

fn aligned(cell: &Line<'static>, width: usize, alignment: Alignment) -> Vec<Span<'static>> {
    let missing = width.saturating_sub(wrap::width(cell));
    let before = match alignment {
        Alignment::None | Alignment::Left => 0,
        Alignment::Center => missing / 2,
        Alignment::Right => missing,
    };
    let mut spans = vec![Span::raw(" ".repeat(before))];
    spans.extend(cell.spans.iter().cloned());
    spans.push(Span::raw(" ".repeat(missing - before)));
    spans.retain(|span| !span.content.is_empty());
    spans
}

fn without_trailing_spaces(mut spans: Vec<Span<'static>>) -> Line<'static> {
    let is_blank = |span: &Span<'_>| span.content.chars().all(|c| c == ' ');
    while spans.last().is_some_and(is_blank) {
        spans.pop();
    }
    Line::from(spans)
}

fn joined(row: &[Line<'static>]) -> Line<'static> {
    let mut spans = Vec::new();
    for (index, cell) in row.iter().enumerate() {
        if index > 0 {
            spans.push(Span::styled(BETWEEN, DIM));
        }
        spans.extend(cell.spans.iter().cloned());
    }
    Line::from(spans)
}
