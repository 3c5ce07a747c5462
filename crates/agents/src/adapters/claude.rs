//! Claude Code: one JSON object per line (`stream-json`), several turns in one process.
//!
//! Only the main agent's own text counts; a sub-agent's words and tool answers do not. A
//! `result` ends a turn, not the process: what follows it may overrule it.

mod spending;

use jiff::Timestamp;
use serde_json::Value;

use self::spending::Spending;
use super::adapter::{Adapter, Login, Probe, Rights, SESSION, Sessions};
use crate::agent_event::{Refusal, Usage, event_text};
use crate::dialect::api_error::OTHER_MODEL;
use crate::dialect::json::{count, is_true, items, short, text, whole};
use crate::dialect::stream::{NotUnderstood, Parser, StreamState};
use crate::dialect::{Output, Trouble, TurnEnd};

/// The reason a turn ends with if its conversation outgrew the model's context.
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
    arguments: &["-p", "--output-format", "stream-json", "--verbose"],
    worker: Rights {
        arguments: &["--dangerously-skip-permissions"],
        // It refuses to work unattended with all rights unless this variable is set.
        as_root: &[("IS_SANDBOX", "1")],
        has_shell: true,
        ..Rights::NONE
    },
    reviewer: Rights {
        // Without a rule that allows commands it runs only those it knows to read. A rule such as
        // `Bash(git diff:*)` would let `git diff --output=FILE` write.
        arguments: &[
            "--tools",
            "Read,Grep,Glob,Bash",
            "--permission-mode",
            "dontAsk",
            // The hooks in the settings of the repository would run.
            "--setting-sources",
            "user",
        ],
        has_shell: true,
        ..Rights::NONE
    },
    sessions: Sessions {
        // Every event has the id.
        preset: &[],
        resume: Some(&["--resume", SESSION]),
    },
    model: "--model",
    last: &[],
    environment: &[
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        // A command moved to the background would begin a new turn after the final answer.
        ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
    ],
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
            reads: |code, stdout| stdout.contains("loggedIn").then_some(code == 0),
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
    fn line(&mut self, line: &Value, stream: &mut StreamState) -> Result<(), NotUnderstood> {
        match (text(&line["type"]), text(&line["subtype"])) {
            ("system", "init") => on_init(line, stream),
            ("system", "api_retry") => on_retry(line, stream),
            ("system", "permission_denied") => on_refusal(line, stream),
            ("assistant", _) => self.on_assistant(line, stream),
            ("user", _) => on_tool_results(line, stream),
            ("rate_limit_event", _) => self.on_rate_limit(&line["rate_limit_info"]),
            ("result", _) => self.on_result(line, stream),
            // Heartbeats, partial messages and bookkeeping: activity without words.
            ("system" | "stream_event" | "tool_progress", _) => {}
            _ => return Err(NotUnderstood),
        }
        Ok(())
    }
}

impl Claude {
    fn on_assistant(&mut self, line: &Value, stream: &mut StreamState) {
        let is_main = is_main(line);
        if is_true(&line["is_api_error_message"]) {
            // A sub-agent's failure is its parent's to deal with.
            if is_main {
                self.on_api_error(line, stream);
            }
            return;
        }
        let message = &line["message"];
        let id = text(&message["id"]);
        if is_main {
            begin_turn(stream);
            // Whatever was wrong is over.
            stream.trouble = None;
            if id != self.message_id {
                id.clone_into(&mut self.message_id);
                stream.forget_promise();
            }
        }
        for block in blocks(&message["content"]) {
            report(block, is_main, stream);
        }
        if self.spending.count(id, &usage(&message["usage"])) {
            stream.set_usage(self.spending.total());
        }
    }

    fn on_api_error(&mut self, line: &Value, stream: &mut StreamState) {
        begin_turn(stream);
        let content = blocks(&line["message"]["content"]);
        let words: Vec<&str> = content.iter().map(words_of).collect();
        let message = event_text(words.join("\n").trim());
        stream.fail(self.trouble(message, text(&line["error"]), line));
    }

    /// A rejection alone ends nothing (the agent may continue beyond its plan); it says when the
    /// limit that follows it will be over.
    fn on_rate_limit(&mut self, limit: &Value) {
        if text(&limit["status"]) == "rejected" {
            let seconds = whole(&limit["resetsAt"]).and_then(|it| i64::try_from(it).ok());
            self.resets_at = seconds.and_then(|it| Timestamp::from_second(it).ok());
        }
    }

    fn on_result(&mut self, line: &Value, stream: &mut StreamState) {
        let is_error = begin_result(line, stream);
        if is_error && stream.trouble.is_none() {
            stream.fail(self.trouble(result_message(line), "", line));
        }
        stream.finish(is_error);
        self.spending.settle(line, &stream.earlier);
        stream.set_usage(self.spending.total());
    }

    /// What a failure follows from, by its category and the other signs of its line.
    fn trouble(&self, message: String, category: &str, line: &Value) -> Trouble {
        if text(&line["terminal_reason"]) == OVERFLOW || message.starts_with(TOO_LONG) {
            return Trouble::Overflow(message);
        }
        let api_error = text(&line["api_error"]);
        match (category, api_error, whole(&line["api_error_status"])) {
            ("rate_limit", _, _) | (_, "usage_limit_reached", _) | (_, _, Some(429)) => {
                Trouble::limit(message, self.resets_at)
            }
            (category, _, _) if REFUSALS.contains(&category) => refused(&message, category),
            ("", _, Some(401 | 403)) => refused(&message, LOGIN),
            ("model_not_found", _, _) => Trouble::refused(Refusal::Model, &message, OTHER_MODEL),
            ("server_error" | "overloaded", _, _) | (_, _, Some(500..=599)) => {
                Trouble::outage(message)
            }
            _ => Trouble::Other(message),
        }
    }
}

/// A turn that follows a finished one overrules it.
fn begin_turn(stream: &mut StreamState) {
    if stream.turn != TurnEnd::Open {
        stream.resume();
        stream.forget_promise();
    }
}

/// Whether a line is about the main agent, not one of its sub-agents.
pub(super) fn is_main(line: &Value) -> bool {
    text(&line["parent_tool_use_id"]).is_empty()
}

/// The blocks of a message's content; a content that is one text is a block by itself.
pub(super) fn blocks(content: &Value) -> &[Value] {
    match content {
        Value::Array(blocks) => blocks,
        other => std::slice::from_ref(other),
    }
}

/// The words of a block of text.
pub(super) fn words_of(block: &Value) -> &str {
    block.as_str().unwrap_or_else(|| text(&block["text"]))
}

/// Reports what an agent said, or which tool it called. What a sub-agent says is for its parent.
pub(super) fn report(block: &Value, is_main: bool, stream: &mut StreamState) {
    match text(&block["type"]) {
        _ if is_main && block.is_string() => stream.text(words_of(block)),
        "text" if is_main => stream.text(words_of(block)),
        "thinking" if is_main => stream.thinking(text(&block["thinking"])),
        "tool_use" if is_main => stream.tool_call(&block["name"], &block["input"]),
        "tool_use" => stream.sub_agent_tool_call(&block["name"], &block["input"]),
        _ => {}
    }
}

/// The tokens of a message or a turn.
pub(super) fn usage(tokens: &Value) -> Usage {
    Usage {
        input_tokens: count(&tokens["input_tokens"]),
        output_tokens: count(&tokens["output_tokens"]),
        cache_read_tokens: count(&tokens["cache_read_input_tokens"]),
        cache_write_tokens: count(&tokens["cache_creation_input_tokens"]),
        cost_usd: None,
    }
}

/// What to do about an agent that may not work, where that is known.
fn refused(message: &str, category: &str) -> Trouble {
    let (cause, fix) = match category {
        LOGIN => (Refusal::Login, LOG_IN),
        CREDIT => (
            Refusal::Credit,
            "add credit to the account, or log in with another one",
        ),
        _ => {
            return Trouble::Refused {
                cause: Refusal::Other,
                message: message.to_owned(),
            };
        }
    };
    Trouble::refused(cause, message, fix)
}

pub(super) fn on_init(line: &Value, stream: &mut StreamState) {
    begin_turn(stream);
    short(&line["cwd"]).clone_into(&mut stream.folder);
    stream.begin_session(&line["session_id"], &line["model"]);
}

pub(super) fn on_tool_results(line: &Value, stream: &mut StreamState) {
    let blocks = blocks(&line["message"]["content"]).iter();
    for block in blocks.filter(|block| block["type"] == "tool_result") {
        stream.tool_result(&[&block["content"]], is_true(&block["is_error"]));
    }
}

/// Reads the final text of a result; true if the result is a failure.
pub(super) fn begin_result(line: &Value, stream: &mut StreamState) -> bool {
    if let Some(text) = line["result"].as_str() {
        stream.set_final_text(text);
    }
    is_true(&line["is_error"]) || line["subtype"] != "success"
}

fn result_message(line: &Value) -> String {
    let errors: Vec<&str> = items(&line["errors"])
        .iter()
        .map(short)
        .filter(|error| !error.starts_with(DIAGNOSTIC))
        .collect();
    match text(&line["result"]) {
        "" if !errors.is_empty() => errors.join("; "),
        "" if text(&line["terminal_reason"]).starts_with("aborted") => "interrupted".to_owned(),
        "" => short(&line["subtype"]).replace('_', " "),
        result => event_text(result),
    }
}

fn on_retry(line: &Value, stream: &mut StreamState) {
    stream.retrying(retrying(line));
    let is_hopeless = line["error"] == LOGIN && count(&line["attempt"]) >= LOGIN_RETRIES;
    if is_hopeless && !matches!(stream.trouble, Some(Trouble::Refused { .. })) {
        stream.fail(refused(&failure(line), LOGIN));
    }
}

fn on_refusal(line: &Value, stream: &mut StreamState) {
    let (tool, message) = (short(&line["tool_name"]), short(&line["message"]));
    stream.error(&format!("{tool} was refused: {message}"));
}

/// What went wrong with a request.
fn failure(line: &Value) -> String {
    let what = match short(&line["error"]) {
        "" => "the request failed".to_owned(),
        error => error.replace('_', " "),
    };
    match whole(&line["error_status"]) {
        Some(status) => format!("{what} ({status})"),
        None => what,
    }
}

fn retrying(line: &Value) -> String {
    let attempts = whole(&line["attempt"]).zip(whole(&line["max_retries"]));
    let attempts = attempts.map(|(attempt, all)| format!(", retry {attempt} of {all}"));
    let delay = line["retry_delay_ms"].as_f64();
    let delay = delay.map(|ms| format!(" in {:.1} s", ms / 1000.0));
    failure(line) + &attempts.unwrap_or_default() + &delay.unwrap_or_default()
}

#[cfg(test)]
mod tests;
