//! The few fields of Gemini CLI's lines that matter; everything else is skipped unread.

use serde::Deserialize;

use crate::domain::dialect::lenient::{Number, Short, Size};
use crate::domain::dialect::tool_input::ToolInput;

/// Any line.
#[derive(Debug, Deserialize)]
pub(super) struct Line {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) timestamp: Short,
    #[serde(default)]
    pub(super) session_id: Short,
    #[serde(default)]
    pub(super) model: Short,
    #[serde(default)]
    pub(super) role: Short,
    #[serde(default)]
    pub(super) content: String,
    #[serde(default)]
    pub(super) tool_name: Short,
    #[serde(default)]
    pub(super) parameters: ToolInput,
    #[serde(default)]
    pub(super) status: Short,
    #[serde(default)]
    pub(super) output: Size,
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    pub(super) error: Failure,
    #[serde(default)]
    pub(super) stats: Stats,
}

/// What went wrong.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Failure {
    pub(super) message: String,
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
