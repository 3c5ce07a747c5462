//! What an attempt costs, as far as the stream reports it.

use std::collections::VecDeque;

use serde_json::Value;

use super::usage;
use crate::agent_event::Usage;
use crate::dialect::json::count;

/// How many message ids are remembered to count each message once.
const MESSAGES_KEPT: usize = 64;

/// Tokens and cost: exact as of the last result, a lower bound since.
#[derive(Debug, Clone, Default)]
pub(super) struct Spending {
    exact: Usage,
    since: Usage,
    counted: VecDeque<String>,
}

impl Spending {
    /// All so far.
    pub(super) fn total(&self) -> Usage {
        let mut total = self.exact;
        total.add(&self.since);
        total
    }

    /// Counts a message's input once; its output is only known at the turn's end.
    pub(super) fn count(&mut self, id: &str, usage: &Usage) -> bool {
        if usage.total_tokens() == 0 || self.counted.iter().any(|counted| counted == id) {
            return false;
        }
        self.counted.push_back(id.to_owned());
        if self.counted.len() > MESSAGES_KEPT {
            self.counted.pop_front();
        }
        self.since.add(usage);
        true
    }

    /// Uses the exact figures of a finished turn.
    pub(super) fn settle(&mut self, result: &Value) {
        match result["modelUsage"].as_object().filter(|it| !it.is_empty()) {
            Some(models) => {
                self.exact = Usage::default();
                for model in models.values() {
                    self.exact.add(&model_usage(model));
                }
            }
            // Older streams report only what this turn used.
            None => self.exact.add(&usage(&result["usage"])),
        }
        let cost = result["total_cost_usd"].as_f64();
        self.exact.cost_usd = cost.or(self.exact.cost_usd);
        self.since = Usage::default();
    }
}

fn model_usage(model: &Value) -> Usage {
    Usage {
        input_tokens: count(&model["inputTokens"]),
        output_tokens: count(&model["outputTokens"]),
        cache_read_tokens: count(&model["cacheReadInputTokens"]),
        cache_write_tokens: count(&model["cacheCreationInputTokens"]),
        cost_usd: model["costUSD"].as_f64(),
    }
}
