//! Panes under tabs, which the preview and the result screen share; and the line of tab titles, which
//! the run screen uses too.

use ratatui::Frame;
use ratatui::layout::Constraint::{Length, Min};
use ratatui::layout::{Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::keys::Action;
use super::palette::{DIM, PLAIN, SELECTED, STRONG};
use super::step::{Step, Typing};
use super::text_pane::TextPane;
use super::wrap;

/// One pane per title.
#[derive(Debug)]
pub(crate) struct Tabbed<const N: usize> {
    titles: [&'static str; N],
    shown: usize,
    pub(crate) panes: [TextPane; N],
    needle: String,
}

impl<const N: usize> Tabbed<N> {
    pub(crate) fn new(titles: [&'static str; N]) -> Self {
        Self {
            titles,
            shown: 0,
            panes: std::array::from_fn(|_| TextPane::default()),
            needle: String::new(),
        }
    }

    /// The index of the pane that is shown.
    pub(crate) fn shown(&self) -> usize {
        self.shown
    }

    pub(crate) fn pane(&self) -> &TextPane {
        &self.panes[self.shown]
    }

    pub(crate) fn pane_mut(&mut self) -> &mut TextPane {
        &mut self.panes[self.shown]
    }

    /// The file name of an export of the current pane, without extension.
    pub(crate) fn file_name(&self, change: &str) -> String {
        let title = self.titles[self.shown].to_lowercase().replace(' ', "-");
        format!("{change}-{title}")
    }

    /// Handles the actions that select a tab or search; returns none for all others.
    pub(crate) fn act(&mut self, action: Action) -> Option<Step> {
        match action {
            Action::NextTab => self.shown = (self.shown + 1) % N,
            Action::PreviousTab => self.shown = (self.shown + N - 1) % N,
            Action::Tab(number) => self.shown = (number - 1).min(N - 1),
            Action::Search => return Some(Step::Type(Typing::Search)),
            Action::NextHit => return Some(self.find(true)),
            Action::PreviousHit => return Some(self.find(false)),
            _ => return None,
        }
        Some(Step::Stay)
    }

    /// Handles the other actions, on the current pane.
    pub(crate) fn act_on_pane(&mut self, action: Action) {
        match action {
            Action::Left => self.shown = self.shown.saturating_sub(1),
            Action::Right => self.shown = (self.shown + 1).min(N - 1),
            action => self.pane_mut().act(action),
        }
    }

    /// Sets the text to search for in all panes, and goes to its next place in this one.
    pub(crate) fn search(&mut self, needle: &str) -> Step {
        needle.clone_into(&mut self.needle);
        for pane in &mut self.panes {
            pane.set_needle(needle);
        }
        self.find(true)
    }

    fn find(&mut self, forward: bool) -> Step {
        if self.pane_mut().find(forward) {
            Step::Stay
        } else {
            Step::Say(format!("`{}` is not in this pane", self.needle))
        }
    }

    /// The titles in one line.
    pub(crate) fn titles(&self, columns: u16) -> Line<'static> {
        titles(&self.titles, self.shown, columns.into(), true)
    }
}

/// The pane of a tab that is shown beside the one the user chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Beside {
    /// The place of the tab.
    pub(crate) tab: usize,
    title: Rect,
    pub(crate) text: Rect,
}

impl Beside {
    pub(crate) fn new(tab: usize, area: Rect) -> Self {
        let [title, text] = Layout::vertical([Length(1), Min(0)]).areas(area);
        Self { tab, title, text }
    }

    pub(crate) fn draw(&self, frame: &mut Frame<'_>, title: &str, pane: &TextPane) {
        frame.render_widget(Paragraph::new(heading(title, false)), self.title);
        pane.draw(frame, self.text, false);
    }
}

/// The title of a part of the screen; the one with the focus gets the keys.
pub(crate) fn heading(title: &str, focused: bool) -> Line<'static> {
    wrap::styled(format!(" {title} "), title_style(focused))
}

fn title_style(focused: bool) -> Style {
    if focused { SELECTED } else { STRONG }
}

/// The titles, the selected one in brackets; it is reversed if its pane has the focus.
///
/// If not all fit, `‹` and `›` replace those that are farthest from the selected one.
pub(crate) fn titles(
    titles: &[&str],
    selected: usize,
    columns: usize,
    focused: bool,
) -> Line<'static> {
    let Some(last) = titles.len().checked_sub(1) else {
        return Line::default();
    };
    let selected = selected.min(last);
    let (mut first, mut end) = (0, titles.len());
    while end - first > 1 && needed(titles, first, end) > columns {
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
        spans.push(if index == selected {
            Span::styled(format!("[{title}]"), title_style(focused))
        } else {
            Span::styled(format!(" {title} "), PLAIN)
        });
    }
    if end < titles.len() {
        spans.push(Span::styled("›", DIM));
    }
    wrap::cut(&Line::from(spans), columns)
}

/// The columns that the titles from `first` up to `end` take, with the marks for the others.
fn needed(titles: &[&str], first: usize, end: usize) -> usize {
    let marks = usize::from(first > 0) + usize::from(end < titles.len());
    let shown = titles[first..end].iter();
    marks + shown.map(|title| wrap::columns(title) + 2).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const TITLES: [&str; 5] = ["Agent", "Diff", "Attempts", "Gates", "Log"];

    #[track_caller]
    fn case(selected: usize, columns: usize, want: &str) {
        let line = titles(&TITLES, selected, columns, true);
        assert_eq!(line.to_string(), want);
    }

    #[test]
    fn the_selected_one_is_in_brackets() {
        case(0, 80, "[Agent] Diff  Attempts  Gates  Log ");
        case(1, 80, " Agent [Diff] Attempts  Gates  Log ");
        case(9, 80, " Agent  Diff  Attempts  Gates [Log]");
    }

    #[test]
    fn the_selected_title_is_visible_if_not_all_fit() {
        case(0, 20, "[Agent] Diff ›");
        case(2, 20, "‹ Diff [Attempts]›");
        case(4, 20, "‹ Gates [Log]");
        case(2, 8, "‹[Attem…");
        case(0, 0, "");
    }

    #[test]
    fn titles_may_be_missing_or_have_wide_characters() {
        let none: [&str; 0] = [];
        assert_eq!(titles(&none, 0, 10, true), Line::default());
        let line = titles(&["漢字", "仮名"], 0, 12, true);
        assert_eq!(line.to_string(), "[漢字] 仮名 ");
        let line = titles(&["漢字", "仮名"], 0, 11, true);
        assert_eq!(line.to_string(), "[漢字]›");
    }
}
