//! GitHub Copilot CLI: one JSON object per line, its words both in pieces and whole.
//!
//! Only whole messages are read. It repeats the prompt, which is not its own word. It does not
//! report how many tokens it used.

use serde_json::Value;

use super::adapter::{Adapter, Login, Rights, SESSION, Sessions};
use crate::dialect::Output;
use crate::dialect::api_error::ApiError;
use crate::dialect::json::{is_nonzero, is_true, short, text, whole};
use crate::dialect::stream::{NotUnderstood, Parser, StreamState};

/// How to log in.
const LOG_IN: &str = "run `copilot` once and log in, or set `COPILOT_GITHUB_TOKEN`";

/// How Copilot is called.
pub(crate) static ADAPTER: Adapter = Adapter {
    name: "copilot",
    title: "GitHub Copilot CLI",
    output: Output::CopilotJson,
    arguments: &[
        "--output-format",
        "json",
        "--no-ask-user",
        "--no-auto-update",
        "--disable-client-telemetry",
    ],
    worker: Rights {
        arguments: &["--allow-all"],
        has_shell: true,
        ..Rights::NONE
    },
    reviewer: Rights {
        // With a shell it could write, in its plan mode too.
        arguments: &[
            "--available-tools",
            "view",
            "grep",
            "glob",
            "--allow-all-tools",
        ],
        ..Rights::NONE
    },
    sessions: Sessions {
        // Only its last line has the id, which does not come if it is killed.
        preset: &["--session-id", SESSION],
        // `--session-id` would continue it too, but start without the earlier messages if the
        // session is not there.
        resume: Some(&["--resume={session}"]),
    },
    model: "--model",
    last: &[],
    environment: &[("COPILOT_AUTO_UPDATE", "false")],
    credentials: &[
        "COPILOT_GITHUB_TOKEN",
        "COPILOT_PROVIDER_API_KEY",
        "COPILOT_PROVIDER_BASE_URL",
        "COPILOT_PROVIDER_BEARER_TOKEN",
    ],
    nesting: &[
        "COPILOT_AGENT_SESSION_ID",
        "COPILOT_CLI",
        "COPILOT_CLI_BINARY_VERSION",
        "COPILOT_CLI_RESOLVED_DIST_DIR",
        "COPILOT_LOADER_PID",
    ],
    // The flag `--session-id` came with it, as its changelog says; tried with 1.0.102.
    oldest: (1, 0, 51),
    login: Login {
        probe: None,
        files: &[],
        variables: &[
            "COPILOT_GITHUB_TOKEN",
            "COPILOT_PROVIDER_BASE_URL",
            "GH_TOKEN",
            "GITHUB_TOKEN",
        ],
        fix: LOG_IN,
    },
    install: "npm install -g @github/copilot",
};

/// Parses Copilot's stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copilot;

impl Parser for Copilot {
    fn line(&mut self, line: &Value, stream: &mut StreamState) -> Result<(), NotUnderstood> {
        let is_main = text(&line["agentId"]).is_empty();
        let data = &line["data"];
        match text(&line["type"]) {
            // What a sub-agent says is for its parent, and so is its failure.
            "assistant.message" | "session.error" if !is_main => {}
            "assistant.message" => {
                stream.resume();
                stream.forget_promise();
                stream.text(text(&data["content"]));
            }
            "assistant.turn_retry" => stream.retrying(short(&data["reason"]).replace('_', " ")),
            "tool.execution_start" if is_main => {
                stream.tool_call(&data["toolName"], &data["arguments"]);
            }
            "tool.execution_start" => {
                stream.sub_agent_tool_call(&data["toolName"], &data["arguments"]);
            }
            "tool.execution_complete" => {
                let has_failed = is_nonzero(&data["shellExecution"]["exitCode"]);
                let answer = [&data["result"]["content"], &data["error"]];
                stream.tool_result(&answer, !is_true(&data["success"]) || has_failed);
            }
            "session.error" => on_error(data, stream),
            "result" => {
                stream.set_session(&line["sessionId"]);
                let has_failed = line["exitCode"].as_f64() != Some(0.0);
                stream.finish(has_failed || stream.trouble.is_some());
            }
            kind if is_quiet(kind) => {}
            _ => return Err(NotUnderstood),
        }
        Ok(())
    }
}

fn on_error(data: &Value, stream: &mut StreamState) {
    let status = whole(&data["statusCode"]).or(match text(&data["errorType"]) {
        "authentication" => Some(401),
        "rate_limit" => Some(429),
        _ => None,
    });
    stream.fail(ApiError::new(status, text(&data["message"]), LOG_IN).trouble());
}

/// Pieces of messages and bookkeeping: activity without words.
fn is_quiet(kind: &str) -> bool {
    ["assistant.", "model.", "session.", "tool.", "user."]
        .iter()
        .any(|start| kind.starts_with(start))
}

#[cfg(test)]
mod tests;
