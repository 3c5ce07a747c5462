//! What Qwen Code's lines have beyond Claude Code's.

use serde::Deserialize;

use crate::domain::agent_event::Usage;
use crate::domain::agents::claude::wire::Tokens;
use crate::domain::dialect::lenient::{Number, Short, truth};

/// `system` / `retry`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Retry {
    pub(super) data: RetryData,
}

/// Which retry it is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RetryData {
    pub(super) attempt: Number,
    #[serde(rename = "maxRetries")]
    pub(super) all: Number,
    #[serde(rename = "delayMs")]
    pub(super) delay_ms: Number,
}

/// `result`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Turn {
    pub(super) subtype: Short,
    #[serde(deserialize_with = "truth")]
    pub(super) is_error: bool,
    pub(super) result: Option<String>,
    pub(super) error: Failure,
    pub(super) usage: Tokens,
}

/// What went wrong.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Failure {
    pub(super) message: String,
}

/// Its input includes what came from the cache.
pub(super) fn without_cached(usage: Usage) -> Usage {
    Usage {
        input_tokens: usage.input_tokens.saturating_sub(usage.cache_read_tokens),
        ..usage
    }
}
