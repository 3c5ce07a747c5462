//! What an agent said and did, as text to read.

use super::line::agent_line;
use super::page::Page;
use super::style::{BAD, DIM, NAME};
use super::text::{clean, clean_lines};
use super::words;
use ralph_agents::agent_event::AgentEvent;

/// Writes one entry of a transcript.
pub(crate) fn write_entry(page: &mut Page, event: &AgentEvent) {
    match event {
        AgentEvent::Text { text } => {
            page.blank();
            for line in clean_lines(text) {
                page.line(line);
            }
        }
        AgentEvent::Thinking { text } => {
            page.blank();
            for line in clean_lines(text) {
                page.line(page.paint(DIM, format!("│ {line}")));
            }
        }
        AgentEvent::ToolCall { tool, summary } => {
            let tool = page.paint(NAME, format!("▸ {}", clean(tool)));
            page.line(format!("\n{tool} {}", clean(summary)));
        }
        AgentEvent::ToolResult {
            bytes,
            is_error,
            tail,
        } => {
            let (style, head) = if *is_error {
                (BAD, "✗ failed, ")
            } else {
                (DIM, "↳ ")
            };
            page.line(page.paint(style, format!("  {head}{}", words::bytes(*bytes))));
            for line in tail {
                page.line(page.paint(DIM, format!("    {}", clean(line))));
            }
        }
        event => {
            let Some(line) = agent_line(event) else {
                return;
            };
            page.line(page.paint(line.style, line.text));
            for detail in line.details {
                page.line(format!("  {detail}"));
            }
        }
    }
}

/// Writes what the agent printed to standard error, if anything.
pub(crate) fn write_errors(page: &mut Page, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    page.heading("standard error");
    for line in lines {
        page.line(format!("  {line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::style::Paint;

    #[test]
    fn a_transcript_reads_like_a_conversation() {
        let mut page = Page::new(Paint::Plain);
        for event in [
            AgentEvent::Session {
                id: "s1".to_owned(),
                model: Some("opus".to_owned()),
            },
            AgentEvent::Thinking {
                text: "Where is it?".to_owned(),
            },
            AgentEvent::Text {
                text: "I run the tests.\nThen I look.".to_owned(),
            },
            AgentEvent::ToolCall {
                tool: "Bash".to_owned(),
                summary: "cargo test".to_owned(),
            },
            AgentEvent::ToolResult {
                bytes: 99,
                is_error: true,
                tail: vec!["test a ... FAILED".to_owned(), "1 failed".to_owned()],
            },
            AgentEvent::ToolResult {
                bytes: 0,
                is_error: false,
                tail: Vec::new(),
            },
            AgentEvent::Error {
                message: "overloaded".to_owned(),
            },
        ] {
            write_entry(&mut page, &event);
        }
        write_errors(&mut page, &["boom".to_owned()]);
        insta::assert_snapshot!(page.text);
    }
}
