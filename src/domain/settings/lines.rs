//! The settings one by one, with where each comes from.

use super::{Settings, Sourced, TamperCheck};
use crate::domain::duration::{TimeLimit, exact};

impl Settings {
    /// The values one by one, as name, value and origin: for `--dry-run` and messages.
    pub(crate) fn lines(&self) -> Vec<(&'static str, String, String)> {
        fn line<T>(
            name: &'static str,
            sourced: &Sourced<T>,
            show: impl Fn(&T) -> String,
        ) -> (&'static str, String, String) {
            (name, show(&sourced.value), sourced.origin.to_string())
        }
        let mut lines = vec![line("agent", &self.agent, ToString::to_string)];
        if let Some(model) = &self.model {
            lines.push(line("model", model, Clone::clone));
        }
        lines.extend([
            line("max_retries", &self.max_retries, ToString::to_string),
            line("on_finish", &self.on_finish, |it| it.name().to_owned()),
            line("strict_tasks", &self.strict_tasks, ToString::to_string),
            line(
                "require_changes",
                &self.require_changes,
                ToString::to_string,
            ),
            line(
                "command_timeout",
                &self.command_timeout,
                ToString::to_string,
            ),
            line("max_wait", &self.max_wait, ToString::to_string),
            line("limit_pause", &self.limit_pause, ToString::to_string),
            line("largest_file", &self.largest_file, ToString::to_string),
            line("least_free", &self.least_free, ToString::to_string),
            line("vault_limit", &self.vault_limit, ToString::to_string),
            line(
                "learnings_limit",
                &self.learnings_limit,
                ToString::to_string,
            ),
            line("timeouts.idle", &self.idle_timeout, ToString::to_string),
            line("timeouts.total", &self.total_timeout, ToString::to_string),
            line("timeouts.grace", &self.grace, |it| it.or_zero_text()),
            line("budget.usd", &self.max_cost, ToString::to_string),
            line("budget.tokens", &self.max_tokens, ToString::to_string),
            line("budget.time", &self.max_time, ToString::to_string),
            line(
                "budget.story_usd",
                &self.max_story_cost,
                ToString::to_string,
            ),
            line(
                "budget.story_tokens",
                &self.max_story_tokens,
                ToString::to_string,
            ),
            line(
                "budget.story_time",
                &self.max_story_time,
                ToString::to_string,
            ),
        ]);
        let prices = self.prices.iter();
        lines.extend(prices.map(|(name, price)| {
            let value = format!("{name}: {}", price.value);
            ("prices", value, price.origin.to_string())
        }));
        lines.extend(self.tamper_lines());
        lines.push(line("notify", &self.notify, ToString::to_string));
        if let Some(escalate) = &self.escalate {
            lines.push(line("escalate", escalate, ToString::to_string));
        }
        let stories = self.stories.value.iter();
        lines.extend(stories.map(|it| ("story", it.to_string(), self.stories.origin.to_string())));
        lines.extend(
            self.gates
                .value
                .iter()
                .map(|gate| ("gate", gate.to_string(), self.gates.origin.to_string())),
        );
        lines
    }

    fn tamper_lines(&self) -> Vec<(&'static str, String, String)> {
        let severities = TamperCheck::NAMES.into_iter().map(|(_, check)| {
            let (severity, origin) = self.tamper.severity(check);
            (check.key(), severity.name().to_owned(), origin.to_string())
        });
        let roots = self.tamper.roots.iter().map(|roots| {
            let value = roots.value.join(", ");
            ("tamper.roots", value, roots.origin.to_string())
        });
        severities.chain(roots).collect()
    }
}

impl TimeLimit {
    /// For a grace period, where `off` means none at all.
    fn or_zero_text(self) -> String {
        exact(self.or_zero())
    }
}
