//! The whole of a tool call or answer, as lines to show.

use serde_json::Value;

use crate::agent_event::start_of;

/// How much is shown.
const MOST_BYTES: usize = 64 * 1024;

/// What stands behind an entry, as lines: the fields of a tool call, the text of an answer, and
/// of anything else what it is.
pub fn detail(source: &[u8]) -> Vec<String> {
    let mut shown = Shown::default();
    match serde_json::from_slice::<Value>(source) {
        Ok(value @ Value::Object(_)) => object(&value, &mut shown),
        _ => shown.text(&String::from_utf8_lossy(source)),
    }
    shown.finish()
}

/// A line of an agent, or any other object.
fn object(value: &Value, shown: &mut Shown) {
    let content = &value["message"]["content"];
    let has_words = content.is_string() || content.as_array().is_some_and(|it| !it.is_empty());
    if has_words {
        blocks(content, shown);
    } else if let Some(calls) = Call::in_line(value) {
        calls.show(shown);
    } else {
        pretty(value, shown);
    }
}

/// Where agents write the name of a tool, or a command.
const NAMES: [&str; 6] = [
    "/item/command",
    "/item/tool",
    "/part/tool",
    "/data/toolName",
    "/tool_name",
    "/toolName",
];
/// Where they write what a tool is called with.
const INPUTS: [&str; 5] = [
    "/item/arguments",
    "/part/state/input",
    "/data/arguments",
    "/parameters",
    "/args",
];
/// Where they write what a tool answered, or why it did not.
const ANSWERS: [&str; 12] = [
    "/item/aggregated_output",
    "/item/changes",
    "/item/result",
    "/item/error",
    "/item/text",
    "/part/state/output",
    "/part/state/error",
    "/data/result/content",
    "/data/error/message",
    "/output",
    "/error/message",
    "/result/content",
];
/// Where they write the exit code of a command.
const CODES: [&str; 3] = [
    "/item/exit_code",
    "/part/state/metadata/exit",
    "/data/shellExecution/exitCode",
];

/// A tool call, its answer, or both, however the agent writes them.
struct Call<'a> {
    name: &'a Value,
    input: &'a Value,
    answer: &'a Value,
    code: &'a Value,
}

impl<'a> Call<'a> {
    fn in_line(line: &'a Value) -> Option<Self> {
        let call = Self {
            name: first(line, &NAMES),
            input: first(line, &INPUTS),
            answer: first(line, &ANSWERS),
            code: first(line, &CODES),
        };
        let is_empty = call.name.is_null() && call.input.is_null() && call.answer.is_null();
        (!is_empty).then_some(call)
    }

    fn show(&self, shown: &mut Shown) {
        shown.text(self.name.as_str().unwrap_or_default());
        if !self.input.is_null() {
            fields(self.input, shown);
        }
        if !self.answer.is_null() && !shown.lines.is_empty() {
            shown.line("");
        }
        match self.answer {
            Value::Null => {}
            Value::Array(all) if all.iter().all(|one| one["path"].is_string()) => {
                for change in all {
                    let word = |key: &str| change[key].as_str().unwrap_or_default();
                    shown.line(format!("{} {}", word("kind"), word("path")).trim());
                }
            }
            answer => blocks(answer, shown),
        }
        if let Some(code) = self.code.as_i64().filter(|code| *code != 0) {
            shown.line(&format!("exit code {code}"));
        }
    }
}

/// The value in the first of these places that holds something.
fn first<'a>(value: &'a Value, places: &[&str]) -> &'a Value {
    let is_filled = |value: &&Value| !value.is_null() && value.as_str() != Some("");
    let found = places.iter().filter_map(|place| value.pointer(place));
    found.into_iter().find(is_filled).unwrap_or(&Value::Null)
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
        "toolRequest" => {
            let call = &block["toolCall"]["value"];
            shown.line(call["name"].as_str().unwrap_or("tool"));
            fields(&call["arguments"], shown);
        }
        "toolResponse" => {
            let places = ["/toolResult/value/content", "/toolResult/error"];
            blocks(first(block, &places), shown);
        }
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
        let start = start_of(line, room);
        self.lines.push(start.to_owned());
        self.bytes += start.len() + 1;
        self.left_out += line.len() - start.len();
    }

    fn finish(mut self) -> Vec<String> {
        if self.left_out > 0 {
            let note = format!("… {} bytes more, in the transcript", self.left_out);
            self.lines.push(note);
        }
        self.lines
    }
}
