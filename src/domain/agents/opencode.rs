//! opencode: `opencode run --format json`, one JSON object a line, each with the session it is
//! about.
//!
//! There is no final event: the last step that stopped is the end, and a step that begins after
//! it overrules it (opencode goes on by itself after it compacted the conversation). An `error`
//! is final only where no step follows it.

mod wire;

use jiff::{SignedDuration, Timestamp};

use self::wire::{Failure, Line, Part, Tokens};
use super::{Adapter, Login, Probe};
use crate::domain::agent_event::{AgentEvent, Usage};
use crate::domain::dialect::api_error::ApiError;
use crate::domain::dialect::{
    Dialect, Ended, Output, StreamEnd, Trouble, TurnEnd, event_text, json_line, parse, unknown,
};
use crate::domain::promise::{Promise, PromiseScanner};

/// How to log in.
const LOG_IN: &str = "log in with `opencode auth login`, or check the key of its provider";

/// The tool that stands for one that is not there.
const UNKNOWN_TOOL: &str = "invalid";

/// How opencode is called.
pub(crate) static ADAPTER: Adapter = Adapter {
    name: "opencode",
    title: "opencode",
    program: "opencode",
    output: Output::OpencodeJson,
    arguments: &[
        "run",
        "--format",
        "json",
        "--auto",
        // While it waits at a limit its own log is the only one that says so.
        "--print-logs",
        "--log-level",
        "ERROR",
    ],
    model: "-m",
    last: &[],
    environment: &[
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ("OPENCODE_DISABLE_SHARE", "1"),
    ],
    as_root: &[],
    // It takes the key of any provider it knows; these are the common ones.
    credentials: &[
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "CEREBRAS_API_KEY",
        "DASHSCOPE_API_KEY",
        "DEEPSEEK_API_KEY",
        "FIREWORKS_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "GOOGLE_GENERATIVE_AI_API_KEY",
        "GROQ_API_KEY",
        "KIMI_API_KEY",
        "MISTRAL_API_KEY",
        "MOONSHOT_API_KEY",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENCODE_API_KEY",
        "OPENCODE_AUTH_CONTENT",
        "OPENROUTER_API_KEY",
        "TOGETHER_API_KEY",
        "XAI_API_KEY",
        "ZHIPU_API_KEY",
    ],
    // It also sets `AGENT`, which is too common a name to take away.
    nesting: &["OPENCODE", "OPENCODE_PID"],
    version: &["--version"],
    // The oldest whose help is known to have the flag `--auto`; tried with 1.18.33.
    oldest: (1, 18, 5),
    login: Login {
        probe: Some(Probe {
            arguments: &["auth", "list"],
            reads: |_, said| credentials_in(said),
        }),
        files: &[".local/share/opencode/auth.json"],
        variables: &["OPENCODE_API_KEY", "OPENCODE_AUTH_CONTENT"],
        fix: LOG_IN,
    },
    install: "npm install -g opencode-ai",
};

/// Whether any credential is listed. None is only a doubt: a provider in the configuration may
/// need none.
fn credentials_in(said: &str) -> Option<bool> {
    let count = |noun: &str| {
        let (before, _) = said.split_once(noun)?;
        before.split_whitespace().next_back()?.parse::<u32>().ok()
    };
    let stored = count(" credential");
    let variables = count(" environment variable");
    stored
        .or(variables)
        .map(|_| stored.unwrap_or(0) + variables.unwrap_or(0) > 0)
}

/// Reads opencode's stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Opencode {
    folder: String,
    /// The session of the main agent: the first one that is told of.
    session: Option<String>,
    turn: TurnEnd,
    words: PromiseScanner,
    promise: Option<Promise>,
    trouble: Option<Trouble>,
    usage: Usage,
}

impl Dialect for Opencode {
    fn line(&mut self, line: &[u8], truncated: bool) -> Vec<AgentEvent> {
        json_line(line, truncated, |line| self.understand(line))
    }

    fn complaint(&mut self, line: &[u8]) -> Vec<AgentEvent> {
        let line = String::from_utf8_lossy(line);
        let Some(message) = stream_error(&line) else {
            return Vec::new();
        };
        // Until something else is told it waits for this to end.
        if self.turn == TurnEnd::Open {
            self.trouble = match api_error(message).trouble() {
                trouble @ Trouble::Limit(_) => Some(trouble),
                _ => None,
            };
        }
        vec![AgentEvent::Retrying {
            message: event_text(message),
        }]
    }

    fn works_in(&mut self, folder: &str) {
        folder.clone_into(&mut self.folder);
    }

    fn end(&mut self, ended: &Ended<'_>) -> Vec<AgentEvent> {
        // Its final message may have been told; where it was not, this is the end.
        if ended.code.is_none() || self.turn == TurnEnd::Open || self.is_told() {
            return Vec::new();
        }
        vec![AgentEvent::Final {
            is_error: self.turn == TurnEnd::EndedWithError,
        }]
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

impl Opencode {
    fn understand(&mut self, bytes: &[u8]) -> Option<Vec<AgentEvent>> {
        let line: Line = parse(bytes)?;
        let mut events: Vec<AgentEvent> = self.on_session(&line.session.0).into_iter().collect();
        // What a sub-agent says is for its parent.
        if self.session.as_ref() != Some(&line.session.0) && !line.session.is_empty() {
            return Some(events);
        }
        match line.kind.as_str() {
            "step_start" => self.begin_step(),
            "text" => events.push(self.on_text(&line.part)),
            "reasoning" => events.push(AgentEvent::Thinking {
                text: event_text(&line.part.text),
            }),
            "tool_use" => events.extend(self.on_tool(line.part)),
            "step_finish" => events.extend(self.on_step_end(&line.part)),
            "error" => events.push(self.on_error(&line)),
            _ => events.push(unknown(bytes)),
        }
        Some(events)
    }

    fn on_session(&mut self, id: &str) -> Option<AgentEvent> {
        if self.session.is_some() || id.is_empty() {
            return None;
        }
        self.session = Some(id.to_owned());
        Some(AgentEvent::Session {
            id: id.to_owned(),
            model: None,
        })
    }

    /// A step overrules whatever came before it.
    fn begin_step(&mut self) {
        self.turn = TurnEnd::Open;
        self.promise = None;
        self.trouble = None;
        self.words = PromiseScanner::default();
    }

    fn on_text(&mut self, part: &Part) -> AgentEvent {
        let text = event_text(&part.text);
        // Its own words to the model: the conversation was compacted and goes on.
        if part.synthetic {
            self.begin_step();
            return AgentEvent::Thinking { text };
        }
        self.words.feed(&part.text);
        self.words.feed("\n");
        AgentEvent::Text { text }
    }

    fn on_tool(&mut self, part: Part) -> [AgentEvent; 2] {
        // What was promised in the same breath came before the answer of the tool.
        self.words = PromiseScanner::default();
        let state = part.state;
        let tool = part.tool.0;
        let answer = AgentEvent::ToolResult {
            bytes: state.output.0 + state.error.0.len() as u64,
            is_error: state.status.0 == "error"
                || tool == UNKNOWN_TOOL
                || state.metadata.exit.0.is_some_and(|code| code != 0.0),
        };
        let call = AgentEvent::ToolCall {
            summary: state.input.summary(&self.folder),
            tool,
        };
        [call, answer]
    }

    fn on_step_end(&mut self, part: &Part) -> Vec<AgentEvent> {
        self.count(part.tokens, part.cost.0);
        let mut events = vec![AgentEvent::usage(self.usage)];
        match part.reason.0.as_str() {
            "tool-calls" | "unknown" => {}
            "stop" => {
                self.turn = TurnEnd::Ended;
                self.promise = self.words.found();
                // It may compact the conversation and go on; only a promise is a last word.
                if self.is_told() {
                    events.push(AgentEvent::Final { is_error: false });
                }
            }
            reason => {
                let trouble = Trouble::Other(format!("the answer ended early: {reason}"));
                events.push(trouble.event());
                self.trouble = Some(trouble);
                self.turn = TurnEnd::EndedWithError;
            }
        }
        events
    }

    /// True once the final message was told of.
    fn is_told(&self) -> bool {
        self.turn == TurnEnd::Ended && self.promise.is_some()
    }

    fn count(&mut self, tokens: Tokens, cost: Option<f64>) {
        self.usage.add(&Usage {
            input_tokens: tokens.input.count(),
            output_tokens: tokens.output.count() + tokens.reasoning.count(),
            cache_read_tokens: tokens.cache.read.count(),
            cache_write_tokens: tokens.cache.write.count(),
            cost_usd: cost,
        });
    }

    fn on_error(&mut self, line: &Line) -> AgentEvent {
        let trouble = sort(&line.error, moment(line.timestamp.whole()));
        let event = trouble.event();
        self.trouble = Some(trouble);
        self.turn = TurnEnd::EndedWithError;
        event
    }
}

fn sort(error: &Failure, told_at: Option<Timestamp>) -> Trouble {
    let data = &error.data;
    let message = if data.message.is_empty() {
        &error.name.0
    } else {
        &data.message
    };
    match error.name.0.as_str() {
        "ContextOverflowError" => return Trouble::Overflow(message.clone()),
        "ProviderAuthError" => return Trouble::auth(message, LOG_IN),
        "MessageAbortedError" | "MessageOutputLengthError" | "ContentFilterError" => {
            return Trouble::Other(message.clone());
        }
        _ => {}
    }
    ApiError {
        status: data.status.whole(),
        body: &data.body,
        resets_at: told_at.and_then(|at| data.headers.resets_at(at)),
        ..api_error(message)
    }
    .trouble()
}

fn api_error(message: &str) -> ApiError<'_> {
    ApiError {
        message,
        log_in: LOG_IN,
        ..ApiError::default()
    }
}

fn moment(ms: Option<u64>) -> Option<Timestamp> {
    Timestamp::from_millisecond(i64::try_from(ms?).ok()?).ok()
}

impl wire::Headers {
    /// When it may be tried again.
    fn resets_at(&self, now: Timestamp) -> Option<Timestamp> {
        let ms = self.retry_after_ms.0.parse::<f64>().ok();
        let seconds = self.retry_after.0.parse::<f64>().ok();
        let seconds = ms.map(|ms| ms / 1000.0).or(seconds)?;
        let wait = SignedDuration::try_from_secs_f64(seconds).ok()?;
        now.checked_add(wait).ok()
    }
}

/// The failure of a request of the main agent, in a line of opencode's log.
fn stream_error(line: &str) -> Option<&str> {
    let is_ours = line.contains("level=ERROR")
        && line.contains("message=\"stream error\"")
        && !line.contains("small=true")
        && !line.contains("agent=title");
    let (_, rest) = line.split_once("error.error=\"").filter(|_| is_ours)?;
    let text = rest.strip_suffix('"').unwrap_or(rest);
    // The name of the error is for its makers.
    Some(text.split_once("Error: ").map_or(text, |(_, words)| words))
}

#[cfg(test)]
mod tests;
