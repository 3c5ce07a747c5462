//! opencode: `opencode run --format json`, one JSON object per line, each with the session it is
//! about.
//!
//! There is no final event: the last step that stopped is the end, and a step that begins after
//! it overrules it (opencode continues by itself after it compacted the conversation). An `error`
//! is final only where no step follows it.

mod wire;

use jiff::{SignedDuration, Timestamp};

use self::wire::{Failure, Line, Part, Tokens};
use super::adapter::{Adapter, Login, Probe};
use crate::agent_event::{AgentEvent, Usage, event_text};
use crate::dialect::api_error::ApiError;
use crate::dialect::stream::{NotUnderstood, Parser, StreamState, parse};
use crate::dialect::{Output, ProcessEnd, Trouble, TurnEnd};

/// How to log in.
const LOG_IN: &str = "log in with `opencode auth login`, or check the key of its provider";

/// The tool that stands for one that is not there.
const UNKNOWN_TOOL: &str = "invalid";

/// How opencode is called.
pub(crate) static ADAPTER: Adapter = Adapter {
    name: "opencode",
    title: "opencode",
    output: Output::OpencodeJson,
    arguments: &[
        "run",
        "--format",
        "json",
        "--auto",
        // Only its log says that it waits at a limit.
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

/// Parses opencode's stream. The session of the main agent is the first one that is named.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opencode;

impl Parser for Opencode {
    fn line(&mut self, bytes: &[u8], stream: &mut StreamState) -> Result<(), NotUnderstood> {
        let line: Line = parse(bytes)?;
        if stream.session.is_none() && !line.session.is_empty() {
            stream.begin_session(line.session.0.clone(), None);
        }
        // What a sub-agent says is for its parent.
        if stream.session.as_ref() != Some(&line.session.0) && !line.session.is_empty() {
            return Ok(());
        }
        match line.kind.as_str() {
            "step_start" => begin_step(stream),
            "text" => on_text(&line.part, stream),
            "reasoning" => stream.thinking(&line.part.text),
            "tool_use" => on_tool(line.part, stream),
            "step_finish" => on_step_end(&line.part, stream),
            "error" => {
                // Only an answer that stopped by itself is final.
                if stream.turn == TurnEnd::Open {
                    stream.forget_promise();
                }
                stream.fail(sort(&line.error, moment(line.timestamp.whole())));
                stream.turn = TurnEnd::EndedWithError;
            }
            _ => return Err(NotUnderstood),
        }
        Ok(())
    }

    fn stderr_line(&mut self, line: &str, stream: &mut StreamState) {
        if let Some(message) = stream_error(line) {
            stream.waits_for(ApiError::new(None, message, LOG_IN).trouble());
            stream.retrying(event_text(message));
        }
    }

    fn end(&mut self, ended: &ProcessEnd<'_>, stream: &mut StreamState) {
        // The final message may have been reported; if it was not, this is the end.
        if ended.code.is_some() && stream.turn != TurnEnd::Open && !is_final(stream) {
            stream.push(AgentEvent::Final {
                is_error: stream.turn == TurnEnd::EndedWithError,
            });
        }
    }
}

/// A step overrules whatever came before it.
fn begin_step(stream: &mut StreamState) {
    stream.resume();
    stream.forget_promise();
}

fn on_text(part: &Part, stream: &mut StreamState) {
    // Its own words to the model: the conversation was compacted and continues.
    if part.synthetic.0 {
        begin_step(stream);
        stream.thinking(&part.text);
    } else {
        stream.text(&part.text);
    }
}

fn on_tool(part: Part, stream: &mut StreamState) {
    let state = part.state;
    let is_error = state.status.0 == "error"
        || part.tool.0 == UNKNOWN_TOOL
        || state.metadata.exit.0.is_some_and(|code| code != 0.0);
    stream.tool_call(part.tool.0, &state.input);
    stream.tool_result(state.output.0 + state.error.0.len() as u64, is_error);
}

fn on_step_end(part: &Part, stream: &mut StreamState) {
    match part.reason.0.as_str() {
        "tool-calls" | "unknown" => {}
        // It may compact the conversation and go on; only a promise is a last word.
        "stop" if stream.has_promise() => stream.finish(false),
        "stop" => stream.turn = TurnEnd::Ended,
        reason => {
            stream.forget_promise();
            stream.fail(Trouble::ended_early(reason));
            stream.turn = TurnEnd::EndedWithError;
        }
    }
    let mut usage = stream.usage;
    usage.add(&part.tokens.usage(part.cost.0));
    stream.set_usage(usage);
}

/// True once the final message was reported.
fn is_final(stream: &StreamState) -> bool {
    stream.turn == TurnEnd::Ended && stream.has_promise()
}

impl Tokens {
    fn usage(self, cost_usd: Option<f64>) -> Usage {
        Usage {
            input_tokens: self.input.count(),
            output_tokens: self.output.count() + self.reasoning.count(),
            cache_read_tokens: self.cache.read.count(),
            cache_write_tokens: self.cache.write.count(),
            cost_usd,
        }
    }
}

fn sort(error: &Failure, failed_at: Option<Timestamp>) -> Trouble {
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
        body: &data.body,
        resets_at: failed_at.and_then(|at| data.headers.resets_at(at)),
        ..ApiError::new(data.status.whole(), message, LOG_IN)
    }
    .trouble()
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
