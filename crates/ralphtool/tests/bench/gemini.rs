//! The Gemini API, as Gemini CLI speaks it.

use serde_json::{Value, json};

use super::answer::{Answer, Event, new_id, pieces};
use super::request::{Request, Tool, items, text_of};

/// Reads a request; the path names the model and whether the answer is to be streamed.
pub(crate) fn read(path: &str, body: &Value, request: &mut Request) {
    if let Some((model, method)) = path
        .rsplit('/')
        .next()
        .and_then(|name| name.split_once(':'))
    {
        model.clone_into(&mut request.model);
        request.stream = method == "streamGenerateContent";
    }
    request.add_system(&text_of(&body["systemInstruction"]["parts"]));
    for tool in items(&body["tools"]) {
        for function in items(&tool["functionDeclarations"]) {
            let name = function["name"].as_str().unwrap_or_default();
            let schema = function.get("parametersJsonSchema");
            let schema = schema.unwrap_or(&function["parameters"]);
            let tool = Tool::Function(schema.clone());
            request.tools.insert(name.to_owned(), tool);
        }
    }
    for content in items(&body["contents"]) {
        if content["role"] == "model" {
            request.add_answer();
        } else {
            request.add_user(&text_of(&content["parts"]));
        }
    }
}

/// The answer in pieces.
pub(crate) fn events(answer: &Answer) -> Vec<Event> {
    let mut parts: Vec<Value> = Vec::new();
    let thoughts = pieces(&answer.thinking).into_iter();
    parts.extend(thoughts.map(|piece| json!({ "text": piece, "thought": true })));
    let texts = pieces(&answer.text).into_iter();
    parts.extend(texts.map(|piece| json!({ "text": piece })));
    let mut events: Vec<Value> = parts
        .into_iter()
        .map(|part| response(answer, &[part]))
        .collect();
    let mut last = calls(answer);
    if last.is_empty() {
        last.push(json!({ "text": "" }));
    }
    events.push(finished(response(answer, &last)));
    events.into_iter().map(|event| (None, event)).collect()
}

/// The answer in one piece.
pub(crate) fn whole(answer: &Answer) -> Value {
    let mut parts = vec![json!({ "text": answer.text })];
    parts.extend(calls(answer));
    finished(response(answer, &parts))
}

/// The error of a status and what it says.
pub(crate) fn error(code: u16, status: &str, message: &str, details: &Value) -> Value {
    let mut error = json!({ "code": code, "message": message, "status": status });
    if !details.is_null() {
        error["details"] = details.clone();
    }
    json!({ "error": error })
}

fn response(answer: &Answer, parts: &[Value]) -> Value {
    let (input, output) = (answer.input_tokens, answer.output_tokens);
    json!({
        "candidates": [{ "content": { "role": "model", "parts": parts }, "index": 0 }],
        "modelVersion": answer.model,
        "responseId": new_id("r"),
        "usageMetadata": {
            "promptTokenCount": input,
            "candidatesTokenCount": output,
            "totalTokenCount": input + output,
        },
    })
}

fn finished(mut response: Value) -> Value {
    response["candidates"][0]["finishReason"] = "STOP".into();
    response
}

fn calls(answer: &Answer) -> Vec<Value> {
    let calls = answer.calls.iter();
    let shape = calls.map(|call| {
        let call = json!({ "id": call.id, "name": call.name, "args": call.input });
        json!({ "functionCall": call })
    });
    shape.collect()
}
