//! The few fields of goose's lines that matter; everything else is skipped unread.

use serde::Deserialize;

use crate::dialect::lenient::{Flag, Number, Short, Size};
use crate::dialect::tool_input::ToolInput;

/// Any line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Line {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) message: Message,
    pub(super) error: Short,
    pub(super) input_tokens: Number,
    pub(super) output_tokens: Number,
}

/// A piece of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message {
    /// Of the model's answer; goose's own words have none.
    pub(super) id: Short,
    pub(super) role: Short,
    pub(super) content: Vec<Block>,
}

/// One block of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block {
    #[serde(rename = "type")]
    pub(super) kind: Short,
    pub(super) text: String,
    #[serde(rename = "toolCall")]
    pub(super) call: Request,
    #[serde(rename = "toolResult")]
    pub(super) answer: Response,
}

/// A tool call, as far as it could be understood.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Request {
    pub(super) value: Call,
}

/// A tool call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Call {
    pub(super) name: Short,
    pub(super) arguments: ToolInput,
}

/// A tool's answer, or why there is none.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Response {
    pub(super) status: Short,
    pub(super) value: Answer,
    pub(super) error: Size,
}

/// A tool's answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Answer {
    pub(super) content: Size,
    #[serde(rename = "isError")]
    pub(super) is_error: Flag,
}
