//! The settings one by one, with where each comes from.

use std::fmt::Display;

use super::{Origin, Settings};
use ralph_base::duration::exact;

impl Settings {
    /// The values one by one, as name, value and origin: for `--dry-run` and messages.
    pub fn lines(&self) -> Vec<(&'static str, String, String)> {
        let mut lines = self.values();
        for (name, value, _) in &mut lines {
            // Here `off` is not the absence of a limit but a time of zero.
            if *name == "timeouts.grace" {
                *value = exact(self.grace.value.or_zero());
            }
        }
        lines.extend(self.prices.iter().map(|(name, price)| {
            let value = format!("{name}: {}", price.value);
            line("prices", value, &price.origin)
        }));
        lines.push(line("notify", &self.notify.value, &self.notify.origin));
        let escalate = self.escalate.iter();
        lines.extend(escalate.map(|it| line("escalate", &it.value, &it.origin)));
        let stories = self.stories.value.iter();
        lines.extend(stories.map(|it| line("story", it, &self.stories.origin)));
        let gates = self.gates.value.iter();
        lines.extend(gates.map(|it| line("gate", it, &self.gates.origin)));
        lines
    }
}

fn line(
    name: &'static str,
    value: impl Display,
    origin: &Origin,
) -> (&'static str, String, String) {
    (name, value.to_string(), origin.to_string())
}
