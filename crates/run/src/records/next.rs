//! What to type after a run: only steps that do something where the run stands.

use std::path::Path;

use serde::Serialize;

use super::event::{FinishChoice, QuestionAsked};
use super::outcome::{Outcome, once_allowed};
use super::progress::{Progress, StoryProgress};
use super::state::{Place, RunState};
use crate::words::{and_list, count};
use ralph_base::shell::quoted;

/// The command that shows what happened in the last run.
pub const LOG: &str = "ralphtool log last";

/// The command that ends a run.
const FINISH: &str = "ralphtool finish";

/// How many failed attempts are offered to be shown.
const MOST_SHOWN: usize = 3;

/// A command to type next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct NextStep {
    /// The command.
    pub command: String,
    /// What it does.
    pub why: String,
}

impl NextStep {
    /// A command and what it does.
    pub fn new(command: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            why: why.into(),
        }
    }
}

/// What to type after a run that is not at work, the likeliest first.
pub fn after(progress: &Progress, state: RunState, place: Place) -> Vec<NextStep> {
    let log = NextStep::new(LOG, "shows what happened");
    if progress.header.is_none() {
        return vec![
            NextStep::new("ralphtool doctor", "checks what a run needs"),
            log,
        ];
    }
    let finish = progress.finished(place);
    let mut steps = answer(progress);
    steps.extend(look(progress));
    if let Some(Outcome::GateBroken { .. }) = progress.outcome() {
        steps.push(NextStep::new("ralphtool doctor --gates", "runs every gate"));
    }
    match finish {
        // Its end is not recorded yet: the next command completes the record.
        None if !place.is_open => steps.push(log),
        Some(FinishChoice::Keep) | None => {
            steps.extend(resume(progress, state));
            steps.push(finish_step(progress, finish));
            steps.push(log);
        }
        Some(_) => {
            steps.extend(start_again(progress));
            steps.push(log);
            if !is_untried(progress) {
                steps.push(NextStep::new("ralphtool undo", "reverts the finish"));
            }
        }
    }
    steps
}

/// How to answer what agents asked.
pub fn answer(progress: &Progress) -> Vec<NextStep> {
    let asked = progress.questions.values();
    let step = |asked: &QuestionAsked| {
        let story = &asked.story;
        let command = format!("ralphtool answer {} \"…\"", word(&story.0));
        NextStep::new(command, format!("answers the question about story {story}"))
    };
    asked.map(step).collect()
}

/// The same where HEAD is not on the branch of the run: a finish is refused there.
pub fn with_switch(mut steps: Vec<NextStep>, branch: &str) -> Vec<NextStep> {
    let is_finish = |step: &NextStep| step.command.starts_with(FINISH);
    if let Some(place) = steps.iter().position(is_finish) {
        let switch = NextStep::new(
            format!("git switch {}", word(branch)),
            "to the branch of the run, before you finish it",
        );
        steps.insert(place, switch);
    }
    steps
}

/// Whether a gate could not run before anything was tried: then there is no finish to undo.
fn is_untried(progress: &Progress) -> bool {
    let is_broken = matches!(progress.outcome(), Some(Outcome::GateBroken { .. }));
    is_broken && progress.attempts == 0
}

/// How to continue the run, if something is left to do in it.
pub fn resume(progress: &Progress, state: RunState) -> Option<NextStep> {
    let command = |flags: &str| format!("ralphtool resume{flags}");
    if state == RunState::Interrupted {
        let why = "repairs what the interruption left, and continues";
        return Some(NextStep::new(command(""), why));
    }
    let Some(story) = first_open(progress) else {
        // Old records do not list the stories.
        let is_left = progress.stories.is_empty() && progress.story_counts().left() > 0;
        return is_left.then(|| NextStep::new(command(""), "continues with what is left"));
    };
    let id = &story.id;
    let step = match progress.outcome() {
        Some(Outcome::BudgetUsedUp { flags, .. }) => {
            let why = format!("continues with story {id} and a higher budget");
            NextStep::new(command(&format!(" {flags}")), why)
        }
        Some(Outcome::Exhausted { .. }) => {
            let retries = progress.header.as_ref().map_or(0, |it| it.max_retries);
            let more = count(retries.saturating_add(1), "more attempt");
            let failed = progress
                .outcome()
                .map(Outcome::failed_stories)
                .unwrap_or_default();
            let ids: Vec<String> = failed.iter().map(|it| it.story.to_string()).collect();
            let why = match ids.as_slice() {
                [only] => format!("tries story {only} again, with up to {more}"),
                several => {
                    format!(
                        "tries stories {} again, with up to {more} each",
                        and_list(several)
                    )
                }
            };
            NextStep::new(command(""), why)
        }
        Some(Outcome::NotLoggedIn { cause, .. }) => {
            let why = format!("continues with story {id}, {}", once_allowed(*cause));
            NextStep::new(command(""), why)
        }
        Some(Outcome::UsageLimit { .. }) => {
            let why = format!("continues with story {id}, once the limit has ended");
            NextStep::new(command(""), why)
        }
        _ => NextStep::new(command(""), format!("continues with story {id}")),
    };
    Some(step)
}

/// The story that a resumed run starts with.
fn first_open(progress: &Progress) -> Option<&StoryProgress> {
    progress.next_to_run()
}

/// How to look into the stories that failed, and help their next attempts.
fn look(progress: &Progress) -> Vec<NextStep> {
    if progress.is_rewound() {
        return Vec::new();
    }
    let failed = progress
        .outcome()
        .map(Outcome::failed_stories)
        .unwrap_or_default();
    let is_only = failed.len() == 1;
    let attempts = failed
        .iter()
        .filter_map(|it| progress.last_failure_of(&it.story));
    let mut steps: Vec<NextStep> = attempts
        .take(MOST_SHOWN)
        .map(|failure| {
            let whose = if is_only {
                "the last attempt".to_owned()
            } else {
                format!("the last attempt at story {}", failure.story)
            };
            let command = format!("ralphtool attempts show {}", failure.parked);
            NextStep::new(command, format!("{whose}: why it failed, and its changes"))
        })
        .collect();
    if steps.is_empty() {
        return steps;
    }
    if let Some(header) = &progress.header {
        steps.push(NextStep::new(
            format!("ralphtool learnings edit {}", word(&header.change)),
            "add a hint for the next attempt",
        ));
    }
    steps
}

/// A new run of a change with work left, after the last run was finished.
fn start_again(progress: &Progress) -> Option<NextStep> {
    let story = first_open(progress)?;
    let change = progress.header.as_ref().map(|it| word(&it.change))?;
    let finish = progress.finish.as_ref().map(|it| it.choice);
    let why = if finish == Some(FinishChoice::Abandon) {
        // Its stories are open again.
        "starts a new run".to_owned()
    } else {
        format!("continues with story {}", story.id)
    };
    Some(NextStep::new(format!("ralphtool run {change}"), why))
}

/// A name as one word of a shell.
fn word(name: &str) -> String {
    quoted(Path::new(name))
}

fn finish_step(progress: &Progress, finish: Option<FinishChoice>) -> NextStep {
    match (finish, &progress.header) {
        (Some(_), Some(header)) => NextStep::new(
            "ralphtool finish --cleanup",
            format!(
                "returns to {} and keeps the work as uncommitted changes",
                header.original
            ),
        ),
        _ => NextStep::new(
            FINISH,
            "ends the run: cleanup, keep, squash, reword or abandon",
        ),
    }
}
