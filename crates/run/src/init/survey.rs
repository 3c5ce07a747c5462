//! Reads the top folder of a repository and the folders right below it, and finds programs.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::agent::find_program;
use crate::init::rules::{VIRTUAL_ENVIRONMENTS, is_python_test};
use crate::init::{Candidate, Folder};
use ralph_agents::adapters::ADAPTERS;
use ralph_base::files::{FileError, Tried as _};

/// Folders that hold generated or third-party files, or documents.
const SKIPPED: &str = "node_modules target vendor third_party dist build out venv env deps \
    testdata fixtures examples example fuzz openspec specs docs";

/// More of a file is not read: it was not written by hand.
const MAX_BYTES: u64 = 1 << 20;

const MAX_FOLDERS: usize = 60;

/// Where a project of Python usually has its tests.
const TEST_FOLDERS: [&str; 2] = ["tests/", "test/"];

/// The programs of a virtual environment that rules propose.
const VIRTUAL_PROGRAMS: [&str; 4] = ["pytest", "python", "ruff", "mypy"];

/// The top folder and the ones right below it, in order of their names.
pub fn folders(top: &Path) -> Result<Vec<Folder>, FileError> {
    let first = folder(top, "").tried("list", top)?;
    let below: Vec<String> = first
        .entries
        .iter()
        .filter_map(|name| name.strip_suffix('/'))
        .filter(|name| is_surveyed(name))
        .take(MAX_FOLDERS)
        .map(str::to_owned)
        .collect();
    let mut folders = vec![first];
    // A folder that cannot be read has no tests we could run.
    let readable = below
        .iter()
        .filter_map(|name| folder(&top.join(name), name).ok());
    // Another repository has its own settings.
    folders.extend(
        readable.filter(|it| !it.entries.contains(".git") && !it.entries.contains(".git/")),
    );
    Ok(folders)
}

/// A plain name, so that it can stand in a shell line as it is.
fn is_surveyed(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.starts_with(['.', '-'])
        && name.chars().all(is_plain)
        && !SKIPPED.split_whitespace().any(|it| it == name)
}

fn folder(path: &Path, name: &str) -> io::Result<Folder> {
    let mut folder = Folder {
        path: name.to_owned(),
        ..Folder::default()
    };
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if entry.file_type()?.is_dir() {
            folder.entries.insert(format!("{name}/"));
            continue;
        }
        folder.read(name, &entry.path());
    }
    for tests in TEST_FOLDERS {
        // A folder that is not there has none.
        let names = fs::read_dir(path.join(tests)).into_iter().flatten();
        let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        for name in names.filter(|name| is_python_test(name)) {
            let inner = format!("{tests}{name}");
            let file = path.join(&inner);
            folder.read(inner, &file);
        }
    }
    for program in VIRTUAL_ENVIRONMENTS
        .iter()
        .flat_map(|bin| VIRTUAL_PROGRAMS.map(|name| format!("{bin}{name}")))
    {
        if path.join(&program).is_file() {
            folder.entries.insert(program);
        }
    }
    Ok(folder)
}

impl Folder {
    /// Adds a file, with its content if rules read it.
    fn read(&mut self, name: String, path: &Path) {
        let own = name.rsplit('/').next().unwrap_or(&name);
        if Self::is_read(own)
            && let Some(text) = content(path)
        {
            self.contents.insert(name.clone(), text);
        }
        self.entries.insert(name);
    }
}

/// The start of a file; nothing of what is no file, such as a pipe.
fn content(path: &Path) -> Option<String> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The programs of these commands that are installed.
pub fn installed(candidates: &[Candidate], path: Option<&OsStr>, top: &Path) -> BTreeSet<String> {
    let programs = candidates.iter().flat_map(Candidate::programs);
    programs
        .filter(|program| match program.split_once(" -m ") {
            Some((python, module)) => has_module(python, module, path, top),
            None => find_program(program.as_ref(), path, top).is_some(),
        })
        .cloned()
        .collect()
}

/// Whether a Python can import a module.
fn has_module(python: &str, module: &str, path: Option<&OsStr>, top: &Path) -> bool {
    let Some(python) = find_program(python.as_ref(), path, top) else {
        return false;
    };
    let mut import = Command::new(python);
    import
        .args(["-c", &format!("import {module}")])
        // A file of the repository must not stand in for the module.
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    import.status().is_ok_and(|status| status.success())
}

/// The built-in agents whose program is installed.
pub fn agents(path: Option<&OsStr>, top: &Path) -> Vec<&'static str> {
    ADAPTERS
        .into_iter()
        .filter(|it| find_program(it.name.as_ref(), path, top).is_some())
        .map(|it| it.name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn own_folders_are_surveyed_and_others_are_not() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path();
        for folder in ["web", "node_modules/x", ".hidden", "other/.git", "a b"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        fs::write(top.join("Cargo.toml"), "[package]").unwrap();
        fs::write(top.join("web/package.json"), "{}").unwrap();
        fs::write(top.join("web/secret.txt"), "no").unwrap();
        let found = folders(top).unwrap();
        let names: Vec<(&str, Vec<&str>)> = found
            .iter()
            .map(|it| {
                (
                    it.path.as_str(),
                    it.contents.keys().map(String::as_str).collect(),
                )
            })
            .collect();
        assert_eq!(
            names,
            [("", vec!["Cargo.toml"]), ("web", vec!["package.json"])]
        );
        assert!(found[1].entries.contains("secret.txt"));
    }

    #[test]
    fn tests_of_python_are_read_in_the_folder_and_in_its_folder_of_tests() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path();
        fs::create_dir_all(top.join("tests")).unwrap();
        for file in [
            "test_a.py",
            "b_test.py",
            "app.py",
            "tests/test_c.py",
            "tests/data.py",
        ] {
            fs::write(top.join(file), "def test_it(): pass\n").unwrap();
        }
        let found = folders(top).unwrap();
        let read: Vec<&str> = found[0].contents.keys().map(String::as_str).collect();
        assert_eq!(read, ["b_test.py", "test_a.py", "tests/test_c.py"]);
    }
}
