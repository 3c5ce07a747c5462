//! What an attempt changed is handed to the tamper checks, with what they need to know of the run.

use std::collections::BTreeSet;
use std::path::Path;

use super::Engine;
use crate::machine::LostTasks;
use crate::tamper::{self, Finding, Gates, Watch};
use ralph_base::files::read_if_present;
use ralph_plan::boxes::StoryCheck;
use ralph_plan::change::Change;
use ralph_vault::Changed;
use ralph_vault::scan::changed::ChangedPath;

impl Engine {
    /// What the checks of this run look at in a change.
    pub fn watch(&self, change: &Change) -> Watch {
        let place = |path: &Path| self.shown_path(path);
        let task_files: BTreeSet<String> = change
            .task_files
            .iter()
            .map(|file| place(&file.path))
            .collect();
        let documents = change.documents.iter().flat_map(|it| &it.paths);
        let lines: Vec<String> = self
            .policy()
            .gates
            .iter()
            .map(|gate| gate.run.clone())
            .collect();
        Watch {
            checks: self.policy().tamper.checks(),
            documents: documents.map(|path| place(path)).collect(),
            task_files,
            gates: Gates::new(&lines),
            roots: self.policy().tamper.roots.clone(),
            tops: BTreeSet::new(),
            work_tree: self.repository.work_tree.to_string_lossy().into_owned(),
        }
    }

    /// A path as the checks name it: from the top of the work tree, or whole where it is elsewhere.
    pub(super) fn shown_path(&self, path: &Path) -> String {
        let inside = self.repository.path_in_tree(path);
        inside.unwrap_or_else(|| path.to_string_lossy().into_owned())
    }

    /// What an attempt changed that it should not have.
    pub fn findings(
        &self,
        before: &Change,
        check: &StoryCheck,
        mut watch: Watch,
        changed: Changed,
    ) -> Vec<Finding> {
        let boxes = check.foreign.iter();
        let boxes = boxes.map(|it| self.shown_path(&it.edit.path)).collect();
        let boxes = tamper::foreign_boxes(check, &boxes);
        let elsewhere = before
            .task_files
            .iter()
            .filter(|file| self.repository.path_in_tree(&file.path).is_none());
        watch.tops = changed.tops;
        let mut paths = changed.paths;
        for file in elsewhere {
            let now = read_if_present(&file.path).ok().flatten();
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).ok();
            paths.push(ChangedPath {
                path: file.path.to_string_lossy().into_owned(),
                was_there: true,
                is_there: now.is_some(),
                before: text(file.bytes.clone()),
                after: now.and_then(text),
                ..ChangedPath::default()
            });
        }
        let found = tamper::check(&watch, &paths);
        let modules = tamper::uncommitted(&watch, &changed.uncommitted_modules);
        boxes.into_iter().chain(found).chain(modules).collect()
    }
}

/// Tasks the attempt removed, or deferred by itself: neither is doing them.
pub(super) fn lost_tasks(check: &StoryCheck) -> LostTasks {
    LostTasks {
        gone: check.missing.clone(),
        deferred: check.set_aside.clone(),
        of_others: check.foreign_missing.clone(),
    }
}
