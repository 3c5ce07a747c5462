//! The few fields of Claude Code's lines that matter; everything else is skipped unread.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess};

use crate::domain::agent_event::Usage;
use crate::domain::dialect::lenient::{Anything, Lenient, Number, Short, Size, truth};
use crate::domain::dialect::tool_input::ToolInput;

/// What sort of line it is.
#[derive(Debug, Deserialize)]
pub(super) struct Head {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) subtype: String,
}

/// `system` / `init`.
#[derive(Debug, Deserialize)]
pub(super) struct Init {
    #[serde(default)]
    pub(super) session_id: String,
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) cwd: Short,
}

/// `system` / `api_retry`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ApiRetry {
    pub(super) attempt: Number,
    pub(super) max_retries: Number,
    pub(super) retry_delay_ms: Number,
    pub(super) error_status: Number,
    pub(super) error: Short,
}

/// `system` / `permission_denied`, and an entry of `permission_denials`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Refusal {
    pub(super) tool_name: Short,
    pub(super) message: Short,
}

/// `rate_limit_event`.
#[derive(Debug, Deserialize)]
pub(super) struct RateLimitEvent {
    #[serde(default)]
    pub(super) rate_limit_info: RateLimit,
}

/// The state of a subscription's window.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RateLimit {
    pub(super) status: Short,
    #[serde(rename = "resetsAt")]
    pub(super) resets_at: Number,
}

/// `assistant`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Assistant {
    pub(super) message: Message,
    pub(super) parent_tool_use_id: Short,
    #[serde(deserialize_with = "truth")]
    pub(super) is_api_error_message: bool,
    pub(super) error: Short,
    pub(super) api_error: Short,
    pub(super) api_error_status: Number,
}

/// `user`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct User {
    pub(super) message: Message,
}

/// The message inside an `assistant` or `user` line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) content: Blocks,
    pub(super) usage: Tokens,
}

/// One block of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) text: String,
    pub(super) thinking: String,
    pub(super) name: Short,
    pub(super) input: ToolInput,
    pub(super) content: Size,
    pub(super) is_error: Option<bool>,
}

/// `result`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Turn {
    pub(super) subtype: Short,
    #[serde(deserialize_with = "truth")]
    pub(super) is_error: bool,
    pub(super) result: Option<String>,
    pub(super) errors: Vec<Short>,
    pub(super) terminal_reason: Short,
    pub(super) api_error: Short,
    pub(super) api_error_status: Number,
    pub(super) total_cost_usd: Number,
    pub(super) usage: Tokens,
    #[serde(rename = "modelUsage")]
    pub(super) model_usage: BTreeMap<String, ModelTokens>,
    pub(super) permission_denials: Vec<Refusal>,
}

/// `usage` of a message or turn.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
#[allow(clippy::struct_field_names, reason = "named as in the stream")]
pub(super) struct Tokens {
    input_tokens: Number,
    output_tokens: Number,
    cache_read_input_tokens: Number,
    cache_creation_input_tokens: Number,
}

/// An entry of `modelUsage`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ModelTokens {
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
pub(super) struct Blocks(pub(super) Vec<Block>);

impl<'de> Deserialize<'de> for Blocks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything(Blocks::default()))
    }
}

impl Blocks {
    /// All words of the message.
    pub(super) fn text(&self) -> String {
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
