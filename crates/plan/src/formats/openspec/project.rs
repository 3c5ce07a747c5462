//! What all changes of a root have in common: its configuration and the schemas they are made by.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::config::ProjectConfig;
use super::root::Root;
use super::schema::{BUILT_IN, Schema};
use super::yaml;
use crate::error::SourceError;
use crate::surroundings::Surroundings;

/// A root with what is read only once, however many of its changes are.
pub(super) struct Project<'a> {
    /// Where its changes are.
    pub(super) root: &'a Root,
    /// Its configuration.
    pub(super) config: ProjectConfig,
    around: &'a Surroundings,
    schemas: Mutex<BTreeMap<String, Arc<Schema>>>,
}

impl<'a> Project<'a> {
    /// Reads the configuration of a root.
    pub(super) fn read(root: &'a Root, around: &'a Surroundings) -> Result<Self, SourceError> {
        Ok(Self {
            root,
            config: ProjectConfig::read(&root.path)?,
            around,
            schemas: Mutex::default(),
        })
    }

    /// The schema of a change: its own, else the project's, else the built-in one.
    pub(super) fn schema_of(&self, change: &Path) -> Result<Arc<Schema>, SourceError> {
        let metadata = change.join(".openspec.yaml");
        let own = yaml::read_if_there(&metadata)?.and_then(|value| yaml::text(&value, "schema"));
        let (name, asked_by) = match (&own, &self.config.schema) {
            (Some(name), _) => (name.as_str(), &metadata),
            (None, Some(name)) => (name.as_str(), &self.config.path),
            (None, None) => (BUILT_IN, &metadata),
        };
        let mut schemas = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = schemas.get(name) {
            return Ok(Arc::clone(known));
        }
        let read = Arc::new(Schema::read(name, asked_by, self.root, self.around)?);
        schemas.insert(name.to_owned(), Arc::clone(&read));
        Ok(read)
    }
}
