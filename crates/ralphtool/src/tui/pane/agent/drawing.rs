//! Draws what an agent said or did as lines.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::tui::markdown;
use crate::tui::palette::{BAD, DIM, ITALIC, NAME, WARN};
use crate::tui::text_pane::Item;
use crate::tui::wrap;
use crate::ui::text::clean;
use crate::ui::words;
use ralph_agents::agent_event::AgentEvent;

/// How many lines of an agent's reasoning are shown until it is expanded.
const THINKING_LINES: usize = 4;

/// How many lines of an expanded entry are shown.
const DETAIL_LINES: usize = 400;

/// What entries are drawn for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawing {
    pub(super) columns: usize,
    /// Whether the terminal shows colours.
    pub(super) colored: bool,
}

impl Drawing {
    /// Draws an entry, with its full text if it is expanded.
    pub(super) fn entry(&self, event: &AgentEvent, expanded: Option<&Vec<String>>) -> Item {
        match event {
            AgentEvent::Text { text } => {
                let mut lines = markdown::render_agent_text(text, self.columns, self.colored);
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
            AgentEvent::Auth { message, .. }
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
        vec![wrap::cut(&wrap::styled(text, style), self.columns)]
    }

    fn message(&self, mark: &str, message: &str, style: Style) -> Vec<Line<'static>> {
        self.paragraph(&format!("{mark} {message}"), style, DETAIL_LINES)
    }

    fn paragraph(&self, text: &str, style: Style, most: usize) -> Vec<Line<'static>> {
        let lines = text.lines().map(|line| wrap::styled(clean(line), style));
        let mut lines: Vec<Line<'static>> = lines
            .flat_map(|line| wrap::wrap(&line, self.columns, 2))
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
            wrap::cut(&line, self.columns)
        });
        lines.collect()
    }

    /// A line, and the full text below it if the entry is expanded.
    fn with_detail(&self, line: &Line<'_>, detail: Option<&Vec<String>>) -> Vec<Line<'static>> {
        let mut lines = vec![wrap::cut(line, self.columns)];
        let detail = detail.map_or(&[][..], Vec::as_slice);
        for text in detail.iter().take(DETAIL_LINES) {
            let text = Line::from(vec![Span::styled("  │ ", DIM), Span::raw(clean(text))]);
            lines.extend(wrap::wrap(&text, self.columns, 4));
        }
        if detail.len() > DETAIL_LINES {
            let more = format!("  │ … {} lines more", detail.len() - DETAIL_LINES);
            lines.push(wrap::styled(more, DIM));
        }
        lines
    }

    /// What an agent that crashed printed on stderr.
    pub(super) fn stderr(&self, printed: &[String]) -> Item {
        let mut lines = vec![wrap::styled("the last lines on its stderr:", BAD)];
        for text in printed {
            let text = Line::from(vec![Span::styled("│ ", DIM), Span::raw(clean(text))]);
            lines.extend(wrap::wrap(&text, self.columns, 2));
        }
        lines
    }
}
