use pretty_assertions::assert_eq;

use super::line::{Program, checks_nothing, first_programs, hidden_by_pipe};
use super::*;

#[test]
fn the_programs_of_a_line_are_known_only_where_they_surely_run() {
    let cases: &[(&str, &[Program<'_>])] = &[
        ("cargo test", &[Program::Name("cargo")]),
        ("  CI=1 RUST_LOG=a=b cargo test", &[Program::Name("cargo")]),
        ("npm ci && npx vitest", &[Program::Name("npm")]),
        ("cd web && vitest run", &[Program::Name("vitest")]),
        ("cd web && cd app && vitest", &[Program::Name("vitest")]),
        ("./check.sh", &[Program::Path("./check.sh")]),
        ("/opt/check", &[Program::Path("/opt/check")]),
        ("pytest \"a b\"", &[Program::Name("pytest")]),
        // All programs of a pipe run, and a condition hides that one is missing.
        (
            "pytest -q -k 'a | b' 2>&1 | tail -5",
            &[Program::Name("pytest"), Program::Name("tail")],
        ),
        (
            "CI=1 ./check.sh >log |& tee x | grep ok && true",
            &[
                Program::Path("./check.sh"),
                Program::Name("tee"),
                Program::Name("grep"),
            ],
        ),
        ("! missing", &[Program::Name("missing")]),
        (
            "if missing -q; then exit 1; fi",
            &[Program::Name("missing")],
        ),
        ("if ! missing; then true; fi", &[Program::Name("missing")]),
        (
            "set -o pipefail; missing | tail",
            &[Program::Name("missing"), Program::Name("tail")],
        ),
        // A missing program does not make these fail, or not by itself.
        ("missing || true", &[]),
        ("missing; true", &[]),
        ("missing & wait", &[]),
        ("missing\ntrue", &[]),
        // What it is, only the shell knows.
        ("PATH=.venv/bin pytest", &[]),
        ("PATH=.venv/bin pytest | tail", &[]),
        ("$PYTHON -m pytest", &[]),
        ("\"my tool\" x", &[]),
        ("~/bin/check", &[]),
        ("(cd web && missing)", &[]),
        ("{ missing", &[]),
        ("missing $(cat args) | tail", &[]),
        ("missing <<END", &[]),
        ("missing \"a", &[]),
        ("# nothing", &[]),
        ("cd web && ./check.sh", &[]),
        ("cd web", &[]),
        ("A=1", &[]),
        ("", &[]),
    ];
    for (line, want) in cases {
        assert_eq!(first_programs(line), *want, "{line}");
    }
}

#[test]
fn a_pipe_hides_how_the_command_before_it_ended() {
    let cases = [
        ("pytest -q 2>&1 | tail -5", Some("pytest -q")),
        ("cd web && npm test | tee log", Some("npm test")),
        ("if ! make check | cat; then exit 1; fi", Some("make check")),
        ("(cd web && npm test | tail)", Some("npm test")),
        ("lint\nnpm test | tail", Some("npm test")),
        ("pytest -q -k 'a | b'", None),
        ("a || b", None),
        ("set -o pipefail; pytest | tail", None),
        ("bash -o pipefail -c 'pytest | tail'", None),
        ("case $1 in a|b) true;; esac", None),
        ("test \"$(a | b)\" = c", None),
    ];
    for (line, want) in cases {
        assert_eq!(hidden_by_pipe(line).as_deref(), want, "{line}");
    }
}

/// A repository with a script, a local environment and a folder of programs for `PATH`.
struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    fn new() -> Self {
        let tree = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        for program in ["bin/lint", "repo/check.sh", "repo/.venv/bin/pytest"] {
            tree.program(program);
        }
        tree
    }

    fn program(&self, path: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let file = self.folder.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn check(&self, path: &str, line: &str) -> Result<Readiness, CannotRun> {
        let root = self.folder.path().join("repo");
        let path = path.replace("TREE", &self.folder.path().display().to_string());
        let place = GatePlace {
            root: &root,
            environment: &[
                ("SHELL".into(), "/bin/sh".into()),
                ("PATH".into(), path.into()),
            ],
        };
        place.check(line)
    }

    fn at(&self, path: &str) -> Readiness {
        Readiness::Program(self.folder.path().join(path))
    }
}

#[test]
fn a_line_is_refused_only_if_it_surely_fails() {
    let tree = Tree::new();
    let not_found = |program: &str, local: Option<&str>| {
        Err(CannotRun::NotFound {
            program: program.to_owned(),
            local: local.map(str::to_owned),
        })
    };
    let cases = [
        ("lint --all", Ok(tree.at("bin/lint"))),
        ("./check.sh", Ok(tree.at("repo/./check.sh"))),
        ("exit 3", Ok(Readiness::Unknown)),
        ("test -e a && missing", Ok(Readiness::Unknown)),
        ("./later.sh", Ok(Readiness::NotYet("./later.sh".to_owned()))),
        ("missing || true", Ok(Readiness::Unknown)),
        ("lint 2>&1 | lint -q", Ok(tree.at("bin/lint"))),
        (
            "lint | ./later.sh",
            Ok(Readiness::NotYet("./later.sh".to_owned())),
        ),
        ("pytset -q 2>&1 | tail -5", not_found("pytset", None)),
        ("lint | pytset", not_found("pytset", None)),
        ("if pytset; then exit 1; fi", not_found("pytset", None)),
        ("! pytset", not_found("pytset", None)),
        ("pytset -q", not_found("pytset", None)),
        ("cd web && pytset", not_found("pytset", None)),
        ("pytest -q", not_found("pytest", Some(".venv/bin/pytest"))),
        ("/no/such/program x", not_found("/no/such/program", None)),
    ];
    for (line, want) in cases {
        assert_eq!(tree.check("TREE/bin", line), want, "{line}");
    }
}

#[test]
fn a_program_that_a_story_may_install_in_the_path_is_not_refused() {
    let tree = Tree::new();
    for path in ["TREE/bin:TREE/repo/tools", "TREE/bin:tools", "TREE/bin:"] {
        let want = Ok(Readiness::NotYet("pytset".to_owned()));
        assert_eq!(tree.check(path, "pytset -q"), want, "{path}");
    }
}

#[test]
fn a_line_that_the_shell_does_not_understand_is_refused() {
    let tree = Tree::new();
    let checked = tree.check("TREE/bin", "lint && (echo 'a b'");
    assert!(matches!(checked, Err(CannotRun::Syntax(_))), "{checked:?}");
    let fine = tree.check("TREE/bin", "for f in *; do lint \"$f\" || exit 1; done");
    assert_eq!(fine, Ok(Readiness::Unknown));
    let multi_line = tree.check("TREE/bin", "if true\nthen (lint\n");
    assert_eq!(multi_line, Ok(Readiness::Unknown));
}

#[test]
fn the_users_shell_is_used_if_it_can_be_run() {
    let of = |own: &str| shell(&[("SHELL".into(), own.into())]);
    assert_eq!(of("/bin/sh"), "/bin/sh");
    assert_eq!(of("/no/such/shell"), "sh");
    assert_eq!(shell(&[]), "sh");
}

#[test]
fn a_line_that_cannot_fail_checks_nothing() {
    for line in [
        "true",
        ":",
        "echo ok",
        "exit 0",
        "sleep 1 && echo \"tests pass\"",
        "CI=1; true",
        "cargo test || true",
        "cargo test; true",
        "cargo test;exit 0;",
        "cargo clippy && cargo test || echo red",
        "cargo test\ntrue\n",
    ] {
        assert!(checks_nothing(line), "{line}");
    }
    for line in [
        "",
        "cargo test",
        "test -f a && echo ok",
        "cargo test || exit 1",
        "cargo test || exit 1; echo ok",
        "cargo test || { echo red; exit 1; }",
        "cargo test || echo red && false",
        "set -e; cargo test; true",
        "if cargo test; then true; else false; fi",
        "cargo test | tee log",
        "(cargo test) ; (true)",
        "echo $(cargo test)",
        "exit",
        "exit 1",
        "true-check",
        "! true",
    ] {
        assert!(!checks_nothing(line), "{line}");
    }
}
