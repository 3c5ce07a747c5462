//! The attempts at a story: how each ended, and why.

use jiff::Timestamp;
use ratatui::text::{Line, Span};

use crate::tui::failure;
use crate::tui::palette::{ACTIVE, DIM, GOOD, STRONG};
use crate::tui::text_pane::Item;
use crate::tui::wrap;
use crate::ui::text::{clean, clean_lines};
use crate::ui::words::{self, count};
use ralph_base::ids::AttemptNumber;
use ralph_run::records::progress::{AttemptProgress, AttemptStanding, StoryProgress};

/// How many lines of a reason are shown.
const REASON_LINES: usize = 100;

/// One item for each attempt, the newest first.
pub(crate) fn items(story: Option<&StoryProgress>, columns: usize, now: Timestamp) -> Vec<Item> {
    let attempts = story.map_or(&[][..], |story| &story.attempts);
    if attempts.is_empty() {
        let line = wrap::styled("no attempt was made at this story", DIM);
        return vec![wrap::wrap(&line, columns, 2)];
    }
    let newest_first = attempts.iter().rev();
    newest_first
        .map(|attempt| lines(attempt, columns, now))
        .collect()
}

fn lines(attempt: &AttemptProgress, columns: usize, now: Timestamp) -> Item {
    let (mark, what, style) = match &attempt.state {
        AttemptStanding::Running => ("●", "at work".to_owned(), ACTIVE),
        AttemptStanding::Succeeded => ("✓", "done".to_owned(), GOOD),
        AttemptStanding::Failed(it) => {
            let style = failure::style(&attempt.state);
            ("✗", words::failure(it.kind).to_owned(), style)
        }
        AttemptStanding::Interrupted => {
            let style = failure::style(&attempt.state);
            ("✗", "interrupted".to_owned(), style)
        }
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
        lines.extend(reason(&it.reason, columns));
    }
    if is_over_without_success(&attempt.state) {
        let hint = Span::styled("  Enter shows what it had changed", DIM);
        lines.push(Line::from(hint));
    }
    lines.push(Line::default());
    lines
}

/// Why an attempt failed: the first line, which says what failed, and the end, which says why.
fn reason(text: &str, columns: usize) -> Vec<Line<'static>> {
    let lines = clean_lines(text);
    let left_out = lines.len().saturating_sub(REASON_LINES);
    let mut shown = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        if left_out > 0 && place == 1 {
            let text = format!("  … {left_out} lines before");
            shown.push(wrap::styled(text, DIM));
        }
        if place == 0 || place > left_out {
            let line = Line::from(format!("  {line}"));
            shown.extend(wrap::wrap(&line, columns, 2));
        }
    }
    shown
}

const fn is_over_without_success(state: &AttemptStanding) -> bool {
    matches!(
        state,
        AttemptStanding::Failed(_) | AttemptStanding::Interrupted
    )
}

/// The attempt that an item shows.
pub(crate) fn at(story: Option<&StoryProgress>, item: usize) -> Option<AttemptNumber> {
    let mut newest_first = story?.attempts.iter().rev();
    Some(newest_first.nth(item)?.number)
}
