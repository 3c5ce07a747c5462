//! How an agent's stream becomes events, and what the stream amounts to at its end.
//!
//! A dialect sees lines as bytes, cut at a cap; nothing in a stream is fatal to it.

pub(crate) mod api_error;
pub(crate) mod lenient;
pub(crate) mod text;
pub(crate) mod tool_input;
mod trouble;
pub(crate) mod words;

use std::borrow::Cow;

use jiff::Zoned;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agent_event::{AgentEvent, Usage};
use super::agents;
use super::hearing::Ear;
use super::promise::Promise;
pub(crate) use trouble::{Limit, Trouble};

/// How much text one event carries; the whole stays in the transcript.
pub(crate) const TEXT_CAP: usize = 16 * 1024;
/// How much of a line that is not understood is shown.
const UNKNOWN_CAP: usize = 200;

/// Reads one agent's stream.
pub(crate) trait Dialect {
    /// Takes one line without its end; `truncated` if the line was longer than the cap.
    fn line(&mut self, line: &[u8], truncated: bool) -> Vec<AgentEvent>;

    /// Takes one line in the same way, and tells what it means to an ear.
    ///
    /// What an agent used is the last thing heard of its final line: a budget that is used up by
    /// then must not end an agent that is done.
    fn read(&mut self, line: &[u8], truncated: bool, ear: &mut dyn Ear) {
        tell(self.line(line, truncated), ear);
    }

    /// Takes one line of the agent's standard error.
    fn complaint(&mut self, _line: &[u8]) -> Vec<AgentEvent> {
        Vec::new()
    }

    /// Tells the folder the agent works in; files are named as seen from there.
    fn works_in(&mut self, _folder: &str) {}

    /// Takes the end of the stream: the process has ended and nothing more will come.
    fn end(&mut self, ended: &Ended<'_>) -> Vec<AgentEvent>;

    /// What the stream amounts to so far.
    fn verdict(&self) -> StreamEnd;

    /// A reader that goes on from here by itself.
    fn fork(&self) -> Box<dyn Dialect + Send>;
}

/// The kind of stream an agent writes to its standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Output {
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
pub(crate) struct Ended<'a> {
    /// Its exit code, where it ended by itself.
    pub(crate) code: Option<i32>,
    /// The end of its standard error.
    pub(crate) stderr: &'a str,
}

impl Output {
    /// Every kind by the name users write.
    pub(crate) const NAMES: [(&'static str, Self); 9] = [
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

    /// A fresh reader for one process, which started at this moment and place: some agents tell
    /// times of day.
    pub(crate) fn dialect(self, started: &Zoned) -> Box<dyn Dialect + Send> {
        match self {
            Self::Text => Box::new(text::Text::default()),
            Self::ClaudeJson => Box::new(agents::claude::Claude::default()),
            Self::CodexJson => Box::new(agents::codex::Codex::new(started)),
            Self::OpencodeJson => Box::new(agents::opencode::Opencode::default()),
            Self::GeminiJson => Box::new(agents::gemini::Gemini::default()),
            Self::QwenJson => Box::new(agents::qwen::Qwen::default()),
            Self::CopilotJson => Box::new(agents::copilot::Copilot::default()),
            Self::PiJson => Box::new(agents::pi::Pi::default()),
            Self::GooseJson => Box::new(agents::goose::Goose::default()),
        }
    }

    /// True where the agent's words come line by line, and a block of them is several events.
    pub(crate) const fn speaks_in_lines(self) -> bool {
        match self {
            Self::Text | Self::GeminiJson | Self::GooseJson => true,
            Self::ClaudeJson
            | Self::CodexJson
            | Self::OpencodeJson
            | Self::QwenJson
            | Self::CopilotJson
            | Self::PiJson => false,
        }
    }

    /// How long a line may get in memory; the rest of it stays on disk.
    pub(crate) const fn line_cap(self) -> usize {
        match self {
            Self::Text => 1 << 20,
            Self::ClaudeJson
            | Self::CodexJson
            | Self::OpencodeJson
            | Self::GeminiJson
            | Self::QwenJson
            | Self::CopilotJson
            | Self::PiJson
            | Self::GooseJson => 8 << 20,
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
    /// What keeps the agent from working at all (login, credit, model), and what to do about it.
    pub(crate) auth: Option<String>,
    /// The conversation outgrew the model's context.
    pub(crate) overflow: Option<String>,
    /// Tokens and cost of the whole process; a lower bound where it was cut short.
    pub(crate) usage: Usage,
    /// The agent's own session id.
    pub(crate) session: Option<String>,
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

/// The start of a text, cut at a character's border.
pub(crate) fn start_of(text: &str, cap: usize) -> &str {
    let mut end = text.len().min(cap);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The first characters of a text.
pub(crate) fn first_chars(text: &str, count: usize) -> &str {
    // Most are short enough in bytes already.
    if text.len() <= count {
        return text;
    }
    let end = text.char_indices().nth(count);
    end.map_or(text, |(end, _)| &text[..end])
}

/// A text that fits into an event.
pub(crate) fn event_text(text: &str) -> String {
    let start = start_of(text, TEXT_CAP);
    if start.len() == text.len() {
        return text.to_owned();
    }
    format!("{start} …")
}

/// Bytes as text, whatever they are; nearly all are what they should be, and that is quickly seen.
pub(crate) fn as_text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// Reads a line that is meant to be one JSON object; what `understand` makes nothing of is kept.
pub(crate) fn json_line(
    line: &[u8],
    truncated: bool,
    mut understand: impl FnMut(&[u8]) -> Option<Vec<AgentEvent>>,
) -> Vec<AgentEvent> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Vec::new();
    }
    if truncated {
        return vec![unknown(line)];
    }
    understand(line)
        .or_else(|| understand(String::from_utf8_lossy(line).as_bytes()))
        .unwrap_or_else(|| vec![unknown(line)])
}

/// The sort of a line that says it first, for which the rest need not be looked at.
pub(crate) fn kind_said_first(line: &[u8]) -> Option<&str> {
    let rest = line.strip_prefix(br#"{"type":""#)?;
    let end = memchr::memchr2(b'"', b'\\', rest)?;
    let kind = std::str::from_utf8(&rest[..end]).ok()?;
    (rest[end] == b'"').then_some(kind)
}

/// Tells an ear what a line meant.
fn tell(events: Vec<AgentEvent>, ear: &mut dyn Ear) {
    let is_final = |event: &AgentEvent| matches!(event, AgentEvent::Final { .. });
    let is_last = events.iter().any(is_final);
    let mut used = Vec::new();
    for event in events {
        match event {
            AgentEvent::Usage { .. } if is_last => used.push(event),
            _ => ear.hear(event),
        }
    }
    for event in used {
        ear.hear(event);
    }
}

/// Reads a JSON value, where it is one of this shape; a field that is null counts as absent.
pub(crate) fn parse<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    serde_json::from_slice(line)
        .ok()
        .or_else(|| without_nulls(line))
}

/// Reads what only a null keeps from having this shape: agents differ in what they leave out.
fn without_nulls<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    let mut value: Value = serde_json::from_slice(line).ok()?;
    drop_nulls(&mut value);
    // Written and read again: to read each shape from values too would make the program larger.
    serde_json::from_slice(&serde_json::to_vec(&value).ok()?).ok()
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => {
            items.retain(|item| !item.is_null());
            items.iter_mut().for_each(drop_nulls);
        }
        _ => {}
    }
}

/// A line nobody understood.
pub(crate) fn unknown(line: &[u8]) -> AgentEvent {
    let start = &line[..line.len().min(UNKNOWN_CAP + 4)];
    let text = String::from_utf8_lossy(start);
    AgentEvent::Unknown {
        line: start_of(&text, UNKNOWN_CAP).to_owned(),
    }
}

#[cfg(test)]
mod tests;
