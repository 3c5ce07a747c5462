//! pi: `pi --mode json`, one JSON object per line.
//!
//! Its exit code is 0 even where every request failed, so only how the last message stopped
//! counts. `agent_end` is not the end: it may retry by itself; `agent_settled` is.

mod wire;

use self::wire::{Line, Message, Tokens};
use super::adapter::{Adapter, Login};
use crate::agent_event::Usage;
use crate::dialect::api_error::{ApiError, in_words, leading_status};
use crate::dialect::stream::{NotUnderstood, Parser, StreamState, parse};
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
    model: "--model",
    last: &[],
    environment: &[("PI_OFFLINE", "1"), ("PI_TELEMETRY", "0")],
    as_root: &[],
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
    fn line(&mut self, bytes: &[u8], stream: &mut StreamState) -> Result<(), NotUnderstood> {
        let line: Line = parse(bytes)?;
        match line.kind.as_str() {
            "session" => {
                stream.folder = line.cwd.0;
                stream.begin_session(line.id.0, None);
            }
            "message_end" if line.message.role.0 == "assistant" => on_message(line.message, stream),
            "message_end" => {}
            "tool_execution_start" => stream.tool_call(line.tool.0, &line.args),
            "tool_execution_end" => stream.tool_result(line.result.0, line.is_error.0),
            "auto_retry_start" => stream.retrying(retrying(&line)),
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

fn on_message(message: Message, stream: &mut StreamState) {
    stream.resume();
    stream.trouble = trouble_of(&message);
    stream.forget_promise();
    message.content.report(true, stream);
    stream.add_usage(&message.usage.into());
}

fn retrying(line: &Line) -> String {
    let (attempt, all) = (line.attempt.count(), line.max_attempts.count());
    let (_, words) = status_and_words(&line.error_message);
    format!("{}, retry {attempt} of {all}", in_words(words))
}

/// Why a message is not a good end.
fn trouble_of(message: &Message) -> Option<Trouble> {
    match message.stop_reason.0.as_str() {
        "stop" | "toolUse" => None,
        "error" => {
            let (status, words) = status_and_words(&message.error);
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

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        Self {
            input_tokens: tokens.input.count(),
            output_tokens: tokens.output.count(),
            cache_read_tokens: tokens.cache_read.count(),
            cache_write_tokens: tokens.cache_write.count(),
            cost_usd: tokens.cost.total.0,
        }
    }
}

#[cfg(test)]
mod tests;
