//! What a run did, to be read before the choice: its stories, gates and warnings.

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::tui::failure;
use crate::tui::palette::{BAD, DIM, GOOD, PLAIN, STRONG, WARN};
use crate::tui::pane::gates::{NOT_RUN, STOPPED};
use crate::tui::screen::story_table::StoryTable;
use crate::tui::text_pane::{Item, TextPane};
use crate::tui::wrap;
use crate::ui::reason;
use crate::ui::text::{clean, pad};
use crate::ui::words;
use ralph_plan::tasks::TaskState;
use ralph_run::records::progress::{
    GateProgress, GateStanding, Importance, Progress, StoryProgress, Warning,
};

/// How much is shown of each story, as far as there is room: the most first.
const DETAILS: [Detail; 3] = [Detail::Tasks, Detail::Failures, Detail::Row];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Detail {
    Row,
    /// And why attempts failed.
    Failures,
    /// And its tasks.
    Tasks,
}

/// The review, as a pane.
#[derive(Debug, Default)]
pub(super) struct Review {
    pub(super) pane: TextPane,
    /// The place of the story that each item is about.
    stories: Vec<Option<usize>>,
}

impl Review {
    /// Lays it out for an area of this size.
    pub(super) fn fit(&mut self, area: Rect, progress: &Progress) {
        self.pane.fit(area);
        let columns = self.pane.columns();
        let height = self.pane.height();
        let lines = |items: &[(Option<usize>, Item)]| -> usize {
            items.iter().map(|(_, item)| item.len()).sum()
        };
        let mut items = Vec::new();
        for detail in DETAILS {
            items = all(progress, columns, detail);
            if lines(&items) <= height {
                break;
            }
        }
        let (stories, items) = items.into_iter().unzip();
        self.stories = stories;
        self.pane.set(items);
    }

    /// The place of the story at the cursor.
    pub(super) fn story(&self) -> Option<usize> {
        *self.stories.get(self.pane.item()?)?
    }
}

/// All items, each with the place of its story.
fn all(progress: &Progress, columns: usize, detail: Detail) -> Vec<(Option<usize>, Item)> {
    let table = StoryTable::of(progress, columns);
    let mut items = vec![(None, vec![table.head()])];
    items.extend(progress.stories.iter().enumerate().map(|(place, story)| {
        let mut item = vec![table.row(story)];
        item.extend(details(story, columns, detail));
        (Some(place), item)
    }));
    for part in [gates(progress, columns), warnings(progress, columns)] {
        if !part.is_empty() {
            items.push((None, vec![Line::default()]));
            items.extend(part.into_iter().map(|item| (None, item)));
        }
    }
    items
}

fn details(story: &StoryProgress, columns: usize, detail: Detail) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if detail >= Detail::Failures {
        let attempts = story.attempts.iter();
        let failures = attempts.flat_map(|it| failure::all_of(it, reason::brief));
        lines.extend(failures.map(|failure| format!("   {failure}")));
    }
    if detail >= Detail::Tasks {
        lines.extend(story.tasks.iter().map(|task| {
            let mark = match task.state {
                TaskState::Open => "☐",
                TaskState::Done => "☑",
                TaskState::Deferred => "⊟",
            };
            format!("   {mark} {}", clean(&task.text))
        }));
    }
    let lines = lines.into_iter().map(|text| wrap::styled(text, DIM));
    lines.map(|line| wrap::cut(&line, columns)).collect()
}

/// Each gate with its last verdict and how long it took.
fn gates(progress: &Progress, columns: usize) -> Vec<Item> {
    let mut names: Vec<&str> = Vec::new();
    let configured = progress.header.iter().flat_map(|header| &header.gates);
    let ran = progress.stories.iter().flat_map(|story| &story.gates);
    for name in configured.chain(ran.map(|gate| &gate.name)) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return Vec::new();
    }
    let widest = names.iter().map(|name| wrap::columns(&clean(name))).max();
    let mut items = vec![vec![wrap::styled("Gates", STRONG)]];
    items.extend(names.into_iter().map(|name| {
        let line = gate_line(progress, name, widest.unwrap_or(0));
        wrap::wrap(&line, columns, 3)
    }));
    items
}

fn gate_line(progress: &Progress, name: &str, widest: usize) -> Line<'static> {
    let last = last_run(progress, name);
    let is_red_before = progress.red_in_work.contains(name);
    let standing = last.map(|(_, gate)| gate.standing());
    let (mark, verdict, style): (_, _, Style) = match standing {
        None => ("·", NOT_RUN.to_owned(), DIM),
        Some(GateStanding::Running | GateStanding::Stopped) => ("·", STOPPED.to_owned(), DIM),
        Some(GateStanding::NotRun) => ("·", words::NOT_RUN.to_owned(), DIM),
        Some(GateStanding::Passed) => ("✓", "passed".to_owned(), GOOD),
        Some(GateStanding::Flaky) => {
            let tries = last.map_or(1, |(_, gate)| gate.tries());
            ("✓", words::flaky(tries), WARN)
        }
        Some(GateStanding::RedBefore(_) | GateStanding::CannotRun(_) | GateStanding::Failed(_))
            if is_red_before =>
        {
            ("!", "red since before the run".to_owned(), WARN)
        }
        Some(
            GateStanding::RedBefore(how) | GateStanding::CannotRun(how) | GateStanding::Failed(how),
        ) => ("✗", clean(how), BAD),
    };
    let mut spans = vec![
        Span::styled(format!("{mark}  "), style),
        Span::raw(format!("{}  ", pad(&clean(name), widest))),
        Span::styled(verdict, if style == GOOD { PLAIN } else { style }),
    ];
    if let Some((story, gate)) = last {
        let took = gate
            .duration
            .map(|took| words::elapsed(words::millis(took)));
        let took = took.map(|took| format!(", {took}")).unwrap_or_default();
        let at = if gate.whole {
            "all stories".to_owned()
        } else {
            format!("story {}", clean(&story.id.0))
        };
        spans.push(Span::styled(format!("{took} ({at})"), DIM));
    }
    Line::from(spans)
}

/// The last time a gate judged work, and the story it ran at.
fn last_run<'a>(
    progress: &'a Progress,
    name: &str,
) -> Option<(&'a StoryProgress, &'a GateProgress)> {
    let stories = progress.stories.iter();
    let runs = stories.flat_map(|story| story.gates.iter().map(move |gate| (story, gate)));
    let judged = runs.filter(|(_, gate)| {
        let has_judged = gate.attempt.is_some() || gate.whole;
        gate.name == name && has_judged
    });
    // What it said when it last ran still holds where it did not run since.
    judged.max_by_key(|(_, gate)| (!gate.is_not_run, gate.started_at))
}

/// What is not above the choice already: warnings about how the run went, and notes.
fn warnings(progress: &Progress, columns: usize) -> Vec<Item> {
    let is_above = |warning: &Warning| progress.is_alert(warning);
    let mut items = Vec::new();
    for (importance, mark, style) in [
        (Importance::Warning, "!", WARN),
        (Importance::Note, "·", DIM),
    ] {
        let warnings = progress.warnings.iter();
        let shown = warnings.filter(|it| it.importance == importance && !is_above(it));
        items.extend(shown.map(|warning| {
            let text = format!("{mark}  {}", words::warning(warning));
            wrap::wrap(&wrap::styled(text, style), columns, 3)
        }));
    }
    if !items.is_empty() {
        items.insert(0, vec![wrap::styled("Warnings and notes", STRONG)]);
    }
    items
}
