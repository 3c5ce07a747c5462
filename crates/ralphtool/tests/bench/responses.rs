//! The `OpenAI` Responses API, as Codex speaks it.

use serde_json::{Value, json};

use super::answer::{Answer, Event, new_id, pieces};
use super::request::{Request, Tool, items, text_of};

/// Reads a request.
pub(crate) fn read(body: &Value, request: &mut Request) {
    request.add_system(&text_of(&body["instructions"]));
    for tool in items(&body["tools"]) {
        let name = tool["name"].as_str().or(tool["type"].as_str());
        let how = match tool["type"].as_str() {
            Some("custom") => Tool::Custom,
            _ => Tool::Function(tool["parameters"].clone()),
        };
        request
            .tools
            .insert(name.unwrap_or_default().to_owned(), how);
    }
    for item in items(&body["input"]) {
        let text = text_of(&item["content"]);
        match (item["type"].as_str(), item["role"].as_str()) {
            (Some("message") | None, Some("user")) => request.add_user(&text),
            (Some("message") | None, Some("assistant")) => request.add_answer(),
            (Some("message") | None, _) => request.add_system(&text),
            (Some(kind), _) if kind.ends_with("_call") => request.add_answer(),
            _ => {}
        }
    }
}

/// The answer in pieces.
pub(crate) fn events(answer: &Answer) -> Vec<Event> {
    let id = new_id("resp");
    let items = output(answer);
    let begun = response(answer, &id, "in_progress", &[]);
    let mut events = vec![
        ("response.created", json!({ "response": begun })),
        ("response.in_progress", json!({ "response": begun })),
    ];
    for (index, item) in items.iter().enumerate() {
        let added = json!({ "output_index": index, "item": begun_item(item) });
        events.push(("response.output_item.added", added));
        for (name, mut event) in pieces_of(item) {
            event["output_index"] = index.into();
            event["item_id"] = item["id"].clone();
            events.push((name, event));
        }
        let done = json!({ "output_index": index, "item": item });
        events.push(("response.output_item.done", done));
    }
    let ended = response(answer, &id, "completed", &items);
    events.push(("response.completed", json!({ "response": ended })));
    let numbered = |(number, (name, mut event)): (usize, (&'static str, Value))| {
        event["type"] = name.into();
        event["sequence_number"] = number.into();
        (Some(name), event)
    };
    events.into_iter().enumerate().map(numbered).collect()
}

/// The answer in one piece.
pub(crate) fn whole(answer: &Answer) -> Value {
    response(answer, &new_id("resp"), "completed", &output(answer))
}

fn response(answer: &Answer, id: &str, status: &str, output: &[Value]) -> Value {
    let (input, said) = (answer.input_tokens, answer.output_tokens);
    let usage = json!({
        "input_tokens": input,
        "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": said,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": input + said,
    });
    json!({
        "id": id,
        "object": "response",
        "created_at": 0,
        "status": status,
        "model": answer.model,
        "output": output,
        "error": null,
        "incomplete_details": null,
        "parallel_tool_calls": true,
        "tools": [],
        "usage": if status == "completed" { usage } else { Value::Null },
    })
}

fn output(answer: &Answer) -> Vec<Value> {
    let mut items = Vec::new();
    if !answer.thinking.is_empty() {
        items.push(json!({
            "type": "reasoning",
            "id": new_id("rs"),
            "summary": [{ "type": "summary_text", "text": answer.thinking }],
            "encrypted_content": null,
        }));
    }
    if !answer.text.is_empty() {
        items.push(json!({
            "type": "message",
            "id": new_id("msg"),
            "role": "assistant",
            "status": "completed",
            "content": [{ "type": "output_text", "text": answer.text, "annotations": [] }],
        }));
    }
    for call in &answer.calls {
        let mut item = json!({ "call_id": call.id, "name": call.name, "status": "completed" });
        if let Some(text) = call.input.as_str() {
            item["type"] = "custom_tool_call".into();
            item["id"] = new_id("ctc").into();
            item["input"] = text.into();
        } else {
            item["type"] = "function_call".into();
            item["id"] = new_id("fc").into();
            item["arguments"] = call.input.to_string().into();
        }
        items.push(item);
    }
    items
}

/// An item as it is when it is announced.
fn begun_item(item: &Value) -> Value {
    let mut begun = item.clone();
    for (key, empty) in [
        ("summary", json!([])),
        ("content", json!([])),
        ("arguments", "".into()),
        ("input", "".into()),
        ("status", "in_progress".into()),
    ] {
        if begun.get(key).is_some() {
            begun[key] = empty;
        }
    }
    begun
}

/// What completes an item.
fn pieces_of(item: &Value) -> Vec<(&'static str, Value)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let deltas = |name, whole: &str, more: &Value| -> Vec<(&'static str, Value)> {
        let with = |piece: String| {
            let mut event = more.clone();
            event["delta"] = piece.into();
            (name, event)
        };
        pieces(whole).into_iter().map(with).collect()
    };
    match item["type"].as_str() {
        Some("message") => {
            let part = &item["content"][0];
            let whole = text(&part["text"]);
            let empty = json!({ "type": "output_text", "text": "", "annotations": [] });
            let first = json!({ "content_index": 0, "part": empty });
            let mut events = vec![("response.content_part.added", first)];
            let more = json!({ "content_index": 0 });
            events.extend(deltas("response.output_text.delta", &whole, &more));
            let done = json!({ "content_index": 0, "text": whole });
            events.push(("response.output_text.done", done));
            let last = json!({ "content_index": 0, "part": part });
            events.push(("response.content_part.done", last));
            events
        }
        Some("reasoning") => {
            let whole = text(&item["summary"][0]["text"]);
            let empty = json!({ "type": "summary_text", "text": "" });
            let first = json!({ "summary_index": 0, "part": empty });
            let mut events = vec![("response.reasoning_summary_part.added", first)];
            let more = json!({ "summary_index": 0 });
            events.extend(deltas(
                "response.reasoning_summary_text.delta",
                &whole,
                &more,
            ));
            let done = json!({ "summary_index": 0, "text": whole });
            events.push(("response.reasoning_summary_text.done", done));
            events
        }
        Some("function_call") => {
            let whole = text(&item["arguments"]);
            let name = "response.function_call_arguments.delta";
            let mut events = deltas(name, &whole, &json!({}));
            let done = json!({ "arguments": whole });
            events.push(("response.function_call_arguments.done", done));
            events
        }
        _ => {
            let whole = text(&item["input"]);
            let name = "response.custom_tool_call_input.delta";
            let mut events = deltas(name, &whole, &json!({}));
            let done = json!({ "input": whole });
            events.push(("response.custom_tool_call_input.done", done));
            events
        }
    }
}
