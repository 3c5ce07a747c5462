//! The end of a run: why it ended, how far it came, and the choice of how to finish the branch.

use ratatui::Frame;
use ratatui::layout::Constraint::{Length, Max};
use ratatui::layout::{Flex, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::run::Run;
use super::{change_of, draw_lines, error_lines, range_of, title_of, totals, wrapped};
use crate::tui::keys::Action;
use crate::tui::message::{DiffId, Query, Request, RunOver};
use crate::tui::palette::{ACTIVE, BAD, DIM, GOOD, KEY, STRONG, WARN};
use crate::tui::pane::diff;
use crate::tui::step::Step;
use crate::tui::wrap;
use crate::ui::text::{clean, clean_lines};
use crate::ui::words::{self, count};
use ralph_run::machine::UserCommand;
use ralph_run::records::event::{FinishChoice, Outcome, RunStarted};
use ralph_run::records::progress::Progress;
use ralph_vault::diff::Diff;

/// How many lines of the reason are shown.
const REASON_LINES: usize = 6;

/// From this height on there is an empty line below the title.
const ROOMY: u16 = 16;

/// The margin at the left.
const MARGIN: u16 = 1;

/// What can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Cleanup,
    Keep,
    Again,
    /// Start the loop again, after it failed.
    Restart,
    /// Go back to where the UI began.
    Leave,
}

/// The end of a run.
#[derive(Debug, Default)]
pub(crate) struct Completion {
    selected: usize,
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
        self.doing = Some(Choice::Keep);
        Some(UserCommand::Finish(FinishChoice::Keep))
    }

    /// Whether the run is about to continue.
    pub(crate) fn is_continuing(&self) -> bool {
        self.doing == Some(Choice::Again)
    }

    fn choices(run: &Run) -> Vec<Choice> {
        if run.over.is_some() {
            return vec![Choice::Restart, Choice::Leave];
        }
        // The loop is about to end and offers no choice.
        if matches!(run.progress.outcome(), Some(Outcome::Broken { .. })) {
            return Vec::new();
        }
        let half_done = run.progress.finish_failure.as_ref().filter(|it| it.begun);
        if let Some(failure) = half_done {
            return vec![match failure.choice {
                FinishChoice::Keep => Choice::Keep,
                FinishChoice::Cleanup | FinishChoice::Abandon => Choice::Cleanup,
            }];
        }
        let mut choices = vec![Choice::Cleanup, Choice::Keep];
        let left = run.progress.stories_done < run.progress.stories_total;
        // Offers only what the loop would do.
        let outcome = run.progress.outcome();
        if left && outcome.is_some_and(Outcome::can_go_on) {
            choices.push(Choice::Again);
        }
        choices
    }

    /// Whether an action would do something now.
    pub(crate) fn offers(&self, action: Action, run: &Run) -> bool {
        let is_chosen = || self.chosen(action, run).is_some();
        self.doing.is_none() && (action == Action::Enter || is_chosen())
    }

    /// The choice that an action makes, if it is offered.
    fn chosen(&self, action: Action, run: &Run) -> Option<Choice> {
        let choices = Self::choices(run);
        let is_meant = |choice: &Choice| match action {
            Action::Cleanup => *choice == Choice::Cleanup,
            Action::Keep => *choice == Choice::Keep,
            Action::Resume => matches!(choice, Choice::Again | Choice::Restart),
            Action::Enter => choices.get(self.selected) == Some(choice),
            _ => false,
        };
        choices.iter().copied().find(is_meant)
    }

    pub(crate) fn act(&mut self, action: Action, run: &Run) -> Step {
        let last = Self::choices(run).len().saturating_sub(1);
        if let Some(to) = action.moved(self.selected, last, 1) {
            self.selected = to;
        }
        match self.chosen(action, run) {
            Some(choice) if self.doing.is_none() => self.choose(choice),
            _ => Step::Stay,
        }
    }

    fn choose(&mut self, choice: Choice) -> Step {
        let command = match choice {
            Choice::Cleanup => UserCommand::Finish(FinishChoice::Cleanup),
            Choice::Keep => UserCommand::Finish(FinishChoice::Keep),
            Choice::Again => UserCommand::Again,
            Choice::Restart => return Step::Restart,
            Choice::Leave => return Step::Back,
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
            let text = match doing {
                Choice::Cleanup => format!("Returning to {}…", clean(&header.original)),
                Choice::Keep => format!("Staying on {}…", clean(&header.branch)),
                Choice::Again | Choice::Restart | Choice::Leave => "Going on…".to_owned(),
            };
            return vec![wrap::styled(text, ACTIVE)];
        }
        let choices = Self::choices(run).into_iter().enumerate();
        choices
            .map(|(place, choice)| choice_line(choice, place == self.selected, header))
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
        Outcome::Exhausted { .. } | Outcome::Limited { .. } | Outcome::Broken { .. } => ("✗", BAD),
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

fn choice_line(choice: Choice, selected: bool, header: &RunStarted) -> Line<'static> {
    let (branch, original) = (clean(&header.branch), clean(&header.original));
    let (key, text) = match choice {
        Choice::Cleanup => (
            "c",
            format!("Return to {original} with changes uncommitted"),
        ),
        Choice::Keep => ("b", format!("Stay on {branch} with checkpoint commits")),
        Choice::Again => ("r", "Go on with what is left".to_owned()),
        Choice::Restart => ("r", "Try to go on with the run".to_owned()),
        Choice::Leave => (" ", "Leave it for now; nothing is lost".to_owned()),
    };
    let line = Line::from(vec![
        Span::raw(if selected { "▌ " } else { "  " }),
        Span::styled(key, KEY),
        Span::raw("  "),
        Span::raw(text),
    ]);
    if selected { line.style(STRONG) } else { line }
}
