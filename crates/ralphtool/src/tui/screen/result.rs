//! The result of a run: the tasks, the files it changed, and what it cost.

use jiff::Timestamp;
use ratatui::Frame;
use ratatui::layout::Constraint::{Length, Min};
use ratatui::layout::{Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::preview::stories;
use super::run::Run;
use super::{change_of, range_of, title_of, totals};
use crate::tui::keys::Action;
use crate::tui::message::{Query, ResultFound, ResultId};
use crate::tui::palette::{BAD, DIM, GOOD, STRONG, WARN};
use crate::tui::pane::diff::letter;
use crate::tui::step::Step;
use crate::tui::tabbed::Tabbed;
use crate::tui::text_pane::Item;
use crate::tui::wrap;
use crate::ui::text::clean;
use crate::ui::words::{self, count};
use ralph_run::records::event::{FinishChoice, GateResult};
use ralph_run::records::progress::{AttemptStanding, Importance, Progress, StoryProgress};
use ralph_vault::diff::FileDiff;

/// The tabs, in order.
const TABS: [&str; 3] = ["Tasks", "Changed files", "Receipt"];

/// The result of a run.
#[derive(Debug)]
pub(crate) struct ResultScreen {
    pub(crate) found: Option<Box<ResultFound>>,
    asked: bool,
    pub(crate) tabs: Tabbed<3>,
}

impl Default for ResultScreen {
    fn default() -> Self {
        Self {
            found: None,
            asked: false,
            tabs: Tabbed::new(TABS),
        }
    }
}

impl ResultScreen {
    pub(crate) fn query(&mut self, run: &Run) -> Option<Query> {
        if self.asked {
            return None;
        }
        let header = run.progress.header.as_ref()?;
        self.asked = true;
        Some(Query::Result(Box::new(ResultId {
            change: header.change.clone(),
            range: range_of(&run.progress),
        })))
    }

    pub(crate) fn fit(&mut self, area: Rect, run: &Run) {
        let (_, _, text) = areas(area);
        let pane = self.tabs.pane_mut();
        pane.fit(text);
        let columns = pane.columns();
        let items = match self.tabs.shown() {
            0 => self.tasks(columns),
            1 => self.files(columns),
            _ => receipt(&run.progress, columns),
        };
        self.tabs.pane_mut().set(items);
    }

    fn tasks(&self, columns: usize) -> Vec<Item> {
        match self.found.as_ref().map(|found| &found.change) {
            Some(Some(change)) => stories(change, columns),
            Some(None) => note("the change is not there any more"),
            None => note("looking …"),
        }
    }

    fn files(&self, columns: usize) -> Vec<Item> {
        match self.found.as_ref().map(|found| &found.files) {
            None => note("looking …"),
            Some(Err(problem)) => {
                let text = format!("the files cannot be listed: {}", clean(problem));
                vec![wrap::wrap(&wrap::styled(text, BAD), columns, 2)]
            }
            Some(Ok(files)) if files.is_empty() => note("no file was changed"),
            Some(Ok(files)) => {
                let files = files.iter();
                files.map(|file| vec![file_line(file, columns)]).collect()
            }
        }
    }

    pub(crate) fn act(&mut self, action: Action) -> Step {
        if action == Action::Back {
            return Step::Back;
        }
        self.tabs.act(action).unwrap_or_else(|| {
            self.tabs.act_on_pane(action);
            Step::Stay
        })
    }

    pub(crate) fn draw(&self, frame: &mut Frame<'_>, area: Rect, run: &Run) {
        let (title, tab_line, text) = areas(area);
        let lines: Vec<Line<'_>> = headline(&run.progress)
            .iter()
            .map(|line| wrap::cut(line, title.width.into()))
            .collect();
        frame.render_widget(Paragraph::new(lines), title);
        let titles = self.tabs.titles(tab_line.width);
        frame.render_widget(Paragraph::new(titles), tab_line);
        self.tabs.pane().draw(frame, text, true);
    }
}

fn areas(area: Rect) -> (Rect, Rect, Rect) {
    let [title, tabs, text] = Layout::vertical([Length(2), Length(1), Min(1)]).areas(area);
    (title, tabs, text)
}

fn note(text: &'static str) -> Vec<Item> {
    vec![vec![wrap::styled(text, DIM)]]
}

/// The title, and what became of the branch.
fn headline(progress: &Progress) -> Vec<Line<'static>> {
    let mut title = title_of(change_of(progress));
    title.push(Span::raw("  the result"));
    let Some(finish) = &progress.finish else {
        let text = wrap::styled(" the run is not finished", WARN);
        return vec![Line::from(title), text];
    };
    let head = clean(&finish.head);
    let text = match finish.choice {
        FinishChoice::Cleanup => format!(" ✓ Changes ready on {head} (uncommitted)"),
        FinishChoice::Keep => format!(" ✓ On {head} with checkpoint commits"),
        FinishChoice::Squash => format!(" ✓ On {head}, all work in one commit"),
        FinishChoice::Reword => format!(" ✓ On {head}, one commit per story"),
        FinishChoice::Abandon => format!(" ✓ Everything is as before, on {head}"),
    };
    vec![Line::from(title), wrap::styled(text, GOOD)]
}

fn file_line(file: &FileDiff, columns: usize) -> Line<'static> {
    let (letter, style) = letter(file.status);
    let mut spans = vec![
        Span::styled(format!("{letter} "), style),
        Span::raw(clean(&file.path)),
    ];
    if !file.binary {
        let text = format!("  +{} -{}", file.added, file.removed);
        spans.push(Span::styled(text, DIM));
    }
    wrap::cut(&Line::from(spans), columns)
}

/// One item for each story, and one for the whole run.
fn receipt(progress: &Progress, columns: usize) -> Vec<Item> {
    let now = progress.ended_at.or(progress.last_at).unwrap_or_default();
    let stories = progress.stories.iter();
    let mut items: Vec<Item> = stories
        .map(|story| story_receipt(story, columns, now))
        .collect();
    let stories = count(progress.stories_total, "story");
    let stories = format!("{} of {stories}", progress.stories_done);
    let total = format!("altogether: {}", totals(progress, stories));
    let total = wrap::styled(total, STRONG);
    let mut whole = wrap::wrap(&total, columns, 2);
    for warning in &progress.warnings {
        let (mark, style) = match warning.importance {
            Importance::Warning => ("!", WARN),
            Importance::Note => ("·", DIM),
        };
        let text = format!("{mark} {}", clean(&warning.text()));
        whole.extend(wrap::wrap(&wrap::styled(text, style), columns, 2));
    }
    items.push(whole);
    items
}

fn story_receipt(story: &StoryProgress, columns: usize, now: Timestamp) -> Item {
    let (glyph, style) = super::run::glyph(&story.state);
    let title = Line::from(vec![
        Span::styled(format!("{glyph} "), style),
        Span::styled(
            format!("{} {}", clean(&story.id.0), clean(&story.title)),
            STRONG,
        ),
    ]);
    let mut lines = wrap::wrap(&title, columns, 2);
    if story.attempts.is_empty() {
        return lines;
    }
    let mut facts = vec![
        count(story.attempts.len(), "attempt"),
        words::elapsed(words::millis(story.elapsed(now))),
    ];
    facts.extend(words::usage(&story.usage()));
    let facts = wrap::styled(format!("  {}", facts.join(" · ")), DIM);
    lines.extend(wrap::wrap(&facts, columns, 2));
    for attempt in &story.attempts {
        if let AttemptStanding::Failed(failed) = &attempt.state {
            let why = words::failure(failed.kind);
            let text = format!("  attempt {}: {why}", attempt.number);
            lines.push(wrap::styled(text, DIM));
        }
    }
    let mut gates = Vec::new();
    let last = story.attempts.last();
    for gate in last.into_iter().flat_map(|it| story.gates_of(it.number)) {
        let (mark, style) = match &gate.result {
            Some(GateResult::Passed) => ("✓", GOOD),
            Some(GateResult::Failed { .. }) => ("✗", BAD),
            None => ("·", DIM),
        };
        gates.push(Span::styled(format!("  {mark} "), style));
        gates.push(Span::raw(clean(&gate.name)));
    }
    if !gates.is_empty() {
        lines.extend(wrap::wrap(&Line::from(gates), columns, 2));
    }
    lines
}
