//! goose: `goose run --output-format stream-json`, its words in pieces.
//!
//! Its exit code is 0 even where every request failed, and a failure is reported like text of the
//! agent. It counts as one only where no model is named as its author: the words of a model come
//! with the id of its answer.

use serde_json::Value;

use super::adapter::{Adapter, Login, Rights, SESSION, Sessions};
use crate::agent_event::Usage;
use crate::dialect::Output;
use crate::dialect::api_error::{ApiError, number_after};
use crate::dialect::json::{count, is_true, items, short, text};
use crate::dialect::stream::{NotUnderstood, Parser, StreamState};

/// How to log in.
const LOG_IN: &str = "set it up with `goose configure`, or set the key of its provider";
/// How a failure begins.
const FAILURE: &str = "Ran into this error: ";
/// What is said after every failure.
const ADVICE: &str = "\n\nPlease retry";

/// How goose is called.
pub(crate) static ADAPTER: Adapter = Adapter {
    name: "goose",
    title: "goose",
    output: Output::GooseJson,
    arguments: &[
        "run",
        "-q",
        "-i",
        "-",
        "--output-format",
        "stream-json",
        "--with-builtin",
        "developer",
        "--no-profile",
    ],
    worker: Rights {
        environment: &[("GOOSE_MODE", "auto")],
        has_shell: true,
        ..Rights::NONE
    },
    reviewer: Rights {
        // In any other mode its shell may write. In this one it has no tool at all.
        environment: &[("GOOSE_MODE", "chat")],
        ..Rights::NONE
    },
    sessions: Sessions {
        // It never says which session it is in.
        preset: &["--name", SESSION],
        resume: Some(&["--resume", "--name", SESSION]),
    },
    model: "--model",
    last: &[],
    environment: &[("GOOSE_TELEMETRY_ENABLED", "false")],
    // It takes the key of any provider it knows; these are the common ones.
    credentials: &[
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_HOST",
        "DATABRICKS_TOKEN",
        "GOOGLE_API_KEY",
        "GROQ_API_KEY",
        "OPENAI_API_KEY",
        "OPENAI_HOST",
        "OPENROUTER_API_KEY",
        "XAI_API_KEY",
    ],
    // Its tools see nothing of it.
    nesting: &[],
    // Tried with 1.34.0 only; before it the stream is not known.
    oldest: (1, 34, 0),
    login: Login {
        probe: None,
        files: &[".config/goose/config.yaml"],
        variables: &["GOOSE_PROVIDER"],
        fix: LOG_IN,
    },
    install: "npm install -g @aaif/goose",
};

/// Parses goose's stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Goose {
    /// The id of the answer whose text is being read.
    answer: String,
}

impl Parser for Goose {
    fn line(&mut self, line: &Value, stream: &mut StreamState) -> Result<(), NotUnderstood> {
        match text(&line["type"]) {
            "message" => self.on_message(&line["message"], stream),
            "complete" => {
                stream.finish(stream.trouble.is_some());
                stream.set_session_usage(Usage {
                    input_tokens: count(&line["input_tokens"]),
                    output_tokens: count(&line["output_tokens"]),
                    ..Usage::default()
                });
            }
            // What its tools report while they run.
            "notification" => {}
            "error" => on_failure(short(&line["error"]), stream),
            _ => return Err(NotUnderstood),
        }
        Ok(())
    }
}

impl Goose {
    fn on_message(&mut self, message: &Value, stream: &mut StreamState) {
        let is_model = message["role"] == "assistant";
        // Of the model's answer; goose's own words have none.
        let id = short(&message["id"]);
        for block in items(&message["content"]) {
            let words = text(&block["text"]);
            match text(&block["type"]) {
                "text" if is_model && id.is_empty() && words.starts_with(FAILURE) => {
                    on_failure(words, stream);
                }
                "text" if is_model => {
                    stream.resume();
                    self.begin_answer(id, stream);
                    stream.text_piece(words);
                }
                "toolRequest" => {
                    stream.resume();
                    let call = &block["toolCall"]["value"];
                    stream.tool_call(&call["name"], &call["arguments"]);
                }
                "toolResponse" => {
                    let answer = &block["toolResult"];
                    let value = &answer["value"];
                    let is_error = answer["status"] != "success" || is_true(&value["isError"]);
                    stream.tool_result(&[&value["content"], &answer["error"]], is_error);
                }
                _ => {}
            }
        }
    }

    /// A later answer overrules an earlier one.
    fn begin_answer(&mut self, id: &str, stream: &mut StreamState) {
        if self.answer != id {
            id.clone_into(&mut self.answer);
            stream.forget_promise();
            stream.end_line();
        }
    }
}

fn on_failure(text: &str, stream: &mut StreamState) {
    stream.forget_promise();
    let text = text.strip_prefix(FAILURE).unwrap_or(text);
    let message = text.split_once(ADVICE).map_or(text, |(words, _)| words);
    let status = number_after(message, "Status: ");
    stream.fail(ApiError::new(status, message, LOG_IN).trouble());
}

#[cfg(test)]
mod tests;
