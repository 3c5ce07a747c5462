//! Claude Code: one JSON object a line (`stream-json`), several turns in one process.
//!
//! Only the main agent's own text counts; a sub-agent's words and tool answers do not. A
//! `result` ends a turn, not the process: what follows it may overrule it.

mod spending;
pub(in crate::domain::agents) mod wire;

use jiff::Timestamp;

use self::spending::Spending;
use self::wire::{ApiRetry, Assistant, Head, Init, RateLimit, RateLimitEvent, Refusal, Turn, User};
use super::{Adapter, Login, Probe};
use crate::domain::agent_event::AgentEvent;
use crate::domain::dialect::api_error::OTHER_MODEL;
use crate::domain::dialect::{
    Dialect, Ended, Output, StreamEnd, Trouble, TurnEnd, event_text, json_line, kind_said_first,
    parse, unknown,
};
use crate::domain::promise::{Promise, PromiseScanner, promise};

/// Why a turn ended whose conversation outgrew the model's context.
const OVERFLOW: &str = "prompt_too_long";
/// How the error begins that says so.
const TOO_LONG: &str = "Prompt is too long";
/// The category of a refused login or key.
const LOGIN: &str = "authentication_failed";
/// The category of an account that cannot pay.
const CREDIT: &str = "billing_error";
/// How often a refused login is tried again before it counts as final: Claude Code goes on for
/// minutes, but a login that is being renewed is good again within seconds.
const LOGIN_RETRIES: u64 = 5;
/// How errors begin that are for Claude Code's makers.
const DIAGNOSTIC: &str = "[ede_diagnostic]";

/// How to log in.
const LOG_IN: &str = "log in with `claude auth login`, or check `ANTHROPIC_API_KEY`";

/// How Claude Code is called.
pub(crate) static ADAPTER: Adapter = Adapter {
    name: "claude",
    title: "Claude Code",
    program: "claude",
    output: Output::ClaudeJson,
    arguments: &[
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        "--dangerously-skip-permissions",
    ],
    model: "--model",
    last: &[],
    environment: &[
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        // A command moved to the background would begin a new turn after the final answer.
        ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
    ],
    // It refuses to work unattended with all rights unless told exactly this.
    as_root: &[("IS_SANDBOX", "1")],
    credentials: &[
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_OAUTH_TOKEN",
    ],
    nesting: &[
        "AI_AGENT",
        "CLAUDECODE",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_EXECPATH",
        "CLAUDE_CODE_MESSAGING_SOCKET",
        "CLAUDE_CODE_MESSAGING_TOKEN",
        "CLAUDE_CODE_SESSION_ATTENDED",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CODE_SSE_PORT",
        "CLAUDE_EFFORT",
        "CLAUDE_PID",
    ],
    version: &["--version"],
    oldest: (2, 1, 0),
    login: Login {
        probe: Some(Probe {
            arguments: &["auth", "status"],
            reads: |code, said| said.contains("loggedIn").then_some(code == 0),
        }),
        files: &[],
        variables: &[],
        fix: LOG_IN,
    },
    install: "npm install -g @anthropic-ai/claude-code",
};

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
}

impl Dialect for Claude {
    fn line(&mut self, line: &[u8], truncated: bool) -> Vec<AgentEvent> {
        json_line(line, truncated, |line| self.understand(line))
    }

    fn end(&mut self, _ended: &Ended<'_>) -> Vec<AgentEvent> {
        Vec::new()
    }

    fn verdict(&self) -> StreamEnd {
        StreamEnd {
            promise: match self.turn {
                TurnEnd::Open => self.message_text.found(),
                TurnEnd::Ended | TurnEnd::EndedWithError => self.promise.clone(),
            },
            turn: self.turn,
            usage: self.spending.total(),
            session: self.session.clone(),
            ..StreamEnd::default()
        }
        .with(self.trouble.as_ref())
    }

    fn fork(&self) -> Box<dyn Dialect + Send> {
        Box::new(self.clone())
    }
}

impl Claude {
    fn understand(&mut self, line: &[u8]) -> Option<Vec<AgentEvent>> {
        // Nearly all lines are one of these, and such a line is long: it is read just once.
        match kind_said_first(line) {
            Some("assistant") => return Some(self.on_assistant(parse(line)?)),
            Some("user") => return Some(tool_results(&parse(line)?)),
            _ => {}
        }
        let head: Head = parse(line)?;
        let events = match (head.kind.as_str(), head.subtype.as_str()) {
            ("system", "init") => self.on_init(parse(line)?),
            ("system", "api_retry") => self.on_retry(&parse(line)?),
            ("system", "permission_denied") => on_refusal(&parse(line)?),
            ("assistant", _) => self.on_assistant(parse(line)?),
            ("user", _) => tool_results(&parse(line)?),
            ("rate_limit_event", _) => self.on_rate_limit(&parse(line)?),
            ("result", _) => self.on_result(&parse(line)?),
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
            // Whatever was wrong, it goes on.
            self.trouble = None;
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
            events.push(AgentEvent::usage(self.spending.total()));
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
                reason: "",
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
            let trouble = refused(&failure(line), LOGIN);
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

    fn on_result(&mut self, line: &Turn) -> Vec<AgentEvent> {
        let is_error = line.is_error || line.subtype.0 != "success";
        self.spending.settle(line);
        self.promise = match &line.result {
            Some(text) => promise(text),
            None => self.message_text.found(),
        };
        let mut events = vec![AgentEvent::usage(self.spending.total())];
        if !is_error {
            self.trouble = None;
        } else if self.trouble.is_none() {
            let trouble = self.result_trouble(line);
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
            reason: &line.terminal_reason.0,
            status: line.api_error_status.whole(),
        };
        self.trouble(message, &signs)
    }

    fn trouble(&self, message: String, signs: &Signs<'_>) -> Trouble {
        if signs.reason == OVERFLOW || message.starts_with(TOO_LONG) {
            return Trouble::Overflow(message);
        }
        match (signs.category, signs.api_error, signs.status) {
            ("rate_limit", _, _) | (_, "usage_limit_reached", _) | (_, _, Some(429)) => {
                Trouble::limit(message, self.resets_at)
            }
            (
                LOGIN
                | CREDIT
                | "oauth_org_not_allowed"
                | "account_on_hold"
                | "verification_required"
                | "cloud_credential_error",
                _,
                _,
            ) => refused(&message, signs.category),
            ("", _, Some(401 | 403)) => refused(&message, LOGIN),
            ("model_not_found", _, _) => Trouble::auth(&message, OTHER_MODEL),
            ("server_error" | "overloaded", _, _) | (_, _, Some(500..=599)) => {
                Trouble::outage(message)
            }
            _ => Trouble::Other(message),
        }
    }
}

/// What a line tells about the nature of an API failure.
struct Signs<'a> {
    category: &'a str,
    api_error: &'a str,
    reason: &'a str,
    status: Option<u64>,
}

/// What to do about an agent that may not work, where that is known.
fn refused(message: &str, category: &str) -> Trouble {
    let fix = match category {
        LOGIN => LOG_IN,
        CREDIT => "add credit to the account, or log in with another one",
        _ => return Trouble::Auth(message.to_owned()),
    };
    Trouble::auth(message, fix)
}

impl RateLimit {
    fn resets_at(&self) -> Option<Timestamp> {
        let seconds = i64::try_from(self.resets_at.whole()?).ok()?;
        Timestamp::from_second(seconds).ok()
    }
}

/// What tools answered, in a `user` line.
pub(in crate::domain::agents) fn tool_results(line: &User) -> Vec<AgentEvent> {
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

fn on_refusal(line: &Refusal) -> Vec<AgentEvent> {
    let message = format!("{} was refused: {}", line.tool_name.0, line.message.0);
    vec![AgentEvent::Error { message }]
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

#[cfg(test)]
mod tests;
