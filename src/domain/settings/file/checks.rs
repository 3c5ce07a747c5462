//! The parts of a `ralphtool.toml` that are about checks, prices and notifications.

use std::collections::BTreeMap;

use toml::de::DeValue;

use super::{File, Key, MONEY, Value};
use crate::domain::allowance::Price;
use crate::domain::settings::{
    GATE_TIMEOUT, GateSettings, NotifySettings, Occasion, PartialSettings, SettingsProblem,
    Severity, Sourced, TamperCheck, When,
};

impl File<'_> {
    pub(super) fn gates(&self, value: &Value<'_>) -> Result<Vec<GateSettings>, SettingsProblem> {
        let DeValue::Array(array) = value.get_ref() else {
            let problem = self.wrong_type(value, "an array of tables");
            return Err(problem.hint("write each gate under its own `[[gate]]`"));
        };
        let mut gates: Vec<GateSettings> = Vec::new();
        for item in array {
            let gate = self.gate(item)?;
            if gates.iter().any(|other| other.name == gate.name) {
                let message = format!("there are two gates named `{}`", gate.name);
                return Err(self.problem(&item.span(), &message));
            }
            gates.push(gate);
        }
        Ok(gates)
    }

    fn gate(&self, item: &Value<'_>) -> Result<GateSettings, SettingsProblem> {
        let mut name = None;
        let mut gate = GateSettings {
            timeout: GATE_TIMEOUT,
            ..GateSettings::from_line("")
        };
        for (key, value) in self.table(item)? {
            match key.get_ref().as_ref() {
                "name" => name = Some(self.filled(value)?),
                "run" => gate.run = self.filled(value)?,
                "timeout" => gate.timeout = self.duration(value)?,
                "baseline" => gate.baseline = self.flag(value)?,
                "when" => gate.when = self.choice(value, &When::NAMES)?,
                "keep_changes" => gate.keep_changes = self.flag(value)?,
                _ => return Err(self.unknown(key, "[[gate]]", " in `[[gate]]`")),
            }
        }
        if gate.run.is_empty() {
            let problem = self.problem(&item.span(), "this gate has no `run`");
            return Err(problem.hint("say what to run, such as `run = \"cargo test\"`"));
        }
        if gate.keep_changes && gate.when == When::End {
            let message = "a gate at the end cannot keep its changes: every story is saved by then";
            let problem = self.problem(&item.span(), message);
            return Err(problem.hint("let it run after each story, with `when = \"story\"`"));
        }
        gate.name = name.unwrap_or_else(|| gate.run.clone());
        Ok(gate)
    }

    pub(super) fn prices(
        &self,
        value: &Value<'_>,
    ) -> Result<BTreeMap<String, Sourced<Price>>, SettingsProblem> {
        let mut prices = BTreeMap::new();
        for (key, value) in self.table(value)? {
            let price = self.sourced(key, self.price(key, value)?);
            prices.insert(key.get_ref().clone().into_owned(), price);
        }
        Ok(prices)
    }

    fn price(&self, name: &Key<'_>, value: &Value<'_>) -> Result<Price, SettingsProblem> {
        let (mut input, mut output, mut cached, mut write) = (None, None, None, None);
        for (key, value) in self.table(value)? {
            match key.get_ref().as_ref() {
                "input" => input = Some(self.amount(value, MONEY)?),
                "output" => output = Some(self.amount(value, MONEY)?),
                "cached_input" => cached = Some(self.amount(value, MONEY)?),
                "cache_write" => write = Some(self.amount(value, MONEY)?),
                _ => {
                    let place = format!(" in `[prices.{}]`", name.get_ref());
                    return Err(self.unknown(key, "[prices.my-model]", &place));
                }
            }
        }
        let (Some(input), Some(output)) = (input, output) else {
            let message = format!("the price of `{}` is not whole", name.get_ref());
            let problem = self.problem(&name.span(), &message);
            return Err(problem.hint(
                "say what a million tokens cost in US dollars: `input = 1.25` and `output = 10`",
            ));
        };
        Ok(Price {
            input,
            output,
            cached_input: cached.unwrap_or(input),
            cache_write: write.unwrap_or(input),
        })
    }

    pub(super) fn tamper(
        &self,
        settings: &mut PartialSettings,
        value: &Value<'_>,
    ) -> Result<(), SettingsProblem> {
        for (key, value) in self.table(value)? {
            let name = key.get_ref().as_ref();
            let check = TamperCheck::NAMES.into_iter().find(|it| it.0 == name);
            if let Some((_, check)) = check {
                let severity = self.choice(value, &Severity::NAMES)?;
                settings.tamper.insert(check, self.sourced(key, severity));
            } else if name == "roots" {
                settings.tamper_roots = Some(self.sourced(key, self.paths(value)?));
            } else {
                return Err(self.unknown(key, "[tamper]", " in `[tamper]`"));
            }
        }
        Ok(())
    }

    /// Folders and files, as seen from the top of the work tree.
    fn paths(&self, value: &Value<'_>) -> Result<Vec<String>, SettingsProblem> {
        let DeValue::Array(array) = value.get_ref() else {
            return Err(self.wrong_type(value, "an array of paths"));
        };
        let path = |item: &Value<'_>| {
            let path = self.filled(item)?;
            let leads_out = path.starts_with('/') || path.split('/').any(|part| part == "..");
            if leads_out {
                let message = "expected a path inside of the repository";
                return Err(self.problem(&item.span(), message));
            }
            let path = path.strip_prefix("./").unwrap_or(&path);
            Ok(path.trim_end_matches('/').to_owned())
        };
        array.iter().map(path).collect()
    }

    pub(super) fn notify(&self, value: &Value<'_>) -> Result<NotifySettings, SettingsProblem> {
        let mut notify = NotifySettings::default();
        for (key, value) in self.table(value)? {
            match key.get_ref().as_ref() {
                "command" => notify.command = Some(self.words(value)?),
                "bell" => notify.bell = self.flag(value)?,
                "on" => notify.on = self.occasions(value)?,
                _ => return Err(self.unknown(key, "[notify]", " in `[notify]`")),
            }
        }
        Ok(notify)
    }

    fn occasions(&self, value: &Value<'_>) -> Result<Vec<Occasion>, SettingsProblem> {
        let DeValue::Array(array) = value.get_ref() else {
            return Err(self.wrong_type(value, "an array such as [\"finished\"]"));
        };
        let occasion = |item| self.choice(item, &Occasion::NAMES);
        array.iter().map(occasion).collect()
    }
}
