//! The stories of a run as rows of a table: the attempts, time and cost of each, as numbers and as
//! bars that compare them.

use jiff::Timestamp;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::run::glyph;
use crate::tui::gauge;
use crate::tui::palette::{DIM, NAME, PLAIN, STRONG, WARN};
use crate::tui::wrap;
use crate::ui::text::clean;
use crate::ui::words;
use ralph_run::records::progress::{Progress, StoryProgress, StoryStanding};

/// The widths of the columns, with the gaps before them.
const MARK: usize = 3;
const TRIES: usize = 7;
const TIME: usize = 8;
const COST: usize = 9;

/// How wide a bar is, with the space before it: on a narrow screen, and from the width on that is wide.
const BARS: (usize, usize) = (7, 9);
const WIDE: usize = 80;

/// How wide titles may be before there is room for more than time and cost.
const USUAL_TITLE: usize = 28;

/// Which columns fit, and what the bars compare with.
pub(super) struct StoryTable<'a> {
    progress: &'a Progress,
    room: usize,
    /// The widths of the columns that depend on the room; 0 for one that is left out.
    title: usize,
    attempts: usize,
    time_bar: usize,
    cost: usize,
    cost_bar: usize,
    end: Timestamp,
    /// The longest time of a story, in milliseconds, and the highest cost.
    most: (u64, f64),
}

impl<'a> StoryTable<'a> {
    pub(super) fn of(progress: &'a Progress, room: usize) -> Self {
        let end = progress.ended_at.or(progress.last_at).unwrap_or_default();
        let stories = &progress.stories;
        let time = stories.iter().map(|story| time(story, end)).max();
        let costs = stories.iter().filter_map(|story| story.usage().cost_usd);
        let has_cost = costs.clone().next().is_some();
        let cost = if has_cost { COST } else { 0 };
        let mut left = room.saturating_sub(MARK + TIME + cost);
        let longest = stories.iter().map(|it| wrap::columns(&label(it))).max();
        let longest = longest.unwrap_or(0).max("Stories".len());
        let least_title = longest.min(USUAL_TITLE);
        let mut take = |columns: usize| {
            let columns = if left < least_title + columns {
                0
            } else {
                columns
            };
            left -= columns;
            columns
        };
        let bar = if room < WIDE { BARS.0 } else { BARS.1 };
        let attempts = take(TRIES);
        let time_bar = take(bar);
        let cost_bar = if has_cost { take(bar) } else { 0 };
        Self {
            progress,
            room,
            title: longest.min(left),
            attempts,
            time_bar,
            cost,
            cost_bar,
            end,
            most: (time.unwrap_or(0), costs.fold(0.0, f64::max)),
        }
    }

    /// The titles of the columns.
    pub(super) fn head(&self) -> Line<'static> {
        let title = wrap::styled("Stories", STRONG);
        let mut line = self.begin(Span::raw(""), &title);
        let titles = [
            column("tries", self.attempts),
            column("time", TIME),
            " ".repeat(self.time_bar),
            column("cost", self.cost),
        ];
        let titles = titles.map(|title| Span::styled(title, DIM));
        line.spans.extend(titles);
        wrap::cut(&line, self.room)
    }

    /// The row of a story.
    pub(super) fn row(&self, story: &StoryProgress) -> Line<'static> {
        let (mark, style) = mark(self.progress, story);
        let text = if story.attempts.is_empty() {
            DIM
        } else {
            PLAIN
        };
        let title = wrap::styled(label(story), text);
        let mut line = self.begin(Span::styled(mark, style), &title);
        if story.attempts.is_empty() {
            let word = standing(&story.state);
            line.spans.push(Span::styled(format!("  {word}"), DIM));
            return wrap::cut(&line, self.room);
        }
        let took = time(story, self.end);
        let usd = story.usage().cost_usd;
        let cost = usd.map(words::cost).unwrap_or_default();
        let usd = micros(usd.unwrap_or(0.0));
        line.spans.extend([
            Span::raw(column(&story.attempts.len().to_string(), self.attempts)),
            Span::raw(column(&words::elapsed(took), TIME)),
            bar(took, self.most.0, self.time_bar),
            Span::raw(column(&cost, self.cost)),
            bar(usd, micros(self.most.1), self.cost_bar),
        ]);
        wrap::cut(&line, self.room)
    }

    /// The mark and the title, which is cut or padded.
    fn begin(&self, mark: Span<'static>, title: &Line<'static>) -> Line<'static> {
        let mut line = wrap::fit(&Line::from(mark), MARK);
        line.spans.extend(wrap::fit(title, self.title).spans);
        line
    }
}

/// A text at the right of a column; nothing where the column is left out.
fn column(text: &str, width: usize) -> String {
    if width == 0 {
        return String::new();
    }
    format!("{text:>width$}")
}

/// A bar after a space; nothing where its column is left out.
fn bar(value: u64, most: u64, width: usize) -> Span<'static> {
    let Some(columns) = width.checked_sub(1) else {
        return Span::raw("");
    };
    let bar = gauge::bar(value, most, columns);
    Span::styled(format!(" {bar:columns$}"), NAME)
}

/// The mark of a story and its style: `✓!` is done with a warning.
fn mark(progress: &Progress, story: &StoryProgress) -> (&'static str, Style) {
    if progress.is_doubtful(story) {
        return (words::done_mark(true), WARN);
    }
    glyph(story)
}

fn label(story: &StoryProgress) -> String {
    format!("{} {}", clean(&story.id.0), clean(&story.title))
}

fn time(story: &StoryProgress, end: Timestamp) -> u64 {
    words::millis(story.elapsed(end))
}

/// Millionths of a dollar.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cost is not negative, and `as` keeps what is too large in bounds"
)]
fn micros(usd: f64) -> u64 {
    (usd * 1_000_000.0) as u64
}

/// What a story without attempts is called.
fn standing(state: &StoryStanding) -> &'static str {
    match state {
        StoryStanding::Done => "done before this run",
        StoryStanding::Deferred => "deferred",
        StoryStanding::Skipped { .. } => "skipped",
        StoryStanding::Failed(_) => "failed",
        StoryStanding::NotRun { .. } => "not run",
        StoryStanding::Completed(_) => "done",
        StoryStanding::Waiting | StoryStanding::Running | StoryStanding::Unfinished => {
            "not started"
        }
    }
}
