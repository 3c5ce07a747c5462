//! Python: pytest and its kin, run by whatever manages the project's environment.

use super::{Finds, Folder, Kind};

const PROJECT: &str = "pyproject.toml";

/// Files that tell who manages the environment, and what comes before a command then.
const MANAGERS: &[(&str, &str)] = &[
    ("uv.lock", "uv run "),
    ("poetry.lock", "poetry run "),
    ("pdm.lock", "pdm run "),
    ("Pipfile.lock", "pipenv run "),
    ("Pipfile", "pipenv run "),
];

/// Files that may name pytest.
const NAMING: &[&str] = &[
    PROJECT,
    "setup.cfg",
    "requirements.txt",
    "requirements-dev.txt",
    "dev-requirements.txt",
    "Pipfile",
];

/// Notes the tests, and the linters there are settings for.
pub(super) fn find(finds: &mut Finds<'_>) {
    let folder = finds.folder;
    let manager = MANAGERS.iter().find(|(file, _)| folder.has(file));
    let before = manager.map(|(_, before)| *before).or_else(|| said(folder));
    if let Some((run, because)) = tests(folder, before) {
        finds.add("python", Kind::Tests, &run, because);
    }
    let before = before.unwrap_or_default();
    let has_ruff = folder.says(PROJECT, "[tool.ruff").then_some(PROJECT);
    if let Some(because) = folder.first_of(&["ruff.toml", ".ruff.toml"]).or(has_ruff) {
        finds.add(
            "python",
            Kind::Lint,
            &format!("{before}ruff check"),
            because,
        );
    }
    // Without a list of files it would have to be told what to look at.
    let has_mypy = folder.says(PROJECT, "[tool.mypy") && folder.says(PROJECT, "\nfiles");
    let has_ini = folder.says("mypy.ini", "\nfiles");
    let because = has_ini
        .then_some("mypy.ini")
        .or(has_mypy.then_some(PROJECT));
    if let Some(because) = because {
        finds.add("python", Kind::Types, &format!("{before}mypy"), because);
    }
}

/// What a project file says of its environment where there is no lock file.
fn said(folder: &Folder) -> Option<&'static str> {
    let tables = [("[tool.uv", "uv run "), ("[tool.poetry", "poetry run ")];
    let found = tables.iter().find(|(table, _)| folder.says(PROJECT, table));
    found.map(|(_, before)| *before)
}

fn tests(folder: &Folder, before: Option<&str>) -> Option<(String, &'static str)> {
    let has_tox = folder.says("tox.ini", "[tox]") || folder.says("tox.ini", "[testenv");
    let of_tox = has_tox.then_some("tox.ini").or_else(|| {
        let is_said = folder.says(PROJECT, "[tool.tox");
        is_said.then_some(PROJECT)
    });
    // What makes an environment of its own comes before what is installed somewhere.
    if before.is_none() {
        if let Some(because) = of_tox {
            return Some(("tox".to_owned(), because));
        }
        if folder.has("noxfile.py") {
            return Some(("nox".to_owned(), "noxfile.py"));
        }
    }
    let prefix = before.unwrap_or_default();
    if let Some(because) = of_pytest(folder) {
        return Some((format!("{prefix}pytest"), because));
    }
    if folder.has("manage.py") {
        return Some((format!("{prefix}python manage.py test"), "manage.py"));
    }
    let because = folder.first_of(&[PROJECT, "setup.py"])?;
    let is_there = folder.has("tests/") || folder.has("test/");
    is_there.then(|| (format!("{prefix}python -m unittest"), because))
}

fn of_pytest(folder: &Folder) -> Option<&'static str> {
    let by_name = folder.first_of(&["pytest.ini", "conftest.py"]);
    by_name
        .or_else(|| folder.says("tox.ini", "[pytest]").then_some("tox.ini"))
        .or_else(|| NAMING.iter().find(|it| folder.says(it, "pytest")).copied())
}
