//! The few fields of pi's lines that matter; everything else is skipped unread.

use serde::Deserialize;

use crate::adapters::claude::wire::Blocks;
use crate::dialect::lenient::{Flag, Number, Short, Size};
use crate::dialect::tool_input::ToolInput;

/// Any line.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Line {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) id: Short,
    pub(super) cwd: Short,
    pub(super) message: Message,
    #[serde(rename = "toolName")]
    pub(super) tool: Short,
    pub(super) args: ToolInput,
    pub(super) result: Size,
    pub(super) is_error: Flag,
    pub(super) attempt: Number,
    pub(super) max_attempts: Number,
    pub(super) error_message: String,
}

/// A message that has ended.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Message {
    pub(super) role: Short,
    pub(super) content: Blocks,
    pub(super) usage: Tokens,
    pub(super) stop_reason: Short,
    #[serde(rename = "errorMessage")]
    pub(super) error: String,
}

/// What one message used; the input does not include what came from the cache.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Tokens {
    pub(super) input: Number,
    pub(super) output: Number,
    pub(super) cache_read: Number,
    pub(super) cache_write: Number,
    pub(super) cost: Cost,
}

/// What one message cost, in US dollars.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Cost {
    pub(super) total: Number,
}
