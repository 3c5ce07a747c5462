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
