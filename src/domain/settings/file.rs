//! The text of a `ralphtool.toml` becomes one layer of settings.
//!
//! Unknown keys and wrong types are errors that name line and column: a misspelt key that is
//! silently ignored would be found out only after a night of running.

mod agents;
mod checks;
mod claims;

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::trust::Claim;
use super::{OnFinish, Origin, PartialSettings, SettingsProblem, Sourced, keys, nearest};
use crate::domain::duration::TimeLimit;
use crate::domain::size::SizeLimit;

/// What messages say an amount of money looks like.
const MONEY: &str = "an amount such as 2.50";
/// What messages say a number of tokens looks like.
const TOKENS: &str = "a number such as 500_000";

type Value<'i> = Spanned<DeValue<'i>>;
type Key<'i> = Spanned<std::borrow::Cow<'i, str>>;

/// A file that may ask for things the user has not allowed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// All that it says.
    pub(crate) whole: PartialSettings,
    /// What it says without what has to be allowed.
    pub(crate) harmless: PartialSettings,
    /// What has to be allowed.
    pub(crate) claims: Vec<Claim>,
}

/// Reads a file's text; `path` is what messages call the file.
pub(crate) fn parse(path: &str, text: &str) -> Result<PartialSettings, SettingsProblem> {
    let file = File { path, text };
    file.settings(file.document()?.get_ref())
}

/// The same, with what in it has to be allowed by the user.
pub(crate) fn read(path: &str, text: &str) -> Result<Reading, SettingsProblem> {
    let file = File { path, text };
    let mut document = file.document()?;
    let whole = file.settings(document.get_ref())?;
    let claims = file.claims(document.get_ref());
    claims::remove_claims(document.get_mut());
    Ok(Reading {
        whole,
        harmless: file.settings(document.get_ref())?,
        claims,
    })
}

/// A file being read: knows where things stand.
struct File<'a> {
    path: &'a str,
    text: &'a str,
}

impl<'a> File<'a> {
    fn document(&self) -> Result<Spanned<DeTable<'a>>, SettingsProblem> {
        DeTable::parse(self.text)
            .map_err(|error| self.problem(&error.span().unwrap_or_default(), error.message()))
    }
}

impl File<'_> {
    fn settings(&self, document: &DeTable<'_>) -> Result<PartialSettings, SettingsProblem> {
        let mut settings = PartialSettings::default();
        for (key, value) in document {
            self.top_key(&mut settings, key, value)?;
        }
        Ok(settings)
    }

    fn top_key(
        &self,
        settings: &mut PartialSettings,
        key: &Key<'_>,
        value: &Value<'_>,
    ) -> Result<(), SettingsProblem> {
        match key.get_ref().as_ref() {
            "agent" => settings.agent = Some(self.sourced(key, self.agent_list(value)?)),
            "model" => settings.model = Some(self.sourced(key, self.model(value)?)),
            "max_retries" => settings.max_retries = Some(self.sourced(key, self.count(value)?)),
            "on_finish" => {
                let choice = self.choice(value, &OnFinish::NAMES)?;
                settings.on_finish = Some(self.sourced(key, choice));
            }
            "strict_tasks" => settings.strict_tasks = Some(self.sourced(key, self.flag(value)?)),
            "require_changes" => {
                settings.require_changes = Some(self.sourced(key, self.flag(value)?));
            }
            "isolate" => return Err(SettingsProblem::isolate_removed(self.place(&key.span()))),
            "command_timeout" => {
                settings.command_timeout = Some(self.sourced(key, self.duration(value)?));
            }
            "max_wait" => settings.max_wait = Some(self.sourced(key, self.duration(value)?)),
            "limit_pause" => settings.limit_pause = Some(self.sourced(key, self.duration(value)?)),
            "largest_file" => settings.largest_file = Some(self.sourced(key, self.size(value)?)),
            "least_free" => settings.least_free = Some(self.sourced(key, self.size(value)?)),
            "vault_limit" => settings.vault_limit = Some(self.sourced(key, self.size(value)?)),
            "learnings_limit" => {
                settings.learnings_limit = Some(self.sourced(key, self.size(value)?));
            }
            "timeouts" => self.timeouts(settings, value)?,
            "budget" => self.budget(settings, value)?,
            "prices" => settings.prices = self.prices(value)?,
            "tamper" => self.tamper(settings, value)?,
            "notify" => settings.notify = Some(self.sourced(key, self.notify(value)?)),
            "gate" => settings.gates = Some(self.sourced(key, self.gates(value)?)),
            "agents" => settings.agents = self.agents(value)?,
            "escalate" => settings.escalate = Some(self.sourced(key, self.escalation(value)?)),
            "story" => settings.stories = Some(self.sourced(key, self.story_agents(value)?)),
            _ => return Err(self.unknown(key, "", "")),
        }
        Ok(())
    }

    fn timeouts(
        &self,
        settings: &mut PartialSettings,
        value: &Value<'_>,
    ) -> Result<(), SettingsProblem> {
        for (key, value) in self.table(value)? {
            match key.get_ref().as_ref() {
                "idle" => settings.idle_timeout = Some(self.sourced(key, self.duration(value)?)),
                "total" => settings.total_timeout = Some(self.sourced(key, self.duration(value)?)),
                "grace" => settings.grace = Some(self.sourced(key, self.duration(value)?)),
                _ => return Err(self.unknown(key, "[timeouts]", " in `[timeouts]`")),
            }
        }
        Ok(())
    }

    fn budget(
        &self,
        settings: &mut PartialSettings,
        value: &Value<'_>,
    ) -> Result<(), SettingsProblem> {
        for (key, value) in self.table(value)? {
            match key.get_ref().as_ref() {
                "usd" => settings.max_cost = Some(self.sourced(key, self.amount(value, MONEY)?)),
                "tokens" => {
                    settings.max_tokens = Some(self.sourced(key, self.amount(value, TOKENS)?));
                }
                "story_usd" => {
                    settings.max_story_cost = Some(self.sourced(key, self.amount(value, MONEY)?));
                }
                "story_tokens" => {
                    let tokens = self.amount(value, TOKENS)?;
                    settings.max_story_tokens = Some(self.sourced(key, tokens));
                }
                "story_time" => {
                    settings.max_story_time = Some(self.sourced(key, self.duration(value)?));
                }
                "time" => settings.max_time = Some(self.sourced(key, self.duration(value)?)),
                _ => return Err(self.unknown(key, "[budget]", " in `[budget]`")),
            }
        }
        Ok(())
    }

    fn table<'v, 'i>(&self, value: &'v Value<'i>) -> Result<&'v DeTable<'i>, SettingsProblem> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => Err(self.wrong_type(value, "a table")),
        }
    }

    fn string(&self, value: &Value<'_>) -> Result<String, SettingsProblem> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.clone().into_owned()),
            _ => Err(self.wrong_type(value, "a string")),
        }
    }

    /// A string that says something.
    fn filled(&self, value: &Value<'_>) -> Result<String, SettingsProblem> {
        let text = self.string(value)?;
        if text.trim().is_empty() {
            return Err(self.problem(&value.span(), "this must not be empty"));
        }
        Ok(text)
    }

    /// The name of a model. It becomes an argument of the agent, which must not take it for a flag:
    /// a repository's file needs no permission to name one.
    fn model(&self, value: &Value<'_>) -> Result<String, SettingsProblem> {
        let text = self.string(value)?;
        if text.starts_with('-') {
            return Err(self.problem(&value.span(), "a model cannot start with `-`"));
        }
        Ok(text)
    }

    fn flag(&self, value: &Value<'_>) -> Result<bool, SettingsProblem> {
        match value.get_ref() {
            DeValue::Boolean(flag) => Ok(*flag),
            _ => Err(self.wrong_type(value, "`true` or `false`")),
        }
    }

    fn count(&self, value: &Value<'_>) -> Result<u32, SettingsProblem> {
        let DeValue::Integer(integer) = value.get_ref() else {
            return Err(self.wrong_type(value, "a whole number"));
        };
        u32::from_str_radix(integer.as_str(), integer.radix()).map_err(|_| {
            let message = format!("expected a number from 0 to {}", u32::MAX);
            self.problem(&value.span(), &message)
        })
    }

    fn duration(&self, value: &Value<'_>) -> Result<TimeLimit, SettingsProblem> {
        match value.get_ref() {
            DeValue::String(text) => text
                .parse()
                .map_err(|bad| self.problem(&value.span(), &format!("{bad}"))),
            DeValue::Integer(integer) if integer.as_str() == "0" => Ok(TimeLimit::OFF),
            _ => Err(self.wrong_type(value, "a duration such as \"15m\"")),
        }
    }

    /// A number or a string that says how much of something.
    fn amount<T>(&self, value: &Value<'_>, wanted: &str) -> Result<T, SettingsProblem>
    where
        T: std::str::FromStr<Err: std::fmt::Display>,
    {
        let text = match value.get_ref() {
            DeValue::String(text) => text.as_ref(),
            DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str(),
            DeValue::Float(float) => float.as_str(),
            _ => return Err(self.wrong_type(value, wanted)),
        };
        text.parse()
            .map_err(|bad| self.problem(&value.span(), &format!("{bad}")))
    }

    fn size(&self, value: &Value<'_>) -> Result<SizeLimit, SettingsProblem> {
        match value.get_ref() {
            DeValue::String(text) => text
                .parse()
                .map_err(|bad| self.problem(&value.span(), &format!("{bad}"))),
            DeValue::Integer(integer) if integer.as_str() == "0" => Ok(SizeLimit::OFF),
            _ => Err(self.wrong_type(value, "a size such as \"50MB\"")),
        }
    }

    fn choice<T: Copy>(
        &self,
        value: &Value<'_>,
        names: &[(&str, T)],
    ) -> Result<T, SettingsProblem> {
        let text = self.string(value)?;
        let found = names.iter().find(|(name, _)| *name == text);
        found.map(|(_, choice)| *choice).ok_or_else(|| {
            let known: Vec<String> = names.iter().map(|(name, _)| format!("`{name}`")).collect();
            let message = format!("`{text}` is not one of {}", known.join(", "));
            self.problem(&value.span(), &message)
        })
    }

    fn sourced<T>(&self, key: &Key<'_>, value: T) -> Sourced<T> {
        let (line, _) = self.position(key.span().start);
        let path = self.path.to_owned();
        Sourced {
            value,
            origin: Origin::File { path, line },
        }
    }

    /// A key that is none of the table with that header, which messages call `place`.
    fn unknown(&self, key: &Key<'_>, header: &str, place: &str) -> SettingsProblem {
        let known = keys::names(header);
        let name = key.get_ref().as_ref();
        let problem = self.problem(&key.span(), &format!("unknown key `{name}`{place}"));
        match nearest(name, &known) {
            Some(near) => problem.hint(format!("did you mean `{near}`")),
            None => problem.hint(format!("known keys: {}", known.join(", "))),
        }
    }

    fn wrong_type(&self, value: &Value<'_>, wanted: &str) -> SettingsProblem {
        let found = value.get_ref().type_str();
        self.problem(&value.span(), &format!("expected {wanted}, found {found}"))
    }

    fn problem(&self, span: &Range<usize>, message: &str) -> SettingsProblem {
        SettingsProblem::new(self.place(span), message)
    }

    /// The file with line and column.
    fn place(&self, span: &Range<usize>) -> String {
        let (line, column) = self.position(span.start);
        format!("{}:{line}:{column}", self.path)
    }

    /// Line and column, both from 1, of a byte offset.
    fn position(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        (line, column)
    }
}
