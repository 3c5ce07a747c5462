//! A tool call in one line.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess};

use super::lenient::{Anything, Lenient, Short};

/// How long a summary is, in characters.
const SUMMARY_CAP: usize = 160;

/// The argument that tells most of what a tool call does, with its rank.
#[derive(Debug, Default)]
pub(crate) struct ToolInput(Option<(usize, String)>);

/// Argument names, the most telling first.
const TELLING: [&str; 17] = [
    "command",
    "cmd",
    "file_path",
    "filePath",
    "absolute_path",
    "notebook_path",
    "path",
    "pattern",
    "dir_path",
    "file_name",
    "url",
    "query",
    "skill",
    "description",
    "subject",
    "prompt",
    "tool",
];

/// Those of them that name a file.
const PATHS: [&str; 6] = [
    "file_path",
    "filePath",
    "absolute_path",
    "notebook_path",
    "path",
    "dir_path",
];

impl ToolInput {
    /// One line that says what the call does; a file is named as seen from `folder`.
    pub(crate) fn summary(&self, folder: &str) -> String {
        let Some((rank, text)) = &self.0 else {
            return String::new();
        };
        let text = if PATHS.contains(&TELLING[*rank]) {
            inside(text, folder)
        } else {
            text
        };
        one_line(text)
    }
}

/// A text as one line that is not too long.
pub(crate) fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= SUMMARY_CAP {
        return line;
    }
    let start: String = line.chars().take(SUMMARY_CAP - 1).collect();
    format!("{start}…")
}

/// A path as seen from a folder.
pub(crate) fn inside<'a>(path: &'a str, folder: &str) -> &'a str {
    let rest = path.strip_prefix(folder).filter(|_| !folder.is_empty());
    match rest {
        Some("") => ".",
        Some(rest) => rest.strip_prefix('/').unwrap_or(path),
        None => path,
    }
}

impl<'de> Deserialize<'de> for ToolInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything(ToolInput::default()))
    }
}

impl Lenient for ToolInput {
    fn map<'de, A: MapAccess<'de>>(&mut self, mut entries: A) -> Result<(), A::Error> {
        while let Some(key) = entries.next_key::<Short>()? {
            let value = entries.next_value::<Short>()?;
            let Some(rank) = TELLING.iter().position(|name| *name == key.0) else {
                continue;
            };
            if !value.is_empty() && self.0.as_ref().is_none_or(|(best, _)| rank < *best) {
                self.0 = Some((rank, value.0));
            }
        }
        Ok(())
    }
}
