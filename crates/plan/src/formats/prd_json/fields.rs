//! Fields of objects that people and tools wrote in many ways.

use serde_json::Value;

/// What a list of criteria may be called.
pub(super) const CRITERIA: [&str; 5] = [
    "acceptanceCriteria",
    "acceptance_criteria",
    "acceptance",
    "criteria",
    "steps",
];

/// What the list of stories that must be done before one may be called.
pub(super) const DEPENDENCIES: [&str; 5] = [
    "dependsOn",
    "depends_on",
    "blockedBy",
    "blocked_by",
    "dependencies",
];

/// What a story says about the stories it depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DependsOn {
    /// It has no such field.
    Nothing,
    /// What it calls them.
    Names(Vec<String>),
    /// There is a field, but not all in it is understood.
    Unclear,
}

/// What a story says about the stories it depends on.
pub(super) fn depends_on(story: &Value) -> DependsOn {
    let mut said = DEPENDENCIES.iter().filter_map(|key| story.get(key));
    let said = said.try_fold(None::<Vec<String>>, |before, field| {
        let mut names = before.unwrap_or_default();
        names.extend(story_names(field)?);
        Some(Some(names))
    });
    match said {
        None => DependsOn::Unclear,
        Some(None) => DependsOn::Nothing,
        Some(Some(names)) => DependsOn::Names(names),
    }
}

/// The names in a list, or in a text with commas; none where something else is in it.
fn story_names(field: &Value) -> Option<Vec<String>> {
    match field {
        Value::Null => Some(Vec::new()),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::String(text) => Some(
            text.split(',')
                .map(one_line)
                .filter(|it| !it.is_empty())
                .collect(),
        ),
        other => plain(other).map(|name| vec![name]),
    }
}

/// The words of a text.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text or number as text in one line, where it says something.
pub(super) fn plain(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => one_line(text),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}

/// The first of these text fields that says something, in one line.
pub(super) fn first_line(value: &Value, keys: &[&str]) -> Option<String> {
    keys.iter()
        .find_map(|key| paragraph(value, key))
        .map(|text| one_line(&text))
}

/// A text field as written, where it says something.
pub(super) fn paragraph(value: &Value, key: &str) -> Option<String> {
    let text = value.get(key).and_then(Value::as_str).map(str::trim);
    text.filter(|text| !text.is_empty()).map(str::to_owned)
}

/// What a story or a phase is called.
pub(super) fn title(value: &Value) -> Option<String> {
    first_line(value, &["title", "name", "description"])
}

/// What must hold when a story is done: each is a text, or an object with one.
pub(super) fn criteria(story: &Value) -> Vec<String> {
    let keys = ["description", "text", "criterion", "title", "name"];
    let lists = CRITERIA.iter().filter_map(|key| story.get(key)?.as_array());
    lists
        .flatten()
        .filter_map(|value| plain(value).or_else(|| first_line(value, &keys)))
        .collect()
}
