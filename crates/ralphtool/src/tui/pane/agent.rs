//! What an agent says and does: a window of its transcript, which stays on disk.
//!
//! While the pane follows, the window is the end of the transcript, and is queried again when the
//! agent has said more. Otherwise the pane queries other parts when the cursor comes near the border
//! of its window.

use std::collections::BTreeMap;

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::tui::keys::Action;
use crate::tui::markdown;
use crate::tui::message::{Needle, Part, Query, TranscriptId, Window};
use crate::tui::palette::{BAD, DIM, ITALIC, NAME, WARN};
use crate::tui::text_pane::{Item, TextPane};
use crate::tui::wrap;
use crate::ui::text::clean;
use crate::ui::words;
use ralph_agents::agent_event::AgentEvent;
use ralph_agents::transcript::{Entry, Source};

/// How many more entries than visible lines are queried.
const SPARE: usize = 8;

/// How many lines of an agent's reasoning are shown until it is expanded.
const THINKING_LINES: usize = 4;

/// How many lines of an expanded entry are shown.
const DETAIL_LINES: usize = 400;

/// The pane of one transcript.
#[derive(Debug, Default)]
pub(crate) struct AgentPane {
    transcript: Option<TranscriptId>,
    pub(crate) text: TextPane,
    entries: Vec<Entry>,
    total: usize,
    /// Expanded entries, each with its full text once that has been received.
    expanded: BTreeMap<usize, Vec<String>>,
    /// Rendered entries by their number, each with the length of the text that was rendered.
    rendered: BTreeMap<usize, (usize, Vec<Line<'static>>)>,
    /// Whether the terminal shows colours.
    colored: bool,
    /// The transcript has grown since the window was queried.
    stale: bool,
    /// A query is not answered yet.
    waiting: bool,
    /// The entry to go to when a window with it arrives.
    destination: Option<usize>,
    problem: Option<String>,
}

impl AgentPane {
    /// A pane without a transcript.
    pub(crate) fn new(colored: bool) -> Self {
        Self {
            text: TextPane::following(),
            colored,
            ..Self::default()
        }
    }

    pub(crate) fn transcript(&self) -> Option<&TranscriptId> {
        self.transcript.as_ref()
    }

    /// Shows a transcript, from its end.
    pub(crate) fn show(&mut self, transcript: Option<TranscriptId>) {
        if self.transcript == transcript {
            return;
        }
        *self = Self {
            text: self.text.emptied(),
            colored: self.colored,
            stale: transcript.is_some(),
            transcript,
            ..Self::default()
        };
        self.lay_out();
    }

    /// The transcript may have grown.
    pub(crate) fn grew(&mut self) {
        self.stale = true;
    }

    pub(crate) fn fit(&mut self, area: Rect) {
        let is_resized = self.text.height() != usize::from(area.height);
        self.stale |= is_resized && self.transcript.is_some();
        if self.text.fit(area) {
            self.rendered.clear();
            self.lay_out();
        }
    }

    /// A query for the part that is missing, unless one is not answered yet.
    pub(crate) fn query(&mut self) -> Option<Query> {
        let transcript = self.transcript.clone()?;
        if self.waiting {
            return None;
        }
        let part = self.missing()?;
        self.waiting = true;
        self.stale = false;
        Some(Query::Window(transcript, part))
    }

    fn missing(&self) -> Option<Part> {
        if let Some(entry) = self.destination {
            return Some(self.around(entry));
        }
        if self.text.is_following() {
            return self.stale.then_some(Part::Last(self.text.height() + SPARE));
        }
        let (first, end) = (self.first(), self.first() + self.entries.len());
        let cursor = self.text.cursor();
        let below = self.text.lines().len().saturating_sub(cursor);
        let near_top = cursor < self.text.height() && first > 0;
        let near_end = below < self.text.height() && end < self.total;
        let here = self.text.item().unwrap_or(first);
        (near_top || near_end || (self.entries.is_empty() && self.stale)).then(|| self.around(here))
    }

    /// An entry and enough on both sides to fill the pane wherever the entry is on it.
    fn around(&self, entry: usize) -> Part {
        let side = self.text.height() + 2 * SPARE;
        Part::From(entry.saturating_sub(side), 2 * side)
    }

    fn first(&self) -> usize {
        self.entries.first().map_or(0, |entry| entry.index)
    }

    /// Receives a part of the transcript.
    pub(crate) fn receive(&mut self, found: Result<Window, String>) {
        self.waiting = false;
        match found {
            Ok(window) => {
                self.entries = window.entries;
                self.total = window.total;
                self.stale |= window.more && self.text.is_following();
                self.problem = None;
                // An entry that does not exist would be queried again and again.
                self.destination = self.destination.filter(|entry| *entry < self.total);
            }
            Err(problem) => {
                self.problem = Some(problem);
                self.destination = None;
            }
        }
        self.lay_out();
    }

    /// Receives the full text of an entry.
    pub(crate) fn receive_detail(&mut self, source: Source, lines: Vec<String>) {
        if let Some(entry) = self.entries.iter().find(|it| it.source == source) {
            let index = entry.index;
            self.expanded.insert(index, lines);
            self.rendered.remove(&index);
            self.lay_out();
            if self.text.item() == Some(index) {
                self.text.reveal_item();
            }
        }
    }

    pub(crate) fn act(&mut self, action: Action) {
        match action {
            Action::Home => self.destination = Some(0),
            Action::End => {
                self.stale = true;
                self.destination = None;
            }
            _ => {}
        }
        self.text.act(action);
    }

    /// Expands or folds the entry at the cursor; returns a query for its full text.
    pub(crate) fn toggle(&mut self) -> Option<Query> {
        let item = self.text.item()?;
        let transcript = self.transcript.clone()?;
        let entry = self.entries.iter().find(|entry| entry.index == item)?;
        let can_fold = matches!(
            entry.event,
            AgentEvent::ToolCall { .. }
                | AgentEvent::ToolResult { .. }
                | AgentEvent::Thinking { .. }
        );
        if !can_fold {
            return None;
        }
        let source = entry.source;
        self.rendered.remove(&item);
        if self.expanded.remove(&item).is_some() {
            self.lay_out();
            return None;
        }
        self.expanded.insert(item, Vec::new());
        let line = self.text.line_in_item();
        self.lay_out();
        self.text.go_to(item, line);
        Some(Query::Detail(transcript, source))
    }

    /// A query for the next or the previous entry with a text.
    pub(crate) fn find(&self, text: &str, forward: bool) -> Option<Query> {
        let needle = Needle {
            text: text.to_owned(),
            here: self.text.item().unwrap_or(0),
            forward,
        };
        Some(Query::Find(self.transcript.clone()?, needle))
    }

    /// Goes to an entry, which may be outside the window.
    pub(crate) fn go_to(&mut self, entry: usize) {
        self.destination = Some(entry);
        // Following would query the end.
        self.text.go_to(entry, 0);
    }

    fn lay_out(&mut self) {
        let item = self.text.item().filter(|_| !self.text.is_following());
        let anchor = item.map(|item| (item, self.text.line_in_item()));
        self.render_all();
        let rendered = self.rendered.values().map(|(_, lines)| lines.clone());
        let mut items: Vec<Item> = rendered.collect();
        if items.iter().all(Vec::is_empty) {
            items = vec![wrap::wrap(&self.nothing(), self.text.columns(), 0)];
        }
        self.text.set_from(self.first(), items);
        match (self.destination, anchor) {
            (Some(entry), _) if self.has(entry) => {
                self.destination = None;
                self.text.go_to(entry, 0);
            }
            (_, Some((item, line))) if self.has(item) => self.text.go_to(item, line),
            _ => {}
        }
    }

    /// Renders new entries; while following, only as many as can be visible.
    fn render_all(&mut self) {
        let mut before = std::mem::take(&mut self.rendered);
        let enough = if self.text.is_following() {
            2 * self.text.height()
        } else {
            usize::MAX
        };
        let mut kept = BTreeMap::new();
        let mut lines = 0;
        let mut first = self.entries.len();
        while lines < enough && first > 0 {
            first -= 1;
            let entry = &self.entries[first];
            let size = size(&entry.event);
            let rendered = match before.remove(&entry.index) {
                Some((old_size, rendered)) if old_size == size => rendered,
                _ => self.render(entry),
            };
            lines += rendered.len();
            kept.insert(entry.index, (size, rendered));
        }
        self.entries.drain(..first);
        self.rendered = kept;
    }

    fn has(&self, entry: usize) -> bool {
        self.entries.iter().any(|it| it.index == entry)
    }

    fn nothing(&self) -> Line<'static> {
        let text = match (&self.problem, &self.transcript) {
            (Some(problem), _) => format!("the transcript cannot be read: {}", clean(problem)),
            (None, Some(_)) => "the agent has not said anything yet".to_owned(),
            (None, None) => "no agent has worked on this story yet".to_owned(),
        };
        wrap::styled(text, DIM)
    }

    fn render(&self, entry: &Entry) -> Vec<Line<'static>> {
        let expanded = self.expanded.get(&entry.index);
        match &entry.event {
            AgentEvent::Text { text } => {
                let mut lines =
                    markdown::render_agent_text(text, self.text.columns(), self.colored);
                lines.push(Line::default());
                lines
            }
            AgentEvent::Thinking { text } => {
                let most = expanded.map_or(THINKING_LINES, |_| DETAIL_LINES);
                self.paragraph(text, DIM.patch(ITALIC), most)
            }
            AgentEvent::ToolCall { tool, summary } => {
                let mark = if expanded.is_some() { "▾ " } else { "▸ " };
                let line = Line::from(vec![
                    Span::styled(mark, DIM),
                    Span::styled(clean(tool), NAME),
                    Span::raw(format!(" {}", clean(summary))),
                ]);
                self.with_detail(&line, expanded)
            }
            AgentEvent::ToolResult {
                bytes,
                is_error,
                tail,
            } => {
                let mut lines = Vec::new();
                if *is_error {
                    lines.push(wrap::styled("  ✗ the tool failed", BAD));
                }
                match expanded {
                    Some(_) => {
                        let line = wrap::styled(format!("  ↳ {}", words::bytes(*bytes)), DIM);
                        lines.extend(self.with_detail(&line, expanded));
                    }
                    None => lines.extend(self.last_lines(*bytes, tail)),
                }
                lines
            }
            AgentEvent::Session { id, model } => {
                let model = model.as_deref().map(|model| format!(" · {}", clean(model)));
                let model = model.unwrap_or_default();
                self.one(format!("session {}{model}", clean(id)), DIM)
            }
            AgentEvent::Retrying { message } => self.message("↻", message, WARN),
            AgentEvent::Limit { message, .. } => self.message("⏳", message, WARN),
            AgentEvent::Auth { message }
            | AgentEvent::Overflow { message }
            | AgentEvent::Error { message } => self.message("✗", message, BAD),
            AgentEvent::Final { is_error: true } => {
                self.one("✗ the agent ended its turn with an error".to_owned(), BAD)
            }
            AgentEvent::Final { is_error: false } | AgentEvent::Usage { .. } => Vec::new(),
            AgentEvent::Unknown { line } => self.one(clean(line), DIM),
        }
    }

    fn one(&self, text: String, style: Style) -> Vec<Line<'static>> {
        vec![wrap::cut(&wrap::styled(text, style), self.text.columns())]
    }

    fn message(&self, mark: &str, message: &str, style: Style) -> Vec<Line<'static>> {
        self.paragraph(&format!("{mark} {message}"), style, DETAIL_LINES)
    }

    fn paragraph(&self, text: &str, style: Style, most: usize) -> Vec<Line<'static>> {
        let lines = text.lines().map(|line| wrap::styled(clean(line), style));
        let mut lines: Vec<Line<'static>> = lines
            .flat_map(|line| wrap::wrap(&line, self.text.columns(), 2))
            .take(most + 1)
            .collect();
        if lines.len() > most {
            lines.truncate(most);
            lines.push(wrap::styled("  …", style));
        }
        lines.push(Line::default());
        lines
    }

    /// The last lines of what a tool answered, with `…` where there is more before them.
    fn last_lines(&self, bytes: u64, tail: &[String]) -> Vec<Line<'static>> {
        if tail.is_empty() {
            let text = match bytes {
                0 => "  ↳ no output".to_owned(),
                _ => format!("  ↳ {}", words::bytes(bytes)),
            };
            return vec![wrap::styled(text, DIM)];
        }
        // Each line has an end, too.
        let shown: usize = tail.iter().map(|line| line.len() + 1).sum();
        let first = if bytes > shown as u64 {
            "  … "
        } else {
            "  ↳ "
        };
        let marks = std::iter::once(first).chain(std::iter::repeat("    "));
        let lines = marks.zip(tail).map(|(mark, text)| {
            let line = wrap::styled(format!("{mark}{}", clean(text)), DIM);
            wrap::cut(&line, self.text.columns())
        });
        lines.collect()
    }

    /// A line, and the full text below it if the entry is expanded.
    fn with_detail(&self, line: &Line<'_>, detail: Option<&Vec<String>>) -> Vec<Line<'static>> {
        let mut lines = vec![wrap::cut(line, self.text.columns())];
        let detail = detail.map_or(&[][..], Vec::as_slice);
        for text in detail.iter().take(DETAIL_LINES) {
            let text = Line::from(vec![Span::styled("  │ ", DIM), Span::raw(clean(text))]);
            lines.extend(wrap::wrap(&text, self.text.columns(), 4));
        }
        if detail.len() > DETAIL_LINES {
            let more = format!("  │ … {} lines more", detail.len() - DETAIL_LINES);
            lines.push(wrap::styled(more, DIM));
        }
        lines
    }

    /// The number of the entry at the cursor and how many there are, if they do not all fit.
    pub(crate) fn place(&self) -> Option<String> {
        let item = self.text.item()?;
        (self.total > self.text.height()).then(|| format!("{}/{}", item + 1, self.total))
    }
}

/// The length of a text that can grow: an entry rendered at another length is out of date.
fn size(event: &AgentEvent) -> usize {
    match event {
        AgentEvent::Text { text } | AgentEvent::Thinking { text } => text.len(),
        _ => 0,
    }
}
