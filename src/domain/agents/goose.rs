//! goose: `goose run --output-format stream-json`, its words in pieces.
//!
//! Its exit code is 0 even where every request failed, and a failure is told like words of the
//! agent. It counts as one only where no model is named as its author: the words of a model come
//! with the id of its answer.

mod wire;

use self::wire::{Block, Line};
use super::{Adapter, Login};
use crate::domain::agent_event::{AgentEvent, Usage};
use crate::domain::dialect::api_error::{ApiError, number_after};
use crate::domain::dialect::words::Words;
use crate::domain::dialect::{
    Dialect, Ended, Output, StreamEnd, Trouble, TurnEnd, json_line, parse, unknown,
};

/// How to log in.
const LOG_IN: &str = "set it up with `goose configure`, or set the key of its provider";
/// How a failure begins.
const FAILURE: &str = "Ran into this error: ";
/// What is said after every failure.
const ADVICE: &str = "\n\nPlease retry";

/// How goose is called.
pub(crate) static ADAPTER: Adapter = Adapter {
    name: "goose",
    title: "goose",
    program: "goose",
    output: Output::GooseJson,
    arguments: &[
        "run",
        "-q",
        "-i",
        "-",
        "--output-format",
        "stream-json",
        "--with-builtin",
        "developer",
        "--no-profile",
    ],
    model: "--model",
    last: &[],
    environment: &[("GOOSE_MODE", "auto"), ("GOOSE_TELEMETRY_ENABLED", "false")],
    as_root: &[],
    // It takes the key of any provider it knows; these are the common ones.
    credentials: &[
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_HOST",
        "DATABRICKS_TOKEN",
        "GOOGLE_API_KEY",
        "GROQ_API_KEY",
        "OPENAI_API_KEY",
        "OPENAI_HOST",
        "OPENROUTER_API_KEY",
        "XAI_API_KEY",
    ],
    // Its tools see nothing of it.
    nesting: &[],
    version: &["--version"],
    // Tried with 1.34.0 only; before it the stream is not known.
    oldest: (1, 34, 0),
    login: Login {
        probe: None,
        files: &[".config/goose/config.yaml"],
        variables: &["GOOSE_PROVIDER"],
        fix: LOG_IN,
    },
    install: "npm install -g @aaif/goose",
};

/// Reads goose's stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Goose {
    folder: String,
    turn: TurnEnd,
    /// The answer that the words are of.
    answer: String,
    words: Words,
    trouble: Option<Trouble>,
    usage: Usage,
}

impl Dialect for Goose {
    fn line(&mut self, line: &[u8], truncated: bool) -> Vec<AgentEvent> {
        json_line(line, truncated, |line| self.understand(line))
    }

    fn works_in(&mut self, folder: &str) {
        folder.clone_into(&mut self.folder);
    }

    fn end(&mut self, _ended: &Ended<'_>) -> Vec<AgentEvent> {
        self.words.flush().into_iter().collect()
    }

    fn verdict(&self) -> StreamEnd {
        StreamEnd {
            promise: self.words.promise(),
            turn: self.turn,
            usage: self.usage,
            ..StreamEnd::default()
        }
        .with(self.trouble.as_ref())
    }

    fn fork(&self) -> Box<dyn Dialect + Send> {
        Box::new(self.clone())
    }
}

impl Goose {
    fn understand(&mut self, bytes: &[u8]) -> Option<Vec<AgentEvent>> {
        let line: Line = parse(bytes)?;
        let events = match line.kind.as_str() {
            "message" => self.on_message(line),
            "complete" => self.on_complete(&line),
            // What its tools report while they run.
            "notification" => Vec::new(),
            "error" => self.on_failure(&line.error.0),
            _ => vec![unknown(bytes)],
        };
        Some(events)
    }

    fn on_message(&mut self, line: Line) -> Vec<AgentEvent> {
        let message = line.message;
        let is_model = message.role.0 == "assistant";
        let mut events = Vec::new();
        for block in message.content {
            match block.kind.0.as_str() {
                "text" if is_model && message.id.is_empty() && is_failure(&block) => {
                    events.extend(self.on_failure(&block.text));
                }
                "text" if is_model => {
                    self.goes_on();
                    events.extend(self.begin_answer(&message.id.0));
                    events.extend(self.words.feed(&block.text));
                }
                "toolRequest" => {
                    self.goes_on();
                    events.extend(self.words.flush());
                    self.words.begin_anew();
                    let call = block.call.value;
                    events.push(AgentEvent::ToolCall {
                        summary: call.arguments.summary(&self.folder),
                        tool: call.name.0,
                    });
                }
                "toolResponse" => events.push(AgentEvent::ToolResult {
                    bytes: block.answer.value.content.0 + block.answer.error.0,
                    is_error: block.answer.status.0 != "success" || block.answer.value.is_error,
                }),
                _ => {}
            }
        }
        events
    }

    /// A later answer overrules an earlier one.
    fn begin_answer(&mut self, id: &str) -> Option<AgentEvent> {
        if self.answer == id {
            return None;
        }
        id.clone_into(&mut self.answer);
        self.words.begin_anew();
        self.words.flush()
    }

    fn goes_on(&mut self) {
        self.turn = TurnEnd::Open;
        self.trouble = None;
    }

    fn on_failure(&mut self, text: &str) -> Vec<AgentEvent> {
        let rest = self.words.flush();
        self.words.begin_anew();
        let text = text.strip_prefix(FAILURE).unwrap_or(text);
        let message = text.split_once(ADVICE).map_or(text, |(words, _)| words);
        let error = ApiError {
            status: number_after(message, "Status: "),
            message,
            log_in: LOG_IN,
            ..ApiError::default()
        };
        let trouble = error.trouble();
        let event = trouble.event();
        self.trouble = Some(trouble);
        rest.into_iter().chain([event]).collect()
    }

    fn on_complete(&mut self, line: &Line) -> Vec<AgentEvent> {
        let mut events: Vec<AgentEvent> = self.words.flush().into_iter().collect();
        self.usage = Usage {
            input_tokens: line.input_tokens.count(),
            output_tokens: line.output_tokens.count(),
            ..Usage::default()
        };
        let is_error = self.trouble.is_some();
        self.turn = if is_error {
            TurnEnd::EndedWithError
        } else {
            TurnEnd::Ended
        };
        events.push(AgentEvent::usage(self.usage));
        events.push(AgentEvent::Final { is_error });
        events
    }
}

fn is_failure(block: &Block) -> bool {
    block.text.starts_with(FAILURE)
}

#[cfg(test)]
mod tests;
