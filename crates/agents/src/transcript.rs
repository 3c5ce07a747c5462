//! An agent's stream as a list of entries to show: what is worth a place in the list, and how
//! lines of plain text become blocks that can be shown as markdown.
//!
//! Where an entry begins and ends depends on the lines alone, not on when they arrived.

mod blocks;
mod detail;

use super::agent_event::{AgentEvent, EventSink};
use super::dialect::{Output, ProcessEnd, StreamReader};

use blocks::Joiner;
pub use detail::detail;

/// One thing an agent said or did, with its place in the list.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its place, counted from 0.
    pub index: usize,
    /// What it was.
    pub event: AgentEvent,
    /// Where in the stream it stands.
    pub source: Source,
}

/// A range of bytes of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// How long it is, in bytes.
    pub len: u32,
}

impl Source {
    /// The range from one byte to before another.
    pub fn between(start: u64, end: u64) -> Self {
        Self {
            offset: start,
            len: u32::try_from(end.saturating_sub(start)).unwrap_or(u32::MAX),
        }
    }

    fn end(self) -> u64 {
        self.offset + u64::from(self.len)
    }
}

/// One line of a stream, without its end.
#[derive(Debug, Clone, Copy)]
pub struct StreamLine<'a> {
    /// Its bytes, at most as many as the output's cap.
    pub bytes: &'a [u8],
    /// It was longer.
    pub truncated: bool,
    /// Where it stands, its end included.
    pub source: Source,
}

/// Turns lines into entries.
#[derive(Debug)]
pub struct EntryReader {
    reader: Box<dyn StreamReader + Send>,
    list: EntryList,
}

impl Clone for EntryReader {
    fn clone(&self) -> Self {
        Self {
            reader: self.reader.fork(),
            list: self.list.clone(),
        }
    }
}

impl EntryReader {
    /// A reader for the start of a stream.
    pub fn new(output: Output) -> Self {
        Self {
            reader: output.reader(&jiff::Zoned::default()),
            list: EntryList {
                has_text_in_lines: output.has_text_in_lines(),
                joiner: Joiner::default(),
                source: Source::between(0, 0),
                count: 0,
                finished: Vec::new(),
            },
        }
    }

    /// How many entries are finished.
    pub fn count(&self) -> usize {
        self.list.count
    }

    /// True if little of an unfinished entry is held, so that a copy of this reader is small.
    pub fn is_light(&self) -> bool {
        self.list.joiner.is_light()
    }

    /// Reads the next line; finished entries go to `entries`.
    pub fn line(&mut self, line: StreamLine<'_>, entries: &mut Vec<Entry>) {
        self.list.source = line.source;
        self.reader.read(line.bytes, line.truncated, &mut self.list);
        entries.append(&mut self.list.finished);
    }

    /// The entries that the end of the stream would finish, given the start of its next line.
    pub fn unfinished(&self, rest: Option<StreamLine<'_>>) -> Vec<Entry> {
        let mut ahead = self.clone();
        let mut entries = Vec::new();
        if let Some(rest) = rest {
            ahead.line(rest, &mut entries);
            // Half an object is nothing yet.
            entries.retain(|entry| !matches!(entry.event, AgentEvent::Unknown { .. }));
        }
        // Words may be held back until their line ends.
        for event in ahead.reader.end(&ProcessEnd::default()) {
            ahead.list.push(event);
        }
        ahead.list.end_block();
        entries.append(&mut ahead.list.finished);
        entries
    }
}

/// Makes entries of what lines mean.
#[derive(Debug, Clone)]
struct EntryList {
    has_text_in_lines: bool,
    joiner: Joiner,
    /// Where the last line stands.
    source: Source,
    /// How many entries were finished so far.
    count: usize,
    /// Those that were finished by the last line.
    finished: Vec<Entry>,
}

impl EntryList {
    fn line(&mut self, text: &str) {
        let block = self.joiner.add(text, self.source);
        self.finish(block);
    }

    fn end_block(&mut self) {
        let block = self.joiner.end();
        self.finish(block);
    }

    fn finish(&mut self, block: Option<(String, Source)>) {
        if let Some((text, source)) = block {
            self.keep(AgentEvent::Text { text }, source);
        }
    }

    fn keep(&mut self, event: AgentEvent, source: Source) {
        if !is_shown(&event) {
            return;
        }
        self.finished.push(Entry {
            index: self.count,
            event,
            source,
        });
        self.count += 1;
    }
}

impl EventSink for EntryList {
    fn push(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Text { text } if self.has_text_in_lines => self.line(&text),
            event if is_shown(&event) => {
                self.end_block();
                self.keep(event, self.source);
            }
            _ => {}
        }
    }
}

/// True for what has a place in the list.
fn is_shown(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::Usage { .. } | AgentEvent::Final { is_error: false } => false,
        AgentEvent::Text { text } | AgentEvent::Thinking { text } => !text.trim().is_empty(),
        _ => true,
    }
}

/// A text to search for in entries, ignoring case.
#[derive(Debug, Clone)]
pub struct Needle(String);

impl Needle {
    /// Prepares a text to search for.
    pub fn new(text: &str) -> Self {
        Self(text.to_lowercase())
    }

    /// True if one of the event's words has it.
    pub fn is_in(&self, event: &AgentEvent) -> bool {
        let has = |text: &str| text.to_lowercase().contains(&self.0);
        match event {
            AgentEvent::Text { text } | AgentEvent::Thinking { text } => has(text),
            AgentEvent::ToolCall { tool, summary } => has(&format!("{tool} {summary}")),
            AgentEvent::Session { id, model } => has(id) || model.as_deref().is_some_and(has),
            AgentEvent::Retrying { message }
            | AgentEvent::Limit { message, .. }
            | AgentEvent::Auth { message, .. }
            | AgentEvent::Overflow { message }
            | AgentEvent::Error { message } => has(message),
            AgentEvent::Unknown { line } => has(line),
            AgentEvent::ToolResult { tail, .. } => tail.iter().any(|line| has(line)),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
