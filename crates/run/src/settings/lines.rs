//! The settings one by one, with where each comes from.

use std::fmt::Display;

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
        lines.extend(self.prices.iter().map(|(name, price)| {
            let value = format!("{name}: {}", price.value);
            line("prices", value, &price.origin)
        }));
        lines.push(line("notify", &self.notify.value, &self.notify.origin));
        let escalate = self.escalate.iter();
        lines.extend(escalate.map(|it| line("escalate", &it.value, &it.origin)));
        let stories = self.stories.value.iter().enumerate();
        lines.extend(stories.map(|(place, it)| line("story", it, self.stories.origin.of(place))));
        let gates = self.gates.value.iter().enumerate();
        lines.extend(gates.map(|(place, it)| line("gate", it, self.gates.origin.of(place))));
        let reviews = self.reviews.value.iter().enumerate();
        lines.extend(reviews.map(|(place, it)| line("review", it, self.reviews.origin.of(place))));
        lines
    }
}

fn line(
    name: &'static str,
    value: impl Display,
    origin: impl Display,
) -> (&'static str, String, String) {
    (name, value.to_string(), origin.to_string())
}
