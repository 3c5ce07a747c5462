//! GitHub Copilot CLI: one JSON object per line, its words both in pieces and whole.
//!
//! Only whole messages are read. It repeats the prompt, which is not its own word. It does not
//! report how many tokens it used.

mod wire;

use self::wire::{Data, Head, Line};
use super::adapter::{Adapter, Login};
use crate::dialect::Output;
use crate::dialect::api_error::ApiError;
use crate::dialect::stream::{NotUnderstood, Parser, StreamState, parse};

/// How to log in.
const LOG_IN: &str = "run `copilot` once and log in, or set `COPILOT_GITHUB_TOKEN`";

/// Lines whose fields are read.
const READ: [&str; 6] = [
    "assistant.message",
    "assistant.turn_retry",
    "tool.execution_start",
    "tool.execution_complete",
    "session.error",
    "result",
];

/// How Copilot is called.
pub(crate) static ADAPTER: Adapter = Adapter {
    name: "copilot",
    title: "GitHub Copilot CLI",
    output: Output::CopilotJson,
    arguments: &[
        "--output-format",
        "json",
        "--allow-all",
        "--no-ask-user",
        "--no-auto-update",
        "--disable-client-telemetry",
    ],
    model: "--model",
    last: &[],
    environment: &[("COPILOT_AUTO_UPDATE", "false")],
    as_root: &[],
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
    // Tried with 1.0.102 only; before 1.0 the stream is not known.
    oldest: (1, 0, 0),
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
    fn line(&mut self, bytes: &[u8], stream: &mut StreamState) -> Result<(), NotUnderstood> {
        let head: Head = parse(bytes)?;
        if !READ.contains(&head.kind.as_str()) {
            return is_quiet(&head.kind).then_some(()).ok_or(NotUnderstood);
        }
        let line: Line = parse(bytes)?;
        let is_main = line.agent.is_empty();
        let data = line.data;
        match head.kind.as_str() {
            // What a sub-agent says is for its parent, and so is its failure.
            "assistant.message" | "session.error" if !is_main => {}
            "assistant.message" => {
                stream.resume();
                stream.forget_promise();
                stream.text(&data.content);
            }
            "assistant.turn_retry" => stream.retrying(data.reason.0.replace('_', " ")),
            "tool.execution_start" if is_main => stream.tool_call(data.tool.0, &data.arguments),
            "tool.execution_start" => stream.sub_agent_tool_call(data.tool.0, &data.arguments),
            "tool.execution_complete" => {
                let has_failed = data.shell.exit_code.0.is_some_and(|code| code != 0.0);
                let bytes = data.result.content.0 + data.error.0;
                stream.tool_result(bytes, !data.success.0 || has_failed);
            }
            "session.error" => on_error(&data, stream),
            _ => {
                stream.session = Some(line.session.0);
                stream.finish(line.exit_code.0 != Some(0.0) || stream.trouble.is_some());
            }
        }
        Ok(())
    }
}

fn on_error(data: &Data, stream: &mut StreamState) {
    let status = data.status.whole().or(match data.error_type.0.as_str() {
        "authentication" => Some(401),
        "rate_limit" => Some(429),
        _ => None,
    });
    stream.fail(ApiError::new(status, &data.message, LOG_IN).trouble());
}

/// Pieces of messages and bookkeeping: activity without words.
fn is_quiet(kind: &str) -> bool {
    ["assistant.", "model.", "session.", "tool.", "user."]
        .iter()
        .any(|start| kind.starts_with(start))
}

#[cfg(test)]
mod tests;
