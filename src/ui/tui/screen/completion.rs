//! A run that is over: why, how far it came, and what is to become of the branch.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::changes::draw_lines;
use super::run::Run;
use super::{Step, range_of};
use crate::domain::diff::Diff;
use crate::domain::event::{FinishChoice, Outcome};
use crate::domain::machine::UserCommand;
use crate::domain::progress::{Header, Progress};
use crate::ui::text::{clean, clean_lines};
use crate::ui::tui::keys::Action;
use crate::ui::tui::message::{DiffId, Look, Request, RunOver};
use crate::ui::tui::palette::Palette;
use crate::ui::tui::pane::diff;
use crate::ui::words::{self, Count, Noun};

/// How many lines of the last reason are shown.
const REASON_LINES: usize = 6;

/// What can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Cleanup,
    Keep,
    Again,
}

/// The end of a run.
#[derive(Debug, Default)]
pub(crate) struct Completion {
    selected: usize,
    /// What was chosen and is being done.
    doing: Option<Choice>,
    stat: Option<Box<Diff>>,
    /// What the figures of the whole run were asked for with.
    asked: Option<DiffId>,
}

impl Completion {
    /// Whether this is what the run changed altogether, and not known yet: what an attempt changed
    /// may be told late.
    pub(crate) fn awaits(&self, id: &DiffId) -> bool {
        self.asked.as_ref() == Some(id) && self.stat.is_none()
    }

    /// Takes in what the run changed altogether.
    pub(crate) fn take(&mut self, diff: Box<Diff>) {
        self.stat = Some(diff);
    }

    /// What is missing.
    pub(crate) fn look(&mut self, run: &Run) -> Option<Look> {
        let (from, to) = range_of(&run.progress)?;
        let id = DiffId::Between { from, to };
        if self.asked.as_ref() == Some(&id) {
            return None;
        }
        self.asked = Some(id.clone());
        self.stat = None;
        Some(Look::Diff(id))
    }

    /// The choice did not work, or the run goes on: it is open again.
    pub(crate) fn reopen(&mut self) {
        self.doing = None;
    }

    fn choices(run: &Run) -> Vec<Choice> {
        if run.over.is_some() {
            return Vec::new();
        }
        let mut choices = vec![Choice::Cleanup, Choice::Keep];
        let left = run.progress.stories_done < run.progress.stories_total;
        let is_done = matches!(run.progress.outcome, Some(Outcome::AllDone));
        if left && !is_done {
            choices.push(Choice::Again);
        }
        choices
    }

    /// Whether a key would do something now.
    pub(crate) fn offers(&self, action: Action, run: &Run) -> bool {
        let choice = match action {
            Action::Cleanup => Choice::Cleanup,
            Action::Keep => Choice::Keep,
            Action::Again => Choice::Again,
            _ => return true,
        };
        self.doing.is_none() && Self::choices(run).contains(&choice)
    }

    /// A key was pressed.
    pub(crate) fn act(&mut self, action: Action, run: &Run) -> Step {
        let choices = Self::choices(run);
        let last = choices.len().saturating_sub(1);
        let chosen = match action {
            Action::Up => {
                self.selected = self.selected.saturating_sub(1);
                None
            }
            Action::Down => {
                self.selected = (self.selected + 1).min(last);
                None
            }
            Action::Cleanup => Some(Choice::Cleanup),
            Action::Keep => Some(Choice::Keep),
            Action::Again => Some(Choice::Again),
            Action::Enter => choices.get(self.selected).copied(),
            _ => None,
        };
        match chosen {
            Some(choice) if self.doing.is_none() && choices.contains(&choice) => {
                self.doing = Some(choice);
                Step::Ask(Request::Command(command(choice)))
            }
            _ => Step::Stay,
        }
    }

    /// Draws it.
    pub(crate) fn draw(&self, frame: &mut Frame<'_>, area: Rect, run: &Run, palette: Palette) {
        let progress = &run.progress;
        let [first, rest] =
            Layout::vertical([Constraint::Length(2), Constraint::Min(1)]).areas(area);
        frame.render_widget(Paragraph::new(title(progress, palette)), first);
        let mut lines = why(run, palette);
        lines.push(Line::default());
        lines.extend(self.figures(progress, palette));
        lines.push(Line::default());
        lines.extend(self.below(run, palette));
        draw_lines(frame, rest, &lines, 1);
    }

    fn figures(&self, progress: &Progress, palette: Palette) -> Vec<Line<'static>> {
        let took = progress.ended_at.unwrap_or_default();
        let elapsed = progress.elapsed(took).as_millis();
        let mut facts = vec![
            format!(
                "{} of {} done",
                progress.stories_done,
                Count(progress.stories_total, Noun::Story)
            ),
            Count(progress.attempts, Noun::Attempt).to_string(),
            words::elapsed(u64::try_from(elapsed).unwrap_or(0)),
        ];
        facts.extend(words::usage(&progress.usage()));
        let mut lines = vec![Line::from(facts.join(" · "))];
        if let Some(stat) = &self.stat {
            lines.push(diff::summary(stat, palette));
        }
        lines
    }

    fn below(&self, run: &Run, palette: Palette) -> Vec<Line<'static>> {
        let Some(header) = &run.progress.header else {
            return Vec::new();
        };
        if let Some(doing) = self.doing {
            let text = match doing {
                Choice::Cleanup => format!("Returning to {}…", clean(&header.original)),
                Choice::Keep => format!("Staying on {}…", clean(&header.branch)),
                Choice::Again => "Going on…".to_owned(),
            };
            return vec![Line::from(Span::styled(text, palette.active()))];
        }
        let mut lines = Vec::new();
        if let Some(failure) = &run.progress.finish_failure {
            let text = format!("✗ {}", clean(&failure.reason));
            lines.push(Line::from(Span::styled(text, palette.bad())));
            lines.push(Line::from(format!("→ {}", clean(&failure.hint))));
            lines.push(Line::default());
        }
        for (place, choice) in Self::choices(run).into_iter().enumerate() {
            let is_selected = place == self.selected;
            lines.push(choice_line(choice, is_selected, header, palette));
        }
        lines
    }
}

fn command(choice: Choice) -> UserCommand {
    match choice {
        Choice::Cleanup => UserCommand::Finish(FinishChoice::Cleanup),
        Choice::Keep => UserCommand::Finish(FinishChoice::Keep),
        Choice::Again => UserCommand::Again,
    }
}

fn title(progress: &Progress, palette: Palette) -> Line<'static> {
    let change = progress.header.as_ref().map(|header| clean(&header.change));
    Line::from(vec![
        Span::styled(" ralphtool ", palette.title()),
        Span::raw("  "),
        Span::styled(change.unwrap_or_default(), palette.strong()),
        Span::raw("  the run is over"),
    ])
}

/// Why it ended.
fn why(run: &Run, palette: Palette) -> Vec<Line<'static>> {
    let progress = &run.progress;
    if let Some(RunOver::Failed(told)) = &run.over {
        return super::changes::told_lines(told, palette);
    }
    let Some(outcome) = &progress.outcome else {
        return Vec::new();
    };
    let open = progress.stories_total.saturating_sub(progress.stories_done);
    let headline = words::outcome(outcome, open);
    let (mark, style) = match outcome {
        Outcome::AllDone | Outcome::StoryDone => ("✓", palette.good()),
        Outcome::Stopped | Outcome::Skipped { .. } => ("‖", palette.warn()),
        Outcome::Exhausted { .. } | Outcome::Limited { .. } | Outcome::Broken { .. } => {
            ("✗", palette.bad())
        }
    };
    let mut lines = vec![Line::from(Span::styled(
        format!("{mark} {headline}"),
        style,
    ))];
    let (reason, hint) = match outcome {
        Outcome::Exhausted { reason, .. } | Outcome::Limited { reason } => (Some(reason), None),
        Outcome::Broken { reason, hint } => (Some(reason), Some(hint)),
        _ => (None, None),
    };
    if let Some(reason) = reason {
        let mut told = clean_lines(reason);
        let more = told.len() > REASON_LINES;
        told.truncate(REASON_LINES);
        lines.extend(told.into_iter().map(|line| Line::from(format!("  {line}"))));
        if more {
            lines.push(Line::from(Span::styled("  …", palette.dim())));
        }
    }
    if let Some(hint) = hint {
        lines.push(Line::from(format!("→ {}", clean(hint))));
    }
    lines
}

fn choice_line(choice: Choice, selected: bool, header: &Header, palette: Palette) -> Line<'static> {
    let (key, text) = match choice {
        Choice::Cleanup => (
            "c",
            format!(
                "Return to {} with changes uncommitted",
                clean(&header.original)
            ),
        ),
        Choice::Keep => (
            "k",
            format!("Stay on {} with checkpoint commits", clean(&header.branch)),
        ),
        Choice::Again => ("r", "Go on with what is left".to_owned()),
    };
    let line = Line::from(vec![
        Span::raw(if selected { "▌ " } else { "  " }),
        Span::styled(key, palette.key()),
        Span::raw("  "),
        Span::raw(text),
    ]);
    if selected {
        line.style(palette.strong())
    } else {
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_attempt_changed_is_not_taken_for_what_the_run_changed() {
        let whole = DiffId::Between {
            from: "a".into(),
            to: "c".into(),
        };
        let attempt = DiffId::Live { base: "b".into() };
        let mut completion = Completion::default();
        assert!(!completion.awaits(&whole));
        completion.asked = Some(whole.clone());
        assert!(completion.awaits(&whole) && !completion.awaits(&attempt));
        completion.take(Box::default());
        assert!(!completion.awaits(&whole));
    }
}
