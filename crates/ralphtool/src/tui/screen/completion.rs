//! The end of a run: why it ended, how far it came, and the choice of how to finish the branch.

mod areas;
mod choices;
mod review;

use jiff::Timestamp;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};

use self::areas::{Areas, Wanted};
use self::review::Review;
use super::run::Run;
use super::{
    alerts, change_of, draw_lines, error_lines, flagged, range_of, title_of, totals, wrapped,
};
use crate::tui::ending::Ending;
use crate::tui::keys::Action;
use crate::tui::message::{DiffId, Query, Request, RunOver, Wheel};
use crate::tui::palette::{ACTIVE, BAD, GOOD, KEY, STRONG, WARN, border};
use crate::tui::pane::diff::DiffPane;
use crate::tui::step::{Confirmation, Step};
use crate::tui::tabbed;
use crate::tui::wrap;
use crate::ui::reason;
use crate::ui::text::clean;
use crate::ui::words;
use ralph_run::machine::UserCommand;
use ralph_run::records::event::FinishChoice;
use ralph_run::records::outcome::OutcomeKind;
use ralph_run::records::progress::Progress;
use ralph_vault::diff::Diff;

/// How many lines of the reason are shown: on a low screen, and from the height on that is high.
const REASON_LINES: (usize, usize) = (4, 12);
const HIGH: u16 = 30;

/// The margin at the left.
const MARGIN: u16 = 1;

/// What the keys act on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Focus {
    #[default]
    Choices,
    Review,
    Files,
}

impl Focus {
    const fn next(self) -> Self {
        match self {
            Self::Choices => Self::Review,
            Self::Review => Self::Files,
            Self::Files => Self::Choices,
        }
    }
}

/// The end of a run.
#[derive(Debug)]
pub(crate) struct Completion {
    focus: Focus,
    /// The choice that Enter takes; none before the user has moved to one.
    selected: Option<usize>,
    /// The choice that is being carried out.
    doing: Option<Ending>,
    review: Review,
    files: DiffPane,
    /// What was not committed when the run began.
    uncommitted: DiffPane,
}

impl Default for Completion {
    fn default() -> Self {
        Self {
            focus: Focus::default(),
            selected: None,
            doing: None,
            review: Review::default(),
            files: DiffPane::overview(),
            uncommitted: DiffPane::default(),
        }
    }
}

impl Completion {
    /// Receives a diff; those for other panes are ignored.
    pub(crate) fn receive(&mut self, id: &DiffId, found: &Result<Box<Diff>, String>) {
        self.files.receive(id, found.clone());
        self.uncommitted.receive(id, found.clone());
    }

    pub(crate) fn query(&mut self, run: &Run, now: Timestamp) -> Option<Query> {
        let range = range_of(&run.progress);
        // The commit that the first attempt began with has what was not committed.
        let first = range.as_ref().map(|(first, _)| DiffId::Between {
            from: format!("{first}^"),
            to: first.clone(),
        });
        let id = range.map(|(from, to)| DiffId::Between { from, to });
        self.files.show(id);
        self.uncommitted.show(first);
        self.files.flag(flagged(&run.progress));
        self.files
            .query(now)
            .or_else(|| self.uncommitted.query(now))
    }

    /// The files that were not committed when the run began, as far as they are known.
    pub(crate) fn uncommitted(&self) -> Vec<String> {
        self.uncommitted.paths()
    }

    /// Lets the user choose again, because the choice failed or the run continues.
    pub(crate) fn reopen(&mut self) {
        self.doing = None;
    }

    /// Chooses to keep the branch, unless something was chosen already.
    pub(crate) fn keep(&mut self) -> Option<UserCommand> {
        if self.doing.is_some() {
            return None;
        }
        self.doing = Some(Ending::Finish(FinishChoice::Keep));
        Some(UserCommand::Finish(FinishChoice::Keep))
    }

    /// Whether the run is about to continue.
    pub(crate) fn is_continuing(&self) -> bool {
        self.doing == Some(Ending::Again)
    }

    /// Whether an action would do something now.
    pub(crate) fn offers(&self, action: Action, run: &Run) -> bool {
        let is_reading = action == Action::Enter && self.focus != Focus::Choices;
        is_reading || self.doing.is_none() && self.chosen(action, run).is_some()
    }

    /// The choice that an action means, if it is offered.
    fn chosen(&self, action: Action, run: &Run) -> Option<Ending> {
        let choices = Ending::all(run);
        if action == Action::Enter {
            return choices.get(self.selected?).copied();
        }
        let is_meant = |choice: &Ending| choice.action() == Some(action);
        choices.into_iter().find(is_meant)
    }

    pub(crate) fn act(&mut self, action: Action, run: &Run) -> Step {
        match (action, self.focus) {
            (Action::NextTab, focus) => self.focus = focus.next(),
            (Action::PreviousTab, focus) => self.focus = focus.next().next(),
            (Action::Enter, Focus::Files) => self.files.toggle(),
            (Action::Enter, Focus::Review) => {
                return self.review.story().map_or(Step::Stay, Step::ShowStory);
            }
            (Action::PageUp | Action::PageDown, Focus::Choices | Focus::Review) => {
                self.review.pane.act(action);
            }
            (action, Focus::Review) if action.is_movement() => self.review.pane.act(action),
            (action, Focus::Files) if action.is_movement() => self.files.text.act(action),
            (action, Focus::Choices) if action.is_movement() => self.select(action, run),
            (action, _) => return self.ask(action, run),
        }
        Step::Stay
    }

    fn select(&mut self, action: Action, run: &Run) {
        let last = Ending::all(run).len().saturating_sub(1);
        let first = matches!(action, Action::Down | Action::Home).then_some(0);
        self.selected = match self.selected {
            Some(selected) => action.moved(selected, last, 1),
            None => first.or(Some(last)),
        };
    }

    /// Asks before the choice that a key means.
    fn ask(&mut self, action: Action, run: &Run) -> Step {
        match self.chosen(action, run) {
            Some(_) if self.doing.is_some() => Step::Stay,
            Some(choice) if action == Action::Enter && !choice.always_asks() => self.choose(choice),
            Some(choice) => Step::Confirm(Confirmation::Ending(choice)),
            None => Step::Stay,
        }
    }

    /// Scrolls what is below the pointer.
    pub(crate) fn wheel(&mut self, wheel: Wheel, area: Rect, run: &Run) {
        let files = self.areas(area, run).files;
        if files.contains((wheel.column, wheel.row).into()) {
            self.files.text.wheel(wheel.up);
        } else {
            self.review.pane.wheel(wheel.up);
        }
    }

    /// Carries a choice out, unless the run changed and no longer offers it.
    pub(crate) fn confirmed(&mut self, choice: Ending, run: &Run) -> Step {
        if self.doing.is_some() || !Ending::all(run).contains(&choice) {
            return Step::Stay;
        }
        self.choose(choice)
    }

    fn choose(&mut self, choice: Ending) -> Step {
        let Some(command) = choice.command() else {
            return match choice {
                Ending::Restart => Step::Restart,
                _ => Step::Back,
            };
        };
        self.doing = Some(choice);
        Step::Ask(Request::Command(command))
    }

    fn areas(&self, area: Rect, run: &Run) -> Areas {
        let columns = area.width.saturating_sub(MARGIN);
        let rows = |lines: usize| u16::try_from(lines).unwrap_or(u16::MAX);
        Areas::of(
            area,
            Wanted {
                head: rows(wrapped(&self.head(run, area.height), columns).len()),
                choices: rows(self.below(run).len()),
                on_review: self.focus == Focus::Review,
                on_files: self.focus == Focus::Files,
            },
        )
    }

    /// Lays the panes out for a screen of this size.
    pub(crate) fn fit(&mut self, area: Rect, run: &Run) {
        let areas = self.areas(area, run);
        if !areas.review.is_empty() {
            let inside = Areas::inside(areas.review);
            self.review.fit(inside, &run.progress);
        }
        if !areas.files.is_empty() {
            self.files.fit(Areas::inside(areas.files));
        }
    }

    pub(crate) fn draw(&self, frame: &mut Frame<'_>, area: Rect, run: &Run) {
        let areas = self.areas(area, run);
        let mut title = title_of(change_of(&run.progress));
        title.push(Span::raw("  the run is over"));
        frame.render_widget(Paragraph::new(Line::from(title)), areas.title);
        draw_lines(frame, areas.head, &self.head(run, area.height), MARGIN);
        if areas.is_wide {
            self.draw_part(frame, areas.review, "Review", Focus::Review);
            self.draw_part(frame, areas.files, "Changed files", Focus::Files);
        } else {
            self.draw_tabs(frame, areas.shown());
        }
        self.review.pane.draw(
            frame,
            Areas::inside(areas.review),
            self.focus == Focus::Review,
        );
        self.files.text.draw(
            frame,
            Areas::inside(areas.files),
            self.focus == Focus::Files,
        );
        self.draw_choices(frame, areas.choices, run);
    }

    /// The title line of a part.
    fn draw_part(&self, frame: &mut Frame<'_>, area: Rect, title: &'static str, part: Focus) {
        let focused = self.focus == part;
        let style = if focused { KEY } else { STRONG };
        let title = wrap::styled(format!(" {title} "), style);
        rule(frame, area, title, focused);
    }

    /// The title line of the review and the changed files, of which one is visible.
    fn draw_tabs(&self, frame: &mut Frame<'_>, area: Rect) {
        let shown = usize::from(self.focus == Focus::Files);
        let is_read = self.focus != Focus::Choices;
        let columns = area.width.into();
        let titles = tabbed::titles(&["Review", "Changed files"], shown, columns, is_read);
        rule(frame, area, titles, is_read);
    }

    fn draw_choices(&self, frame: &mut Frame<'_>, area: Rect, run: &Run) {
        let lines = self.below(run);
        let mut inside = area;
        if usize::from(area.height) > lines.len() {
            self.draw_part(frame, area, "What to do with the branch", Focus::Choices);
            inside = Areas::inside(area);
        }
        let width = usize::from(inside.width);
        let lines: Vec<Line<'_>> = lines.iter().map(|line| wrap::cut(line, width)).collect();
        frame.render_widget(Paragraph::new(lines), inside);
    }

    /// Why the run ended, what to know before the choice, and what it took.
    fn head(&self, run: &Run, height: u16) -> Vec<Line<'static>> {
        let mut lines = failure(&run.progress);
        lines.extend(why(run));
        lines.extend(self.figures(&run.progress));
        let most = if height < HIGH {
            REASON_LINES.0
        } else {
            REASON_LINES.1
        };
        lines.extend(reason(run, most));
        lines
    }

    fn figures(&self, progress: &Progress) -> Vec<Line<'static>> {
        let mut lines = vec![Line::from(totals(progress))];
        lines.extend(self.files.summary());
        lines
    }

    fn below(&self, run: &Run) -> Vec<Line<'static>> {
        let Some(header) = &run.progress.header else {
            return Vec::new();
        };
        if let Some(doing) = self.doing {
            return vec![wrap::styled(doing.doing(header), ACTIVE)];
        }
        let choices = Ending::all(run).into_iter().enumerate();
        choices
            .map(|(place, choice)| choice.line(self.selected == Some(place), header))
            .collect()
    }
}

/// A line with a title, above a part.
fn rule(frame: &mut Frame<'_>, area: Rect, title: Line<'static>, focused: bool) {
    let block = Block::new()
        .borders(Borders::TOP)
        .border_style(border(focused))
        .title(title);
    frame.render_widget(block, area);
}

/// Why the last choice failed.
fn failure(progress: &Progress) -> Vec<Line<'static>> {
    let Some(failure) = &progress.finish_failure else {
        return Vec::new();
    };
    let text = format!("✗ {}", clean(&failure.reason));
    vec![
        wrap::styled(text, BAD),
        Line::from(format!("→ {}", clean(&failure.hint))),
    ]
}

/// Why the run ended.
fn why(run: &Run) -> Vec<Line<'static>> {
    let progress = &run.progress;
    if let Some(RunOver::Failed(error)) = &run.over {
        return error_lines(error);
    }
    let Some(outcome) = progress.outcome() else {
        return Vec::new();
    };
    let headline = clean(&progress.closing_headline(run.zone()));
    let (mark, style) = match outcome.kind() {
        OutcomeKind::Done => ("✓", GOOD),
        OutcomeKind::DoneWithWarning => ("!", WARN),
        OutcomeKind::Stopped => ("‖", WARN),
        OutcomeKind::Limited | OutcomeKind::Failed => ("✗", BAD),
    };
    let alerts = alerts(progress);
    // Done is green only where nothing speaks against it.
    let (mark, style) = match mark {
        "✓" if !alerts.is_empty() => (words::done_mark(true), WARN),
        mark => (mark, style),
    };
    let mut lines = vec![wrap::styled(format!("{mark} {headline}"), style)];
    lines.extend(alerts);
    lines
}

/// More about why the run ended: what failed, and the end, in a few lines.
fn reason(run: &Run, most: usize) -> Vec<Line<'static>> {
    let is_above = matches!(run.over, Some(RunOver::Failed(_)));
    let Some(outcome) = run.progress.outcome().filter(|_| !is_above) else {
        return Vec::new();
    };
    let shown = reason::of_run(outcome, most);
    let mut lines: Vec<Line<'static>> = shown
        .iter()
        .map(|line| Line::from(format!("  {line}")))
        .collect();
    let hint = outcome.hint();
    lines.extend(hint.map(|hint| Line::from(format!("→ {}", clean(&hint)))));
    lines
}
