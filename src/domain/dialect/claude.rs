//! Claude Code's `stream-json`: one JSON object a line, several turns in one process.
//!
//! Only the main agent's own text counts; a sub-agent's words and tool answers do not. A
//! `result` ends a turn, not the process: what follows it may overrule it.

mod lenient;
mod spending;
mod tool_input;
mod wire;

use jiff::Timestamp;

use self::spending::Spending;
use self::wire::{ApiRetry, Assistant, Head, Init, RateLimit, RateLimitEvent, Refusal, Turn, User};
use super::{Dialect, Limit, StreamEnd, TurnEnd, event_text, unknown};
use crate::domain::agent_event::AgentEvent;
use crate::domain::promise::{Promise, PromiseScanner, promise};

/// How many refused tools are named.
const REFUSALS_KEPT: usize = 20;

/// The HTTP status of an API that has no room for anybody right now.
const OVERLOADED: u64 = 529;
/// The category of a refused login or key.
const LOGIN: &str = "authentication_failed";
/// The category of an account that cannot pay.
const CREDIT: &str = "billing_error";
/// How often a refused login is tried again before it counts as final: Claude Code goes on for
/// minutes, but a login that is being renewed is good again within seconds.
const LOGIN_RETRIES: u64 = 5;
/// How errors begin that are for Claude Code's makers.
const DIAGNOSTIC: &str = "[ede_diagnostic]";

/// Reads Claude Code's stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Claude {
    session: Option<String>,
    folder: String,
    turn: TurnEnd,
    promise: Option<Promise>,
    trouble: Option<Trouble>,
    resets_at: Option<Timestamp>,
    message_id: String,
    message_text: PromiseScanner,
    spending: Spending,
    refused_tools: Vec<String>,
}

/// Why a turn could not go on, in the agent's words.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Trouble {
    Limit(Limit),
    Auth(String),
    Other(String),
}

impl Dialect for Claude {
    fn line(&mut self, line: &[u8], truncated: bool) -> Vec<AgentEvent> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Vec::new();
        }
        if truncated {
            return vec![unknown(line)];
        }
        self.understand(line)
            .or_else(|| self.understand(String::from_utf8_lossy(line).as_bytes()))
            .unwrap_or_else(|| vec![unknown(line)])
    }

    fn end(&mut self) -> Vec<AgentEvent> {
        Vec::new()
    }

    fn verdict(&self) -> StreamEnd {
        let mut end = StreamEnd {
            promise: match self.turn {
                TurnEnd::Open => self.message_text.found(),
                TurnEnd::Ended | TurnEnd::EndedWithError => self.promise.clone(),
            },
            turn: self.turn,
            usage: self.spending.total(),
            session: self.session.clone(),
            refused_tools: self.refused_tools.clone(),
            ..StreamEnd::default()
        };
        match &self.trouble {
            Some(Trouble::Limit(limit)) => end.limit = Some(limit.clone()),
            Some(Trouble::Auth(message)) => end.auth = Some(message.clone()),
            Some(Trouble::Other(message)) => end.error = Some(message.clone()),
            None => {}
        }
        end
    }

    fn fork(&self) -> Box<dyn Dialect + Send> {
        Box::new(self.clone())
    }
}

impl Claude {
    fn understand(&mut self, line: &[u8]) -> Option<Vec<AgentEvent>> {
        let head: Head = serde_json::from_slice(line).ok()?;
        let events = match (head.kind.as_str(), head.subtype.as_str()) {
            ("system", "init") => self.on_init(parse(line)?),
            ("system", "api_retry") => self.on_retry(&parse(line)?),
            ("system", "permission_denied") => self.on_refusal(parse(line)?),
            ("assistant", _) => self.on_assistant(parse(line)?),
            ("user", _) => on_user(&parse(line)?),
            ("rate_limit_event", _) => self.on_rate_limit(&parse(line)?),
            ("result", _) => self.on_result(parse(line)?),
            // Heartbeats, partial messages and bookkeeping: activity without words.
            ("system" | "stream_event" | "tool_progress", _) => Vec::new(),
            _ => vec![unknown(line)],
        };
        Some(events)
    }

    fn on_init(&mut self, init: Init) -> Vec<AgentEvent> {
        self.begin_turn();
        self.session = Some(init.session_id.clone());
        self.folder = init.cwd.0;
        vec![AgentEvent::Session {
            id: init.session_id,
            model: init.model,
        }]
    }

    /// A turn that follows a finished one overrules it.
    fn begin_turn(&mut self) {
        if self.turn == TurnEnd::Open {
            return;
        }
        self.turn = TurnEnd::Open;
        self.promise = None;
        self.trouble = None;
        self.message_text = PromiseScanner::default();
    }

    fn on_assistant(&mut self, line: Assistant) -> Vec<AgentEvent> {
        let main = line.parent_tool_use_id.is_empty();
        if line.is_api_error_message {
            return self.on_api_error(&line, main);
        }
        if main {
            self.begin_turn();
        }
        let mut events = Vec::new();
        if main && line.message.id != self.message_id {
            self.message_id.clone_from(&line.message.id);
            self.message_text = PromiseScanner::default();
        }
        for block in line.message.content.0 {
            match block.kind.as_str() {
                "text" if main && !block.text.is_empty() => {
                    self.message_text.feed(&block.text);
                    self.message_text.feed("\n");
                    events.push(AgentEvent::Text {
                        text: event_text(&block.text),
                    });
                }
                "thinking" if main && !block.thinking.is_empty() => {
                    events.push(AgentEvent::Thinking {
                        text: event_text(&block.thinking),
                    });
                }
                "tool_use" => events.push(AgentEvent::ToolCall {
                    summary: block.input.summary(&self.folder),
                    tool: block.name.0,
                }),
                _ => {}
            }
        }
        if self.spending.count(line.message.id, line.message.usage) {
            events.push(AgentEvent::Usage {
                usage: self.spending.total(),
            });
        }
        events
    }

    fn on_api_error(&mut self, line: &Assistant, main: bool) -> Vec<AgentEvent> {
        // A sub-agent's failure is its parent's to deal with.
        if !main {
            return Vec::new();
        }
        self.begin_turn();
        let message = line.message.content.text();
        let trouble = self.trouble(
            message,
            &Signs {
                category: &line.error.0,
                api_error: &line.api_error.0,
                status: line.api_error_status.whole(),
            },
        );
        self.trouble = Some(trouble.clone());
        vec![trouble.event()]
    }

    fn on_retry(&mut self, line: &ApiRetry) -> Vec<AgentEvent> {
        let mut events = vec![AgentEvent::Retrying {
            message: retrying(line),
        }];
        let is_hopeless = line.error.0 == LOGIN && line.attempt.count() >= LOGIN_RETRIES;
        if is_hopeless && !matches!(self.trouble, Some(Trouble::Auth(_))) {
            let trouble = Trouble::auth(&failure(line), LOGIN);
            events.push(trouble.event());
            self.trouble = Some(trouble);
        }
        events
    }

    /// A rejection alone ends nothing (the agent may go on beyond its plan); it tells when the
    /// limit that follows it will be over.
    fn on_rate_limit(&mut self, line: &RateLimitEvent) -> Vec<AgentEvent> {
        if line.rate_limit_info.status.0 == "rejected" {
            self.resets_at = line.rate_limit_info.resets_at();
        }
        Vec::new()
    }

    fn on_refusal(&mut self, line: Refusal) -> Vec<AgentEvent> {
        let message = format!("{} was refused: {}", line.tool_name.0, line.message.0);
        self.remember_refusal(line.tool_name.0);
        vec![AgentEvent::Error { message }]
    }

    fn remember_refusal(&mut self, tool: String) {
        if self.refused_tools.len() < REFUSALS_KEPT && !self.refused_tools.contains(&tool) {
            self.refused_tools.push(tool);
        }
    }

    fn on_result(&mut self, mut line: Turn) -> Vec<AgentEvent> {
        let is_error = line.is_error || line.subtype.0 != "success";
        for denial in std::mem::take(&mut line.permission_denials) {
            self.remember_refusal(denial.tool_name.0);
        }
        self.spending.settle(&line);
        self.promise = match &line.result {
            Some(text) => promise(text),
            None => self.message_text.found(),
        };
        let mut events = vec![AgentEvent::Usage {
            usage: self.spending.total(),
        }];
        if !is_error {
            self.trouble = None;
        } else if self.trouble.is_none() {
            let trouble = self.result_trouble(&line);
            events.push(trouble.event());
            self.trouble = Some(trouble);
        }
        self.turn = if is_error {
            TurnEnd::EndedWithError
        } else {
            TurnEnd::Ended
        };
        events.push(AgentEvent::Final { is_error });
        events
    }

    fn result_trouble(&self, line: &Turn) -> Trouble {
        let errors: Vec<&str> = line
            .errors
            .iter()
            .map(|error| error.0.as_str())
            .filter(|error| !error.starts_with(DIAGNOSTIC))
            .collect();
        let message = match &line.result {
            Some(text) if !text.is_empty() => event_text(text),
            _ if !errors.is_empty() => errors.join("; "),
            _ if line.terminal_reason.0.starts_with("aborted") => "interrupted".to_owned(),
            _ => line.subtype.0.replace('_', " "),
        };
        let signs = Signs {
            category: "",
            api_error: &line.api_error.0,
            status: line.api_error_status.whole(),
        };
        self.trouble(message, &signs)
    }

    fn trouble(&self, message: String, signs: &Signs<'_>) -> Trouble {
        match (signs.category, signs.api_error, signs.status) {
            ("rate_limit", _, _)
            | (_, "usage_limit_reached", _)
            | (_, _, Some(429 | OVERLOADED)) => Trouble::Limit(Limit {
                message,
                resets_at: self.resets_at,
            }),
            (
                LOGIN
                | CREDIT
                | "oauth_org_not_allowed"
                | "account_on_hold"
                | "verification_required"
                | "cloud_credential_error",
                _,
                _,
            ) => Trouble::auth(&message, signs.category),
            ("", _, Some(401 | 403)) => Trouble::auth(&message, LOGIN),
            _ => Trouble::Other(message),
        }
    }
}

/// What a line tells about the nature of an API failure.
struct Signs<'a> {
    category: &'a str,
    api_error: &'a str,
    status: Option<u64>,
}

impl Trouble {
    /// Adds to the agent's words what to do about it, where that is known.
    fn auth(message: &str, category: &str) -> Self {
        let advice = match category {
            LOGIN => "start `claude` and type `/login`, or check `ANTHROPIC_API_KEY`",
            CREDIT => "add credit to the account, or log in with another one",
            _ => return Self::Auth(message.to_owned()),
        };
        Self::Auth(format!("{message}\n{advice}"))
    }

    fn event(&self) -> AgentEvent {
        match self.clone() {
            Self::Limit(limit) => AgentEvent::Limit {
                message: limit.message,
                resets_at: limit.resets_at,
            },
            Self::Auth(message) => AgentEvent::Auth { message },
            Self::Other(message) => AgentEvent::Error { message },
        }
    }
}

impl RateLimit {
    fn resets_at(&self) -> Option<Timestamp> {
        let seconds = i64::try_from(self.resets_at.whole()?).ok()?;
        Timestamp::from_second(seconds).ok()
    }
}

fn on_user(line: &User) -> Vec<AgentEvent> {
    line.message
        .content
        .0
        .iter()
        .filter(|block| block.kind == "tool_result")
        .map(|block| AgentEvent::ToolResult {
            bytes: block.content.0,
            is_error: block.is_error.unwrap_or(false),
        })
        .collect()
}

/// What went wrong with a request.
fn failure(line: &ApiRetry) -> String {
    let what = match line.error.0.as_str() {
        "" => "the request failed".to_owned(),
        error => error.replace('_', " "),
    };
    match line.error_status.whole() {
        Some(status) => format!("{what} ({status})"),
        None => what,
    }
}

fn retrying(line: &ApiRetry) -> String {
    use std::fmt::Write as _;
    let mut message = failure(line);
    // Writing to a string cannot fail.
    if let (Some(attempt), Some(all)) = (line.attempt.whole(), line.max_retries.whole()) {
        let _ = write!(message, ", retry {attempt} of {all}");
    }
    if let Some(delay) = line.retry_delay_ms.0 {
        let _ = write!(message, " in {:.1} s", delay / 1000.0);
    }
    message
}

fn parse<'de, T: serde::Deserialize<'de>>(line: &'de [u8]) -> Option<T> {
    serde_json::from_slice(line).ok()
}
