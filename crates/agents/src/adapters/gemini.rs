//! Gemini CLI: one JSON object per line (`stream-json`), the agent's words in pieces.
//!
//! It repeats the prompt, which is not its own word. Words of an answer that broke off are not
//! withdrawn; the last promise counts, and after a tool call the search starts over. Its exit
//! code is an HTTP status modulo 256.

mod quota;

use jiff::Timestamp;
use serde_json::Value;

use super::adapter::{Adapter, Login, Rights, Sessions};
use crate::agent_event::{Refusal, Usage};
use crate::dialect::api_error::{ApiError, number_after, unwrapped};
use crate::dialect::json::{count, text};
use crate::dialect::stream::{NotUnderstood, Parser, StreamState};
use crate::dialect::{Output, ProcessEnd, Trouble, TurnEnd};

/// How to log in.
const LOG_IN: &str = "set `GEMINI_API_KEY`, or run `gemini` once and log in";
/// How Gemini CLI exits when it is not logged in.
const NO_LOGIN: i32 = 41;
/// HTTP statuses that an exit code can stand for.
const STATUSES: [u64; 10] = [400, 401, 403, 413, 429, 500, 502, 503, 504, 529];

/// How Gemini CLI is called.
pub(crate) static ADAPTER: Adapter = Adapter {
    name: "gemini",
    title: "Gemini CLI",
    output: Output::GeminiJson,
    arguments: &[
        "--output-format",
        "stream-json",
        // It does nothing in a folder that is not marked as trusted.
        "--skip-trust",
    ],
    worker: Rights {
        arguments: &["--approval-mode", "yolo"],
        has_shell: true,
        ..Rights::NONE
    },
    reviewer: Rights {
        arguments: &["--approval-mode", "plan"],
        ..Rights::NONE
    },
    sessions: Sessions {
        preset: &[],
        // 0.61.0 sends the result of every earlier tool call twice when it continues a session, and
        // the API refuses that (google-gemini/gemini-cli#29365).
        resume: None,
    },
    model: "-m",
    last: &[],
    environment: &[
        // One process less, and one that reacts to signals.
        ("GEMINI_CLI_NO_RELAUNCH", "true"),
        ("GEMINI_TELEMETRY_ENABLED", "false"),
    ],
    credentials: &[
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "GOOGLE_CLOUD_ACCESS_TOKEN",
        "GOOGLE_GEMINI_BASE_URL",
        "GOOGLE_GENAI_USE_GCA",
        "GOOGLE_GENAI_USE_VERTEXAI",
        "GOOGLE_VERTEX_BASE_URL",
    ],
    nesting: &[
        "GEMINI_CLI",
        "GEMINI_CLI_IDE_AUTH_TOKEN",
        "GEMINI_CLI_IDE_PID",
        "GEMINI_CLI_IDE_SERVER_PORT",
        "GEMINI_CLI_IDE_WORKSPACE_PATH",
        "GEMINI_CLI_TRUST_WORKSPACE",
    ],
    // The flag `--skip-trust` came with it, as people report; tried with 0.61.0.
    oldest: (0, 39, 1),
    login: Login {
        probe: None,
        files: &[".gemini/oauth_creds.json"],
        variables: &[
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
            "GOOGLE_GENAI_USE_GCA",
            "GOOGLE_GENAI_USE_VERTEXAI",
        ],
        fix: LOG_IN,
    },
    install: "npm install -g @google/gemini-cli",
};

/// Parses Gemini CLI's stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gemini;

impl Parser for Gemini {
    fn line(&mut self, line: &Value, stream: &mut StreamState) -> Result<(), NotUnderstood> {
        match (text(&line["type"]), text(&line["role"])) {
            ("init", _) => stream.begin_session(&line["session_id"], &line["model"]),
            ("message", "assistant") => {
                stream.resume();
                stream.text_piece(text(&line["content"]));
            }
            ("message", _) => {}
            ("tool_use", _) => {
                stream.resume();
                stream.tool_call(&line["tool_name"], &line["parameters"]);
            }
            ("tool_result", _) => {
                let answer = [&line["output"], &line["error"]["message"]];
                stream.tool_result(&answer, line["status"] == "error");
            }
            // A warning, such as a loop that was stopped; promises before it are void.
            ("error", _) => {
                stream.forget_promise();
                stream.error(text(&line["message"]));
            }
            ("result", _) => on_result(line, stream),
            _ => return Err(NotUnderstood),
        }
        Ok(())
    }

    fn stderr_line(&mut self, line: &str, stream: &mut StreamState) {
        let Some(attempt) = number_after(line, "Attempt ").filter(|_| is_retry(line)) else {
            return;
        };
        let status = number_after(line, "failed with status ");
        let message = match status {
            Some(status) => format!("attempt {attempt} failed with status {status}"),
            None => format!("attempt {attempt} failed"),
        };
        stream.waits_for(ApiError::new(status, &message, LOG_IN).trouble());
        stream.retrying(message);
    }

    fn end(&mut self, ended: &ProcessEnd<'_>, stream: &mut StreamState) {
        if let Some(trouble) = trouble_by(ended, stream) {
            stream.fail(trouble);
        }
    }
}

fn on_result(line: &Value, stream: &mut StreamState) {
    let is_error = line["status"] != "success";
    if is_error {
        let failed_at = text(&line["timestamp"]).parse::<Timestamp>().ok();
        stream.fail(sort(text(&line["error"]["message"]), failed_at));
    }
    stream.finish(is_error);
    stream.set_usage(usage(&line["stats"]));
}

/// What the exit code says that the stream did not.
fn trouble_by(ended: &ProcessEnd<'_>, stream: &StreamState) -> Option<Trouble> {
    let code = ended.code.filter(|code| *code != 0)?;
    let trouble = match (stream.turn, &stream.trouble) {
        (TurnEnd::Open, _) if code == NO_LOGIN => {
            let last = ended.stderr.lines().rfind(|line| !line.trim().is_empty());
            let said = last.unwrap_or("not logged in").trim();
            Trouble::refused(Refusal::Login, said, LOG_IN)
        }
        (TurnEnd::Open, None) => {
            let status = status_of(code)?;
            let message = format!("the API answered with status {status}");
            ApiError::new(Some(status), &message, LOG_IN).trouble()
        }
        (TurnEnd::EndedWithError, Some(Trouble::Other(message))) => {
            ApiError::new(status_of(code), message, LOG_IN).trouble()
        }
        _ => return None,
    };
    Some(trouble).filter(|trouble| !matches!(trouble, Trouble::Other(_)))
}

fn status_of(code: i32) -> Option<u64> {
    let code = u64::try_from(code).ok()?;
    STATUSES.into_iter().find(|status| status % 256 == code)
}

fn is_retry(line: &str) -> bool {
    line.starts_with("Attempt ") && line.contains("Retrying")
}

/// Sorts the error of a result: `[API Error: {…}]` or `[API Error: words]`, with advice behind.
fn sort(message: &str, failed_at: Option<Timestamp>) -> Trouble {
    let inner = unwrapped(message);
    ApiError {
        resets_at: failed_at.and_then(|at| quota::resets_at(inner, at)),
        ..ApiError::new(quota::code_in(inner), inner, LOG_IN)
    }
    .trouble()
}

/// What the process used; the input includes what came from the cache.
fn usage(stats: &Value) -> Usage {
    let (total, input) = (count(&stats["total_tokens"]), count(&stats["input_tokens"]));
    // Thoughts are part of the total only.
    let output = count(&stats["output_tokens"]).max(total.saturating_sub(input));
    Usage {
        input_tokens: input,
        output_tokens: output,
        cache_read_tokens: count(&stats["cached"]),
        ..Usage::default()
    }
    .without_cached_input()
}

#[cfg(test)]
mod tests;
