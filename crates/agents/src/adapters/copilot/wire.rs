//! The few fields of Copilot's lines that matter; everything else is skipped unread.

use serde::Deserialize;

use crate::dialect::lenient::{Flag, Number, Short, Size};
use crate::dialect::tool_input::ToolInput;

/// What sort of line it is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Head {
    #[serde(rename = "type")]
    pub(super) kind: String,
}

/// A line whose fields are read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Line {
    pub(super) data: Data,
    /// The sub-agent it is about.
    #[serde(rename = "agentId")]
    pub(super) agent: Short,
    #[serde(rename = "sessionId")]
    pub(super) session: Short,
    #[serde(rename = "exitCode")]
    pub(super) exit_code: Number,
}

/// What a line is about.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Data {
    pub(super) content: String,
    pub(super) reason: Short,
    #[serde(rename = "toolName")]
    pub(super) tool: Short,
    pub(super) arguments: ToolInput,
    pub(super) success: Flag,
    pub(super) result: Answer,
    pub(super) error: Size,
    #[serde(rename = "shellExecution")]
    pub(super) shell: Shell,
    #[serde(rename = "errorType")]
    pub(super) error_type: Short,
    pub(super) message: String,
    #[serde(rename = "statusCode")]
    pub(super) status: Number,
}

/// A tool's answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Answer {
    pub(super) content: Size,
}

/// How a command ended.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Shell {
    #[serde(rename = "exitCode")]
    pub(super) exit_code: Number,
}
