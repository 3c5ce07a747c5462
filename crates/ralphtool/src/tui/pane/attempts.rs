//! The attempts at a story: how each ended, and why.

use jiff::Timestamp;
use ratatui::text::{Line, Span};

use crate::tui::failure;
use crate::tui::palette::{DIM, STRONG};
use crate::tui::text_pane::Item;
use crate::tui::wrap;
use crate::ui::reason;
use crate::ui::text::{clean, clean_lines};
use crate::ui::words::{self, count};
use ralph_base::ids::AttemptNumber;
use ralph_run::records::event::{FailureKind, RepairStarted};
use ralph_run::records::progress::{AttemptProgress, AttemptStanding, StoryProgress};

/// How many rows of a reason are shown at least.
const LEAST_REASON: usize = 6;

/// One item for each attempt, the newest first, each in as many columns and rows as are visible: of a
/// long reason, the end is shown.
pub(crate) fn items(
    story: Option<&StoryProgress>,
    (columns, rows): (usize, usize),
    now: Timestamp,
) -> Vec<Item> {
    let attempts = story.map_or(&[][..], |story| &story.attempts);
    if attempts.is_empty() {
        let line = wrap::styled("no attempt was made at this story", DIM);
        return vec![wrap::wrap(&line, columns, 2)];
    }
    let mut items = Vec::new();
    // With one at work above it, the last one that failed is visible, too.
    let mut room = rows;
    for attempt in attempts.iter().rev() {
        let item = lines(attempt, (columns, room), now);
        room = match attempt.state {
            AttemptStanding::Running => rows.saturating_sub(item.len()),
            _ => rows,
        };
        items.push(item);
    }
    items
}

fn lines(attempt: &AttemptProgress, (columns, rows): (usize, usize), now: Timestamp) -> Item {
    let (mark, style) = failure::mark(&attempt.state);
    let what = match &attempt.state {
        AttemptStanding::Running => "at work",
        AttemptStanding::Succeeded => "done",
        AttemptStanding::Failed(it) => words::failure(it.kind),
        AttemptStanding::Interrupted => "interrupted",
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
    facts.extend(words::repairs(attempt.repairs()));
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
    lines.extend(repairs(attempt, columns));
    // The hint and an empty line follow.
    let room = rows.saturating_sub(lines.len() + 2).max(LEAST_REASON);
    match (&attempt.state, attempt.repair()) {
        (AttemptStanding::Failed(it), _) => {
            lines.extend(reason(it.kind, &it.reason, columns, room));
        }
        (_, Some(it)) => lines.extend(reason(it.kind, &it.reason, columns, room)),
        _ => {}
    }
    if is_over_without_success(&attempt.state) {
        let hint = wrap::styled("  Enter shows what it had changed", DIM);
        lines.extend(wrap::wrap(&hint, columns, 2));
    }
    lines.push(Line::default());
    lines
}

/// What was repaired, a line each; of the repair at hand only its number, because its reason follows.
fn repairs(attempt: &AttemptProgress, columns: usize) -> Vec<Line<'static>> {
    let at_hand = attempt.repair().map(|it| it.repair);
    let text = |it: &RepairStarted| {
        let of = words::repair(it);
        match at_hand {
            Some(repair) if repair == it.repair => format!("  {of}:"),
            _ => format!("  {of}: {}", reason::brief(it.kind, &it.reason)),
        }
    };
    let lines = attempt.repairs.iter().map(text);
    lines
        .flat_map(|line| wrap::wrap(&Line::from(line), columns, 4))
        .collect()
}

/// Why an attempt failed, in the given rows: the first line, which says what failed, and the end, which
/// says why.
fn reason(kind: FailureKind, reason: &str, columns: usize, rows: usize) -> Vec<Line<'static>> {
    let wrapped = |text: &String| wrap::wrap(&Line::from(format!("  {text}")), columns, 2);
    let mut lines: Vec<_> = clean_lines(reason).iter().map(wrapped).collect();
    let all: usize = lines.iter().map(Vec::len).sum();
    if all <= rows || lines.is_empty() {
        return lines.concat();
    }
    let mut shown = lines.remove(0);
    let mut room = rows.saturating_sub(shown.len() + 1);
    let fitting = lines.iter().rev().take_while(|line| {
        let fits = line.len() <= room;
        room = room.saturating_sub(line.len());
        fits
    });
    let left_out = lines.len() - fitting.count();
    let all_of_it = match kind {
        FailureKind::Gate => "; 4 shows all",
        _ => "",
    };
    let text = format!("  … {} before{all_of_it}", count(left_out, "line"));
    shown.push(wrap::cut(&wrap::styled(text, DIM), columns));
    shown.extend(lines.into_iter().skip(left_out).flatten());
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
