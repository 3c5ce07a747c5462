//! Panes of which one is shown, each under a tab: what the preview and the result screen share.

use ratatui::text::Line;

use super::keys::Action;
use super::step::{Step, Typing};
use super::tabs;
use super::text_pane::TextPane;

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

    /// The number of the pane that is shown.
    pub(crate) fn shown(&self) -> usize {
        self.shown
    }

    /// The pane that is shown.
    pub(crate) fn pane(&self) -> &TextPane {
        &self.panes[self.shown]
    }

    /// The pane that is shown.
    pub(crate) fn pane_mut(&mut self) -> &mut TextPane {
        &mut self.panes[self.shown]
    }

    /// What the pane that is shown is called in the name of a file.
    pub(crate) fn file_name(&self, change: &str) -> String {
        let title = self.titles[self.shown].to_lowercase().replace(' ', "-");
        format!("{change}-{title}")
    }

    /// Handles the keys that select a tab or search; gives none for all others.
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

    /// Handles the keys of the pane that is shown.
    pub(crate) fn act_on_pane(&mut self, action: Action) {
        match action {
            Action::Left => self.shown = self.shown.saturating_sub(1),
            Action::Right => self.shown = (self.shown + 1).min(N - 1),
            action => self.pane_mut().act(action),
        }
    }

    /// Searches for a text from now on.
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
        tabs::tabs(&self.titles, self.shown, columns.into())
    }
}
