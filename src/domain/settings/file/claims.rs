//! What a settings file asks for that counts only after the user has allowed it. Which keys those
//! are is said in the one list of keys.

use toml::de::{DeTable, DeValue};

use super::{File, Key, Value};
use crate::domain::settings::keys::{KeyTable, Shape, TABLES, Trust};
use crate::domain::settings::trust::Claim;

impl File<'_> {
    /// Everything the file asks for, in the order of its lines.
    pub(super) fn claims(&self, document: &DeTable<'_>) -> Vec<Claim> {
        let mut claims = Vec::new();
        for table in &TABLES {
            for (name, keys) in tables_of(table, document) {
                for (key, value) in keys {
                    if let Some(does) = needed(table, key.get_ref()) {
                        let does = does.replace("{name}", &name);
                        claims.extend(self.claims_of(&does, key, value));
                    }
                }
            }
        }
        claims.sort_by_key(|claim| claim.line);
        claims
    }

    /// One for each variable of an environment, and one for anything else.
    fn claims_of(&self, does: &str, key: &Key<'_>, value: &Value<'_>) -> Vec<Claim> {
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
                let words: Vec<String> = words
                    .iter()
                    .map(|it| shell_word(&self.text_of(it)))
                    .collect();
                vec![claim(key, words.join(" "))]
            }
            _ => vec![claim(key, self.text_of(value))],
        }
    }

    fn variable_text(&self, name: &str, value: &Value<'_>) -> String {
        match value.get_ref() {
            DeValue::Boolean(true) => format!("{name}, with the value you have set"),
            DeValue::Boolean(false) => format!("{name}, removed"),
            _ => format!("{name}={}", self.text_of(value)),
        }
    }

    /// A string as it is, anything else as the file has it.
    fn text_of(&self, value: &Value<'_>) -> String {
        match value.get_ref() {
            DeValue::String(text) => text.clone().into_owned(),
            _ => self.text.get(value.span()).unwrap_or_default().to_owned(),
        }
    }
}

/// Removes everything that `claims` would list: a key of a table that there is once, and a whole
/// gate or agent, because what is left of it could mean something else.
pub(super) fn remove_claims(document: &mut DeTable<'_>) {
    for table in &TABLES {
        let asks = |keys: &Value<'_>| match keys.get_ref() {
            DeValue::Table(keys) => keys
                .keys()
                .any(|key| needed(table, key.get_ref()).is_some()),
            _ => false,
        };
        let is_needed = |key: &str, _: &Value<'_>| needed(table, key).is_some();
        match table.shape() {
            Shape::Top => remove_where(document, is_needed),
            Shape::Once(name) => {
                if let Some(keys) = inner(document, name) {
                    remove_where(keys, is_needed);
                }
            }
            Shape::Named(name) => {
                if let Some(named) = inner(document, name) {
                    remove_where(named, |_, keys| asks(keys));
                }
            }
            Shape::Many(name) => remove_where(document, |key, value| match value.get_ref() {
                DeValue::Array(list) => key == name && list.iter().any(asks),
                _ => false,
            }),
        }
    }
}

fn remove_where(table: &mut DeTable<'_>, is_meant: impl Fn(&str, &Value<'_>) -> bool) {
    let meant = table
        .iter()
        .filter(|(key, value)| is_meant(key.get_ref(), value));
    let names: Vec<String> = meant
        .map(|(key, _)| key.get_ref().clone().into_owned())
        .collect();
    for name in names {
        table.remove(name.as_str());
    }
}

/// What the key does that has to be allowed.
fn needed(table: &KeyTable, key: &str) -> Option<&'static str> {
    let info = table.keys.iter().find(|info| info.name == key)?;
    match info.trust {
        Trust::Needed(does) => Some(does),
        Trust::NotNeeded => None,
    }
}

/// The tables of that kind in a file, each with the name it has there.
fn tables_of<'d, 'i>(
    table: &KeyTable,
    document: &'d DeTable<'i>,
) -> Vec<(String, &'d DeTable<'i>)> {
    let find = |name: &str| {
        let mut entries = document.iter();
        entries.find_map(|(key, value)| (key.get_ref() == name).then_some(value.get_ref()))
    };
    let unnamed = |value: &'d DeValue<'i>| match value {
        DeValue::Table(keys) => Some((String::new(), keys)),
        _ => None,
    };
    match table.shape() {
        Shape::Top => vec![(String::new(), document)],
        Shape::Once(name) => find(name).and_then(unnamed).into_iter().collect(),
        Shape::Many(name) => match find(name) {
            Some(DeValue::Array(list)) => list
                .iter()
                .filter_map(|value| unnamed(value.get_ref()))
                .collect(),
            _ => Vec::new(),
        },
        Shape::Named(name) => match find(name) {
            Some(DeValue::Table(named)) => named
                .iter()
                .filter_map(|(key, value)| match value.get_ref() {
                    DeValue::Table(keys) => Some((key.get_ref().clone().into_owned(), keys)),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        },
    }
}

fn inner<'d, 'i>(document: &'d mut DeTable<'i>, name: &str) -> Option<&'d mut DeTable<'i>> {
    let mut entries = document.iter_mut();
    entries.find_map(|(key, value)| match value.get_mut() {
        DeValue::Table(keys) if key.get_ref() == name => Some(keys),
        _ => None,
    })
}

/// A word as a shell would take it, so that where one ends is seen.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,{}".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
