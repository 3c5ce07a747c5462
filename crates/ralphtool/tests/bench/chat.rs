//! The `OpenAI` Chat Completions API, as opencode uses it with a custom provider.

use serde_json::{Value, json};

use super::answer::{Answer, Event, new_id, pieces};
use super::request::{Request, Tool, items, text_of};

/// Reads a request.
pub(crate) fn read(body: &Value, request: &mut Request) {
    for tool in items(&body["tools"]) {
        let function = &tool["function"];
        let name = function["name"].as_str().unwrap_or_default();
        let schema = Tool::Function(function["parameters"].clone());
        request.tools.insert(name.to_owned(), schema);
    }
    for message in items(&body["messages"]) {
        let text = text_of(&message["content"]);
        match message["role"].as_str() {
            Some("user") => request.add_user(&text),
            Some("assistant") => request.add_answer(),
            Some("tool") => {}
            _ => request.add_system(&text),
        }
    }
}

/// The answer in pieces.
pub(crate) fn events(answer: &Answer) -> Vec<Event> {
    let id = new_id("chatcmpl");
    let chunk = |choices: Value| {
        json!({
            "id": id,
            "object": "chat.completion.chunk",
            "created": 0,
            "model": answer.model,
            "choices": choices,
        })
    };
    let delta = |delta: Value, finish: Value| {
        chunk(json!([{ "index": 0, "delta": delta, "finish_reason": finish }]))
    };
    let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
    let thoughts = pieces(&answer.thinking).into_iter();
    deltas.extend(thoughts.map(|piece| json!({ "reasoning_content": piece })));
    let texts = pieces(&answer.text).into_iter();
    deltas.extend(texts.map(|piece| json!({ "content": piece })));
    for (index, mut call) in calls(answer).into_iter().enumerate() {
        let arguments = std::mem::replace(&mut call["function"]["arguments"], "".into());
        call["index"] = index.into();
        deltas.push(json!({ "tool_calls": [call] }));
        for piece in pieces(arguments.as_str().unwrap_or_default()) {
            let function = json!({ "arguments": piece });
            deltas.push(json!({ "tool_calls": [{ "index": index, "function": function }] }));
        }
    }
    let mut events: Vec<Value> = deltas
        .into_iter()
        .map(|piece| delta(piece, Value::Null))
        .collect();
    events.push(delta(json!({}), finish_reason(answer).into()));
    let mut last = chunk(json!([]));
    last["usage"] = usage(answer);
    events.push(last);
    events.push(super::server::DONE.into());
    events.into_iter().map(|event| (None, event)).collect()
}

/// The answer in one piece.
pub(crate) fn whole(answer: &Answer) -> Value {
    let mut message = json!({ "role": "assistant", "content": answer.text });
    if !answer.calls.is_empty() {
        message["tool_calls"] = calls(answer).into();
    }
    let finish = finish_reason(answer);
    json!({
        "id": new_id("chatcmpl"),
        "object": "chat.completion",
        "created": 0,
        "model": answer.model,
        "choices": [{ "index": 0, "message": message, "finish_reason": finish }],
        "usage": usage(answer),
    })
}

/// The error of both `OpenAI` APIs.
pub(crate) fn error(kind: &str, code: Option<&str>, message: &str) -> Value {
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
}

fn usage(answer: &Answer) -> Value {
    let (input, output) = (answer.input_tokens, answer.output_tokens);
    json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input + output,
        "prompt_tokens_details": { "cached_tokens": 0 },
    })
}

fn calls(answer: &Answer) -> Vec<Value> {
    let calls = answer.calls.iter();
    let shape = calls.map(|call| {
        let function = json!({ "name": call.name, "arguments": call.input.to_string() });
        json!({ "id": call.id, "type": "function", "function": function })
    });
    shape.collect()
}

fn finish_reason(answer: &Answer) -> &'static str {
    if answer.calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    }
}
