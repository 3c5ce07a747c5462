//! Plain text: everything the process prints is the agent's own words, and its final message is
//! a promise that nothing follows, or else the end of the process.

use super::{Dialect, Ended, StreamEnd, TurnEnd, event_text};
use crate::domain::agent_event::AgentEvent;
use crate::domain::promise::PromiseScanner;

/// Reads plain text in constant memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Text {
    scanner: PromiseScanner,
    turn: TurnEnd,
    /// The last line that was not blank closed a promise.
    promised: bool,
}

impl Dialect for Text {
    fn line(&mut self, line: &[u8], _truncated: bool) -> Vec<AgentEvent> {
        let text = String::from_utf8_lossy(line);
        self.scanner.feed(&text);
        self.scanner.feed("\n");
        if !text.trim().is_empty() {
            self.promised = closes_a_promise(&text) && self.scanner.found().is_some();
        }
        let words = AgentEvent::Text {
            text: event_text(text.trim_end()),
        };
        // Not every command exits after its last word; if it goes on, this is taken back.
        let last = self
            .promised
            .then_some(AgentEvent::Final { is_error: false });
        std::iter::once(words).chain(last).collect()
    }

    fn end(&mut self, _ended: &Ended<'_>) -> Vec<AgentEvent> {
        self.turn = TurnEnd::Ended;
        if self.promised {
            return Vec::new();
        }
        vec![AgentEvent::Final { is_error: false }]
    }

    fn verdict(&self) -> StreamEnd {
        StreamEnd {
            promise: self.scanner.found(),
            turn: self.turn,
            ..StreamEnd::default()
        }
    }

    fn fork(&self) -> Box<dyn Dialect + Send> {
        Box::new(self.clone())
    }
}

fn closes_a_promise(line: &str) -> bool {
    line.contains("</") && line.to_ascii_lowercase().contains("promise")
}
