//! Plans that are a folder with a `tasks.md`: features of spec-kit, and specs of Kiro.

use std::fs;
use std::path::{Path, PathBuf};

use crate::change::{Change, Document, SourceKind, Warning};
use crate::label::slug;
use crate::stories::read_stories;

use super::error::SourceError;
use super::files::{self, unreadable};
use super::read::task_file;

/// The file with the boxes.
pub(super) const TASKS: &str = "tasks.md";

/// What an agent should read of a feature of spec-kit, in this order. Its `checklists` are
/// questions to the plan, not work.
const SPEC_KIT: [&str; 6] = [
    "spec.md",
    "plan.md",
    "research.md",
    "data-model.md",
    "quickstart.md",
    "contracts",
];

/// What an agent should read of a spec of Kiro, in this order.
const KIRO: [&str; 3] = ["requirements.md", "bugfix.md", "design.md"];

/// What kind of plan a folder is by where it lies, if it is one.
pub(super) fn kind_of(folder: &Path) -> Option<SourceKind> {
    let specs = folder.parent().filter(|parent| parent.ends_with("specs"))?;
    if specs.parent().is_some_and(|above| above.ends_with(".kiro")) {
        let known = KIRO.iter().chain([&TASKS]);
        return has_any(folder, known).then_some(SourceKind::Kiro);
    }
    // Other tools have folders of this name too, but not with these files.
    has_any(folder, [TASKS, "plan.md"].iter()).then_some(SourceKind::SpecKit)
}

fn has_any<'a>(folder: &Path, names: impl IntoIterator<Item = &'a &'a str>) -> bool {
    let mut names = names.into_iter();
    names.any(|name| folder.join(name).is_file())
}

/// The name of the plan in a folder: that of the folder, where a branch can be called so.
pub(super) fn name_of(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_branch = name.chars().all(safe)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !name.contains("..")
        && !name.ends_with('.')
        && !name.ends_with(".lock");
    if is_branch {
        name.into_owned()
    } else {
        slug(&name)
    }
}

/// Reads the plan in a folder.
pub(super) fn read(folder: &Path, source: SourceKind) -> Result<Change, SourceError> {
    let folder = fs::canonicalize(folder).map_err(unreadable(folder))?;
    let tasks = folder.join(TASKS);
    let task_files = if tasks.is_file() {
        vec![task_file(&folder, tasks.clone())?]
    } else {
        Vec::new()
    };
    let (stories, mut warnings) = read_stories(&task_files, source);
    if task_files.is_empty() {
        warnings.push(Warning {
            code: "no_task_file",
            message: format!("`{}` has no `{TASKS}` yet", folder.display()),
        });
    }
    Ok(Change {
        name: name_of(&folder),
        source,
        stories,
        scenarios: Vec::new(),
        documents: documents(&folder, source)?,
        context: None,
        guidance: Vec::new(),
        warnings,
        task_files,
        root: folder,
    })
}

fn documents(folder: &Path, source: SourceKind) -> Result<Vec<Document>, SourceError> {
    let (names, mut found): (&[&str], _) = match source {
        SourceKind::Kiro => (&KIRO, vec![steering(folder)?]),
        _ => (&SPEC_KIT, vec![constitution(folder)]),
    };
    for name in names.iter().chain([&TASKS]) {
        let path = folder.join(name);
        let artifact = name.strip_suffix(".md").unwrap_or(name);
        let paths = if path.is_dir() {
            files_in(&path)?
        } else {
            vec![path]
        };
        found.push(document(artifact, paths));
    }
    found.retain(|document| !document.paths.is_empty());
    Ok(found)
}

/// What spec-kit keeps for all features of the project.
fn constitution(folder: &Path) -> Document {
    let top = folder.ancestors().nth(2).unwrap_or(folder);
    let places = [".specify/memory", "memory"].map(|place| top.join(place).join("constitution.md"));
    document("constitution", places.into())
}

/// What Kiro keeps for all specs of the project.
fn steering(folder: &Path) -> Result<Document, SourceError> {
    let top = folder.ancestors().nth(2).unwrap_or(folder);
    let mut paths = files_in(&top.join("steering"))?;
    paths.retain(|path| path.extension().is_some_and(|end| end == "md"));
    Ok(document("steering", paths))
}

/// A document with those of its files that are there.
fn document(artifact: &str, mut paths: Vec<PathBuf>) -> Document {
    paths.retain(|path| path.is_file());
    Document {
        artifact: artifact.to_owned(),
        paths,
    }
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let entries = files::entries(folder)?;
    Ok(entries
        .into_iter()
        .filter(|entry| !entry.is_folder && !entry.is_hidden())
        .map(|entry| entry.path)
        .collect())
}
