//! opencode: `opencode run --format json`, one JSON object per line, each with the session it is
//! about.
//!
//! There is no final event: the last step that stopped is the end, and a step that begins after
//! it overrules it (opencode continues by itself after it compacted the conversation). An `error`
//! is final only where no step follows it.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::adapter::{Adapter, Login, Probe, Rights, SESSION, Sessions};
use crate::agent_event::{AgentEvent, Refusal, Usage, event_text};
use crate::dialect::api_error::ApiError;
use crate::dialect::json::{count, is_nonzero, is_true, short, text, whole};
use crate::dialect::stream::{NotUnderstood, Parser, StreamState};
use crate::dialect::{Output, ProcessEnd, Trouble, TurnEnd};

/// How to log in.
const LOG_IN: &str = "log in with `opencode auth login`, or check the key of its provider";

/// The rights of a reviewer.
const READ_ONLY: &str =
    r#"{"permission":{"*":"deny","read":"allow","grep":"allow","glob":"allow","list":"allow"}}"#;

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
        // Only its log says that it waits at a limit.
        "--print-logs",
        "--log-level",
        "ERROR",
    ],
    worker: Rights {
        arguments: &["--auto"],
        has_shell: true,
        ..Rights::NONE
    },
    reviewer: Rights {
        // Plugins run inside of it.
        arguments: &["--pure"],
        environment: &[
            // Its agent `plan` may run any command, so rights are stated one by one.
            ("OPENCODE_CONFIG_CONTENT", READ_ONLY),
            // The settings in the repository would overrule these.
            ("OPENCODE_DISABLE_PROJECT_CONFIG", "1"),
        ],
        ..Rights::NONE
    },
    sessions: Sessions {
        // Every event has the id.
        preset: &[],
        resume: Some(&["--session", SESSION]),
    },
    model: "-m",
    last: &[],
    environment: &[
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ("OPENCODE_DISABLE_SHARE", "1"),
    ],
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
            reads: |_, stdout| credentials_in(stdout),
        }),
        files: &[".local/share/opencode/auth.json"],
        variables: &["OPENCODE_API_KEY", "OPENCODE_AUTH_CONTENT"],
        fix: LOG_IN,
    },
    install: "npm install -g opencode-ai",
};

/// Whether any credential is listed. None is only a doubt: a provider in the configuration may
/// need none.
fn credentials_in(stdout: &str) -> Option<bool> {
    let count = |noun: &str| {
        let (before, _) = stdout.split_once(noun)?;
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
    fn line(&mut self, line: &Value, stream: &mut StreamState) -> Result<(), NotUnderstood> {
        let (session, part) = (short(&line["sessionID"]), &line["part"]);
        if stream.session.is_none() && !session.is_empty() {
            stream.begin_session(&line["sessionID"], &Value::Null);
        }
        // What a sub-agent says is for its parent.
        if stream.session.as_deref() != Some(session) && !session.is_empty() {
            return Ok(());
        }
        match text(&line["type"]) {
            "step_start" => begin_step(stream),
            "text" => on_text(part, stream),
            "reasoning" => stream.thinking(text(&part["text"])),
            "tool_use" => on_tool(part, stream),
            "step_finish" => on_step_end(part, stream),
            "error" => {
                // Only an answer that stopped by itself is final.
                if stream.turn == TurnEnd::Open {
                    stream.forget_promise();
                }
                stream.fail(sort(&line["error"], moment(&line["timestamp"])));
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

/// A step overrules everything before it.
fn begin_step(stream: &mut StreamState) {
    stream.resume();
    stream.forget_promise();
}

fn on_text(part: &Value, stream: &mut StreamState) {
    // Its own words to the model: the conversation was compacted and continues.
    if is_true(&part["synthetic"]) {
        begin_step(stream);
        stream.thinking(text(&part["text"]));
    } else {
        stream.text(text(&part["text"]));
    }
}

fn on_tool(part: &Value, stream: &mut StreamState) {
    let state = &part["state"];
    let is_error = state["status"] == "error"
        || part["tool"] == UNKNOWN_TOOL
        || is_nonzero(&state["metadata"]["exit"]);
    stream.tool_call(&part["tool"], &state["input"]);
    stream.tool_result(&[&state["output"], &state["error"]], is_error);
}

fn on_step_end(part: &Value, stream: &mut StreamState) {
    match short(&part["reason"]) {
        "tool-calls" | "unknown" => {}
        // It may compact the conversation and continue; only a promise is a last word.
        "stop" if stream.has_promise() => stream.finish(false),
        "stop" => stream.turn = TurnEnd::Ended,
        reason => {
            stream.forget_promise();
            stream.fail(Trouble::ended_early(reason));
            stream.turn = TurnEnd::EndedWithError;
        }
    }
    let mut usage = stream.usage;
    usage.add(&usage_of(part));
    stream.set_usage(usage);
}

/// True once the final message was reported.
fn is_final(stream: &StreamState) -> bool {
    stream.turn == TurnEnd::Ended && stream.has_promise()
}

/// What one step used; the input does not include what came from the cache.
fn usage_of(part: &Value) -> Usage {
    let tokens = &part["tokens"];
    Usage {
        input_tokens: count(&tokens["input"]),
        output_tokens: count(&tokens["output"]) + count(&tokens["reasoning"]),
        cache_read_tokens: count(&tokens["cache"]["read"]),
        cache_write_tokens: count(&tokens["cache"]["write"]),
        cost_usd: part["cost"].as_f64(),
    }
}

fn sort(error: &Value, failed_at: Option<Timestamp>) -> Trouble {
    let (name, data) = (short(&error["name"]), &error["data"]);
    let message = match text(&data["message"]) {
        "" => name,
        message => message,
    };
    match name {
        "ContextOverflowError" => return Trouble::Overflow(message.to_owned()),
        "ProviderAuthError" => return Trouble::refused(Refusal::Login, message, LOG_IN),
        "MessageAbortedError" | "MessageOutputLengthError" | "ContentFilterError" => {
            return Trouble::Other(message.to_owned());
        }
        _ => {}
    }
    ApiError {
        body: text(&data["responseBody"]),
        resets_at: failed_at.and_then(|at| resets_at(&data["responseHeaders"], at)),
        ..ApiError::new(whole(&data["statusCode"]), message, LOG_IN)
    }
    .trouble()
}

fn moment(ms: &Value) -> Option<Timestamp> {
    Timestamp::from_millisecond(i64::try_from(whole(ms)?).ok()?).ok()
}

/// When it may be tried again.
fn resets_at(headers: &Value, now: Timestamp) -> Option<Timestamp> {
    let number = |name: &str| text(&headers[name]).parse::<f64>().ok();
    let ms = number("retry-after-ms").map(|ms| ms / 1000.0);
    let seconds = ms.or_else(|| number("retry-after"))?;
    let wait = SignedDuration::try_from_secs_f64(seconds).ok()?;
    now.checked_add(wait).ok()
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
