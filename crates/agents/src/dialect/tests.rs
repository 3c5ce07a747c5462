use pretty_assertions::assert_eq;

use super::{Limit, Output, ProcessEnd, StreamEnd, Trouble, TurnEnd};
use crate::agent_event::AgentEvent;
use crate::promise::Promise;

fn read(output: Output, lines: &[&str]) -> (Vec<AgentEvent>, StreamEnd) {
    let mut reader = output.reader(&jiff::Zoned::default());
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

#[test]
fn a_promise_is_the_final_message_of_text_until_something_follows_it() {
    let reported = |lines: &[&str]| {
        let mut reader = Output::Text.reader(&jiff::Zoned::default());
        let finals = |events: Vec<AgentEvent>| {
            let is_final = |event: &AgentEvent| matches!(event, AgentEvent::Final { .. });
            events.iter().any(is_final)
        };
        let mut reported: Vec<bool> = lines
            .iter()
            .map(|line| finals(reader.line(line.as_bytes(), false)))
            .collect();
        reported.push(finals(reader.end(&ProcessEnd::default())));
        reported
    };
    let complete = "<promise>COMPLETE</promise>";
    assert_eq!(reported(&["working"]), [false, true]);
    assert_eq!(reported(&["working", complete]), [false, true, false]);
    assert_eq!(reported(&[complete, ""]), [true, true, false]);
    assert_eq!(reported(&[complete, "one more thing"]), [true, false, true]);
    assert_eq!(
        reported(&["I will say <promise>COMPLETE</promise> later"]),
        [false, true]
    );
    assert_eq!(
        reported(&["<Promise>failed: a", "b</PROMISE>"]),
        [false, true, false]
    );
}

#[test]
fn text_is_all_the_agents_own() {
    let (events, end) = read(
        Output::Text,
        &["working", "<promise>FAILED: a", "b</promise>"],
    );
    let texts = [
        words("working"),
        words("<promise>FAILED: a"),
        words("b</promise>"),
    ];
    assert_eq!(events[..3], texts);
    assert_eq!(events[3..], [AgentEvent::Final { is_error: false }]);
    let want = StreamEnd {
        promise: Some(Promise::Failed("a\nb".into())),
        turn: TurnEnd::Ended,
        began: true,
        ..StreamEnd::default()
    };
    assert_eq!(end, want);
}

#[test]
fn text_is_not_over_before_the_process_is() {
    let mut reader = Output::Text.reader(&jiff::Zoned::default());
    reader.line(b"<promise>COMPLETE</promise>", false);
    assert_eq!(reader.verdict().turn, TurnEnd::Open);
    assert_eq!(reader.verdict().promise, Some(Promise::Complete));
}

#[test]
fn text_takes_bytes_that_are_no_text_and_huge_lines() {
    let mut reader = Output::Text.reader(&jiff::Zoned::default());
    assert_eq!(reader.line(b"a\xffb", false), [words("a\u{fffd}b")]);
    let events = reader.line("ä".repeat(100_000).as_bytes(), true);
    let [AgentEvent::Text { text }] = events.as_slice() else {
        panic!("{events:?}");
    };
    assert!(text.len() < 17 * 1024 && text.ends_with('…'));
}

/// The trouble of one kind, for tests that compare it with other fields.
impl StreamEnd {
    pub(crate) fn limit(&self) -> Option<Limit> {
        match &self.trouble {
            Some(Trouble::Limit(limit)) => Some(limit.clone()),
            _ => None,
        }
    }

    pub(crate) fn auth(&self) -> Option<String> {
        match &self.trouble {
            Some(Trouble::Refused { message, .. }) => Some(message.clone()),
            _ => None,
        }
    }

    pub(crate) fn overflow(&self) -> Option<String> {
        match &self.trouble {
            Some(Trouble::Overflow(message)) => Some(message.clone()),
            _ => None,
        }
    }

    pub(crate) fn error(&self) -> Option<String> {
        match &self.trouble {
            Some(Trouble::Other(message)) => Some(message.clone()),
            _ => None,
        }
    }
}
