//! How much of what an agent says reaches the user interface, and the events of one wake-up.

use std::mem::{discriminant, take};

use super::agent_event::{AgentEvent, EventSink};

/// How much of what an agent says is shown; all of it is in the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DetailLevel {
    /// Of the events that arrive together, the last of each kind.
    Latest,
    /// The same, and every tool call.
    ToolCalls,
    /// Every event.
    All,
}

/// Collects the events that arrive together, and drops those that a later one of the same kind
/// replaces.
#[derive(Debug)]
pub struct EventBatch {
    level: DetailLevel,
    /// Keep each usage report, because a budget may be nearly used up.
    every_usage: bool,
    events: Vec<AgentEvent>,
    /// How many events are final: an event with consequences keeps its place among the others.
    settled: usize,
}

impl EventBatch {
    /// An empty batch.
    pub fn new(level: DetailLevel, every_usage: bool) -> Self {
        Self {
            level,
            every_usage,
            events: Vec::new(),
            settled: 0,
        }
    }

    /// Returns the events and starts the next batch.
    pub fn take(&mut self) -> Vec<AgentEvent> {
        self.settled = 0;
        take(&mut self.events)
    }

    /// Whether the next event of this kind makes this one superfluous.
    fn is_replaceable(&self, event: &AgentEvent) -> bool {
        match event {
            AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::Unknown { .. } => self.level != DetailLevel::All,
            AgentEvent::Usage { .. } => self.level != DetailLevel::All && !self.every_usage,
            AgentEvent::ToolCall { .. } => self.level == DetailLevel::Latest,
            // The others have consequences.
            _ => false,
        }
    }
}

impl EventSink for EventBatch {
    fn push(&mut self, event: AgentEvent) {
        if !self.is_replaceable(&event) {
            self.events.push(event);
            self.settled = self.events.len();
            return;
        }
        let kind = discriminant(&event);
        let mut replaceable = self.events[self.settled..].iter();
        match replaceable.position(|it| discriminant(it) == kind) {
            // A blank line says less than the one before it.
            Some(_) if is_blank(&event) => {}
            Some(place) => {
                self.events.remove(self.settled + place);
                self.events.push(event);
            }
            None => self.events.push(event),
        }
    }
}

fn is_blank(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Text { text } if text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent_event::{Usage, event_text};
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

    fn batch(level: DetailLevel, events: &[AgentEvent]) -> Vec<AgentEvent> {
        let mut batch = EventBatch::new(level, false);
        for event in events {
            batch.push(match event {
                AgentEvent::Text { text } => AgentEvent::text_line(text.as_bytes()),
                other => other.clone(),
            });
        }
        let events = batch.take();
        assert_eq!(batch.take(), []);
        events
    }

    #[test]
    fn the_last_event_of_each_kind_is_kept_in_order() {
        let all = [
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
        assert_eq!(batch(DetailLevel::Latest, &all), last);
        let tools = [text("one"), used(1), call("a"), text("three"), used(2)];
        let tools: Vec<AgentEvent> = tools.into_iter().chain([call("b"), text("")]).collect();
        assert_eq!(batch(DetailLevel::ToolCalls, &all), tools);
        assert_eq!(batch(DetailLevel::All, &all), all);
    }

    #[test]
    fn an_event_with_consequences_keeps_its_place() {
        let all = [
            text("one"),
            used(1),
            FINAL,
            text("two"),
            text("three"),
            FINAL,
        ];
        let want = [text("one"), used(1), FINAL, text("three"), FINAL];
        assert_eq!(batch(DetailLevel::Latest, &all), want);
        // A blank line shows that the agent continued.
        let all = [text("one"), FINAL, text(""), FINAL];
        assert_eq!(batch(DetailLevel::Latest, &all), all);
    }

    #[test]
    fn every_usage_report_is_kept_for_a_budget() {
        let mut batch = EventBatch::new(DetailLevel::Latest, true);
        for event in [used(1), used(2)] {
            batch.push(event);
        }
        assert_eq!(batch.take(), [used(1), used(2)]);
    }

    #[test]
    fn a_long_text_is_cut_at_every_level() {
        let long = "x".repeat(1 << 20);
        let cut = vec![text(&event_text(&long))];
        assert_eq!(batch(DetailLevel::Latest, &[text("a"), text(&long)]), cut);
        assert_eq!(batch(DetailLevel::All, &[text(&long)]), cut);
    }
}
