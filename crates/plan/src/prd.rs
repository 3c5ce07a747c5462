//! `prd.json`: stories with a flag each, and the one byte range that says whether a story is done.
//!
//! Several tools write a file of this name. What is read is a list of objects, found in one of the
//! known places, each with a boolean; a list whose done flag cannot be told is refused, for a wrong
//! guess would do finished work again, or call unfinished work done.

mod item;
mod section;

use std::ops::Range;

use super::change::{Story, StoryState, TaskFile};
use super::json_spans::{Node, scan};
use super::label::Label;
use super::story_ids::{Candidate, assign};
use super::tasks::{Task, TaskKind, TaskState};
use item::Item;
use ralph_base::ids::StoryId;

/// What is understood, for people whose file is not.
pub(crate) const SHAPES: &str = "understood are lists of stories with `passes`, `complete`, `completed` or `done` as \
     `true` or `false`: in `userStories`, `stories`, `items` or `phases[].tasks`, below `prd`, or as the whole file";

/// What may say that a story is done, in the order it is looked for.
const FLAGS: [&str; 4] = ["passes", "complete", "completed", "done"];

/// Where a list of stories may be.
const LISTS: [&str; 3] = ["userStories", "stories", "items"];

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PrdProblem {
    /// It is not JSON.
    #[error("it is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// It is JSON, but not a list of stories we know.
    #[error("{0}")]
    Shape(String),
}

/// A file, read.
#[derive(Debug)]
pub(crate) struct Prd {
    /// What the whole is about, where the file says so.
    pub about: Option<String>,
    /// The stories, in the order they are to be done.
    items: Vec<Item>,
    /// What the flag of a story is called here.
    flag: &'static str,
}

/// Reads a file.
pub(crate) fn read(bytes: &[u8]) -> Result<Prd, PrdProblem> {
    let root = scan(bytes)?;
    let (home, list) = list(&root)?;
    let flag = flag_of(&list)?;
    let mut items = Vec::new();
    for entry in &list.entries {
        items.push(Item::read(entry, bytes, flag)?);
    }
    // The sort is stable: what has the same priority stays in the order of the file.
    items.sort_by(|a, b| a.rank.total_cmp(&b.rank));
    Ok(Prd {
        about: section::about(home, bytes),
        items,
        flag,
    })
}

impl Prd {
    /// The stories of the file, which is one of several.
    pub(crate) fn stories(&self, index: usize, file: &TaskFile) -> Vec<Story> {
        let lines = Lines::of(&file.bytes);
        let ids = self.ids();
        let stories = self.items.iter().zip(ids);
        stories
            .map(|(item, id)| item.story(id, index, &lines))
            .collect()
    }

    fn ids(&self) -> Vec<StoryId> {
        let labels: Vec<Label> = self.items.iter().map(Item::label).collect();
        let candidates = labels.iter().map(|label| Candidate { label, file: "" });
        assign(&candidates.collect::<Vec<_>>())
    }
}

/// Says in a file that a story is done, or that it is not; every other byte stays. A file or a
/// story that is not there any more is left alone.
pub(crate) fn set_flag(bytes: &[u8], story: &StoryId, done: bool) -> Vec<u8> {
    let Ok(prd) = read(bytes) else {
        return bytes.to_vec();
    };
    let place = prd.ids().iter().position(|id| id == story);
    let Some(item) = place.and_then(|place| prd.items.get(place)) else {
        return bytes.to_vec();
    };
    let (span, text) = match (item.node.get(prd.flag), done) {
        (Some(value), _) => (value.span.clone(), done.to_string()),
        // Without a flag it is open already.
        (None, false) => return bytes.to_vec(),
        (None, true) => member_behind(bytes, &item.node, prd.flag),
    };
    let mut edited = bytes.to_vec();
    edited.splice(span, text.into_bytes());
    edited
}

/// Where a missing flag goes, and its text: written as its neighbour is.
fn member_behind(bytes: &[u8], object: &Node, flag: &str) -> (Range<usize>, String) {
    let Some(last) = object.members().last() else {
        let at = object.span.start + 1;
        return (at..at, format!("\"{flag}\": true"));
    };
    let head = &bytes[..last.key_span.start];
    let space = &head[head.trim_ascii_end().len()..];
    let colon = &bytes[last.key_span.end..last.value.span.start];
    let (space, colon) = (
        String::from_utf8_lossy(space),
        String::from_utf8_lossy(colon),
    );
    let at = last.value.span.end;
    (at..at, format!(",{space}\"{flag}\"{colon}true"))
}

/// The entries of a file, and which list they are from.
struct List<'a> {
    name: &'static str,
    entries: Vec<Entry<'a>>,
}

impl<'a> List<'a> {
    fn plain(name: &'static str, items: &'a [Node]) -> Self {
        let entries = items.iter().map(|node| Entry { node, phase: None });
        Self {
            name,
            entries: entries.collect(),
        }
    }
}

/// One entry of a list.
struct Entry<'a> {
    node: &'a Node,
    /// The phase it is in, from 0, and what describes it.
    phase: Option<(u32, &'a Node)>,
}

/// The list of stories, and the object that has it.
fn list(root: &Node) -> Result<(&Node, List<'_>), PrdProblem> {
    let home = match root.get("prd") {
        Some(inner) if !inner.members().is_empty() => inner,
        _ => root,
    };
    if let Some(items) = home.items() {
        return Ok((home, List::plain("the whole file", items)));
    }
    for name in LISTS {
        if let Some(items) = home.get(name).and_then(Node::items) {
            return Ok((home, List::plain(name, items)));
        }
    }
    let Some(phases) = home.get("phases").and_then(Node::items) else {
        return Err(PrdProblem::Shape(no_list(home)));
    };
    let mut entries = Vec::new();
    for (number, phase) in (0..).zip(phases) {
        let tasks = phase.get("tasks").and_then(Node::items).unwrap_or_default();
        let phase = Some((number, phase));
        entries.extend(tasks.iter().map(|node| Entry { node, phase }));
    }
    let name = "phases[].tasks";
    Ok((home, List { name, entries }))
}

fn no_list(home: &Node) -> String {
    let keys: Vec<String> = home
        .members()
        .iter()
        .take(8)
        .map(|member| format!("`{}`", member.key))
        .collect();
    if keys.is_empty() {
        return "it has no list of stories".to_owned();
    }
    format!("it has no list of stories, but {}", keys.join(", "))
}

/// What the flag of this list is called. The two lists that tools agree on may do without: there a
/// story without a flag is open.
fn flag_of(list: &List<'_>) -> Result<&'static str, PrdProblem> {
    let has = |flag: &&str| list.entries.iter().any(|it| it.node.get(flag).is_some());
    if let Some(flag) = FLAGS.into_iter().find(|flag| has(flag)) {
        return Ok(flag);
    }
    if list.entries.is_empty() || matches!(list.name, "userStories" | "stories") {
        return Ok(FLAGS[0]);
    }
    Err(PrdProblem::Shape(format!(
        "no entry of {} says whether it is done",
        section::quoted_list(list.name)
    )))
}

/// Where the lines of a file begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(bytes: &[u8]) -> Self {
        let feeds = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        Self(feeds.map(|(at, _)| at).collect())
    }

    /// The line of a byte, from 1.
    fn at(&self, byte: usize) -> usize {
        self.0.partition_point(|feed| *feed < byte) + 1
    }
}

impl Item {
    fn label(&self) -> Label {
        Label {
            number: self.id.clone(),
            title: self.title.clone(),
        }
    }

    fn story(&self, id: StoryId, file: usize, lines: &Lines) -> Story {
        let tasks: Vec<Task> = self
            .criteria
            .iter()
            .map(|(text, at)| self.task(text, lines.at(*at)))
            .collect();
        Story {
            id,
            title: self.title.clone(),
            state: StoryState::of(&tasks),
            tasks,
            section: self.section.clone(),
            file,
        }
    }

    /// A criterion as a task: all of a story's are as far as its flag says.
    fn task(&self, text: &str, line: usize) -> Task {
        Task {
            line,
            mark: self.node.span.clone(),
            state: if self.done {
                TaskState::Done
            } else {
                TaskState::Open
            },
            kind: TaskKind::Work,
            raw: text.to_owned(),
            id: None,
            text: text.to_owned(),
            indent: 0,
            parent: None,
        }
    }
}

#[cfg(test)]
mod tests;
