//! The left column: the stories, and below them the tasks, attempts and gates of the selected one.

use jiff::Timestamp;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::Run;
use crate::tui::failure;
use crate::tui::palette::{self, ACTIVE, BAD, DIM, GOOD, PLAIN, STRONG, WARN};
use crate::tui::pane::gates::{NOT_RUN, PASSED_BEFORE, RED_BEFORE, STOPPED, reviewed};
use crate::tui::wrap;
use crate::ui::text::clean;
use crate::ui::words;
use ralph_plan::tasks::TaskState;
use ralph_run::records::event::{TaskOutline, Tries};
use ralph_run::records::progress::{
    AttemptProgress, AttemptStanding, GateProgress, GateStanding, NO_GATES, StoryProgress,
    StoryStanding,
};

/// From this width of the list on, a story's cost is shown, too.
const ROOM_FOR_COST: usize = 38;

/// A story's last failure is shown in its row if this many columns are free beside the title.
const LEAST_FAILURE: usize = 10;

/// How many rows the full title of a story gets.
const TITLE_ROWS: usize = 8;

/// How many of the last attempts are listed.
const ATTEMPTS: usize = 3;

/// How many tasks are listed before the gates are.
const LEAST_TASKS: usize = 3;

/// How a row of the list is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    None,
    /// It is selected, and another part has the focus.
    Selected,
    /// It is selected, and the keys move it.
    Cursor,
}

/// The line of a story, of this width.
pub(super) fn story_line(
    story: &StoryProgress,
    mark: Mark,
    is_doubtful: bool,
    width: usize,
    now: Timestamp,
) -> Line<'static> {
    let (glyph, style) = match glyph(story) {
        _ if is_doubtful => (words::done_mark(true), WARN),
        usual => usual,
    };
    let title = format!("{} {}", clean(&story.id.0), clean(&story.title));
    let title = title.trim().to_owned();
    let before = 2 + wrap::columns(glyph);
    let facts = facts(story, width, now);
    let taken = before + wrap::columns(&title) + wrap::width(&facts) + 2;
    let facts = with_failure(story, facts, width.saturating_sub(taken));
    let facts_width = wrap::width(&facts);
    let room = width.saturating_sub(before + facts_width + usize::from(facts_width > 0));
    let text = match story.state {
        StoryStanding::Running => STRONG,
        StoryStanding::Waiting | StoryStanding::Unfinished | StoryStanding::Failed(_) => PLAIN,
        _ => DIM,
    };
    let gutter = match mark {
        Mark::None => Span::raw(" "),
        Mark::Selected => Span::styled("│", DIM),
        Mark::Cursor => Span::styled("▌", ACTIVE),
    };
    let mut row = Line::from(Span::styled(format!("{glyph} "), style));
    let title = wrap::fit(&wrap::styled(title, text), room);
    row.spans.extend(title.spans);
    if facts_width > 0 {
        row.spans.push(Span::raw(" "));
        row.spans.extend(facts.spans);
    }
    if mark == Mark::Cursor {
        row = palette::select(row);
    }
    if mark == Mark::Selected {
        row = palette::chosen(row);
    }
    let style = row.style;
    let mut line = Line::from(gutter);
    line.spans.extend(row.spans.into_iter().map(|span| {
        let own = span.style;
        span.style(style.patch(own))
    }));
    line
}

/// What is known of a story, as short as it gets.
fn facts(story: &StoryProgress, width: usize, now: Timestamp) -> Line<'static> {
    let mut facts: Vec<Span<'static>> = Vec::new();
    if let Some(last) = story.attempts.last() {
        let is_running = story.state == StoryStanding::Running;
        if let Some(tried) = tries(last, is_running, width) {
            let style = if is_running { WARN } else { DIM };
            facts.push(Span::styled(tried, style));
        }
        let time = words::clock(words::millis(story.elapsed(now)));
        facts.push(Span::styled(time, DIM));
    }
    if width >= ROOM_FOR_COST {
        let cost = story.usage().cost_usd.map(words::cost);
        facts.extend(cost.map(|cost| Span::styled(cost, DIM)));
    }
    let mut line = Line::default();
    for fact in facts {
        if !line.spans.is_empty() {
            line.spans.push(Span::raw(" "));
        }
        line.spans.push(fact);
    }
    line
}

/// The facts after what is to be repaired, or why the last attempt failed, if there is room for that
/// beside the title.
fn with_failure(story: &StoryProgress, facts: Line<'static>, room: usize) -> Line<'static> {
    let running = story.attempts.last();
    let running = running.filter(|_| story.state == StoryStanding::Running);
    let failed = running.and_then(|last| failure::before(story, last));
    let Some(failed) = failed.filter(|_| room >= LEAST_FAILURE) else {
        return facts;
    };
    let (mark, style) = failed.mark();
    let text = wrap::styled(format!("{mark} {}", failed.cause()), style);
    let mut line = wrap::cut(&text, room);
    line.spans.push(Span::raw(" "));
    line.spans.extend(facts.spans);
    line
}

/// Which repair or attempt this is, where it is not the first: `repair 1/2`, `try 2/4`, and of a story
/// that is over `2 tries`.
fn tries(last: &AttemptProgress, is_running: bool, width: usize) -> Option<String> {
    let number = last.number.0;
    if is_running {
        let Tries { number, most, .. } = last.tries;
        let tried = (number > 1).then(|| format!("try {number}/{most}"));
        return last.repair().map(words::repair).or(tried);
    }
    if number < 2 {
        return None;
    }
    (width >= ROOM_FOR_COST).then(|| format!("{number} tries"))
}

/// The symbol for the state of a story.
pub(crate) fn glyph(story: &StoryProgress) -> (&'static str, Style) {
    match &story.state {
        StoryStanding::Waiting => ("○", DIM),
        StoryStanding::Done => ("✓", DIM),
        StoryStanding::Deferred => ("⊘", DIM),
        StoryStanding::Running => ("●", ACTIVE),
        StoryStanding::Skipped { .. } => ("»", WARN),
        StoryStanding::Failed(_) => ("✗", BAD),
        StoryStanding::NotRun { .. } => ("◌", WARN),
        StoryStanding::Completed { .. } => ("✓", GOOD),
        StoryStanding::Unfinished => unfinished(story),
    }
}

/// The symbol of a story that is not done at the end of the run: only what failed is a failure.
fn unfinished(story: &StoryProgress) -> (&'static str, Style) {
    match story.attempts.last().map(|attempt| &attempt.state) {
        None | Some(AttemptStanding::Running) => ("‖", WARN),
        Some(AttemptStanding::Succeeded) if story.is_reopened => ("✗", BAD),
        // The run was rewound to before it.
        Some(AttemptStanding::Succeeded) => ("○", DIM),
        Some(state) => failure::mark(state),
    }
}

/// How many rows everything that is known of the selected story takes.
pub(super) fn height(run: &Run, columns: usize, has_attempts: bool) -> u16 {
    let size = (columns, usize::MAX);
    let lines = lines(run, size, has_attempts, Timestamp::UNIX_EPOCH);
    u16::try_from(lines.len()).unwrap_or(u16::MAX)
}

/// What is known of the selected story, in columns and rows: its title, tasks, attempts and gates. The
/// attempts are left out if they are shown elsewhere.
pub(super) fn lines(
    run: &Run,
    (columns, rows): (usize, usize),
    has_attempts: bool,
    now: Timestamp,
) -> Vec<Line<'static>> {
    let Some(story) = run.story() else {
        return Vec::new();
    };
    let columns = columns.saturating_sub(2).max(8);
    let mut lines = vec![Line::default()];
    lines.extend(title(story, columns));
    lines.extend(left_open(story, columns));
    lines.extend(findings(run, story, columns));
    let mut gates = gates(run, story, columns, now);
    gates.extend(reviews(run, story, columns, now));
    let mut attempts = attempts(story, columns, now);
    let room = rows.saturating_sub(lines.len() + gates.len());
    // The attempts have a tab of their own.
    if has_attempts || room <= attempts.len() + story.tasks.len() {
        attempts.clear();
    }
    let room = room.saturating_sub(attempts.len());
    lines.extend(tasks(story, room.max(LEAST_TASKS + 1), columns));
    lines.extend(attempts);
    lines.extend(gates);
    lines.truncate(rows);
    for line in &mut lines {
        line.spans.insert(0, Span::raw(" "));
    }
    lines
}

fn title(story: &StoryProgress, columns: usize) -> Vec<Line<'static>> {
    let title = format!("{} {}", clean(&story.id.0), clean(&story.title));
    let title = wrap::styled(title.trim().to_owned(), STRONG);
    let mut lines = wrap::wrap(&title, columns, 2);
    if lines.len() > TITLE_ROWS {
        lines.truncate(TITLE_ROWS);
        if let Some(last) = lines.last_mut() {
            last.spans.push(Span::styled(wrap::MISSING, STRONG));
            *last = wrap::cut(last, columns);
        }
    }
    lines
}

/// Why the story is left open, where the run continues without it.
fn left_open(story: &StoryProgress, columns: usize) -> Vec<Line<'static>> {
    let (text, style) = match &story.state {
        StoryStanding::Failed(exhausted) => (exhausted.failed.words(), BAD),
        StoryStanding::Skipped { reason } => (format!("skipped: {reason}"), WARN),
        StoryStanding::NotRun { reason, .. } => (format!("not run: {reason}"), WARN),
        _ => return Vec::new(),
    };
    wrap::wrap(&wrap::styled(clean(&text), style), columns, 2)
}

/// What was found in the work of the story, as warnings.
fn findings(run: &Run, story: &StoryProgress, columns: usize) -> Vec<Line<'static>> {
    let findings = run.progress.findings_of(story);
    findings
        .flat_map(|finding| {
            let text = format!("! {}", clean(&finding.text()));
            wrap::wrap(&wrap::styled(text, WARN), columns, 2)
        })
        .collect()
}

/// The tasks with their boxes in this many rows: whole if they fit, else the start of each, around
/// the first open one.
fn tasks(story: &StoryProgress, rows: usize, columns: usize) -> Vec<Line<'static>> {
    let all = &story.tasks;
    let (done, total) = if all.is_empty() {
        (story.tasks_done, story.tasks_total)
    } else {
        let done = all.iter().filter(|task| task.state == TaskState::Done);
        (done.count(), all.len())
    };
    if total == 0 {
        return Vec::new();
    }
    let mut lines = vec![wrap::styled(format!("Tasks {done}/{total}"), DIM)];
    let room = rows.saturating_sub(1);
    let whole: Vec<Line<'_>> = all
        .iter()
        .flat_map(|it| wrap::wrap(&task(it), columns, 2))
        .collect();
    if whole.len() <= room {
        lines.extend(whole);
        return lines;
    }
    let short = |it: &TaskOutline| wrap::cut(&task(it), columns);
    if all.len() <= room {
        lines.extend(all.iter().map(short));
        return lines;
    }
    // The last row says how many more there are.
    let room = room.saturating_sub(1);
    let open = all.iter().position(|task| task.state == TaskState::Open);
    let first = open.unwrap_or(0).saturating_sub(1);
    let first = first.min(all.len().saturating_sub(room));
    lines.extend(all.iter().skip(first).take(room).map(short));
    let more = all.len() - room.min(all.len());
    lines.push(wrap::styled(format!("  … {more} more"), DIM));
    lines
}

fn task(task: &TaskOutline) -> Line<'static> {
    let (mark, style) = match task.state {
        TaskState::Open => ("☐", PLAIN),
        TaskState::Done => ("☑", DIM),
        TaskState::Deferred => ("⊟", DIM),
    };
    wrap::styled(format!("{mark} {}", clean(&task.text)), style)
}

/// The last attempts, one line each, where there was more than one.
fn attempts(story: &StoryProgress, columns: usize, now: Timestamp) -> Vec<Line<'static>> {
    let count = story.attempts.len();
    if count < 2 {
        return Vec::new();
    }
    let last = story.attempts.iter().skip(count.saturating_sub(ATTEMPTS));
    let lines = last.map(|it| wrap::cut(&attempt(story, it, now), columns));
    std::iter::once(wrap::styled("Attempts", DIM))
        .chain(lines)
        .collect()
}

fn attempt(story: &StoryProgress, attempt: &AttemptProgress, now: Timestamp) -> Line<'static> {
    let (mark, style) = failure::mark(&attempt.state);
    let what = match &attempt.state {
        AttemptStanding::Running => words::clock_between(attempt.started_at, now),
        AttemptStanding::Succeeded => "done".to_owned(),
        AttemptStanding::Failed(_) | AttemptStanding::Interrupted => {
            let failed = failure::of(story, attempt);
            failed.map(|it| it.cause()).unwrap_or_default()
        }
    };
    Line::from(vec![
        Span::styled(format!("{mark} "), style),
        Span::raw(format!("{} ", attempt.number)),
        Span::styled(what, DIM),
    ])
}

/// What each gate said last about the story.
fn gates(run: &Run, story: &StoryProgress, columns: usize, now: Timestamp) -> Vec<Line<'static>> {
    let Some(header) = &run.progress.header else {
        return Vec::new();
    };
    if header.gates.is_empty() && header.reviews.is_empty() {
        let line = Line::from(vec![Span::styled("! ", WARN), Span::styled(NO_GATES, WARN)]);
        return wrap::wrap(&line, columns, 2);
    }
    if story.gates.is_empty() || header.gates.is_empty() {
        return Vec::new();
    }
    let lines = header.gates.iter().flat_map(|name| {
        let last = story.gates.iter().rfind(|gate| gate.name == *name);
        wrap::wrap(&gate(name, last, story, now), columns, 2)
    });
    std::iter::once(wrap::styled("Gates", DIM))
        .chain(lines)
        .collect()
}

/// What each reviewer said last about the story.
fn reviews(run: &Run, story: &StoryProgress, columns: usize, now: Timestamp) -> Vec<Line<'static>> {
    let Some(header) = run
        .progress
        .header
        .as_ref()
        .filter(|_| !story.reviews.is_empty())
    else {
        return Vec::new();
    };
    let lines = header.reviews.iter().flat_map(|name| {
        let last = story.reviews.iter().rfind(|review| review.name == *name);
        let (mark, style, what) = match last {
            None => ("·", DIM, NOT_RUN.to_owned()),
            Some(review) => reviewed(review, now),
        };
        let line = Line::from(vec![
            Span::styled(format!("{mark} "), style),
            Span::raw(format!("{} ", clean(name))),
            Span::styled(what, DIM),
        ]);
        wrap::wrap(&line, columns, 2)
    });
    std::iter::once(wrap::styled("Reviews", DIM))
        .chain(lines)
        .collect()
}

fn gate(
    name: &str,
    last: Option<&GateProgress>,
    story: &StoryProgress,
    now: Timestamp,
) -> Line<'static> {
    let (mark, style, what) = match last {
        None => ("·", DIM, NOT_RUN.to_owned()),
        Some(gate) => verdict(gate, story, now),
    };
    Line::from(vec![
        Span::styled(format!("{mark} "), style),
        Span::raw(format!("{} ", clean(name))),
        Span::styled(what, DIM),
    ])
}

fn verdict(
    gate: &GateProgress,
    story: &StoryProgress,
    now: Timestamp,
) -> (&'static str, Style, String) {
    let took = gate.duration.map(words::millis).map(words::elapsed);
    let took = took.unwrap_or_default();
    let last = story.attempts.last().map(|attempt| attempt.number);
    let is_baseline = gate.attempt.is_none() && !gate.whole;
    let is_earlier = gate.attempt.filter(|attempt| last != Some(*attempt));
    match (gate.standing(), is_earlier) {
        (GateStanding::RedBefore(_), _) => ("!", WARN, RED_BEFORE.to_owned()),
        (GateStanding::NotRun, _) => ("·", DIM, words::NOT_RUN.to_owned()),
        (GateStanding::Passed, Some(attempt)) => ("·", DIM, format!("passed at attempt {attempt}")),
        (GateStanding::Flaky, Some(attempt)) => {
            let what = words::flaky(gate.tries());
            ("·", DIM, format!("{what} at attempt {attempt}"))
        }
        (GateStanding::Failed(how) | GateStanding::CannotRun(how), Some(attempt)) => {
            ("·", DIM, format!("{} at attempt {attempt}", clean(how)))
        }
        // It says nothing about the work.
        (GateStanding::Passed | GateStanding::Flaky, None) if is_baseline => {
            ("·", DIM, PASSED_BEFORE.to_owned())
        }
        (GateStanding::Flaky, None) => ("✓", WARN, words::flaky(gate.tries())),
        (GateStanding::Passed, None) => ("✓", GOOD, took),
        (GateStanding::Failed(how) | GateStanding::CannotRun(how), None) => ("✗", BAD, clean(how)),
        (GateStanding::Running, _) => {
            let time = words::clock_between(gate.started_at, now);
            ("●", ACTIVE, time)
        }
        (GateStanding::Stopped, _) => ("·", DIM, STOPPED.to_owned()),
    }
}
