//! Tamper checks: what an attempt changed that it had better not, because a gate or a reader could
//! no longer tell done from not done. Pure; whether a finding warns or fails is the policy's.

mod code;
mod config;
mod languages;
mod outside;
mod pattern;
mod policy;
mod sheet;
mod specs;
#[cfg(test)]
mod tests;
mod tests_kept;

use std::collections::BTreeSet;

use super::boxes::StoryCheck;
pub(crate) use super::settings::{Severity, TamperCheck};
pub(crate) use policy::TamperPolicy;

/// How many names a message has.
const MOST_NAMES: usize = 5;
/// How many paths a finding has.
const MOST_PATHS: usize = 50;
/// How much of a line or a name is shown.
const LONGEST_NAME: usize = 100;

/// Something an attempt changed that it had better not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// What sort of thing.
    pub(crate) check: TamperCheck,
    /// Where.
    pub(crate) paths: Vec<String>,
    /// What, for people.
    pub(crate) message: String,
}

/// One path that differs from the checkpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ChangedPath {
    /// Where, from the top of the work tree.
    pub(crate) path: String,
    /// It was there before.
    pub(crate) was_there: bool,
    /// It is there now.
    pub(crate) is_there: bool,
    /// Its text before, where it was read.
    pub(crate) before: Option<String>,
    /// Its text now, where it was read.
    pub(crate) after: Option<String>,
    /// Where it leads, if it is a link now.
    pub(crate) link: Option<String>,
    /// A new path with the same content, if it is gone.
    pub(crate) moved_to: Option<String>,
}

impl ChangedPath {
    const fn is_added(&self) -> bool {
        self.is_there && !self.was_there
    }

    const fn is_deleted(&self) -> bool {
        self.was_there && !self.is_there
    }
}

/// What the shell lines of the gates say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Gates {
    /// All words.
    words: Vec<String>,
    /// Those that are files at hand.
    executed: Vec<String>,
}

/// What is looked at, and against what. Paths are from the top of the work tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Watch {
    /// The checks that are on.
    pub(crate) checks: Vec<TamperCheck>,
    /// The documents of the change.
    pub(crate) documents: BTreeSet<String>,
    /// The files with its boxes.
    pub(crate) task_files: BTreeSet<String>,
    /// What gates run.
    pub(crate) gates: Gates,
    /// Where the work is expected; empty where the user does not say.
    pub(crate) roots: Vec<String>,
    /// Names at the top of the tree at the checkpoint.
    pub(crate) tops: BTreeSet<String>,
    /// Where the work tree is.
    pub(crate) work_tree: String,
}

impl Watch {
    /// Whether a check is on.
    pub(crate) fn is_on(&self, check: TamperCheck) -> bool {
        self.checks.contains(&check)
    }

    /// Whether a check has to see what is in a file.
    pub(crate) fn wants_text(&self, path: &str) -> bool {
        let is_plan = || self.documents.contains(path) || self.task_files.contains(path);
        let is_test = || {
            languages::language_of(path)
                .is_some_and(|language| language.anywhere || language.is_test_path(path))
        };
        self.is_on(TamperCheck::Specs) && is_plan()
            || self.is_on(TamperCheck::Tests) && is_test()
            || self.is_on(TamperCheck::Config) && config::wants_text(self, path)
    }

    /// The folder all files of the change are in, if there is one below the top.
    fn plan_folder(&self) -> Option<String> {
        let mut files = self.documents.iter().chain(&self.task_files);
        let folder = |path: &String| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        let first = folder(files.next()?)?;
        let common = files.try_fold(first, |common, path| {
            let mut common = common;
            while !outside::is_below(path, &common) {
                common = folder(&common)?;
            }
            Some(common)
        })?;
        let is_alone = self.documents.len() + self.task_files.len() == 1;
        (!is_alone).then_some(common)
    }

    /// Whether a path is of the change, whose folder is found once for all of them.
    fn is_of_plan(&self, folder: Option<&str>, path: &str) -> bool {
        self.documents.contains(path)
            || self.task_files.contains(path)
            || folder.is_some_and(|folder| outside::is_below(path, folder))
    }

    fn is_top_of_plan(&self, top: &str) -> bool {
        let files = self.documents.iter().chain(&self.task_files);
        files.into_iter().any(|path| outside::is_below(path, top))
    }

    /// Whether a folder with code was there at the checkpoint.
    fn has_code(&self) -> bool {
        let folders = [
            "src", "lib", "app", "pkg", "cmd", "internal", "crates", "packages",
        ];
        self.tops.iter().any(|top| folders.contains(&top.as_str()))
    }
}

/// Looks at everything an attempt changed; boxes are looked at by who knows the stories.
pub(crate) fn look(watch: &Watch, changed: &[ChangedPath]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if watch.is_on(TamperCheck::Specs) {
        findings.extend(specs::check(watch, changed));
    }
    if watch.is_on(TamperCheck::Tests) {
        findings.extend(tests_kept::check(changed));
    }
    if watch.is_on(TamperCheck::Config) {
        findings.extend(config::check(watch, changed));
    }
    if watch.is_on(TamperCheck::Outside) {
        findings.extend(outside::check(watch, changed));
    }
    findings
}

/// What is said of boxes of other stories, which are put back; `paths` are their files.
pub(crate) fn foreign_boxes(check: &StoryCheck, paths: BTreeSet<String>) -> Option<Finding> {
    if check.foreign.is_empty() {
        return None;
    }
    let boxes = check.foreign.iter();
    let boxes: Vec<String> = boxes
        .map(|it| format!("{} (story {})", it.task, it.story))
        .collect();
    let boxes = named(boxes.iter().map(String::as_str));
    Some(Finding {
        check: TamperCheck::Boxes,
        paths: paths.into_iter().collect(),
        message: format!("boxes of other stories were changed, and are put back: {boxes}"),
    })
}

/// The first few of some names, and how many more there are.
fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let all: Vec<&str> = names.into_iter().collect();
    let shown: Vec<String> = all
        .iter()
        .take(MOST_NAMES)
        .map(|name| format!("`{}`", short(name)))
        .collect();
    match all.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn short(name: &str) -> String {
    let name = name.trim();
    if name.chars().count() <= LONGEST_NAME {
        return name.to_owned();
    }
    let start: String = name.chars().take(LONGEST_NAME).collect();
    format!("{start}…")
}

fn paths_of(paths: BTreeSet<&str>) -> Vec<String> {
    let paths = paths.into_iter().take(MOST_PATHS);
    paths.map(str::to_owned).collect()
}
