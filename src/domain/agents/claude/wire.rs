//! The few fields of Claude Code's lines that matter; everything else is skipped unread.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess};

use crate::domain::agent_event::Usage;
use crate::domain::dialect::lenient::{Anything, Lenient, Number, Short, Size, truth};
use crate::domain::dialect::tool_input::ToolInput;

/// What sort of line it is.
#[derive(Debug, Deserialize)]
pub(in crate::domain::agents) struct Head {
    #[serde(rename = "type")]
    pub(in crate::domain::agents) kind: String,
    #[serde(default)]
    pub(in crate::domain::agents) subtype: String,
}

/// `system` / `init`.
#[derive(Debug, Deserialize)]
pub(in crate::domain::agents) struct Init {
    #[serde(default)]
    pub(in crate::domain::agents) session_id: String,
    #[serde(default)]
    pub(in crate::domain::agents) model: Option<String>,
    #[serde(default)]
    pub(in crate::domain::agents) cwd: Short,
}

/// `system` / `api_retry`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::domain::agents) struct ApiRetry {
    pub(in crate::domain::agents) attempt: Number,
    pub(in crate::domain::agents) max_retries: Number,
    pub(in crate::domain::agents) retry_delay_ms: Number,
    pub(in crate::domain::agents) error_status: Number,
    pub(in crate::domain::agents) error: Short,
}

/// `system` / `permission_denied`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::domain::agents) struct Refusal {
    pub(in crate::domain::agents) tool_name: Short,
    pub(in crate::domain::agents) message: Short,
}

/// `rate_limit_event`.
#[derive(Debug, Deserialize)]
pub(in crate::domain::agents) struct RateLimitEvent {
    #[serde(default)]
    pub(in crate::domain::agents) rate_limit_info: RateLimit,
}

/// The state of a subscription's window.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::domain::agents) struct RateLimit {
    pub(in crate::domain::agents) status: Short,
    #[serde(rename = "resetsAt")]
    pub(in crate::domain::agents) resets_at: Number,
}

/// `assistant`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::domain::agents) struct Assistant {
    pub(in crate::domain::agents) message: Message,
    pub(in crate::domain::agents) parent_tool_use_id: Short,
    #[serde(deserialize_with = "truth")]
    pub(in crate::domain::agents) is_api_error_message: bool,
    pub(in crate::domain::agents) error: Short,
    pub(in crate::domain::agents) api_error: Short,
    pub(in crate::domain::agents) api_error_status: Number,
}

/// `user`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::domain::agents) struct User {
    pub(in crate::domain::agents) message: Message,
}

/// The message inside an `assistant` or `user` line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::domain::agents) struct Message {
    pub(in crate::domain::agents) id: String,
    pub(in crate::domain::agents) content: Blocks,
    pub(in crate::domain::agents) usage: Tokens,
}

/// One block of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::domain::agents) struct Block {
    #[serde(rename = "type")]
    pub(in crate::domain::agents) kind: String,
    pub(in crate::domain::agents) text: String,
    pub(in crate::domain::agents) thinking: String,
    pub(in crate::domain::agents) name: Short,
    pub(in crate::domain::agents) input: ToolInput,
    pub(in crate::domain::agents) content: Size,
    pub(in crate::domain::agents) is_error: Option<bool>,
}

/// `result`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::domain::agents) struct Turn {
    pub(in crate::domain::agents) subtype: Short,
    #[serde(deserialize_with = "truth")]
    pub(in crate::domain::agents) is_error: bool,
    pub(in crate::domain::agents) result: Option<String>,
    pub(in crate::domain::agents) errors: Vec<Short>,
    pub(in crate::domain::agents) terminal_reason: Short,
    pub(in crate::domain::agents) api_error: Short,
    pub(in crate::domain::agents) api_error_status: Number,
    pub(in crate::domain::agents) total_cost_usd: Number,
    pub(in crate::domain::agents) usage: Tokens,
    #[serde(rename = "modelUsage")]
    pub(in crate::domain::agents) model_usage: BTreeMap<String, ModelTokens>,
}

/// `usage` of a message or turn.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
#[allow(clippy::struct_field_names, reason = "named as in the stream")]
pub(in crate::domain::agents) struct Tokens {
    input_tokens: Number,
    output_tokens: Number,
    cache_read_input_tokens: Number,
    cache_creation_input_tokens: Number,
}

/// An entry of `modelUsage`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in crate::domain::agents) struct ModelTokens {
    input_tokens: Number,
    output_tokens: Number,
    cache_read_input_tokens: Number,
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
            cost_usd: None,
        }
    }
}

impl From<ModelTokens> for Usage {
    fn from(tokens: ModelTokens) -> Self {
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
pub(in crate::domain::agents) struct Blocks(pub(in crate::domain::agents) Vec<Block>);

impl<'de> Deserialize<'de> for Blocks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything(Blocks::default()))
    }
}

impl Blocks {
    /// All words of the message.
    pub(in crate::domain::agents) fn text(&self) -> String {
        let texts: Vec<&str> = self.0.iter().map(|block| block.text.as_str()).collect();
        super::event_text(texts.join("\n").trim())
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
