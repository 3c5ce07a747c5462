//! Codex: `codex exec --json`, one JSON object a line, one turn a process.
//!
//! An `error` is not fatal by itself: it also tells of retries, and of those Codex may never
//! tire. The last whole message before `turn.completed` is the final one.

mod reset;
mod wire;

use std::collections::VecDeque;

use jiff::Zoned;

use self::wire::{Item, Line};
use super::{Adapter, Login, Probe};
use crate::domain::agent_event::{AgentEvent, Usage};
use crate::domain::dialect::api_error::{ApiError, in_words, number_after};
use crate::domain::dialect::tool_input::{inside, one_line};
use crate::domain::dialect::{
    Dialect, Ended, Output, StreamEnd, Trouble, TurnEnd, event_text, json_line, parse, unknown,
};
use crate::domain::promise::{Promise, promise};

/// How to log in.
const LOG_IN: &str = "log in with `codex login`, or check the key of its provider";
/// How messages begin that tell of another try.
const RETRY: &str = "Reconnecting...";
/// What a retry is about that Codex repeats without end.
const NETWORK: &str = "waiting for network";
/// How often it may do so in a row before the API counts as down: the first five take a minute
/// and a half, the others a minute each.
const NETWORK_RETRIES: u32 = 8;
/// How many calls under way are remembered.
const CALLS_KEPT: usize = 256;

/// How Codex is called.
pub(crate) static ADAPTER: Adapter = Adapter {
    name: "codex",
    title: "Codex",
    program: "codex",
    output: Output::CodexJson,
    arguments: &[
        "exec",
        "--json",
        // Its sandbox keeps the repository's own folder read-only, so that commits fail.
        "--dangerously-bypass-approvals-and-sandbox",
        "-c",
        "check_for_update_on_startup=false",
        "-c",
        "analytics.enabled=false",
    ],
    model: "-m",
    // It reads its prompt from standard input only where told so.
    last: &["-"],
    // What keeps it quiet are arguments.
    environment: &[],
    as_root: &[],
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
    version: &["--version"],
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

/// Reads Codex's stream.
#[derive(Debug, Clone)]
pub(crate) struct Codex {
    started: Zoned,
    folder: String,
    session: Option<String>,
    turn: TurnEnd,
    promise: Option<Promise>,
    trouble: Option<Trouble>,
    /// An error that may turn out to be fatal.
    held: Option<String>,
    /// How often in a row it waited for the network.
    waits: u32,
    usage: Usage,
    /// The tool calls that were told and have not ended.
    calls: VecDeque<String>,
}

impl Dialect for Codex {
    fn line(&mut self, line: &[u8], truncated: bool) -> Vec<AgentEvent> {
        json_line(line, truncated, |line| self.understand(line))
    }

    fn works_in(&mut self, folder: &str) {
        folder.clone_into(&mut self.folder);
    }

    fn end(&mut self, ended: &Ended<'_>) -> Vec<AgentEvent> {
        let last_error = self.held.clone();
        let mut events: Vec<AgentEvent> = self.let_go().into_iter().collect();
        let failed_early = self.turn == TurnEnd::Open
            && self.trouble.is_none()
            && ended.code.is_some_and(|code| code != 0);
        if failed_early && ended.stderr.contains("input_too_large") {
            let trouble = Trouble::Overflow("the prompt is too large for Codex".to_owned());
            events.push(trouble.event());
            self.trouble = Some(trouble);
        }
        // Nothing followed it: it is what the process ended of.
        if self.trouble.is_none() && self.turn == TurnEnd::Open {
            self.trouble = last_error.map(Trouble::Other);
        }
        events
    }

    fn verdict(&self) -> StreamEnd {
        StreamEnd {
            promise: self.promise.clone(),
            turn: self.turn,
            usage: self.usage,
            session: self.session.clone(),
            error: self.held.clone(),
            ..StreamEnd::default()
        }
        .with(self.trouble.as_ref())
    }

    fn fork(&self) -> Box<dyn Dialect + Send> {
        Box::new(self.clone())
    }
}

impl Codex {
    /// A reader for a process that started at this moment; Codex tells times of day.
    pub(crate) fn new(started: &Zoned) -> Self {
        Self {
            started: started.clone(),
            folder: String::new(),
            session: None,
            turn: TurnEnd::Open,
            promise: None,
            trouble: None,
            held: None,
            waits: 0,
            usage: Usage::default(),
            calls: VecDeque::new(),
        }
    }

    fn understand(&mut self, bytes: &[u8]) -> Option<Vec<AgentEvent>> {
        let line: Line = parse(bytes)?;
        if line.kind != "turn.failed" {
            let held = self.let_go();
            let events = self.on_line(line, bytes);
            return Some(held.into_iter().chain(events).collect());
        }
        self.held = None;
        Some(self.on_failed(&line.error.message))
    }

    fn on_line(&mut self, line: Line, bytes: &[u8]) -> Vec<AgentEvent> {
        match line.kind.as_str() {
            "thread.started" => self.on_thread(line.thread_id.0),
            "turn.started" => {
                self.begin_turn();
                Vec::new()
            }
            "turn.completed" => self.on_completed(line.usage.into()),
            "error" => self.on_error(&line.message),
            "item.started" | "item.updated" => self.on_begun(&line.item, bytes),
            "item.completed" => self.on_item(&line.item, bytes),
            _ => vec![unknown(bytes)],
        }
    }

    fn on_thread(&mut self, id: String) -> Vec<AgentEvent> {
        self.session = Some(id.clone());
        vec![AgentEvent::Session { id, model: None }]
    }

    fn begin_turn(&mut self) {
        self.turn = TurnEnd::Open;
        self.promise = None;
        self.goes_on();
    }

    /// What it waited for is over.
    fn goes_on(&mut self) {
        self.trouble = None;
        self.waits = 0;
    }

    fn on_begun(&mut self, item: &Item, bytes: &[u8]) -> Vec<AgentEvent> {
        self.goes_on();
        match self.tool_call(item) {
            Some(call) if !self.calls.contains(&item.id.0) => {
                self.calls.push_back(item.id.0.clone());
                if self.calls.len() > CALLS_KEPT {
                    self.calls.pop_front();
                }
                // Whatever was promised, it went on working.
                self.promise = None;
                vec![call]
            }
            Some(_) => Vec::new(),
            None if item.is_known() => Vec::new(),
            None => vec![unknown(bytes)],
        }
    }

    fn on_item(&mut self, item: &Item, bytes: &[u8]) -> Vec<AgentEvent> {
        match item.kind.0.as_str() {
            "agent_message" => {
                self.goes_on();
                self.promise = promise(&item.text);
                vec![AgentEvent::Text {
                    text: event_text(&item.text),
                }]
            }
            "reasoning" => {
                self.goes_on();
                vec![AgentEvent::Thinking {
                    text: event_text(&item.text),
                }]
            }
            // A warning.
            "error" => vec![AgentEvent::Error {
                message: event_text(&item.message),
            }],
            _ => self.on_tool(item, bytes),
        }
    }

    fn on_tool(&mut self, item: &Item, bytes: &[u8]) -> Vec<AgentEvent> {
        let mut events = self.on_begun(item, bytes);
        if !item.is_tool() {
            return events;
        }
        self.calls.retain(|id| *id != item.id.0);
        events.push(AgentEvent::ToolResult {
            bytes: item.answer_bytes(),
            is_error: item.is_failed(),
        });
        events
    }

    fn tool_call(&self, item: &Item) -> Option<AgentEvent> {
        let (tool, summary) = match item.kind.0.as_str() {
            "command_execution" => ("shell".to_owned(), one_line(&bare(&item.command.0))),
            "file_change" => ("edit".to_owned(), self.changes(item)),
            "web_search" => ("web_search".to_owned(), one_line(&item.query.0)),
            "todo_list" => ("plan".to_owned(), item.plan()),
            "mcp_tool_call" | "collab_tool_call" => (
                one_line(&format!("{} {}", item.server.0, item.tool.0)),
                item.arguments.summary(&self.folder),
            ),
            _ => return None,
        };
        Some(AgentEvent::ToolCall { tool, summary })
    }

    fn changes(&self, item: &Item) -> String {
        let paths: Vec<String> = item
            .changes
            .iter()
            .map(|change| {
                let path = inside(&change.path.0, &self.folder);
                match change.kind.0.as_str() {
                    "" | "update" => path.to_owned(),
                    kind => format!("{kind} {path}"),
                }
            })
            .collect();
        one_line(&paths.join(", "))
    }

    fn on_error(&mut self, message: &str) -> Vec<AgentEvent> {
        let Some(about) = message.strip_prefix(RETRY) else {
            self.held = Some(event_text(message));
            return Vec::new();
        };
        let about = about.trim();
        let mut events = vec![AgentEvent::Retrying {
            message: about.to_owned(),
        }];
        self.waits = if about.starts_with(NETWORK) {
            self.waits + 1
        } else {
            0
        };
        let reason = reason(about);
        // A login that is refused may be renewed by the next try; the last one tells.
        self.trouble = match self.sort(reason) {
            trouble @ Trouble::Limit(_) => Some(trouble),
            _ => None,
        };
        if self.waits == NETWORK_RETRIES {
            let trouble = Trouble::outage(reason);
            events.push(trouble.event());
            self.trouble = Some(trouble);
        }
        events
    }

    fn let_go(&mut self) -> Option<AgentEvent> {
        let message = self.held.take()?;
        Some(AgentEvent::Error { message })
    }

    fn on_completed(&mut self, usage: Usage) -> Vec<AgentEvent> {
        self.goes_on();
        self.turn = TurnEnd::Ended;
        self.usage = usage;
        vec![
            AgentEvent::usage(usage),
            AgentEvent::Final { is_error: false },
        ]
    }

    fn on_failed(&mut self, message: &str) -> Vec<AgentEvent> {
        let trouble = self.sort(message);
        let event = trouble.event();
        self.trouble = Some(trouble);
        self.turn = TurnEnd::EndedWithError;
        vec![event, AgentEvent::Final { is_error: true }]
    }

    fn sort(&self, message: &str) -> Trouble {
        if message.starts_with("Quota exceeded") {
            let fix = "check the plan and its billing, or use another account";
            return Trouble::auth(message, fix);
        }
        if message.starts_with("Missing environment variable") {
            return Trouble::auth(message, "set it to the key of the provider");
        }
        let status = number_after(message, "unexpected status")
            .or_else(|| number_after(message, "last status:"));
        let error = ApiError {
            status,
            message,
            resets_at: reset::told_in(message, &self.started),
            log_in: LOG_IN,
            ..ApiError::default()
        };
        match error.trouble() {
            Trouble::Other(_) if message.contains("ran out of room") => {
                Trouble::Overflow(in_words(message))
            }
            trouble => trouble,
        }
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
