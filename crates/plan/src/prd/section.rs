//! A story of a `prd.json` as text for an agent: nothing of it is left out.

use std::fmt::Write as _;

use serde_json::Value;

use super::item::{CRITERIA, TITLES, criterion, one_line, plain};
use crate::json_spans::Node;

/// What is said in a place of its own, or is of no interest to whoever does the story.
const TOLD: [&str; 6] = [
    "id",
    "title",
    "description",
    "notes",
    "dependsOn",
    "priority",
];

/// A text field in one line, where it says something.
pub(super) fn field(value: &Value, key: &str) -> Option<String> {
    let text = value.get(key).and_then(Value::as_str).map(one_line);
    text.filter(|text| !text.is_empty())
}

/// A text field as written, where it says something.
fn paragraph(value: &Value, key: &str) -> Option<String> {
    let text = value.get(key).and_then(Value::as_str).map(str::trim);
    text.filter(|text| !text.is_empty()).map(str::to_owned)
}

/// What the whole file is about.
pub(super) fn about(home: &Node, bytes: &[u8]) -> Option<String> {
    let text = |key: &str| {
        let value = home.get(key)?.value(bytes);
        let text = value.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let project = text("project")
        .or_else(|| text("name"))
        .or_else(|| text("title"));
    match (project, text("description")) {
        (Some(project), Some(description)) => Some(format!("{project}: {description}")),
        (project, description) => project.or(description),
    }
}

/// The name of a list, quoted where it is one.
pub(super) fn quoted_list(name: &str) -> String {
    if name.contains(' ') {
        return name.to_owned();
    }
    format!("`{name}`")
}

/// Writes a story.
pub(super) fn section(story: &Value, phase: Option<&Value>, flag: &str) -> String {
    let id = story.get("id").and_then(plain);
    let title = TITLES.iter().find_map(|key| field(story, key));
    let heading: Vec<String> = id.into_iter().chain(title).collect();
    let mut parts = vec![format!("# {}", heading.join(": "))];
    parts.extend(phase.and_then(phase_line));
    let told = heading.last().cloned();
    let description = paragraph(story, "description");
    parts.extend(description.filter(|text| Some(one_line(text)) != told));
    parts.extend(criteria(story));
    parts.extend(list_line(story, "dependsOn").map(|them| format!("Depends on: {them}")));
    parts.extend(paragraph(story, "notes").map(|notes| format!("Notes: {notes}")));
    parts.extend(other_fields(story, flag));
    parts.join("\n\n")
}

fn phase_line(phase: &Value) -> Option<String> {
    let name = TITLES.iter().find_map(|key| field(phase, key))?;
    Some(format!("Phase: {name}"))
}

fn criteria(story: &Value) -> Option<String> {
    let lists = CRITERIA.iter().filter_map(|key| story.get(key)?.as_array());
    let mut text = String::new();
    for line in lists.flatten().filter_map(criterion) {
        let _ = write!(text, "\n- {line}");
    }
    (!text.is_empty()).then(|| format!("Acceptance criteria:\n{text}"))
}

fn list_line(story: &Value, key: &str) -> Option<String> {
    let names: Vec<String> = story
        .get(key)?
        .as_array()?
        .iter()
        .filter_map(plain)
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Whatever else is written about the story, as it is.
fn other_fields(story: &Value, flag: &str) -> Option<String> {
    let told = |key: &str| TOLD.contains(&key) || key == flag;
    let listed = |key: &str, value: &Value| CRITERIA.contains(&key) && value.is_array();
    let lines: Vec<String> = story
        .as_object()?
        .iter()
        .filter(|(key, value)| !told(key) && !listed(key, value) && !is_empty(value))
        .map(|(key, value)| match value.as_str() {
            Some(text) => format!("- {key}: {text}"),
            None => format!("- {key}: {value}"),
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
