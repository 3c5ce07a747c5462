//! The whole of a tool call or answer, for somebody who wants to see it.

use serde_json::Value;

/// How much is shown.
const MOST_BYTES: usize = 64 * 1024;

/// What stands behind an entry, as lines: the fields of a tool call, the text of an answer, and
/// of anything else what it is.
pub(crate) fn detail(source: &[u8]) -> Vec<String> {
    let mut shown = Shown::default();
    match serde_json::from_slice::<Value>(source) {
        Ok(value @ Value::Object(_)) => object(&value, &mut shown),
        _ => shown.text(&String::from_utf8_lossy(source)),
    }
    shown.finish()
}

/// A line of Claude Code, or any other object.
fn object(value: &Value, shown: &mut Shown) {
    let content = &value["message"]["content"];
    let has_words = content.is_string() || content.as_array().is_some_and(|it| !it.is_empty());
    if has_words {
        blocks(content, shown);
    } else {
        pretty(value, shown);
    }
}

fn blocks(content: &Value, shown: &mut Shown) {
    match content {
        Value::String(text) => shown.text(text),
        Value::Array(all) => {
            for (place, one) in all.iter().enumerate() {
                if place > 0 {
                    shown.line("");
                }
                block(one, shown);
            }
        }
        other => pretty(other, shown),
    }
}

fn block(block: &Value, shown: &mut Shown) {
    match block["type"].as_str().unwrap_or_default() {
        "text" => shown.text(block["text"].as_str().unwrap_or_default()),
        "thinking" => shown.text(block["thinking"].as_str().unwrap_or_default()),
        "tool_use" => {
            shown.line(block["name"].as_str().unwrap_or("tool"));
            fields(&block["input"], shown);
        }
        "tool_result" => blocks(&block["content"], shown),
        _ => pretty(block, shown),
    }
}

fn fields(input: &Value, shown: &mut Shown) {
    let Value::Object(fields) = input else {
        return pretty(input, shown);
    };
    for (key, value) in fields {
        match value {
            Value::String(text) if text.contains('\n') => {
                shown.line(&format!("{key}:"));
                for line in text.lines() {
                    shown.line(&format!("  {line}"));
                }
            }
            Value::String(text) => shown.line(&format!("{key}: {text}")),
            Value::Array(_) | Value::Object(_) => {
                shown.line(&format!("{key}:"));
                pretty(value, shown);
            }
            other => shown.line(&format!("{key}: {other}")),
        }
    }
}

fn pretty(value: &Value, shown: &mut Shown) {
    // A value that was read can be written.
    shown.text(&serde_json::to_string_pretty(value).unwrap_or_default());
}

/// Lines up to a cap, and how much did not fit.
#[derive(Debug, Default)]
struct Shown {
    lines: Vec<String>,
    bytes: usize,
    left_out: usize,
}

impl Shown {
    fn text(&mut self, text: &str) {
        for line in text.lines() {
            self.line(line);
        }
    }

    fn line(&mut self, line: &str) {
        let room = MOST_BYTES.saturating_sub(self.bytes);
        if self.left_out > 0 || room == 0 {
            self.left_out += line.len() + 1;
            return;
        }
        let mut end = line.len().min(room);
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        self.lines.push(line[..end].to_owned());
        self.bytes += end + 1;
        self.left_out += line.len() - end;
    }

    fn finish(mut self) -> Vec<String> {
        if self.left_out > 0 {
            let note = format!("… {} bytes more, in the transcript", self.left_out);
            self.lines.push(note);
        }
        self.lines
    }
}
