//! The closing words of a run: why it ended, what it took, where the work is, what to type.

use super::page::Page;
use super::style::{DIM, NAME, of_outcome};
use super::text::{clean, clean_lines, columns, pad};
use super::words::{self, shell};
use ralph_run::records::event::{FinishChoice, Outcome, RunEnded, RunStarted};
use ralph_run::records::progress::Progress;

/// What to do about a gate that cannot run.
const GATE_BROKEN_HINT: &str = "correct its `run`, install the program, or activate the environment that has it; if a \
                                story is to write it, set `baseline = false` on the gate";

/// The closing words of a run that has ended.
pub(crate) struct Summary<'a> {
    change: String,
    branch: String,
    original: String,
    /// There was no commit when the run began.
    is_unborn: bool,
    progress: &'a Progress,
    ended: &'a RunEnded,
}

impl<'a> Summary<'a> {
    /// The words for a run; none before its end.
    pub(crate) fn of(progress: &'a Progress) -> Option<Self> {
        let header = progress.header.as_ref();
        let name = |pick: fn(&RunStarted) -> &String| header.map(|it| clean(pick(it)));
        Some(Self {
            change: name(|it| &it.change).unwrap_or_default(),
            branch: name(|it| &it.branch).unwrap_or_default(),
            original: name(|it| &it.original).unwrap_or_default(),
            is_unborn: header.is_some_and(|it| it.original_commit.is_none()),
            progress,
            ended: progress.ended.as_ref()?,
        })
    }

    /// Writes why it ended, what it used and where the work is.
    pub(crate) fn write(&self, page: &mut Page) {
        let ended = self.ended;
        let open = ended.stories_total.saturating_sub(ended.stories_done);
        let headline = words::outcome(&ended.outcome, open);
        let headline = format!("`{}`: {headline}", self.change);
        page.blank();
        page.styled(of_outcome(&ended.outcome), headline);
        for line in reason(&ended.outcome) {
            page.line(format!("  {line}"));
        }
        page.alerts(&self.progress.alerts());
        page.blank();
        page.facts(&self.figures(), 10);
    }

    fn figures(&self) -> Vec<(&'static str, String)> {
        let ended = self.ended;
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
        figures.push(("branch", self.branch_and_head()));
        if let Outcome::Exhausted { .. } = ended.outcome {
            figures.extend(self.last_transcript().map(|path| ("transcript", path)));
        }
        figures
    }

    fn last_transcript(&self) -> Option<String> {
        let attempts = self.progress.stories.iter().flat_map(|it| &it.attempts);
        let last = attempts.max_by_key(|attempt| attempt.started_at)?;
        Some(clean(&last.transcript))
    }

    fn has_commits(&self) -> bool {
        let mut stories = self.progress.stories.iter();
        stories.any(|story| !story.commits.is_empty())
    }

    /// Where the work is and where HEAD is.
    fn branch_and_head(&self) -> String {
        let Some(finished) = &self.progress.finish else {
            return self.branch.clone();
        };
        let head = clean(&finished.head);
        match finished.choice {
            FinishChoice::Cleanup => format!("{head}, the work as uncommitted changes"),
            FinishChoice::Keep => format!("{}, one commit a story", self.branch),
            FinishChoice::Squash => format!("{}, all work in one commit", self.branch),
            FinishChoice::Reword => format!("{}, one commit per story", self.branch),
            FinishChoice::Abandon => format!("{head}, everything as it was before the run"),
        }
    }

    /// Writes what to type next, where there is something.
    pub(crate) fn write_next(&self, page: &mut Page) {
        let next = self.next();
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
    fn next(&self) -> Vec<(String, &'static str)> {
        let ended = self.ended;
        let mut next = self.to_review();
        let open = ended.stories_done < ended.stories_total;
        let is_left = match ended.outcome {
            Outcome::AllDone => false,
            Outcome::Unverified { .. } => self.progress.has_open_stories(),
            _ => true,
        };
        if open && is_left {
            // Where the work went home, the run is over.
            let command = if self.is_cleaned_up() {
                format!("ralphtool loop {}", shell(&self.change))
            } else {
                "ralphtool resume".to_owned()
            };
            next.push((command, "goes on with the next open story"));
        }
        if self.has_commits() {
            let command = "ralphtool log last --markdown".to_owned();
            // After the command to try first, before those that end the run.
            let place = next.len().min(1);
            next.insert(place, (command, "the receipt, fit for a pull request"));
        }
        next
    }

    fn is_cleaned_up(&self) -> bool {
        let finished = self.progress.finish.as_ref();
        finished.is_some_and(|finished| finished.choice == FinishChoice::Cleanup)
    }

    /// How to review the work, if this run did any.
    fn to_review(&self) -> Vec<(String, &'static str)> {
        let done = self.ended.outcome.is_done();
        if !self.has_commits() && !done {
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
        Outcome::AllDone | Outcome::StoryDone | Outcome::Unverified { .. } | Outcome::Stopped => {
            Vec::new()
        }
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
        Outcome::GateBroken { reason, .. } => {
            let mut lines = clean_lines(reason);
            lines.push(format!("hint: {GATE_BROKEN_HINT}"));
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
