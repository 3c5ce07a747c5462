//! Qwen Code: one JSON object a line, shaped like Claude Code's.
//!
//! A failed request is told as text of the agent and in the `result`; only the latter counts.
//! While it waits at a limit, its standard error says why and for how long.

mod wire;

use self::wire::{Retry, Turn};
use super::claude::tool_results;
use super::claude::wire::{Assistant, Head, Init};
use super::{Adapter, Login};
use crate::domain::agent_event::{AgentEvent, Usage};
use crate::domain::dialect::api_error::{ApiError, number_after};
use crate::domain::dialect::{
    Dialect, Ended, Output, StreamEnd, Trouble, TurnEnd, event_text, json_line, parse, unknown,
};
use crate::domain::promise::{Promise, PromiseScanner, promise};

/// How to log in.
const LOG_IN: &str = "run `qwen` once and log in, or check the key of its provider";
/// How it says that nobody chose how to log in.
const NO_LOGIN: &str = "No auth type is selected";
/// How a failed request is wrapped.
const API_ERROR: &str = "[API Error: ";
/// How many long waits at a limit are enough: they take minutes each, and there are ten.
const WAITS: u64 = 3;

/// How Qwen Code is called.
pub(crate) static ADAPTER: Adapter = Adapter {
    name: "qwen",
    title: "Qwen Code",
    program: "qwen",
    output: Output::QwenJson,
    arguments: &["--output-format", "stream-json", "--approval-mode", "yolo"],
    model: "-m",
    last: &[],
    environment: &[
        // One process less, and one that heeds signals.
        ("QWEN_CODE_NO_RELAUNCH", "true"),
        ("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1"),
    ],
    as_root: &[],
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
    version: &["--version"],
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

/// Reads Qwen Code's stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Qwen {
    session: Option<String>,
    folder: String,
    turn: TurnEnd,
    /// What was said since the last tool call.
    words: PromiseScanner,
    promise: Option<Promise>,
    trouble: Option<Trouble>,
    usage: Usage,
}

impl Dialect for Qwen {
    fn line(&mut self, line: &[u8], truncated: bool) -> Vec<AgentEvent> {
        json_line(line, truncated, |line| self.understand(line))
    }

    fn complaint(&mut self, line: &[u8]) -> Vec<AgentEvent> {
        let line = String::from_utf8_lossy(line);
        if self.turn != TurnEnd::Open || !line.starts_with("Retrying in ") {
            return Vec::new();
        }
        let Some((_, message)) = line.split_once("): ") else {
            return Vec::new();
        };
        let trouble @ Trouble::Limit(_) = sort(message) else {
            return Vec::new();
        };
        // It goes on waiting for an hour; the run can do that better.
        let is_enough = number_after(&line, "(attempt ") >= Some(WAITS) && self.trouble.is_some();
        let event = is_enough.then(|| trouble.event());
        self.trouble = Some(trouble);
        event.into_iter().collect()
    }

    fn end(&mut self, _ended: &Ended<'_>) -> Vec<AgentEvent> {
        Vec::new()
    }

    fn verdict(&self) -> StreamEnd {
        StreamEnd {
            promise: match self.turn {
                TurnEnd::Open => self.words.found(),
                TurnEnd::Ended | TurnEnd::EndedWithError => self.promise.clone(),
            },
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

impl Qwen {
    fn understand(&mut self, line: &[u8]) -> Option<Vec<AgentEvent>> {
        let head: Head = parse(line)?;
        let events = match (head.kind.as_str(), head.subtype.as_str()) {
            ("system", "init") => self.on_init(parse(line)?),
            ("system", "retry") => on_retry(&parse(line)?),
            ("assistant", _) => self.on_assistant(parse(line)?),
            ("user", _) => tool_results(&parse(line)?),
            ("result", _) => self.on_result(&parse(line)?),
            // Partial messages and bookkeeping: activity without words.
            ("system" | "stream_event", _) => Vec::new(),
            _ => vec![unknown(line)],
        };
        Some(events)
    }

    fn on_init(&mut self, init: Init) -> Vec<AgentEvent> {
        self.session = Some(init.session_id.clone());
        self.folder = init.cwd.0;
        vec![AgentEvent::Session {
            id: init.session_id,
            model: init.model,
        }]
    }

    fn on_assistant(&mut self, line: Assistant) -> Vec<AgentEvent> {
        let main = line.parent_tool_use_id.is_empty();
        let mut events = Vec::new();
        if main {
            self.turn = TurnEnd::Open;
            self.trouble = None;
        }
        for block in line.message.content.0 {
            match block.kind.as_str() {
                // The failure of a request comes again in the result.
                "text" if block.text.starts_with(API_ERROR) => {}
                "text" if main && !block.text.is_empty() => {
                    self.words.feed(&block.text);
                    self.words.feed("\n");
                    events.push(AgentEvent::Text {
                        text: event_text(&block.text),
                    });
                }
                "thinking" if main && !block.thinking.is_empty() => {
                    events.push(AgentEvent::Thinking {
                        text: event_text(&block.thinking),
                    });
                }
                "tool_use" => {
                    if main {
                        self.words = PromiseScanner::default();
                    }
                    events.push(AgentEvent::ToolCall {
                        summary: block.input.summary(&self.folder),
                        tool: block.name.0,
                    });
                }
                _ => {}
            }
        }
        let usage = wire::without_cached(line.message.usage.into());
        if usage.total_tokens() > 0 {
            self.usage.add(&usage);
            events.push(AgentEvent::usage(self.usage));
        }
        events
    }

    fn on_result(&mut self, line: &Turn) -> Vec<AgentEvent> {
        let is_error = line.is_error || line.subtype.0 != "success";
        // It counts requests that are not told otherwise.
        self.usage = wire::without_cached(line.usage.into());
        self.promise = match &line.result {
            Some(text) => promise(text),
            None => self.words.found(),
        };
        let mut events = vec![AgentEvent::usage(self.usage)];
        self.trouble = is_error.then(|| {
            let message = &line.error.message;
            if message.is_empty() {
                Trouble::Other(line.subtype.0.replace('_', " "))
            } else {
                sort(message)
            }
        });
        events.extend(self.trouble.as_ref().map(Trouble::event));
        self.turn = if is_error {
            TurnEnd::EndedWithError
        } else {
            TurnEnd::Ended
        };
        events.push(AgentEvent::Final { is_error });
        events
    }
}

fn on_retry(line: &Retry) -> Vec<AgentEvent> {
    let (Some(attempt), Some(all)) = (line.data.attempt.whole(), line.data.all.whole()) else {
        return Vec::new();
    };
    let seconds = line.data.delay_ms.count() / 1000;
    vec![AgentEvent::Retrying {
        message: format!("retry {attempt} of {all} in {seconds} s"),
    }]
}

/// Sorts `[API Error: 401 words]`.
fn sort(message: &str) -> Trouble {
    if message.starts_with(NO_LOGIN) {
        return Trouble::auth(message, LOG_IN);
    }
    let inner = message
        .split_once(API_ERROR)
        .and_then(|(_, rest)| Some(rest.rsplit_once(']')?.0))
        .unwrap_or(message);
    ApiError {
        status: number_after(inner, "").filter(|status| (400..600).contains(status)),
        message: inner,
        log_in: LOG_IN,
        ..ApiError::default()
    }
    .trouble()
}

#[cfg(test)]
mod tests;
