use pretty_assertions::assert_eq;

use super::*;
use crate::agent_event::{AgentEvent, Refusal};
use crate::dialect::{StreamEnd, TurnEnd};
use crate::promise::Promise;

fn pi(lines: &[&str]) -> (Vec<AgentEvent>, StreamEnd) {
    let mut reader = ADAPTER.output.reader(&jiff::Zoned::default());
    let mut events = Vec::new();
    for line in lines {
        events.extend(reader.line(line.as_bytes(), false));
    }
    (events, reader.verdict())
}

fn says(text: &str, stop: &str) -> String {
    format!(
        r#"{{"type":"message_end","message":{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}],"stopReason":"{stop}"}}}}"#
    )
}

const COMPLETE: &str = "<promise>COMPLETE</promise>";
const SETTLED: &str = r#"{"type":"agent_settled"}"#;
const ENDS: &str = r#"{"type":"agent_end","messages":[],"willRetry":false}"#;

#[test]
fn a_promise_counts_once_the_agent_has_settled() {
    let complete = says(COMPLETE, "stop");
    let (_, end) = pi(&[&complete, ENDS]);
    assert_eq!(end.turn, TurnEnd::Open);
    let (_, end) = pi(&[&complete, ENDS, SETTLED]);
    assert_eq!(
        (end.promise, end.turn),
        (Some(Promise::Complete), TurnEnd::Ended)
    );
    let (_, end) = pi(&[&says(COMPLETE, "length"), SETTLED]);
    assert_eq!(end.turn, TurnEnd::EndedWithError);
    let echo = complete.replace("assistant", "user");
    assert_eq!(pi(&[&echo, SETTLED]).1.promise, None);
}

#[test]
fn a_request_that_failed_for_good_is_no_success_whatever_the_exit_code() {
    let failed = |message: &str| {
        let message = message.replace('"', "\\\"");
        let line = format!(
            r#"{{"type":"message_end","message":{{"role":"assistant","content":[],"stopReason":"error","errorMessage":"{message}"}}}}"#
        );
        pi(&[&line, ENDS, SETTLED])
    };
    let (events, end) = failed(r#"401: {"message":"bad key"}"#);
    let message = format!("bad key\n{LOG_IN}");
    assert_eq!(
        events,
        [
            AgentEvent::Auth {
                cause: Refusal::Login,
                message: message.clone()
            },
            AgentEvent::Final { is_error: true }
        ]
    );
    assert_eq!(end.auth(), Some(message));
    assert!(failed(r#"429: {"message":"slow"}"#).1.limit().is_some());
    assert_eq!(failed("odd").1.error().as_deref(), Some("odd"));
}

#[test]
fn a_retry_that_works_forgets_the_failure() {
    let failed = r#"{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"429: {}"}}"#;
    let retry = r#"{"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":2000,"errorMessage":"429: {\"message\":\"slow\"}"}"#;
    let (events, end) = pi(&[failed, retry, &says(COMPLETE, "stop"), SETTLED]);
    let message = "slow, retry 1 of 3".to_owned();
    assert_eq!(events[0], AgentEvent::Retrying { message });
    assert_eq!((end.limit(), end.turn), (None, TurnEnd::Ended));
}
