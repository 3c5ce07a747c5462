use pretty_assertions::assert_eq;

use super::*;
use crate::agent_event::AgentEvent;
use crate::dialect::{StreamEnd, TurnEnd};
use crate::promise::Promise;

fn goose(lines: &[&str]) -> (Vec<AgentEvent>, StreamEnd) {
    let mut reader = ADAPTER.output.reader(&jiff::Zoned::default());
    let mut events = Vec::new();
    for line in lines {
        events.extend(reader.line(line.as_bytes(), false));
    }
    (events, reader.verdict())
}

fn says(id: &str, text: &str) -> String {
    format!(
        r#"{{"type":"message","message":{{"id":{id},"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}}}"#
    )
}

const DONE: &str = r#"{"type":"complete","total_tokens":null}"#;

#[test]
fn words_are_joined_and_decide_once_it_is_complete() {
    let (a, b) = (
        says("\"1\"", "<promise>COMP"),
        says("\"1\"", "LETE</promise>"),
    );
    let (events, end) = goose(&[&a, &b]);
    assert_eq!((events.len(), end.turn), (0, TurnEnd::Open));
    let (_, end) = goose(&[&a, &b, DONE]);
    assert_eq!(
        (end.promise, end.turn),
        (Some(Promise::Complete), TurnEnd::Ended)
    );
    let (_, end) = goose(&[&a, &b, &says("\"2\"", "One more thing."), DONE]);
    assert_eq!((end.promise, end.turn), (None, TurnEnd::Ended));
}

#[test]
fn its_figures_are_those_of_the_session() {
    let total =
        |input: u64| format!(r#"{{"type":"complete","input_tokens":{input},"output_tokens":5}}"#);
    let earlier = Usage {
        input_tokens: 100,
        output_tokens: 2,
        ..Usage::default()
    };
    let used = |total: &str| {
        let mut reader = ADAPTER.output.reader(&jiff::Zoned::default());
        reader.set_earlier_usage(earlier);
        reader.line(total.as_bytes(), false);
        let usage = reader.verdict().usage;
        (usage.input_tokens, usage.output_tokens)
    };
    assert_eq!(used(&total(140)), (40, 3));
    // A smaller total cannot include what was used before.
    assert_eq!(used(&total(90)), (90, 5));
}

#[test]
fn a_failure_is_one_only_where_no_model_said_it() {
    let text = "Ran into this error: Rate limit exceeded: slow.\\n\\nPlease retry if you think so.";
    let (events, end) = goose(&[&says("null", text), DONE]);
    let message = "Rate limit exceeded: slow.".to_owned();
    assert_eq!(
        end.limit().map(|limit| limit.message),
        Some(message.clone())
    );
    assert_eq!(end.turn, TurnEnd::EndedWithError);
    assert!(events.contains(&AgentEvent::Limit {
        message,
        resets_at: None
    }));
    let (_, end) = goose(&[&says("\"1\"", text), DONE]);
    assert_eq!((end.limit(), end.turn), (None, TurnEnd::Ended));
    let login = "Ran into this error: Authentication failed. Status: 401 Unauthorized.";
    let (_, end) = goose(&[&says("null", login), DONE]);
    assert!(end.auth().is_some_and(|message| message.ends_with(LOG_IN)));
}
