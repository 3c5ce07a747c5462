//! One story in a line: how it stands, which attempt, how long, what it cost.

use jiff::Timestamp;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::ui::text::{clean, columns, pad, truncate};
use crate::ui::tui::palette::{ACTIVE, BAD, DIM, GOOD, PLAIN, STRONG, WARN, select};
use crate::ui::words;
use ralph_run::records::progress::{AttemptStanding, StoryProgress, StoryStanding};

/// From this width on the cost is shown, too.
const ROOM_FOR_COST: usize = 38;

/// A story in the given number of columns.
pub(super) fn line(
    story: &StoryProgress,
    selected: bool,
    width: usize,
    now: Timestamp,
) -> Line<'static> {
    let (glyph, style) = glyph(&story.state);
    let facts = facts(story, width, now);
    let room = width.saturating_sub(2 + columns(&facts) + usize::from(!facts.is_empty()));
    let title = format!("{} {}", clean(&story.id.0), clean(&story.title));
    let title = pad(&truncate(title.trim(), room), room);
    let text = match story.state {
        StoryStanding::Running => STRONG,
        StoryStanding::Waiting | StoryStanding::Unfinished => PLAIN,
        _ => DIM,
    };
    let mut spans = vec![
        Span::styled(format!("{glyph} "), style),
        Span::styled(title, text),
    ];
    if !facts.is_empty() {
        spans.push(Span::styled(format!(" {facts}"), DIM));
    }
    let line = Line::from(spans);
    if selected { select(line) } else { line }
}

fn facts(story: &StoryProgress, width: usize, now: Timestamp) -> String {
    let mut facts = Vec::new();
    if let Some(last) = story.attempts.last() {
        let mut attempts = story.attempts.iter();
        let retried = attempts.any(|it| matches!(it.state, AttemptStanding::Failed { .. }));
        if story.state == StoryStanding::Running || retried {
            facts.push(format!("{}/{}", last.number, last.max_attempts));
        }
        facts.push(words::clock(words::millis(story.elapsed(now))));
    }
    if width >= ROOM_FOR_COST {
        facts.extend(story.usage().cost_usd.map(words::cost));
    }
    facts.join(" ")
}

/// How a story stands, in a sign.
pub(crate) fn glyph(state: &StoryStanding) -> (&'static str, Style) {
    match state {
        StoryStanding::Waiting => ("○", DIM),
        StoryStanding::Done => ("✓", DIM),
        StoryStanding::Deferred => ("⊘", DIM),
        StoryStanding::Running => ("●", ACTIVE),
        StoryStanding::Skipped { .. } => ("»", WARN),
        StoryStanding::Completed { .. } => ("✓", GOOD),
        StoryStanding::Unfinished => ("✗", BAD),
    }
}
