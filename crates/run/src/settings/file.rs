//! The text of a `ralphtool.toml` becomes one layer of settings.
//!
//! Unknown keys and wrong types are errors that name line and column: a misspelt key that is
//! silently ignored would be found out only after a night of running.

mod claims;

use toml::de::DeTable;

use super::all::{SECTIONS, TOP};
use super::file_text::FileText;
use super::keys::top_names;
use super::trust::Claim;
use super::value::{Mistake, table};
use super::{PartialSettings, SettingsProblem};

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

impl FileText<'_> {
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
}
