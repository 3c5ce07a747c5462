//! One story in a line: how it stands, which attempt, how long, what it cost.

use jiff::Timestamp;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::ui::text::{clean, columns, pad, truncate};
use crate::ui::tui::palette::Palette;
use crate::ui::words;
use ralph_run::records::progress::{AttemptStanding, StoryProgress, StoryStanding};

/// From this width on the cost is shown, too.
const ROOM_FOR_COST: usize = 38;

/// A story in the given number of columns.
pub(super) fn line(
    story: &StoryProgress,
    selected: bool,
    width: usize,
    (palette, now): (Palette, Timestamp),
) -> Line<'static> {
    let (glyph, style) = glyph(&story.state, palette);
    let facts = facts(story, width, now);
    let room = width.saturating_sub(2 + columns(&facts) + usize::from(!facts.is_empty()));
    let title = format!("{} {}", clean(&story.id.0), clean(&story.title));
    let title = pad(&truncate(title.trim(), room), room);
    let text = match story.state {
        StoryStanding::Running => palette.strong(),
        StoryStanding::Waiting | StoryStanding::Unfinished => palette.plain(),
        _ => palette.dim(),
    };
    let mut spans = vec![
        Span::styled(format!("{glyph} "), style),
        Span::styled(title, text),
    ];
    if !facts.is_empty() {
        spans.push(Span::styled(format!(" {facts}"), palette.dim()));
    }
    let line = Line::from(spans);
    if selected { palette.choose(line) } else { line }
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
pub(crate) fn glyph(state: &StoryStanding, palette: Palette) -> (&'static str, Style) {
    match state {
        StoryStanding::Waiting => ("○", palette.dim()),
        StoryStanding::Done => ("✓", palette.dim()),
        StoryStanding::Deferred => ("⊘", palette.dim()),
        StoryStanding::Running => ("●", palette.active()),
        StoryStanding::Skipped { .. } => ("»", palette.warn()),
        StoryStanding::Completed { .. } => ("✓", palette.good()),
        StoryStanding::Unfinished => ("✗", palette.bad()),
    }
}
