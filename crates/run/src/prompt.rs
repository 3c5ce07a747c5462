//! The prompt: what an agent has to know about one story.
//!
//! It never has a promise tag alone on a line, so that an agent that echoes it promises nothing.

pub(crate) mod continuing;
mod marking;
pub(crate) mod review;

use std::fmt::Write as _;

use crate::settings::GateSettings;
use crate::tamper::TamperPolicy;
use crate::words::quoted;
use ralph_base::ids::{AttemptId, AttemptNumber};
use ralph_plan::change::{Change, Scenario, Story};

/// The most scenario text that goes into a prompt, in bytes; beyond it only names do.
const SCENARIO_BUDGET: usize = 40 * 1024;

/// Everything a prompt is made of.
#[derive(Debug)]
pub(crate) struct PromptInput<'a> {
    /// The change.
    pub change: &'a Change,
    /// The story to be done.
    pub story: &'a Story,
    /// Which attempt at it.
    pub attempt: AttemptNumber,
    pub gates: &'a [GateSettings],
    /// What earlier attempts wrote down.
    pub learnings: Option<&'a str>,
    /// Where to write more down.
    pub learnings_path: &'a str,
    pub previous: Option<&'a Previous>,
    /// The command that shows the diff of the parked attempt.
    pub show_diff: Option<&'a str>,
    /// What the user wants this attempt to know, oldest first.
    pub notes: &'a [String],
    /// Whether an unticked box fails the attempt.
    pub strict_tasks: bool,
    /// What it should leave alone.
    pub tamper: &'a TamperPolicy,
}

/// How the attempt before this one failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Previous {
    /// Why it failed, where that helps.
    pub reason: Option<String>,
    /// The parked attempt; none where its work is in the tree, and only a check of the whole change
    /// failed.
    pub parked: Option<AttemptId>,
}

/// The message to an agent whose session continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// A check of its work failed, for this reason.
    Repair(String),
    /// It ended without a promise.
    NoPromise,
    /// It crashed, or was stopped because it was silent, for this reason.
    Interrupted(String),
    /// The limit or the outage that interrupted it is over.
    LimitOver,
    /// The user answered what it asked; the answer is among the notes.
    Answered,
}

/// Writes the prompt of one attempt at one story.
pub(crate) fn prompt(input: &PromptInput<'_>) -> String {
    let parts = [
        Some(opening(input)),
        previous(input),
        notes(input.notes),
        Some(story(input.story)),
        documents(input.change),
        context(input.change),
        guidance(input.change),
        scenarios(input.change),
        Some(rules(input)),
        Some(gates(input.gates)),
        Some(learnings(input)),
        Some(promise()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let text = parts.join("\n\n");
    format!("{}\n", defuse(&text))
}

fn opening(input: &PromptInput<'_>) -> String {
    let (change, story) = (&input.change.name, input.story);
    format!(
        "You are implementing one story of the change `{change}`: story {} ({}). This is attempt {} at it.\n\n\
         Do this story and only this story. Other stories of the change are done before or after it by \
         separate runs; leave their code, their tasks and their boxes alone. Decide for \
         yourself what the plan leaves open, unless only the user can decide it.",
        story.id, story.title, input.attempt
    )
}

fn previous(input: &PromptInput<'_>) -> Option<String> {
    let failure = input.previous?;
    let reason = failure.reason.as_deref()?;
    let reason = fenced("text", reason);
    let text = match &failure.parked {
        Some(parked) => format!(
            "The last attempt at this story failed, and everything it changed was undone. The reason:\n\n\
             {reason}\n\n\
             What it did is kept as attempt {parked}{}. Learn from it, and do not make the same mistake again.",
            match input.show_diff {
                Some(command) => format!("; {} shows its diff", code(command)),
                None => String::new(),
            }
        ),
        None => format!(
            "Every story of the change was done and saved, this one last; their work is in the tree. Then \
             the change as a whole was checked, and the check failed:\n\n\
             {reason}\n\n\
             This story is open again so that you can fix it. Find the cause wherever in the change it is."
        ),
    };
    Some(format!("## Previous Attempt Failed\n\n{text}"))
}

fn notes(notes: &[String]) -> Option<String> {
    if notes.is_empty() {
        return None;
    }
    let notes: Vec<String> = notes.iter().map(|note| fenced("text", note)).collect();
    Some(format!(
        "## Note From The User\n\n\
         The user wrote this for this story. The user also wrote the plan: \
         where the note and the plan differ, follow the note.\n\n{}",
        notes.join("\n\n")
    ))
}

fn story(story: &Story) -> String {
    format!(
        "## Story {}: {}\n\nThis is the whole section of the plan, as written:\n\n{}",
        story.id,
        story.title,
        fenced("markdown", &story.section)
    )
}

fn documents(change: &Change) -> Option<String> {
    if change.documents.is_empty() {
        return None;
    }
    let mut text = String::from(
        "## Read First\n\nRead these files of the change before you begin; they say what is wanted and why:\n",
    );
    for document in &change.documents {
        for path in &document.paths {
            let _ = write!(text, "\n- {}: `{}`", document.artifact, path.display());
        }
    }
    Some(text)
}

fn context(change: &Change) -> Option<String> {
    let context = change.context.as_deref()?;
    Some(format!(
        "## Project Context\n\nRequired input: it holds for everything you do here. Do not copy it into files.\n\n{}",
        fenced("markdown", context)
    ))
}

fn guidance(change: &Change) -> Option<String> {
    if change.guidance.is_empty() {
        return None;
    }
    let lines: Vec<String> = change.guidance.iter().map(|it| format!("- {it}")).collect();
    Some(format!(
        "## Guidance\n\nAdvice of the project for implementing a change. It proves nothing about completion.\n\n{}",
        lines.join("\n")
    ))
}

fn scenarios(change: &Change) -> Option<String> {
    if change.scenarios.is_empty() {
        return None;
    }
    let whole: usize = change.scenarios.iter().map(|it| it.text.len()).sum();
    let in_full = whole <= SCENARIO_BUDGET;
    let mut text = String::from(
        "## Scenarios\n\nWhat the change as a whole must fulfil. Those that concern this story must hold when you are done.",
    );
    if !in_full {
        text.push_str(" There are too many to print; their text is in the specs listed above.");
    }
    let mut last: Option<&Scenario> = None;
    for scenario in &change.scenarios {
        let same = last.is_some_and(|last| {
            last.capability == scenario.capability && last.requirement == scenario.requirement
        });
        if !same {
            let _ = write!(
                text,
                "\n\n### {}: {}{}",
                scenario.capability,
                scenario.requirement,
                if in_full { "" } else { "\n" }
            );
        }
        if in_full {
            let _ = write!(text, "\n\nScenario: {}\n{}", scenario.name, scenario.text);
        } else {
            let _ = write!(text, "\n- {}", scenario.name);
        }
        last = Some(scenario);
    }
    Some(text.trim_end().to_owned())
}

fn rules(input: &PromptInput<'_>) -> String {
    let leave_alone = input.tamper.rule().map(|rule| format!("\n- {rule}"));
    let leave_alone = leave_alone.unwrap_or_default();
    format!(
        "## How To Work\n\n\
         - {}\n\
         - Never silently narrow, defer or simplify away what is specified. If a task cannot be done as \
         written, or the design turns out wrong, stop and report failure with the reason.\n\
         - Verify each task as it says; if it does not say how, add or run a test that would notice a mistake.\n\
         {}\n\
         - You need not commit: the work is committed for you when the story is accepted. Do not switch or \
         create branches, rewrite history, stash, or push.\n\
         - Leave no process running and no scratch files behind.{leave_alone}",
        marking::what_is_asked(input.change.source),
        marking::how_to_mark(input),
    )
}

fn gates(gates: &[GateSettings]) -> String {
    if gates.is_empty() {
        return "## Checks\n\nNo checks are configured. Run the project's own tests and linters before you report success.".to_owned();
    }
    let lines: Vec<String> = gates
        .iter()
        .map(|gate| {
            let paths = gate.paths.as_ref();
            let only = paths.map(|it| format!(" (only if you change {})", quoted(it.texts())));
            format!(
                "- {}: `{}`{}",
                gate.name,
                gate.run,
                only.unwrap_or_default()
            )
        })
        .collect();
    format!(
        "## Checks\n\nThese commands are run after you, in the root of the repository, and each must exit with 0. \
         Run them yourself before you report success.\n\n{}",
        lines.join("\n")
    )
}

fn learnings(input: &PromptInput<'_>) -> String {
    let so_far = match input
        .learnings
        .map(str::trim)
        .filter(|text| !text.is_empty())
    {
        Some(text) => format!(
            "Notes from earlier work on this change:\n\n{}\n\n",
            fenced("markdown", text)
        ),
        None => String::new(),
    };
    format!(
        "## Learnings\n\n{so_far}What a later run should know (how to build and test, traps, decisions) may be added \
         at the end of `{}`: a line or two, no diary. That file is kept outside the repository and survives a failed attempt.",
        input.learnings_path
    )
}

fn promise() -> String {
    "## How To End\n\n\
     Your final message must end with exactly one of three tags, alone on its last line, without quotes or code marks:\n\n\
     - Write `<promise>COMPLETE</promise>` only when every open task of this story is really done and all checks pass.\n\
     - Write `<promise>BLOCKED: question</promise>` only when the story cannot be done without a decision that \
     only the user can make: one question on one line, with the choices you see. Do not ask what you can find out or decide yourself.\n\
     - Otherwise write `<promise>FAILED: reason</promise>`, with a reason that helps the next attempt: what is \
     in the way, what you tried, and what you would do next.\n\n\
     One of the three must come. An honest failure is worth more than a false success: it is undone and tried again \
     with your reason, while a false success is built upon."
        .to_owned()
}

/// A command as inline code, whatever backticks are in it.
fn code(command: &str) -> String {
    match longest_backticks(command) {
        0 => format!("`{command}`"),
        longest => {
            let marks = "`".repeat(longest + 1);
            format!("{marks} {command} {marks}")
        }
    }
}

/// Fences text with more backticks than it has itself, so that it stays one block.
fn fenced(kind: &str, text: &str) -> String {
    let fence = "`".repeat(longest_backticks(text).max(2) + 1);
    let text = text.trim_end().trim_start_matches(['\r', '\n']);
    format!("{fence}{kind}\n{text}\n{fence}")
}

fn longest_backticks(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or(0)
}

/// Takes the force out of promise tags that came in with the plan, a reason or a note.
fn defuse(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| {
            let mark = if starts_with_tag(line) {
                "(quoted) "
            } else {
                ""
            };
            format!("{mark}{line}")
        })
        .collect();
    lines.join("\n")
}

/// Whether a line begins with a promise tag, whatever marks stand before it.
fn starts_with_tag(line: &str) -> bool {
    let bare = line.trim_start_matches(|c: char| c != '<' && !c.is_alphanumeric());
    let word = bare.strip_prefix('<').map(str::trim_start);
    word.and_then(|word| word.get(..7))
        .is_some_and(|word| word.eq_ignore_ascii_case("promise"))
}

#[cfg(test)]
mod tests;
