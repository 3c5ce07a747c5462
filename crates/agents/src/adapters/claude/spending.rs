//! What an attempt costs, as far as the stream reports it.

use std::collections::VecDeque;

use super::wire::{Tokens, Turn};
use crate::agent_event::Usage;

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
    pub(super) fn count(&mut self, id: String, usage: Tokens) -> bool {
        let usage = Usage::from(usage);
        if usage.total_tokens() == 0 || self.counted.contains(&id) {
            return false;
        }
        self.counted.push_back(id);
        if self.counted.len() > MESSAGES_KEPT {
            self.counted.pop_front();
        }
        self.since.add(&usage);
        true
    }

    /// Takes the exact figures of a finished turn.
    pub(super) fn settle(&mut self, line: &Turn) {
        if line.model_usage.is_empty() {
            // Older streams report only what this turn used.
            self.exact.add(&line.usage.into());
        } else {
            self.exact = Usage::default();
            for model in line.model_usage.values() {
                self.exact.add(&(*model).into());
            }
        }
        self.exact.cost_usd = line.total_cost_usd.0.or(self.exact.cost_usd);
        self.since = Usage::default();
    }
}
