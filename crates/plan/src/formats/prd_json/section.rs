//! A story of a `prd.json` as text for an agent: nothing of it is left out.

use serde_json::Value;

use super::fields::{
    CRITERIA, DEPENDENCIES, DependsOn, criteria, depends_on, one_line, paragraph, plain, title,
};

/// Fields with a place of their own, or of no interest to an agent.
const KNOWN: [&str; 5] = ["id", "title", "description", "notes", "priority"];

/// What the whole file is about.
pub(super) fn about(home: &Value) -> Option<String> {
    let mut names = ["project", "name", "title"].iter();
    let project = names.find_map(|key| paragraph(home, key));
    match (project, paragraph(home, "description")) {
        (Some(project), Some(description)) => Some(format!("{project}: {description}")),
        (project, description) => project.or(description),
    }
}

/// Writes a story.
pub(super) fn section(story: &Value, phase: Option<&Value>, flag: &str) -> String {
    let id = story.get("id").and_then(plain);
    let heading: Vec<String> = id.into_iter().chain(title(story)).collect();
    let mut parts = vec![format!("# {}", heading.join(": "))];
    parts.extend(phase.and_then(title).map(|name| format!("Phase: {name}")));
    let description = paragraph(story, "description");
    parts.extend(description.filter(|text| heading.last() != Some(&one_line(text))));
    parts.extend(criteria_list(story));
    let names = match depends_on(story) {
        DependsOn::Names(names) => names,
        DependsOn::Nothing | DependsOn::Unclear => Vec::new(),
    };
    if !names.is_empty() {
        parts.push(format!("Depends on: {}", names.join(", ")));
    }
    parts.extend(paragraph(story, "notes").map(|notes| format!("Notes: {notes}")));
    parts.extend(other_fields(story, flag, !names.is_empty()));
    parts.join("\n\n")
}

fn criteria_list(story: &Value) -> Option<String> {
    let criteria = criteria(story);
    let lines: Vec<String> = criteria.iter().map(|line| format!("- {line}")).collect();
    (!lines.is_empty()).then(|| format!("Acceptance criteria:\n\n{}", lines.join("\n")))
}

/// Whatever else is written about the story, as it is.
fn other_fields(story: &Value, flag: &str, has_names: bool) -> Option<String> {
    let is_named = |key: &str| has_names && DEPENDENCIES.contains(&key);
    let known = |key: &str| KNOWN.contains(&key) || key == flag || is_named(key);
    let listed = |key: &str, value: &Value| CRITERIA.contains(&key) && value.is_array();
    let lines: Vec<String> = story
        .as_object()?
        .iter()
        .filter(|(key, value)| !known(key) && !listed(key, value) && !is_empty(value))
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
