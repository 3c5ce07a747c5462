//! Claude Code: one JSON object per line (`stream-json`), several turns in one process.
//!
//! Only the main agent's own text counts; a sub-agent's words and tool answers do not. A
//! `result` ends a turn, not the process: what follows it may overrule it.

mod spending;
pub(super) mod wire;

use jiff::Timestamp;

use self::spending::Spending;
use self::wire::{ApiRetry, Head, Init, MessageLine, RateLimit, Refusal, Turn};
use super::adapter::{Adapter, Login, Probe};
use crate::agent_event::{AgentEvent, event_text};
use crate::dialect::api_error::OTHER_MODEL;
use crate::dialect::stream::{NotUnderstood, Parser, StreamState, leading_kind, parse};
use crate::dialect::{Output, Trouble, TurnEnd};

/// Why a turn ended whose conversation outgrew the model's context.
const OVERFLOW: &str = "prompt_too_long";
/// How the error begins that says so.
const TOO_LONG: &str = "Prompt is too long";
/// The category of a refused login or key.
const LOGIN: &str = "authentication_failed";
/// The category of an account that cannot pay.
const CREDIT: &str = "billing_error";
/// The categories of failures that keep the agent from working at all.
const REFUSALS: [&str; 6] = [
    LOGIN,
    CREDIT,
    "oauth_org_not_allowed",
    "account_on_hold",
    "verification_required",
    "cloud_credential_error",
];
/// How often a refused login is tried again before it counts as final: Claude Code continues for
/// minutes, but a login that is being renewed is good again within seconds.
const LOGIN_RETRIES: u64 = 5;
/// How errors begin that are for Claude Code's makers.
const DIAGNOSTIC: &str = "[ede_diagnostic]";

/// How to log in.
const LOG_IN: &str = "log in with `claude auth login`, or check `ANTHROPIC_API_KEY`";

/// How Claude Code is called.
pub static ADAPTER: Adapter = Adapter {
    name: "claude",
    title: "Claude Code",
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
    // It refuses to work unattended with all rights unless this variable is set.
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

/// Parses Claude Code's stream.
#[derive(Debug, Clone, Default)]
pub struct Claude {
    resets_at: Option<Timestamp>,
    message_id: String,
    spending: Spending,
}

impl Parser for Claude {
    fn line(&mut self, line: &[u8], stream: &mut StreamState) -> Result<(), NotUnderstood> {
        // Nearly all lines are one of these, and such a line is long: it is read just once.
        let head = match leading_kind(line) {
            Some(kind @ ("assistant" | "user")) => Head::of_kind(kind),
            _ => parse(line)?,
        };
        match (head.kind.as_str(), head.subtype.as_str()) {
            ("system", "init") => on_init(parse(line)?, stream),
            ("system", "api_retry") => on_retry(&parse(line)?, stream),
            ("system", "permission_denied") => on_refusal(&parse(line)?, stream),
            ("assistant", _) => self.on_assistant(parse(line)?, stream),
            ("user", _) => on_tool_results(&parse(line)?, stream),
            ("rate_limit_event", _) => {
                let line: wire::RateLimitEvent = parse(line)?;
                self.on_rate_limit(&line.rate_limit_info);
            }
            ("result", _) => self.on_result(&parse(line)?, stream),
            // Heartbeats, partial messages and bookkeeping: activity without words.
            ("system" | "stream_event" | "tool_progress", _) => {}
            _ => return Err(NotUnderstood),
        }
        Ok(())
    }
}

impl Claude {
    fn on_assistant(&mut self, line: MessageLine, stream: &mut StreamState) {
        let is_main = line.parent_tool_use_id.is_empty();
        if line.is_api_error_message.0 {
            // A sub-agent's failure is its parent's to deal with.
            if is_main {
                self.on_api_error(&line, stream);
            }
            return;
        }
        if is_main {
            begin_turn(stream);
            // Whatever was wrong is over.
            stream.trouble = None;
            if line.message.id != self.message_id {
                self.message_id.clone_from(&line.message.id);
                stream.forget_promise();
            }
        }
        line.message.content.report(is_main, stream);
        if self.spending.count(line.message.id, line.message.usage) {
            stream.set_usage(self.spending.total());
        }
    }

    fn on_api_error(&mut self, line: &MessageLine, stream: &mut StreamState) {
        begin_turn(stream);
        let signs = Signs {
            category: &line.error.0,
            api_error: &line.api_error.0,
            reason: "",
            status: line.api_error_status.whole(),
        };
        stream.fail(self.trouble(line.message.content.text(), &signs));
    }

    /// A rejection alone ends nothing (the agent may go on beyond its plan); it says when the
    /// limit that follows it will be over.
    fn on_rate_limit(&mut self, limit: &RateLimit) {
        if limit.status.0 == "rejected" {
            self.resets_at = limit.resets_at();
        }
    }

    fn on_result(&mut self, line: &Turn, stream: &mut StreamState) {
        let is_error = line.is_error.0 || line.subtype.0 != "success";
        if let Some(text) = &line.result {
            stream.set_final_text(text);
        }
        if is_error && stream.trouble.is_none() {
            stream.fail(self.result_trouble(line));
        }
        stream.finish(is_error);
        self.spending.settle(line);
        stream.set_usage(self.spending.total());
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
            (category, _, _) if REFUSALS.contains(&category) => refused(&message, category),
            ("", _, Some(401 | 403)) => refused(&message, LOGIN),
            ("model_not_found", _, _) => Trouble::auth(&message, OTHER_MODEL),
            ("server_error" | "overloaded", _, _) | (_, _, Some(500..=599)) => {
                Trouble::outage(message)
            }
            _ => Trouble::Other(message),
        }
    }
}

/// What a line says about the nature of an API failure.
struct Signs<'a> {
    category: &'a str,
    api_error: &'a str,
    reason: &'a str,
    status: Option<u64>,
}

/// A turn that follows a finished one overrules it.
fn begin_turn(stream: &mut StreamState) {
    if stream.turn != TurnEnd::Open {
        stream.resume();
        stream.forget_promise();
    }
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

pub(super) fn on_init(init: Init, stream: &mut StreamState) {
    begin_turn(stream);
    stream.folder = init.cwd.0;
    stream.begin_session(init.session_id, init.model);
}

pub(super) fn on_tool_results(line: &MessageLine, stream: &mut StreamState) {
    let blocks = line.message.content.0.iter();
    for block in blocks.filter(|block| block.kind == "tool_result") {
        stream.tool_result(block.content.0, block.is_error.0);
    }
}

fn on_retry(line: &ApiRetry, stream: &mut StreamState) {
    stream.retrying(retrying(line));
    let is_hopeless = line.error.0 == LOGIN && line.attempt.count() >= LOGIN_RETRIES;
    if is_hopeless && !matches!(stream.trouble, Some(Trouble::Auth(_))) {
        stream.fail(refused(&failure(line), LOGIN));
    }
}

fn on_refusal(line: &Refusal, stream: &mut StreamState) {
    let message = format!("{} was refused: {}", line.tool_name.0, line.message.0);
    stream.push(AgentEvent::Error { message });
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
    let attempts = line.attempt.whole().zip(line.max_retries.whole());
    let attempts = attempts.map(|(attempt, all)| format!(", retry {attempt} of {all}"));
    let delay = line
        .retry_delay_ms
        .0
        .map(|ms| format!(" in {:.1} s", ms / 1000.0));
    failure(line) + &attempts.unwrap_or_default() + &delay.unwrap_or_default()
}

#[cfg(test)]
mod tests;
