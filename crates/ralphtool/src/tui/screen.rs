//! The five screens, one file each: the state of each, what keys do to it, how it is drawn.
//!
//! They follow each other: `changes`, `preview`, `run`, `completion`, `result`.

pub(crate) mod changes;
pub(crate) mod completion;
pub(crate) mod preview;
pub(crate) mod result;
pub(crate) mod run;
mod story_table;

use std::collections::BTreeSet;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::tui::message::ErrorText;
use crate::tui::palette::{BAD, NAME, STRONG, WARN};
use crate::tui::wrap;
use crate::ui::text::clean;
use crate::ui::words::{self, count};
use ralph_run::records::progress::{Progress, StoryStanding};

/// The first line of a screen: the program, and the change that is shown.
fn title_of(change: &str) -> Vec<Span<'static>> {
    vec![
        Span::styled(" ralphtool ", STRONG),
        Span::raw("  "),
        Span::styled(clean(change), STRONG),
    ]
}

/// The name of the change of a run; empty before the run has started.
fn change_of(progress: &Progress) -> &str {
    let header = progress.header.as_ref();
    header.map_or("", |header| header.change.as_str())
}

/// The stories, attempts, time and usage of a run.
fn totals(progress: &Progress) -> String {
    let figures = progress.figures(None);
    let mut facts = vec![
        figures.stories.in_full(),
        count(figures.attempts, "attempt"),
    ];
    facts.extend(words::repairs(figures.repairs));
    facts.push(words::elapsed(words::millis(figures.time)));
    facts.extend(words::usage(&figures.usage));
    let unknown = progress.is_cost_missing();
    facts.extend(unknown.then(|| words::COST_UNKNOWN.to_owned()));
    facts.join(" · ")
}

/// What speaks against the work of a run.
fn alerts(progress: &Progress) -> Vec<Line<'static>> {
    let alerts = progress.alerts();
    let alerts = alerts.iter().map(|alert| words::one_line(alert));
    let line = |text| wrap::styled(format!("! {text}"), WARN);
    alerts.map(line).collect()
}

/// The files in which something was found.
fn flagged(progress: &Progress) -> BTreeSet<String> {
    let paths = progress.findings().flat_map(|finding| &finding.paths);
    paths.cloned().collect()
}

/// The commits before and after a run, once it has completed a story.
fn range_of(progress: &Progress) -> Option<(String, String)> {
    let attempts = progress.stories.iter().flat_map(|story| &story.attempts);
    let first = attempts.min_by_key(|attempt| attempt.started_at)?;
    let completed = progress.stories.iter().filter_map(|story| {
        let last = story.attempts.last()?;
        match &story.state {
            StoryStanding::Completed(it) => Some((last.started_at, &it.commit)),
            _ => None,
        }
    });
    let (_, last) = completed.max_by_key(|(started, _)| *started)?;
    Some((first.base.clone()?, last.clone()))
}

/// An error and its hints.
pub(crate) fn error_lines(error: &ErrorText) -> Vec<Line<'static>> {
    let mut lines = vec![wrap::styled(clean(&error.message), BAD)];
    let hint = |hint: &String| Line::from(vec![Span::styled("→ ", NAME), clean(hint).into()]);
    lines.extend(error.hints.iter().map(hint));
    lines
}

/// Draws lines, wrapped, with a margin at the left and a mark if some do not fit.
fn draw_lines(frame: &mut Frame<'_>, area: Rect, lines: &[Line<'static>], margin: u16) {
    let inner = Rect {
        x: area.x + margin.min(area.width),
        width: area.width.saturating_sub(margin),
        ..area
    };
    let mut lines = wrapped(lines, inner.width);
    if lines.len() > usize::from(inner.height) {
        lines.truncate(inner.height.into());
        if let Some(last) = lines.last_mut() {
            last.spans.push(Span::raw(format!(" {}", wrap::MISSING)));
            *last = wrap::cut(last, inner.width.into());
        }
    }
    frame.render_widget(Paragraph::new(lines), inner);
}

/// The lines, wrapped to this many columns.
fn wrapped(lines: &[Line<'static>], columns: u16) -> Vec<Line<'static>> {
    let lines = lines.iter();
    lines
        .flat_map(|line| wrap::wrap(line, columns.into(), 2))
        .collect()
}
