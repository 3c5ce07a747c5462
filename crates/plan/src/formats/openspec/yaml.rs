//! Reading YAML files as untyped values: unknown and malformed fields are no errors.

use std::path::Path;

use serde_json::Value;

use crate::error::SourceError;
use crate::files;

/// Reads a YAML file; an empty one is an empty value.
pub(super) fn read_if_there(path: &Path) -> Result<Option<Value>, SourceError> {
    let Some(bytes) = files::read_if_there(path)? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let meaningful =
        |line: &str| !matches!(line.trim(), "" | "---") && !line.trim_start().starts_with('#');
    if !text.lines().any(meaningful) {
        return Ok(Some(Value::Null));
    }
    serde_saphyr::from_str(text)
        .map(Some)
        .map_err(|error| SourceError::malformed(path, error))
}

/// A non-empty string field.
pub(super) fn text(value: &Value, key: &str) -> Option<String> {
    value
        .get(key)
        .and_then(Value::as_str)
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}
