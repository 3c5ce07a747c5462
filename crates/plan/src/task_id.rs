//! The id people write in front of a task: `1.1`, `3.6a`, `T001`, `**AC-1**:`, `Task 1.1:`.
//!
//! Never the first word of a sentence: what does not look like a number or a label is text.

use crate::js;
use crate::label::number_length;

/// Splits a description into its id, if it has one, and the rest.
pub(crate) fn split(raw: &str) -> (Option<String>, String) {
    // Kiro marks an optional task by a star after the box.
    let bare = js::trim_start(
        raw.strip_prefix('*')
            .filter(|rest| rest.starts_with(' '))
            .unwrap_or(raw),
    );
    let Some((id, text)) = labelled(bare) else {
        return (None, bare.to_owned());
    };
    let text = if text.is_empty() {
        raw.to_owned()
    } else {
        text
    };
    (Some(id), text)
}

fn labelled(raw: &str) -> Option<(String, String)> {
    let (wrap, inner) = strip_wrap(raw);
    let (inner, worded) = match inner.strip_prefix("Task ") {
        Some(rest) => (rest, true),
        None => (inner, false),
    };
    let length = id_length(inner)?;
    let (id, rest) = inner.split_at(length);
    let (rest, stopped) = strip_stop(rest);
    let closed = rest.strip_prefix(wrap).filter(|_| !wrap.is_empty());
    let (rest, stopped) = match closed {
        Some(rest) => {
            let (rest, again) = strip_stop(rest);
            (rest, stopped || again)
        }
        None => (rest, stopped),
    };
    let wide_stop = inner[length..].starts_with(['：', '、']);
    if !(rest.is_empty() || rest.starts_with(js::is_space) || wide_stop) {
        return None;
    }
    // `HTTP2 support` is a sentence; `AC-1 …`, `A1 …` and `REQ1: …` are labels.
    let letters = id.bytes().take_while(u8::is_ascii_alphabetic).count();
    let bare_word = letters > 2 && !id.contains(['-', '.']) && !stopped && closed.is_none();
    if bare_word && !worded {
        return None;
    }
    let text = js::trim_start(rest);
    let text = if closed.is_none() && !text.is_empty() {
        format!("{wrap}{text}")
    } else {
        text.to_owned()
    };
    Some((id.to_owned(), text))
}

/// Removes the opening emphasis or backtick.
fn strip_wrap(raw: &str) -> (&str, &str) {
    ["**", "`"]
        .into_iter()
        .find_map(|wrap| raw.strip_prefix(wrap).map(|inner| (wrap, inner)))
        .unwrap_or(("", raw))
}

fn strip_stop(text: &str) -> (&str, bool) {
    match text.strip_prefix(['.', ':', ')', '：', '、']) {
        Some(rest) => (rest, true),
        None => (text, false),
    }
}

/// How long the id at the start of the text is: `1.2.3a`, `T001`, `T1.1`, `AC-1`, `A1`, `A.1`.
fn id_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let letters = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_uppercase())
        .count();
    if letters > 6 {
        return None;
    }
    let dash = usize::from(letters > 0 && matches!(bytes.get(letters), Some(b'-' | b'.')));
    let number = number_length(&text[letters + dash..]);
    if number == 0 {
        return None;
    }
    let end = letters + dash + number;
    let suffix = letters == 0 && bytes.get(end).is_some_and(u8::is_ascii_lowercase);
    Some(end + usize::from(suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_labels_and_leaves_sentences_alone() {
        #[track_caller]
        fn case(raw: &str, id: Option<&str>, text: &str) {
            assert_eq!(split(raw), (id.map(str::to_owned), text.to_owned()));
        }
        case("1.1 Add retry", Some("1.1"), "Add retry");
        case("1.1.1 Add retry", Some("1.1.1"), "Add retry");
        case("3.6a Split it", Some("3.6a"), "Split it");
        case("1. First", Some("1"), "First");
        case("1) First", Some("1"), "First");
        case("1.1. First", Some("1.1"), "First");
        case("1.1: First", Some("1.1"), "First");
        case("2.1：首先", Some("2.1"), "首先");
        case("**1.1** First", Some("1.1"), "First");
        case("**1.1 First** then", Some("1.1"), "**First** then");
        case("**T1.1**: First", Some("T1.1"), "First");
        case("**Task 1.1:** First", Some("1.1"), "First");
        case("Task 1.1: First", Some("1.1"), "First");
        case("`A.1` First", Some("A.1"), "First");
        case("T001 [P] [US1] Make it", Some("T001"), "[P] [US1] Make it");
        case("AC-1 holds", Some("AC-1"), "holds");
        case("A1 holds", Some("A1"), "holds");
        case("* 4.2 Optional", Some("4.2"), "Optional");
        case("2.1", Some("2.1"), "2.1");
        case("Add retry", None, "Add retry");
        case("HTTP2 support", None, "HTTP2 support");
        case("1.5x faster", Some("1.5x"), "faster");
        case("2nd pass", None, "2nd pass");
        case("v2.1 notes", None, "v2.1 notes");
        case("`cargo test` passes", None, "`cargo test` passes");
        case("**Bold** start", None, "**Bold** start");
        case("", None, "");
    }
}
