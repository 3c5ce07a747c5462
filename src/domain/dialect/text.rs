//! Plain text: everything the process prints is the agent's own words, and its end is the
//! end of the process.

use super::{Dialect, StreamEnd, TurnEnd, event_text};
use crate::domain::agent_event::AgentEvent;
use crate::domain::promise::PromiseScanner;

/// Reads plain text in constant memory.
#[derive(Debug, Default)]
pub(crate) struct Text {
    scanner: PromiseScanner,
    turn: TurnEnd,
}

impl Dialect for Text {
    fn line(&mut self, line: &[u8], _truncated: bool) -> Vec<AgentEvent> {
        let text = String::from_utf8_lossy(line);
        self.scanner.feed(&text);
        self.scanner.feed("\n");
        vec![AgentEvent::Text {
            text: event_text(text.trim_end()),
        }]
    }

    fn end(&mut self) -> Vec<AgentEvent> {
        self.turn = TurnEnd::Ended;
        vec![AgentEvent::Final { is_error: false }]
    }

    fn verdict(&self) -> StreamEnd {
        StreamEnd {
            promise: self.scanner.found(),
            turn: self.turn,
            ..StreamEnd::default()
        }
    }
}
