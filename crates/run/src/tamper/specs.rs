//! The text of the plan: a proposal, a design, a spec, the tasks. An attempt may tick boxes and add
//! text to a task file, but change and remove none.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{ChangedPath, Finding, TamperCheck, Watch, short};
use ralph_plan::tasks::read_tasks;

pub(super) fn check(watch: &Watch, changed: &[ChangedPath]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut edited = BTreeSet::new();
    let mut removed = BTreeSet::new();
    for path in changed {
        let is_tasks = watch.task_files.contains(&path.path);
        if !is_tasks && !watch.documents.contains(&path.path) {
            continue;
        }
        if path.is_deleted() {
            removed.insert(path.path.as_str());
        } else if is_tasks {
            findings.extend(task_file(path));
        } else if !path.is_added() && !is_same_text(path) {
            edited.insert(path.path.as_str());
        }
    }
    let about = |what, paths: BTreeSet<&str>| Finding::about(TamperCheck::Specs, what, &paths);
    findings.extend(about("the plan's text was edited", edited));
    findings.extend(about("documents of the plan were removed", removed));
    findings
}

fn is_same_text(path: &ChangedPath) -> bool {
    match (&path.before, &path.after) {
        (Some(before), Some(after)) => without_boxes(before) == without_boxes(after),
        // Too large, or no text: all we know is that it differs.
        _ => false,
    }
}

fn task_file(path: &ChangedPath) -> Option<Finding> {
    let (Some(before), Some(after)) = (&path.before, &path.after) else {
        return None;
    };
    let ending = path.path.rsplit_once('.').map(|(_, ending)| ending);
    let lost = if ending == Some("json") {
        lost_in_json(before, after)
    } else {
        lost_lines(before, after)
    };
    let more = match lost.len() {
        0 | 1 => String::new(),
        all => format!(" and {} more", all - 1),
    };
    let message = format!(
        "text of the task file `{}` was changed or removed: `{}`{more}",
        path.path,
        short(lost.first()?)
    );
    let paths = BTreeSet::from([path.path.as_str()]);
    Finding::new(TamperCheck::Specs, message, &paths)
}

/// The lines of a text with all boxes open, without empty lines and trailing blanks.
fn without_boxes(text: &str) -> Vec<String> {
    let mut bytes = text.as_bytes().to_vec();
    // From the end, so that the ranges before stay valid.
    let mut marks: Vec<_> = read_tasks(&bytes)
        .into_iter()
        .map(|task| task.mark)
        .collect();
    marks.sort_unstable_by_key(|mark| std::cmp::Reverse(mark.start));
    for mark in marks {
        bytes.splice(mark, *b" ");
    }
    String::from_utf8_lossy(&bytes)
        .lines()
        .map(|line| line.trim_end().to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

/// Lines that are missing, in order; text may be added at the end of a line.
fn lost_lines(before: &str, after: &str) -> Vec<String> {
    let after = without_boxes(after);
    let mut at = 0;
    let mut lost = Vec::new();
    for line in without_boxes(before) {
        let found = after[at..]
            .iter()
            .position(|now| *now == line)
            .or_else(|| after[at..].iter().position(|now| is_extended(now, &line)));
        match found {
            Some(offset) => at += offset + 1,
            None => lost.push(line),
        }
    }
    lost
}

fn is_extended(now: &str, line: &str) -> bool {
    let rest = now.strip_prefix(line);
    rest.is_some_and(|rest| rest.starts_with(|letter: char| !letter.is_alphanumeric()))
}

/// Values that were changed or removed; a boolean may change.
fn lost_in_json(before: &str, after: &str) -> Vec<String> {
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    let Some(before) = read(before) else {
        return Vec::new();
    };
    let Some(after) = read(after) else {
        return vec!["it is no longer valid JSON".to_owned()];
    };
    let mut lost = Vec::new();
    compare_json(&before, &after, "", &mut lost);
    lost
}

/// Keys under which tools and agents record the progress of a story.
const PROGRESS: &[&str] = &["status", "notes", "passes", "done", "completed", "state"];

fn compare_json(before: &Value, after: &Value, place: &str, lost: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                let place = if place.is_empty() {
                    key.clone()
                } else {
                    format!("{place}.{key}")
                };
                match after.get(key) {
                    _ if PROGRESS.contains(&key.as_str()) => {}
                    Some(now) => compare_json(value, now, &place, lost),
                    None => lost.push(place),
                }
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            for (index, value) in before.iter().enumerate() {
                let place = format!("{place}[{index}]");
                match after.get(index) {
                    Some(now) => compare_json(value, now, &place, lost),
                    None => lost.push(place),
                }
            }
        }
        (Value::Bool(_), Value::Bool(_)) => {}
        (before, after) if before == after => {}
        _ => lost.push(place.to_owned()),
    }
}
