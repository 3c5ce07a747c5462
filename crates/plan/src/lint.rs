//! What is weak in a plan, found by rules and without a model: stories that are too large, tasks
//! that nothing can check, scenarios without a task, files that do not exist.
//!
//! Each rule is a module with one function that reads a [`Change`] and nothing else; whether a file
//! is there, it asks [`Exists`]. A rule would rather miss something than report what is fine: advice
//! that is often wrong is not read.

mod empty;
mod files;
mod numbers;
mod open_tasks;
mod paths;
mod project_files;
mod scenarios;
mod size;
mod vague;
mod words;

use std::path::{Path, PathBuf};

use crate::change::{Change, Story, StoryState};
use crate::tasks::Task;
use ralph_base::ids::StoryId;

pub use project_files::ProjectFiles;

/// The codes that the rules report, each with what it means.
pub const CODES: [(&str, &str); 8] = [
    size::CODE,
    vague::CODE,
    files::CODE,
    scenarios::CODE,
    numbers::CODE,
    empty::NO_TASK,
    empty::NO_TEXT,
    empty::NO_TITLE,
];

/// Something in a plan that is worth a look before a run. It stops nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The stable name of the rule.
    pub code: &'static str,
    /// The story it is about; none if it is about the whole change.
    pub story: Option<StoryId>,
    /// The task it is about: its number, or its text if it has none.
    pub task: Option<String>,
    /// Where to look.
    pub place: Option<Place>,
    /// What was found, in one sentence.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub path: PathBuf,
    /// From 1.
    pub line: usize,
}

impl Place {
    fn new(path: &Path, line: usize) -> Self {
        let path = path.to_owned();
        Self { path, line }
    }
}

impl Finding {
    /// A finding about the whole change.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            story: None,
            task: None,
            place: None,
            message: message.into(),
            hint: None,
        }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says which story it is about.
    fn in_story(mut self, change: &Change, story: &Story) -> Self {
        self.story = Some(story.id.clone());
        self.at(change, story.file, heading_line(story))
    }

    /// Says which task it is about.
    fn in_task(mut self, change: &Change, story: &Story, task: &Task) -> Self {
        self.story = Some(story.id.clone());
        self.task = Some(task.id.clone().unwrap_or_else(|| task.text.clone()));
        self.at(change, story.file, task.line)
    }

    fn at(mut self, change: &Change, file: usize, line: usize) -> Self {
        self.place = change
            .task_files
            .get(file)
            .map(|file| Place::new(&file.path, line));
        self
    }
}

/// Where a story begins for people: at its heading, or at its first task.
fn heading_line(story: &Story) -> usize {
    let has_heading = story.section.trim_start().starts_with('#');
    let first = story.tasks.first().filter(|_| !has_heading);
    first.map_or(story.line, |task| task.line)
}

/// The stories that a run would still work on.
fn open_stories(change: &Change) -> impl Iterator<Item = &Story> {
    let stories = change.stories.iter();
    stories.filter(|story| story.state == StoryState::Open)
}

/// Says whether a file that a plan names is in its project.
pub type Exists<'a> = &'a dyn Fn(&str) -> bool;

/// All findings: those about the change first, then story by story. Without `exists` it is not
/// checked whether files are there.
pub fn lint(change: &Change, exists: Option<Exists<'_>>) -> Vec<Finding> {
    let reported = change.warnings.iter();
    let mut findings: Vec<Finding> = reported
        .map(|warning| Finding::new(warning.code, warning.message.clone()))
        .collect();
    findings.extend(empty::find(change));
    findings.extend(numbers::find(change));
    let tasks = open_tasks::of(change);
    findings.extend(size::find(change, &tasks));
    findings.extend(vague::find(change, &tasks));
    if let Some(exists) = exists {
        findings.extend(files::find(change, &tasks, exists));
    }
    findings.extend(scenarios::find(change));
    let rank = |finding: &Finding| {
        let stories = change.stories.iter();
        let place = |id: &StoryId| stories.clone().position(|story| story.id == *id);
        let line = finding.place.as_ref().map_or(0, |place| place.line);
        (finding.story.as_ref().and_then(place), line)
    };
    findings.sort_by_cached_key(rank);
    findings
}

#[cfg(test)]
mod corpus_tests;
#[cfg(test)]
mod tests;
