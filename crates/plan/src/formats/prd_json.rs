//! `prd.json`: stories with a flag each, and the one byte range that says whether a story is done.
//!
//! Several tools write a file of this name. What is read is a list of objects, found in one of the
//! known places, each with a boolean; a list whose done flag is not clear is refused, for a wrong
//! guess would do finished work again, or call unfinished work done.

mod fields;
mod flags;
mod item;
mod section;
mod spans;

use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

use super::single_file;
use crate::change::{Change, Dependencies, SourceKind, Story, TaskFile, Warning};
use crate::dependencies::settle;
use crate::error::SourceError;
use crate::files;
use crate::story_ids::{Candidate, assign};
use fields::DependsOn;
use item::{Entry, Item};
use ralph_base::ids::StoryId;

pub(super) use flags::{check, open, set_flags};

/// Where tools keep their stories.
const NAMES: [&str; 5] = [
    "prd.json",
    "scripts/ralph/prd.json",
    ".ralph/prd.json",
    "tasks/prd.json",
    "ralph/prd.json",
];

/// What may say that a story is done, in the order of preference.
const FLAGS: [&str; 4] = ["passes", "complete", "completed", "done"];

/// Where a list of stories may be.
const LISTS: [&str; 3] = ["userStories", "stories", "items"];

const HINT: &str = "understood are lists of stories with `passes`, `complete`, `completed` or `done` as \
     `true` or `false`: in `userStories`, `stories`, `items` or `phases[].tasks`, below `prd`, or as the whole file";

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
enum PrdProblem {
    #[error("it is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// It is JSON, but not a list of stories we know.
    #[error("{0}")]
    Shape(String),
}

impl PrdProblem {
    fn shape(reason: impl Into<String>) -> Self {
        Self::Shape(reason.into())
    }
}

/// A file, read.
#[derive(Debug)]
struct Prd<'a> {
    /// What the whole is about, where the file says so.
    about: Option<String>,
    /// The stories, in the order they are to be done.
    items: Vec<Item<'a>>,
    /// What the flag of a story is called here.
    flag: &'static str,
    /// The stories are in phases, which come one after the other.
    has_phases: bool,
}

/// The files of a project.
pub(super) fn find(project: &Path) -> Vec<PathBuf> {
    files::named_in(project, &NAMES)
}

/// Reads a file as a change.
pub(super) fn read(path: &Path) -> Result<Change, SourceError> {
    let mut change = single_file::read(path, SourceKind::PrdJson)?;
    for file in &change.task_files {
        let prd = Prd::read(&file.bytes).map_err(|problem| match problem {
            PrdProblem::NotJson(error) => SourceError::malformed(&file.path, error),
            PrdProblem::Shape(reason) => SourceError::unusable_but(
                format!("could not understand `{}`: {reason}", file.path.display()),
                HINT,
            ),
        })?;
        change.stories = prd.stories(0, &file.bytes);
        change.warnings.extend(settle(&mut change.stories));
        change.context = prd.about;
    }
    Ok(change)
}

/// The stories of all files; none of one that cannot be read.
pub(super) fn read_stories(files: &[TaskFile]) -> (Vec<Story>, Vec<Warning>) {
    let stories = files.iter().enumerate().flat_map(|(index, file)| {
        let prd = Prd::read(&file.bytes);
        prd.map_or_else(|_| Vec::new(), |prd| prd.stories(index, &file.bytes))
    });
    let mut stories: Vec<Story> = stories.collect();
    let warnings = settle(&mut stories);
    (stories, warnings)
}

impl<'a> Prd<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, PrdProblem> {
        let root = spans::parse(bytes)?;
        let (home, list) = list(root)?;
        let flag = flag_of(&list)?;
        let has_phases = list.entries.iter().any(|entry| entry.phase.is_some());
        let items = list.entries.iter().map(|entry| Item::read(entry, flag));
        let mut items = items.collect::<Result<Vec<_>, _>>()?;
        // The sort is stable: what has the same priority stays in the order of the file.
        items.sort_by(|a, b| a.rank.total_cmp(&b.rank));
        Ok(Self {
            about: section::about(&spans::value(home)),
            items,
            flag,
            has_phases,
        })
    }

    /// The stories of the file, which is one of several.
    fn stories(&self, index: usize, bytes: &[u8]) -> Vec<Story> {
        let ids = self.ids();
        let stories = self.items.iter().zip(&ids);
        stories
            .map(|(item, id)| Story {
                depends_on: self.dependencies(item, &ids),
                ..item.story(id.clone(), index, bytes)
            })
            .collect()
    }

    /// What a story of the list depends on. A story without the field depends on no other where
    /// others have it, for that is how the tools that write it read it; phases are in order, and
    /// there nothing is said of it.
    fn dependencies(&self, item: &Item<'_>, ids: &[StoryId]) -> Dependencies {
        let has_field = |it: &Item<'_>| it.depends_on != DependsOn::Nothing;
        match &item.depends_on {
            DependsOn::Names(names) => names
                .iter()
                .flat_map(|name| self.called(name, ids))
                .collect(),
            DependsOn::Nothing if !self.has_phases && self.items.iter().any(has_field) => {
                Dependencies::NONE
            }
            DependsOn::Nothing | DependsOn::Unclear => Dependencies::Unknown,
        }
    }

    /// The stories of this name; the name itself where there is none, to be reported.
    fn called(&self, name: &str, ids: &[StoryId]) -> Vec<StoryId> {
        let all = self.items.iter().zip(ids);
        let found = all.filter(|(item, _)| item.is_called(name));
        let found: Vec<StoryId> = found.map(|(_, id)| id.clone()).collect();
        if found.is_empty() {
            return vec![StoryId(name.to_owned())];
        }
        found
    }

    fn ids(&self) -> Vec<StoryId> {
        let labels = self.items.iter().map(|item| &item.label);
        let candidates = labels.map(|label| Candidate { label, file: "" });
        assign(&candidates.collect::<Vec<_>>())
    }
}

/// The entries of a file, and which list they are from.
struct List<'a> {
    name: &'static str,
    entries: Vec<Entry<'a>>,
}

impl<'a> List<'a> {
    fn plain(name: &'static str, items: Vec<&'a RawValue>) -> Self {
        let entries = items.into_iter().map(|raw| Entry { raw, phase: None });
        Self {
            name,
            entries: entries.collect(),
        }
    }
}

/// The list of stories, and the object that has it.
fn list(root: &RawValue) -> Result<(&RawValue, List<'_>), PrdProblem> {
    let home = match spans::member(root, "prd") {
        Some(inner) if !spans::members(inner).is_empty() => inner,
        _ => root,
    };
    if let Some(items) = spans::items(home) {
        return Ok((home, List::plain("the whole file", items)));
    }
    let list = |name| spans::member(home, name).and_then(spans::items);
    for name in LISTS {
        if let Some(items) = list(name) {
            return Ok((home, List::plain(name, items)));
        }
    }
    let Some(phases) = list("phases") else {
        return Err(PrdProblem::shape(no_list(home)));
    };
    let mut entries = Vec::new();
    for (number, phase) in (0..).zip(phases) {
        let tasks = spans::member(phase, "tasks").and_then(spans::items);
        let phase = Some((number, phase));
        let tasks = tasks.into_iter().flatten();
        entries.extend(tasks.map(|raw| Entry { raw, phase }));
    }
    let name = "phases[].tasks";
    Ok((home, List { name, entries }))
}

fn no_list(home: &RawValue) -> String {
    let members = spans::members(home);
    if members.is_empty() {
        return "it has no list of stories".to_owned();
    }
    let keys = members.keys().take(8).map(|key| format!("`{key}`"));
    let keys: Vec<String> = keys.collect();
    format!("it has no list of stories, but {}", keys.join(", "))
}

/// What the flag of this list is called. The two lists that tools agree on may do without: there a
/// story without a flag is open.
fn flag_of(list: &List<'_>) -> Result<&'static str, PrdProblem> {
    let entries: Vec<_> = list
        .entries
        .iter()
        .map(|entry| spans::members(entry.raw))
        .collect();
    let has = |flag: &&str| entries.iter().any(|members| members.contains_key(*flag));
    if let Some(flag) = FLAGS.into_iter().find(has) {
        return Ok(flag);
    }
    match list.name {
        _ if entries.is_empty() => Ok(FLAGS[0]),
        "userStories" | "stories" => Ok(FLAGS[0]),
        "the whole file" => Err(no_flag(list.name)),
        name => Err(no_flag(&format!("`{name}`"))),
    }
}

fn no_flag(list: &str) -> PrdProblem {
    PrdProblem::shape(format!("no entry of {list} says whether it is done"))
}

#[cfg(test)]
mod tests;
