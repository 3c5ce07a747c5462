//! `ralphtool init` in repositories of several kinds.

use std::fs;

use pretty_assertions::assert_eq;

use crate::sandbox::{Output, Sandbox, files, mode};

/// A repository without any file of ralphtool, and a `PATH` with only git and these programs.
struct Fresh {
    sandbox: Sandbox,
}

impl Fresh {
    fn new(programs: &[&str], files: &[(&str, &str)]) -> Self {
        let sandbox = Sandbox::bare_folder();
        sandbox.git("init -q -b main --template=");
        for (path, text) in files {
            sandbox.write(path, text);
        }
        let tools = sandbox.root.join("tools");
        fs::create_dir(&tools).unwrap();
        for program in programs {
            // It must not be run, whatever it is.
            let script = format!("#!/bin/sh\ntouch '{}/was-run'\n", sandbox.root.display());
            fs::write(tools.join(program), script).unwrap();
            fs::set_permissions(tools.join(program), mode(0o755)).unwrap();
        }
        let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|folder| folder.join("git"))
            .find(|git| git.exists());
        std::os::unix::fs::symlink(found.unwrap(), tools.join("git")).unwrap();
        Self { sandbox }
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = self.sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
        command
            .env("PATH", self.sandbox.root.join("tools"))
            .args(args);
        let output = self.sandbox.start_command(command).end();
        assert!(
            !self.sandbox.root.join("was-run").exists(),
            "something was run"
        );
        output
    }

    /// The gates of the file, as the program itself reads them.
    fn gates(&self) -> Vec<String> {
        let text = self.sandbox.read("ralphtool.toml");
        let lines = text.lines().filter_map(|line| line.strip_prefix("run = "));
        lines
            .map(|line| line.trim_matches('"').to_owned())
            .collect()
    }
}

#[test]
fn init_writes_the_file_once_and_prints_it_any_number_of_times() {
    let fresh = Fresh::new(
        &["cargo", "claude"],
        &[("Cargo.toml", "[package]\nname = \"x\"\n")],
    );
    let before = files(&fresh.sandbox.repo);
    let printed = fresh.run(&["init", "--print"]).ends_with(0);
    assert_eq!(files(&fresh.sandbox.repo), before);
    let told = fresh.run(&["init", "--no-run"]).ends_with(0);
    let written = fresh.sandbox.read("ralphtool.toml");
    assert_eq!(written, printed.stdout);
    assert!(written.contains("\nagent = \"claude\"\n"), "{written}");
    assert_eq!(fresh.gates(), ["cargo test"]);
    for word in ["ralphtool.toml", "claude", "cargo test", "ralphtool doctor"] {
        assert!(told.stdout.contains(word), "{}", told.stdout);
    }

    let refused = fresh.run(&["init"]).ends_with(2);
    let path = fresh.sandbox.repo.join("ralphtool.toml");
    assert!(
        refused.stderr.contains(&path.display().to_string()),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("init --print"),
        "{}",
        refused.stderr
    );
    assert_eq!(fresh.sandbox.read("ralphtool.toml"), written);
    fresh.run(&["init", "--print"]).ends_with(0);
}

#[test]
fn init_runs_each_gate_once_and_says_how_it_went() {
    let sandbox = Sandbox::bare_folder();
    sandbox.git("init -q -b main --template=");
    let makefile = "test:\n\t@echo ran >> ran.log\nlint:\n\t@echo 'x.c:1: bad' && false\n";
    sandbox.write("Makefile", makefile);
    sandbox.write("openspec/changes/c/tasks.md", "## 1. One\n- [ ] 1.1 Do\n");
    let told = sandbox.run(&["init"]).ends_with(0).stdout;
    let line = |start: &str| {
        let found = told.lines().find(|line| line.contains(start));
        found.unwrap_or_else(|| panic!("`{start}` is not in {told}"))
    };
    assert!(line("make test").contains("✓ passed in"), "{told}");
    assert!(line("make lint").contains("✗ failed in"), "{told}");
    assert!(told.contains("x.c:1: bad"), "{told}");
    assert!(told.contains("make it pass, or remove it"), "{told}");
    assert!(told.contains("git add ralphtool.toml"), "{told}");
    assert!(!told.contains("ralphtool new NAME"), "{told}");
    assert_eq!(sandbox.read("ran.log"), "ran\n");
}

#[test]
fn pytest_of_a_virtual_environment_becomes_a_gate_and_is_run() {
    let sandbox = Sandbox::bare_folder();
    sandbox.git("init -q -b main --template=");
    sandbox.write(".venv/bin/pytest", "#!/bin/sh\necho '1 passed'\n");
    fs::set_permissions(sandbox.repo.join(".venv/bin/pytest"), mode(0o755)).unwrap();
    let told = sandbox.run(&["init"]).ends_with(0).stdout;
    let line = told.lines().find(|line| line.contains(".venv/bin/pytest"));
    assert!(line.unwrap().contains("✓ passed in"), "{told}");
}

#[test]
fn the_file_is_in_the_top_folder_and_a_run_takes_it() {
    let fresh = Fresh::new(&["pnpm"], &[("Makefile", "all:\n\ttrue\n")]);
    let web = r#"{"scripts":{"test":"vitest run","lint":"eslint"}}"#;
    fresh.sandbox.write("web/package.json", web);
    fresh.sandbox.write("web/pnpm-lock.yaml", "");
    fresh.sandbox.write("api/go.mod", "module x\n");
    fresh.run(&["-C", "web", "init", "--no-run"]).ends_with(0);
    assert_eq!(
        fresh.gates(),
        ["cd web && pnpm test", "cd web && pnpm run lint"]
    );
    let text = fresh.sandbox.read("ralphtool.toml");
    assert!(text.contains("`go` was not found in PATH"), "{text}");
    assert!(
        text.contains("\n# run = \"cd api && go test ./...\"\n"),
        "{text}"
    );
    assert!(!fresh.sandbox.exists("web/ralphtool.toml"));
    // The doctor reads the file as a run does.
    let told = fresh.run(&["doctor"]);
    assert!(
        told.stdout.contains("the configuration is valid"),
        "{}",
        told.stdout
    );
}

#[test]
fn without_a_repository_or_a_hint_of_tests_it_says_so() {
    let fresh = Fresh::new(&[], &[("notes.txt", "nothing here\n")]);
    let told = fresh.run(&["init", "--no-run"]).ends_with(0);
    assert!(
        told.stdout
            .contains("no gates: the agent's word is the only check"),
        "{}",
        told.stdout
    );
    assert!(
        told.stdout.contains("ralphtool new NAME"),
        "{}",
        told.stdout
    );
    assert_eq!(fresh.gates(), Vec::<String>::new());

    let nowhere = Fresh::new(&[], &[]);
    fs::remove_dir_all(nowhere.sandbox.repo.join(".git")).unwrap();
    let refused = nowhere.run(&["init"]).ends_with(2);
    assert!(refused.stderr.contains("git init"), "{}", refused.stderr);
    assert_eq!(fs::read_dir(&nowhere.sandbox.repo).unwrap().count(), 0);
}

#[test]
fn doctor_and_loop_suggest_init_once_without_configuration() {
    let fresh = Fresh::new(&["cargo"], &[("Cargo.toml", "[package]\n")]);
    let sandbox = &fresh.sandbox;
    sandbox.tasks("## 1. One\n- [ ] 1.1 Do\n");
    sandbox.git("add -A");
    sandbox.git("commit -q -m first");
    let hints = |text: &str| text.matches("`ralphtool init`").count();
    assert_eq!(hints(&fresh.run(&["doctor"]).stdout), 1);
    let demo = ["loop", "c", "--agent", "demo"];
    let told = sandbox.run(&demo).ends_with(0);
    assert_eq!(
        (hints(&told.stdout), hints(&told.stderr)),
        (0, 1),
        "{}",
        told.stderr
    );
    sandbox.run(&["finish", "--abandon"]).ends_with(0);

    fresh.run(&["init", "--no-run"]).ends_with(0);
    assert_eq!(hints(&fresh.run(&["doctor"]).stdout), 0);
    // A configuration without gates is a choice: no hint.
    sandbox.write("ralphtool.toml", "");
    let told = sandbox.run(&demo).ends_with(0);
    assert_eq!(hints(&told.stderr), 0, "{}", told.stderr);
}
