use jiff::Timestamp;
use pretty_assertions::assert_eq;

use super::*;
use crate::agent_event::AgentEvent;
use crate::dialect::{Limit, ProcessEnd, StreamEnd};
use crate::promise::Promise;

fn claude(lines: &[&str]) -> (Vec<AgentEvent>, StreamEnd) {
    let mut reader = ADAPTER.output.reader(&jiff::Zoned::default());
    let mut events = Vec::new();
    for line in lines {
        events.extend(reader.line(line.as_bytes(), false));
    }
    events.extend(reader.end(&ProcessEnd::default()));
    (events, reader.verdict())
}

fn words(text: &str) -> AgentEvent {
    AgentEvent::Text { text: text.into() }
}

const INIT: &str =
    r#"{"type":"system","subtype":"init","session_id":"s1","model":"m1","tools":["Bash"]}"#;
const SAYS_COMPLETE: &str = r#"{"type":"assistant","message":{"id":"a1","content":[{"type":"text","text":"Done.\n\n<promise>COMPLETE</promise>"}],"usage":{"input_tokens":7,"output_tokens":1}},"parent_tool_use_id":null}"#;
const COMPLETE: &str = r#"{"duration_api_ms":0,"total_cost_usd":0.5,"usage":{"input_tokens":9,"output_tokens":4},"modelUsage":{"m1":{"inputTokens":10,"outputTokens":5,"cacheReadInputTokens":2,"cacheCreationInputTokens":1,"costUSD":0.4},"m2":{"inputTokens":1,"outputTokens":1,"costUSD":0.1}},"permission_denials":[],"is_error":false,"subtype":"success","result":"Done.\n\n<promise>COMPLETE</promise>","type":"result"}"#;

const USED: Usage = Usage {
    input_tokens: 11,
    output_tokens: 6,
    cache_read_tokens: 2,
    cache_write_tokens: 1,
    cost_usd: Some(0.5),
};

fn completed() -> StreamEnd {
    StreamEnd {
        promise: Some(Promise::Complete),
        turn: TurnEnd::Ended,
        usage: USED,
        session: Some("s1".into()),
        began: true,
        ..StreamEnd::default()
    }
}

#[test]
fn claude_tells_words_tools_and_usage() {
    let tool = r#"{"message":{"content":[{"name":"Bash","input":{"description":"runs tests","command":"cargo test\n  --lib","timeout":3},"type":"tool_use"}],"id":"a0","usage":{"input_tokens":3}},"parent_tool_use_id":null,"type":"assistant"}"#;
    let thought = r#"{"type":"assistant","message":{"id":"a0","content":[{"type":"thinking","thinking":"hm","signature":"x"}]}}"#;
    let answer = r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"12345","is_error":true}]},"parent_tool_use_id":null}"#;
    let blocks = r#"{"type":"user","message":{"content":[{"type":"tool_result","content":[{"type":"text","text":"abc"},{"type":"text","text":"d"}]}]}}"#;
    let (events, end) = claude(&[INIT, thought, tool, answer, blocks, SAYS_COMPLETE, COMPLETE]);
    let used = |input_tokens, output_tokens| {
        AgentEvent::usage(Usage {
            input_tokens,
            output_tokens,
            ..Usage::default()
        })
    };
    let want = [
        AgentEvent::Session {
            id: "s1".into(),
            model: Some("m1".into()),
        },
        AgentEvent::Thinking { text: "hm".into() },
        AgentEvent::ToolCall {
            tool: "Bash".into(),
            summary: "cargo test --lib".into(),
        },
        used(3, 0),
        AgentEvent::ToolResult {
            bytes: 5,
            is_error: true,
            tail: vec!["12345".into()],
        },
        AgentEvent::ToolResult {
            bytes: 4,
            is_error: false,
            tail: vec!["abc".into(), "d".into()],
        },
        words("Done.\n\n<promise>COMPLETE</promise>"),
        used(10, 1),
        AgentEvent::Final { is_error: false },
        AgentEvent::usage(USED),
    ];
    assert_eq!(events, want);
    assert_eq!(end, completed());
}

#[test]
fn claude_names_files_as_seen_from_its_folder() {
    let init = r#"{"type":"system","subtype":"init","cwd":"/home/me/repo","session_id":"s1"}"#;
    let call = |input: &str| {
        let line = format!(
            r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","name":"T","input":{input}}}]}}}}"#
        );
        let (events, _) = claude(&[init, &line]);
        let AgentEvent::ToolCall { summary, .. } = &events[1] else {
            panic!("{events:?}");
        };
        summary.clone()
    };
    let read = |path: &str| call(&format!(r#"{{"file_path":"{path}"}}"#));
    assert_eq!(read("/home/me/repo/src/lib.rs"), "src/lib.rs");
    assert_eq!(read("/home/me/repo"), ".");
    assert_eq!(read("/home/me/repository/a"), "/home/me/repository/a");
    assert_eq!(read("/etc/hosts"), "/etc/hosts");
    assert_eq!(
        call(r#"{"command":"/home/me/repo/run"}"#),
        "/home/me/repo/run"
    );
}

#[test]
fn claude_ignores_what_sub_agents_tools_and_thoughts_promise() {
    let sub = r#"{"type":"assistant","message":{"id":"b1","content":[{"type":"text","text":"<promise>COMPLETE</promise>"}]},"parent_tool_use_id":"t1"}"#;
    let thought = r#"{"type":"assistant","message":{"id":"b2","content":[{"type":"thinking","thinking":"<promise>COMPLETE</promise>"}]}}"#;
    let tool = r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"<promise>COMPLETE</promise>"}]},"parent_tool_use_id":null}"#;
    let echo = r#"{"type":"user","message":{"content":"<promise>COMPLETE</promise>"},"parent_tool_use_id":null}"#;
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"I gave up."}"#;
    let (events, end) = claude(&[sub, thought, tool, echo, result]);
    assert_eq!((end.promise, end.turn), (None, TurnEnd::Ended));
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, AgentEvent::Text { .. }))
    );
}

#[test]
fn claude_lets_a_later_turn_overrule_an_earlier_one() {
    let failed = r#"{"type":"result","subtype":"success","is_error":false,"result":"<promise>FAILED: broke</promise>"}"#;
    let (_, end) = claude(&[INIT, SAYS_COMPLETE, COMPLETE, INIT, failed]);
    assert_eq!(
        (end.promise, end.turn),
        (Some(Promise::Failed("broke".into())), TurnEnd::Ended)
    );

    let (_, end) = claude(&[INIT, SAYS_COMPLETE, COMPLETE, INIT]);
    assert_eq!((end.promise, end.turn), (None, TurnEnd::Open));

    let later = r#"{"type":"system","subtype":"task_notification","status":"completed"}"#;
    assert_eq!(
        claude(&[INIT, SAYS_COMPLETE, COMPLETE, later]).1,
        completed()
    );
}

#[test]
fn claude_uses_the_last_message_where_the_result_has_no_text() {
    let result = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"errors":["Reached maximum number of turns (1)"]}"#;
    let (events, end) = claude(&[INIT, SAYS_COMPLETE, result]);
    assert_eq!(
        (end.promise.clone(), end.turn),
        (Some(Promise::Complete), TurnEnd::EndedWithError)
    );
    assert_eq!(
        end.error().as_deref(),
        Some("Reached maximum number of turns (1)")
    );
    let last = events.iter().rev().nth(1);
    assert_eq!(last, Some(&AgentEvent::Final { is_error: true }));
}

#[test]
fn claude_without_a_result_is_not_over() {
    let (_, end) = claude(&[INIT, SAYS_COMPLETE]);
    assert_eq!(
        (end.promise, end.turn),
        (Some(Promise::Complete), TurnEnd::Open)
    );
    assert_eq!((end.usage.input_tokens, end.usage.cost_usd), (7, None));
}

#[test]
fn claude_reports_limits_with_their_end() {
    let rejected = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794792000,"rateLimitType":"five_hour"}}"#;
    let warned = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1794792000,"utilization":0.93}}"#;
    let error = r#"{"type":"assistant","message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"You've hit your limit"}]},"error":"rate_limit","is_api_error_message":true,"api_error_status":429,"api_error":"usage_limit_reached"}"#;
    let result = r#"{"is_error":true,"subtype":"success","api_error_status":429,"api_error":"usage_limit_reached","result":"You've hit your limit","type":"result"}"#;
    let at = Timestamp::from_second(1_794_792_000).ok();
    let limit = |resets_at| {
        Some(Limit {
            message: "You've hit your limit".into(),
            resets_at,
            is_outage: false,
        })
    };

    let (events, end) = claude(&[INIT, rejected, error, result]);
    assert_eq!(
        (end.limit(), end.turn),
        (limit(at), TurnEnd::EndedWithError)
    );
    let limits = events
        .iter()
        .filter(|event| matches!(event, AgentEvent::Limit { .. }));
    assert_eq!(limits.count(), 1);

    assert_eq!(claude(&[rejected, result]).1.limit(), limit(at));
    assert_eq!(claude(&[warned, error, result]).1.limit(), limit(None));
    assert_eq!(
        claude(&[INIT, warned, SAYS_COMPLETE, COMPLETE]).1,
        completed()
    );
    assert_eq!(
        claude(&[INIT, rejected, SAYS_COMPLETE, COMPLETE]).1,
        completed()
    );
    let plain = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"You've hit your limit"}"#;
    assert_eq!(claude(&[plain]).1.limit(), limit(None));
    let error = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"You've hit your limit"}]},"error":"server_error","is_api_error_message":true,"api_error_status":529,"api_error_type":"overloaded_error"}"#;
    let overloaded = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"You've hit your limit"}"#;
    let outage = limit(None).map(|limit| Limit {
        is_outage: true,
        ..limit
    });
    assert_eq!(claude(&[error, overloaded]).1.limit(), outage);
}

#[test]
fn claude_reports_login_and_credit_trouble() {
    let login = "no key\nlog in with `claude auth login`, or check `ANTHROPIC_API_KEY`";
    for (category, cause, want) in [
        ("authentication_failed", Refusal::Login, login),
        (
            "billing_error",
            Refusal::Credit,
            "no key\nadd credit to the account, or log in with another one",
        ),
        ("account_on_hold", Refusal::Other, "no key"),
    ] {
        let error = format!(
            r#"{{"type":"assistant","message":{{"content":[{{"type":"text","text":"no key"}}]}},"error":"{category}","is_api_error_message":true,"api_error_status":400}}"#
        );
        let result = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":400,"result":"no key"}"#;
        let (events, end) = claude(&[&error, result]);
        assert_eq!(end.auth().as_deref(), Some(want));
        assert_eq!(
            events[0],
            AgentEvent::Auth {
                cause,
                message: want.into()
            }
        );
    }
    let bare = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"no key"}"#;
    assert_eq!(claude(&[bare]).1.auth().as_deref(), Some(login));
}

#[test]
fn claude_gives_a_refused_login_up_early() {
    let retry = |attempt: u32, error: &str, status: u32| {
        format!(
            r#"{{"type":"system","subtype":"api_retry","attempt":{attempt},"max_retries":10,"retry_delay_ms":500,"error_status":{status},"error":"{error}"}}"#
        )
    };
    let refusals = |lines: &[String]| {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let (events, end) = claude(&lines);
        let is_auth = |event: &&AgentEvent| matches!(event, AgentEvent::Auth { .. });
        (events.iter().filter(is_auth).count(), end.auth())
    };
    let refused = |attempt| retry(attempt, "authentication_failed", 401);
    let message = "authentication failed (401)\nlog in with `claude auth login`, or check `ANTHROPIC_API_KEY`";
    assert_eq!(refusals(&[refused(1), refused(4)]), (0, None));
    assert_eq!(
        refusals(&[refused(4), refused(5), refused(6)]),
        (1, Some(message.into()))
    );
    assert_eq!(refusals(&[retry(9, "overloaded", 529)]), (0, None));
    let recovered = [refused(5), INIT.into(), COMPLETE.into()];
    assert_eq!(refusals(&recovered), (1, None));
}

#[test]
fn claude_that_goes_on_after_trouble_is_not_in_it() {
    let limit = r#"{"type":"assistant","is_api_error_message":true,"error":"rate_limit","message":{"id":"e","content":[{"type":"text","text":"limit"}]}}"#;
    let refused = r#"{"type":"system","subtype":"api_retry","attempt":5,"error":"authentication_failed","error_status":401}"#;
    let turns = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"errors":["too many turns"]}"#;
    for trouble in [limit, refused] {
        let (_, end) = claude(&[INIT, trouble, SAYS_COMPLETE]);
        assert_eq!((end.limit(), end.auth()), (None, None));
        let (_, end) = claude(&[INIT, trouble, SAYS_COMPLETE, turns]);
        assert_eq!((end.limit(), end.auth()), (None, None));
        assert_eq!(end.error().as_deref(), Some("too many turns"));
    }
}

#[test]
fn claude_keeps_other_api_errors_apart() {
    let error = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"<promise>COMPLETE</promise>"}]},"error":"invalid_request","is_api_error_message":true,"api_error_status":400}"#;
    let result = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":400,"result":"overload"}"#;
    let (_, end) = claude(&[error, result]);
    assert_eq!(end.error().as_deref(), Some("<promise>COMPLETE</promise>"));
    assert_eq!((end.limit(), end.auth(), end.promise), (None, None, None));

    let overflow = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":400,"terminal_reason":"prompt_too_long","result":"too much"}"#;
    assert_eq!(
        claude(&[overflow]).1.overflow().as_deref(),
        Some("too much")
    );
    let model = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"no such model"}]},"error":"model_not_found","is_api_error_message":true,"api_error_status":404}"#;
    let refusal = "no such model\nchoose another model with `--model` or `model = \"…\"`";
    assert_eq!(claude(&[model]).1.auth().as_deref(), Some(refusal));
}

#[test]
fn claude_spares_people_its_own_diagnostics() {
    #[track_caller]
    fn case(fields: &str, want: &str) {
        let line = format!(
            r#"{{"type":"result","subtype":"error_during_execution","is_error":true,{fields}}}"#
        );
        let (events, end) = claude(&[&line]);
        assert_eq!(end.error().as_deref(), Some(want));
        let message = want.to_owned();
        assert!(events.contains(&AgentEvent::Error { message }));
    }
    let noise = r#""[ede_diagnostic] result_type=user stop_reason=tool_use""#;
    case(
        &format!(r#""terminal_reason":"aborted_tools","errors":[{noise}]"#),
        "interrupted",
    );
    case(
        &format!(r#""terminal_reason":"aborted_tools","errors":[{noise},"no disk"]"#),
        "no disk",
    );
    case(&format!(r#""errors":[{noise}]"#), "error during execution");
}

#[test]
fn claude_says_that_it_retries() {
    let line = r#"{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"retry_delay_ms":1122.75,"error_status":429,"error":"rate_limit"}"#;
    let dropped = r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":500,"error_status":null,"error":"unknown"}"#;
    let retrying = |message: &str| AgentEvent::Retrying {
        message: message.into(),
    };
    let want = [
        retrying("rate limit (429), retry 2 of 10 in 1.1 s"),
        retrying("unknown, retry 1 of 10 in 0.5 s"),
    ];
    assert_eq!(claude(&[line, dropped]).0, want);
}

#[test]
fn claude_names_refused_tools() {
    let refused = r#"{"type":"system","subtype":"permission_denied","tool_name":"Bash","message":"not allowed"}"#;
    let (events, _) = claude(&[refused]);
    assert_eq!(
        events[0],
        AgentEvent::Error {
            message: "Bash was refused: not allowed".into()
        }
    );
}

#[test]
fn claude_survives_lines_it_does_not_know() {
    let mut reader = ADAPTER.output.reader(&jiff::Zoned::default());
    let unknown = |line: &str| vec![AgentEvent::Unknown { line: line.into() }];
    assert_eq!(reader.line(b"a banner", false), unknown("a banner"));
    assert_eq!(
        reader.line(br#"{"type":"new"}"#, false),
        unknown(r#"{"type":"new"}"#)
    );
    assert_eq!(
        reader.line(br#"{"type":"result","#, true),
        unknown(r#"{"type":"result","#)
    );
    assert_eq!(reader.line(b"  \r", false), []);
    assert_eq!(
        reader.line(br#"{"type":"tool_progress","heartbeat":true}"#, false),
        []
    );
    let bad = b"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"a\xff\"}]}}";
    assert_eq!(reader.line(bad, false), [words("a\u{fffd}")]);
    assert_eq!(reader.line(COMPLETE.as_bytes(), false).len(), 2);
    assert_eq!(reader.verdict().promise, Some(Promise::Complete));
}
