//! The few fields of opencode's lines that matter; everything else is skipped unread.

use serde::Deserialize;

use crate::dialect::lenient::{Flag, Number, Short, Size};
use crate::dialect::tool_input::ToolInput;

/// Any line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Line {
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// In milliseconds since 1970.
    pub(super) timestamp: Number,
    #[serde(rename = "sessionID")]
    pub(super) session: Short,
    pub(super) part: Part,
    pub(super) error: Failure,
}

/// What a line is about.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Part {
    pub(super) text: String,
    pub(super) synthetic: Flag,
    pub(super) tool: Short,
    pub(super) state: State,
    pub(super) reason: Short,
    pub(super) tokens: Tokens,
    pub(super) cost: Number,
}

/// A tool call that has ended.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct State {
    pub(super) status: Short,
    pub(super) input: ToolInput,
    pub(super) output: Size,
    pub(super) error: Short,
    pub(super) metadata: Metadata,
}

/// What a tool reports besides its answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metadata {
    pub(super) exit: Number,
}

/// What one step used; the input does not include what came from the cache.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    pub(super) input: Number,
    pub(super) output: Number,
    pub(super) reasoning: Number,
    pub(super) cache: Cache,
}

/// Input that came from the cache or went there.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Cache {
    pub(super) read: Number,
    pub(super) write: Number,
}

/// What went wrong.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Failure {
    pub(super) name: Short,
    pub(super) data: Data,
}

/// The details of a failure.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Data {
    pub(super) message: String,
    #[serde(rename = "statusCode")]
    pub(super) status: Number,
    #[serde(rename = "responseHeaders")]
    pub(super) headers: Headers,
    #[serde(rename = "responseBody")]
    pub(super) body: String,
}

/// The headers that say when to try again.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Headers {
    #[serde(rename = "retry-after")]
    pub(super) retry_after: Short,
    #[serde(rename = "retry-after-ms")]
    pub(super) retry_after_ms: Short,
}
