//! The closing words of a run: why it ended, what it took, where the work is, what to type.

use std::collections::BTreeSet;

use super::page::Page;
use super::style::{DIM, NAME, of_outcome};
use super::text::{clean, clean_lines, columns, pad};
use super::words::{self, shell};
use ralph_run::records::event::{
    Event, FinishChoice, Finished, GateResult, Outcome, Record, RunEnded,
};

/// Folds what the closing words need.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    change: String,
    branch: String,
    original: String,
    /// There was no commit when the run began.
    is_unborn: bool,
    transcript: Option<String>,
    completed: usize,
    /// Gates that were red when they last judged work.
    red_gates: BTreeSet<String>,
    ended: Option<RunEnded>,
    finished: Option<Finished>,
}

impl Summary {
    /// Takes one record in.
    pub(crate) fn apply(&mut self, record: &Record) {
        match &record.event {
            Event::RunStarted(started) => {
                self.change = clean(&started.change);
                self.branch = clean(&started.branch);
                self.original = clean(&started.original);
                self.is_unborn = started.original_commit.is_none();
            }
            Event::AttemptStarted(it) => self.transcript = Some(clean(&it.transcript)),
            Event::StoryCompleted { .. } => self.completed += 1,
            Event::GateFinished(it) if !it.baseline => {
                match it.result {
                    GateResult::Passed => self.red_gates.remove(&it.gate),
                    GateResult::Failed { .. } => self.red_gates.insert(it.gate.clone()),
                };
            }
            Event::RunEnded(ended) => self.ended = Some(ended.clone()),
            Event::Finished(finished) => self.finished = Some(finished.clone()),
            _ => {}
        }
    }

    /// Writes the closing words; nothing if the run did not come to an end.
    pub(crate) fn write(&self, page: &mut Page) {
        let Some(ended) = &self.ended else {
            return;
        };
        let open = ended.stories_total.saturating_sub(ended.stories_done);
        let headline = words::outcome(&ended.outcome, open);
        let headline = format!("`{}`: {headline}", self.change);
        page.blank();
        page.styled(of_outcome(&ended.outcome), headline);
        for line in reason(&ended.outcome) {
            page.line(format!("  {line}"));
        }
        page.blank();
        page.facts(&self.figures(ended), 10);
    }

    fn figures(&self, ended: &RunEnded) -> Vec<(&'static str, String)> {
        let (done, total) = (ended.stories_done, ended.stories_total);
        let mut figures = vec![
            ("stories", format!("{done} of {total} done")),
            ("attempts", ended.attempts.to_string()),
            ("time", words::elapsed(ended.duration_ms)),
        ];
        let tokens = ended.usage.total_tokens();
        if tokens > 0 {
            figures.push(("tokens", words::tokens(tokens)));
        }
        let cost = ended.usage.cost_usd.map(words::cost);
        figures.extend(cost.map(|cost| ("cost", cost)));
        // A gate that was red before lets stories pass; the user should not have to find that in the log.
        if matches!(ended.outcome, Outcome::AllDone | Outcome::StoryDone) {
            let red = self.red_gates.iter().map(String::as_str);
            figures.extend(words::still_red(red).map(|told| ("gates", told)));
        }
        figures.push(("branch", self.branch_and_head()));
        if let (Outcome::Exhausted { .. }, Some(path)) = (&ended.outcome, &self.transcript) {
            figures.push(("transcript", path.clone()));
        }
        figures
    }

    /// Where the work is and where HEAD is.
    fn branch_and_head(&self) -> String {
        let Some(finished) = &self.finished else {
            return self.branch.clone();
        };
        let head = clean(&finished.head);
        match finished.choice {
            FinishChoice::Cleanup => format!("{head}, the work as uncommitted changes"),
            FinishChoice::Keep => format!("{}, one commit a story", self.branch),
            FinishChoice::Abandon => format!("{head}, everything as it was before the run"),
        }
    }

    /// Writes what to type next, where there is something.
    pub(crate) fn write_next(&self, page: &mut Page) {
        let next = self.ended.as_ref().map(|ended| self.next(ended));
        let next = next.unwrap_or_default();
        if next.is_empty() {
            return;
        }
        page.heading("next");
        let widest = next.iter().map(|(what, _)| columns(what)).max();
        for (what, why) in &next {
            let command = pad(what, widest.unwrap_or(0));
            let (command, why) = (page.paint(NAME, command), page.paint(DIM, why));
            page.line(format!("  {command}  {why}"));
        }
    }

    /// What to type, and what it does.
    fn next(&self, ended: &RunEnded) -> Vec<(String, &'static str)> {
        let mut next = self.to_review(ended);
        let open = ended.stories_done < ended.stories_total;
        if open && ended.outcome != Outcome::AllDone {
            // Where the work went home, the run is over.
            let command = if self.is_cleaned_up() {
                format!("ralphtool loop {}", shell(&self.change))
            } else {
                "ralphtool resume".to_owned()
            };
            next.push((command, "goes on with the next open story"));
        }
        if self.completed > 0 {
            let command = "ralphtool log last --markdown".to_owned();
            // After what to look at first, before what ends the run.
            let place = next.len().min(1);
            next.insert(place, (command, "the receipt, fit for a pull request"));
        }
        next
    }

    fn is_cleaned_up(&self) -> bool {
        let finished = self.finished.as_ref();
        finished.is_some_and(|finished| finished.choice == FinishChoice::Cleanup)
    }

    /// How to look at the work, where this run did any.
    fn to_review(&self, ended: &RunEnded) -> Vec<(String, &'static str)> {
        let done = matches!(ended.outcome, Outcome::AllDone | Outcome::StoryDone);
        if self.completed == 0 && !done {
            return Vec::new();
        }
        let (branch, original) = (&self.branch, &self.original);
        let cleanup = "ralphtool finish --cleanup".to_owned();
        if self.is_cleaned_up() {
            return [
                ("git status", "what changed"),
                ("git diff", "the changes to tracked files"),
                ("ralphtool undo", "back to the branch with its commits"),
            ]
            .map(|(command, what)| (command.to_owned(), what))
            .to_vec();
        }
        // Without a commit there is nothing to compare with or to go back to.
        if self.is_unborn {
            let log = format!("git log --stat {}", shell(branch));
            let back = "back to where the run began with the work, uncommitted";
            return vec![(log, "the commits and their files"), (cleanup, back)];
        }
        let commits = shell(&format!("{original}..{branch}"));
        let change = shell(&format!("{original}...{branch}"));
        let switch = format!("git switch {}", self.switch_target());
        vec![
            (format!("git log --oneline {commits}"), "the commits"),
            (format!("git diff {change}"), "the whole change"),
            (switch, "back to where the run began"),
            (cleanup, "back there with the work, uncommitted"),
        ]
    }

    /// A commit can only be switched to with `--detach`.
    fn switch_target(&self) -> String {
        let is_commit = matches!(self.original.len(), 40 | 64)
            && self.original.chars().all(|c| c.is_ascii_hexdigit());
        let target = shell(&self.original);
        if is_commit {
            format!("--detach {target}")
        } else {
            target
        }
    }
}

/// The lines below the headline.
fn reason(outcome: &Outcome) -> Vec<String> {
    match outcome {
        Outcome::AllDone | Outcome::StoryDone | Outcome::Stopped => Vec::new(),
        Outcome::Skipped { stories } => {
            let ids: Vec<String> = stories.iter().map(|story| clean(&story.0)).collect();
            vec![format!("skipped: {}", ids.join(", "))]
        }
        Outcome::Exhausted { reason, .. } => {
            let mut lines = clean_lines(reason);
            if lines.len() > 3 {
                lines.truncate(3);
                lines.push("…".to_owned());
            }
            lines
        }
        Outcome::Limited { reason } => clean_lines(reason),
        Outcome::Broken { reason, hint } => {
            let hints = clean_lines(hint).into_iter();
            let mut lines = clean_lines(reason);
            lines.extend(hints.map(|hint| format!("hint: {hint}")));
            lines
        }
    }
}
