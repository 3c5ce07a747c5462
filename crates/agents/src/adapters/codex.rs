//! Codex: `codex exec --json`, one JSON object per line, one turn per process.
//!
//! An `error` is not fatal by itself: it also reports retries, and Codex may retry forever. The last whole message before `turn.completed` is the final one.

mod reset;

use std::collections::VecDeque;

use jiff::Zoned;
use serde_json::Value;

use super::adapter::{Adapter, Login, Probe, Rights, SESSION, Sessions};
use crate::agent_event::{AgentEvent, Refusal, Usage, event_text};
use crate::dialect::api_error::{ApiError, in_words, number_after};
use crate::dialect::json::{count, is_nonzero, is_true, items, short, text};
use crate::dialect::stream::{NotUnderstood, Parser, StreamState};
use crate::dialect::tool_input::{inside, one_line, summary};
use crate::dialect::{Output, ProcessEnd, Trouble, TurnEnd};

/// How to log in.
const LOG_IN: &str = "log in with `codex login`, or check the key of its provider";
/// How messages begin that announce another try.
const RETRY: &str = "Reconnecting...";
/// The reason of a retry that Codex repeats forever.
const NETWORK: &str = "waiting for network";
/// How often it may do so in a row before the API counts as down: the first five take a minute
/// and a half, the others a minute each.
const NETWORK_RETRIES: u32 = 8;
/// The item that holds the agent's plan. It is called like a tool, but never answers.
const PLAN: &str = "todo_list";
/// Items that are no tool calls.
const WORDS: [&str; 3] = ["agent_message", "reasoning", "error"];
/// How many calls in progress are remembered.
const CALLS_KEPT: usize = 256;

/// How Codex is called.
pub(crate) static ADAPTER: Adapter = Adapter {
    name: "codex",
    title: "Codex",
    output: Output::CodexJson,
    arguments: &[
        "exec",
        "--json",
        "-c",
        "check_for_update_on_startup=false",
        "-c",
        "analytics.enabled=false",
    ],
    worker: Rights {
        // Its sandbox keeps the repository's own folder read-only, so that commits fail.
        arguments: &["--dangerously-bypass-approvals-and-sandbox"],
        has_shell: true,
        ..Rights::NONE
    },
    reviewer: Rights {
        // The kernel refuses every write, `.git` included.
        arguments: &["-s", "read-only"],
        has_shell: true,
        ..Rights::NONE
    },
    sessions: Sessions {
        // The first event has the id.
        preset: &[],
        // `resume` takes no `-s`, so it has to follow that flag.
        resume: Some(&["resume", SESSION]),
    },
    model: "-m",
    // It reads its prompt from standard input only with this argument.
    last: &["-"],
    // What keeps it quiet are arguments.
    environment: &[],
    credentials: &[
        "CODEX_API_KEY",
        "CODEX_ACCESS_TOKEN",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_ORGANIZATION",
        "OPENAI_PROJECT",
    ],
    nesting: &[
        "CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS",
        "CODEX_CI",
        "CODEX_MANAGED_BY_NPM",
        "CODEX_MANAGED_PACKAGE_ROOT",
        "CODEX_SANDBOX",
        "CODEX_SANDBOX_NETWORK_DISABLED",
        "CODEX_SESSION_ID",
        "CODEX_THREAD_ID",
        "CODEX_TOOL_CALL_ID",
        "CODEX_VERSION",
    ],
    // The oldest known to name its items in `type`, and messages `agent_message`; tried with
    // 0.166.0.
    oldest: (0, 47, 0),
    login: Login {
        probe: Some(Probe {
            arguments: &["login", "status"],
            // A provider of one's own in `config.toml` needs no login, so no is only a doubt.
            reads: |code, _| matches!(code, 0 | 1).then_some(code == 0),
        }),
        files: &[".codex/auth.json"],
        // `OPENAI_API_KEY` is none: only a provider of one's own uses it (seen with 0.166.0).
        variables: &["CODEX_API_KEY"],
        fix: LOG_IN,
    },
    install: "npm install -g @openai/codex",
};

/// Parses Codex's stream.
#[derive(Debug, Clone)]
pub(crate) struct Codex {
    started: Zoned,
    /// An error that may turn out to be fatal.
    held: Option<String>,
    /// How often in a row it waited for the network.
    waits: u32,
    /// The tool calls that were reported and have not ended.
    calls: VecDeque<String>,
}

impl Parser for Codex {
    fn line(&mut self, line: &Value, stream: &mut StreamState) -> Result<(), NotUnderstood> {
        let held = self.held.take();
        if line["type"] == "turn.failed" {
            stream.fail(self.sort(text(&line["error"]["message"])));
            stream.finish(true);
            return Ok(());
        }
        if let Some(message) = held {
            stream.error(&message);
        }
        match text(&line["type"]) {
            "thread.started" => stream.begin_session(&line["thread_id"], &Value::Null),
            "turn.started" => {
                stream.turn = TurnEnd::Open;
                stream.forget_promise();
                self.end_wait(stream);
            }
            "turn.completed" => {
                self.end_wait(stream);
                stream.finish(false);
                stream.set_session_usage(usage(&line["usage"]));
            }
            "error" => self.on_error(text(&line["message"]), stream),
            "item.started" | "item.updated" => self.on_begun(&line["item"], stream)?,
            "item.completed" => self.on_item(&line["item"], stream)?,
            _ => return Err(NotUnderstood),
        }
        Ok(())
    }

    fn end(&mut self, ended: &ProcessEnd<'_>, stream: &mut StreamState) {
        let last_error = self.held.take();
        if let Some(message) = &last_error {
            stream.error(message);
        }
        if stream.turn != TurnEnd::Open || stream.trouble.is_some() {
            return;
        }
        let has_failed = ended.code.is_some_and(|code| code != 0);
        if has_failed && ended.stderr.contains("input_too_large") {
            let message = "the prompt is too large for Codex".to_owned();
            stream.fail(Trouble::Overflow(message));
        } else {
            // Nothing followed it: it is why the process ended.
            stream.trouble = last_error.map(Trouble::Other);
        }
    }
}

impl Codex {
    /// A parser for a process that started at this time; Codex reports local times of day.
    pub(crate) fn new(started: &Zoned) -> Self {
        Self {
            started: started.clone(),
            held: None,
            waits: 0,
            calls: VecDeque::new(),
        }
    }

    /// What it waited for is over.
    fn end_wait(&mut self, stream: &mut StreamState) {
        stream.trouble = None;
        self.waits = 0;
    }

    fn on_begun(&mut self, item: &Value, stream: &mut StreamState) -> Result<(), NotUnderstood> {
        self.end_wait(stream);
        match tool_call(item, &stream.folder) {
            Some(_) if self.calls.iter().any(|id| id == short(&item["id"])) => {}
            Some(call) => {
                self.calls.push_back(short(&item["id"]).to_owned());
                if self.calls.len() > CALLS_KEPT {
                    self.calls.pop_front();
                }
                // Whatever was promised, it went on working.
                stream.forget_promise();
                stream.push(call);
            }
            None if WORDS.contains(&text(&item["type"])) => {}
            None => return Err(NotUnderstood),
        }
        Ok(())
    }

    fn on_item(&mut self, item: &Value, stream: &mut StreamState) -> Result<(), NotUnderstood> {
        match text(&item["type"]) {
            "agent_message" => {
                self.end_wait(stream);
                stream.forget_promise();
                stream.text(text(&item["text"]));
            }
            "reasoning" => {
                self.end_wait(stream);
                stream.thinking(text(&item["text"]));
            }
            // A warning.
            "error" => stream.error(text(&item["message"])),
            kind => {
                self.on_begun(item, stream)?;
                if kind != PLAN {
                    self.calls.retain(|id| id != short(&item["id"]));
                    let answer = [&item["aggregated_output"], &item["result"]];
                    let has_failed = item["status"] == "failed" || is_nonzero(&item["exit_code"]);
                    stream.tool_result(&answer, has_failed);
                }
            }
        }
        Ok(())
    }

    fn on_error(&mut self, message: &str, stream: &mut StreamState) {
        let Some(about) = message.strip_prefix(RETRY) else {
            self.held = Some(event_text(message));
            return;
        };
        let about = about.trim();
        stream.retrying(about);
        self.waits = if about.starts_with(NETWORK) {
            self.waits + 1
        } else {
            0
        };
        let reason = reason(about);
        stream.waits_for(self.sort(reason));
        if self.waits == NETWORK_RETRIES {
            stream.fail(Trouble::outage(reason));
        }
    }

    fn sort(&self, message: &str) -> Trouble {
        if message.starts_with("Quota exceeded") {
            let fix = "check the plan and its billing, or use another account";
            return Trouble::refused(Refusal::Credit, message, fix);
        }
        if message.starts_with("Missing environment variable") {
            let fix = "set it to the key of the provider";
            return Trouble::refused(Refusal::Login, message, fix);
        }
        let status = number_after(message, "unexpected status")
            .or_else(|| number_after(message, "last status:"));
        let error = ApiError {
            resets_at: reset::reset_in(message, &self.started),
            ..ApiError::new(status, message, LOG_IN)
        };
        match error.trouble() {
            Trouble::Other(_) if message.contains("ran out of room") => {
                Trouble::Overflow(in_words(message))
            }
            trouble => trouble,
        }
    }
}

fn tool_call(item: &Value, folder: &str) -> Option<AgentEvent> {
    let (tool, summary) = match text(&item["type"]) {
        "command_execution" => ("shell".to_owned(), one_line(&bare(short(&item["command"])))),
        "file_change" => ("edit".to_owned(), changes(item, folder)),
        "web_search" => ("web_search".to_owned(), one_line(short(&item["query"]))),
        PLAN => ("plan".to_owned(), plan(items(&item["items"]))),
        "mcp_tool_call" | "collab_tool_call" => (
            one_line(&format!(
                "{} {}",
                short(&item["server"]),
                short(&item["tool"])
            )),
            summary(&item["arguments"], folder),
        ),
        _ => return None,
    };
    Some(AgentEvent::ToolCall { tool, summary })
}

fn changes(item: &Value, folder: &str) -> String {
    let paths: Vec<String> = items(&item["changes"])
        .iter()
        .map(|change| {
            let path = inside(short(&change["path"]), folder);
            match short(&change["kind"]) {
                "" | "update" => path.to_owned(),
                kind => format!("{kind} {path}"),
            }
        })
        .collect();
    one_line(&paths.join(", "))
}

/// How far the agent's plan is, and its next step.
fn plan(steps: &[Value]) -> String {
    let (done, left): (Vec<&Value>, Vec<&Value>) =
        steps.iter().partition(|step| is_true(&step["completed"]));
    let next = left.first().map_or("", |step| short(&step["text"]));
    let plan = format!("{} of {} done {next}", done.len(), steps.len());
    plan.trim_end().to_owned()
}

/// What the thread used so far; the input includes what came from the cache and went there.
fn usage(tokens: &Value) -> Usage {
    let read = count(&tokens["cached_input_tokens"]);
    let written = count(&tokens["cache_write_input_tokens"]);
    Usage {
        input_tokens: count(&tokens["input_tokens"]).saturating_sub(read + written),
        output_tokens: count(&tokens["output_tokens"]),
        cache_read_tokens: read,
        cache_write_tokens: written,
        cost_usd: None,
    }
}

/// The reason inside of `1/5 (reason)`.
fn reason(about: &str) -> &str {
    about
        .split_once('(')
        .map_or(about, |(_, rest)| rest.strip_suffix(')').unwrap_or(rest))
}

/// A command without the shell it was given to, and without the quotes it was given in.
fn bare(command: &str) -> String {
    let Some((_, script)) = command.split_once(" -lc ") else {
        return command.to_owned();
    };
    unquoted(script).unwrap_or_else(|| script.to_owned())
}

/// What a shell makes of one word in quotes; nothing where it is cut short or more than one.
fn unquoted(word: &str) -> Option<String> {
    let mut text = String::new();
    let mut quote = None;
    let mut rest = word.chars();
    while let Some(c) = rest.next() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('\\', None | Some('"')) => text.push(rest.next()?),
            (c, None) if c.is_whitespace() => return None,
            (c, _) => text.push(c),
        }
    }
    quote.is_none().then_some(text)
}

#[cfg(test)]
mod tests;
