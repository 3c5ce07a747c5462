//! The few fields of Claude Code's lines that matter; everything else is skipped unread.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::SeqAccess;

use crate::domain::agent_event::{Usage, event_text};
use crate::domain::dialect::lenient::{
    Anything, Flag, Lenient, Number, Short, Size, deserialize_from_anything,
};
use crate::domain::dialect::stream::StreamState;
use crate::domain::dialect::tool_input::ToolInput;

/// What sort of line it is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Head {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) subtype: String,
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
    pub(crate) session_id: String,
    pub(crate) model: Option<String>,
    pub(crate) cwd: Short,
}

/// `system` / `api_retry`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ApiRetry {
    pub(crate) attempt: Number,
    pub(crate) max_retries: Number,
    pub(crate) retry_delay_ms: Number,
    pub(crate) error_status: Number,
    pub(crate) error: Short,
}

/// `system` / `permission_denied`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Refusal {
    pub(crate) tool_name: Short,
    pub(crate) message: Short,
}

/// `rate_limit_event`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RateLimitEvent {
    pub(crate) rate_limit_info: RateLimit,
}

/// The state of a subscription's window.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RateLimit {
    pub(crate) status: Short,
    #[serde(rename = "resetsAt")]
    pub(crate) resets_at: Number,
}

/// `assistant` or `user`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MessageLine {
    pub(crate) message: Message,
    pub(crate) parent_tool_use_id: Short,
    pub(crate) is_api_error_message: Flag,
    pub(crate) error: Short,
    pub(crate) api_error: Short,
    pub(crate) api_error_status: Number,
}

/// The message inside an `assistant` or `user` line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) content: Blocks,
    pub(crate) usage: Tokens,
}

/// One block of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Block {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) text: String,
    pub(crate) thinking: String,
    pub(crate) name: Short,
    pub(crate) input: ToolInput,
    pub(crate) content: Size,
    pub(crate) is_error: Flag,
}

/// `result`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Turn {
    pub(crate) subtype: Short,
    pub(crate) is_error: Flag,
    pub(crate) result: Option<String>,
    pub(crate) errors: Vec<Short>,
    pub(crate) terminal_reason: Short,
    pub(crate) api_error: Short,
    pub(crate) api_error_status: Number,
    pub(crate) total_cost_usd: Number,
    pub(crate) usage: Tokens,
    #[serde(rename = "modelUsage")]
    pub(crate) model_usage: BTreeMap<String, Tokens>,
}

/// `usage` of a message or turn, or an entry of `modelUsage`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
#[allow(clippy::struct_field_names, reason = "named as in the stream")]
pub(crate) struct Tokens {
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
pub(crate) struct Blocks(pub(crate) Vec<Block>);

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
