use pretty_assertions::assert_eq;

use super::*;
use crate::agent_event::AgentEvent;
use crate::dialect::{StreamEnd, TurnEnd};
use crate::promise::Promise;

fn copilot(lines: &[&str]) -> (Vec<AgentEvent>, StreamEnd) {
    let mut reader = ADAPTER.output.reader(&jiff::Zoned::default());
    let mut events = Vec::new();
    for line in lines {
        events.extend(reader.line(line.as_bytes(), false));
    }
    (events, reader.verdict())
}

const SAYS: &str =
    r#"{"type":"assistant.message","data":{"content":"<promise>COMPLETE</promise>"}}"#;
const DONE: &str = r#"{"type":"result","sessionId":"s1","exitCode":0}"#;

#[test]
fn a_promise_counts_in_the_last_message_of_the_main_agent() {
    let (_, end) = copilot(&[SAYS, DONE]);
    let want = StreamEnd {
        promise: Some(Promise::Complete),
        turn: TurnEnd::Ended,
        session: Some("s1".into()),
        began: true,
        ..StreamEnd::default()
    };
    assert_eq!(end, want);
    let sub = r#"{"type":"assistant.message","agentId":"a","data":{"content":"<promise>COMPLETE</promise>"}}"#;
    let echo = r#"{"type":"user.message","data":{"content":"<promise>COMPLETE</promise>"}}"#;
    assert_eq!(copilot(&[sub, echo, DONE]).1.promise, None);
    let call = r#"{"type":"tool.execution_start","data":{"toolName":"bash","arguments":{"command":"ls"}}}"#;
    assert_eq!(copilot(&[SAYS, call, DONE]).1.promise, None);
}

#[test]
fn an_error_of_the_session_decides() {
    let error = r#"{"type":"session.error","data":{"errorType":"rate_limit","message":"slow","statusCode":429}}"#;
    let failed = r#"{"type":"result","sessionId":"s1","exitCode":1}"#;
    let (events, end) = copilot(&[error, failed]);
    assert_eq!(end.limit().map(|limit| limit.message), Some("slow".into()));
    assert_eq!(end.turn, TurnEnd::EndedWithError);
    assert_eq!(events.last(), Some(&AgentEvent::Final { is_error: true }));
    let login = r#"{"type":"session.error","data":{"errorType":"authentication","message":"no"}}"#;
    assert_eq!(
        copilot(&[login, failed]).1.auth(),
        Some(format!("no\n{LOG_IN}"))
    );
}
