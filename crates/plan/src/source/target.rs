//! From what a user named to the plan that is meant: a name, a folder, or a file.

use std::path::Path;

use crate::change::Change;
use crate::error::{SourceError, quoted};
use crate::files;
use crate::formats::openspec::{self, find_root, read_change};
use crate::formats::{self, Found};
use crate::surroundings::Surroundings;

/// Reads what a user named: a plan by its name, its folder, or its file.
pub fn read_target(target: &str, around: &Surroundings) -> Result<Change, SourceError> {
    let path = around.folder.join(target);
    if !is_path(target) {
        return read_named(target, around);
    }
    if path.is_dir() {
        return read_folder(&path, around);
    }
    Found::in_file(&path).read()
}

/// The name of the plan a user named, even if it cannot be read at the moment.
pub fn name_of(target: &str, around: &Surroundings) -> String {
    let path = around.folder.join(target);
    if !is_path(target) {
        return target.to_owned();
    }
    match Found::in_folder(&path) {
        Some(found) => found.name,
        None if path.is_dir() => last_part(&path),
        None => Found::in_file(&path).name,
    }
}

fn is_path(target: &str) -> bool {
    let ends = [".md", ".json"];
    target.contains('/') || ends.iter().any(|end| target.ends_with(end))
}

fn last_part(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The folder of a plan, as a shell completes it.
fn read_folder(path: &Path, around: &Surroundings) -> Result<Change, SourceError> {
    let whole = path.canonicalize();
    let found = whole.ok().and_then(|whole| Found::in_folder(&whole));
    if let Some(found) = found {
        return found.read();
    }
    let inside = Surroundings {
        folder: path.to_owned(),
        ..around.clone()
    };
    read_change(&find_root(&inside)?, &last_part(path), around)
}

/// Reads the one plan of that name.
fn read_named(name: &str, around: &Surroundings) -> Result<Change, SourceError> {
    let all = formats::find(around)?;
    let mut others: Vec<Found> = all.iter().filter(|it| it.name == name).cloned().collect();
    let root = find_root(around);
    let change = match &root {
        Ok(root) if openspec::is_there(root, name) => Some(root.changes().join(name)),
        _ => None,
    };
    if others.len() + usize::from(change.is_some()) > 1 {
        let start = around.folder.canonicalize();
        let start = start.unwrap_or_else(|_| around.folder.clone());
        let others = others.into_iter().map(|it| it.path);
        let paths = change.into_iter().chain(others);
        let paths: Vec<String> = paths.map(|path| typed(&start, &path)).collect();
        return Err(SourceError::unusable_but(
            format!("`{name}` is the name of several plans: {}", quoted(&paths)),
            format!("choose one by its path, for example `{}`", paths[0]),
        ));
    }
    if let Some(found) = others.pop() {
        return found.read();
    }
    let known: Vec<String> = all.into_iter().map(|it| it.name).collect();
    match root {
        Ok(root) => openspec::read_beside(&root, name, known, around),
        Err(SourceError::NoRoot { start }) if !known.is_empty() => {
            Err(SourceError::no_such_change(name, start, &known))
        }
        Err(error) => Err(error),
    }
}

/// A path the user can type.
fn typed(start: &Path, path: &Path) -> String {
    let path = files::shown_from(start, path).display().to_string();
    // A bare name would be looked up as one.
    if is_path(&path) {
        path
    } else {
        format!("./{path}")
    }
}
