//! Draws the run screen.

use jiff::Timestamp;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Borders, Paragraph};

use super::areas::Areas;
use super::header::beside;
use super::sidebar::{self, Mark, story_line};
use super::{Run, Tab};
use crate::tui::palette::{self, BAD, DIM};
use crate::tui::{tabbed, wrap};

/// The width of all tabs, and the least width that the corner leaves them.
const ALL_TABS: usize = 35;
const LEAST_TABS: usize = 16;

impl Run {
    pub(crate) fn draw(&self, frame: &mut Frame<'_>, area: Rect, now: Timestamp) {
        let now = self.clock(now);
        let areas = Areas::of(area, self);
        let header = self.header(areas.header, now);
        frame.render_widget(Paragraph::new(header), areas.header);
        let status = wrap::cut(&self.status(now), areas.status.width.into());
        frame.render_widget(Paragraph::new(status), areas.status);
        self.draw_stories(frame, &areas, now);
        draw_border(frame, areas.border, self.on_pane);
        self.draw_tabs(frame, areas.tabs);
        if areas.failure.height > 0 {
            let (width, rows) = (areas.failure.width.into(), areas.failure.height.into());
            let lines = self.failure_lines(width, rows);
            frame.render_widget(Paragraph::new(lines), areas.failure);
        }
        self.pane().draw(frame, areas.text, self.on_pane);
        for part in &areas.side {
            draw_border(frame, part.border, false);
            let title = tabbed::heading(part.tab.title(), false);
            frame.render_widget(Paragraph::new(title), part.title);
            self.pane_of(part.tab).draw(frame, part.text, false);
        }
    }

    fn draw_stories(&self, frame: &mut Frame<'_>, areas: &Areas, now: Timestamp) {
        let width = usize::from(areas.stories.width);
        let title = self.stories_title(areas.stories.height.into(), width);
        frame.render_widget(Paragraph::new(title), areas.stories_title);
        let stories = self.progress.stories.iter().enumerate().skip(self.top);
        let lines: Vec<Line<'_>> = stories
            .take(areas.stories.height.into())
            .map(|(place, story)| {
                let is_doubtful = self.progress.is_doubtful(story);
                story_line(story, self.mark(place), is_doubtful, width, now)
            })
            .collect();
        frame.render_widget(Paragraph::new(lines), areas.stories);
        let (columns, rows) = (areas.story.width.into(), areas.story.height.into());
        let has_attempts = areas.has(Tab::Attempts);
        let lines = sidebar::lines(self, (columns, rows), has_attempts, now);
        frame.render_widget(Paragraph::new(lines), areas.story);
    }

    /// The heading of the list, and the place in it if not all stories fit.
    fn stories_title(&self, height: usize, width: usize) -> Line<'static> {
        let title = tabbed::heading("Stories", !self.on_pane);
        let count = self.progress.stories.len();
        if count <= height {
            return title;
        }
        let place = format!("{}/{count}", self.selected + 1);
        beside(&title, wrap::styled(place, DIM), width)
    }

    fn mark(&self, place: usize) -> Mark {
        match () {
            () if place != self.selected => Mark::None,
            () if self.on_pane => Mark::Selected,
            () => Mark::Cursor,
        }
    }

    /// What the agent is to repair, or why the attempt before the one that is shown failed, in at most
    /// this many rows; nothing if there is nothing of that.
    pub(super) fn failure_lines(&self, width: usize, most: usize) -> Vec<Line<'static>> {
        const HINT: &str = " (3\u{a0}shows\u{a0}all)";
        let Some(failed) = self.failure_before() else {
            return Vec::new();
        };
        let style = failed.style();
        let mark = if style == BAD { "✗" } else { "!" };
        let text = format!(" {mark} {}", failed.in_full());
        let hint = Span::styled(HINT, DIM);
        let whole = Line::from(vec![Span::styled(text, style), hint.clone()]);
        let mut lines = wrap::wrap(&whole, width, 3);
        if lines.len() > most {
            lines.truncate(most);
            if let Some(last) = lines.last_mut() {
                last.spans.push(Span::styled(wrap::MISSING, style));
                *last = wrap::cut(last, width.saturating_sub(wrap::columns(HINT)));
                last.spans.push(hint);
            }
        }
        lines
    }

    fn draw_tabs(&self, frame: &mut Frame<'_>, area: Rect) {
        let width = usize::from(area.width);
        let mut parts = self.corner();
        let width_of = |parts: &[String]| match parts {
            [] => 0,
            parts => wrap::columns(&parts.join(" · ")) + 1,
        };
        // The place in the pane is shown only if all tabs still fit.
        if let Some(place) = self.pane_place() {
            parts.insert(0, place);
            if parts.len() > 1 && width_of(&parts) + ALL_TABS > width {
                parts.remove(0);
            }
        }
        while !parts.is_empty() && width_of(&parts) + LEAST_TABS > width {
            parts.remove(0);
        }
        let room = width.saturating_sub(width_of(&parts));
        let mut line = tabbed::titles(&Tab::TITLES, self.tab.place(), room, self.on_pane);
        if !parts.is_empty() {
            let right = Span::styled(parts.join(" · "), DIM);
            line = beside(&line, Line::from(right), width);
        }
        frame.render_widget(Paragraph::new(line), area);
    }

    /// The place of the cursor in the pane.
    fn pane_place(&self) -> Option<String> {
        match self.tab {
            Tab::Agent => self.agent.place(),
            _ => self.pane().place(),
        }
    }

    /// The attempt, and the key that follows; what matters most comes last.
    fn corner(&self) -> Vec<String> {
        let mut parts = Vec::new();
        if self.is_zoomed
            && let Some(story) = self.story()
        {
            parts.push(format!("story {}", story.id));
        }
        if matches!(self.tab, Tab::Agent | Tab::Diff)
            && let Some(story) = self.story()
            && let Some(attempt) = self.shown_attempt()
            && story.attempts.len() > 1
        {
            parts.push(format!("attempt {}", attempt.number));
        }
        if !self.following && !self.stands_still() && self.progress.ended.is_none() {
            parts.push("f follows".to_owned());
        }
        parts
    }
}

/// The line left of a pane, which is thick if the pane has the focus.
fn draw_border(frame: &mut Frame<'_>, area: Rect, focused: bool) {
    let kind = if focused {
        BorderType::Thick
    } else {
        BorderType::Plain
    };
    let line = Block::new().borders(Borders::LEFT).border_type(kind);
    frame.render_widget(line.border_style(palette::border(focused)), area);
}
