//! pi: `pi --mode json`, one JSON object a line.
//!
//! Its exit code is 0 even where every request failed, so only how the last message stopped
//! counts. `agent_end` is not the end: it may retry by itself; `agent_settled` is.

mod wire;

use self::wire::{Line, Message, Tokens};
use super::{Adapter, Login};
use crate::domain::agent_event::{AgentEvent, Usage};
use crate::domain::dialect::api_error::{ApiError, in_words, number_after};
use crate::domain::dialect::{
    Dialect, Ended, Output, StreamEnd, Trouble, TurnEnd, event_text, json_line, parse, unknown,
};
use crate::domain::promise::{Promise, PromiseScanner};

/// How to log in.
const LOG_IN: &str = "run `pi` once and use `/login`, or set the key of its provider";
/// Lines that tell of activity without words.
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
    program: "pi",
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
    version: &["--version"],
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

/// Reads pi's stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pi {
    session: Option<String>,
    folder: String,
    turn: TurnEnd,
    promise: Option<Promise>,
    trouble: Option<Trouble>,
    usage: Usage,
}

impl Dialect for Pi {
    fn line(&mut self, line: &[u8], truncated: bool) -> Vec<AgentEvent> {
        json_line(line, truncated, |line| self.understand(line))
    }

    fn end(&mut self, _ended: &Ended<'_>) -> Vec<AgentEvent> {
        Vec::new()
    }

    fn verdict(&self) -> StreamEnd {
        StreamEnd {
            promise: self.promise.clone(),
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

impl Pi {
    fn understand(&mut self, bytes: &[u8]) -> Option<Vec<AgentEvent>> {
        let line: Line = parse(bytes)?;
        let events = match line.kind.as_str() {
            "session" => self.on_session(line),
            "message_end" if line.message.role.0 == "assistant" => self.on_message(&line.message),
            "message_end" => Vec::new(),
            "tool_execution_start" => vec![self.on_call(line)],
            "tool_execution_end" => vec![AgentEvent::ToolResult {
                bytes: line.result.0,
                is_error: line.is_error,
            }],
            "auto_retry_start" => vec![on_retry(&line)],
            "agent_settled" => self.on_settled(),
            kind if QUIET.contains(&kind) || kind.contains("compaction") => Vec::new(),
            _ => vec![unknown(bytes)],
        };
        Some(events)
    }

    fn on_session(&mut self, line: Line) -> Vec<AgentEvent> {
        self.session = Some(line.id.0.clone());
        self.folder = line.cwd.0;
        vec![AgentEvent::Session {
            id: line.id.0,
            model: None,
        }]
    }

    fn on_message(&mut self, message: &Message) -> Vec<AgentEvent> {
        self.turn = TurnEnd::Open;
        self.trouble = trouble_of(message);
        let mut words = PromiseScanner::default();
        let mut events = Vec::new();
        for block in &message.content.0 {
            match block.kind.0.as_str() {
                "text" if !block.text.is_empty() => {
                    words.feed(&block.text);
                    words.feed("\n");
                    events.push(AgentEvent::Text {
                        text: event_text(&block.text),
                    });
                }
                "thinking" if !block.thinking.is_empty() => events.push(AgentEvent::Thinking {
                    text: event_text(&block.thinking),
                }),
                _ => {}
            }
        }
        self.promise = words.found();
        let usage = Usage::from(message.usage);
        if usage.total_tokens() > 0 {
            self.usage.add(&usage);
            events.push(AgentEvent::usage(self.usage));
        }
        events
    }

    fn on_call(&mut self, line: Line) -> AgentEvent {
        self.promise = None;
        AgentEvent::ToolCall {
            summary: line.args.summary(&self.folder),
            tool: line.tool.0,
        }
    }

    fn on_settled(&mut self) -> Vec<AgentEvent> {
        let is_error = self.trouble.is_some();
        self.turn = if is_error {
            TurnEnd::EndedWithError
        } else {
            TurnEnd::Ended
        };
        let trouble = self.trouble.as_ref().map(Trouble::event);
        let last = AgentEvent::Final { is_error };
        trouble.into_iter().chain([last]).collect()
    }
}

fn on_retry(line: &Line) -> AgentEvent {
    let (attempt, all) = (line.attempt.count(), line.max_attempts.count());
    let (_, words) = status_and_words(&line.error_message);
    let words = in_words(words);
    AgentEvent::Retrying {
        message: format!("{words}, retry {attempt} of {all}"),
    }
}

/// Why a message is not a good end.
fn trouble_of(message: &Message) -> Option<Trouble> {
    match message.stop_reason.0.as_str() {
        "stop" | "toolUse" => None,
        "error" => {
            let (status, words) = status_and_words(&message.error);
            let error = ApiError {
                status,
                message: words,
                log_in: LOG_IN,
                ..ApiError::default()
            };
            Some(error.trouble())
        }
        reason => Some(Trouble::Other(format!("the answer ended early: {reason}"))),
    }
}

/// The parts of `401: {…}`.
fn status_and_words(message: &str) -> (Option<u64>, &str) {
    let status = number_after(message, "").filter(|status| (400..600).contains(status));
    match (status, message.split_once(": ")) {
        (Some(_), Some((_, words))) => (status, words),
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
