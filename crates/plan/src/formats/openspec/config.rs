//! The project's `openspec/config.yaml`: schema, context and guidance.
//!
//! Bad fields are warned about and ignored, as `OpenSpec` does.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::change::Warning;

use super::root::config_path;
use super::yaml;
use crate::error::SourceError;

/// The longest context that is used, in bytes.
const LONGEST_CONTEXT: usize = 50 * 1024;

/// What the project's configuration says.
#[derive(Debug, Default)]
pub(super) struct ProjectConfig {
    /// Where it was read from.
    pub(super) path: PathBuf,
    /// The schema of changes that name none.
    pub(super) schema: Option<String>,
    /// Project context for agents.
    pub(super) context: Option<String>,
    /// Guidance for applying a change.
    pub(super) guidance: Vec<String>,
    /// Problems with its fields.
    pub(super) warnings: Vec<Warning>,
}

impl ProjectConfig {
    /// Reads the configuration of a root; without one everything is at its default.
    pub(super) fn read(root: &Path) -> Result<Self, SourceError> {
        let Some(path) = config_path(root) else {
            return Ok(Self::default());
        };
        let mut config = Self {
            path: path.clone(),
            ..Self::default()
        };
        match yaml::read_if_there(&path) {
            Ok(Some(value)) => config.set_from(&value),
            Ok(None) => {}
            Err(SourceError::Malformed { source, .. }) => {
                let reason = source.to_string();
                let reason = reason.lines().next().unwrap_or_default();
                config.warn(&format!("is ignored, it does not parse: {reason}"));
            }
            Err(error) => return Err(error),
        }
        Ok(config)
    }

    fn set_from(&mut self, value: &Value) {
        if !(value.is_object() || value.is_null()) {
            self.warn("is ignored, it has no fields");
            return;
        }
        self.schema = yaml::text(value, "schema");
        match &value["context"] {
            Value::Null => {}
            Value::String(text) if text.len() > LONGEST_CONTEXT => {
                let size = text.len();
                self.warn(&format!(
                    "has a `context` of {size} bytes: more than 50 KB is ignored"
                ));
            }
            Value::String(_) => self.context = yaml::text(value, "context"),
            _ => self.warn("has a `context` that is not text: it is ignored"),
        }
        match &value["operations"]["apply"]["guidance"] {
            Value::Null => {}
            Value::Array(lines) => {
                let lines = lines.iter().filter_map(Value::as_str).map(str::trim);
                let lines = lines.filter(|line| !line.is_empty());
                self.guidance = lines.map(str::to_owned).collect();
            }
            _ => self.warn("has an `operations.apply.guidance` that is not a list: it is ignored"),
        }
    }

    fn warn(&mut self, what: &str) {
        let message = format!("`{}` {what}", self.path.display());
        self.warnings.push(Warning::new("config", message));
    }
}
