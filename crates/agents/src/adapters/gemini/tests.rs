use pretty_assertions::assert_eq;

use super::*;
use crate::agent_event::AgentEvent;
use crate::dialect::StreamEnd;
use crate::promise::Promise;

const INIT: &str = r#"{"type":"init","session_id":"s1","model":"m1"}"#;
const DONE: &str = r#"{"type":"result","status":"success","stats":{"total_tokens":50,"input_tokens":30,"output_tokens":15,"cached":10}}"#;

fn gemini(lines: &[&str], ended: &ProcessEnd<'_>) -> (Vec<AgentEvent>, StreamEnd) {
    let mut reader = ADAPTER.output.reader(&jiff::Zoned::default());
    reader.set_folder("/home/me/repo");
    let mut events = Vec::new();
    for line in lines {
        events.extend(reader.line(line.as_bytes(), false));
    }
    events.extend(reader.end(ended));
    (events, reader.verdict())
}

fn read(lines: &[&str]) -> (Vec<AgentEvent>, StreamEnd) {
    gemini(lines, &ProcessEnd::default())
}

fn says(text: &str) -> String {
    let text = text.replace('\n', "\\n");
    format!(r#"{{"type":"message","role":"assistant","content":"{text}","delta":true}}"#)
}

fn fails(message: &str, code: i32) -> StreamEnd {
    let message = message.replace('"', "\\\"").replace('\n', "\\n");
    let line = format!(
        r#"{{"type":"result","timestamp":"2026-11-15T19:30:00Z","status":"error","error":{{"type":"unknown","message":"{message}"}}}}"#
    );
    let ended = ProcessEnd {
        code: Some(code),
        stderr: "",
    };
    gemini(&[INIT, &line], &ended).1
}

#[test]
fn words_are_joined_to_lines() {
    let echo = r#"{"type":"message","role":"user","content":"<promise>COMPLETE</promise>"}"#;
    let call = r#"{"type":"tool_use","tool_name":"read_file","parameters":{"absolute_path":"/home/me/repo/a.rs"}}"#;
    let answer =
        r#"{"type":"tool_result","status":"error","output":"abc","error":{"message":"de"}}"#;
    let pieces = [
        says("I lo"),
        says("ok.\nThen"),
        says("Done.\n\n<prom"),
        says("ise>COMPLETE</promise>"),
    ];
    let [a, b, c, d] = &pieces;
    let (events, end) = read(&[INIT, echo, a, b, call, answer, c, d, DONE]);
    let words = |text: &str| AgentEvent::Text { text: text.into() };
    let usage = Usage {
        input_tokens: 20,
        output_tokens: 20,
        cache_read_tokens: 10,
        cache_write_tokens: 0,
        cost_usd: None,
    };
    let want = [
        AgentEvent::Session {
            id: "s1".into(),
            model: Some("m1".into()),
        },
        words("I look."),
        words("Then"),
        AgentEvent::ToolCall {
            tool: "read_file".into(),
            summary: "a.rs".into(),
        },
        AgentEvent::ToolResult {
            bytes: 5,
            is_error: true,
            tail: vec!["abc".into(), "de".into()],
        },
        words("Done."),
        words(""),
        words("<promise>COMPLETE</promise>"),
        AgentEvent::Final { is_error: false },
        AgentEvent::usage(usage),
    ];
    assert_eq!(events, want);
    let want = StreamEnd {
        promise: Some(Promise::Complete),
        turn: TurnEnd::Ended,
        usage,
        session: Some("s1".into()),
        began: true,
        ..StreamEnd::default()
    };
    assert_eq!(end, want);
}

#[test]
fn a_promise_before_a_tool_call_or_a_broken_loop_is_void() {
    let complete = says("<promise>COMPLETE</promise>");
    let call = r#"{"type":"tool_use","tool_name":"t","parameters":{}}"#;
    let repeated =
        r#"{"type":"error","severity":"warning","message":"Loop detected, stopping execution"}"#;
    for between in [call, repeated] {
        let (_, end) = read(&[&complete, between, DONE]);
        assert_eq!((end.promise, end.turn), (None, TurnEnd::Ended));
    }
    let failed = says("\n<promise>FAILED: no</promise>");
    let (_, end) = read(&[&complete, &failed, DONE]);
    assert_eq!(end.promise, Some(Promise::Failed("no".into())));
}

#[test]
fn a_stream_that_breaks_off_is_not_over() {
    let (events, end) = read(&[INIT, &says("half a l")]);
    assert_eq!(events.len(), 2);
    assert_eq!((end.promise, end.turn), (None, TurnEnd::Open));
}

#[test]
fn a_line_without_an_end_stays_small() {
    let mut reader = ADAPTER.output.reader(&jiff::Zoned::default());
    let piece = says(&"x".repeat(60_000));
    for _ in 0..20 {
        assert_eq!(reader.line(piece.as_bytes(), false), []);
    }
    let events = reader.end(&ProcessEnd::default());
    let [AgentEvent::Text { text }] = events.as_slice() else {
        panic!("{events:?}");
    };
    assert!(text.len() < 17 * 1024 && text.ends_with('…'));
}

#[test]
fn trouble_is_sorted_by_code_and_words() {
    let key = fails(
        r#"[API Error: {"error":{"code":401,"message":"bad key"}}]"#,
        145,
    );
    assert_eq!(key.auth(), Some(format!("bad key\n{LOG_IN}")));
    let limit = |message: &str, code: i32| {
        let limit = fails(message, code).limit().unwrap();
        let at = limit.resets_at.map(|at| at.to_string());
        (limit.message, limit.is_outage, at)
    };
    let at = |text: &str| Some(text.to_owned());
    assert_eq!(
        limit(
            "[API Error: You have exhausted your daily quota on this model.]\nPlease wait",
            173
        ),
        (
            "You have exhausted your daily quota on this model.".into(),
            false,
            at("2026-11-16T08:00:00Z")
        )
    );
    assert_eq!(
        limit(
            r#"[API Error: {"error":{"code":429,"message":"Please retry in 20s."}}]"#,
            173
        ),
        (
            "Please retry in 20s.".into(),
            false,
            at("2026-11-15T19:30:20Z")
        )
    );
    assert_eq!(limit("[API Error: hm]", 173), ("hm".into(), false, None));
    assert_eq!(limit("[API Error: hm]", 244), ("hm".into(), true, None));
    assert_eq!(
        limit("[API Error: terminated]", 1),
        ("terminated".into(), true, None)
    );
    assert!(fails("[API Error: model not found]", 1).auth().is_some());
    let long =
        "[API Error: The input token count (9) exceeds the maximum number of tokens allowed]";
    assert!(fails(long, 144).overflow().is_some());
    let other = fails("[API Error: hm]", 1);
    assert_eq!(
        (other.error().as_deref(), other.turn),
        (Some("hm"), TurnEnd::EndedWithError)
    );
}

#[test]
fn an_exit_code_tells_where_the_stream_does_not() {
    let end = |code: i32, stderr: &str| {
        let ended = ProcessEnd {
            code: Some(code),
            stderr,
        };
        gemini(&[], &ended).1
    };
    let login = "YOLO mode is enabled.\nPlease set an Auth method\n";
    let want = format!("Please set an Auth method\n{LOG_IN}");
    assert_eq!(end(41, login).auth(), Some(want));
    assert_eq!(end(145, "").auth().is_some(), true);
    assert_eq!(end(173, "").limit().is_some(), true);
    assert_eq!(end(42, ""), StreamEnd::default());
    assert_eq!(end(0, ""), StreamEnd::default());
    let finished = gemini(
        &[DONE],
        &ProcessEnd {
            code: Some(173),
            stderr: "",
        },
    );
    assert_eq!(finished.1.limit(), None);
}

#[test]
fn its_complaints_tell_what_it_waits_for() {
    let mut reader = ADAPTER.output.reader(&jiff::Zoned::default());
    let line = b"Attempt 3 failed with status 429. Retrying with backoff... _ApiError: {}";
    let message = "attempt 3 failed with status 429".to_owned();
    assert_eq!(reader.stderr_line(line), [AgentEvent::Retrying { message }]);
    assert!(reader.verdict().limit().is_some());
    reader.line(says("Hello").as_bytes(), false);
    assert_eq!(reader.verdict().limit(), None);
    assert_eq!(reader.stderr_line(b"YOLO mode is enabled."), []);
}
