//! Words that arrive in pieces, joined to whole lines before anybody sees them or looks for a
//! promise in them.

use super::{TEXT_CAP, event_text};
use crate::domain::agent_event::AgentEvent;
use crate::domain::promise::{Promise, PromiseScanner};

/// Joins pieces of text to lines, in constant memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words {
    /// The line under way; what does not fit into an event is let go.
    line: String,
    scanner: PromiseScanner,
}

impl Words {
    /// Takes the next piece and gives the lines it ended.
    pub(crate) fn feed(&mut self, piece: &str) -> Vec<AgentEvent> {
        self.scanner.feed(piece);
        let mut ended = Vec::new();
        let mut rest = piece;
        while let Some((end, next)) = rest.split_once('\n') {
            self.push(end);
            ended.push(self.take());
            rest = next;
        }
        self.push(rest);
        ended
    }

    /// Ends the line under way, as before something that is not text.
    pub(crate) fn flush(&mut self) -> Option<AgentEvent> {
        (!self.line.is_empty()).then(|| self.take())
    }

    /// The last promise so far.
    pub(crate) fn promise(&self) -> Option<Promise> {
        self.scanner.found()
    }

    /// Forgets what was promised: the agent went on working.
    pub(crate) fn begin_anew(&mut self) {
        self.scanner = PromiseScanner::default();
    }

    fn push(&mut self, piece: &str) {
        if self.line.len() <= TEXT_CAP {
            let room = TEXT_CAP + 8 - self.line.len();
            self.line.push_str(super::start_of(piece, room));
        }
    }

    fn take(&mut self) -> AgentEvent {
        let line = std::mem::take(&mut self.line);
        AgentEvent::Text {
            text: event_text(line.trim_end()),
        }
    }
}
