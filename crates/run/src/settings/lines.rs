//! The settings one by one, with where each comes from.

use super::Settings;
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
        let prices = self.prices.iter();
        lines.extend(prices.map(|(name, price)| {
            let value = format!("{name}: {}", price.value);
            ("prices", value, price.origin.to_string())
        }));
        let notify = &self.notify;
        lines.push((
            "notify",
            notify.value.to_string(),
            notify.origin.to_string(),
        ));
        let escalate = self.escalate.iter();
        lines.extend(escalate.map(|it| ("escalate", it.value.to_string(), it.origin.to_string())));
        let stories = self.stories.value.iter();
        lines.extend(stories.map(|it| ("story", it.to_string(), self.stories.origin.to_string())));
        let gates = self.gates.value.iter();
        lines.extend(gates.map(|it| ("gate", it.to_string(), self.gates.origin.to_string())));
        lines
    }
}
