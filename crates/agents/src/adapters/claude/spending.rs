//! What an attempt costs, as far as the stream reports it.

use std::collections::VecDeque;

use serde_json::{Map, Value};

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

    /// Uses the exact figures of a finished turn; `earlier` is what earlier processes of the session
    /// used.
    pub(super) fn settle(&mut self, result: &Value, earlier: &Usage) {
        let cost_usd = result["total_cost_usd"].as_f64();
        let turn = &result["model_usage_since_last_result"];
        let session = result["modelUsage"].as_object();
        if let Some(models) = turn.as_object() {
            let nothing = Usage {
                cost_usd: cost_usd.map(|_| 0.0),
                ..Usage::default()
            };
            self.exact.add(&models_usage(models, nothing));
        } else if let Some(models) = session.filter(|it| !it.is_empty()) {
            // 2.1.197 has only what the session used.
            let session = models_usage(models, Usage::default());
            let cost_usd = cost_usd.or(session.cost_usd);
            self.exact = Usage {
                cost_usd,
                ..session
            }
            .since(earlier);
        } else {
            // Streams older than that have the tokens of the turn, and the cost of the session.
            self.exact.add(&usage(&result["usage"]));
            let cost = |total: f64| (total - earlier.cost_usd.unwrap_or(0.0)).max(0.0);
            self.exact.cost_usd = cost_usd.map(cost).or(self.exact.cost_usd);
        }
        self.since = Usage::default();
    }
}

fn models_usage(models: &Map<String, Value>, mut sum: Usage) -> Usage {
    for model in models.values() {
        sum.add(&model_usage(model));
    }
    sum
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
