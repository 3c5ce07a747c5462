//! Scenarios that no task is about.

use std::collections::BTreeSet;
use std::path::Path;

use super::words::{is_english, is_word_of, subjects, words};
use super::{Finding, Place};
use crate::change::{Change, Scenario};

pub(super) const CODE: (&str, &str) = (
    "scenario_without_task",
    "no task has a word of a scenario's name, nor two words of its requirement and steps",
);

/// A line of the tasks that shares this many words with a scenario is about it.
const SHARED: usize = 2;

pub(super) fn find(change: &Change) -> Vec<Finding> {
    let sections: Vec<&str> = change
        .stories
        .iter()
        .map(|it| it.section.as_str())
        .collect();
    let tasks = sections.join("\n");
    if sections.is_empty() || speaks_of_all(&tasks) || !is_english(&tasks) {
        return Vec::new();
    }
    let lines: Vec<BTreeSet<String>> = tasks.lines().map(subjects).collect();
    let uncovered = change
        .scenarios
        .iter()
        .filter(|it| is_uncovered(it, &lines));
    uncovered
        .map(|scenario| finding(change, scenario))
        .collect()
}

/// Whether the tasks name scenarios as such: "a test for each scenario".
fn speaks_of_all(tasks: &str) -> bool {
    words(tasks).any(|word| is_word_of(&word, "scenario scenarios"))
}

fn is_uncovered(scenario: &Scenario, lines: &[BTreeSet<String>]) -> bool {
    let name = subjects(&scenario.name);
    let whole = format!(
        "{} {} {}",
        scenario.name, scenario.requirement, scenario.text
    );
    let all = subjects(&whole);
    let is_about = |line: &BTreeSet<String>| {
        !line.is_disjoint(&name) || line.intersection(&all).count() >= SHARED
    };
    !name.is_empty() && is_english(&whole) && !lines.iter().any(is_about)
}

fn finding(change: &Change, scenario: &Scenario) -> Finding {
    let message = format!("no task is about the scenario \"{}\"", scenario.name);
    let hint = "add a task for it, with its test, or name it in the task that covers it";
    Finding {
        place: place(change, scenario),
        ..Finding::new(CODE.0, message).hint(hint)
    }
}

fn place(change: &Change, scenario: &Scenario) -> Option<Place> {
    let end = Path::new("specs")
        .join(&scenario.capability)
        .join("spec.md");
    let mut paths = change.documents.iter().flat_map(|document| &document.paths);
    let path = paths.find(|path| path.ends_with(&end))?;
    Some(Place::new(path, scenario.line))
}
