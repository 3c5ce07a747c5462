//! A tool call in one line.

use serde::de::MapAccess;

use super::lenient::{Anything, Lenient, Short, deserialize_from_anything};
use crate::agent_event::first_chars;

/// How long a summary is, in characters.
const SUMMARY_CAP: usize = 160;

/// The argument that says most about what a tool call does, with its rank.
#[derive(Debug, Default)]
pub(crate) struct ToolInput(Option<(usize, String)>);

/// Argument names, the most telling first, and whether they name a file.
const TELLING: [(&str, bool); 17] = [
    ("command", false),
    ("cmd", false),
    ("file_path", true),
    ("filePath", true),
    ("absolute_path", true),
    ("notebook_path", true),
    ("path", true),
    ("pattern", false),
    ("dir_path", true),
    ("file_name", false),
    ("url", false),
    ("query", false),
    ("skill", false),
    ("description", false),
    ("subject", false),
    ("prompt", false),
    ("tool", false),
];

impl ToolInput {
    /// One line that says what the call does; a file is named as seen from `folder`.
    pub(crate) fn summary(&self, folder: &str) -> String {
        let Some((rank, text)) = &self.0 else {
            return String::new();
        };
        let (_, is_path) = TELLING[*rank];
        one_line(if is_path { inside(text, folder) } else { text })
    }
}

/// A text as one line that is not too long.
pub(crate) fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if first_chars(&line, SUMMARY_CAP).len() == line.len() {
        return line;
    }
    format!("{}…", first_chars(&line, SUMMARY_CAP - 1))
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

deserialize_from_anything!(ToolInput);

impl Lenient for ToolInput {
    fn map<'de, A: MapAccess<'de>>(&mut self, mut entries: A) -> Result<(), A::Error> {
        while let Some(key) = entries.next_key::<Short>()? {
            let value = entries.next_value::<Short>()?;
            let Some(rank) = TELLING.iter().position(|(name, _)| *name == key.0) else {
                continue;
            };
            if !value.is_empty() && self.0.as_ref().is_none_or(|(best, _)| rank < *best) {
                self.0 = Some((rank, value.0));
            }
        }
        Ok(())
    }
}
