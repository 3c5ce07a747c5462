//! The prefixes of lines inside quotes, list items and code: bars, markers, indentation.

use ratatui::text::{Line, Span};

use crate::tui::wrap;

/// A quote, a list item or a code block.
#[derive(Debug)]
pub(super) struct Container {
    /// Before its first line, until that is written.
    first: Option<Span<'static>>,
    /// Before all its other lines.
    rest: Span<'static>,
}

impl Container {
    /// The same before every line.
    pub(super) fn every_line(bar: Span<'static>) -> Self {
        Self {
            first: None,
            rest: bar,
        }
    }

    /// Something before the first line, and as many columns before the others.
    pub(super) fn first_line(marker: Span<'static>) -> Self {
        Self {
            rest: Span::raw(" ".repeat(wrap::columns(&marker.content))),
            first: Some(marker),
        }
    }
}

/// All containers that are open, outermost first.
///
/// Together they take at most half of the columns: where they are nested deeper, the outermost
/// are not shown.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    open: Vec<Container>,
    most: usize,
}

impl Prefixes {
    pub(super) fn new(columns: usize) -> Self {
        Self {
            open: Vec::new(),
            most: (columns / 2).min(columns.saturating_sub(2)),
        }
    }

    pub(super) fn open(&mut self, container: Container) {
        self.open.push(container);
    }

    pub(super) fn close(&mut self) {
        self.open.pop();
    }

    /// Puts another marker before the first line of the innermost.
    pub(super) fn replace(&mut self, marker: Span<'static>) {
        if let Some(innermost) = self.open.last_mut()
            && innermost.first.is_some()
        {
            *innermost = Container::first_line(marker);
        }
    }

    /// Whether the innermost has no line yet.
    pub(super) fn is_waiting(&self) -> bool {
        self.open.last().is_some_and(|it| it.first.is_some())
    }

    /// The width of all that are shown.
    pub(super) fn columns(&self) -> usize {
        width(&self.shown(|container| container.rest.clone()))
    }

    /// The prefix of the next line, and that of the lines after it, of the same width.
    pub(super) fn take(&mut self) -> (Vec<Span<'static>>, Vec<Span<'static>>) {
        let rest = self.shown(|container| container.rest.clone());
        let first = self.shown(|container| {
            let first = container.first.clone();
            first.unwrap_or_else(|| container.rest.clone())
        });
        for container in &mut self.open {
            container.first = None;
        }
        (first, rest)
    }

    /// A blank line inside all of them.
    pub(super) fn blank(&self) -> Line<'static> {
        let mut spans = self.shown(|container| container.rest.clone());
        while spans
            .last()
            .is_some_and(|span| span.content.trim().is_empty())
        {
            spans.pop();
        }
        if let Some(last) = spans.last_mut() {
            last.content = last.content.trim_end().to_owned().into();
        }
        spans.into()
    }

    fn shown(&self, part: impl Fn(&Container) -> Span<'static>) -> Vec<Span<'static>> {
        let mut spans = Vec::new();
        let mut used = 0;
        for container in self.open.iter().rev() {
            let span = part(container);
            used += wrap::columns(&span.content);
            if used > self.most {
                break;
            }
            spans.push(span);
        }
        spans.reverse();
        spans
    }
}

/// How many columns spans take.
pub(super) fn width(spans: &[Span<'_>]) -> usize {
    spans.iter().map(|span| wrap::columns(&span.content)).sum()
}
