//! One story of a `prd.json`: its name, its criteria, its rank, and whether it is done.

use memchr::memchr_iter;
use serde_json::Value;
use serde_json::value::RawValue;

use super::fields::{self, plain};
use super::section::section;
use super::{PrdProblem, spans};
use crate::change::{Story, StoryState};
use crate::label::{Label, is_safe_name};
use crate::tasks::{Task, TaskKind, TaskState};
use ralph_base::ids::StoryId;

/// The longest id that is used unchanged.
const LONGEST_ID: usize = 40;

/// One entry of a list of stories.
pub(super) struct Entry<'a> {
    pub(super) raw: &'a RawValue,
    /// The phase it is in, from 0, and what describes it.
    pub(super) phase: Option<(u32, &'a RawValue)>,
}

/// One story.
#[derive(Debug)]
pub(super) struct Item<'a> {
    /// Its object.
    pub(super) raw: &'a RawValue,
    /// What the file calls it, where that can be a name, and what it is about, in one line.
    pub(super) label: Label,
    /// What must hold when it is done.
    criteria: Vec<String>,
    /// All of it, for an agent.
    section: String,
    /// Its place in the order: the lowest is first.
    pub(super) rank: f64,
    /// Whether its flag says that it is done.
    pub(super) done: bool,
}

impl<'a> Item<'a> {
    /// Reads one entry of the list.
    pub(super) fn read(entry: &Entry<'a>, flag: &str) -> Result<Self, PrdProblem> {
        let value = spans::value(entry.raw);
        if !value.is_object() {
            let reason = "an entry of its list of stories is not an object";
            return Err(PrdProblem::shape(reason));
        }
        let id = value.get("id").and_then(plain);
        let Some(title) = fields::title(&value).or_else(|| id.clone()) else {
            let reason = "a story has neither an `id` nor a `title`";
            return Err(PrdProblem::shape(reason));
        };
        let mut criteria = fields::criteria(&value);
        if criteria.is_empty() {
            criteria.push(title.clone());
        }
        let phase = entry.phase.map(|(_, phase)| spans::value(phase));
        Ok(Self {
            done: is_done(&value, flag, &title)?,
            criteria,
            section: section(&value, phase.as_ref(), flag),
            rank: rank(&value, entry.phase.map(|(number, _)| number)),
            label: Label {
                number: id.filter(|id| id.len() <= LONGEST_ID && is_safe_name(id)),
                title,
            },
            raw: entry.raw,
        })
    }

    /// The story, read from one of several files.
    pub(super) fn story(&self, id: StoryId, file: usize, bytes: &[u8]) -> Story {
        let mark = spans::span(self.raw, bytes);
        let line = memchr_iter(b'\n', &bytes[..mark.start]).count() + 1;
        let state = if self.done {
            TaskState::Done
        } else {
            TaskState::Open
        };
        // All criteria of a story are as far as its flag says.
        let task = |text: &String| Task {
            line,
            mark: mark.clone(),
            state,
            kind: TaskKind::Work,
            raw: text.clone(),
            id: None,
            text: text.clone(),
            indent: 0,
            parent: None,
        };
        let tasks: Vec<Task> = self.criteria.iter().map(task).collect();
        Story {
            id,
            title: self.label.title.clone(),
            state: StoryState::of(&tasks),
            tasks,
            section: self.section.clone(),
            file,
            line,
        }
    }
}

fn is_done(value: &Value, flag: &str, title: &str) -> Result<bool, PrdProblem> {
    match value.get(flag) {
        Some(Value::Bool(done)) => Ok(*done),
        Some(Value::Null) => Ok(false),
        Some(_) => Err(PrdProblem::shape(format!(
            "`{flag}` of the story `{title}` is neither `true` nor `false`"
        ))),
        None => Ok(fields::paragraph(value, "status").is_some_and(|status| is_done_word(&status))),
    }
}

fn is_done_word(status: &str) -> bool {
    let words = ["done", "complete", "completed", "closed", "passed"];
    words.iter().any(|word| status.eq_ignore_ascii_case(word))
}

/// The place of a story in the order. Phases come one after the other; priorities inside them are ignored.
fn rank(value: &Value, phase: Option<u32>) -> f64 {
    if let Some(phase) = phase {
        return f64::from(phase);
    }
    match value.get("priority") {
        Some(Value::Number(number)) => number.as_f64().unwrap_or(f64::INFINITY),
        Some(Value::String(word)) => word_rank(word.trim()),
        _ => f64::INFINITY,
    }
}

fn word_rank(word: &str) -> f64 {
    let words = [
        ("critical", 0.0),
        ("high", 1.0),
        ("medium", 2.0),
        ("low", 3.0),
    ];
    let known = words
        .iter()
        .find(|(known, _)| word.eq_ignore_ascii_case(known));
    let number = word.trim_start_matches(['P', 'p']).parse();
    known.map_or_else(|| number.unwrap_or(f64::INFINITY), |(_, rank)| *rank)
}
