//! One story of a `prd.json`: its name, its criteria, its rank, and whether it is done.

use serde_json::Value;

use super::section::{field, section};
use super::{Entry, PrdProblem};
use crate::json_spans::Node;

/// What a list of criteria may be called.
pub(super) const CRITERIA: [&str; 5] = [
    "acceptanceCriteria",
    "acceptance_criteria",
    "acceptance",
    "criteria",
    "steps",
];

/// What a story may be called by.
pub(super) const TITLES: [&str; 3] = ["title", "name", "description"];

/// The longest id that is taken as it is.
const LONGEST_ID: usize = 40;

/// One story.
#[derive(Debug)]
pub(super) struct Item {
    /// Its object.
    pub(super) node: Node,
    /// What the file calls it, where that can be a name.
    pub(super) id: Option<String>,
    /// What it is about, in one line.
    pub(super) title: String,
    /// What must hold when it is done, and where that is written.
    pub(super) criteria: Vec<(String, usize)>,
    /// All of it, for an agent.
    pub(super) section: String,
    /// Where it stands in the order: the lowest is first.
    pub(super) rank: f64,
    /// Whether its flag says that it is done.
    pub(super) done: bool,
}

impl Item {
    /// Reads one entry of the list.
    pub(super) fn read(entry: &Entry<'_>, bytes: &[u8], flag: &str) -> Result<Self, PrdProblem> {
        let node = entry.node;
        let value = node.value(bytes);
        if !value.is_object() {
            return Err(PrdProblem::Shape(
                "an entry of its list of stories is not an object".to_owned(),
            ));
        }
        let id = value.get("id").and_then(plain);
        let title = TITLES.iter().find_map(|key| field(&value, key));
        let title = title.or_else(|| id.clone()).unwrap_or_default();
        if title.is_empty() {
            return Err(PrdProblem::Shape(
                "a story has neither an `id` nor a `title`".to_owned(),
            ));
        }
        let phase = entry.phase.map(|(_, phase)| phase.value(bytes));
        Ok(Self {
            done: is_done(&value, flag, &title)?,
            criteria: criteria(node, bytes, &title),
            section: section(&value, phase.as_ref(), flag),
            rank: rank(&value, entry.phase.map(|(number, _)| number)),
            id: id.filter(|id| is_name(id)),
            title,
            node: node.clone(),
        })
    }
}

/// A text or number as text.
pub(super) fn plain(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => one_line(text),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}

/// The words of a text.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a text can name folders, refs and commits.
fn is_name(id: &str) -> bool {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    id.len() <= LONGEST_ID
        && id.bytes().all(safe)
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !id.contains("..")
        && !id.ends_with('.')
}

fn is_done(value: &Value, flag: &str, title: &str) -> Result<bool, PrdProblem> {
    match value.get(flag) {
        Some(Value::Bool(done)) => Ok(*done),
        Some(Value::Null) => Ok(false),
        Some(_) => Err(PrdProblem::Shape(format!(
            "`{flag}` of the story `{title}` is neither `true` nor `false`"
        ))),
        None => Ok(field(value, "status").is_some_and(|status| is_done_word(&status))),
    }
}

fn is_done_word(status: &str) -> bool {
    let words = ["done", "complete", "completed", "closed", "passed"];
    words.iter().any(|word| status.eq_ignore_ascii_case(word))
}

/// What must hold; a story that does not say has its title.
fn criteria(node: &Node, bytes: &[u8], title: &str) -> Vec<(String, usize)> {
    let lists = CRITERIA.iter().filter_map(|key| node.get(key)?.items());
    let criteria: Vec<(String, usize)> = lists
        .flatten()
        .filter_map(|item| Some((criterion(&item.value(bytes))?, item.span.start)))
        .collect();
    if criteria.is_empty() {
        return vec![(title.to_owned(), node.span.start)];
    }
    criteria
}

/// A criterion is a text, or an object with one.
pub(super) fn criterion(value: &Value) -> Option<String> {
    let keys = ["description", "text", "criterion", "title", "name"];
    plain(value).or_else(|| keys.iter().find_map(|key| field(value, key)))
}

/// The place of a story in the order. Phases come one after the other, whatever is in them.
fn rank(value: &Value, phase: Option<u32>) -> f64 {
    if let Some(phase) = phase {
        return f64::from(phase);
    }
    match value.get("priority") {
        Some(Value::Number(number)) => number.as_f64().unwrap_or(f64::INFINITY),
        Some(Value::String(word)) => word_rank(word.trim()),
        _ => f64::INFINITY,
    }
}

fn word_rank(word: &str) -> f64 {
    let words = [
        ("critical", 0.0),
        ("high", 1.0),
        ("medium", 2.0),
        ("low", 3.0),
    ];
    let known = words
        .iter()
        .find(|(known, _)| word.eq_ignore_ascii_case(known));
    let number = word.trim_start_matches(['P', 'p']).parse();
    known.map_or_else(|| number.unwrap_or(f64::INFINITY), |(_, rank)| *rank)
}
