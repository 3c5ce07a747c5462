//! How an agent's stream becomes events, and what the stream amounts to at its end.
//!
//! A dialect sees lines as bytes, cut at a cap; nothing in a stream is fatal to it.

pub(crate) mod claude;
pub(crate) mod text;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent_event::{AgentEvent, Usage};
use super::promise::Promise;

/// How much text one event carries; the whole stays in the transcript.
const TEXT_CAP: usize = 16 * 1024;
/// How much of a line that is not understood is shown.
const UNKNOWN_CAP: usize = 200;

/// Reads one agent's stream.
pub(crate) trait Dialect {
    /// Takes one line without its end; `truncated` if the line was longer than the cap.
    fn line(&mut self, line: &[u8], truncated: bool) -> Vec<AgentEvent>;

    /// Takes the end of the stream: the process has ended and nothing more will come.
    fn end(&mut self) -> Vec<AgentEvent>;

    /// What the stream amounts to so far.
    fn verdict(&self) -> StreamEnd;

    /// A reader that goes on from here by itself.
    fn fork(&self) -> Box<dyn Dialect + Send>;
}

/// The kind of stream an agent writes to its standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Output {
    /// Plain text, all of it the agent's own words.
    #[default]
    Text,
    /// Claude Code's `stream-json`.
    ClaudeJson,
}

impl Output {
    /// A fresh reader for one process.
    pub(crate) fn dialect(self) -> Box<dyn Dialect + Send> {
        match self {
            Self::Text => Box::new(text::Text::default()),
            Self::ClaudeJson => Box::new(claude::Claude::default()),
        }
    }

    /// How long a line may get in memory; the rest of it stays on disk.
    pub(crate) const fn line_cap(self) -> usize {
        match self {
            Self::Text => 1 << 20,
            Self::ClaudeJson => 8 << 20,
        }
    }
}

/// What a stream amounts to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct StreamEnd {
    /// The promise in the main agent's final text of its last turn.
    pub(crate) promise: Option<Promise>,
    /// How the last turn ended.
    pub(crate) turn: TurnEnd,
    /// What the agent itself says went wrong in its last turn.
    pub(crate) error: Option<String>,
    /// The limit that ended the last turn.
    pub(crate) limit: Option<Limit>,
    /// The login or credit trouble that ended the last turn.
    pub(crate) auth: Option<String>,
    /// Tokens and cost of the whole process; a lower bound where it was cut short.
    pub(crate) usage: Usage,
    /// The agent's own session id.
    pub(crate) session: Option<String>,
    /// Tools that were refused for want of a permission.
    pub(crate) refused_tools: Vec<String>,
}

/// How a turn of the agent ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum TurnEnd {
    /// It did not: no final event came, or a new turn began after it.
    #[default]
    Open,
    /// With its final event.
    Ended,
    /// With its final event, which says that it failed.
    EndedWithError,
}

/// A rate or usage limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Limit {
    /// In the agent's words.
    pub(crate) message: String,
    /// When it ends, where the agent says so.
    pub(crate) resets_at: Option<Timestamp>,
}

/// The start of a text, cut at a character's border.
fn start_of(text: &str, cap: usize) -> &str {
    let mut end = text.len().min(cap);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A text that fits into an event.
fn event_text(text: &str) -> String {
    let start = start_of(text, TEXT_CAP);
    if start.len() == text.len() {
        return text.to_owned();
    }
    format!("{start} …")
}

/// A line nobody understood.
fn unknown(line: &[u8]) -> AgentEvent {
    let start = &line[..line.len().min(UNKNOWN_CAP + 4)];
    let text = String::from_utf8_lossy(start);
    AgentEvent::Unknown {
        line: start_of(&text, UNKNOWN_CAP).to_owned(),
    }
}

#[cfg(test)]
mod tests;
