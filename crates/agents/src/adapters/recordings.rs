//! Recordings of real runs of every agent, and what each must amount to.

use std::fmt::Write as _;
use std::path::PathBuf;

use jiff::Zoned;
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::agent_event::{AgentEvent, Refusal, start_of};
use crate::dialect::{Output, ProcessEnd, StreamEnd, Trouble, TurnEnd};
use crate::promise::Promise;

/// How much of a message is compared.
const MESSAGE_START: usize = 48;

/// What a recording amounts to, in one line each: how it ended and was promised, the tokens
/// (input, output, read from and written to a cache), tool calls with how many failed, and lines
/// that were not understood.
const TABLE: &[(&str, Option<i32>, &str)] = &[
    (
        "claude-401",
        Some(1),
        "error | 0+0+0+0 $0.000000 | 0/0/0 | login: Invalid API key · Fix external API key ↵ log in w",
    ),
    (
        "claude-429-all",
        Some(1),
        "error | 0+0+0+0 $0.000000 | 0/0/0 | limit: API Error: Request rejected (429) · This reques",
    ),
    (
        "claude-429-once",
        Some(0),
        "ended | 12019+11+0+0 $0.048296 | 0/0/0 |",
    ),
    (
        "claude-bgturn",
        Some(0),
        "ended | 36770+76+0+0 $0.148600 | 1/0/0 |",
    ),
    (
        "claude-budget",
        Some(1),
        "error | 1200+40+300+100 $0.006160 | 1/0/0 | error: Reached maximum budget ($0.001)",
    ),
    (
        "claude-credit",
        Some(1),
        "error | 0+0+0+0 $0.000000 | 0/0/0 | credit: Credit balance is too low ↵ add credit to the acco",
    ),
    (
        "claude-ctx",
        Some(1),
        "error | 0+0+0+0 $0.000000 | 0/0/0 | overflow: Prompt is too long · the request is ~250000 tok",
    ),
    (
        "claude-echo",
        Some(0),
        "ended | 24121+46+0+0 $0.097404 | 1/0/0 |",
    ),
    (
        "claude-failed1",
        Some(0),
        "FAILED tests do not compile | 12020+17+0+0 $0.048420 | 0/0/0 |",
    ),
    (
        "claude-maxtok",
        Some(1),
        "error | 48519+12+0+0 $0.194316 | 0/0/0 | error: API Error: Claude's response exceeded the 128000",
    ),
    (
        "claude-maxturns",
        Some(1),
        "error | 1200+40+300+100 $0.006160 | 1/0/0 | error: Reached maximum number of turns (1)",
    ),
    (
        "claude-ok",
        Some(0),
        "COMPLETE | 3900+95+2800+100 $0.018560 | 2/0/0 |",
    ),
    (
        "claude-parallel",
        Some(0),
        "COMPLETE | 24175+52+0+0 $0.097740 | 2/1/0 |",
    ),
    (
        "claude-partial",
        Some(0),
        "COMPLETE | 3900+95+2800+100 $0.018560 | 2/0/0 |",
    ),
    (
        "claude-perm-default",
        Some(0),
        "COMPLETE | 3900+95+2800+100 $0.018560 | 2/2/0 |",
    ),
    (
        "claude-sig-INT",
        Some(0),
        "error | 12019+39+0+0 $0.048856 | 1/1/0 | error: interrupted",
    ),
    ("claude-sig-TERM", Some(143), "open | 12019+1+0+0 | 1/1/0 |"),
    (
        "claude-subagent",
        Some(0),
        "ended | 41090+113+0+0 $0.166620 | 2/0/0 |",
    ),
    (
        "claude-think",
        Some(0),
        "ended | 12018+21+0+0 $0.048492 | 0/0/0 |",
    ),
    (
        "claude-usage-oauth",
        Some(1),
        "error | 0+0+0+0 $0.000000 | 0/0/0 | limit until 2026-11-16T01:20:00Z: You've hit your 5-hour limit · resets 1:20am (U",
    ),
    (
        "claude-v197-ok",
        Some(0),
        "COMPLETE | 3900+95+2800+100 $0.023900 | 2/0/0 |",
    ),
    (
        "claude-warn-oauth",
        Some(0),
        "ended | 11950+10+0+0 $0.024000 | 0/0/0 |",
    ),
    (
        "codex-429-all",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | limit: exceeded retry limit, last status: 429 Too Many ",
    ),
    ("codex-429-once", Some(0), "ended | 9655+11+0+0 | 0/0/0 |"),
    (
        "codex-500-all",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | outage: We’re currently experiencing high demand, whic",
    ),
    (
        "codex-apidown",
        None,
        "open | 0+0+0+0 | 0/0/0 | outage: Connection failed: error sending request",
    ),
    (
        "codex-credit",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | credit: Quota exceeded. Check your plan and billing deta",
    ),
    (
        "codex-drop-all",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | outage: stream disconnected before completion: error sen",
    ),
    (
        "codex-failed",
        Some(0),
        "FAILED tests do not compile | 9654+14+0+0 | 0/0/0 |",
    ),
    ("codex-model", Some(0), "COMPLETE | 10076+7+0+0 | 0/0/0 |"),
    ("codex-ok", Some(0), "COMPLETE | 1100+95+2800+0 | 2/0/0 |"),
    (
        "codex-parallel",
        Some(0),
        "COMPLETE | 19526+37+0+0 | 2/1/0 |",
    ),
    ("codex-resume", Some(0), "COMPLETE | 19400+14+0+0 | 0/0/0 |"),
    (
        "codex-sfail-ctx",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | overflow: Codex ran out of room in the model's context win",
    ),
    ("codex-sfail-rate", Some(0), "ended | 9656+10+0+0 | 0/0/0 |"),
    ("codex-think", Some(0), "ended | 9655+21+0+0 | 0/0/0 |"),
    ("codex-tool40", Some(0), "COMPLETE | 19455+41+0+0 | 1/0/0 |"),
    (
        "codex-usage",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | limit until 2026-11-16T01:21:00Z: You’ve hit your usage limit. Upgrade to Pro (h",
    ),
    (
        "gemini-401",
        Some(145),
        "error | 0+0+0+0 | 0/0/0 | login: invalid x-api-key ↵ set `GEMINI_API_KEY`, or run `",
    ),
    (
        "gemini-429-all",
        Some(173),
        "error | 0+0+0+0 | 0/0/0 | limit: This request would exceed your rate limit",
    ),
    ("gemini-bigout", Some(0), "open | 0+0+0+0 | 1/0/1 |"),
    (
        "gemini-credit",
        Some(173),
        "error | 0+0+0+0 | 0/0/0 | limit until 2026-11-16T08:00:00Z: You have exhausted your daily quota on this mode",
    ),
    (
        "gemini-failed",
        Some(0),
        "FAILED tests do not compile | 12331+14+0+0 | 0/0/0 |",
    ),
    ("gemini-hangmid", Some(0), "open | 0+0+0+0 | 0/0/0 |"),
    ("gemini-noyolo", Some(0), "ended | 900+40+300+0 | 0/0/0 |"),
    ("gemini-ok", Some(0), "COMPLETE | 1100+95+2800+0 | 2/0/0 |"),
    (
        "opencode-401",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | login: invalid x-api-key ↵ log in with `opencode auth log",
    ),
    (
        "opencode-429-all",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | limit until 2026-11-15T19:27:41.966Z: This request would exceed your rate limit",
    ),
    (
        "opencode-anthropic",
        Some(0),
        "COMPLETE | 3900+95+2800+100 $0.014340 | 2/0/0 |",
    ),
    (
        "opencode-badtool",
        Some(0),
        "COMPLETE | 15698+16+0+0 $0.047334 | 1/1/0 |",
    ),
    (
        "opencode-ctx",
        Some(1),
        "ended | 8451+5+0+0 $0.025428 | 0/0/0 |",
    ),
    (
        "opencode-ext-noauto",
        Some(0),
        "open | 7773+32+0+0 $0.023799 | 1/1/0 |",
    ),
    (
        "opencode-ok",
        Some(0),
        "COMPLETE | 1100+95+2800+0 $0.005565 | 2/0/0 |",
    ),
    (
        "opencode-parallel",
        Some(0),
        "COMPLETE | 15665+35+0+0 $0.047520 | 2/1/0 |",
    ),
    (
        "opencode-streamerr",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | outage: Overloaded",
    ),
    (
        "opencode-think2",
        Some(0),
        "ended | 7772+21+0+0 $0.023631 | 0/0/0 |",
    ),
    (
        "copilot-401",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | login: Authentication failed with provider at http://lo",
    ),
    (
        "copilot-429-all",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | limit: Failed to get response from the AI model; retrie",
    ),
    ("copilot-ok", Some(0), "COMPLETE | 0+0+0+0 | 2/0/0 |"),
    (
        "goose-401",
        Some(0),
        "error | 0+0+0+0 | 0/0/3 | login: Authentication error: Authentication failed. Sta",
    ),
    (
        "goose-429-all",
        Some(0),
        "error | 0+0+0+0 | 0/0/3 | limit: Rate limit exceeded: This request would exceed y",
    ),
    ("goose-ok", Some(0), "COMPLETE | 2600+65+0+0 | 1/0/3 |"),
    (
        "pi-401",
        Some(0),
        "error | 0+0+0+0 | 0/0/0 | login: invalid x-api-key ↵ run `pi` once and use `/login`",
    ),
    (
        "pi-429-all",
        Some(0),
        "error | 0+0+0+0 | 0/0/0 | limit: This request would exceed your rate limit",
    ),
    (
        "pi-ok",
        Some(0),
        "COMPLETE | 1100+95+2800+0 $0.005565 | 2/0/0 |",
    ),
    (
        "qwen-401",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | login: 401 invalid x-api-key ↵ run `qwen` once and log in",
    ),
    (
        "qwen-429-all",
        None,
        "open | 0+0+0+0 | 0/0/0 | limit: 429 This request would exceed your rate limit",
    ),
    ("qwen-dropmid1", Some(0), "ended | 31291+20+0+0 | 0/0/0 |"),
    ("qwen-ok", Some(0), "COMPLETE | 1100+95+2800+0 | 2/0/0 |"),
];

/// A recorded run.
struct Recording {
    output: Output,
    stdout: Vec<u8>,
    stderr: String,
}

fn recording(name: &str) -> Recording {
    let (agent, _) = name.split_once('-').expect("a name with an agent");
    let read = |ending: &str| {
        let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/streams"));
        std::fs::read(folder.join(format!("{name}.{ending}")))
    };
    let stderr = read("stderr").unwrap_or_default();
    Recording {
        output: super::adapter(agent).expect("an agent").output,
        stdout: read("jsonl").expect("a recording"),
        stderr: String::from_utf8(stderr).expect("text"),
    }
}

fn when() -> Zoned {
    "2026-11-15T19:30:00+00:00[UTC]".parse().expect("a time")
}

fn read(recording: &Recording, code: Option<i32>) -> (Vec<AgentEvent>, StreamEnd) {
    let mut reader = recording.output.reader(&when());
    reader.set_folder("/repo");
    let mut events = Vec::new();
    for line in recording.stderr.lines() {
        reader.stderr_line(line.as_bytes());
    }
    for line in recording.stdout.split(|byte| *byte == b'\n') {
        events.extend(reader.line(line, false));
    }
    events.extend(reader.end(&ProcessEnd {
        code,
        stderr: &recording.stderr,
    }));
    (events, reader.verdict())
}

fn in_short(events: &[AgentEvent], end: &StreamEnd) -> String {
    let mut line = match (&end.promise, end.turn) {
        (_, TurnEnd::Open) => "open".to_owned(),
        (_, TurnEnd::EndedWithError) => "error".to_owned(),
        (None, TurnEnd::Ended) => "ended".to_owned(),
        (Some(Promise::Complete), TurnEnd::Ended) => "COMPLETE".to_owned(),
        (Some(Promise::Failed(reason)), TurnEnd::Ended) => format!("FAILED {reason}"),
        (Some(Promise::Blocked(question)), TurnEnd::Ended) => format!("BLOCKED {question}"),
    };
    let usage = end.usage;
    let _ = write!(
        line,
        " | {}+{}+{}+{}",
        usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens
    );
    if let Some(cost) = usage.cost_usd {
        let _ = write!(line, " ${cost:.6}");
    }
    let count = |is: fn(&AgentEvent) -> bool| events.iter().filter(|event| is(event)).count();
    let calls = count(|event| matches!(event, AgentEvent::ToolCall { .. }));
    let failed = count(|event| matches!(event, AgentEvent::ToolResult { is_error: true, .. }));
    let unknown = count(|event| matches!(event, AgentEvent::Unknown { .. }));
    let _ = write!(line, " | {calls}/{failed}/{unknown} |");
    line + &trouble(end)
}

fn trouble(end: &StreamEnd) -> String {
    let start = |text: &str| start_of(text, MESSAGE_START).replace('\n', " ↵ ");
    match &end.trouble {
        None => String::new(),
        Some(Trouble::Limit(limit)) => {
            let sort = if limit.is_outage { "outage" } else { "limit" };
            let until = limit.resets_at.map(|at| format!(" until {at}"));
            let until = until.unwrap_or_default();
            format!(" {sort}{until}: {}", start(&limit.message))
        }
        Some(Trouble::Refused { cause, message }) => {
            let cause = match cause {
                Refusal::Login => "login",
                Refusal::Credit => "credit",
                Refusal::Model => "model",
                Refusal::Other => "refused",
            };
            format!(" {cause}: {}", start(message))
        }
        Some(Trouble::Overflow(message)) => format!(" overflow: {}", start(message)),
        Some(Trouble::Other(message)) => format!(" error: {}", start(message)),
    }
}

#[test]
fn every_recording_is_understood() {
    let mut seen = String::new();
    let mut wanted = String::new();
    for (name, code, want) in TABLE {
        let _ = writeln!(wanted, "{name}: {want}");
        let (events, verdict) = read(&recording(name), *code);
        let _ = writeln!(seen, "{name}: {}", in_short(&events, &verdict));
    }
    assert_eq!(seen, wanted);
}

#[test]
fn every_recording_is_in_the_table() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/streams");
    let mut there: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder of recordings")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".jsonl")?.to_owned()))
        .collect();
    there.sort();
    let mut listed: Vec<&str> = TABLE.iter().map(|(name, ..)| *name).collect();
    listed.sort_unstable();
    assert_eq!(there, listed);
}

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end.max(1) as u64).unwrap_or(0)
    }
}

#[test]
fn a_recording_may_break_off_anywhere() {
    let mut numbers = Numbers(0x5eed);
    for (name, code, _) in TABLE {
        let whole = recording(name);
        let (_, at_end) = read(&whole, *code);
        let borders = whole
            .stdout
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .map(|(place, _)| place);
        let anywhere: Vec<usize> = (0..20).map(|_| numbers.below(whole.stdout.len())).collect();
        for cut in borders.chain(anywhere) {
            let part = Recording {
                output: whole.output,
                stdout: whole.stdout[..cut].to_vec(),
                stderr: whole.stderr.clone(),
            };
            let (_, end) = read(&part, None);
            // Half a stream must not promise more than the whole one does.
            let is_done = end.promise == Some(Promise::Complete) && end.turn == TurnEnd::Ended;
            let was_done = at_end.promise == Some(Promise::Complete);
            assert!(!is_done || was_done, "{name} cut at {cut}: {end:?}");
        }
    }
}

#[test]
fn bytes_that_are_wrong_are_never_fatal() {
    let mut numbers = Numbers(0xbad);
    for (name, code, _) in TABLE {
        let mut broken = recording(name);
        for _ in 0..50 {
            let place = numbers.below(broken.stdout.len());
            broken.stdout[place] = u8::try_from(numbers.below(256)).unwrap_or(0);
        }
        read(&broken, *code);
    }
}

#[test]
fn what_is_new_in_a_stream_is_kept() {
    let news = r#"{"type":"brand_new","item":{"type":"brand_new"},"sessionID":"x"}"#;
    for adapter in super::ADAPTERS {
        let mut reader = adapter.output.reader(&when());
        let events = reader.line(news.as_bytes(), false);
        let kept = AgentEvent::Unknown { line: news.into() };
        assert_eq!(events.last(), Some(&kept), "{}", adapter.name);
        let banner = reader.line(b"a banner", false);
        let kept = AgentEvent::Unknown {
            line: "a banner".into(),
        };
        assert_eq!(banner, [kept], "{}", adapter.name);
        assert_eq!(reader.verdict().turn, TurnEnd::Open, "{}", adapter.name);
    }
}

/// The places of all values inside of a JSON value.
fn places(value: &Value, at: &str, all: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, it)| (key.clone(), it)).collect(),
        Value::Array(items) => {
            let numbered = items.iter().enumerate();
            numbered.map(|(i, it)| (i.to_string(), it)).collect()
        }
        _ => return,
    };
    for (name, value) in inner {
        let place = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        places(value, &place, all);
        all.push(place);
    }
}

#[test]
fn a_field_that_is_null_does_not_hide_its_line() {
    for adapter in super::ADAPTERS {
        let name = format!("{}-ok", adapter.name);
        let whole = recording(&name);
        for line in whole.stdout.split(|byte| *byte == b'\n') {
            let Ok(value) = serde_json::from_slice::<Value>(line) else {
                continue;
            };
            let mut all = Vec::new();
            places(&value, "", &mut all);
            // Without these a line cannot be understood.
            all.retain(|place| !["/type", "/item", "/item/type"].contains(&place.as_str()));
            for place in &all {
                let mut changed = value.clone();
                *changed.pointer_mut(place).expect("a place of the value") = Value::Null;
                let mut reader = whole.output.reader(&when());
                let events = reader.line(changed.to_string().as_bytes(), false);
                let is_hidden = matches!(events.as_slice(), [AgentEvent::Unknown { .. }]);
                assert!(!is_hidden, "{name}: {place} of {events:?}");
            }
        }
    }
}
