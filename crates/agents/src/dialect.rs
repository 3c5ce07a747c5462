//! How an agent's stream becomes events, and what the stream amounts to at its end.
//!
//! A reader sees lines as bytes, cut at a cap; nothing in a stream is fatal to it.

pub(crate) mod api_error;
pub(crate) mod json;
pub(crate) mod stream;
pub(crate) mod text;
pub(crate) mod tool_input;
mod trouble;
mod words;

use serde::{Deserialize, Serialize};

use super::agent_event::{AgentEvent, EventSink, Usage};
use super::promise::Promise;
pub use trouble::{Limit, Trouble};

/// Reads one agent's stream.
pub trait StreamReader: std::fmt::Debug {
    /// Reads one line without its end; `truncated` if the line was longer than the cap.
    fn read(&mut self, line: &[u8], truncated: bool, sink: &mut dyn EventSink);

    /// Reads one line and returns its events.
    fn line(&mut self, line: &[u8], truncated: bool) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        self.read(line, truncated, &mut events);
        events
    }

    /// Reads one line of the agent's standard error.
    fn stderr_line(&mut self, _line: &[u8]) -> Vec<AgentEvent> {
        Vec::new()
    }

    /// Sets the folder the agent works in; files are named as seen from there.
    fn set_folder(&mut self, _folder: &str) {}

    /// Sets what earlier processes of the same session used. Some agents report the figures of the
    /// whole session; those of this process are what is left of them.
    fn set_earlier_usage(&mut self, _earlier: Usage) {}

    /// Keeps what the main agent says from here on, for those who want more of it than its promise.
    fn keep_words(&mut self);

    /// Records that the process has ended and nothing more will come.
    fn end(&mut self, ended: &ProcessEnd<'_>) -> Vec<AgentEvent>;

    /// What the stream amounts to so far.
    fn verdict(&self) -> StreamEnd;

    /// An independent reader that continues from here.
    fn fork(&self) -> Box<dyn StreamReader + Send>;
}

/// The kind of stream an agent writes to its standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Output {
    /// Plain text, all of it the agent's own words.
    #[default]
    Text,
    /// Claude Code's `stream-json`.
    ClaudeJson,
    /// What `codex exec --json` writes.
    CodexJson,
    /// What `opencode run --format json` writes.
    OpencodeJson,
    /// Gemini CLI's `stream-json`.
    GeminiJson,
    /// Qwen Code's `stream-json`.
    QwenJson,
    /// GitHub Copilot CLI's `json`.
    CopilotJson,
    /// What `pi --mode json` writes.
    PiJson,
    /// goose's `stream-json`.
    GooseJson,
}

/// How the process behind a stream ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcessEnd<'a> {
    /// Its exit code, where it ended by itself.
    pub code: Option<i32>,
    /// The end of its standard error.
    pub stderr: &'a str,
}

impl Output {
    /// Every kind by the name users write.
    pub const NAMES: [(&'static str, Self); 9] = [
        ("text", Self::Text),
        ("claude-json", Self::ClaudeJson),
        ("codex-json", Self::CodexJson),
        ("opencode-json", Self::OpencodeJson),
        ("gemini-json", Self::GeminiJson),
        ("qwen-json", Self::QwenJson),
        ("copilot-json", Self::CopilotJson),
        ("pi-json", Self::PiJson),
        ("goose-json", Self::GooseJson),
    ];

    /// True if text arrives line by line, so that a block of it is several events.
    pub(crate) const fn has_text_in_lines(self) -> bool {
        matches!(self, Self::Text | Self::GeminiJson | Self::GooseJson)
    }

    /// True if the agent's session id is in the stream.
    pub const fn has_session(self) -> bool {
        !matches!(self, Self::Text | Self::GooseJson)
    }

    /// How much of a line is held in memory; the rest of it stays on disk.
    pub const fn line_cap(self) -> usize {
        match self {
            Self::Text => 1 << 20,
            _ => 8 << 20,
        }
    }
}

/// What a stream amounts to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StreamEnd {
    /// The promise in the main agent's final text of its last turn.
    pub promise: Option<Promise>,
    /// How the last turn ended.
    pub turn: TurnEnd,
    /// Why the last turn could not continue, as the agent reports it.
    pub trouble: Option<Trouble>,
    /// Tokens and cost of this process; a lower bound where it was cut short.
    pub usage: Usage,
    /// The agent's own session id, where the stream has it so far. It is never one that a program
    /// could take for a flag.
    pub session: Option<String>,
    /// The agent began to work: it reported a session, said something or called a tool. An agent
    /// that was to continue a session and exits with an error before that does not know it.
    pub began: bool,
    /// The end of all that the main agent said, where its words are kept; empty where they are not.
    pub words: String,
}

/// How a turn of the agent ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TurnEnd {
    /// It did not: no final event came, or a new turn began after it.
    #[default]
    Open,
    /// With its final event.
    Ended,
    /// With its final event, which says that it failed.
    EndedWithError,
}

#[cfg(test)]
mod tests;
