//! GitHub Copilot CLI: one JSON object a line, its words both in pieces and whole.
//!
//! Only whole messages are read. It repeats the prompt, which is not its own word. It does not
//! tell how many tokens it used.

mod wire;

use self::wire::{Data, Head, Line};
use super::{Adapter, Login};
use crate::domain::agent_event::AgentEvent;
use crate::domain::dialect::api_error::ApiError;
use crate::domain::dialect::{
    Dialect, Ended, Output, StreamEnd, Trouble, TurnEnd, event_text, json_line, parse,
};
use crate::domain::promise::{Promise, promise};

/// How to log in.
const LOG_IN: &str = "run `copilot` once and log in, or set `COPILOT_GITHUB_TOKEN`";

/// Lines that are looked into.
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
    program: "copilot",
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
    version: &["--version"],
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

/// Reads Copilot's stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Copilot {
    folder: String,
    session: Option<String>,
    turn: TurnEnd,
    promise: Option<Promise>,
    trouble: Option<Trouble>,
}

impl Dialect for Copilot {
    fn line(&mut self, line: &[u8], truncated: bool) -> Vec<AgentEvent> {
        json_line(line, truncated, |line| self.understand(line))
    }

    fn works_in(&mut self, folder: &str) {
        folder.clone_into(&mut self.folder);
    }

    fn end(&mut self, _ended: &Ended<'_>) -> Vec<AgentEvent> {
        Vec::new()
    }

    fn verdict(&self) -> StreamEnd {
        StreamEnd {
            promise: self.promise.clone(),
            turn: self.turn,
            session: self.session.clone(),
            ..StreamEnd::default()
        }
        .with(self.trouble.as_ref())
    }

    fn fork(&self) -> Box<dyn Dialect + Send> {
        Box::new(self.clone())
    }
}

impl Copilot {
    fn understand(&mut self, bytes: &[u8]) -> Option<Vec<AgentEvent>> {
        let head: Head = parse(bytes)?;
        if !READ.contains(&head.kind.as_str()) {
            return Some(Vec::new()).filter(|_| is_quiet(&head.kind));
        }
        let line: Line = parse(bytes)?;
        let is_main = line.agent.is_empty();
        let data = line.data;
        let events = match head.kind.as_str() {
            // What a sub-agent says is for its parent, and so is its failure.
            "assistant.message" | "session.error" if !is_main => Vec::new(),
            "assistant.message" => self.on_message(&data),
            "assistant.turn_retry" => vec![AgentEvent::Retrying {
                message: data.reason.0.replace('_', " "),
            }],
            "tool.execution_start" => vec![self.on_call(data, is_main)],
            "tool.execution_complete" => vec![on_answer(&data)],
            "session.error" => self.on_error(&data),
            _ => self.on_result(line.session.0, line.exit_code.0),
        };
        Some(events)
    }

    fn on_message(&mut self, data: &Data) -> Vec<AgentEvent> {
        self.trouble = None;
        self.turn = TurnEnd::Open;
        self.promise = promise(&data.content);
        if data.content.is_empty() {
            return Vec::new();
        }
        vec![AgentEvent::Text {
            text: event_text(&data.content),
        }]
    }

    fn on_call(&mut self, data: Data, is_main: bool) -> AgentEvent {
        // Whatever was promised, it goes on working.
        if is_main {
            self.promise = None;
        }
        AgentEvent::ToolCall {
            summary: data.arguments.summary(&self.folder),
            tool: data.tool.0,
        }
    }

    fn on_error(&mut self, data: &Data) -> Vec<AgentEvent> {
        let status = data.status.whole().or(match data.error_type.0.as_str() {
            "authentication" => Some(401),
            "rate_limit" => Some(429),
            _ => None,
        });
        let error = ApiError {
            status,
            message: &data.message,
            log_in: LOG_IN,
            ..ApiError::default()
        };
        let trouble = error.trouble();
        let event = trouble.event();
        self.trouble = Some(trouble);
        vec![event]
    }

    fn on_result(&mut self, session: String, code: Option<f64>) -> Vec<AgentEvent> {
        self.session = Some(session);
        let is_error = code != Some(0.0) || self.trouble.is_some();
        self.turn = if is_error {
            TurnEnd::EndedWithError
        } else {
            TurnEnd::Ended
        };
        vec![AgentEvent::Final { is_error }]
    }
}

fn on_answer(data: &Data) -> AgentEvent {
    let failed = data.shell.exit_code.0.is_some_and(|code| code != 0.0);
    AgentEvent::ToolResult {
        bytes: data.result.content.0 + data.error.0,
        is_error: !data.success || failed,
    }
}

/// Pieces of messages and bookkeeping: activity without words.
fn is_quiet(kind: &str) -> bool {
    ["assistant.", "model.", "session.", "tool.", "user."]
        .iter()
        .any(|start| kind.starts_with(start))
}

#[cfg(test)]
mod tests;
