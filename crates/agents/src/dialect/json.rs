//! Fields of a JSON line, whatever is in them: a value of an unexpected sort counts as absent. An
//! absent field is null, so that `&line["message"]["id"]` needs no checks on the way.

use serde_json::Value;

use crate::agent_event::start_of;

/// How much of a short text is kept.
const SHORT_CAP: usize = 400;

/// A text, which may be empty.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The start of a text: enough for a name or an id.
pub(crate) fn short(value: &Value) -> &str {
    start_of(text(value), SHORT_CAP)
}

/// The whole part of a number that is not negative.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be in range"
)]
pub(crate) fn whole(value: &Value) -> Option<u64> {
    let number = value.as_f64();
    let number = number.filter(|number| (0.0..9.0e15).contains(number));
    number.map(|number| number as u64)
}

/// The whole part of a number, or 0.
pub(crate) fn count(value: &Value) -> u64 {
    whole(value).unwrap_or(0)
}

/// True for a number other than 0, such as the exit code of a failure.
pub(crate) fn is_nonzero(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number != 0.0)
}

pub(crate) fn is_true(value: &Value) -> bool {
    value.as_bool().unwrap_or(false)
}

/// The items of a list; none of anything else.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// How many bytes of text a value holds, as a tool's answer does.
pub(crate) fn size(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| !key.ends_with("type"))
            .map(|(_, value)| size(value))
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// How many of the last lines of a tool's answer are kept, and how much of each.
const TAIL_LINES: usize = 3;
const LINE_CAP: usize = 400;

/// The last lines of a tool's answer that are not empty, in order; what is not text for people, such
/// as the bytes of an image, is left out.
pub(crate) fn last_lines(answer: &[&Value]) -> Vec<String> {
    let mut lines = Vec::new();
    for value in answer.iter().rev() {
        collect_last_lines(value, &mut lines);
    }
    lines.reverse();
    lines
}

/// Adds lines from the end on, the last one first, until there are enough.
fn collect_last_lines(value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let full = text.lines().rev().filter(|line| !line.trim().is_empty());
            let room = TAIL_LINES.saturating_sub(lines.len());
            lines.extend(
                full.take(room)
                    .map(|line| start_of(line.trim_end(), LINE_CAP).to_owned()),
            );
        }
        Value::Array(items) => {
            for item in items.iter().rev() {
                collect_last_lines(item, lines);
            }
        }
        Value::Object(fields) => {
            let is_text = |key: &str| {
                let key = key.to_lowercase();
                !["type", "data", "source", "id", "uri"]
                    .iter()
                    .any(|other| key.ends_with(other))
            };
            for (_, field) in fields.iter().rev().filter(|(key, _)| is_text(key)) {
                collect_last_lines(field, lines);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_lines_of_an_answer_are_those_with_text() {
        let output = json!("one\n\ntwo\nthree \nfour\n\n");
        assert_eq!(last_lines(&[&output]), ["two", "three", "four"]);
        let error = json!({"message": "no such file"});
        assert_eq!(
            last_lines(&[&output, &error]),
            ["three", "four", "no such file"]
        );
        let blocks = json!([
            {"type": "text", "text": "one\ntwo"},
            {"type": "image", "source": {"type": "base64", "data": "AAAA"}},
        ]);
        assert_eq!(last_lines(&[&blocks, &Value::Null]), ["one", "two"]);
        let long = json!("x".repeat(1 << 20));
        assert_eq!(last_lines(&[&long]), ["x".repeat(LINE_CAP)]);
        assert_eq!(last_lines(&[]), Vec::<String>::new());
    }
}
