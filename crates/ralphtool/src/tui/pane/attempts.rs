//! The attempts at a story: how each ended, and why.

use jiff::Timestamp;
use ratatui::text::{Line, Span};

use crate::tui::palette::{ACTIVE, BAD, DIM, GOOD, STRONG, WARN};
use crate::tui::text_pane::Item;
use crate::tui::wrap;
use crate::ui::text::{clean, clean_lines};
use crate::ui::words::{self, count};
use ralph_base::ids::AttemptNumber;
use ralph_run::records::event::FailureKind;
use ralph_run::records::progress::{AttemptProgress, AttemptStanding, StoryProgress};

/// One item for each attempt.
pub(crate) fn items(story: Option<&StoryProgress>, columns: usize, now: Timestamp) -> Vec<Item> {
    let attempts = story.map_or(&[][..], |story| &story.attempts);
    if attempts.is_empty() {
        let line = wrap::styled("no attempt was made at this story", DIM);
        return vec![wrap::wrap(&line, columns, 2)];
    }
    let attempts = attempts.iter();
    attempts
        .map(|attempt| lines(attempt, columns, now))
        .collect()
}

fn lines(attempt: &AttemptProgress, columns: usize, now: Timestamp) -> Item {
    let (mark, what, style) = match &attempt.state {
        AttemptStanding::Running => ("●", "at work".to_owned(), ACTIVE),
        AttemptStanding::Succeeded => ("✓", "done".to_owned(), GOOD),
        AttemptStanding::Failed(it) => ("✗", words::failure(it.kind).to_owned(), bad(it.kind)),
        AttemptStanding::Interrupted => ("✗", "interrupted".to_owned(), WARN),
    };
    let mut facts = Vec::new();
    if let Some(agent) = &attempt.agent {
        let model = agent.model.as_deref().map(|model| format!(" {model}"));
        let agent = format!("{}{}", agent.agent, model.unwrap_or_default());
        facts.push(clean(&agent));
    }
    match &attempt.state {
        AttemptStanding::Running => facts.push(words::clock_between(attempt.started_at, now)),
        AttemptStanding::Failed(it) => {
            facts.push(words::elapsed(it.duration_ms));
            facts.push(count(it.changed_files, "file"));
            facts.push(format!("parked as {}", it.parked));
        }
        AttemptStanding::Succeeded | AttemptStanding::Interrupted => {}
    }
    facts.extend(words::usage(&attempt.usage));
    let title = Line::from(vec![
        Span::styled(format!("{mark} "), style),
        Span::styled(format!("attempt {}  ", attempt.number), STRONG),
        Span::styled(what, style),
    ]);
    let mut lines = wrap::wrap(&title, columns, 2);
    if !facts.is_empty() {
        let facts = wrap::styled(format!("  {}", facts.join(" · ")), DIM);
        lines.extend(wrap::wrap(&facts, columns, 2));
    }
    if let AttemptStanding::Failed(it) = &attempt.state {
        for line in clean_lines(&it.reason) {
            lines.extend(wrap::wrap(&Line::from(format!("  {line}")), columns, 2));
        }
        let hint = Span::styled("  Enter shows what it had changed", DIM);
        lines.push(Line::from(hint));
    }
    lines.push(Line::default());
    lines
}

/// The style of a failure: a limit, or a command of the user, is not the agent's fault.
fn bad(kind: FailureKind) -> ratatui::style::Style {
    match kind {
        FailureKind::Limit
        | FailureKind::Stopped
        | FailureKind::Skipped
        | FailureKind::Interrupted => WARN,
        _ => BAD,
    }
}

/// The attempt that an item shows.
pub(crate) fn at(story: Option<&StoryProgress>, item: usize) -> Option<AttemptNumber> {
    Some(story?.attempts.get(item)?.number)
}
