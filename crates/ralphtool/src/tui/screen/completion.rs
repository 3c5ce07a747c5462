//! The end of a run: why it ended, how far it came, and the choice of how to finish the branch.

mod choices;

use ratatui::Frame;
use ratatui::layout::Constraint::{Length, Max};
use ratatui::layout::{Flex, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::run::Run;
use super::{change_of, draw_lines, error_lines, range_of, title_of, totals, wrapped};
use crate::tui::keys::Action;
use crate::tui::message::{DiffId, Query, Request, RunOver};
use crate::tui::palette::{ACTIVE, BAD, DIM, GOOD, WARN};
use crate::tui::pane::diff;
use crate::tui::step::{Confirmation, Step};
use crate::tui::wrap;
use crate::ui::text::{clean, clean_lines};
use crate::ui::words::{self, count};
use ralph_run::machine::UserCommand;
use ralph_run::records::event::{FinishChoice, Outcome};
use ralph_run::records::progress::Progress;
use ralph_vault::diff::Diff;

pub(crate) use choices::Choice;

/// How many lines of the reason are shown.
const REASON_LINES: usize = 6;

/// From this height on there is an empty line below the title.
const ROOMY: u16 = 16;

/// The margin at the left.
const MARGIN: u16 = 1;

/// The end of a run.
#[derive(Debug, Default)]
pub(crate) struct Completion {
    /// The choice that Enter takes; none before the user has moved to one.
    selected: Option<usize>,
    /// The choice that is being carried out.
    doing: Option<Choice>,
    /// How much the run changed.
    stat: Option<Line<'static>>,
    asked: Option<DiffId>,
}

impl Completion {
    /// Receives what the run changed; diffs for other panes are ignored.
    pub(crate) fn receive(&mut self, id: &DiffId, diff: &Diff) {
        if self.asked.as_ref() == Some(id) {
            self.stat = Some(diff::summary(diff));
        }
    }

    pub(crate) fn query(&mut self, run: &Run) -> Option<Query> {
        if self.asked.is_some() {
            return None;
        }
        let (from, to) = range_of(&run.progress)?;
        let id = DiffId::Between { from, to };
        self.asked = Some(id.clone());
        Some(Query::Diff(id))
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
        self.doing = Some(Choice::Finish(FinishChoice::Keep));
        Some(UserCommand::Finish(FinishChoice::Keep))
    }

    /// Whether the run is about to continue.
    pub(crate) fn is_continuing(&self) -> bool {
        self.doing == Some(Choice::Again)
    }

    /// Whether an action would do something now.
    pub(crate) fn offers(&self, action: Action, run: &Run) -> bool {
        self.doing.is_none() && self.chosen(action, run).is_some()
    }

    /// The choice that an action means, if it is offered.
    fn chosen(&self, action: Action, run: &Run) -> Option<Choice> {
        let choices = Choice::all(run);
        if action == Action::Enter {
            return choices.get(self.selected?).copied();
        }
        let is_meant = |choice: &Choice| choice.action() == Some(action);
        choices.into_iter().find(is_meant)
    }

    pub(crate) fn act(&mut self, action: Action, run: &Run) -> Step {
        let last = Choice::all(run).len().saturating_sub(1);
        let is_down = matches!(action, Action::Down | Action::PageDown | Action::Home);
        let to = match self.selected {
            Some(selected) => action.moved(selected, last, 1),
            None => action
                .moved(0, last, 1)
                .map(|_| if is_down { 0 } else { last }),
        };
        self.selected = to.or(self.selected);
        match self.chosen(action, run) {
            Some(_) if self.doing.is_some() => Step::Stay,
            Some(choice) if action == Action::Enter && !choice.always_asks() => self.choose(choice),
            Some(choice) => Step::Confirm(Confirmation::Choice(choice)),
            None => Step::Stay,
        }
    }

    /// Carries a choice out, unless the run changed and no longer offers it.
    pub(crate) fn confirmed(&mut self, choice: Choice, run: &Run) -> Step {
        if self.doing.is_some() || !Choice::all(run).contains(&choice) {
            return Step::Stay;
        }
        self.choose(choice)
    }

    fn choose(&mut self, choice: Choice) -> Step {
        let Some(command) = choice.command() else {
            return match choice {
                Choice::Restart => Step::Restart,
                _ => Step::Back,
            };
        };
        self.doing = Some(choice);
        Step::Ask(Request::Command(command))
    }

    pub(crate) fn draw(&self, frame: &mut Frame<'_>, area: Rect, run: &Run) {
        let progress = &run.progress;
        let mut lines = failure(progress);
        lines.extend(why(run));
        lines.push(Line::default());
        lines.extend(self.figures(progress));
        let below = self.below(run);
        // However long the reasons are, the choices are visible.
        let rows = |lines: &[Line<'static>]| {
            let rows = wrapped(lines, area.width.saturating_sub(MARGIN)).len();
            u16::try_from(rows).unwrap_or(u16::MAX)
        };
        let [first, reasons, _, choice] = Layout::vertical([
            Length(if area.height < ROOMY { 1 } else { 2 }),
            Max(rows(&lines)),
            Length(1),
            Length(rows(&below)),
        ])
        .flex(Flex::Start)
        .areas(area);
        let mut title = title_of(change_of(progress));
        title.push(Span::raw("  the run is over"));
        frame.render_widget(Paragraph::new(Line::from(title)), first);
        draw_lines(frame, reasons, &lines, MARGIN);
        draw_lines(frame, choice, &below, MARGIN);
    }

    fn figures(&self, progress: &Progress) -> Vec<Line<'static>> {
        let stories = count(progress.stories_total, "story");
        let stories = format!("{} of {stories} done", progress.stories_done);
        let mut lines = vec![Line::from(totals(progress, stories))];
        lines.extend(self.stat.clone());
        lines
    }

    fn below(&self, run: &Run) -> Vec<Line<'static>> {
        let Some(header) = &run.progress.header else {
            return Vec::new();
        };
        if let Some(doing) = self.doing {
            return vec![wrap::styled(doing.doing(header), ACTIVE)];
        }
        let choices = Choice::all(run).into_iter().enumerate();
        choices
            .map(|(place, choice)| choice.line(self.selected == Some(place), header))
            .collect()
    }
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
        Line::default(),
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
    let open = progress.stories_total.saturating_sub(progress.stories_done);
    let headline = words::outcome(outcome, open);
    let (mark, style) = match outcome {
        Outcome::AllDone | Outcome::StoryDone => ("✓", GOOD),
        Outcome::Unverified { .. } => ("!", WARN),
        Outcome::Stopped | Outcome::Skipped { .. } => ("‖", WARN),
        Outcome::Exhausted { .. }
        | Outcome::GateBroken { .. }
        | Outcome::Limited { .. }
        | Outcome::Broken { .. } => ("✗", BAD),
    };
    let mut lines = vec![wrap::styled(format!("{mark} {headline}"), style)];
    let unverified = words::unverified(progress).into_iter();
    let findings = progress.findings().map(words::warning);
    lines.extend(
        unverified
            .chain(findings)
            .map(|text| wrap::styled(format!("! {text}"), WARN)),
    );
    if let Outcome::Exhausted { reason, .. }
    | Outcome::GateBroken { reason, .. }
    | Outcome::Limited { reason }
    | Outcome::Broken { reason, .. } = outcome
    {
        let reason = clean_lines(reason);
        let shown = reason.iter().take(REASON_LINES);
        lines.extend(shown.map(|line| Line::from(format!("  {line}"))));
        if reason.len() > REASON_LINES {
            lines.push(wrap::styled("  …", DIM));
        }
    }
    if let Outcome::Broken { hint, .. } = outcome {
        lines.push(Line::from(format!("→ {}", clean(hint))));
    }
    lines
}
