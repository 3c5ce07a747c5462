//! Plain text: everything the process prints is the agent's own words. Its final message is a
//! promise that nothing follows, or else the end of the process.

use super::words::Words;
use super::{ProcessEnd, StreamEnd, StreamReader, TurnEnd};
use crate::agent_event::{AgentEvent, EventSink, as_text};
use crate::promise::PromiseScanner;

/// Reads plain text in constant memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextReader {
    scanner: PromiseScanner,
    words: Words,
    turn: TurnEnd,
    /// The last line that was not blank closed a promise.
    promised: bool,
    /// Some line was not blank.
    began: bool,
}

impl StreamReader for TextReader {
    fn read(&mut self, line: &[u8], _truncated: bool, sink: &mut dyn EventSink) {
        if self.scanner.passes_over(line) {
            self.promised &= is_blank(line);
        } else {
            let text = as_text(line);
            self.scanner.line(&text);
            if !text.trim().is_empty() {
                self.promised = closes_a_promise(&text) && self.scanner.found().is_some();
            }
        }
        self.began = self.began || !is_blank(line);
        if self.words.are_kept() {
            self.words.add(&as_text(line));
            self.words.add("\n");
        }
        sink.push(AgentEvent::text_line(line));
        // Not every command exits after its last word; if more follows, this is taken back.
        if self.promised {
            sink.push(AgentEvent::Final { is_error: false });
        }
    }

    fn end(&mut self, _ended: &ProcessEnd<'_>) -> Vec<AgentEvent> {
        self.turn = TurnEnd::Ended;
        if self.promised {
            return Vec::new();
        }
        vec![AgentEvent::Final { is_error: false }]
    }

    fn keep_words(&mut self) {
        self.words.keep();
    }

    fn verdict(&self) -> StreamEnd {
        StreamEnd {
            promise: self.scanner.found(),
            turn: self.turn,
            began: self.began,
            words: self.words.kept(),
            ..StreamEnd::default()
        }
    }

    fn fork(&self) -> Box<dyn StreamReader + Send> {
        Box::new(self.clone())
    }
}

fn is_blank(line: &[u8]) -> bool {
    match line.trim_ascii().first() {
        None => true,
        Some(first) => !first.is_ascii() && as_text(line).trim().is_empty(),
    }
}

fn closes_a_promise(line: &str) -> bool {
    line.contains("</") && line.to_ascii_lowercase().contains("promise")
}
