//! The gates that ran for a story and its reviews, with what one of them printed or found.

use std::path::PathBuf;

use jiff::Timestamp;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::tui::message::{FileWindow, Query};
use crate::tui::palette::{ACTIVE, BAD, DIM, GOOD, STRONG, WARN};
use crate::tui::text_pane::{Item, TextPane};
use crate::tui::wrap;
use crate::ui::text::{clean, clean_lines};
use crate::ui::words;
use ralph_run::records::event::GateResult;
use ralph_run::records::progress::{GateProgress, GateStanding, ReviewProgress, StoryProgress};
use ralph_run::records::review::{ReviewResult, Verdict};

/// How many lines of a gate's output are shown.
const TAIL: usize = 500;

/// What is said of a gate whose failure is not the work's fault.
pub(crate) const RED_BEFORE: &str = "red since before the run";

/// What is said of a gate that has judged no work, and has or has not passed before there was any.
pub(crate) const PASSED_BEFORE: &str = "passed before the run";
pub(crate) const NOT_RUN: &str = "has not run on the work";

/// What is said of a gate that was ended with the attempt.
pub(crate) const STOPPED: &str = "stopped";

const NOTHING: &str = "  it has printed nothing";

/// The gates and reviews of a story.
#[derive(Debug, Default)]
pub(crate) struct GatesPane {
    pub(crate) text: TextPane,
    /// The index of the gate, or of the review after them, whose output is shown, if the user chose one; else the last.
    chosen: Option<usize>,
    /// What was found in the file of a gate.
    output: Option<(PathBuf, Result<FileWindow, String>)>,
    waiting: bool,
    stale: bool,
    asked: Option<PathBuf>,
}

impl GatesPane {
    /// Starts again with the gates of another story; outputs are shown from their end.
    pub(crate) fn reset(&mut self) {
        let mut text = std::mem::take(&mut self.text);
        text.follow();
        *self = Self {
            text,
            ..Self::default()
        };
    }

    /// The output may have grown.
    pub(crate) fn grew(&mut self) {
        self.stale = true;
    }

    /// Shows the output of the gate at the cursor.
    pub(crate) fn toggle(&mut self) {
        self.chosen = self.text.item();
        self.stale = true;
    }

    fn open(&self, story: &StoryProgress) -> Option<usize> {
        let last = (story.gates.len() + story.reviews.len()).checked_sub(1)?;
        let last_run = story.gates.iter().rposition(|gate| !gate.is_not_run);
        let last_run = last_run.filter(|_| story.reviews.is_empty());
        Some(self.chosen.or(last_run).unwrap_or(last).min(last))
    }

    /// A query for the output if it is missing or has grown, unless one is not answered yet.
    pub(crate) fn query(&mut self, story: Option<&StoryProgress>) -> Option<Query> {
        let story = story?;
        let gate = story.gates.get(self.open(story)?)?;
        if self.waiting || gate.log.is_empty() {
            return None;
        }
        let path = PathBuf::from(&gate.log);
        if !self.stale && self.asked.as_ref() == Some(&path) {
            return None;
        }
        self.waiting = true;
        self.stale = false;
        self.asked = Some(path.clone());
        Some(Query::File(path, TAIL))
    }

    /// Receives an output.
    pub(crate) fn receive(&mut self, path: PathBuf, found: Result<FileWindow, String>) {
        self.waiting = false;
        self.output = Some((path, found));
    }

    /// Lays out the gates of a story; `nothing` is said if none ran.
    pub(crate) fn fit(
        &mut self,
        area: Rect,
        story: Option<&StoryProgress>,
        nothing: &Line<'static>,
        now: Timestamp,
    ) {
        self.text.fit(area);
        let columns = self.text.columns();
        let gates = story.map_or(&[][..], |story| &story.gates);
        let open = story.and_then(|story| self.open(story));
        let gates = gates.iter().enumerate().map(|(place, gate)| {
            let is_open = Some(place) == open;
            let mut lines = vec![wrap::cut(&title(gate, is_open, now), columns)];
            if is_open {
                lines.extend(self.output(gate, columns));
            }
            lines
        });
        let mut items: Vec<Item> = gates.collect();
        let reviews = story.map_or(&[][..], |story| &story.reviews);
        let before = items.len();
        items.extend(reviews.iter().enumerate().map(|(place, review)| {
            let is_open = Some(before + place) == open;
            let mut lines = vec![wrap::cut(&review_title(review, is_open, now), columns)];
            if is_open {
                lines.extend(verdicts(review, columns));
            }
            lines
        }));
        if items.is_empty() {
            items.push(wrap::wrap(nothing, columns, 2));
        }
        self.text.set(items);
    }

    fn output(&self, gate: &GateProgress, columns: usize) -> Vec<Line<'static>> {
        let shown = self.output.as_ref();
        let shown = shown.filter(|(path, _)| path.as_os_str() == gate.log.as_str());
        let window = match shown {
            Some((_, Ok(window))) => window,
            Some((_, Err(problem))) => return without_file(gate, Some(problem), columns),
            None => return without_file(gate, None, columns),
        };
        let mut lines = Vec::new();
        if window.first > 0 {
            let text = format!("  … {} lines before, in {}", window.first, clean(&gate.log));
            lines.push(wrap::styled(text, DIM));
        }
        let printed = window.lines.iter().map(String::as_str);
        lines.extend(indented(printed, columns));
        if window.lines.is_empty() {
            lines.push(wrap::styled(NOTHING, DIM));
        }
        lines
    }
}

/// What is known of the output of a gate whose file is missing, is not read yet or cannot be read.
fn without_file(
    gate: &GateProgress,
    problem: Option<&String>,
    columns: usize,
) -> Vec<Line<'static>> {
    match (&gate.result, problem) {
        // The records have its last lines.
        (Some(GateResult::Failed { tail, .. }), _) if !tail.is_empty() => {
            indented(tail.lines(), columns)
        }
        // Its file appears with its first words.
        (None, Some(_)) if gate.duration.is_none() => vec![wrap::styled(NOTHING, DIM)],
        (_, Some(problem)) => {
            let text = format!("  the output cannot be read: {}", clean(problem));
            wrap::wrap(&wrap::styled(text, DIM), columns, 2)
        }
        (_, None) => Vec::new(),
    }
}

fn title(gate: &GateProgress, open: bool, now: Timestamp) -> Line<'static> {
    let (mark, how, style) = match gate.standing() {
        GateStanding::Passed => ("✓", String::new(), GOOD),
        GateStanding::Flaky => ("✓", format!("  {}", words::flaky(gate.tries())), WARN),
        GateStanding::RedBefore(how) => ("!", format!("  {}, {RED_BEFORE}", clean(how)), WARN),
        GateStanding::Failed(how) | GateStanding::CannotRun(how) => {
            ("✗", format!("  {}", clean(how)), BAD)
        }
        GateStanding::Running => ("●", runs(gate), ACTIVE),
        GateStanding::Stopped => ("·", format!("  {STOPPED}"), DIM),
        GateStanding::NotRun => ("·", format!("  {}", words::NOT_RUN), DIM),
    };
    let place = match gate.attempt {
        Some(attempt) if gate.repair > 0 => format!("attempt {attempt}, repair {}", gate.repair),
        Some(attempt) => format!("attempt {attempt}"),
        None if gate.whole => "on the whole change".to_owned(),
        None => "on the checkpoint".to_owned(),
    };
    let took = match gate.duration {
        Some(duration) => format!(" · {}", words::elapsed(words::millis(duration))),
        None if gate.is_not_run => String::new(),
        None => format!(" · {}", words::clock_between(gate.started_at, now)),
    };
    Line::from(vec![
        Span::styled(if open { "▾ " } else { "▸ " }, DIM),
        Span::styled(format!("{mark} "), style),
        Span::styled(clean(&gate.name), STRONG),
        Span::styled(how, style),
        Span::styled(format!("  {place}{took}"), DIM),
    ])
}

fn runs(gate: &GateProgress) -> String {
    match gate.tries() {
        1 => "  runs".to_owned(),
        tries => format!("  runs, {} try", words::ordinal(tries)),
    }
}

/// How a review stands: its mark with the style, and what it says in a few words.
pub(crate) fn reviewed(review: &ReviewProgress, now: Timestamp) -> (&'static str, Style, String) {
    let Some(result) = &review.result else {
        return match review.duration {
            None => ("●", ACTIVE, words::clock_between(review.started_at, now)),
            Some(_) => ("·", DIM, STOPPED.to_owned()),
        };
    };
    let (mark, style) = match result {
        ReviewResult::NoVerdict { .. } => ("!", WARN),
        found if found.has(Verdict::NotMet) && !review.advisory => ("✗", BAD),
        found if found.has(Verdict::NotMet) || found.has(Verdict::CannotTell) => ("!", WARN),
        ReviewResult::Judged { .. } => ("✓", GOOD),
    };
    (mark, style, result.words())
}

fn review_title(review: &ReviewProgress, open: bool, now: Timestamp) -> Line<'static> {
    let (mark, style, what) = reviewed(review, now);
    let place = match review.attempt {
        Some(attempt) => format!("review of attempt {attempt}"),
        None => "review of the whole change".to_owned(),
    };
    let took = review.duration.map(words::millis).map(words::elapsed);
    let took = took.map_or_else(String::new, |took| format!(" · {took}"));
    Line::from(vec![
        Span::styled(if open { "▾ " } else { "▸ " }, DIM),
        Span::styled(format!("{mark} "), style),
        Span::styled(clean(&review.name), STRONG),
        Span::styled(format!("  {what}"), style),
        Span::styled(format!("  {place}{took}"), DIM),
    ])
}

/// What a review said of each task and scenario, and where its transcript is.
fn verdicts(review: &ReviewProgress, columns: usize) -> Vec<Line<'static>> {
    let place = format!("  prompt and output: {}", clean(&review.transcript));
    let place = wrap::wrap(&wrap::styled(place, DIM), columns, 2);
    let mut lines = judged(review, columns);
    lines.extend(place.into_iter().filter(|_| !review.transcript.is_empty()));
    lines
}

fn judged(review: &ReviewProgress, columns: usize) -> Vec<Line<'static>> {
    let items = match &review.result {
        Some(ReviewResult::Judged { items }) => items,
        Some(ReviewResult::NoVerdict { reason }) => {
            let line = wrap::styled(format!("  {}", clean(reason)), DIM);
            return wrap::wrap(&line, columns, 2);
        }
        None => return Vec::new(),
    };
    let lines = items.iter().flat_map(|item| {
        let style = match item.verdict {
            Verdict::Met => GOOD,
            Verdict::NotMet => BAD,
            Verdict::CannotTell => WARN,
            Verdict::OtherStory => DIM,
        };
        let evidence = clean_lines(&item.evidence).join(" ");
        let mut line = Line::from(vec![
            Span::raw(format!("  {} {}: ", item.item, clean(&item.text))),
            Span::styled(item.verdict.words(), style),
        ]);
        if !evidence.is_empty() {
            line.spans.push(Span::styled(format!(": {evidence}"), DIM));
        }
        wrap::wrap(&line, columns, 4)
    });
    lines.collect()
}

fn indented<'a>(lines: impl Iterator<Item = &'a str>, columns: usize) -> Vec<Line<'static>> {
    lines
        .flat_map(|text| wrap::wrap(&Line::from(format!("  {}", clean(text))), columns, 2))
        .collect()
}
