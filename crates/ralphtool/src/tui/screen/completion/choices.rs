//! What can be done at the end of a run: which choices there are, and what each does, in words.

use ratatui::text::{Line, Span};

use crate::tui::choice::Choice;
use crate::tui::ending::Ending;
use crate::tui::palette::{KEY, STRONG};
use crate::tui::screen::run::Run;
use crate::ui::text::{clean, pad};
use crate::ui::words::count;
use ralph_run::machine::UserCommand;
use ralph_run::records::event::{FinishChoice, Outcome, RunStarted};
use ralph_run::records::next;
use ralph_run::records::progress::Progress;
use ralph_run::records::state::RunState;

/// How many files a question names.
const FILES: usize = 5;

/// How wide the names of the choices are.
const NAME: usize = 10;

impl Ending {
    /// The choices that the loop would carry out.
    pub(super) fn all(run: &Run) -> Vec<Self> {
        if run.over.is_some() {
            return vec![Self::Restart, Self::Leave];
        }
        // The loop is about to end and offers no choice.
        if matches!(run.progress.outcome(), Some(Outcome::Broken { .. })) {
            return Vec::new();
        }
        let half_done = run.progress.finish_failure.as_ref().filter(|it| it.begun);
        if let Some(failure) = half_done {
            return vec![Self::Finish(failure.choice)];
        }
        let has_commits = run.progress.stories.iter().any(|it| !it.commits.is_empty());
        let finishes = [
            Some(FinishChoice::Cleanup),
            Some(FinishChoice::Keep),
            has_commits.then_some(FinishChoice::Squash),
            has_commits.then_some(FinishChoice::Reword),
            Some(FinishChoice::Abandon),
        ];
        let finishes = finishes.into_iter().flatten();
        let mut choices: Vec<Self> = finishes.map(Self::Finish).collect();
        let left = run.progress.stories_done < run.progress.stories_total;
        // Offers only what the loop would do.
        let outcome = run.progress.outcome();
        if left && outcome.is_some_and(Outcome::can_go_on) {
            choices.push(Self::Again);
        }
        choices
    }

    /// Whether it asks even where it was selected before. Staying on the branch moves nothing.
    pub(super) const fn always_asks(self) -> bool {
        match self {
            Self::Finish(choice) => !matches!(choice, FinishChoice::Keep),
            Self::Again | Self::Restart | Self::Leave => false,
        }
    }

    /// What it tells the loop; none where the loop is over.
    pub(super) const fn command(self) -> Option<UserCommand> {
        match self {
            Self::Finish(choice) => Some(UserCommand::Finish(choice)),
            Self::Again => Some(UserCommand::Again),
            Self::Restart | Self::Leave => None,
        }
    }

    /// What is shown while it is carried out.
    pub(super) fn doing(self, header: &RunStarted) -> String {
        let (branch, original) = (clean(&header.branch), clean(&header.original));
        match self {
            Self::Finish(FinishChoice::Cleanup) => format!("Returning to {original}…"),
            Self::Finish(FinishChoice::Abandon) => format!("Returning to {}…", abandon_to(header)),
            Self::Finish(FinishChoice::Keep) => format!("Staying on {branch}…"),
            Self::Finish(FinishChoice::Squash) => format!("Squashing the commits of {branch}…"),
            Self::Finish(FinishChoice::Reword) => format!("Rewording the commits of {branch}…"),
            Self::Again | Self::Restart | Self::Leave => "Resuming…".to_owned(),
        }
    }

    /// One line: the key, the name, and what it does.
    pub(super) fn line(self, selected: bool, header: &RunStarted) -> Line<'static> {
        let (key, name, does) = self.words(header);
        let line = Line::from(vec![
            Span::raw(if selected { "▌ " } else { "  " }),
            Span::styled(key, KEY),
            Span::raw(format!("  {}{does}", pad(name, NAME))),
        ]);
        if selected { line.style(STRONG) } else { line }
    }

    fn words(self, header: &RunStarted) -> (&'static str, &'static str, String) {
        let (branch, original) = (clean(&header.branch), clean(&header.original));
        match self {
            Self::Finish(FinishChoice::Cleanup) => (
                "c",
                "Cleanup",
                format!("return to {original}, the changes uncommitted; the branch is deleted"),
            ),
            Self::Finish(FinishChoice::Keep) => (
                "b",
                "Keep",
                format!("stay on {branch}, one commit per story"),
            ),
            Self::Finish(FinishChoice::Squash) => (
                "o",
                "Squash",
                format!("stay on {branch}, all work in one commit"),
            ),
            Self::Finish(FinishChoice::Reword) => (
                "w",
                "Reword",
                format!("stay on {branch}, story titles as commit subjects"),
            ),
            Self::Finish(FinishChoice::Abandon) => (
                "a",
                "Abandon",
                format!("return to {} as it was before the run", abandon_to(header)),
            ),
            Self::Again => ("r", "Resume", "continue with what is left".to_owned()),
            Self::Restart => ("r", "Resume", "try to resume the run".to_owned()),
            Self::Leave => (" ", "Leave", "do nothing now; no work is lost".to_owned()),
        }
    }

    /// The question before it. `uncommitted` are the files that were not committed when the run began.
    pub(crate) fn question(
        self,
        header: &RunStarted,
        progress: &Progress,
        uncommitted: &[String],
    ) -> Choice {
        let (branch, original) = (clean(&header.branch), clean(&header.original));
        let (title, text) = match self {
            Self::Finish(FinishChoice::Cleanup) => (
                "Clean up?",
                format!(
                    "HEAD returns to `{original}` with all changes of the run, uncommitted. The \
                     branch `{branch}` is deleted; undo (`u`) restores it."
                ),
            ),
            Self::Finish(FinishChoice::Keep) => (
                "Keep the branch?",
                format!("HEAD stays on `{branch}`, with one commit per story."),
            ),
            Self::Finish(FinishChoice::Squash) => (
                "Squash the commits?",
                format!(
                    "HEAD stays on `{branch}`, with all work in one commit. Undo (`u`) restores \
                     the commit of each story."
                ),
            ),
            Self::Finish(FinishChoice::Reword) => (
                "Reword the commits?",
                format!(
                    "HEAD stays on `{branch}`. The subject of each commit becomes the title of \
                     its story. Undo (`u`) restores the commits."
                ),
            ),
            Self::Finish(FinishChoice::Abandon) => (
                "Abandon the run?",
                format!(
                    "Everything returns to how it was before the run, on `{}`: the work of all \
                     stories is removed. It stays in the vault; undo (`u`) restores it.",
                    abandon_to(header)
                ),
            ),
            Self::Again | Self::Restart => (
                "Resume the run?",
                next::resume(progress, RunState::Choosing).map_or_else(
                    || "The run continues with what is left.".to_owned(),
                    |step| format!("The run {}.", clean(&step.why)),
                ),
            ),
            Self::Leave => ("Leave?", "The run stays as it is.".to_owned()),
        };
        let publishes = matches!(self, Self::Finish(choice) if choice.keeps_branch());
        let included = publishes.then(|| included(uncommitted)).flatten();
        Choice::yes_or_no(title, text + &included.unwrap_or_default())
    }
}

/// Names what the commits include that the user had not committed.
fn included(files: &[String]) -> Option<String> {
    let mut names: Vec<String> = files.iter().take(FILES).map(|path| clean(path)).collect();
    if files.len() > FILES {
        names.push("…".to_owned());
    }
    let count = count(files.len(), "file");
    (!files.is_empty()).then(|| {
        let names = names.join(", ");
        format!(" The branch includes {count} that you had not committed: {names}")
    })
}

/// Where HEAD goes if the run is abandoned.
fn abandon_to(header: &RunStarted) -> String {
    clean(header.abandon_to.as_ref().unwrap_or(&header.original))
}
