//! How closely somebody listens to an agent, and what of its words is kept for them.

use std::mem::{discriminant, take};

use super::agent_event::AgentEvent;
use super::dialect::{TEXT_CAP, as_text, event_text};

/// How much of a line of words is kept: enough for an event to see that it does not fit.
const WORDS_CAP: usize = TEXT_CAP + 16;

/// How much of what an agent says somebody wants to hear; all of it is in the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attention {
    /// Of what comes at once the last of each sort.
    Last,
    /// The same, but every call of a tool.
    Tools,
    /// Everything.
    Everything,
}

/// Hears what an agent says.
pub(crate) trait Ear {
    /// Hears something.
    fn hear(&mut self, event: AgentEvent);

    /// Hears a line of words as it came, without its end.
    fn words(&mut self, line: &[u8]) {
        self.hear(text_of(line));
    }
}

impl Ear for Vec<AgentEvent> {
    fn hear(&mut self, event: AgentEvent) {
        self.push(event);
    }
}

/// Keeps what is worth telling of what an agent says at once.
#[derive(Debug)]
pub(crate) struct Hearing {
    attention: Attention,
    /// What the agent used is heard each time: a budget may be near its end.
    each_figure: bool,
    events: Vec<AgentEvent>,
    /// How many of them stay, whatever follows: what has consequences keeps its place among the
    /// rest.
    settled: usize,
    /// The last words, where nothing else followed them, as they came: only what is told in the end
    /// is worth more than a copy.
    words: Vec<u8>,
    has_words: bool,
}

impl Hearing {
    /// Listens with some attention, and to each figure where `each_figure` says so.
    pub(crate) fn new(attention: Attention, each_figure: bool) -> Self {
        Self {
            attention,
            each_figure,
            events: Vec::new(),
            settled: 0,
            words: Vec::new(),
            has_words: false,
        }
    }

    /// Gives what was heard and begins anew.
    pub(crate) fn take(&mut self) -> Vec<AgentEvent> {
        self.settle_words();
        self.settled = 0;
        take(&mut self.events)
    }

    fn settle_words(&mut self) {
        if take(&mut self.has_words) {
            self.add(text_of(&self.words));
        }
    }

    fn add(&mut self, event: AgentEvent) {
        if !self.is_passing(&event) {
            self.events.push(event);
            self.settled = self.events.len();
            return;
        }
        let sort = discriminant(&event);
        let mut passing = self.events[self.settled..].iter();
        match passing.position(|it| discriminant(it) == sort) {
            // What was said before stays more telling.
            Some(_) if is_blank(&event) => {}
            Some(place) => {
                self.events.remove(self.settled + place);
                self.events.push(event);
            }
            None => self.events.push(event),
        }
    }

    /// Whether the next one of its sort says all that this one says.
    fn is_passing(&self, event: &AgentEvent) -> bool {
        match event {
            AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::Unknown { .. } => self.attention != Attention::Everything,
            AgentEvent::Usage { .. } => {
                self.attention != Attention::Everything && !self.each_figure
            }
            AgentEvent::ToolCall { .. } => self.attention == Attention::Last,
            AgentEvent::Session { .. }
            | AgentEvent::Retrying { .. }
            | AgentEvent::Limit { .. }
            | AgentEvent::Auth { .. }
            | AgentEvent::Overflow { .. }
            | AgentEvent::Error { .. }
            | AgentEvent::Final { .. } => false,
        }
    }
}

impl Ear for Hearing {
    fn hear(&mut self, event: AgentEvent) {
        self.settle_words();
        self.add(event);
    }

    fn words(&mut self, line: &[u8]) {
        if self.attention == Attention::Everything {
            return self.add(text_of(line));
        }
        if !self.has_words || !line.trim_ascii().is_empty() {
            self.has_words = true;
            self.words.clear();
            self.words
                .extend_from_slice(&line[..line.len().min(WORDS_CAP)]);
        }
    }
}

/// A line of words as an event.
fn text_of(line: &[u8]) -> AgentEvent {
    let start = &line[..line.len().min(WORDS_CAP)];
    let text = event_text(as_text(start).trim_end());
    AgentEvent::Text { text }
}

fn is_blank(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Text { text } if text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::agent_event::Usage;
    use pretty_assertions::assert_eq;

    fn text(text: &str) -> AgentEvent {
        let text = text.to_owned();
        AgentEvent::Text { text }
    }

    fn call(summary: &str) -> AgentEvent {
        AgentEvent::ToolCall {
            tool: "Bash".to_owned(),
            summary: summary.to_owned(),
        }
    }

    fn used(output_tokens: u64) -> AgentEvent {
        AgentEvent::usage(Usage {
            output_tokens,
            ..Usage::default()
        })
    }

    const FINAL: AgentEvent = AgentEvent::Final { is_error: false };

    fn heard(attention: Attention, events: &[AgentEvent]) -> Vec<AgentEvent> {
        let mut hearing = Hearing::new(attention, false);
        for event in events {
            match event {
                AgentEvent::Text { text } => hearing.words(text.as_bytes()),
                other => hearing.hear(other.clone()),
            }
        }
        let heard = hearing.take();
        assert_eq!(hearing.take(), []);
        heard
    }

    #[test]
    fn of_each_sort_the_last_is_kept_in_the_order_of_the_last() {
        let said = [
            text("one"),
            used(1),
            call("a"),
            text("two"),
            text("three"),
            used(2),
            call("b"),
            text(""),
        ];
        let last = [text("three"), used(2), call("b")];
        assert_eq!(heard(Attention::Last, &said), last);
        let tools = [text("one"), used(1), call("a"), text("three"), used(2)];
        let tools: Vec<AgentEvent> = tools.into_iter().chain([call("b"), text("")]).collect();
        assert_eq!(heard(Attention::Tools, &said), tools);
        assert_eq!(heard(Attention::Everything, &said), said);
    }

    #[test]
    fn what_has_consequences_keeps_its_place() {
        let said = [
            text("one"),
            used(1),
            FINAL,
            text("two"),
            text("three"),
            FINAL,
        ];
        let want = [text("one"), used(1), FINAL, text("three"), FINAL];
        assert_eq!(heard(Attention::Last, &said), want);
        // A blank line says that it went on.
        let said = [text("one"), FINAL, text(""), FINAL];
        assert_eq!(heard(Attention::Last, &said), said);
    }

    #[test]
    fn where_a_budget_is_watched_each_figure_is_heard() {
        let mut hearing = Hearing::new(Attention::Last, true);
        for event in [used(1), used(2)] {
            hearing.hear(event);
        }
        assert_eq!(hearing.take(), [used(1), used(2)]);
    }

    #[test]
    fn a_long_text_is_cut_however_it_is_heard() {
        let long = "x".repeat(1 << 20);
        let cut = vec![text(&event_text(&long))];
        assert_eq!(heard(Attention::Last, &[text("a"), text(&long)]), cut);
        assert_eq!(heard(Attention::Everything, &[text(&long)]), cut);
    }
}
