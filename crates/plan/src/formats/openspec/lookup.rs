//! From a name to the folder of a change, by `OpenSpec`'s rules.

use std::fs;
use std::path::{Path, PathBuf};

use super::root::Root;
use crate::error::{SourceError, quoted};
use crate::files::{self, unreadable};

/// How deep a folder that wraps changes is searched.
const WRAPPER_DEPTH: usize = 3;

/// Whether there is a folder for a change of that name.
pub(crate) fn is_there(root: &Root, name: &str) -> bool {
    broken_rule(name).is_none() && root.changes().join(name).is_dir()
}

/// The folder of a change, where the user may have meant plans of other formats with these names.
pub(super) fn find(root: &Root, name: &str, others: Vec<String>) -> Result<PathBuf, SourceError> {
    let folder = root.changes();
    let path = folder.join(name);
    if broken_rule(name).is_none() && !path.is_dir() {
        let mut known = names(root)?;
        known.extend(others);
        return Err(SourceError::no_such_change(name, folder, &known));
    }
    check(name, &path)?;
    fs::canonicalize(&path).map_err(unreadable(&path))
}

/// Checks that a folder may be a change of that name.
pub(super) fn check(name: &str, folder: &Path) -> Result<(), SourceError> {
    if let Some(rule) = broken_rule(name) {
        let message = format!("`{name}` cannot be the name of a change: {rule}");
        return Err(SourceError::unusable(message));
    }
    let inner = wrapped(folder, name)?;
    let Some(first) = inner.first() else {
        return Ok(());
    };
    let flat = first.replace('/', "-");
    Err(SourceError::unusable_but(
        format!(
            "`{name}` is not a change, but a folder around {}",
            quoted(&inner)
        ),
        format!("move each inner folder up, for example to `openspec/changes/{flat}`"),
    ))
}

pub(super) fn broken_rule(name: &str) -> Option<&'static str> {
    match name {
        "" => Some("it is empty"),
        "archive" => Some("it is reserved for archived changes"),
        _ if name.contains(['/', '\\', '\0']) => Some("it has a separator in it"),
        _ if name.starts_with('.') => Some("it starts with a dot"),
        _ => None,
    }
}

/// The names of all changes of a root: its folders, without links, hidden ones and the archive.
pub(super) fn names(root: &Root) -> Result<Vec<String>, SourceError> {
    let folders = files::entries(&root.changes())?;
    Ok(folders
        .into_iter()
        .filter(|entry| entry.is_folder && !entry.is_hidden() && entry.name != "archive")
        .map(|entry| entry.name.to_string_lossy().into_owned())
        .collect())
}

/// The changes inside a folder that is none itself.
fn wrapped(folder: &Path, name: &str) -> Result<Vec<String>, SourceError> {
    let own_file = files::entries(folder)?
        .iter()
        .any(|entry| !entry.is_folder && !entry.is_hidden());
    if own_file || looks_like_change(folder) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    collect_wrapped(folder, name, WRAPPER_DEPTH, &mut found)?;
    found.sort();
    Ok(found)
}

fn collect_wrapped(
    folder: &Path,
    name: &str,
    depth: usize,
    found: &mut Vec<String>,
) -> Result<(), SourceError> {
    if depth == 0 {
        return Ok(());
    }
    for entry in files::entries(folder)? {
        if !entry.is_folder || entry.is_hidden() || entry.name == "archive" {
            continue;
        }
        let inner = format!("{name}/{}", entry.name.to_string_lossy());
        if looks_like_change(&entry.path) {
            found.push(inner);
        } else {
            collect_wrapped(&entry.path, &inner, depth - 1, found)?;
        }
    }
    Ok(())
}

fn looks_like_change(folder: &Path) -> bool {
    [
        ".openspec.yaml",
        "proposal.md",
        "design.md",
        "tasks.md",
        "specs",
    ]
    .iter()
    .any(|name| folder.join(name).exists())
}
