//! What a settings file asks for that counts only after the user has allowed it: the keys whose rows
//! have `asks`.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::settings::file_text::FileText;
use crate::settings::keys::{KeyTable, TABLES};
use crate::settings::trust::Claim;
use crate::settings::value::{Item, Key};

impl FileText<'_> {
    /// Removes everything that has to be allowed, and lists it in the order of its lines. Of a table
    /// that there is once, single keys are removed; of gates the whole list and of agents the whole
    /// agent, because the rest of it could mean something else.
    pub(super) fn take_claims(&self, document: &mut DeTable<'_>) -> Vec<Claim> {
        let mut claims = Vec::new();
        for table in &TABLES {
            let Some(name) = table.top_name() else {
                claims.extend(self.take_keys(table, document));
                continue;
            };
            claims.extend(match document.get_mut(name).map(Spanned::get_mut) {
                Some(DeValue::Table(tables)) if table.is_by_name() => {
                    self.take_tables(table, tables)
                }
                Some(DeValue::Table(keys)) => self.take_keys(table, keys),
                Some(DeValue::Array(list)) => {
                    let found = list.iter().flat_map(|keys| self.claims_in(table, "", keys));
                    let found: Vec<Claim> = found.collect();
                    if !found.is_empty() {
                        document.remove(name);
                    }
                    found
                }
                _ => Vec::new(),
            });
        }
        claims.sort_by_key(|claim| claim.line);
        claims
    }

    fn take_keys(&self, table: &KeyTable, keys: &mut DeTable<'_>) -> Vec<Claim> {
        let claims = self.claims_of_keys(table, "", keys);
        for key in table.keys.iter().filter(|key| key.asks.is_some()) {
            keys.remove(key.name);
        }
        claims
    }

    fn take_tables(&self, table: &KeyTable, tables: &mut DeTable<'_>) -> Vec<Claim> {
        let names: Vec<String> = tables.keys().map(|it| it.get_ref().to_string()).collect();
        let mut claims = Vec::new();
        for name in names {
            let keys = tables.get(name.as_str());
            let found = keys.map(|keys| self.claims_in(table, &name, keys));
            let found = found.unwrap_or_default();
            if !found.is_empty() {
                tables.remove(name.as_str());
            }
            claims.extend(found);
        }
        claims
    }

    fn claims_in(&self, table: &KeyTable, name: &str, item: &Item<'_>) -> Vec<Claim> {
        let keys = item.get_ref().as_table();
        keys.map_or_else(Vec::new, |keys| self.claims_of_keys(table, name, keys))
    }

    fn claims_of_keys(&self, table: &KeyTable, name: &str, keys: &DeTable<'_>) -> Vec<Claim> {
        let asking = keys.iter().filter_map(|(key, item)| {
            let info = table.keys.iter().find(|info| info.name == key.get_ref())?;
            let does = info.asks?.replace("{name}", name);
            Some(self.claims_of(&does, key, item))
        });
        asking.flatten().collect()
    }

    /// One for each variable of an environment, and one for anything else.
    fn claims_of(&self, does: &str, key: &Key<'_>, value: &Item<'_>) -> Vec<Claim> {
        let claim = |key: &Key<'_>, what: String| Claim {
            line: self.position(key.span().start).0,
            does: does.to_owned(),
            what,
        };
        match value.get_ref() {
            DeValue::Table(variables) => variables
                .iter()
                .map(|(name, value)| claim(name, self.variable_text(name.get_ref(), value)))
                .collect(),
            DeValue::Array(words) => {
                let words = words.iter().map(|it| shell_word(&self.text_of(it)));
                vec![claim(key, words.collect::<Vec<_>>().join(" "))]
            }
            _ => vec![claim(key, self.text_of(value))],
        }
    }

    fn variable_text(&self, name: &str, value: &Item<'_>) -> String {
        match value.get_ref() {
            DeValue::Boolean(true) => format!("{name}, with the value you have set"),
            DeValue::Boolean(false) => format!("{name}, removed"),
            _ => format!("{name}={}", self.text_of(value)),
        }
    }

    /// A string as it is, anything else as the file has it.
    fn text_of(&self, value: &Item<'_>) -> String {
        match value.get_ref() {
            DeValue::String(text) => text.clone().into_owned(),
            _ => self.text.get(value.span()).unwrap_or_default().to_owned(),
        }
    }
}

/// A word as a shell would take it, so that where one ends is seen.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,{}".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
