//! The text of a settings file, with the place of everything in it.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};

use super::value::{FromTable, Item, Key, Mistake, table};
use super::{Origin, SettingsProblem, Sourced};

pub(super) struct FileText<'a> {
    /// What messages call the file.
    pub(super) path: &'a str,
    pub(super) text: &'a str,
}

impl<'a> FileText<'a> {
    pub(super) fn document(&self) -> Result<DeTable<'a>, SettingsProblem> {
        let document = DeTable::parse(self.text).map_err(|error| {
            self.problem(Mistake {
                offset: error.span().unwrap_or_default().start,
                message: error.message().to_owned(),
                hint: None,
            })
        })?;
        Ok(document.into_inner())
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
        let tables = Vec::new();
        Sourced::new(value, Origin::File { path, line, tables })
    }

    /// The same for tables such as `[[gate]]`, each with where it begins.
    pub(super) fn sourced_tables<T>(&self, key: &Key<'_>, item: &Item<'_>, value: T) -> Sourced<T> {
        let mut sourced = self.sourced(key, value);
        if let (Origin::File { tables, .. }, DeValue::Array(list)) =
            (&mut sourced.origin, item.get_ref())
        {
            let lines = list.iter().map(|it| self.position(it.span().start).0);
            *tables = lines.collect();
        }
        sourced
    }

    pub(super) fn problem(&self, mistake: Mistake) -> SettingsProblem {
        let (line, column) = self.position(mistake.offset);
        SettingsProblem {
            place: format!("{}:{line}:{column}", self.path),
            message: mistake.message,
            hint: mistake.hint,
        }
    }

    /// Line and column, both from 1, of a byte offset.
    pub(super) fn position(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        (line, column)
    }
}
