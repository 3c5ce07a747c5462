use pretty_assertions::assert_eq;

use super::line::{First, first_program};
use super::*;

#[test]
fn the_program_of_a_line_is_known_only_where_it_surely_runs() {
    let cases = [
        ("cargo test", First::Name("cargo")),
        ("  CI=1 RUST_LOG=a=b cargo test", First::Name("cargo")),
        ("npm ci && npx vitest", First::Name("npm")),
        ("cd web && vitest run", First::Name("vitest")),
        ("cd web && cd app && vitest", First::Name("vitest")),
        ("./check.sh", First::Path("./check.sh")),
        ("/opt/check", First::Path("/opt/check")),
        ("pytest \"a b\"", First::Name("pytest")),
        // A missing program does not make these fail, or not by itself.
        ("missing || true", First::Unknown),
        ("missing | tee log", First::Unknown),
        ("missing; true", First::Unknown),
        ("missing & wait", First::Unknown),
        ("missing\ntrue", First::Unknown),
        // What it is, only the shell knows.
        ("PATH=.venv/bin pytest", First::Unknown),
        ("$PYTHON -m pytest", First::Unknown),
        ("\"my tool\" x", First::Unknown),
        ("~/bin/check", First::Unknown),
        ("(cd web && missing)", First::Unknown),
        ("{ missing", First::Unknown),
        ("! missing", First::Unknown),
        ("# nothing", First::Unknown),
        ("cd web && ./check.sh", First::Unknown),
        ("cd web", First::Unknown),
        ("A=1", First::Unknown),
        ("", First::Unknown),
    ];
    for (line, want) in cases {
        assert_eq!(first_program(line), want, "{line}");
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
