//! The few fields of Claude Code's lines that matter; everything else is skipped unread.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::SeqAccess;

use crate::agent_event::{Usage, event_text};
use crate::dialect::lenient::{
    Anything, Flag, Lenient, Number, Short, Size, deserialize_from_anything,
};
use crate::dialect::stream::StreamState;
use crate::dialect::tool_input::ToolInput;

/// What sort of line it is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Head {
    #[serde(rename = "type")]
    pub kind: String,
    pub subtype: String,
}

impl Head {
    /// A line of this kind, without a subtype.
    pub(crate) fn of_kind(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            subtype: String::new(),
        }
    }
}

/// `system` / `init`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Init {
    pub session_id: String,
    pub model: Option<String>,
    pub cwd: Short,
}

/// `system` / `api_retry`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ApiRetry {
    pub attempt: Number,
    pub max_retries: Number,
    pub retry_delay_ms: Number,
    pub error_status: Number,
    pub error: Short,
}

/// `system` / `permission_denied`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Refusal {
    pub tool_name: Short,
    pub message: Short,
}

/// `rate_limit_event`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RateLimitEvent {
    pub rate_limit_info: RateLimit,
}

/// The state of a subscription's window.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RateLimit {
    pub status: Short,
    #[serde(rename = "resetsAt")]
    pub resets_at: Number,
}

/// `assistant` or `user`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MessageLine {
    pub message: Message,
    pub parent_tool_use_id: Short,
    pub is_api_error_message: Flag,
    pub error: Short,
    pub api_error: Short,
    pub api_error_status: Number,
}

/// The message inside an `assistant` or `user` line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Message {
    pub id: String,
    pub content: Blocks,
    pub usage: Tokens,
}

/// One block of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Block {
    #[serde(rename = "type")]
    pub kind: String,
    pub text: String,
    pub thinking: String,
    pub name: Short,
    pub input: ToolInput,
    pub content: Size,
    pub is_error: Flag,
}

/// `result`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Turn {
    pub subtype: Short,
    pub is_error: Flag,
    pub result: Option<String>,
    pub errors: Vec<Short>,
    pub terminal_reason: Short,
    pub api_error: Short,
    pub api_error_status: Number,
    pub total_cost_usd: Number,
    pub usage: Tokens,
    #[serde(rename = "modelUsage")]
    pub model_usage: BTreeMap<String, Tokens>,
}

/// `usage` of a message or turn, or an entry of `modelUsage`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
#[allow(clippy::struct_field_names, reason = "named as in the stream")]
pub struct Tokens {
    #[serde(alias = "inputTokens")]
    input_tokens: Number,
    #[serde(alias = "outputTokens")]
    output_tokens: Number,
    #[serde(alias = "cacheReadInputTokens")]
    cache_read_input_tokens: Number,
    #[serde(alias = "cacheCreationInputTokens")]
    cache_creation_input_tokens: Number,
    #[serde(rename = "costUSD")]
    cost_usd: Number,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        Self {
            input_tokens: tokens.input_tokens.count(),
            output_tokens: tokens.output_tokens.count(),
            cache_read_tokens: tokens.cache_read_input_tokens.count(),
            cache_write_tokens: tokens.cache_creation_input_tokens.count(),
            cost_usd: tokens.cost_usd.0,
        }
    }
}

/// A message's content: blocks, or one text.
#[derive(Debug, Default)]
pub(crate) struct Blocks(pub Vec<Block>);

deserialize_from_anything!(Blocks);

impl Blocks {
    /// All words of the message.
    pub(crate) fn text(&self) -> String {
        let texts: Vec<&str> = self.0.iter().map(|block| block.text.as_str()).collect();
        event_text(texts.join("\n").trim())
    }

    /// Reports what an agent said and which tools it called. What a sub-agent says is for its
    /// parent.
    pub(crate) fn report(self, is_main: bool, stream: &mut StreamState) {
        for block in self.0 {
            match block.kind.as_str() {
                "text" if is_main => stream.text(&block.text),
                "thinking" if is_main => stream.thinking(&block.thinking),
                "tool_use" if is_main => stream.tool_call(block.name.0, &block.input),
                "tool_use" => stream.sub_agent_tool_call(block.name.0, &block.input),
                _ => {}
            }
        }
    }
}

impl Lenient for Blocks {
    fn text(&mut self, text: &str) {
        self.0.push(Block {
            kind: "text".to_owned(),
            text: text.to_owned(),
            ..Block::default()
        });
    }
    fn sequence<'de, A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        while let Some(block) = items.next_element::<Block>()? {
            self.0.push(block);
        }
        Ok(())
    }
}
