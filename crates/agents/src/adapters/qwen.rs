//! Qwen Code: one JSON object per line, shaped like Claude Code's.
//!
//! A failed request is reported as text of the agent and in the `result`; only the latter counts.
//! While it waits at a limit, its standard error says why and for how long.

use serde_json::Value;

use super::adapter::{Adapter, Login, Rights, SESSION, Sessions};
use super::claude::{
    begin_result, blocks, is_main, on_init, on_tool_results, report, usage, words_of,
};
use crate::agent_event::Refusal;
use crate::dialect::api_error::{API_ERROR, ApiError, leading_status, number_after, unwrapped};
use crate::dialect::json::{count, short, text, whole};
use crate::dialect::stream::{NotUnderstood, Parser, StreamState};
use crate::dialect::{Output, Trouble, TurnEnd};

/// How to log in.
const LOG_IN: &str = "run `qwen` once and log in, or check the key of its provider";
/// How it says that no way to log in was chosen.
const NO_LOGIN: &str = "No auth type is selected";
/// How many long waits at a limit are enough: they take minutes each, and there are ten.
const WAITS: u64 = 3;

/// How Qwen Code is called.
pub(crate) static ADAPTER: Adapter = Adapter {
    name: "qwen",
    title: "Qwen Code",
    output: Output::QwenJson,
    arguments: &["--output-format", "stream-json"],
    worker: Rights {
        arguments: &["--approval-mode", "yolo"],
        has_shell: true,
        ..Rights::NONE
    },
    reviewer: Rights {
        // Hooks in the settings of the repository would run without the safe mode.
        arguments: &["--approval-mode", "plan", "--safe-mode"],
        ..Rights::NONE
    },
    sessions: Sessions {
        // Every event has the id.
        preset: &[],
        resume: Some(&["--resume", SESSION]),
    },
    model: "-m",
    last: &[],
    environment: &[
        // One process less, and one that reacts to signals.
        ("QWEN_CODE_NO_RELAUNCH", "true"),
        ("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1"),
    ],
    credentials: &[
        "BAILIAN_CODING_PLAN_API_KEY",
        "DASHSCOPE_API_KEY",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
    ],
    nesting: &[
        "QWEN_CODE",
        "QWEN_CODE_AGENT_ID",
        "QWEN_CODE_CLI",
        "QWEN_CODE_LAUNCHER_PID",
        "QWEN_CODE_MANAGED_NPM_PIN",
        "QWEN_CODE_MANAGED_NPM_ROOT",
        "QWEN_CODE_MODEL",
        "QWEN_CODE_MODEL_IDENTITY",
        "QWEN_CODE_PRIVATE_RELAUNCH_ENV_PROVENANCE",
        "QWEN_CODE_PROJECT_DIR",
        "QWEN_CODE_PROMPT_ID",
        "QWEN_CODE_SESSION_ID",
        "QWEN_CODE_STARTUP_VERSION",
    ],
    // Tried with 0.24.4 only; before 0.24 the stream is not known.
    oldest: (0, 24, 0),
    login: Login {
        probe: None,
        files: &[".qwen/oauth_creds.json"],
        variables: &["OPENAI_API_KEY", "DASHSCOPE_API_KEY"],
        fix: LOG_IN,
    },
    install: "npm install -g @qwen-code/qwen-code",
};

/// Parses Qwen Code's stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Qwen;

impl Parser for Qwen {
    fn line(&mut self, line: &Value, stream: &mut StreamState) -> Result<(), NotUnderstood> {
        match (text(&line["type"]), text(&line["subtype"])) {
            ("system", "init") => on_init(line, stream),
            ("system", "retry") => on_retry(&line["data"], stream),
            ("assistant", _) => on_assistant(line, stream),
            ("user", _) => on_tool_results(line, stream),
            ("result", _) => on_result(line, stream),
            // Partial messages and bookkeeping: activity without words.
            ("system" | "stream_event", _) => {}
            _ => return Err(NotUnderstood),
        }
        Ok(())
    }

    fn stderr_line(&mut self, line: &str, stream: &mut StreamState) {
        if stream.turn != TurnEnd::Open || !line.starts_with("Retrying in ") {
            return;
        }
        let Some((_, message)) = line.split_once("): ") else {
            return;
        };
        let trouble @ Trouble::Limit(_) = sort(message) else {
            return;
        };
        // It would wait for an hour; ralphtool can do that better.
        let is_enough = number_after(line, "(attempt ") >= Some(WAITS) && stream.trouble.is_some();
        if is_enough {
            stream.fail(trouble);
        } else {
            stream.waits_for(trouble);
        }
    }
}

fn on_assistant(line: &Value, stream: &mut StreamState) {
    let is_main = is_main(line);
    if is_main {
        stream.resume();
    }
    let content = blocks(&line["message"]["content"]).iter();
    // The failure of a request comes again in the result.
    for block in content.filter(|block| !words_of(block).starts_with(API_ERROR)) {
        report(block, is_main, stream);
    }
    stream.add_usage(&usage(&line["message"]["usage"]).without_cached_input());
}

fn on_result(line: &Value, stream: &mut StreamState) {
    let is_error = begin_result(line, stream);
    if is_error {
        stream.fail(match text(&line["error"]["message"]) {
            "" => Trouble::Other(short(&line["subtype"]).replace('_', " ")),
            message => sort(message),
        });
    }
    stream.finish(is_error);
    // This includes requests that are not reported anywhere else.
    stream.set_session_usage(usage(&line["usage"]).without_cached_input());
}

fn on_retry(data: &Value, stream: &mut StreamState) {
    if let (Some(attempt), Some(all)) = (whole(&data["attempt"]), whole(&data["maxRetries"])) {
        let seconds = count(&data["delayMs"]) / 1000;
        stream.retrying(format!("retry {attempt} of {all} in {seconds} s"));
    }
}

/// Sorts `[API Error: 401 words]`.
fn sort(message: &str) -> Trouble {
    if message.starts_with(NO_LOGIN) {
        return Trouble::refused(Refusal::Login, message, LOG_IN);
    }
    let inner = unwrapped(message);
    ApiError::new(leading_status(inner), inner, LOG_IN).trouble()
}

#[cfg(test)]
mod tests;
