//! The table of what a repository's files say about how it is checked.

use serde_json::Value;

use super::Kind::{Format, Lint, Tests, Types};
use super::{Candidate, Fallback, Folder, Kind};

/// A command, and what a folder must have for it to be proposed.
struct Rule {
    /// Of the rules with the same tool and kind, the first that applies wins.
    tool: &'static str,
    kind: Kind,
    /// The shell line; `{python}` stands for what runs a command in the project's environment.
    run: &'static str,
    /// Every need must be met, and the file that meets the first is given as the reason.
    ///
    /// A need is a list of alternatives, separated by `|`; with a `!` in front none of them may be
    /// there. `name` is a file, `name/` a folder, `*.ending` any file with that ending, `name~text`
    /// and `*.ending~text` a file that contains the text, and `name#/pointer` a JSON file with a
    /// value there.
    needs: &'static [&'static str],
}

const fn rule(
    tool: &'static str,
    kind: Kind,
    run: &'static str,
    needs: &'static [&'static str],
) -> Rule {
    Rule {
        tool,
        kind,
        run,
        needs,
    }
}

const CLIPPY: &str =
    "clippy.toml|.clippy.toml|Cargo.toml~[lints.clippy|Cargo.toml~[workspace.lints.clippy";
const CTEST: &str =
    "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure";
const DENO: &str = "deno.json|deno.jsonc";
const GOLANGCI: &str = ".golangci.yml|.golangci.yaml|.golangci.toml|.golangci.json";
const GRADLE: &str = "build.gradle|build.gradle.kts|settings.gradle|settings.gradle.kts";
const PYTEST: &str = "pytest.ini|conftest.py|tox.ini~[pytest]|pyproject.toml~pytest|\
    setup.cfg~pytest|requirements.txt~pytest|requirements-dev.txt~pytest|\
    dev-requirements.txt~pytest|Pipfile~pytest|.venv/bin/pytest|venv/bin/pytest|\
    *.py~import pytest|*.py~\ndef test_";
const VITEST: &str = "vitest.config.ts|vitest.config.js|vitest.config.mts|vitest.config.mjs|\
    package.json#/devDependencies/vitest|package.json#/dependencies/vitest";
const JEST: &str = "jest.config.ts|jest.config.js|jest.config.cjs|jest.config.mjs|\
    package.json#/jest|package.json#/devDependencies/jest|package.json#/dependencies/jest";
const TOX: &str = "tox.ini~[tox]|tox.ini~[testenv|pyproject.toml~[tool.tox";

/// Where a virtual environment of Python has its programs.
pub(super) const VIRTUAL_ENVIRONMENTS: [&str; 2] = [".venv/bin/", "venv/bin/"];

/// Stands for what runs a command in the project's environment.
const PYTHON: &str = "{python}";

/// Who manages a Python environment, and what comes before a command then.
const PYTHON_MANAGERS: &[(&str, &str)] = &[
    ("uv.lock", "uv run "),
    ("poetry.lock", "poetry run "),
    ("pdm.lock", "pdm run "),
    ("Pipfile.lock|Pipfile", "pipenv run "),
    ("pyproject.toml~[tool.uv", "uv run "),
    ("pyproject.toml~[tool.poetry", "poetry run "),
];
/// None of them: a tool that makes an environment of its own comes first then.
const NO_PYTHON_MANAGER: &str = "!uv.lock|poetry.lock|pdm.lock|Pipfile.lock|Pipfile|\
    pyproject.toml~[tool.uv|pyproject.toml~[tool.poetry";

#[rustfmt::skip]
const RULES: &[Rule] = &[
    // Without `--workspace` only the package in the top folder would be tested.
    rule("cargo", Tests, "cargo test --workspace", &["Cargo.toml~[workspace"]),
    rule("cargo", Tests, "cargo test", &["Cargo.toml"]),
    rule("cargo", Lint, "cargo clippy --workspace --all-targets -- -D warnings", &[CLIPPY, "Cargo.toml~[workspace"]),
    rule("cargo", Lint, "cargo clippy --all-targets -- -D warnings", &[CLIPPY, "Cargo.toml"]),
    rule("cargo", Format, "cargo fmt --all --check", &["rustfmt.toml|.rustfmt.toml", "Cargo.toml"]),
    rule("go", Tests, "go test ./...", &["go.mod"]),
    rule("go", Lint, "golangci-lint run", &[GOLANGCI, "go.mod"]),
    rule("go", Lint, "go vet ./...", &["go.mod"]),
    rule("gradle", Tests, "./gradlew test", &["gradlew"]),
    rule("gradle", Tests, "gradle test", &[GRADLE]),
    rule("maven", Tests, "./mvnw -B test", &["mvnw", "pom.xml"]),
    rule("maven", Tests, "mvn -B test", &["pom.xml"]),
    rule("dotnet", Tests, "dotnet test", &["*.sln|*.slnx|*.csproj|*.fsproj"]),
    rule("mix", Tests, "mix test", &["mix.exs"]),
    rule("mix", Lint, "mix credo", &[".credo.exs", "mix.exs"]),
    rule("swift", Tests, "swift test", &["Package.swift"]),
    rule("zig", Tests, "zig build test", &["build.zig"]),
    rule("sbt", Tests, "sbt test", &["build.sbt"]),
    rule("dune", Tests, "dune test", &["dune-project"]),
    rule("stack", Tests, "stack test", &["stack.yaml"]),
    rule("cabal", Tests, "cabal test all", &["cabal.project"]),
    rule("lein", Tests, "lein test", &["project.clj"]),
    rule("bazel", Tests, "bazel test //...", &["MODULE.bazel"]),
    rule("cmake", Tests, CTEST, &["CMakeLists.txt~enable_testing(|CMakeLists.txt~include(CTest)"]),
    rule("dart", Tests, "flutter test", &["pubspec.yaml~sdk: flutter", "test/"]),
    rule("dart", Tests, "dart test", &["pubspec.yaml", "test/"]),
    rule("deno", Tests, "deno task test", &["deno.json#/tasks/test|deno.jsonc#/tasks/test"]),
    rule("deno", Tests, "deno test", &[DENO]),
    rule("deno", Lint, "deno task lint", &["deno.json#/tasks/lint|deno.jsonc#/tasks/lint"]),
    rule("deno", Lint, "deno lint", &["deno.json#/lint|deno.jsonc#/lint"]),
    rule("node", Tests, "npx vitest run", &[VITEST, "package.json"]),
    rule("node", Tests, "npx jest", &[JEST, "package.json"]),
    rule("python", Tests, "tox", &[TOX, NO_PYTHON_MANAGER]),
    rule("python", Tests, "nox", &["noxfile.py", NO_PYTHON_MANAGER]),
    rule("python", Tests, "{python}pytest", &[PYTEST]),
    rule("python", Tests, "{python}python manage.py test", &["manage.py"]),
    rule("python", Tests, "{python}python -m unittest", &["*.py~unittest"]),
    rule("python", Tests, "{python}python -m unittest", &["pyproject.toml|setup.py", "tests/|test/"]),
    rule("python", Lint, "{python}ruff check", &["ruff.toml|.ruff.toml|pyproject.toml~[tool.ruff"]),
    // Without a list of files, mypy needs to be given paths.
    rule("python", Types, "{python}mypy", &["mypy.ini~\nfiles"]),
    rule("python", Types, "{python}mypy", &["pyproject.toml~[tool.mypy", "pyproject.toml~\nfiles"]),
    rule("ruby", Tests, "bundle exec rspec", &[".rspec|Gemfile", ".rspec|spec/", "Gemfile"]),
    rule("ruby", Tests, "bin/rails test", &["Gemfile~rails", "bin/", "test/"]),
    rule("ruby", Tests, "bundle exec rake test", &["Rakefile~TestTask|Rakefile~task :test", "Gemfile"]),
    rule("ruby", Lint, "bundle exec rubocop", &[".rubocop.yml", "Gemfile"]),
    rule("php", Tests, "composer test", &["composer.json#/scripts/test"]),
    rule("php", Tests, "vendor/bin/pest", &["composer.json~pestphp/pest"]),
    rule("php", Tests, "vendor/bin/phpunit", &["phpunit.xml|phpunit.xml.dist|phpunit.dist.xml", "composer.json"]),
    rule("php", Lint, "vendor/bin/phpstan analyse", &["phpstan.neon|phpstan.neon.dist", "composer.json"]),
];

/// The commands of a folder that the table knows.
pub(super) fn find(folder: &Folder) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for rule in RULES {
        let is_known = |it: &Candidate| it.tool == rule.tool && it.kind == rule.kind;
        if found.iter().any(is_known) {
            continue;
        }
        let files: Option<Vec<&str>> = rule.needs.iter().map(|need| meets(folder, need)).collect();
        let Some(because) = files.and_then(|files| files.first().copied()) else {
            continue;
        };
        let run = |prefix: &str| rule.run.replace(PYTHON, prefix);
        let candidate =
            |prefix: &str| Candidate::new(folder, rule.tool, rule.kind, run(prefix), because);
        let Some(command) = rule.run.strip_prefix(PYTHON) else {
            found.push(candidate(""));
            continue;
        };
        let environment = virtual_environment(folder, command);
        let prefix = python_manager(folder).or(environment).unwrap_or("");
        found.push(Candidate {
            fallback: fallback(command, environment),
            ..candidate(prefix)
        });
    }
    found
}

/// What runs a Python command where the manager of its environment, or the program, is missing.
fn fallback(command: &str, environment: Option<&str>) -> Option<Fallback> {
    if let Some(environment) = environment {
        return Some(Fallback {
            run: format!("{environment}{command}"),
            program: None,
        });
    }
    let (program, arguments) = command.split_once(' ').unwrap_or((command, ""));
    let module = format!("python3 -m {program}");
    (program != "python").then(|| Fallback {
        run: format!("{module} {arguments}").trim_end().to_owned(),
        program: Some(module),
    })
}

/// The virtual environment in the folder that has the program of a command.
fn virtual_environment(folder: &Folder, command: &str) -> Option<&'static str> {
    let program = command.split(' ').next().unwrap_or(command);
    VIRTUAL_ENVIRONMENTS
        .into_iter()
        .find(|bin| folder.entries.contains(&format!("{bin}{program}")))
}

/// Whether a file is named as Python's test runners expect it.
pub(super) fn is_python_test(name: &str) -> bool {
    let stem = name.strip_suffix(".py");
    stem.is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
}

/// Whether a rule reads files of this name.
pub(super) fn reads(name: &str) -> bool {
    if is_python_test(name) {
        return true;
    }
    let managers = PYTHON_MANAGERS.iter().map(|(need, _)| need);
    let needs = RULES.iter().flat_map(|rule| rule.needs).chain(managers);
    needs.flat_map(|need| need.split('|')).any(|it| {
        let rest = it.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(['~', '#']))
    })
}

fn python_manager(folder: &Folder) -> Option<&'static str> {
    let found = PYTHON_MANAGERS
        .iter()
        .find(|(need, _)| meets(folder, need).is_some());
    found.map(|(_, prefix)| *prefix)
}

/// The file that meets a need; empty where it is met because a file is missing.
fn meets<'a>(folder: &'a Folder, need: &str) -> Option<&'a str> {
    if let Some(unwanted) = need.strip_prefix('!') {
        return meets(folder, unwanted).is_none().then_some("");
    }
    need.split('|')
        .find_map(|it| {
            if let Some(ending) = it.strip_prefix('*') {
                let (ending, text) = ending.split_once('~').unwrap_or((ending, ""));
                let mut entries = folder.entries.iter();
                return entries.find(|name| name.ends_with(ending) && has(folder, name, text));
            }
            if let Some((name, text)) = it.split_once('~') {
                return folder.entry(name).filter(|name| has(folder, name, text));
            }
            if let Some((name, pointer)) = it.split_once('#') {
                return folder.entry(name).filter(|name| {
                    let value = serde_json::from_str::<Value>(folder.content(name));
                    value.is_ok_and(|value| value.pointer(pointer).is_some())
                });
            }
            folder.entry(it)
        })
        .map(String::as_str)
}

/// Whether a file contains a text; a line break at its start stands for the start of a line.
fn has(folder: &Folder, name: &str, text: &str) -> bool {
    let content = folder.content(name);
    let at_start = text.strip_prefix('\n');
    content.contains(text) || at_start.is_some_and(|text| content.starts_with(text))
}
