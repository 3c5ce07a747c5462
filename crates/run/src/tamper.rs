//! Tamper checks: what an attempt changed that it should not have, because gates and readers could
//! no longer judge whether the work is done. Whether a finding warns or fails is up to the policy.

mod config;
mod languages;
mod outside;
mod pattern;
mod policy;
mod specs;
mod test_file;
#[cfg(test)]
mod tests;
mod tests_kept;

use ralph_vault::scan::changed::ChangedPath;
use std::collections::BTreeSet;

pub(crate) use super::settings::{Severity, TamperCheck};
pub(crate) use policy::TamperPolicy;
use ralph_plan::boxes::StoryCheck;

/// How many names a message has.
const MOST_NAMES: usize = 5;
/// How many paths a finding has.
const MOST_PATHS: usize = 50;
/// How many characters of a line or a name are shown.
const LONGEST_NAME: usize = 100;

/// Something an attempt changed that it should not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub check: TamperCheck,
    pub paths: Vec<String>,
    pub message: String,
}

impl Finding {
    /// None if there is no path that the finding is about.
    fn new(check: TamperCheck, message: String, paths: &BTreeSet<&str>) -> Option<Self> {
        let shown = paths.iter().take(MOST_PATHS);
        (!paths.is_empty()).then(|| Self {
            check,
            paths: shown.map(|&path| path.to_owned()).collect(),
            message,
        })
    }

    /// A finding whose message names its paths.
    fn about(check: TamperCheck, what: &str, paths: &BTreeSet<&str>) -> Option<Self> {
        let message = format!("{what}: {}", named(paths.iter().copied()));
        Self::new(check, message, paths)
    }
}

/// The words of the gates' shell lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gates {
    words: Vec<String>,
    /// Words that began with `./`, without it.
    executed: Vec<String>,
}

/// What the checks need to know of the run. Paths are from the top of the work tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watch {
    /// The checks that are on.
    pub checks: Vec<TamperCheck>,
    /// The documents of the change.
    pub documents: BTreeSet<String>,
    /// The files with its boxes.
    pub task_files: BTreeSet<String>,
    pub gates: Gates,
    /// Where work is expected; empty if the user does not say.
    pub roots: Vec<String>,
    /// Names at the top of the tree at the checkpoint.
    pub tops: BTreeSet<String>,
    pub work_tree: String,
}

impl Watch {
    pub fn is_on(&self, check: TamperCheck) -> bool {
        self.checks.contains(&check)
    }

    /// Whether a check needs the text of a file.
    pub fn wants_text(&self, path: &str) -> bool {
        let is_plan = || self.documents.contains(path) || self.task_files.contains(path);
        let is_test = || {
            languages::language_of(path)
                .is_some_and(|language| language.anywhere || language.is_test_path(path))
        };
        self.is_on(TamperCheck::Specs) && is_plan()
            || self.is_on(TamperCheck::Tests) && is_test()
            || self.is_on(TamperCheck::Config) && config::wants_text(self, path)
    }

    fn plan_files(&self) -> impl Iterator<Item = &str> {
        let files = self.documents.iter().chain(&self.task_files);
        files.map(String::as_str)
    }

    /// The folder that all files of the change are in, if there are several, below the top.
    fn plan_folder(&self) -> Option<&str> {
        let folder = |path: &str| path.rfind('/');
        let first = self.plan_files().next()?;
        let first = &first[..folder(first)?];
        let common = self.plan_files().try_fold(first, |mut common, path| {
            while !outside::is_below(path, common) {
                common = &common[..folder(common)?];
            }
            Some(common)
        });
        common.filter(|_| self.plan_files().nth(1).is_some())
    }

    /// Whether a path belongs to the change, whose folder the caller finds once for all paths.
    fn is_in_plan(&self, folder: Option<&str>, path: &str) -> bool {
        self.plan_files().any(|file| file == path)
            || folder.is_some_and(|folder| outside::is_below(path, folder))
    }
}

/// Checks everything an attempt changed except boxes and submodules, see [`foreign_boxes`] and
/// [`uncommitted`].
pub(crate) fn check(watch: &Watch, changed: &[ChangedPath]) -> Vec<Finding> {
    let findings = |check| match check {
        TamperCheck::Boxes | TamperCheck::Submodules => Vec::new(),
        TamperCheck::Specs => specs::check(watch, changed),
        TamperCheck::Tests => tests_kept::check(changed),
        TamperCheck::Config => Vec::from_iter(config::check(watch, changed)),
        TamperCheck::Outside => outside::check(watch, changed),
    };
    let all = TamperCheck::NAMES.into_iter().map(|(_, check)| check);
    all.filter(|check| watch.is_on(*check))
        .flat_map(findings)
        .collect()
}

/// The finding about boxes of other stories, which the caller restores; `paths` are their files.
pub(crate) fn foreign_boxes(check: &StoryCheck, paths: &BTreeSet<String>) -> Option<Finding> {
    let boxes = check.foreign.iter();
    let boxes = boxes.map(|it| format!("{} (story {})", it.task, it.story));
    let boxes: Vec<String> = boxes.collect();
    let message = format!(
        "boxes of other stories were changed and are restored: {}",
        named(boxes.iter().map(String::as_str))
    );
    let paths = paths.iter().map(String::as_str).collect();
    Finding::new(TamperCheck::Boxes, message, &paths)
}

/// The finding about submodules with work that is not committed there.
pub(crate) fn uncommitted(watch: &Watch, modules: &[String]) -> Option<Finding> {
    let modules = modules.iter().map(String::as_str).collect();
    let what = "work left uncommitted in a submodule is in no commit";
    let finding = Finding::about(TamperCheck::Submodules, what, &modules);
    finding.filter(|_| watch.is_on(TamperCheck::Submodules))
}

/// The first few of some names, and how many more there are.
fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names = names.into_iter();
    let shown = names.by_ref().take(MOST_NAMES);
    let shown: Vec<String> = shown.map(|name| format!("`{}`", short(name))).collect();
    match names.count() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn short(name: &str) -> String {
    let name = name.trim();
    match name.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
