//! What Qwen Code's lines have beyond Claude Code's.

use serde::Deserialize;

use crate::adapters::claude::wire::Tokens;
use crate::dialect::api_error::ErrorObject;
use crate::dialect::lenient::{Flag, Number, Short};

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
    pub(super) is_error: Flag,
    pub(super) result: Option<String>,
    pub(super) error: ErrorObject,
    pub(super) usage: Tokens,
}
