//! What spec-kit and Kiro share: a plan is a folder with a `tasks.md` and documents beside it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::change::{Change, Document, SourceKind, Warning};
use crate::error::SourceError;
use crate::files::{self, unreadable};
use crate::label::{is_safe_name, slug};
use crate::stories::{Rules, read_markdown};

/// The file with the boxes.
pub(crate) const TASKS: &str = "tasks.md";

/// A format whose plans are folders.
pub(super) struct SpecFolder {
    pub(super) kind: SourceKind,
    pub(super) rules: &'static Rules,
    /// The folders of plans in a project.
    pub(super) places: &'static [&'static str],
    /// Files that make a folder in such a place a plan; one of them is enough.
    pub(super) signs: &'static [&'static str],
    /// What an agent should read beside the tasks, in this order: files and folders.
    pub(super) documents: &'static [&'static str],
    /// What an agent should read first: it is shared by all plans of the project.
    pub(super) shared: SharedDocument,
}

/// A document beside the folder of all plans.
pub(super) struct SharedDocument {
    pub(super) artifact: &'static str,
    /// Where it may be: markdown files, or folders of such.
    pub(super) places: &'static [&'static str],
}

impl SpecFolder {
    /// Whether a folder is where plans of this format are.
    pub(super) fn is_place(&self, folder: &Path) -> bool {
        let above = folder.parent();
        above.is_some_and(|above| self.places.iter().any(|place| above.ends_with(place)))
    }

    /// Whether a folder has what a plan of this format has.
    pub(super) fn is_plan(&self, folder: &Path) -> bool {
        !files::named_in(folder, self.signs).is_empty()
    }

    /// The folders of a project in which plans may be. A place that cannot be read has none: it
    /// need not be one of plans.
    pub(super) fn folders(&self, project: &Path) -> impl Iterator<Item = PathBuf> {
        let places = self.places.iter().map(|place| project.join(place));
        let entries = places.flat_map(|place| files::entries(&place).unwrap_or_default());
        let folders = entries.filter(|entry| entry.is_folder && !entry.is_hidden());
        folders.map(|entry| entry.path)
    }

    /// Reads the plan in a folder.
    pub(super) fn read(&self, folder: &Path) -> Result<Change, SourceError> {
        let folder = fs::canonicalize(folder).map_err(unreadable(folder))?;
        let tasks = folder.join(TASKS);
        let task_files = if tasks.is_file() {
            vec![files::task_file(&folder, tasks)?]
        } else {
            Vec::new()
        };
        let (stories, mut warnings) = read_markdown(&task_files, self.rules);
        if task_files.is_empty() {
            let message = format!("`{}` has no `{TASKS}` yet", folder.display());
            warnings.push(Warning::new("no_task_file", message));
        }
        Ok(Change {
            stories,
            documents: self.documents(&folder)?,
            warnings,
            task_files,
            ..Change::new(name_of(&folder), folder, self.kind)
        })
    }

    fn documents(&self, folder: &Path) -> Result<Vec<Document>, SourceError> {
        let top = folder.ancestors().nth(2).unwrap_or(folder);
        let mut shared = Vec::new();
        for place in self.shared.places {
            shared.extend(files_at(top.join(place))?);
        }
        shared.retain(|path| path.extension().is_some_and(|end| end == "md"));
        let mut found = vec![Document::new(self.shared.artifact, shared)];
        for name in self.documents.iter().chain([&TASKS]) {
            let artifact = name.strip_suffix(".md").unwrap_or(name);
            found.push(Document::new(artifact, files_at(folder.join(name))?));
        }
        found.retain(|document| !document.paths.is_empty());
        Ok(found)
    }
}

/// The name of the plan in a folder: that of the folder, where a branch can be called so.
pub(super) fn name_of(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let is_branch = is_safe_name(&name) && !name.ends_with(".lock");
    if is_branch {
        name.into_owned()
    } else {
        slug(&name)
    }
}

/// The file at a path, or the files in the folder there without hidden ones.
fn files_at(path: PathBuf) -> Result<Vec<PathBuf>, SourceError> {
    if path.is_file() {
        return Ok(vec![path]);
    }
    let entries = files::entries(&path)?;
    Ok(entries
        .into_iter()
        .filter(|entry| !entry.is_hidden() && entry.path.is_file())
        .map(|entry| entry.path)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_becomes_a_name_a_branch_can_have() {
        #[track_caller]
        fn case(folder: &str, want: &str) {
            assert_eq!(name_of(&PathBuf::from("specs").join(folder)), want);
        }
        case("001-photo-albums", "001-photo-albums");
        case("Weird_Name.2", "Weird_Name.2");
        case("My Answer", "my-answer");
        case("a..b", "a-b");
        case("x.lock", "x-lock");
        case("-x", "x");
        case("ends.", "ends");
    }
}
