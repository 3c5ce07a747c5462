//! Reading one `OpenSpec` change whole: tasks, delta specs, the files to read, context and guidance.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::delta::read_delta;
use crate::change::{Change, Document, Scenario, SourceKind, TaskFile, Warning};
use crate::stories::{Rules, read_markdown};

use super::project::Project;
use super::schema::Schema;
use super::template;
use crate::error::SourceError;
use crate::files;

/// Reads the change in a folder.
pub(super) fn read_folder(
    name: &str,
    folder: &Path,
    project: &Project<'_>,
) -> Result<Change, SourceError> {
    let (mut change, schema) = read_progress(name, folder, project)?;
    let (scenarios, spec_warnings) = read_specs(folder)?;
    change.scenarios = scenarios;
    change.warnings.extend(spec_warnings);
    if change.task_files.is_empty() {
        change.warnings.push(no_task_file(&schema));
    }
    change.documents = documents(folder, project, &schema)?;
    change.warnings.extend(unfilled(folder, &change.documents));
    Ok(change)
}

/// Reads what says how far a change is: its task files, and nothing else of its folder. Also returns
/// its schema.
pub(super) fn read_progress(
    name: &str,
    folder: &Path,
    project: &Project<'_>,
) -> Result<(Change, Arc<Schema>), SourceError> {
    let Project { root, config, .. } = project;
    let schema = project.schema_of(folder)?;
    let task_files = task_files(folder, &schema)?;
    let (stories, task_warnings) = read_markdown(&task_files, &Rules::PLAIN);
    let warnings = [&root.warnings, &config.warnings, &task_warnings];
    let change = Change {
        stories,
        context: config.context.clone(),
        guidance: config.guidance.clone(),
        warnings: warnings.into_iter().flatten().cloned().collect(),
        task_files,
        ..Change::new(name.to_owned(), root.path.clone(), SourceKind::OpenSpec)
    };
    Ok((change, schema))
}

fn task_files(folder: &Path, schema: &Schema) -> Result<Vec<TaskFile>, SourceError> {
    let Some(tracks) = &schema.tracks else {
        return Ok(Vec::new());
    };
    tracks
        .resolve(folder)?
        .into_iter()
        .map(|path| files::task_file(folder, path))
        .collect()
}

fn no_task_file(schema: &Schema) -> Warning {
    let message = match &schema.tracks {
        Some(tracks) => format!("the change has no `{}`", tracks.text),
        None => format!("the schema `{}` names no file with tasks", schema.name),
    };
    Warning::new("no_task_file", message)
}

/// Otherwise an agent would be paid for work that is not described.
fn unfilled(folder: &Path, documents: &[Document]) -> Option<Warning> {
    let paths = documents.iter().flat_map(|document| &document.paths);
    let is_unfilled = |path: &&PathBuf| {
        // A document that cannot be read is none of the template's.
        let text = files::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        text.is_ok_and(|text| template::has_todo_lines(&text))
    };
    let unfilled = paths.filter(is_unfilled);
    let names: Vec<String> = unfilled
        .map(|path| format!("`{}`", files::inner_path(folder, path)))
        .collect();
    let (names, are) = match names.as_slice() {
        [] => return None,
        [only] => (only.clone(), "is"),
        [first @ .., last] => (format!("{} and {last}", first.join(", ")), "are"),
    };
    let message = format!("{names} {are} still from the template: replace each TODO");
    Some(Warning::new("template", message))
}

fn documents(
    folder: &Path,
    project: &Project<'_>,
    schema: &Schema,
) -> Result<Vec<Document>, SourceError> {
    let mut found = Vec::new();
    let legacy = project.root.path.join("openspec/project.md");
    if project.config.context.is_none() && legacy.is_file() {
        found.push(Document::new("project", vec![legacy]));
    }
    for artifact in &schema.artifacts {
        let paths = artifact.generates.resolve(folder)?;
        found.push(Document::new(&artifact.id, paths));
    }
    found.retain(|document| !document.paths.is_empty());
    Ok(found)
}

/// Reads every `specs/**/spec.md` that `OpenSpec` would merge.
fn read_specs(folder: &Path) -> Result<(Vec<Scenario>, Vec<Warning>), SourceError> {
    let specs = folder.join("specs");
    let mut paths = Vec::new();
    files::walk(&specs, false, &mut paths)?;
    let mut named: Vec<(String, PathBuf)> = paths
        .into_iter()
        .filter(|path| path.file_name().is_some_and(|name| name == "spec.md"))
        .map(|path| {
            (
                files::inner_path(&specs, path.parent().unwrap_or(&specs)),
                path,
            )
        })
        .collect();
    named.sort();
    let (mut scenarios, mut warnings) = (Vec::new(), Vec::new());
    for (capability, path) in named {
        if capability.is_empty() {
            warnings.push(Warning::new(
                "unread_spec",
                "`specs/spec.md` belongs to no capability: OpenSpec does not read it",
            ));
            continue;
        }
        let delta = read_delta(&capability, &files::read(&path)?);
        let written = delta
            .into_scenarios()
            .filter(|it| !template::is_template_scenario(it));
        scenarios.extend(written);
    }
    Ok((scenarios, warnings))
}
