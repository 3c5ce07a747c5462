//! The few fields of Gemini CLI's lines that matter; everything else is skipped unread.

use serde::Deserialize;

use crate::dialect::api_error::ErrorObject;
use crate::dialect::lenient::{Number, Short, Size};
use crate::dialect::tool_input::ToolInput;

/// Any line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Line {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) timestamp: Short,
    pub(super) session_id: Short,
    pub(super) model: Short,
    pub(super) role: Short,
    pub(super) content: String,
    pub(super) tool_name: Short,
    pub(super) parameters: ToolInput,
    pub(super) status: Short,
    pub(super) output: Size,
    pub(super) message: String,
    pub(super) error: ErrorObject,
    pub(super) stats: Stats,
}

/// What the process used; the input includes what came from the cache.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Stats {
    pub(super) total_tokens: Number,
    pub(super) input_tokens: Number,
    pub(super) output_tokens: Number,
    pub(super) cached: Number,
}
