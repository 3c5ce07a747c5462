//! What a run left: the tasks, the files it changed, and what it took.

use jiff::Timestamp;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::preview::stories;
use super::run::Run;
use super::{Step, Typing, range_of};
use crate::ui::text::clean;
use crate::ui::tui::keys::Action;
use crate::ui::tui::message::{Look, ResultFound, ResultId};
use crate::ui::tui::palette::Palette;
use crate::ui::tui::pane::diff::letter;
use crate::ui::tui::text_pane::{GUTTER, PaneLine, TextPane};
use crate::ui::tui::{tabs, wrap};
use crate::ui::words::{self, Count, Noun};
use ralph_run::records::event::{FinishChoice, GateResult};
use ralph_run::records::progress::{AttemptStanding, Progress, StoryProgress};
use ralph_vault::diff::ChangedFile;

/// The tabs, in order.
const TABS: [&str; 3] = ["Tasks", "Changed files", "Receipt"];

/// What a run left.
#[derive(Debug, Default)]
pub(crate) struct ResultScreen {
    found: Option<Box<ResultFound>>,
    asked: bool,
    tab: usize,
    panes: [TextPane; 3],
    needle: String,
}

impl ResultScreen {
    /// Takes in what was found.
    pub(crate) fn take(&mut self, found: Box<ResultFound>) {
        self.found = Some(found);
    }

    /// What is missing.
    pub(crate) fn look(&mut self, run: &Run) -> Option<Look> {
        if self.asked {
            return None;
        }
        let header = run.progress.header.as_ref()?;
        self.asked = true;
        Some(Look::Result(Box::new(ResultId {
            change: header.change.clone(),
            range: range_of(&run.progress),
        })))
    }

    /// The pane that is shown.
    pub(crate) fn pane(&self) -> &TextPane {
        &self.panes[self.tab]
    }

    /// What the pane that is shown is called in the name of a file.
    pub(crate) fn pane_name(&self, run: &Run) -> String {
        let header = run.progress.header.as_ref();
        let change = header.map_or("run", |header| header.change.as_str());
        format!(
            "{change}-{}",
            TABS[self.tab].to_lowercase().replace(' ', "-")
        )
    }

    /// Lays the panes out.
    pub(crate) fn fit(&mut self, area: Rect, run: &Run, palette: Palette) {
        let text = areas(area).2;
        let columns = usize::from(text.width.saturating_sub(GUTTER)).max(8);
        let lines = match self.tab {
            0 => self.tasks(columns, palette),
            1 => self.files(columns, palette),
            _ => receipt(&run.progress, columns, palette),
        };
        let pane = &mut self.panes[self.tab];
        pane.set_height(text.height.into());
        pane.set(lines);
    }

    fn tasks(&self, columns: usize, palette: Palette) -> Vec<PaneLine> {
        match self.found.as_ref().map(|found| &found.change) {
            Some(Some(change)) => stories(change, columns, palette),
            Some(None) => vec![note("the change is not there any more", palette)],
            None => vec![note("looking …", palette)],
        }
    }

    fn files(&self, columns: usize, palette: Palette) -> Vec<PaneLine> {
        match self.found.as_ref().map(|found| &found.files) {
            None => vec![note("looking …", palette)],
            Some(Err(problem)) => {
                let text = format!("the files cannot be listed: {}", clean(problem));
                let line = Line::from(Span::styled(text, palette.bad()));
                let lines = wrap::wrap(&line, columns, 2).into_iter();
                lines.map(|line| PaneLine::new(0, line)).collect()
            }
            Some(Ok(files)) if files.is_empty() => vec![note("no file was changed", palette)],
            Some(Ok(files)) => files
                .iter()
                .enumerate()
                .map(|(item, file)| PaneLine::new(item, file_line(file, columns, palette)))
                .collect(),
        }
    }

    /// A key was pressed.
    pub(crate) fn act(&mut self, action: Action) -> Step {
        match action {
            Action::NextTab => self.tab = (self.tab + 1) % TABS.len(),
            Action::PreviousTab => self.tab = (self.tab + TABS.len() - 1) % TABS.len(),
            Action::Tab(number) => self.tab = (number - 1).min(TABS.len() - 1),
            Action::Left => self.tab = self.tab.saturating_sub(1),
            Action::Right => self.tab = (self.tab + 1).min(TABS.len() - 1),
            Action::Search => return Step::Type(Typing::Search),
            Action::NextHit => return self.find(true),
            Action::PreviousHit => return self.find(false),
            Action::Back => return Step::Back,
            action => {
                self.panes[self.tab].act(action);
            }
        }
        Step::Stay
    }

    /// What is searched for from now on.
    pub(crate) fn search(&mut self, needle: &str) -> Step {
        needle.clone_into(&mut self.needle);
        for pane in &mut self.panes {
            pane.set_needle(needle);
        }
        self.find(true)
    }

    fn find(&mut self, forward: bool) -> Step {
        if self.panes[self.tab].find(forward) {
            Step::Stay
        } else {
            Step::Say(format!("`{}` is not in this pane", self.needle))
        }
    }

    /// The wheel was turned.
    pub(crate) fn wheel(&mut self, up: bool) {
        self.panes[self.tab].wheel(up);
    }

    /// Draws it.
    pub(crate) fn draw(&self, frame: &mut Frame<'_>, area: Rect, run: &Run, palette: Palette) {
        let (title, tab_line, text) = areas(area);
        let lines: Vec<Line<'_>> = headline(&run.progress, palette)
            .iter()
            .map(|line| wrap::cut(line, title.width.into()))
            .collect();
        frame.render_widget(Paragraph::new(lines), title);
        let titles = tabs::tabs(&TABS, self.tab, tab_line.width.into(), palette);
        frame.render_widget(Paragraph::new(titles), tab_line);
        self.pane().draw(frame, text, true, palette);
    }
}

fn areas(area: Rect) -> (Rect, Rect, Rect) {
    let [title, tabs, text] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(1),
        Constraint::Min(1),
    ])
    .areas(area);
    (title, tabs, text)
}

fn note(text: &'static str, palette: Palette) -> PaneLine {
    PaneLine::new(0, Span::styled(text, palette.dim()))
}

/// What became of the branch.
fn headline(progress: &Progress, palette: Palette) -> Vec<Line<'static>> {
    let change = progress.header.as_ref().map(|header| clean(&header.change));
    let title = Line::from(vec![
        Span::styled(" ralphtool ", palette.title()),
        Span::raw("  "),
        Span::styled(change.unwrap_or_default(), palette.strong()),
        Span::raw("  the result"),
    ]);
    let text = match &progress.finish {
        Some(finish) => match finish.choice {
            FinishChoice::Cleanup => {
                format!(" ✓ Changes ready on {} (uncommitted)", clean(&finish.head))
            }
            FinishChoice::Keep => format!(" ✓ On {} with checkpoint commits", clean(&finish.head)),
            FinishChoice::Abandon => {
                format!(" ✓ Everything is as before, on {}", clean(&finish.head))
            }
        },
        None => " the run is not finished".to_owned(),
    };
    let style = if progress.finish.is_some() {
        palette.good()
    } else {
        palette.warn()
    };
    vec![title, Line::from(Span::styled(text, style))]
}

fn file_line(file: &ChangedFile, columns: usize, palette: Palette) -> Line<'static> {
    let (letter, style) = letter(file.status, palette);
    let mut spans = vec![
        Span::styled(format!("{letter} "), style),
        Span::raw(clean(&file.path)),
    ];
    if let (Some(added), Some(removed)) = (file.added, file.removed) {
        let text = format!("  +{added} -{removed}");
        spans.push(Span::styled(text, palette.dim()));
    }
    wrap::cut(&Line::from(spans), columns)
}

/// What each story took.
fn receipt(progress: &Progress, columns: usize, palette: Palette) -> Vec<PaneLine> {
    let now = progress.ended_at.or(progress.last_at).unwrap_or_default();
    let mut lines = Vec::new();
    for (item, story) in progress.stories.iter().enumerate() {
        let of_story = story_receipt(story, columns, (palette, now));
        lines.extend(of_story.into_iter().map(|line| PaneLine::new(item, line)));
    }
    let item = progress.stories.len();
    let elapsed = u64::try_from(progress.elapsed(now).as_millis()).unwrap_or(0);
    let mut facts = vec![
        format!(
            "{} of {}",
            progress.stories_done,
            Count(progress.stories_total, Noun::Story)
        ),
        Count(progress.attempts, Noun::Attempt).to_string(),
        words::elapsed(elapsed),
    ];
    facts.extend(words::usage(&progress.usage()));
    let total = format!("altogether: {}", facts.join(" · "));
    let total = Line::from(Span::styled(total, palette.strong()));
    let wrapped = wrap::wrap(&total, columns, 2);
    lines.extend(wrapped.into_iter().map(|line| PaneLine::new(item, line)));
    for warning in &progress.warnings {
        let text = format!("! {}", clean(&warning.message));
        let line = Line::from(Span::styled(text, palette.warn()));
        let wrapped = wrap::wrap(&line, columns, 2);
        lines.extend(wrapped.into_iter().map(|line| PaneLine::new(item, line)));
    }
    lines
}

fn story_receipt(
    story: &StoryProgress,
    columns: usize,
    (palette, now): (Palette, Timestamp),
) -> Vec<Line<'static>> {
    let (glyph, style) = super::run::glyph(&story.state, palette);
    let title = Line::from(vec![
        Span::styled(format!("{glyph} "), style),
        Span::styled(
            format!("{} {}", clean(&story.id.0), clean(&story.title)),
            palette.strong(),
        ),
    ]);
    let mut lines = wrap::wrap(&title, columns, 2);
    if story.attempts.is_empty() {
        return lines;
    }
    let elapsed = u64::try_from(story.elapsed(now).as_millis()).unwrap_or(0);
    let mut facts = vec![
        Count(story.attempts.len(), Noun::Attempt).to_string(),
        words::elapsed(elapsed),
    ];
    facts.extend(words::usage(&story.usage()));
    let facts = Line::from(Span::styled(
        format!("  {}", facts.join(" · ")),
        palette.dim(),
    ));
    lines.extend(wrap::wrap(&facts, columns, 2));
    for attempt in &story.attempts {
        if let AttemptStanding::Failed { kind, .. } = &attempt.state {
            let text = format!("  attempt {}: {}", attempt.number, words::failure(*kind));
            lines.push(Line::from(Span::styled(text, palette.dim())));
        }
    }
    let gates: Vec<Span<'static>> = story.attempts.last().map_or_else(Vec::new, |attempt| {
        story
            .gates_of(attempt.number)
            .flat_map(|gate| {
                let (mark, style) = match &gate.result {
                    Some(GateResult::Passed) => ("✓", palette.good()),
                    Some(GateResult::Failed { .. }) => ("✗", palette.bad()),
                    None => ("·", palette.dim()),
                };
                [
                    Span::styled(format!("  {mark} "), style),
                    Span::raw(clean(&gate.name)),
                ]
            })
            .collect()
    });
    if !gates.is_empty() {
        lines.extend(wrap::wrap(&Line::from(gates), columns, 2));
    }
    lines
}
