//! Plans that are one file: a checklist in markdown, or a `prd.json`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::change::{Change, Document, SourceKind};
use crate::label::slug;
use crate::prd::{self, PrdProblem};
use crate::stories::read_stories;

use super::error::SourceError;
use super::feature::TASKS;
use super::files::unreadable;
use super::read::task_file;
use super::yaml;

/// Files that belong to a `tasks.md` where they lie beside it.
const COMPANIONS: [&str; 6] = [
    "requirements.md",
    "spec.md",
    "plan.md",
    "design.md",
    "research.md",
    "data-model.md",
];

/// Reads one markdown file with boxes as a change.
pub(super) fn read_checklist(path: &Path) -> Result<Change, SourceError> {
    read(path, SourceKind::Checklist)
}

/// Reads a `prd.json` as a change.
pub(super) fn read_prd(path: &Path) -> Result<Change, SourceError> {
    let mut change = read(path, SourceKind::PrdJson)?;
    for file in &change.task_files {
        let found = prd::read(&file.bytes).map_err(|problem| match problem {
            PrdProblem::NotJson(error) => yaml::malformed(&file.path, error),
            PrdProblem::Shape(reason) => SourceError::UnknownShape {
                path: file.path.clone(),
                reason,
            },
        })?;
        change.context = found.about;
    }
    Ok(change)
}

/// The name of a plan that is one file.
pub(super) fn name_of(path: &Path) -> String {
    slug(&path.file_stem().unwrap_or_default().to_string_lossy())
}

fn read(path: &Path, source: SourceKind) -> Result<Change, SourceError> {
    let path = fs::canonicalize(path).map_err(unreadable(path))?;
    let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
    let task_files = vec![task_file(&folder, path.clone())?];
    let (stories, warnings) = read_stories(&task_files, source);
    Ok(Change {
        name: name_of(&path),
        documents: documents(&folder, path),
        root: folder,
        source,
        stories,
        scenarios: Vec::new(),
        context: None,
        guidance: Vec::new(),
        warnings,
        task_files,
    })
}

fn documents(folder: &Path, path: PathBuf) -> Vec<Document> {
    let companions = COMPANIONS.iter().map(|name| folder.join(name));
    let companions: Vec<PathBuf> = companions
        .filter(|other| path.ends_with(TASKS) && other.is_file())
        .collect();
    let all = companions.into_iter().chain([path]);
    all.map(|path| Document {
        artifact: path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        paths: vec![path],
    })
    .collect()
}
