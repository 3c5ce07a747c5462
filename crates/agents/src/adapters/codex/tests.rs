use pretty_assertions::assert_eq;

use super::*;
use crate::adapters::{Role, SessionArg};
use crate::agent_event::Usage;
use crate::dialect::{Limit, StreamEnd};
use crate::promise::Promise;

const THREAD: &str = r#"{"type":"thread.started","thread_id":"t1"}"#;
const TURN: &str = r#"{"type":"turn.started"}"#;
const DONE: &str = r#"{"type":"turn.completed","usage":{"input_tokens":30,"cached_input_tokens":10,"cache_write_input_tokens":5,"output_tokens":7}}"#;

fn codex(lines: &[&str]) -> (Vec<AgentEvent>, StreamEnd) {
    let started = "2026-11-15T20:30:00+01:00[Europe/Berlin]".parse().unwrap();
    let mut reader = ADAPTER.output.reader(&started);
    reader.set_folder("/home/me/repo");
    let mut events = Vec::new();
    for line in lines {
        events.extend(reader.line(line.as_bytes(), false));
    }
    events.extend(reader.end(&ProcessEnd::default()));
    (events, reader.verdict())
}

fn says(text: &str) -> String {
    let text = text.replace('\n', "\\n");
    format!(
        r#"{{"type":"item.completed","item":{{"id":"m","type":"agent_message","text":"{text}"}}}}"#
    )
}

fn error(message: &str) -> String {
    format!(r#"{{"type":"error","message":"{message}"}}"#)
}

fn fails(message: &str) -> StreamEnd {
    let message = message.replace('"', "\\\"");
    let failed = format!(r#"{{"type":"turn.failed","error":{{"message":"{message}"}}}}"#);
    codex(&[THREAD, TURN, &error(&message), &failed]).1
}

#[test]
fn a_prompt_comes_by_standard_input_and_a_model_before_it() {
    let plain = ADAPTER.command_line(None, SessionArg::New { id: None }, Role::Worker);
    assert_eq!(plain[..3], ["codex", "exec", "--json"]);
    assert_eq!(plain.last().map(String::as_str), Some("-"));
    let chosen = ADAPTER.command_line(Some("gpt-5"), SessionArg::New { id: None }, Role::Worker);
    assert_eq!(chosen[chosen.len() - 3..], ["-m", "gpt-5", "-"]);
}

#[test]
fn words_tools_and_usage_are_reported() {
    let command = |kind: &str, output: &str, code: &str| {
        format!(
            r#"{{"type":"item.{kind}","item":{{"id":"i1","type":"command_execution","command":"/bin/bash -lc 'cargo test'","aggregated_output":"{output}","exit_code":{code},"status":"x"}}}}"#
        )
    };
    let change = r#"{"type":"item.completed","item":{"id":"i2","type":"file_change","changes":[{"path":"/home/me/repo/src/a.rs","kind":"add"},{"path":"/home/me/repo/b.rs","kind":"update"},{"path":"/etc/x","kind":"delete"}],"status":"completed"}}"#;
    let thought = r#"{"type":"item.completed","item":{"id":"i3","type":"reasoning","text":"hm"}}"#;
    let last = says("Done.\n<promise>COMPLETE</promise>");
    let (events, end) = codex(&[
        THREAD,
        TURN,
        thought,
        &command("started", "", "null"),
        &command("completed", "12345", "101"),
        change,
        &last,
        DONE,
    ]);
    let usage = Usage {
        input_tokens: 15,
        output_tokens: 7,
        cache_read_tokens: 10,
        cache_write_tokens: 5,
        cost_usd: None,
    };
    let call = |tool: &str, summary: &str| AgentEvent::ToolCall {
        tool: tool.into(),
        summary: summary.into(),
    };
    let want = [
        AgentEvent::Session {
            id: "t1".into(),
            model: None,
        },
        AgentEvent::Thinking { text: "hm".into() },
        call("shell", "cargo test"),
        AgentEvent::ToolResult {
            bytes: 5,
            is_error: true,
            tail: vec!["12345".into()],
        },
        call("edit", "add src/a.rs, b.rs, delete /etc/x"),
        AgentEvent::ToolResult {
            bytes: 0,
            is_error: false,
            tail: Vec::new(),
        },
        AgentEvent::Text {
            text: "Done.\n<promise>COMPLETE</promise>".into(),
        },
        AgentEvent::Final { is_error: false },
        AgentEvent::usage(usage),
    ];
    assert_eq!(events, want);
    let want = StreamEnd {
        promise: Some(Promise::Complete),
        turn: TurnEnd::Ended,
        usage,
        session: Some("t1".into()),
        began: true,
        ..StreamEnd::default()
    };
    assert_eq!(end, want);
}

#[test]
fn only_the_last_message_counts() {
    let complete = says("<promise>COMPLETE</promise>");
    let (_, end) = codex(&[TURN, &complete, &says("One more thing."), DONE]);
    assert_eq!((end.promise, end.turn), (None, TurnEnd::Ended));
    let tool =
        r#"{"type":"item.started","item":{"id":"i1","type":"command_execution","command":"ls"}}"#;
    let (_, end) = codex(&[TURN, &complete, tool, DONE]);
    assert_eq!(end.promise, None);
    let (_, end) = codex(&[TURN, &complete]);
    assert_eq!(
        (end.promise, end.turn),
        (Some(Promise::Complete), TurnEnd::Open)
    );
}

#[test]
fn a_plan_that_is_finished_after_the_last_word_takes_nothing_back() {
    let plan = |kind: &str| {
        format!(
            r#"{{"type":"item.{kind}","item":{{"id":"p","type":"todo_list","items":[{{"text":"a","completed":true}},{{"text":"b","completed":false}}]}}}}"#
        )
    };
    let complete = says("<promise>COMPLETE</promise>");
    let lines = [
        plan("started"),
        plan("updated"),
        complete,
        plan("completed"),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).chain([DONE]).collect();
    let (events, end) = codex(&lines);
    assert_eq!(end.promise, Some(Promise::Complete));
    assert_eq!(
        events[0],
        AgentEvent::ToolCall {
            tool: "plan".into(),
            summary: "1 of 2 done b".into()
        }
    );
}

#[test]
fn trouble_is_sorted_by_what_the_turn_failed_of() {
    let limit = |resets_at: Option<&str>| {
        let resets_at = resets_at.map(|at| at.parse().unwrap());
        move |message: &str| {
            Some(Limit {
                message: message.into(),
                resets_at,
                is_outage: false,
            })
        }
    };
    let used_up = "You’ve hit your usage limit. Visit x or try again at 11:20 PM.";
    let until = limit(Some("2026-11-15T22:21:00Z"));
    assert_eq!(fails(used_up).limit(), until(used_up));
    let many = "exceeded retry limit, last status: 429 Too Many Requests";
    assert_eq!(fails(many).limit(), limit(None)(many));
    for outage in [
        "unexpected status 529 <unknown status code>: Overloaded",
        "stream disconnected before completion: error sending request",
        "We’re currently experiencing high demand, which may cause temporary errors.",
    ] {
        let is_outage = fails(outage).limit().map(|limit| limit.is_outage);
        assert_eq!(is_outage, Some(true), "{outage}");
    }
    let auth = |message: &str| fails(message).auth().unwrap();
    let key = "unexpected status 401 Unauthorized: bad key";
    assert_eq!(auth(key), format!("{key}\n{LOG_IN}"));
    assert!(auth("Quota exceeded. Check your plan and billing details.").contains("billing, or"));
    assert!(auth("Missing environment variable: `MY_KEY`.").contains("`MY_KEY`"));
    assert!(auth("model not found").contains("--model"));
    assert!(
        auth(r#"{"detail":"The 'x' model is not supported when using Codex."}"#)
            .starts_with("The 'x' model is not supported when using Codex.\nchoose another model")
    );
    let overflow = |message: &str| fails(message).overflow().unwrap();
    let room = "Codex ran out of room in the model's context window. Start a new thread.";
    assert_eq!(overflow(room), room);
    assert_eq!(
        overflow(r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#),
        "too long"
    );
    let other = fails("something new");
    assert_eq!(other.error().as_deref(), Some("something new"));
    assert_eq!(other.turn, TurnEnd::EndedWithError);
}

#[test]
fn an_error_is_reported_once_and_fatal_only_if_the_turn_fails() {
    let odd = error("something odd");
    let (events, end) = codex(&[TURN, &odd, &says("ok"), DONE]);
    let reported = AgentEvent::Error {
        message: "something odd".into(),
    };
    assert_eq!(events[0], reported);
    assert_eq!((end.error(), end.turn), (None, TurnEnd::Ended));

    let failed = r#"{"type":"turn.failed","error":{"message":"something odd"}}"#;
    let (events, _) = codex(&[TURN, &odd, failed]);
    assert_eq!(events, [reported, AgentEvent::Final { is_error: true }]);
}

#[test]
fn an_error_that_nothing_follows_is_why_it_ended() {
    let (events, end) = codex(&[THREAD, TURN, &error("out of luck")]);
    let message = "out of luck".to_owned();
    assert_eq!(events.last(), Some(&AgentEvent::Error { message }));
    assert_eq!(end.error().as_deref(), Some("out of luck"));
    let (_, end) = codex(&[THREAD, TURN, &says("x"), DONE, &error("odd")]);
    assert_eq!((end.error(), end.turn), (None, TurnEnd::Ended));
}

#[test]
fn what_it_waits_for_is_known_until_it_goes_on() {
    let many = "exceeded retry limit, last status: 429 Too Many Requests";
    let retry = error(&format!("Reconnecting... 1/5 ({many})"));
    let (events, end) = codex(&[TURN, &retry]);
    assert_eq!(
        events,
        [AgentEvent::Retrying {
            message: format!("1/5 ({many})")
        }]
    );
    assert_eq!(end.limit().map(|limit| limit.message), Some(many.into()));
    let (_, end) = codex(&[TURN, &retry, &says("Recovered.")]);
    assert_eq!(end.limit(), None);
    let refused = error("Reconnecting... 1/5 (unexpected status 401 Unauthorized: no)");
    let (_, end) = codex(&[TURN, &refused]);
    assert_eq!((end.limit(), end.auth()), (None, None));
}

#[test]
fn a_network_that_stays_away_counts_as_down() {
    let waiting = error("Reconnecting... waiting for network (Connection failed: no)");
    let limits = |count: usize| {
        let lines = vec![waiting.as_str(); count];
        let (events, _) = codex(&lines);
        let is_limit = |event: &&AgentEvent| matches!(event, AgentEvent::Limit { .. });
        events.iter().filter(is_limit).count()
    };
    assert_eq!(limits(7), 0);
    assert_eq!(limits(8), 1);
    assert_eq!(limits(20), 1);
}

#[test]
fn a_prompt_that_is_too_large_is_an_overflow() {
    let mut reader = ADAPTER.output.reader(&Zoned::default());
    reader.line(THREAD.as_bytes(), false);
    let ended = ProcessEnd {
        code: Some(1),
        stderr: "Error: input_too_large: more than 1048576 characters",
    };
    assert_eq!(reader.end(&ended).len(), 1);
    assert!(reader.verdict().overflow().is_some());
}

#[test]
fn a_command_is_shown_without_its_shell_and_quotes() {
    for (command, want) in [
        ("/bin/bash -lc 'seq 1 4; ls'", "seq 1 4; ls"),
        ("/bin/bash -lc ls", "ls"),
        (
            r#"/bin/bash -lc "echo 'a b' > \"c\"""#,
            r#"echo 'a b' > "c""#,
        ),
        (
            r#"/bin/bash -lc 'mkdir "$(dirname '"'/a'"')"'"#,
            r#"mkdir "$(dirname '/a')""#,
        ),
        ("/bin/bash -lc ls more", "ls more"),
        ("/bin/bash -lc 'cut sho", "'cut sho"),
        ("cargo test", "cargo test"),
    ] {
        assert_eq!(bare(command), want);
    }
}
