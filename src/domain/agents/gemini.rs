//! Gemini CLI: one JSON object a line (`stream-json`), the agent's words in pieces.
//!
//! It repeats the prompt, which is not its own word. Words of an answer that broke off are not
//! taken back; the last promise counts, and after a tool call the search begins anew. Its exit
//! code is an HTTP status modulo 256.

mod quota;
mod wire;

use jiff::Timestamp;

use self::wire::{Line, Stats};
use super::{Adapter, Login};
use crate::domain::agent_event::{AgentEvent, Usage};
use crate::domain::dialect::api_error::{ApiError, number_after};
use crate::domain::dialect::words::Words;
use crate::domain::dialect::{
    Dialect, Ended, Output, StreamEnd, Trouble, TurnEnd, event_text, json_line, parse, unknown,
};

/// How to log in.
const LOG_IN: &str = "set `GEMINI_API_KEY`, or run `gemini` once and log in";
/// How a failed request is wrapped.
const API_ERROR: &str = "[API Error: ";
/// How Gemini CLI exits where nobody is logged in.
const NO_LOGIN: i32 = 41;
/// HTTP statuses that an exit code can stand for.
const STATUSES: [u64; 10] = [400, 401, 403, 413, 429, 500, 502, 503, 504, 529];

/// How Gemini CLI is called.
pub(crate) static ADAPTER: Adapter = Adapter {
    name: "gemini",
    title: "Gemini CLI",
    program: "gemini",
    output: Output::GeminiJson,
    arguments: &[
        "--output-format",
        "stream-json",
        "--approval-mode",
        "yolo",
        // It does nothing in a folder that nobody said to trust.
        "--skip-trust",
    ],
    model: "-m",
    last: &[],
    environment: &[
        // One process less, and one that heeds signals.
        ("GEMINI_CLI_NO_RELAUNCH", "true"),
        ("GEMINI_TELEMETRY_ENABLED", "false"),
    ],
    as_root: &[],
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
    version: &["--version"],
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

/// Reads Gemini CLI's stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gemini {
    folder: String,
    session: Option<String>,
    turn: TurnEnd,
    words: Words,
    trouble: Option<Trouble>,
    usage: Usage,
}

impl Dialect for Gemini {
    fn line(&mut self, line: &[u8], truncated: bool) -> Vec<AgentEvent> {
        json_line(line, truncated, |line| self.understand(line))
    }

    fn complaint(&mut self, line: &[u8]) -> Vec<AgentEvent> {
        let line = String::from_utf8_lossy(line);
        let Some(attempt) = number_after(&line, "Attempt ").filter(|_| is_retry(&line)) else {
            return Vec::new();
        };
        let status = number_after(&line, "failed with status ");
        let message = match status {
            Some(status) => format!("attempt {attempt} failed with status {status}"),
            None => format!("attempt {attempt} failed"),
        };
        // Until something else is told it waits for this to end.
        if self.turn == TurnEnd::Open {
            self.trouble = match api_error(status, &message).trouble() {
                trouble @ Trouble::Limit(_) => Some(trouble),
                _ => None,
            };
        }
        vec![AgentEvent::Retrying { message }]
    }

    fn works_in(&mut self, folder: &str) {
        folder.clone_into(&mut self.folder);
    }

    fn end(&mut self, ended: &Ended<'_>) -> Vec<AgentEvent> {
        let rest = self.words.flush();
        let trouble = self.trouble_by(ended);
        let event = trouble.as_ref().map(Trouble::event);
        self.trouble = trouble.or(self.trouble.take());
        rest.into_iter().chain(event).collect()
    }

    fn verdict(&self) -> StreamEnd {
        StreamEnd {
            promise: self.words.promise(),
            turn: self.turn,
            usage: self.usage,
            session: self.session.clone(),
            ..StreamEnd::default()
        }
        .with(self.trouble.as_ref())
    }

    fn fork(&self) -> Box<dyn Dialect + Send> {
        Box::new(self.clone())
    }
}

impl Gemini {
    fn understand(&mut self, bytes: &[u8]) -> Option<Vec<AgentEvent>> {
        let line: Line = parse(bytes)?;
        let events = match (line.kind.as_str(), line.role.0.as_str()) {
            ("init", _) => self.on_init(line),
            ("message", "assistant") => self.on_words(&line),
            ("message", _) => Vec::new(),
            ("tool_use", _) => self.on_tool(line),
            ("tool_result", _) => self.on_answer(&line),
            ("error", _) => self.on_error(&line),
            ("result", _) => self.on_result(&line),
            _ => vec![unknown(bytes)],
        };
        Some(events)
    }

    fn on_init(&mut self, line: Line) -> Vec<AgentEvent> {
        self.session = Some(line.session_id.0.clone());
        vec![AgentEvent::Session {
            id: line.session_id.0,
            model: Some(line.model.0).filter(|model| !model.is_empty()),
        }]
    }

    fn on_words(&mut self, line: &Line) -> Vec<AgentEvent> {
        self.goes_on();
        self.words.feed(&line.content)
    }

    /// Whatever it waited for is over, and its turn was not.
    fn goes_on(&mut self) {
        self.trouble = None;
        self.turn = TurnEnd::Open;
    }

    fn on_tool(&mut self, line: Line) -> Vec<AgentEvent> {
        self.goes_on();
        let rest = self.words.flush();
        self.words.begin_anew();
        let call = AgentEvent::ToolCall {
            summary: line.parameters.summary(&self.folder),
            tool: line.tool_name.0,
        };
        rest.into_iter().chain([call]).collect()
    }

    fn on_answer(&mut self, line: &Line) -> Vec<AgentEvent> {
        let rest = self.words.flush();
        let answer = AgentEvent::ToolResult {
            bytes: line.output.0 + line.error.message.len() as u64,
            is_error: line.status.0 == "error",
        };
        rest.into_iter().chain([answer]).collect()
    }

    /// A warning such as a loop that was broken off; what was said before it is void.
    fn on_error(&mut self, line: &Line) -> Vec<AgentEvent> {
        let rest = self.words.flush();
        self.words.begin_anew();
        let error = AgentEvent::Error {
            message: event_text(&line.message),
        };
        rest.into_iter().chain([error]).collect()
    }

    fn on_result(&mut self, line: &Line) -> Vec<AgentEvent> {
        let mut events: Vec<AgentEvent> = self.words.flush().into_iter().collect();
        self.usage = line.stats.into();
        events.push(AgentEvent::usage(self.usage));
        let is_error = line.status.0 != "success";
        if is_error {
            let told_at = line.timestamp.0.parse::<Timestamp>().ok();
            let trouble = sort(&line.error.message, None, told_at);
            events.push(trouble.event());
            self.trouble = Some(trouble);
            self.turn = TurnEnd::EndedWithError;
        } else {
            self.trouble = None;
            self.turn = TurnEnd::Ended;
        }
        events.push(AgentEvent::Final { is_error });
        events
    }

    /// What the exit code tells where the stream did not.
    fn trouble_by(&self, ended: &Ended<'_>) -> Option<Trouble> {
        let code = ended.code.filter(|code| *code != 0)?;
        match (self.turn, &self.trouble) {
            (TurnEnd::Open, _) if code == NO_LOGIN => {
                let said = ended.stderr.lines().rfind(|line| !line.trim().is_empty());
                Some(Trouble::auth(
                    said.unwrap_or("nobody is logged in").trim(),
                    LOG_IN,
                ))
            }
            (TurnEnd::Open, None) => {
                let status = status_of(code)?;
                let message = format!("the API answered with status {status}");
                told_apart(api_error(Some(status), &message).trouble())
            }
            (TurnEnd::EndedWithError, Some(Trouble::Other(message))) => {
                told_apart(api_error(status_of(code), message).trouble())
            }
            _ => None,
        }
    }
}

fn told_apart(trouble: Trouble) -> Option<Trouble> {
    Some(trouble).filter(|trouble| !matches!(trouble, Trouble::Other(_)))
}

fn status_of(code: i32) -> Option<u64> {
    let code = u64::try_from(code).ok()?;
    STATUSES.into_iter().find(|status| status % 256 == code)
}

fn is_retry(line: &str) -> bool {
    line.starts_with("Attempt ") && line.contains("Retrying")
}

fn api_error(status: Option<u64>, message: &str) -> ApiError<'_> {
    ApiError {
        status,
        message,
        log_in: LOG_IN,
        ..ApiError::default()
    }
}

/// Sorts the error of a result: `[API Error: {…}]` or `[API Error: words]`, with advice behind.
fn sort(message: &str, status: Option<u64>, told_at: Option<Timestamp>) -> Trouble {
    let inner = message
        .split_once(API_ERROR)
        .and_then(|(_, rest)| Some(rest.rsplit_once(']')?.0))
        .unwrap_or(message);
    let status = status.or_else(|| quota::code_in(inner));
    ApiError {
        resets_at: told_at.and_then(|at| quota::resets_at(inner, at)),
        ..api_error(status, inner)
    }
    .trouble()
}

impl From<Stats> for Usage {
    fn from(stats: Stats) -> Self {
        // Thoughts are part of the total only.
        let beyond_input = stats
            .total_tokens
            .count()
            .saturating_sub(stats.input_tokens.count());
        Self {
            input_tokens: stats
                .input_tokens
                .count()
                .saturating_sub(stats.cached.count()),
            output_tokens: stats.output_tokens.count().max(beyond_input),
            cache_read_tokens: stats.cached.count(),
            cache_write_tokens: 0,
            cost_usd: None,
        }
    }
}

#[cfg(test)]
mod tests;
