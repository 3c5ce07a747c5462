//! The agents that need no configuration: how each is called, and how its stream is read.
//!
//! One file per agent. An adapter is data and a parser; it starts nothing and reads no files.

mod adapter;
pub mod claude;
pub(crate) mod codex;
pub(crate) mod copilot;
pub(crate) mod gemini;
pub(crate) mod goose;
pub(crate) mod opencode;
pub(crate) mod pi;
pub(crate) mod qwen;

use jiff::Zoned;

pub use self::adapter::{
    Adapter, Login, Rights, Role, SESSION, SessionArg, Sessions, VERSION_ARGUMENTS, Version,
    version_in,
};
use super::dialect::stream::{JsonReader, Parser};
use super::dialect::text::TextReader;
use super::dialect::{Output, StreamReader};

/// All adapters, the default first.
pub static ADAPTERS: [&Adapter; 8] = [
    &claude::ADAPTER,
    &codex::ADAPTER,
    &opencode::ADAPTER,
    &gemini::ADAPTER,
    &qwen::ADAPTER,
    &copilot::ADAPTER,
    &pi::ADAPTER,
    &goose::ADAPTER,
];

/// The adapter of this name.
pub fn adapter(name: &str) -> Option<&'static Adapter> {
    ADAPTERS.into_iter().find(|it| it.name == name)
}

impl Output {
    /// A reader for the stream of a process that started at this time: some agents report local
    /// times of day.
    pub fn reader(self, started: &Zoned) -> Box<dyn StreamReader + Send> {
        match self {
            Self::Text => Box::new(TextReader::default()),
            Self::ClaudeJson => json(claude::Claude::default()),
            Self::CodexJson => json(codex::Codex::new(started)),
            Self::OpencodeJson => json(opencode::Opencode),
            Self::GeminiJson => json(gemini::Gemini),
            Self::QwenJson => json(qwen::Qwen),
            Self::CopilotJson => json(copilot::Copilot),
            Self::PiJson => json(pi::Pi),
            Self::GooseJson => json(goose::Goose::default()),
        }
    }
}

fn json(parser: impl Parser) -> Box<dyn StreamReader + Send> {
    Box::new(JsonReader::new(parser))
}

#[cfg(test)]
mod recordings;
