//! The few fields of Claude Code's lines that matter; everything else is skipped unread.
//!
//! The types are lenient: a field of an unexpected type is taken as absent, a tool's answer
//! is measured and not kept.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::domain::agent_event::Usage;

/// How much of a short text is kept.
const SHORT_CAP: usize = 400;
/// How long a tool's summary is, in characters.
const SUMMARY_CAP: usize = 160;

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
}

/// `system` / `api_retry`.
#[derive(Debug, Deserialize)]
#[serde(default)]
#[derive(Default)]
pub(super) struct Retry {
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

/// The arguments that tell what a tool call does, the most telling first.
#[derive(Debug, Default)]
pub(super) struct ToolInput(Option<(usize, String)>);

/// Argument names, the most telling first.
const TELLING: [&str; 11] = [
    "command",
    "file_path",
    "notebook_path",
    "path",
    "pattern",
    "url",
    "query",
    "skill",
    "description",
    "subject",
    "prompt",
];

impl ToolInput {
    /// One line that says what the call does.
    pub(super) fn summary(&self) -> String {
        let Some((_, text)) = &self.0 else {
            return String::new();
        };
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if line.chars().count() <= SUMMARY_CAP {
            return line;
        }
        let start: String = line.chars().take(SUMMARY_CAP - 1).collect();
        format!("{start}…")
    }
}

impl<'de> Deserialize<'de> for ToolInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything(ToolInput::default()))
    }
}

impl Blocks {
    /// All words of the message.
    pub(super) fn text(&self) -> String {
        let texts: Vec<&str> = self.0.iter().map(|block| block.text.as_str()).collect();
        super::event_text(texts.join("\n").trim())
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

/// A short text; anything else counts as none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Short(pub(super) String);

impl Short {
    /// True if there is no text.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de> Deserialize<'de> for Short {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything(Short::default()))
    }
}

/// A number; anything else counts as none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Number(pub(super) Option<f64>);

impl Number {
    /// The whole part, if it is a number that is not negative.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be in range"
    )]
    pub(super) fn whole(self) -> Option<u64> {
        self.0
            .filter(|number| (0.0..9.0e15).contains(number))
            .map(|number| number as u64)
    }

    fn count(self) -> u64 {
        self.whole().unwrap_or(0)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything(Number::default()))
    }
}

/// How many bytes of text a value holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size(pub(super) u64);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything(Size::default()))
    }
}

fn truth<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::<bool>::deserialize(deserializer)?.unwrap_or(false))
}

/// What a lenient type makes of each sort of JSON value; by default nothing.
trait Lenient: Default {
    fn text(&mut self, _text: &str) {}
    fn number(&mut self, _number: f64) {}
    fn sequence<'de, A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
    fn map<'de, A: MapAccess<'de>>(&mut self, mut entries: A) -> Result<(), A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

impl Lenient for Short {
    fn text(&mut self, text: &str) {
        super::super::start_of(text, SHORT_CAP).clone_into(&mut self.0);
    }
}

impl Lenient for Number {
    fn number(&mut self, number: f64) {
        self.0 = Some(number);
    }
}

impl Lenient for Size {
    fn text(&mut self, text: &str) {
        self.0 = text.len() as u64;
    }
    fn sequence<'de, A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<Size>()? {
            self.0 += item.0;
        }
        Ok(())
    }
    fn map<'de, A: MapAccess<'de>>(&mut self, mut entries: A) -> Result<(), A::Error> {
        while let Some(key) = entries.next_key::<Short>()? {
            let size = entries.next_value::<Size>()?;
            if !key.0.ends_with("type") {
                self.0 += size.0;
            }
        }
        Ok(())
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

impl Lenient for ToolInput {
    fn map<'de, A: MapAccess<'de>>(&mut self, mut entries: A) -> Result<(), A::Error> {
        while let Some(key) = entries.next_key::<Short>()? {
            let value = entries.next_value::<Short>()?;
            let Some(rank) = TELLING.iter().position(|name| *name == key.0) else {
                continue;
            };
            if !value.is_empty() && self.0.as_ref().is_none_or(|(best, _)| rank < *best) {
                self.0 = Some((rank, value.0));
            }
        }
        Ok(())
    }
}

/// Accepts every sort of JSON value for a lenient type.
struct Anything<T>(T);

impl<'de, T: Lenient> Visitor<'de> for Anything<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }
    fn visit_str<E>(mut self, text: &str) -> Result<T, E> {
        self.0.text(text);
        Ok(self.0)
    }
    #[allow(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn visit_u64<E>(mut self, number: u64) -> Result<T, E> {
        self.0.number(number as f64);
        Ok(self.0)
    }
    #[allow(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn visit_i64<E>(mut self, number: i64) -> Result<T, E> {
        self.0.number(number as f64);
        Ok(self.0)
    }
    fn visit_f64<E>(mut self, number: f64) -> Result<T, E> {
        self.0.number(number);
        Ok(self.0)
    }
    fn visit_bool<E>(self, _: bool) -> Result<T, E> {
        Ok(self.0)
    }
    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(self.0)
    }
    fn visit_seq<A: SeqAccess<'de>>(mut self, items: A) -> Result<T, A::Error> {
        self.0.sequence(items)?;
        Ok(self.0)
    }
    fn visit_map<A: MapAccess<'de>>(mut self, entries: A) -> Result<T, A::Error> {
        self.0.map(entries)?;
        Ok(self.0)
    }
}
