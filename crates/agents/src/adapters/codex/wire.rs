//! The few fields of Codex's lines that matter; everything else is skipped unread.

use serde::Deserialize;

use crate::agent_event::Usage;
use crate::dialect::api_error::ErrorObject;
use crate::dialect::lenient::{Number, Short, Size};
use crate::dialect::tool_input::ToolInput;

/// Any line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Line {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) thread_id: Short,
    pub(super) message: String,
    pub(super) item: Item,
    pub(super) usage: Tokens,
    pub(super) error: ErrorObject,
}

/// Something the agent said or did.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Item {
    pub(super) id: Short,
    #[serde(rename = "type")]
    pub(super) kind: Short,
    pub(super) text: String,
    pub(super) message: String,
    pub(super) command: Short,
    pub(super) aggregated_output: Size,
    pub(super) exit_code: Number,
    pub(super) status: Short,
    pub(super) changes: Vec<Change>,
    pub(super) query: Short,
    pub(super) server: Short,
    pub(super) tool: Short,
    pub(super) arguments: ToolInput,
    pub(super) result: Size,
    pub(super) items: Vec<Todo>,
}

/// A file that was changed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Change {
    pub(super) path: Short,
    pub(super) kind: Short,
}

/// A step of the agent's plan.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Todo {
    text: Short,
    completed: bool,
}

impl Item {
    /// How much a tool answered.
    pub(super) fn answer_bytes(&self) -> u64 {
        self.aggregated_output.0 + self.result.0
    }

    /// True if the tool reported a failure.
    pub(super) fn is_failed(&self) -> bool {
        self.status.0 == "failed" || self.exit_code.0.is_some_and(|code| code != 0.0)
    }

    /// The step of the plan that is next.
    pub(super) fn plan(&self) -> String {
        let done = self.items.iter().filter(|step| step.completed).count();
        let next = self.items.iter().find(|step| !step.completed);
        let next = next.map_or("", |step| step.text.0.as_str());
        format!("{done} of {} done {next}", self.items.len())
            .trim_end()
            .to_owned()
    }
}

/// What the thread used so far; the input includes what came from the cache.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
#[allow(clippy::struct_field_names, reason = "named as in the stream")]
pub(super) struct Tokens {
    input_tokens: Number,
    cached_input_tokens: Number,
    cache_write_input_tokens: Number,
    output_tokens: Number,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let read = tokens.cached_input_tokens.count();
        let written = tokens.cache_write_input_tokens.count();
        let input = tokens.input_tokens.count();
        Self {
            input_tokens: input.saturating_sub(read).saturating_sub(written),
            output_tokens: tokens.output_tokens.count(),
            cache_read_tokens: read,
            cache_write_tokens: written,
            cost_usd: None,
        }
    }
}
