//! A pane of lines with a cursor: scrolls, follows the end, finds text.
//!
//! Lines belong to items, such as an attempt, a file of a diff or a paragraph: the whole item at the
//! cursor is marked, copied and expanded. What an item means is known to the owner of the pane only.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::keys::Action;
use crate::tui::palette::{ACTIVE, DIM, FOUND};

/// How many lines a turn of the wheel moves.
const WHEEL: usize = 3;

/// The columns of the cursor's mark, left of the text.
pub(crate) const GUTTER: u16 = 1;

/// The lines of one item.
pub(crate) type Item = Vec<Line<'static>>;

/// One line, and the number of its item.
#[derive(Debug, Clone)]
pub(crate) struct PaneLine {
    pub(crate) line: Line<'static>,
    item: usize,
}

/// Lines with a cursor.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextPane {
    lines: Vec<PaneLine>,
    cursor: usize,
    top: usize,
    following: bool,
    columns: usize,
    height: usize,
    needle: String,
}

impl TextPane {
    /// A pane that keeps showing its end.
    pub(crate) fn following() -> Self {
        Self {
            following: true,
            ..Self::default()
        }
    }

    /// Shows these items instead; the cursor stays at its line, or at the end if it follows.
    pub(crate) fn set(&mut self, items: Vec<Item>) {
        self.set_from(0, items);
    }

    /// Shows items whose first one has this number.
    pub(crate) fn set_from(&mut self, first: usize, items: Vec<Item>) {
        let items = (first..).zip(items);
        self.lines = items
            .flat_map(|(item, lines)| lines.into_iter().map(move |line| PaneLine { line, item }))
            .collect();
        self.settle();
    }

    /// Sets where the pane will be drawn; returns whether the width of its lines has changed.
    pub(crate) fn fit(&mut self, area: Rect) -> bool {
        if self.height != usize::from(area.height) {
            self.height = area.height.into();
            self.settle();
        }
        let columns = usize::from(area.width.saturating_sub(GUTTER)).max(8);
        std::mem::replace(&mut self.columns, columns) != columns
    }

    /// How wide its lines may be.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    pub(crate) fn height(&self) -> usize {
        self.height
    }

    /// An empty pane of this size that follows its end.
    pub(crate) fn emptied(&self) -> Self {
        Self {
            columns: self.columns,
            height: self.height,
            ..Self::following()
        }
    }

    pub(crate) fn lines(&self) -> &[PaneLine] {
        &self.lines
    }

    /// Whether it keeps showing its end.
    pub(crate) fn is_following(&self) -> bool {
        self.following
    }

    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    /// The item at the cursor.
    pub(crate) fn item(&self) -> Option<usize> {
        self.lines.get(self.cursor).map(|line| line.item)
    }

    /// How many lines of its item are above the cursor.
    pub(crate) fn line_in_item(&self) -> usize {
        let Some(item) = self.item() else {
            return 0;
        };
        let above = self.lines[..self.cursor].iter().rev();
        above.take_while(|line| line.item == item).count()
    }

    /// Moves the cursor to a line of an item, and stops following.
    pub(crate) fn go_to(&mut self, item: usize, line: usize) {
        self.following = false;
        let Some(first) = self.lines.iter().position(|it| it.item >= item) else {
            return;
        };
        let lines = self.lines[first..].iter();
        let of_item = lines.take_while(|it| it.item == item).count();
        self.cursor = first + line.min(of_item.saturating_sub(1));
        self.settle();
    }

    /// Scrolls so that as much of the item at the cursor is visible as fits, from its first line.
    pub(crate) fn reveal_item(&mut self) {
        let Some((first, end)) = self.lines_of_item() else {
            return;
        };
        let height = self.height.max(1);
        if end > self.top + height {
            self.top = first.min(end - height.min(end));
        }
        self.settle();
    }

    /// Goes back to the first line.
    pub(crate) fn rewind(&mut self) {
        self.cursor = 0;
        self.top = 0;
    }

    /// Follows the end from now on.
    pub(crate) fn follow(&mut self) {
        self.following = true;
        self.settle();
    }

    /// Moves, where the action is a movement.
    pub(crate) fn act(&mut self, action: Action) {
        let page = self.height.saturating_sub(1).max(1);
        match action {
            Action::Up => self.move_to(self.cursor.saturating_sub(1)),
            Action::Down => self.move_to(self.cursor.saturating_add(1)),
            Action::PageUp => self.page(page, true),
            Action::PageDown => self.page(page, false),
            Action::Home => self.move_to(0),
            Action::End => self.follow(),
            _ => {}
        }
    }

    /// Scrolls by a turn of the wheel.
    pub(crate) fn wheel(&mut self, up: bool) {
        self.page(WHEEL, up);
    }

    /// Scrolls the lines, and the cursor with them.
    fn page(&mut self, by: usize, up: bool) {
        let last_top = self.lines.len().saturating_sub(self.height.max(1));
        if up {
            self.following = false;
            self.top = self.top.saturating_sub(by);
            self.cursor = self.cursor.saturating_sub(by);
        } else {
            self.top = self.top.saturating_add(by).min(last_top);
            self.cursor = self.cursor.saturating_add(by);
        }
        self.settle();
    }

    fn move_to(&mut self, line: usize) {
        self.following = false;
        self.cursor = line;
        self.settle();
    }

    /// Moves the cursor and the first visible line into their bounds.
    fn settle(&mut self) {
        let last = self.lines.len().saturating_sub(1);
        self.cursor = if self.following {
            last
        } else {
            self.cursor.min(last)
        };
        let height = self.height.max(1);
        self.top = self.top.min(self.lines.len().saturating_sub(height));
        self.top = scrolled(self.top, self.cursor, height);
        if self.following {
            self.top = self.lines.len().saturating_sub(height);
        }
    }

    /// Sets the text that is searched for and highlighted; empty for none.
    pub(crate) fn set_needle(&mut self, needle: &str) {
        self.needle = needle.to_lowercase();
    }

    /// Goes to the next line with the text, wrapping around; returns whether there is one.
    pub(crate) fn find(&mut self, forward: bool) -> bool {
        if self.needle.is_empty() || self.lines.is_empty() {
            return false;
        }
        let count = self.lines.len();
        let found = (1..=count)
            .map(|step| {
                if forward {
                    (self.cursor + step) % count
                } else {
                    (self.cursor + count - step) % count
                }
            })
            .find(|index| self.has_needle(*index));
        if let Some(line) = found {
            self.move_to(line);
        }
        found.is_some()
    }

    /// Goes to the next line with the text in the item at the cursor; returns whether there is one.
    pub(crate) fn find_in_item(&mut self, forward: bool) -> bool {
        let Some((first, end)) = self.lines_of_item() else {
            return false;
        };
        let found = if forward {
            (self.cursor + 1..end).find(|line| self.has_needle(*line))
        } else {
            (first..self.cursor).rfind(|line| self.has_needle(*line))
        };
        found.is_some_and(|line| {
            self.move_to(line);
            true
        })
    }

    /// Goes to the first or last line with the text in the item at the cursor.
    pub(crate) fn find_edge_of_item(&mut self, first_line: bool) -> bool {
        let Some((first, end)) = self.lines_of_item() else {
            return false;
        };
        let mut lines = (first..end).filter(|line| self.has_needle(*line));
        let found = if first_line {
            lines.next()
        } else {
            lines.next_back()
        };
        found.is_some_and(|line| {
            self.move_to(line);
            true
        })
    }

    /// The first line of the item at the cursor, and the one after its last.
    fn lines_of_item(&self) -> Option<(usize, usize)> {
        let item = self.item()?;
        let first = self.cursor - self.line_in_item();
        let rest = self.lines[first..].iter();
        Some((
            first,
            first + rest.take_while(|line| line.item == item).count(),
        ))
    }

    fn has_needle(&self, line: usize) -> bool {
        let text = self.lines[line].line.to_string().to_lowercase();
        !self.needle.is_empty() && text.contains(&self.needle)
    }

    /// The whole text, without styles.
    pub(crate) fn text(&self) -> String {
        joined(self.lines.iter()) + "\n"
    }

    /// The text of the item at the cursor, without styles.
    pub(crate) fn text_of_item(&self) -> String {
        let item = self.item();
        joined(self.lines.iter().filter(|line| Some(line.item) == item))
    }

    /// Draws the visible lines, with a mark at the cursor if the pane has the focus.
    pub(crate) fn draw(&self, frame: &mut Frame<'_>, area: Rect, focused: bool) {
        let item = self.item();
        let shown = self.lines.iter().enumerate().skip(self.top);
        let lines: Vec<Line<'_>> = shown
            .take(usize::from(area.height))
            .map(|(index, pane_line)| {
                let mark = match () {
                    () if focused && index == self.cursor => Span::styled("▌", ACTIVE),
                    () if focused && Some(pane_line.item) == item => Span::styled("│", DIM),
                    () => Span::raw(" "),
                };
                let line = highlight(&pane_line.line, &self.needle, FOUND);
                let mut spans = vec![mark];
                spans.extend(line.spans);
                Line::from(spans).style(line.style)
            })
            .collect();
        frame.render_widget(Paragraph::new(lines), area);
    }

    /// The line of the cursor and how many there are, such as `12/340`, if they do not all fit.
    pub(crate) fn place(&self) -> Option<String> {
        (self.lines.len() > self.height.max(1))
            .then(|| format!("{}/{}", self.cursor + 1, self.lines.len()))
    }
}

fn joined<'a>(lines: impl Iterator<Item = &'a PaneLine>) -> String {
    let lines: Vec<String> = lines
        .map(|it| it.line.to_string().trim_end().to_owned())
        .collect();
    lines.join("\n")
}

/// The first visible line, moved as little as needed to make the selected one visible.
pub(crate) fn scrolled(top: usize, selected: usize, height: usize) -> usize {
    top.clamp((selected + 1).saturating_sub(height.max(1)), selected)
}

/// The line with every match in this style.
fn highlight(line: &Line<'static>, needle: &str, style: Style) -> Line<'static> {
    if needle.is_empty() {
        return line.clone();
    }
    let mut spans = Vec::new();
    for span in &line.spans {
        let text = span.content.as_ref();
        let lower = text.to_lowercase();
        // If lower case has another length, byte positions do not match: the span stays as it is.
        if lower.len() != text.len() || !lower.contains(needle) {
            spans.push(span.clone());
            continue;
        }
        let mut rest = 0;
        for (at, hit) in lower.match_indices(needle) {
            let (Some(before), Some(found)) = (text.get(rest..at), text.get(at..at + hit.len()))
            else {
                continue;
            };
            spans.push(Span::styled(before.to_owned(), span.style));
            spans.push(Span::styled(found.to_owned(), span.style.patch(style)));
            rest = at + hit.len();
        }
        spans.push(Span::styled(
            text.get(rest..).unwrap_or_default().to_owned(),
            span.style,
        ));
    }
    Line::from(spans).style(line.style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn pane(count: usize, height: u16) -> TextPane {
        let mut pane = TextPane::default();
        fit(&mut pane, height);
        let line = |number: usize| Line::from(format!("line {number}"));
        let lines: Vec<_> = (0..count).map(line).collect();
        pane.set(lines.chunks(2).map(<[_]>::to_vec).collect());
        pane
    }

    fn fit(pane: &mut TextPane, height: u16) {
        pane.fit(Rect::new(0, 0, 20, height));
    }

    fn place(pane: &TextPane) -> (usize, usize) {
        (pane.top, pane.cursor)
    }

    #[test]
    fn the_cursor_stays_visible() {
        let mut pane = pane(10, 4);
        for _ in 0..5 {
            pane.act(Action::Down);
        }
        assert_eq!(place(&pane), (2, 5));
        pane.act(Action::PageUp);
        assert_eq!(place(&pane), (0, 2));
        pane.act(Action::End);
        assert_eq!(place(&pane), (6, 9));
        pane.act(Action::Home);
        assert_eq!(place(&pane), (0, 0));
        pane.act(Action::Up);
        assert_eq!(place(&pane), (0, 0));
    }

    #[test]
    fn it_follows_until_the_user_moves_up() {
        let mut pane = TextPane::following();
        fit(&mut pane, 3);
        let lines = |count: usize| vec![vec![Line::from("x")]; count];
        pane.set(lines(10));
        assert_eq!(place(&pane), (7, 9));
        pane.set(lines(20));
        assert_eq!(place(&pane), (17, 19));
        pane.wheel(true);
        pane.set(lines(30));
        assert_eq!(place(&pane), (14, 16));
        pane.act(Action::End);
        pane.set(lines(40));
        assert_eq!(place(&pane), (37, 39));
    }

    #[test]
    fn a_search_wraps_around() {
        let mut pane = pane(12, 4);
        pane.set_needle("LINE 1");
        assert!(pane.find(true));
        assert_eq!(pane.cursor(), 1);
        assert!(pane.find(true));
        assert_eq!(pane.cursor(), 10);
        assert!(pane.find(true));
        assert!(pane.find(true));
        assert_eq!(pane.cursor(), 1);
        assert!(pane.find(false));
        assert_eq!(pane.cursor(), 11);
        pane.set_needle("nothing like it");
        assert!(!pane.find(true));
        assert_eq!(pane.cursor(), 11);
    }

    #[test]
    fn an_item_of_several_lines_is_copied_whole() {
        let mut pane = pane(10, 4);
        pane.go_to(3, 1);
        assert_eq!((pane.cursor(), pane.line_in_item()), (7, 1));
        assert_eq!(pane.text_of_item(), "line 6\nline 7");
    }

    #[test]
    fn an_expanded_item_is_visible() {
        let mut pane = TextPane::default();
        fit(&mut pane, 4);
        let item = |lines: usize| vec![Line::from("x"); lines];
        pane.set([1, 1, 1, 1, 1, 3, 1, 1, 1, 1].map(item).to_vec());
        pane.go_to(5, 0);
        assert_eq!(place(&pane), (2, 5));
        pane.reveal_item();
        assert_eq!(place(&pane), (4, 5));
        // One that does not fit is visible from its start.
        pane.set([1, 1, 1, 9].map(item).to_vec());
        pane.go_to(3, 0);
        pane.reveal_item();
        assert_eq!(place(&pane), (3, 3));
    }

    #[test]
    fn matches_are_highlighted_in_any_case() {
        let line = Line::from("Find me, find ME");
        let hit = Style::new().reversed();
        let spans: Vec<(String, bool)> = highlight(&line, "find", hit)
            .spans
            .into_iter()
            .map(|span| (span.content.into_owned(), span.style == hit))
            .filter(|(text, _)| !text.is_empty())
            .collect();
        let want = [
            ("Find", true),
            (" me, ", false),
            ("find", true),
            (" ME", false),
        ];
        assert_eq!(spans, want.map(|(text, is_hit)| (text.to_owned(), is_hit)));
    }
}
