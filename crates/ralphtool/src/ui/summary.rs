//! The closing words of a run: why it ended, what it took, where the work is, what to type.

use jiff::tz::TimeZone;

use super::page::Page;
use super::reason;
use super::style::{DIM, NAME, of_outcome};
use super::text::{clean, clean_lines, columns, pad};
use super::words::{self, shell};
use ralph_run::records::event::{FinishChoice, Outcome, RunEnded, RunStarted};
use ralph_run::records::next;
use ralph_run::records::progress::Progress;
use ralph_run::records::state::{Place, RunState};

/// How many lines of a reason are shown.
const REASON_LINES: usize = 10;

/// The closing words of a run that has ended.
pub(crate) struct Summary<'a> {
    change: String,
    branch: String,
    original: String,
    /// There was no commit when the run began.
    is_unborn: bool,
    zone: TimeZone,
    progress: &'a Progress,
    ended: &'a RunEnded,
}

impl<'a> Summary<'a> {
    /// The words for a run; none before its end.
    pub(crate) fn of(progress: &'a Progress, zone: &TimeZone) -> Option<Self> {
        let header = progress.header.as_ref();
        let name = |pick: fn(&RunStarted) -> &String| header.map(|it| clean(pick(it)));
        Some(Self {
            change: name(|it| &it.change).unwrap_or_default(),
            branch: name(|it| &it.branch).unwrap_or_default(),
            original: name(|it| &it.original).unwrap_or_default(),
            is_unborn: header.is_some_and(|it| it.original_commit.is_none()),
            zone: zone.clone(),
            progress,
            ended: progress.ended.as_ref()?,
        })
    }

    /// Writes why it ended, what it used and where the work is.
    pub(crate) fn write(&self, page: &mut Page) {
        let ended = self.ended;
        let headline = clean(&self.progress.closing_headline(&self.zone));
        let headline = match self.change.as_str() {
            _ if !self.has_begun() => "the run could not begin".to_owned(),
            "" => headline,
            change => format!("`{change}`: {headline}"),
        };
        page.blank();
        page.styled(of_outcome(&ended.outcome), headline);
        for line in reason(&ended.outcome) {
            page.line(format!("  {line}"));
        }
        page.alerts(&self.progress.alerts());
        if self.has_begun() {
            page.blank();
            page.facts(&self.figures(), 10);
        }
    }

    /// Without a beginning in the record there are no names and figures to show.
    fn has_begun(&self) -> bool {
        self.progress.header.is_some()
    }

    fn figures(&self) -> Vec<(&'static str, String)> {
        let ended = self.ended;
        let all = self.progress.figures(None);
        let mut figures = vec![
            ("stories", all.stories.in_words()),
            ("attempts", words::with_repairs(all.attempts, all.repairs)),
            ("time", words::elapsed(words::millis(all.time))),
        ];
        let tokens = all.usage.total_tokens();
        if tokens > 0 {
            figures.push(("tokens", words::tokens(tokens)));
        }
        let cost = all.usage.cost_usd;
        let cost = cost.map(|usd| words::cost_of(usd, all.cost_is_partial));
        let is_missing = self.progress.is_cost_missing();
        let cost = cost.or(is_missing.then(|| "unknown".to_owned()));
        figures.extend(cost.map(|cost| ("cost", cost)));
        let files = all.changed_files;
        figures.extend(files.map(|it| ("files", format!("{it} changed"))));
        let not_run = words::gates_not_run(&self.progress.gates_not_run());
        figures.extend(not_run.map(|gates| ("not run", gates)));
        if !self.branch.is_empty() {
            figures.push(("branch", self.branch_and_head()));
        }
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
            FinishChoice::Keep if self.has_commits() => {
                format!("{}, one commit per story", self.branch)
            }
            FinishChoice::Keep => self.branch.clone(),
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
    fn next(&self) -> Vec<(String, String)> {
        let finish = self.progress.finish.as_ref();
        let place = Place {
            is_open: finish.is_none(),
            is_busy: false,
        };
        let state = RunState::of(self.progress, place);
        let review = self.to_review();
        let mut steps: Vec<(String, String)> = next::after(self.progress, state, place)
            .into_iter()
            // The closing words say what happened.
            .filter(|step| step.command != next::LOG)
            .map(|step| (clean(&step.command), clean(&step.why)))
            .collect();
        steps.retain(|(command, _)| review.iter().all(|(shown, _)| shown != command));
        let review = review.into_iter();
        let mut all: Vec<_> = review.map(|(what, why)| (what, why.to_owned())).collect();
        if self.has_commits() {
            let command = "ralphtool log --markdown".to_owned();
            let why = "a report you can paste into a pull request".to_owned();
            // After the command to try first, before those that end the run.
            all.insert(all.len().min(1), (command, why));
        }
        // A story that failed is what the user looks at first.
        let failed = matches!(self.ended.outcome, Outcome::Exhausted { .. });
        let (mut first, mut last) = if failed { (steps, all) } else { (all, steps) };
        first.append(&mut last);
        first
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
        if self.is_cleaned_up() {
            return [
                ("git status", "what changed, new files too"),
                ("git add -A && git diff --cached", "all changes"),
            ]
            .map(|(command, what)| (command.to_owned(), what))
            .to_vec();
        }
        // Without a commit there is nothing to compare with.
        if self.is_unborn {
            let log = format!("git log --stat {}", shell(branch));
            return vec![(log, "the commits and their files")];
        }
        let commits = shell(&format!("{original}..{branch}"));
        let change = shell(&format!("{original}...{branch}"));
        vec![
            (format!("git log --oneline {commits}"), "the commits"),
            (format!("git diff {change}"), "the whole change"),
        ]
    }
}

/// The lines below the headline.
fn reason(outcome: &Outcome) -> Vec<String> {
    if let Outcome::Skipped { stories } = outcome {
        let ids: Vec<String> = stories.iter().map(|story| clean(&story.0)).collect();
        return vec![format!("skipped: {}", ids.join(", "))];
    }
    let mut lines = reason::of_run(outcome, REASON_LINES);
    let hint = outcome.hint().unwrap_or_default();
    lines.extend(
        clean_lines(&hint)
            .iter()
            .map(|hint| format!("hint: {hint}")),
    );
    lines
}
