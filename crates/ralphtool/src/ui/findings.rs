//! What a check of a plan has found, grouped by story, for a page and for the screen.

use std::collections::BTreeSet;

use ralph_base::ids::StoryId;
use ralph_plan::change::Change;
use ralph_run::check::{CheckedChange, FoundIssue};

use super::page::Page;
use super::style::{DIM, GOOD, STRONG, WARN};
use super::text::clean;

/// The findings of one story, or those about the whole change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The id and the title of the story.
    pub(crate) heading: String,
    /// The file that has the lines of its findings.
    pub(crate) file: Option<String>,
    pub(crate) findings: Vec<ShownFinding>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ShownFinding {
    /// The number of its task and what was found.
    pub(crate) text: String,
    /// Its line in the file of its group, or a place of its own.
    pub(crate) place: Option<String>,
    /// What to do about it, where no finding of that kind has said so before.
    pub(crate) hint: Option<String>,
}

/// The findings in the order of the stories, those about the whole change first.
pub(crate) fn groups(change: Option<&Change>, checked: &CheckedChange) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut hinted = BTreeSet::new();
    let mut last = None;
    for finding in &checked.findings {
        if last != Some(&finding.story) || groups.is_empty() {
            groups.push(Group {
                heading: heading(change, finding.story.as_ref()),
                file: finding.file.clone().filter(|_| finding.story.is_some()),
                findings: Vec::new(),
            });
        }
        last = Some(&finding.story);
        if let Some(group) = groups.last_mut() {
            let is_new = hinted.insert((finding.code, &finding.hint));
            let shown = shown(finding, group.file.as_ref(), is_new);
            group.findings.push(shown);
        }
    }
    groups
}

fn heading(change: Option<&Change>, story: Option<&StoryId>) -> String {
    let Some(id) = story else {
        return "the whole change".to_owned();
    };
    let story = change.and_then(|change| change.story(id));
    story.map_or_else(
        || clean(&id.0),
        |story| clean(&format!("{id} {}", story.title)),
    )
}

fn shown(finding: &FoundIssue, file: Option<&String>, is_new: bool) -> ShownFinding {
    let number = finding.task.as_ref().filter(|task| is_number(task));
    let number = number
        .map(|number| format!("{number}: "))
        .unwrap_or_default();
    let place = finding.file.as_ref().zip(finding.line).map(|(path, line)| {
        if file == Some(path) {
            format!("line {line}")
        } else {
            format!("{}:{line}", clean(path))
        }
    });
    ShownFinding {
        text: clean(&format!("{number}{}", finding.message)),
        place,
        hint: finding.hint.as_deref().filter(|_| is_new).map(clean),
    }
}

/// Whether a task is named by its number, and not by its text.
fn is_number(task: &str) -> bool {
    task.contains(|c: char| c.is_ascii_digit()) && !task.contains(char::is_whitespace)
}

/// Writes the findings of a change, and how many there are.
pub(crate) fn write(page: &mut Page, change: Option<&Change>, checked: &CheckedChange) {
    let name = page.paint(STRONG, clean(&checked.change));
    if checked.findings.is_empty() {
        let summary = page.paint(GOOD, checked.summary());
        return page.line(format!("{name}: {summary}"));
    }
    page.line(name);
    for group in groups(change, checked) {
        page.blank();
        let heading = page.paint(STRONG, group.heading);
        let file = group
            .file
            .map(|file| page.paint(DIM, format!("  {}", clean(&file))));
        page.line(format!("{heading}{}", file.unwrap_or_default()));
        for finding in group.findings {
            let place = finding
                .place
                .map(|place| page.paint(DIM, format!("  {place}")));
            let mark = page.paint(WARN, "!");
            page.line(format!(
                "  {mark} {}{}",
                finding.text,
                place.unwrap_or_default()
            ));
            if let Some(hint) = finding.hint {
                page.line(page.paint(DIM, format!("    → {hint}")));
            }
        }
    }
    page.heading(checked.summary());
}
