use pretty_assertions::assert_eq;

use super::*;
use crate::adapters::{Role, SessionArg};
use crate::dialect::StreamEnd;
use crate::promise::Promise;

const BEGIN: &str = r#"{"type":"step_start","timestamp":1794770709183,"sessionID":"s1","part":{}}"#;

fn opencode(lines: &[&str]) -> (Vec<AgentEvent>, StreamEnd) {
    let mut reader = ADAPTER.output.reader(&jiff::Zoned::default());
    reader.set_folder("/home/me/repo");
    let mut events = Vec::new();
    for line in lines {
        events.extend(reader.line(line.as_bytes(), false));
    }
    let ended = ProcessEnd {
        code: Some(0),
        stderr: "",
    };
    events.extend(reader.end(&ended));
    (events, reader.verdict())
}

fn says(text: &str, more: &str) -> String {
    let text = text.replace('\n', "\\n");
    format!(r#"{{"type":"text","sessionID":"s1","part":{{"text":"{text}"{more}}}}}"#)
}

fn ends(reason: &str) -> String {
    format!(
        r#"{{"type":"step_finish","sessionID":"s1","part":{{"reason":"{reason}","tokens":{{"input":10,"output":2,"reasoning":1,"cache":{{"read":4,"write":3}}}},"cost":0.5}}}}"#
    )
}

fn fails(name: &str, data: &str) -> String {
    format!(
        r#"{{"type":"error","timestamp":1794770860966,"sessionID":"s1","error":{{"name":"{name}","data":{{{data}}}}}}}"#
    )
}

#[test]
fn a_model_is_asked_for_with_its_provider() {
    let chosen = ADAPTER.command_line(
        Some("openai/gpt-5"),
        SessionArg::New { id: None },
        Role::Worker,
    );
    assert_eq!(chosen[..4], ["opencode", "run", "--format", "json"]);
    assert_eq!(chosen[chosen.len() - 2..], ["-m", "openai/gpt-5"]);
}

#[test]
fn credentials_are_counted() {
    let none = "┌  Credentials ~/.local/share/opencode/auth.json\n│\n└  0 credentials\n";
    assert_eq!(credentials_in(none), Some(false));
    let one =
        format!("{none}┌  Environment\n●  OpenAI OPENAI_API_KEY\n└  1 environment variable\n");
    assert_eq!(credentials_in(&one), Some(true));
    assert_eq!(credentials_in("└  2 credentials"), Some(true));
    assert_eq!(credentials_in("something else"), None);
}

#[test]
fn steps_are_added_up() {
    let tool = r#"{"type":"tool_use","sessionID":"s1","part":{"tool":"edit","state":{"status":"completed","input":{"filePath":"/home/me/repo/a.rs","oldString":"x"},"output":"ok","metadata":{"exit":3}}}}"#;
    let last = says("<promise>COMPLETE</promise>", "");
    let (first_end, last_end) = (ends("tool-calls"), ends("stop"));
    let (events, end) = opencode(&[BEGIN, tool, &first_end, BEGIN, &last, &last_end]);
    let usage = |steps: u64| Usage {
        input_tokens: 10 * steps,
        output_tokens: 3 * steps,
        cache_read_tokens: 4 * steps,
        cache_write_tokens: 3 * steps,
        cost_usd: Some(if steps == 1 { 0.5 } else { 1.0 }),
    };
    let want = [
        AgentEvent::Session {
            id: "s1".into(),
            model: None,
        },
        AgentEvent::ToolCall {
            tool: "edit".into(),
            summary: "a.rs".into(),
        },
        AgentEvent::ToolResult {
            bytes: 2,
            is_error: true,
            tail: vec!["ok".into()],
        },
        AgentEvent::usage(usage(1)),
        AgentEvent::Text {
            text: "<promise>COMPLETE</promise>".into(),
        },
        AgentEvent::Final { is_error: false },
        AgentEvent::usage(usage(2)),
    ];
    assert_eq!(events, want);
    let want = StreamEnd {
        promise: Some(Promise::Complete),
        turn: TurnEnd::Ended,
        usage: usage(2),
        session: Some("s1".into()),
        began: true,
        ..StreamEnd::default()
    };
    assert_eq!(end, want);
}

#[test]
fn a_later_step_overrules_an_earlier_answer() {
    let complete = says("<promise>COMPLETE</promise>", "");
    let go_on = says(
        "<promise>COMPLETE</promise>\nContinue if you have next steps",
        r#","synthetic":true,"metadata":{"compaction_continue":true}"#,
    );
    let (stop, ok) = (ends("stop"), says("ok", ""));
    let (_, end) = opencode(&[BEGIN, &complete, &stop, BEGIN, &ok, &stop]);
    assert_eq!((end.promise, end.turn), (None, TurnEnd::Ended));
    let (events, end) = opencode(&[BEGIN, &complete, &stop, &go_on]);
    assert_eq!((end.promise, end.turn), (None, TurnEnd::Open));
    // What follows a final message shows that the agent goes on.
    assert!(matches!(events.last(), Some(AgentEvent::Thinking { .. })));
}

#[test]
fn a_promise_before_a_tool_call_is_void() {
    let complete = says("<promise>COMPLETE</promise>", "");
    let call = r#"{"type":"tool_use","sessionID":"s1","part":{"tool":"bash","state":{"status":"error","error":"no"}}}"#;
    let (_, end) = opencode(&[BEGIN, &complete, call, &ends("stop")]);
    assert_eq!((end.promise, end.turn), (None, TurnEnd::Ended));
    let (_, end) = opencode(&[BEGIN, call, &complete, &ends("stop")]);
    assert_eq!(end.promise, Some(Promise::Complete));
}

#[test]
fn an_answer_without_a_promise_may_not_be_the_last() {
    let is_final = |event: &AgentEvent| matches!(event, AgentEvent::Final { .. });
    let mut reader = ADAPTER.output.reader(&jiff::Zoned::default());
    reader.line(says("no marker", "").as_bytes(), false);
    let events = reader.line(ends("stop").as_bytes(), false);
    assert!(!events.iter().any(is_final));
    let ended = ProcessEnd {
        code: Some(0),
        stderr: "",
    };
    assert_eq!(reader.end(&ended), [AgentEvent::Final { is_error: false }]);
}

#[test]
fn what_a_sub_agent_says_is_not_heard() {
    let child = r#"{"type":"text","sessionID":"s2","part":{"text":"<promise>COMPLETE</promise>"}}"#;
    let (events, end) = opencode(&[BEGIN, child]);
    assert_eq!((events.len(), end.promise), (1, None));
}

#[test]
fn an_error_counts_unless_a_step_follows_it() {
    let overflow = fails("ContextOverflowError", r#""message":"too long""#);
    let (_, end) = opencode(&[&overflow]);
    assert_eq!(
        (end.overflow().as_deref(), end.turn),
        (Some("too long"), TurnEnd::EndedWithError)
    );
    let (complete, stop) = (says("<promise>COMPLETE</promise>", ""), ends("stop"));
    let (_, end) = opencode(&[&overflow, BEGIN, &complete, &stop]);
    assert_eq!(
        (end.overflow(), end.promise, end.turn),
        (None, Some(Promise::Complete), TurnEnd::Ended)
    );
    let (_, end) = opencode(&[BEGIN, &complete, &ends("length")]);
    assert_eq!(
        (end.error().as_deref(), end.turn),
        (
            Some("the answer ended early: length"),
            TurnEnd::EndedWithError
        )
    );
}

#[test]
fn trouble_is_sorted_by_its_status() {
    let end = |name: &str, data: &str| opencode(&[&fails(name, data)]).1;
    let limit = |headers: &str| {
        let data = format!(r#""message":"slow","statusCode":429,"responseHeaders":{{{headers}}}"#);
        let limit = end("APIError", &data).limit().unwrap();
        limit.resets_at.map(|at| at.to_string())
    };
    assert_eq!(
        limit(r#""retry-after":"3600""#).as_deref(),
        Some("2026-11-15T20:27:40.966Z")
    );
    assert_eq!(
        limit(r#""retry-after":"9","retry-after-ms":"34""#).as_deref(),
        Some("2026-11-15T19:27:41Z")
    );
    assert_eq!(
        limit(r#""retry-after":"Wed, 21 Oct 2026 07:28:00 GMT""#),
        None
    );
    for (name, data) in [
        ("APIError", r#""message":"no","statusCode":401"#),
        ("APIError", r#""message":"no","statusCode":403"#),
        ("ProviderAuthError", r#""message":"no","providerID":"x""#),
    ] {
        let want = format!("no\n{LOG_IN}");
        assert_eq!(end(name, data).auth(), Some(want), "{name} {data}");
    }
    let model = end(
        "APIError",
        r#""message":"gone","statusCode":404,"responseBody":"{\"code\":\"model_not_found\"}""#,
    );
    assert!(model.auth().unwrap().contains("--model"));
    let quota =
        r#""message":"no","statusCode":429,"responseBody":"{\"code\":\"insufficient_quota\"}""#;
    assert!(end("APIError", quota).auth().unwrap().contains("credit"));
    let down = end("APIError", r#""message":"x","statusCode":503"#);
    assert!(down.limit().unwrap().is_outage);
    let unknown = end("UnknownError", r#""message":"Unexpected server error""#);
    assert_eq!(unknown.error().as_deref(), Some("Unexpected server error"));
}

#[test]
fn its_log_tells_what_it_waits_for() {
    let log = |more: &str, words: &str| {
        format!(
            r#"timestamp=2026-11-16T07:23:12.964Z level=ERROR run=9ce0888d message="stream error" providerID=p {more} error.error="AI_APICallError: {words}""#
        )
    };
    let mut reader = ADAPTER.output.reader(&jiff::Zoned::default());
    let limited = log(
        "small=false agent=build",
        "This request would exceed your rate limit",
    );
    let reported = reader.stderr_line(limited.as_bytes());
    let message = "This request would exceed your rate limit".to_owned();
    assert_eq!(reported, [AgentEvent::Retrying { message }]);
    assert!(reader.verdict().limit().is_some());
    reader.line(BEGIN.as_bytes(), false);
    assert_eq!(reader.verdict().limit(), None);

    let title = log("small=true agent=title", "rate limit");
    assert_eq!(reader.stderr_line(title.as_bytes()), []);
    assert_eq!(reader.stderr_line(b"a rate limit is near"), []);
    assert_eq!(reader.verdict().limit(), None);
}
