//! Recordings of real runs of every agent, and what each must amount to.

use std::fmt::Write as _;
use std::path::PathBuf;

use jiff::Zoned;
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::agent_event::{AgentEvent, Refusal, Usage, start_of};
use crate::dialect::{Output, ProcessEnd, StreamEnd, Trouble, TurnEnd};
use crate::promise::Promise;

mod sessions;
mod table;

use table::TABLE;

/// How much of a message is compared.
const MESSAGE_START: usize = 48;

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
        // Some say nothing but an error.
        stdout: read("jsonl").unwrap_or_default(),
        stderr: String::from_utf8(stderr).expect("text"),
    }
}

fn when() -> Zoned {
    "2026-11-15T19:30:00+00:00[UTC]".parse().expect("a time")
}

fn read(recording: &Recording, code: Option<i32>) -> (Vec<AgentEvent>, StreamEnd) {
    continued(recording, code, Usage::default())
}

/// Reads a recording of a session that used this much before.
fn continued(
    recording: &Recording,
    code: Option<i32>,
    earlier: Usage,
) -> (Vec<AgentEvent>, StreamEnd) {
    let mut reader = recording.output.reader(&when());
    reader.set_folder("/repo");
    reader.set_earlier_usage(earlier);
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
    let _ = write!(line, " | {}", figures(&end.usage));
    let count = |is: fn(&AgentEvent) -> bool| events.iter().filter(|event| is(event)).count();
    let calls = count(|event| matches!(event, AgentEvent::ToolCall { .. }));
    let failed = count(|event| matches!(event, AgentEvent::ToolResult { is_error: true, .. }));
    let unknown = count(|event| matches!(event, AgentEvent::Unknown { .. }));
    let _ = write!(line, " | {calls}/{failed}/{unknown} |");
    line + &trouble(end)
}

fn figures(usage: &Usage) -> String {
    let mut figures = format!(
        "{}+{}+{}+{}",
        usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens
    );
    if let Some(cost) = usage.cost_usd {
        let _ = write!(figures, " ${cost:.6}");
    }
    figures
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
