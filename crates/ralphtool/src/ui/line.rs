//! What the log says of each event: one line, perhaps with details, and how much it matters.

use anstyle::Style;

use super::reason;
use super::style::{BAD, DIM, GOOD, STRONG, WARN};
use super::text::{clean, clean_lines};
use super::words::{self, count};
use ralph_agents::agent_event::AgentEvent;
use ralph_base::ids::{AttemptNumber, RunId, StoryId};
use ralph_plan::tasks::TaskState;
use ralph_run::records::event::{
    AttemptFailed, AttemptStarted, Event, FailureKind, FinishChoice, FinishFailed, GateFinished,
    GateResult, GateRetried, QuestionAsked, Record, RepairStarted, ReviewFinished, ReviewStarted,
    RunStarted, StoryCompleted, StoryStarted, UndoneStep,
};
use ralph_run::records::outcome::reason_beside;
use ralph_run::records::progress::Importance;
use ralph_run::records::review::{ReviewResult, Verdict};
use ralph_run::settings::TamperCheck;

/// How many lines of a reason are shown.
const REASON_LINES: usize = 12;

/// Which attempt continues after a wait or a pause.
const STAYS: &str = "its changes stay in the tree";

/// How much a line matters, the most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// Shown with `-q` too: warnings and failures.
    Alert,
    /// What the loop does.
    Step,
    /// What the agent does, one line each: on a terminal, or with `-v`.
    Tool,
    /// Everything else: only with `-v`.
    Talk,
}

/// One entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// How much it matters.
    pub(crate) weight: Weight,
    pub(crate) style: Style,
    pub(crate) text: String,
    /// Lines below it, wrapped when shown.
    pub(crate) details: Vec<String>,
}

impl Line {
    fn new(weight: Weight, style: Style, text: impl Into<String>) -> Self {
        Self {
            weight,
            style,
            text: text.into(),
            details: Vec::new(),
        }
    }

    fn with(mut self, details: Vec<String>) -> Self {
        self.details = details;
        self
    }
}

/// The line of a record, where it has one.
#[expect(clippy::too_many_lines, reason = "one arm for each event")]
pub(crate) fn of(record: &Record) -> Option<Line> {
    Some(match &record.event {
        Event::RunStarted(it) => run_started(&record.run, it),
        Event::Recovered { found, done } => {
            let (found, done) = (clean(found), clean(done));
            alert(WARN, format!("recovered: {found}: {done}"))
        }
        Event::Warning { code, message } => match Importance::of(code) {
            Importance::Warning => headed("warning: ", message, Weight::Alert, WARN),
            Importance::Note => headed("note: ", message, Weight::Step, DIM),
        },
        Event::TamperFound {
            check,
            message,
            failed,
            ..
        } => tamper_found(*check, message, *failed),
        Event::StoryStarted(it) => story_started(it),
        Event::StorySkipped {
            story,
            title,
            reason,
            waits_for,
        } => {
            let (title, reason) = (clean(title), clean(reason));
            let what = if waits_for.is_some() {
                "not run"
            } else {
                "skipped"
            };
            alert(WARN, format!("story {story} is {what}: {title}: {reason}"))
        }
        // The summary speaks of a story that ends the run.
        Event::StoryExhausted(it) if !it.continues => return None,
        Event::StoryExhausted(it) => {
            let failed = clean(&it.failed.words());
            alert(BAD, format!("{failed}; the run continues without it"))
        }
        Event::AgentChanged { to, reason, .. } => {
            let agent = clean(&to.to_string());
            alert(WARN, format!("{agent} takes over: {}", clean(reason)))
        }
        Event::AttemptStarted(it) => step(Style::new(), attempt_started(it)),
        Event::RepairStarted(it) => repair_started(it),
        Event::QuestionAsked(it) => question_asked(it),
        Event::QuestionAnswered(it) => {
            let head = format!("answer to the question about story {}: ", it.story);
            headed(&head, &it.answer, Weight::Step, STRONG)
        }
        Event::AttemptContinued(it) => {
            let text = format!("attempt {} continues in the same session", it.attempt);
            step(Style::new(), text)
        }
        Event::Agent { agent, .. } => return agent_line(agent),
        Event::GateStarted(it) => {
            let place = match (it.baseline, it.whole) {
                (true, _) => " on the checkpoint",
                (false, true) => " on the whole change",
                (false, false) => "",
            };
            let again = match it.try_number {
                1 => String::new(),
                number => format!(", {} try", words::ordinal(number)),
            };
            talk(format!("gate `{}` runs{place}{again}", clean(&it.gate)))
        }
        Event::GateNotRun(it) => {
            let text = format!("gate `{}` {}", clean(&it.gate), words::NOT_RUN);
            step(DIM, text)
        }
        Event::GateRetried(it) => gate_retried(it),
        Event::GateFinished(it) => gate_finished(it),
        Event::ReviewStarted(it) => review_started(it),
        Event::Reviewer { agent, .. } => return reviewer_line(agent),
        Event::ReviewFinished(it) => review_finished(it),
        Event::AttemptFailed(it) => attempt_failed(it),
        Event::Waiting {
            reason,
            until,
            continues,
            ..
        } => {
            let left = words::elapsed(words::millis_between(record.at, *until));
            let text = format!("waiting {left}, until {until:.0}: {}", clean(reason));
            let after =
                continues.map(|attempt| format!("then attempt {attempt} continues; {STAYS}"));
            alert(WARN, text).with(after.into_iter().collect())
        }
        Event::StoryCompleted(it) => story_completed(it),
        Event::StoryReopened {
            story,
            gate,
            review,
            ..
        } => {
            let judge = if *review { "review" } else { "gate" };
            let why = format!("{judge} `{}` failed on the whole change", clean(gate));
            alert(BAD, format!("story {story} is reopened: {why}"))
        }
        Event::Requested { request } => step(WARN, words::request(*request)),
        Event::Paused {
            story,
            continues: None,
        } => alert(
            WARN,
            format!("paused before the next attempt at story {story}"),
        ),
        Event::Paused {
            story,
            continues: Some(attempt),
        } => {
            let text = format!("paused during attempt {attempt} of story {story}; {STAYS}");
            alert(WARN, text)
        }
        Event::NoteAdded { text, story } => {
            let whose = story.as_ref().map(|it| format!(" of story {it}"));
            let head = format!("note for the next prompt{}: ", whose.unwrap_or_default());
            headed(&head, text, Weight::Step, STRONG)
        }
        Event::NoteUnused {
            text,
            story,
            reason,
        } => alert(WARN, note_unused(story, reason)).with(clean_lines(text)),
        Event::TasksChanged { tasks, .. } => {
            let done = tasks.iter().filter(|task| task.state == TaskState::Done);
            talk(format!("tasks {}/{}", done.count(), tasks.len()))
        }
        Event::FinishFailed(it) => finish_failed(it),
        Event::Rewound { story, .. } => step(STRONG, format!("rewound to before story {story}")),
        Event::Undone { step: of, .. } => step(STRONG, format!("undone: {}", undone(*of))),
        Event::Finished(it) => return finished(it.choice),
        // The summary speaks of these.
        Event::RunEnded { .. } | Event::ChoiceNeeded => return None,
    })
}

/// A finish that a later one can follow; the summary speaks of the others.
fn finished(choice: FinishChoice) -> Option<Line> {
    match choice {
        FinishChoice::Squash => Some(step(STRONG, "squashed into one commit")),
        FinishChoice::Reword => Some(step(STRONG, "commits reworded")),
        FinishChoice::Cleanup | FinishChoice::Keep | FinishChoice::Abandon => None,
    }
}

/// What an undo reverted.
const fn undone(step: Option<UndoneStep>) -> &'static str {
    match step {
        Some(UndoneStep::Cleanup) => "the cleanup",
        Some(UndoneStep::Abandon) => "the abandon",
        Some(UndoneStep::Squash) => "the squash",
        Some(UndoneStep::Reword) => "the reword",
        Some(UndoneStep::StartOver) => "the start from where the run began",
        Some(UndoneStep::Rewind) => "the rewind",
        Some(UndoneStep::RestoreAttempt) => "the restore of an attempt",
        None => "the last step",
    }
}

/// What is said of a note that no attempt got.
pub(crate) fn note_unused(story: &StoryId, reason: &str) -> String {
    format!("note for story {story} was not used: {}", clean(reason))
}

fn alert(style: Style, text: impl Into<String>) -> Line {
    Line::new(Weight::Alert, style, text)
}

fn step(style: Style, text: impl Into<String>) -> Line {
    Line::new(Weight::Step, style, text)
}

fn talk(text: impl Into<String>) -> Line {
    Line::new(Weight::Talk, DIM, text)
}

fn tamper_found(check: TamperCheck, message: &str, failed: bool) -> Line {
    let (head, style) = if failed {
        (format!("tampered, {check}: "), BAD)
    } else {
        (format!("warning: {check}: "), WARN)
    };
    headed(&head, message, Weight::Alert, style)
}

fn run_started(run: &RunId, it: &RunStarted) -> Line {
    let verb = if it.resumed { "resumes" } else { "starts" };
    let model = it.model.as_deref().map(|it| format!(" ({})", clean(it)));
    let mut agents = vec![format!("{}{}", clean(&it.agent), model.unwrap_or_default())];
    agents.extend(it.fallback.iter().map(|name| clean(name)));
    let (change, agents) = (clean(&it.change), agents.join(", else "));
    let mut stories = count(it.stories_total, "story");
    if it.stories_done > 0 {
        stories = format!("{stories}, {} done", it.stories_done);
    }
    let attempts = count(u64::from(it.max_retries) + 1, "attempt");
    let (branch, original) = (clean(&it.branch), clean(&it.original));
    let mut details = vec![
        format!("{stories}; at most {attempts} each"),
        format!("on branch {branch} from {original}"),
    ];
    details.push(match words::gates(&it.gates, &it.reviews) {
        no_gates if it.gates.is_empty() => no_gates,
        gates => format!("gates: {gates}"),
    });
    details.extend(words::reviews(&it.reviews).map(|reviews| format!("reviews: {reviews}")));
    details.extend(words::budget(&it.budget).map(|budget| format!("budget: {budget}")));
    details.extend(words::budget(&it.story_budget).map(|it| format!("budget per story: {it}")));
    let text = format!("run {run} {verb}: change `{change}` with {agents}");
    step(STRONG, text).with(details)
}

fn finish_failed(it: &FinishFailed) -> Line {
    let head = format!("{} did not work: ", words::finish(it.choice));
    let mut line = headed(&head, &it.reason, Weight::Alert, BAD);
    let hints = clean_lines(&it.hint).into_iter();
    line.details
        .extend(hints.map(|hint| format!("hint: {hint}")));
    line
}

fn story_started(it: &StoryStarted) -> Line {
    // The id is left out if it is the position.
    let id = if it.story.0 == it.position.to_string() {
        String::new()
    } else {
        format!("id {}, ", it.story)
    };
    let (title, tasks) = (clean(&it.title), count(it.open_tasks, "task"));
    let place = format!("{}/{}", it.position, it.total);
    step(STRONG, format!("story {place}: {title} ({id}{tasks} open)"))
}

fn attempt_started(it: &AttemptStarted) -> String {
    let text = words::attempt(it.attempt, it.tries());
    match it.uncounted {
        0 => text,
        1 => format!("{text}; an earlier one does not count"),
        uncounted => format!("{text}; {uncounted} earlier ones do not count"),
    }
}

fn question_asked(it: &QuestionAsked) -> Line {
    let head = format!("attempt {} of story {} asks: ", it.attempt, it.story);
    let mut line = headed(&head, &it.question, Weight::Alert, WARN);
    let answer = format!(
        "`ralphtool answer {} \"…\"` answers it",
        words::shell(&it.story.0)
    );
    line.details.push(match (it.waits, it.until) {
        (true, None) => format!("the run waits, with the work kept: {answer}"),
        (true, Some(until)) => {
            format!("the run waits until {until:.0}, with the work kept: {answer}")
        }
        (false, _) => format!("the run does not wait: {answer}"),
    });
    line
}

/// The session goes on; what the agent gets to read is below.
fn repair_started(it: &RepairStarted) -> Line {
    let (repair, why) = (words::repair(it), words::failure(it.kind));
    let reason = reason_beside(it.kind, &it.reason).unwrap_or_default();
    let details = reason::shortened(it.kind, reason, REASON_LINES);
    let text = format!(
        "{repair} of attempt {}, in the same session: {why}",
        it.attempt
    );
    step(WARN, text).with(details)
}

fn story_completed(it: &StoryCompleted) -> Line {
    let short: String = clean(&it.commit).chars().take(10).collect();
    let mut parts = vec![
        count(it.attempts, "attempt"),
        words::elapsed(it.duration_ms),
    ];
    if let Some(repairs) = words::repairs(it.repairs) {
        parts.insert(1, repairs);
    }
    parts.extend(words::usage(&it.usage));
    parts.push(format!("{} changed", count(it.changed_files, "file")));
    let parts = parts.join(" · ");
    step(
        GOOD,
        format!("story {} done: commit {short} · {parts}", it.story),
    )
}

fn gate_retried(it: &GateRetried) -> Line {
    let (gate, took) = (clean(&it.gate), words::elapsed(it.duration_ms));
    let how = match &it.result {
        GateResult::Passed => String::new(),
        GateResult::Failed { how, .. } => format!(": {}", clean(how)),
    };
    let number = words::ordinal(it.try_number);
    let text = format!("gate `{gate}` failed at the {number} try in {took}{how}; it runs again");
    step(WARN, text)
}

fn gate_finished(it: &GateFinished) -> Line {
    let (gate, took) = (clean(&it.gate), words::elapsed(it.duration_ms));
    let place = if it.whole { " on the whole change" } else { "" };
    let at = match it.tries {
        1 => String::new(),
        tries => format!(" at the {} try", words::ordinal(tries)),
    };
    let how = match &it.result {
        GateResult::Passed if it.baseline => {
            return talk(format!(
                "gate `{gate}` passed on the checkpoint{at} in {took}"
            ));
        }
        GateResult::Passed => {
            return step(GOOD, format!("gate `{gate}` passed{place}{at} in {took}"));
        }
        GateResult::Failed { how, .. } => clean(how),
    };
    if it.result.cannot_run() {
        return alert(BAD, format!("gate `{gate}` cannot run: {how}"));
    }
    if it.baseline {
        let text = format!("gate `{gate}` is red before the story begins ({how})");
        // Where its output names the tests, new ones count.
        let meaning = match &it.tests {
            Some(_) => "only new failures fail an attempt",
            None => "it will not fail an attempt",
        };
        return alert(WARN, format!("{text}; {meaning}"));
    }
    step(
        BAD,
        format!("gate `{gate}` failed{place}{at} in {took}: {how}"),
    )
}

fn review_started(it: &ReviewStarted) -> Line {
    let name = clean(&it.review);
    let place = review_place(it.attempt);
    let agent = clean(&it.agent.to_string());
    match &it.again {
        None => talk(format!("review `{name}`{place} begins: {agent}")),
        Some(_) => talk(format!("review `{name}`{place} begins once more: {agent}")),
    }
}

/// Where a review of the whole change takes place.
const fn review_place(attempt: Option<AttemptNumber>) -> &'static str {
    match attempt {
        Some(_) => "",
        None => " of the whole change",
    }
}

/// The line of what a reviewer says or does: that of an agent, under its own name.
fn reviewer_line(agent: &AgentEvent) -> Option<Line> {
    let line = agent_line(agent)?;
    let text = match line.text.strip_prefix("agent") {
        Some(rest) => format!("reviewer{rest}"),
        None => line.text,
    };
    Some(Line { text, ..line })
}

fn review_finished(it: &ReviewFinished) -> Line {
    let (name, place) = (clean(&it.review), review_place(it.attempt));
    let mut parts = vec![words::elapsed(it.duration_ms)];
    parts.extend(words::usage(&it.usage));
    let parts = parts.join(" · ");
    let style = match &it.result {
        ReviewResult::NoVerdict { reason } => {
            let next = if it.retrying {
                "; the reviewer is asked once more"
            } else {
                ""
            };
            let why = clean(reason);
            let text = format!("review `{name}`{place}: no verdict: {why}{next} · {parts}");
            return step(WARN, text);
        }
        result if result.has(Verdict::NotMet) => BAD,
        result if result.has(Verdict::CannotTell) => WARN,
        ReviewResult::Judged { .. } => GOOD,
    };
    let text = format!("review `{name}`{place}: {} · {parts}", it.result.words());
    step(style, text)
}

fn attempt_failed(it: &AttemptFailed) -> Line {
    let mut parts: Vec<String> = words::repairs(it.repairs).into_iter().collect();
    parts.push(words::elapsed(it.duration_ms));
    parts.extend(words::usage(&it.usage));
    let verb = match it.kind {
        FailureKind::Stopped | FailureKind::Interrupted | FailureKind::Skipped => "ended",
        _ => "failed",
    };
    let (why, parts) = (words::failure(it.kind), parts.join(" · "));
    let attempt = format!("attempt {} of story {}", it.attempt, it.story);
    let reason = reason_beside(it.kind, &it.reason).unwrap_or_default();
    let mut details = reason::shortened(it.kind, reason, REASON_LINES);
    let next = if it.retrying {
        "trying again"
    } else {
        "no further attempt"
    };
    let (parked, files) = (clean(&it.parked), count(it.changed_files, "file"));
    details.push(format!(
        "parked as {parked} ({files} changed); tree restored; {next}"
    ));
    alert(BAD, format!("{attempt} {verb}: {why} · {parts}")).with(details)
}

pub(super) fn agent_line(agent: &AgentEvent) -> Option<Line> {
    let line = match agent {
        AgentEvent::Session { id, model } => {
            let model = model.as_deref().map(|it| format!(" with {}", clean(it)));
            let model = model.unwrap_or_default();
            talk(format!("agent session {}{model}", clean(id)))
        }
        // Some agents speak in lines.
        AgentEvent::Text { text } if text.trim().is_empty() => return None,
        AgentEvent::Text { text } => headed("agent: ", text, Weight::Talk, Style::new()),
        AgentEvent::Thinking { text } => headed("agent thinks: ", text, Weight::Talk, DIM),
        AgentEvent::ToolCall { tool, summary } => {
            let text = format!("{}: {}", clean(tool), clean(summary));
            Line::new(Weight::Tool, DIM, text)
        }
        AgentEvent::ToolResult {
            bytes,
            is_error,
            tail,
        } => {
            let verb = if *is_error { "failed" } else { "answered" };
            let tail = tail.iter().map(|line| clean(line)).collect();
            talk(format!("tool {verb}: {}", words::bytes(*bytes))).with(tail)
        }
        AgentEvent::Retrying { message } => {
            headed("agent tries again: ", message, Weight::Step, WARN)
        }
        AgentEvent::Limit { message, resets_at } => {
            let mut line = headed("agent hit a limit: ", message, Weight::Step, WARN);
            line.details
                .extend(resets_at.map(|at| format!("it ends at {at:.0}")));
            line
        }
        AgentEvent::Auth { message, .. } => {
            headed("agent was refused: ", message, Weight::Step, BAD)
        }
        AgentEvent::Overflow { message } => {
            headed("agent ran out of context: ", message, Weight::Step, BAD)
        }
        AgentEvent::Error { message } => headed("agent error: ", message, Weight::Step, BAD),
        AgentEvent::Unknown { line } => headed("agent line: ", line, Weight::Talk, DIM),
        AgentEvent::Usage { .. } | AgentEvent::Final { .. } => return None,
    };
    Some(line)
}

/// A fixed word, then a text of the agent or the user.
fn headed(head: &str, body: &str, weight: Weight, style: Style) -> Line {
    let mut lines = clean_lines(body).into_iter();
    let text = format!("{head}{}", lines.next().unwrap_or_default());
    Line::new(weight, style, text).with(lines.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_tampering_is_a_warning_or_a_failure_and_names_its_check() {
        let message = "a test is gone:\u{1b}[31m `a`";
        let line = |failed| {
            let it = tamper_found(TamperCheck::Tests, message, failed);
            (it.weight, it.style, it.text)
        };
        let text = |head: &str| format!("{head} a test is gone: `a`");
        assert_eq!(line(false), (Weight::Alert, WARN, text("warning: tests:")));
        assert_eq!(line(true), (Weight::Alert, BAD, text("tampered, tests:")));
    }

    #[test]
    fn an_empty_agent_text_has_no_line() {
        let says = |text: &str| agent_line(&AgentEvent::Text { text: text.into() }).is_some();
        assert_eq!((says("hello"), says("")), (true, false));
    }
}
