use pretty_assertions::assert_eq;

use super::*;
use crate::agent_event::{AgentEvent, Usage};
use crate::dialect::StreamEnd;

fn qwen(lines: &[&str]) -> (Vec<AgentEvent>, StreamEnd) {
    let mut reader = ADAPTER.output.reader(&jiff::Zoned::default());
    let mut events = Vec::new();
    for line in lines {
        events.extend(reader.line(line.as_bytes(), false));
    }
    (events, reader.verdict())
}

#[test]
fn a_failed_request_is_reported_once() {
    let text = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"[API Error: 401 no key]"}]}}"#;
    let result = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"error":{"message":"[API Error: 401 no key]"}}"#;
    let (events, end) = qwen(&[text, result]);
    let message = format!("401 no key\n{LOG_IN}");
    let want = [
        AgentEvent::Auth {
            cause: Refusal::Login,
            message: message.clone(),
        },
        AgentEvent::Final { is_error: true },
        AgentEvent::usage(Usage::default()),
    ];
    assert_eq!(events, want);
    assert_eq!(
        (end.auth(), end.turn),
        (Some(message), TurnEnd::EndedWithError)
    );
}

#[test]
fn a_missing_choice_of_login_is_no_crash() {
    let result = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"error":{"message":"No auth type is selected. Please configure one."}}"#;
    assert!(qwen(&[result]).1.auth().is_some());
}

#[test]
fn an_hour_of_waiting_is_cut_short() {
    let mut reader = ADAPTER.output.reader(&jiff::Zoned::default());
    let mut wait = |attempt: u32| {
        let line = format!("Retrying in 60s (attempt {attempt}/10): [API Error: 429 rate limit]");
        reader.stderr_line(line.as_bytes())
    };
    assert_eq!((wait(1), wait(2)), (Vec::new(), Vec::new()));
    let events = wait(3);
    assert!(matches!(events.as_slice(), [AgentEvent::Limit { .. }]));
    assert!(reader.verdict().limit().is_some());
    let goes_on = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Hello."}]}}"#;
    reader.line(goes_on.as_bytes(), false);
    assert_eq!(reader.verdict().limit(), None);
}

#[test]
fn what_a_sub_agent_says_is_not_heard() {
    let sub = r#"{"type":"assistant","parent_tool_use_id":"t","message":{"content":[{"type":"text","text":"<promise>COMPLETE</promise>"}]}}"#;
    assert_eq!(qwen(&[sub]).1.promise, None);
}
