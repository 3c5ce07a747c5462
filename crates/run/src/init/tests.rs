use std::collections::BTreeSet;

use pretty_assertions::assert_eq;

use super::text::write;
use super::{Folder, Proposal, candidates, decide};
use crate::settings::{PartialSettings, Settings, file};

/// A folder with these files; a file with a content has it behind a `=`.
fn folder(path: &str, files: &[&str]) -> Folder {
    let mut folder = Folder {
        path: path.to_owned(),
        ..Folder::default()
    };
    for file in files {
        let (name, content) = file.split_once('=').unwrap_or((file, ""));
        folder.entries.insert(name.to_owned());
        folder.contents.insert(name.to_owned(), content.to_owned());
    }
    folder
}

fn proposals(folders: &[Folder], missing: &[&str]) -> Vec<Proposal> {
    let found = candidates(folders);
    let installed: BTreeSet<String> = found
        .iter()
        .flat_map(|it| it.programs().cloned().collect::<Vec<_>>())
        .filter(|program| !missing.contains(&program.as_str()))
        .collect();
    decide(&found, &installed)
}

fn summaries(proposals: &[Proposal]) -> Vec<String> {
    let line = |it: &Proposal| match &it.inactive {
        Some(why) => format!("({}: {}) {why}", it.name, it.run),
        None => format!("{}: {}", it.name, it.run),
    };
    proposals.iter().map(line).collect()
}

#[track_caller]
fn case(files: &[&str], want: &[&str]) {
    assert_eq!(summaries(&proposals(&[folder("", files)], &[])), want);
}

#[test]
fn rust_is_found_with_what_it_is_set_up_for() {
    case(&["Cargo.toml=[package]"], &["tests: cargo test"]);
    case(
        &[
            "Cargo.toml=[workspace]\nmembers = []",
            "clippy.toml",
            "rustfmt.toml",
        ],
        &[
            "tests: cargo test --workspace",
            "lint: cargo clippy --workspace --all-targets -- -D warnings",
            "format: cargo fmt --all --check",
        ],
    );
    case(
        &["Cargo.toml=[lints.clippy]\nall = \"warn\""],
        &[
            "tests: cargo test",
            "lint: cargo clippy --all-targets -- -D warnings",
        ],
    );
}

#[test]
fn scripts_are_run_by_the_manager_of_the_lock_file() {
    let scripts =
        r#"package.json={"scripts":{"test":"vitest run","lint":"eslint .","typecheck":"tsc"}}"#;
    for (lock, want) in [
        (
            "package-lock.json",
            ["npm test", "npm run lint", "npm run typecheck"],
        ),
        (
            "pnpm-lock.yaml",
            ["pnpm test", "pnpm run lint", "pnpm run typecheck"],
        ),
        (
            "yarn.lock",
            ["yarn test", "yarn run lint", "yarn run typecheck"],
        ),
        (
            "bun.lock",
            ["bun run test", "bun run lint", "bun run typecheck"],
        ),
        ("nothing", ["npm test", "npm run lint", "npm run typecheck"]),
    ] {
        let [tests, lint, types] = want;
        let want = [
            format!("tests: {tests}"),
            format!("lint: {lint}"),
            format!("types: {types}"),
        ];
        assert_eq!(
            summaries(&proposals(&[folder("", &[scripts, lock])], &[])),
            want
        );
    }
    let named = r#"package.json={"packageManager":"pnpm@9.1.0","scripts":{"test":"x"}}"#;
    case(&[named, "package-lock.json"], &["tests: pnpm test"]);
}

#[test]
fn scripts_that_check_nothing_or_never_end_are_not_run() {
    let placeholder =
        r#"package.json={"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#;
    case(&[placeholder], &[]);
    case(&["package.json={ not json"], &[]);
    case(&[r#"package.json={"name":"x"}"#], &[]);
    case(
        &[r#"package.json={"scripts":{"test":"jest --watch"}}"#],
        &["(tests: npm test) the script watches and would not end"],
    );
    case(
        &[r#"package.json={"scripts":{"test":"jest --watch=false"}}"#],
        &["tests: npm test"],
    );
    case(
        &[r#"package.json={"scripts":{"test":"react-scripts test"}}"#],
        &["tests: CI=true npm test"],
    );
}

#[test]
fn python_runs_in_its_own_environment() {
    let project = "pyproject.toml=[project]\n[dependency-groups]\ndev = [\"pytest\"]\n";
    case(&[project, "uv.lock"], &["tests: uv run pytest"]);
    case(&[project, "poetry.lock"], &["tests: poetry run pytest"]);
    case(
        &["pyproject.toml=[tool.poetry]\npytest"],
        &["tests: poetry run pytest"],
    );
    case(&[project], &["tests: pytest"]);
    case(&[project, "tox.ini=[tox]\nenvlist = py"], &["tests: tox"]);
    case(
        &[project, "uv.lock", "tox.ini=[tox]"],
        &["tests: uv run pytest"],
    );
    case(&[project, "noxfile.py"], &["tests: nox"]);
    case(&[".venv/bin/pytest"], &["tests: .venv/bin/pytest"]);
    case(
        &["pyproject.toml=[project]", "tests/", "venv/bin/python"],
        &["tests: venv/bin/python -m unittest"],
    );
    case(
        &[project, ".venv/bin/pytest", "ruff.toml", "mypy.ini=\nfiles"],
        &["tests: .venv/bin/pytest", "lint: ruff check", "types: mypy"],
    );
    case(&["requirements.txt=pytest==8\n"], &["tests: pytest"]);
    case(&["requirements.txt=flask\n"], &[]);
    case(
        &["manage.py", "requirements.txt=django"],
        &["tests: python manage.py test"],
    );
    case(&["setup.py", "tests/"], &["tests: python -m unittest"]);
    // Files of tests say by themselves what runs them.
    case(&["test_a.py=import os\ndef test_a():"], &["tests: pytest"]);
    case(&["a_test.py=def test_a():"], &["tests: pytest"]);
    case(
        &["tests/", "pyproject.toml", "tests/test_a.py=import pytest"],
        &["tests: pytest"],
    );
    case(
        &["test_a.py=import unittest\nclass A(unittest.TestCase):\n    def test_a(self):"],
        &["tests: python -m unittest"],
    );
    case(&["app.py=print()"], &[]);
    case(
        &[
            "pyproject.toml=[tool.ruff]\n[tool.mypy]\nfiles = [\"src\"]\n[tool.pytest]",
            "uv.lock",
        ],
        &[
            "tests: uv run pytest",
            "lint: uv run ruff check",
            "types: uv run mypy",
        ],
    );
}

#[test]
fn python_tests_run_without_the_program_that_is_missing() {
    let project = "pyproject.toml=[project]\ndev = [\"pytest\"]\n";
    let missing = |files: &[&str], missing: &[&str]| {
        summaries(&proposals(&[folder("", files)], missing)).join("; ")
    };
    assert_eq!(
        missing(&[project, "uv.lock", ".venv/bin/pytest"], &["uv"]),
        "tests: .venv/bin/pytest"
    );
    assert_eq!(missing(&[project], &["pytest"]), "tests: python3 -m pytest");
    assert_eq!(
        missing(&[project], &["pytest", "python3 -m pytest"]),
        "(tests: pytest) `pytest` was not found in PATH"
    );
}

#[test]
fn javascript_tests_run_with_the_tool_where_no_script_runs_them() {
    let vitest = r#"package.json={"devDependencies":{"vitest":"1"}}"#;
    case(&[vitest], &["tests: npx vitest run"]);
    let watching =
        r#"package.json={"scripts":{"test":"jest --watch"},"devDependencies":{"jest":"1"}}"#;
    case(
        &[watching],
        &[
            "(node tests: npm test) the script watches and would not end",
            "node tests 2: npx jest",
        ],
    );
    let scripted =
        r#"package.json={"scripts":{"test":"vitest run"},"devDependencies":{"vitest":"1"}}"#;
    case(&[scripted], &["tests: npm test"]);
}

#[test]
fn other_languages_are_found_by_their_files() {
    case(&["go.mod"], &["tests: go test ./...", "lint: go vet ./..."]);
    case(
        &["go.mod", ".golangci.yml"],
        &["tests: go test ./...", "lint: golangci-lint run"],
    );
    case(&["gradlew", "build.gradle.kts"], &["tests: ./gradlew test"]);
    case(&["build.gradle"], &["tests: gradle test"]);
    case(&["pom.xml", "mvnw"], &["tests: ./mvnw -B test"]);
    case(&["pom.xml"], &["tests: mvn -B test"]);
    case(&["Shop.sln"], &["tests: dotnet test"]);
    case(&["Shop.csproj"], &["tests: dotnet test"]);
    case(
        &["mix.exs", ".credo.exs"],
        &["tests: mix test", "lint: mix credo"],
    );
    case(&["Gemfile", "spec/"], &["tests: bundle exec rspec"]);
    case(
        &["Gemfile=gem 'rails'", "bin/", "test/", ".rubocop.yml"],
        &["tests: bin/rails test", "lint: bundle exec rubocop"],
    );
    case(
        &["Gemfile", "Rakefile=Rake::TestTask.new"],
        &["tests: bundle exec rake test"],
    );
    case(
        &[r#"composer.json={"scripts":{"test":"phpunit"}}"#],
        &["tests: composer test"],
    );
    case(
        &["composer.json={}", "phpunit.xml.dist", "phpstan.neon"],
        &[
            "tests: vendor/bin/phpunit",
            "lint: vendor/bin/phpstan analyse",
        ],
    );
    case(
        &[r#"deno.json={"tasks":{"test":"x"}}"#],
        &["tests: deno task test"],
    );
    case(&["deno.jsonc=// {\n{}"], &["tests: deno test"]);
    case(&["Package.swift"], &["tests: swift test"]);
    case(&["CMakeLists.txt=project(x)"], &[]);
    case(
        &["CMakeLists.txt=enable_testing()"],
        &[
            "tests: cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure",
        ],
    );
    case(
        &["pubspec.yaml=sdk: flutter", "test/"],
        &["tests: flutter test"],
    );
    case(&[], &[]);
}

#[test]
fn only_targets_that_are_there_are_run() {
    let makefile = "\
Makefile=.PHONY: test lint
check := no
CC = gcc
test lint: build
\tcargo test
build:
\t@echo test:
";
    case(&[makefile], &["tests: make test", "lint: make lint"]);
    case(&["Makefile=all:\n\ttrue\n"], &[]);
    case(&["GNUmakefile=check: all\n"], &["tests: make check"]);
    let justfile = "\
justfile=set shell := [\"bash\"]
test name='all':
    cargo test {{name}}
lint target:
    cargo clippy {{target}}
@typecheck: test
    tsc
";
    case(&[justfile], &["tests: just test", "types: just typecheck"]);
    let taskfile = "Taskfile.yml=version: '3'\ntasks:\n  build:\n    cmds:\n      test: no\n  lint:\n    cmd: x\n";
    case(&[taskfile], &["lint: task lint"]);
}

#[test]
fn a_projects_own_entry_point_comes_before_the_tools_it_calls() {
    let files = ["Makefile=test:\n\tcargo test\n", "Cargo.toml=[package]"];
    assert_eq!(
        summaries(&proposals(&[folder("", &files)], &[])),
        [
            "make tests: make test",
            "(cargo tests: cargo test) `make test` is run already, and usually does this"
        ]
    );
    assert_eq!(
        summaries(&proposals(&[folder("", &files)], &["make"])),
        [
            "(make tests: make test) `make` was not found in PATH",
            "cargo tests: cargo test"
        ]
    );
}

#[test]
fn every_language_of_a_repository_has_its_gates() {
    let folders = [
        folder("", &["Cargo.toml=[workspace]"]),
        folder("crate-a", &["Cargo.toml=[package]"]),
        folder(
            "web",
            &[
                r#"package.json={"scripts":{"test":"x","lint":"y"}}"#,
                "pnpm-lock.yaml",
            ],
        ),
        folder("api", &["go.mod"]),
    ];
    assert_eq!(
        summaries(&proposals(&folders, &["go"])),
        [
            "tests: cargo test --workspace",
            "web tests: cd web && pnpm test",
            "web lint: cd web && pnpm run lint",
            "(api tests: cd api && go test ./...) `go` was not found in PATH",
            "(api lint: cd api && go vet ./...) `go` was not found in PATH",
        ]
    );
    let both = [folder("", &["Cargo.toml=[package]", "go.mod"])];
    assert_eq!(
        summaries(&proposals(&both, &[])),
        [
            "cargo tests: cargo test",
            "go tests: go test ./...",
            "lint: go vet ./..."
        ]
    );
}

/// The page of a repository where everything can happen.
fn page(agents: &[&str]) -> (String, Vec<Proposal>) {
    let folders = [
        folder("", &["Cargo.toml=[workspace]", "clippy.toml"]),
        folder("web", &[r#"package.json={"scripts":{"test":"x"}}"#]),
        folder("api", &["go.mod"]),
    ];
    let gates = proposals(&folders, &["go"]);
    (write(agents, &gates), gates)
}

/// All values, wherever they were given.
fn resolved(text: &str) -> Settings {
    let layer =
        file::parse("ralphtool.toml", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Settings::resolve([layer]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn the_file_means_the_defaults_and_the_gates() {
    let (text, gates) = page(&[]);
    let layer = file::parse("ralphtool.toml", &text).unwrap();
    let settings: Vec<(String, String)> = layer
        .gates
        .iter()
        .flat_map(|gates| &gates.value)
        .map(|gate| (gate.name.clone(), gate.run.clone()))
        .collect();
    let want: Vec<(String, String)> = gates
        .iter()
        .filter(|gate| gate.inactive.is_none())
        .map(|gate| (gate.name.clone(), gate.run.clone()))
        .collect();
    assert_eq!(want.len(), 3);
    assert_eq!(settings, want);
    let rest = PartialSettings {
        gates: None,
        ..layer
    };
    assert_eq!(rest, PartialSettings::default());
    let empty = write(&[], &[]);
    let nothing = file::parse("ralphtool.toml", &empty).unwrap();
    assert_eq!(nothing, PartialSettings::default());
}

#[test]
fn the_only_agent_that_is_there_is_set() {
    let (text, _) = page(&["codex"]);
    assert_eq!(resolved(&text).agent.value.first(), "codex");
    let (text, _) = page(&["codex", "gemini"]);
    assert!(
        text.contains("Detected on this machine: codex, gemini.\n"),
        "{text}"
    );
    assert_eq!(resolved(&text).agent.value.first(), "claude");
}

/// Whether a line is a setting, or the head of a table, that was commented out.
fn is_commented_out(line: &str) -> bool {
    let Some(line) = line.strip_prefix("# ") else {
        return false;
    };
    let key = line.split_once(" = ").map_or("", |(key, _)| key);
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    is_key || line.starts_with('[')
}

#[test]
fn each_line_that_is_commented_out_is_a_setting_with_its_default() {
    let (text, _) = page(&[]);
    let lines: Vec<&str> = text.lines().collect();
    let mut settings = 0;
    let mut place = 0;
    while place < lines.len() {
        let is_head = lines[place].starts_with("# [");
        let block = lines[place..]
            .iter()
            .take_while(|line| is_commented_out(line))
            .count();
        let taken = if is_head { block } else { 1 };
        if !is_commented_out(lines[place]) {
            place += 1;
            continue;
        }
        settings += 1;
        let changed: Vec<String> = lines
            .iter()
            .enumerate()
            .map(|(at, line)| {
                let is_taken = (place..place + taken).contains(&at);
                line.strip_prefix("# ")
                    .filter(|_| is_taken)
                    .unwrap_or(line)
                    .to_owned()
            })
            .collect();
        let got = resolved(&changed.join("\n"));
        if !is_head {
            assert_eq!(values(&got), values(&resolved(&text)), "{}", lines[place]);
        }
        place += taken;
    }
    assert!(settings > 25, "{settings} settings in\n{text}");
}

/// Everything but where it was given.
/// Settings without a default: what the file has for them is an example.
const EXAMPLES: [&str; 4] = ["model", "on_exhausted", "on_blocked", "tamper.roots"];

fn values(settings: &Settings) -> Vec<(String, String)> {
    let lines = settings.lines().into_iter();
    lines
        .map(|(key, value, _)| (key.to_owned(), value))
        .filter(|(key, _)| !EXAMPLES.contains(&key.as_str()))
        .collect()
}

#[test]
fn the_file_reads_well() {
    let (text, _) = page(&["claude", "codex"]);
    insta::assert_snapshot!(text);
}

#[test]
fn no_key_is_left_out() {
    let (text, _) = page(&[]);
    for table in [
        "",
        "[timeouts]",
        "[budget]",
        "[tamper]",
        "[[gate]]",
        "[notify]",
    ] {
        let unknown = format!("{table}\nqqqqqq = 1\n");
        let problem = file::parse("ralphtool.toml", &unknown).unwrap_err();
        let hint = problem.hint.unwrap();
        let known = hint.strip_prefix("known keys: ").unwrap();
        for key in known.split(", ") {
            let is_there = text.lines().any(|line| {
                let line = line.strip_prefix("# ").unwrap_or(line);
                let head = line.trim_start_matches('[');
                line.starts_with(&format!("{key} = ")) || (head != line && head.starts_with(key))
            });
            // Keys of a gate that have no default are only explained.
            let is_explained = table == "[[gate]]" && text.contains(&format!("`{key} = "));
            assert!(
                is_there || is_explained,
                "`{key}` of `{table}` is not in\n{text}"
            );
        }
    }
}
