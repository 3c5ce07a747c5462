//! A tool call in one line.

use serde_json::Value;

use super::json::short;
use crate::agent_event::first_chars;

/// How long a summary is, in characters.
const SUMMARY_CAP: usize = 160;

/// Argument names, those that say most first, and whether they name a file.
const BY_RANK: [(&str, bool); 17] = [
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

/// One line that says what a call with these arguments does: the one that says most. A file is
/// named as seen from `folder`.
pub(crate) fn summary(arguments: &Value, folder: &str) -> String {
    let first = BY_RANK.iter().find_map(|(name, is_path)| {
        let argument = short(&arguments[name]);
        let argument = if *is_path {
            inside(argument, folder)
        } else {
            argument
        };
        (!argument.is_empty()).then(|| one_line(argument))
    });
    first.unwrap_or_default()
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
