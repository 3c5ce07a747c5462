//! The few fields of pi's lines that matter; everything else is skipped unread.

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess};

use crate::domain::dialect::lenient::{Anything, Lenient, Number, Short, Size, truth};
use crate::domain::dialect::tool_input::ToolInput;

/// Any line.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) id: Short,
    #[serde(default)]
    pub(super) cwd: Short,
    #[serde(default)]
    pub(super) message: Message,
    #[serde(default, rename = "toolName")]
    pub(super) tool: Short,
    #[serde(default)]
    pub(super) args: ToolInput,
    #[serde(default)]
    pub(super) result: Size,
    #[serde(default, deserialize_with = "truth")]
    pub(super) is_error: bool,
    #[serde(default)]
    pub(super) attempt: Number,
    #[serde(default)]
    pub(super) max_attempts: Number,
    #[serde(default)]
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

/// One block of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block {
    #[serde(rename = "type")]
    pub(super) kind: Short,
    pub(super) text: String,
    pub(super) thinking: String,
}

/// The blocks of a message.
#[derive(Debug, Default)]
pub(super) struct Blocks(pub(super) Vec<Block>);

impl<'de> Deserialize<'de> for Blocks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything(Blocks::default()))
    }
}

impl Lenient for Blocks {
    fn sequence<'de, A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        while let Some(block) = items.next_element::<Block>()? {
            self.0.push(block);
        }
        Ok(())
    }
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
