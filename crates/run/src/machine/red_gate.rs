//! A red gate beside what it said of the checkpoint: whether it counts.

use super::io::GateEnd;
use super::{Machine, Verdict};
use crate::test_report::{Compared, compare};

/// What the red of a gate means.
#[derive(Debug, Default)]
pub(super) struct RedGate {
    /// Its tests beside those before; none where it is not red, or was not red before.
    compared: Option<Compared>,
}

impl RedGate {
    /// Whether it is red as it was before, and does not count.
    pub(super) fn is_as_before(&self) -> bool {
        let compared = self.compared.as_ref();
        compared.is_some_and(|it| it.failure().is_none())
    }

    /// What is said of it where it does not count; `since` is what it was red before.
    pub(super) fn excuse(&self, name: &str, how: &str, since: &str) -> String {
        let as_before = self.compared.as_ref().map(|it| it.as_before(since));
        format!(
            "gate `{name}` is red ({how}){}",
            as_before.unwrap_or_default()
        )
    }

    /// How it ended, and why it counts although it was red before.
    pub(super) fn how(&self, how: String) -> String {
        match self.compared.as_ref().and_then(Compared::failure) {
            Some(why) => format!("{how}: {why}"),
            None => how,
        }
    }

    /// Tests that fail and did not fail before.
    pub(super) fn new_failures(&self) -> Vec<String> {
        match &self.compared {
            Some(Compared::Worse(new)) => new.tests.clone(),
            _ => Vec::new(),
        }
    }
}

impl Machine {
    /// Compares a gate that ended with what it said of the checkpoint.
    pub(super) fn judge_red(&self, gate: usize, end: &GateEnd) -> RedGate {
        let before = &self.checkpoint_verdicts;
        let was_red = before.verdicts[gate] == Verdict::Red && end.result.is_red();
        RedGate {
            compared: was_red.then(|| compare(before.tests[gate].as_ref(), end.tests.as_ref())),
        }
    }
}
