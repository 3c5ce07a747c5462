//! The text of a `ralphtool.toml` becomes one layer of settings.
//!
//! Unknown keys and wrong types are errors that name line and column: a misspelt key that is
//! silently ignored would be found out only after a night of running.

mod claims;

use std::collections::BTreeMap;

use toml::de::DeTable;

use super::all::{SECTIONS, TOP};
use super::keys::top_names;
use super::trust::Claim;
use super::value::{FromTable, Item, Key, Mistake, table};
use super::{Origin, PartialSettings, SettingsProblem, Sourced};

/// A file that may ask for things the user has not allowed.
#[derive(Debug, PartialEq, Eq)]
pub struct Reading {
    /// All its settings.
    pub whole: PartialSettings,
    /// Its settings without those that have to be allowed.
    pub harmless: PartialSettings,
    /// What has to be allowed.
    pub claims: Vec<Claim>,
}

/// Reads a file's text; `path` is what messages call the file.
pub fn parse(path: &str, text: &str) -> Result<PartialSettings, SettingsProblem> {
    let file = FileText { path, text };
    file.settings(&file.document()?)
}

/// The same, with what in it has to be allowed by the user.
pub fn read(path: &str, text: &str) -> Result<Reading, SettingsProblem> {
    let file = FileText { path, text };
    let mut document = file.document()?;
    Ok(Reading {
        whole: file.settings(&document)?,
        claims: file.take_claims(&mut document),
        harmless: file.settings(&document)?,
    })
}

/// The text of a settings file, with the place of everything in it.
pub(super) struct FileText<'a> {
    /// What messages call the file.
    path: &'a str,
    text: &'a str,
}

impl<'a> FileText<'a> {
    fn document(&self) -> Result<DeTable<'a>, SettingsProblem> {
        let document = DeTable::parse(self.text).map_err(|error| {
            self.problem(Mistake {
                offset: error.span().unwrap_or_default().start,
                message: error.message().to_owned(),
                hint: None,
            })
        })?;
        Ok(document.into_inner())
    }

    fn settings(&self, document: &DeTable<'_>) -> Result<PartialSettings, SettingsProblem> {
        let settings = self.read_keys(document);
        settings.map_err(|mistake| self.problem(mistake))
    }

    fn read_keys(&self, document: &DeTable<'_>) -> Result<PartialSettings, Mistake> {
        let mut settings = PartialSettings::default();
        for (key, item) in document {
            let mut sections = SECTIONS.iter();
            match sections.find(|it| it.top_name() == Some(key.get_ref())) {
                Some(section) => {
                    for (key, item) in table(item)? {
                        if !settings.read_key(self, section.header, key, item)? {
                            let known = section.names();
                            return Err(Mistake::unknown_key(key, &known, section.header));
                        }
                    }
                }
                None if settings.read_key(self, TOP.header, key, item)? => {}
                None if key.get_ref() == "isolate" => return Err(Mistake::isolate_removed(key)),
                None => return Err(Mistake::unknown_key(key, &top_names(), TOP.header)),
            }
        }
        Ok(settings)
    }

    /// Tables such as `[agents.mine]`, each with where its name stands.
    pub(super) fn tables_by_name<T: FromTable>(
        &self,
        item: &Item<'_>,
    ) -> Result<BTreeMap<String, Sourced<T>>, Mistake> {
        let entries = table(item)?.iter();
        entries
            .map(|(key, item)| {
                let name = key.get_ref().clone().into_owned();
                Ok((name, self.sourced(key, T::from_table(key, item)?)))
            })
            .collect()
    }

    pub(super) fn sourced<T>(&self, key: &Key<'_>, value: T) -> Sourced<T> {
        let (line, _) = self.position(key.span().start);
        let path = self.path.to_owned();
        Sourced::new(value, Origin::File { path, line })
    }

    fn problem(&self, mistake: Mistake) -> SettingsProblem {
        let (line, column) = self.position(mistake.offset);
        SettingsProblem {
            place: format!("{}:{line}:{column}", self.path),
            message: mistake.message,
            hint: mistake.hint,
        }
    }

    /// Line and column, both from 1, of a byte offset.
    fn position(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        (line, column)
    }
}
