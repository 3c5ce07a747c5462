//! pi: `pi --mode json`, one JSON object per line.
//!
//! Its exit code is 0 even where every request failed, so only how the last message stopped
//! counts. `agent_end` is not the end: it may retry by itself; `agent_settled` is.

use serde_json::Value;

use super::adapter::{Adapter, Login, Rights, SESSION, Sessions};
use super::claude::{blocks, report};
use crate::agent_event::Usage;
use crate::dialect::api_error::{ApiError, in_words, leading_status};
use crate::dialect::json::{count, is_true, short, text};
use crate::dialect::stream::{NotUnderstood, Parser, StreamState};
use crate::dialect::{Output, Trouble};

/// How to log in.
const LOG_IN: &str = "run `pi` once and use `/login`, or set the key of its provider";
/// Lines that mean activity without words.
const QUIET: [&str; 11] = [
    "agent_start",
    "agent_end",
    "turn_start",
    "turn_end",
    "message_start",
    "message_update",
    "tool_execution_update",
    "entry_appended",
    "auto_retry_end",
    "queue_update",
    "session_info_changed",
];

/// How pi is called.
pub(crate) static ADAPTER: Adapter = Adapter {
    name: "pi",
    title: "pi",
    output: Output::PiJson,
    arguments: &["--mode", "json"],
    worker: Rights {
        // It never asks.
        has_shell: true,
        ..Rights::NONE
    },
    reviewer: Rights {
        arguments: &["--tools", "read,grep,find,ls"],
        ..Rights::NONE
    },
    sessions: Sessions {
        // Its first line has the id.
        preset: &[],
        resume: Some(&["--session", SESSION]),
    },
    model: "--model",
    last: &[],
    environment: &[("PI_OFFLINE", "1"), ("PI_TELEMETRY", "0")],
    // It takes the key of any provider it knows; these are the common ones.
    credentials: &[
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_OAUTH_TOKEN",
        "CEREBRAS_API_KEY",
        "DEEPSEEK_API_KEY",
        "GEMINI_API_KEY",
        "GROQ_API_KEY",
        "MISTRAL_API_KEY",
        "OPENAI_API_KEY",
        "OPENROUTER_API_KEY",
        "XAI_API_KEY",
    ],
    nesting: &[
        "AI_AGENT",
        "PI_CODING_AGENT",
        "PI_MODEL",
        "PI_PROVIDER",
        "PI_REASONING_LEVEL",
        "PI_SESSION_FILE",
        "PI_SESSION_ID",
    ],
    // Tried with 0.87.1 only; before 0.87 `agent_settled` is not known to be there.
    oldest: (0, 87, 0),
    login: Login {
        probe: None,
        files: &[".pi/agent/auth.json", ".pi/agent/models.json"],
        variables: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_OAUTH_TOKEN",
            "GEMINI_API_KEY",
            "OPENAI_API_KEY",
            "OPENROUTER_API_KEY",
        ],
        fix: LOG_IN,
    },
    install: "npm install -g @earendil-works/pi-coding-agent",
};

/// Parses pi's stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pi;

impl Parser for Pi {
    fn line(&mut self, line: &Value, stream: &mut StreamState) -> Result<(), NotUnderstood> {
        let message = &line["message"];
        match text(&line["type"]) {
            "session" => {
                short(&line["cwd"]).clone_into(&mut stream.folder);
                stream.begin_session(&line["id"], &Value::Null);
            }
            "message_end" if message["role"] == "assistant" => on_message(message, stream),
            "message_end" => {}
            "tool_execution_start" => stream.tool_call(&line["toolName"], &line["args"]),
            "tool_execution_end" => {
                stream.tool_result(&[&line["result"]], is_true(&line["isError"]));
            }
            "auto_retry_start" => stream.retrying(retrying(line)),
            "agent_settled" => {
                if let Some(trouble) = stream.trouble.take() {
                    stream.fail(trouble);
                }
                stream.finish(stream.trouble.is_some());
            }
            kind if QUIET.contains(&kind) || kind.contains("compaction") => {}
            _ => return Err(NotUnderstood),
        }
        Ok(())
    }
}

fn on_message(message: &Value, stream: &mut StreamState) {
    stream.resume();
    stream.trouble = trouble_of(message);
    stream.forget_promise();
    for block in blocks(&message["content"]) {
        report(block, true, stream);
    }
    stream.add_usage(&usage(&message["usage"]));
}

fn retrying(line: &Value) -> String {
    let (attempt, all) = (count(&line["attempt"]), count(&line["maxAttempts"]));
    let (_, words) = status_and_words(text(&line["errorMessage"]));
    format!("{}, retry {attempt} of {all}", in_words(words))
}

/// Why a message is not a good end.
fn trouble_of(message: &Value) -> Option<Trouble> {
    match short(&message["stopReason"]) {
        "stop" | "toolUse" => None,
        "error" => {
            let (status, words) = status_and_words(text(&message["errorMessage"]));
            Some(ApiError::new(status, words, LOG_IN).trouble())
        }
        reason => Some(Trouble::ended_early(reason)),
    }
}

/// The parts of `401: {…}`.
fn status_and_words(message: &str) -> (Option<u64>, &str) {
    match (leading_status(message), message.split_once(": ")) {
        (Some(status), Some((_, words))) => (Some(status), words),
        _ => (None, message),
    }
}

/// What one message used; the input does not include what came from the cache.
fn usage(tokens: &Value) -> Usage {
    Usage {
        input_tokens: count(&tokens["input"]),
        output_tokens: count(&tokens["output"]),
        cache_read_tokens: count(&tokens["cacheRead"]),
        cache_write_tokens: count(&tokens["cacheWrite"]),
        cost_usd: tokens["cost"]["total"].as_f64(),
    }
}

#[cfg(test)]
mod tests;
