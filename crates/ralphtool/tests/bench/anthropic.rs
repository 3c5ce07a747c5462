//! The Anthropic Messages API, as Claude Code speaks it.

use serde_json::{Value, json};

use super::answer::{Answer, Event, new_id, pieces};
use super::request::{Request, Tool, items, text_of};

/// Reads a request.
pub(crate) fn read(body: &Value, request: &mut Request) {
    request.add_system(&text_of(&body["system"]));
    for tool in items(&body["tools"]) {
        let name = tool["name"].as_str().unwrap_or_default();
        let schema = Tool::Function(tool["input_schema"].clone());
        request.tools.insert(name.to_owned(), schema);
    }
    for message in items(&body["messages"]) {
        if message["role"] == "assistant" {
            request.add_answer();
        } else {
            request.add_user(&text_of(&message["content"]));
        }
    }
}

/// The answer in pieces.
pub(crate) fn events(answer: &Answer) -> Vec<Event> {
    let mut message = message(answer, &[], &Value::Null);
    message["usage"]["output_tokens"] = 1.into();
    let mut events = vec![json!({ "type": "message_start", "message": message })];
    for (index, block) in blocks(answer).into_iter().enumerate() {
        let (head, deltas) = in_pieces(block);
        events
            .push(json!({ "type": "content_block_start", "index": index, "content_block": head }));
        for delta in deltas {
            events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        }
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    events.push(json!({
        "type": "message_delta",
        "delta": { "stop_reason": stop_reason(answer), "stop_sequence": null },
        "usage": { "output_tokens": answer.output_tokens },
    }));
    events.push(json!({ "type": "message_stop" }));
    events.into_iter().map(named).collect()
}

/// The answer in one piece.
pub(crate) fn whole(answer: &Answer) -> Value {
    message(answer, &blocks(answer), &stop_reason(answer).into())
}

/// The error of a status and what it says.
pub(crate) fn error(kind: &str, message: &str) -> Value {
    json!({
        "type": "error",
        "error": { "type": kind, "message": message },
        "request_id": new_id("req"),
    })
}

fn named(event: Value) -> Event {
    const NAMES: [&str; 6] = [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    let name = NAMES.into_iter().find(|name| event["type"] == *name);
    (name, event)
}

fn message(answer: &Answer, content: &[Value], stop_reason: &Value) -> Value {
    json!({
        "id": new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": {
            "input_tokens": answer.input_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": answer.output_tokens,
            "service_tier": "standard",
        },
    })
}

fn stop_reason(answer: &Answer) -> &'static str {
    if answer.calls.is_empty() {
        "end_turn"
    } else {
        "tool_use"
    }
}

fn blocks(answer: &Answer) -> Vec<Value> {
    let mut blocks = Vec::new();
    if !answer.thinking.is_empty() {
        let thinking = &answer.thinking;
        blocks.push(json!({ "type": "thinking", "thinking": thinking, "signature": "c2lnbmVk" }));
    }
    if !answer.text.is_empty() {
        blocks.push(json!({ "type": "text", "text": answer.text }));
    }
    for call in &answer.calls {
        let (id, name, input) = (format!("toolu_{}", call.id), &call.name, &call.input);
        blocks.push(json!({ "type": "tool_use", "id": id, "name": name, "input": input }));
    }
    blocks
}

/// A block as it begins, and the pieces that complete it.
fn in_pieces(mut block: Value) -> (Value, Vec<Value>) {
    let kind = block["type"].as_str().unwrap_or_default().to_owned();
    match kind.as_str() {
        "thinking" => {
            let text = std::mem::replace(&mut block["thinking"], "".into());
            let signature = std::mem::replace(&mut block["signature"], "".into());
            let mut deltas = deltas(&text, "thinking_delta", "thinking");
            deltas.push(json!({ "type": "signature_delta", "signature": signature }));
            (block, deltas)
        }
        "text" => {
            let text = std::mem::replace(&mut block["text"], "".into());
            (block, deltas(&text, "text_delta", "text"))
        }
        _ => {
            let input = std::mem::replace(&mut block["input"], json!({}));
            let input = input.to_string().into();
            (block, deltas(&input, "input_json_delta", "partial_json"))
        }
    }
}

fn deltas(text: &Value, kind: &str, key: &str) -> Vec<Value> {
    let pieces = pieces(text.as_str().unwrap_or_default()).into_iter();
    pieces
        .map(|piece| json!({ "type": kind, key: piece }))
        .collect()
}
