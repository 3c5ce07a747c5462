//! The plan's text, what is checked, and where things are.

use pretty_assertions::assert_eq;

use super::*;

const TASKS: &str =
    "## 1. One\n\n- [ ] 1.1 Write it\n- [ ] 1.2 Test it\n\n## 2. Two\n\n- [x] 2.1 More\n";

#[track_caller]
fn specs_say(changed: &[ChangedPath], want: &[&str]) {
    assert_eq!(messages_of(TamperCheck::Specs, &watch(), changed), want);
}

#[test]
fn the_text_of_the_plan_stays() {
    specs_say(
        &[edited(
            "plan/add/proposal.md",
            "It must be fast.\n",
            "It may be fast.\n",
        )],
        &["the plan's text was edited: `plan/add/proposal.md`"],
    );
    specs_say(
        &[deleted("plan/add/specs/api/spec.md", "x")],
        &["documents of the plan were removed: `plan/add/specs/api/spec.md`"],
    );
    // Blanks, line ends and boxes are no text.
    specs_say(
        &[edited(
            "plan/add/proposal.md",
            "It\r\n- [ ] a\n",
            "It  \n\n- [x] a",
        )],
        &[],
    );
    specs_say(&[added("plan/add/notes.md", "x")], &[]);
    specs_say(&[edited("docs/proposal.md", "a", "b")], &[]);
}

#[test]
fn a_task_file_may_gain_ticks_and_notes_and_lose_nothing() {
    #[track_caller]
    fn case(after: &str, want: Option<&str>) {
        let want = want.map(|line| {
            format!("text of the task file `plan/add/tasks.md` was changed or removed: {line}")
        });
        let want: Vec<&str> = want.iter().map(String::as_str).collect();
        specs_say(&[edited("plan/add/tasks.md", TASKS, after)], &want);
    }
    case(&TASKS.replace("[ ]", "[x]"), None);
    case(&TASKS.replace("[x]", "[ ]"), None);
    case(
        &TASKS.replace("1.1 Write it", "1.1 Write it (in `a.rs`)"),
        None,
    );
    case(
        &TASKS.replace("- [ ] 1.2", "  Note: done.\n- [ ] 1.2"),
        None,
    );
    case(&format!("{TASKS}- [ ] 2.2 Even more\n"), None);
    case(
        &TASKS.replace("Test it", "Skip it"),
        Some("`- [ ] 1.2 Test it`"),
    );
    case(
        &TASKS.replace("Write it", "Write items"),
        Some("`- [ ] 1.1 Write it`"),
    );
    case(&TASKS.replace("## 2. Two\n", ""), Some("`## 2. Two`"));
    case("", Some("`## 1. One` and 4 more"));
}

#[test]
fn a_plan_in_json_may_only_say_how_it_stands() {
    let mut watch = watch();
    watch.task_files.insert("prd.json".to_owned());
    let before = r#"{"userStories": [{"id": "1", "title": "A", "passes": false}]}"#;
    let messages_of = |after: &str| {
        messages_of(
            TamperCheck::Specs,
            &watch,
            &[edited("prd.json", before, after)],
        )
    };
    let nothing: Vec<String> = Vec::new();
    assert_eq!(
        messages_of(
            "{\n \"userStories\": [{\"id\": \"1\", \"title\": \"A\", \"passes\": true, \"notes\": \"x\"}]}"
        ),
        nothing
    );
    let lost = |what: &str| {
        vec![format!(
            "text of the task file `prd.json` was changed or removed: `{what}`"
        )]
    };
    assert_eq!(
        messages_of(r#"{"userStories": [{"id": "1", "title": "B", "passes": true}]}"#),
        lost("userStories[0].title")
    );
    assert_eq!(
        messages_of(r#"{"userStories": []}"#),
        lost("userStories[0]")
    );
    assert_eq!(messages_of("{"), lost("it is no longer valid JSON"));
}

#[track_caller]
fn config_says(gates: &[&str], changed: &[ChangedPath], want: &[&str]) {
    let lines: Vec<String> = gates.iter().map(|&line| line.to_owned()).collect();
    let watch = Watch {
        gates: Gates::new(&lines),
        ..watch()
    };
    let found = check(&watch, changed).into_iter();
    let found: Vec<String> = found
        .filter(|finding| finding.check == TamperCheck::Config)
        .flat_map(|finding| finding.paths)
        .collect();
    assert_eq!(found, want, "{gates:?}");
}

#[test]
fn the_configuration_of_ralphtool_and_of_the_ci_stays_whatever_the_gates_are() {
    config_says(
        &[],
        &[edited("ralphtool.toml", "a", "b")],
        &["ralphtool.toml"],
    );
    config_says(&[], &[added("ralphtool.toml", "b")], &["ralphtool.toml"]);
    config_says(
        &[],
        &[edited(".github/workflows/ci.yml", "a", "b")],
        &[".github/workflows/ci.yml"],
    );
    config_says(&[], &[added(".github/workflows/ci.yml", "b")], &[]);
    config_says(&[], &[edited("Makefile", "a", "b")], &[]);
}

#[test]
fn what_a_gate_runs_stays() {
    let check = || edited("scripts/check.sh", "a", "b");
    config_says(
        &["./scripts/check.sh --fast"],
        &[check()],
        &["scripts/check.sh"],
    );
    config_says(
        &["cd scripts && sh check.sh"],
        &[check()],
        &["scripts/check.sh"],
    );
    config_says(&["cargo test"], &[check()], &[]);
    config_says(&["./check"], &[edited("check", "a", "b")], &["check"]);
    config_says(
        &["./scripts/ci"],
        &[edited("scripts/ci", "a", "b")],
        &["scripts/ci"],
    );
    config_says(&["echo check"], &[edited("check", "a", "b")], &[]);
    config_says(
        &["python tools/verify.py"],
        &[edited("tools/verify.py", "a", "b")],
        &["tools/verify.py"],
    );
    // The work itself, and its tests, are what a gate checks.
    config_says(&["python main.py"], &[edited("main.py", "a", "b")], &[]);
    config_says(
        &["pytest tests/test_a.py"],
        &[edited("tests/test_a.py", "a", "b")],
        &[],
    );
    config_says(&["sh check.sh"], &[added("check.sh", "b")], &[]);
    config_says(&["sh check.sh"], &[deleted("check.sh", "b")], &["check.sh"]);
}

#[test]
fn files_that_tools_go_by_count_where_a_gate_runs_the_tool() {
    let makefile = || edited("Makefile", "test:\n\tcargo test\n", "test:\n\ttrue\n");
    config_says(&["make test"], &[makefile()], &["Makefile"]);
    config_says(&["cargo test"], &[makefile()], &[]);
    config_says(
        &["just check"],
        &[edited("justfile", "a", "b")],
        &["justfile"],
    );
    config_says(
        &["uv run pytest"],
        &[edited("pytest.ini", "a", "b")],
        &["pytest.ini"],
    );
    config_says(
        &["make check"],
        &[edited(".eslintrc.json", "{}", "[]")],
        &[".eslintrc.json"],
    );
    config_says(
        &["npm test"],
        &[edited("web/jest.config.ts", "a", "b")],
        &["web/jest.config.ts"],
    );
    config_says(&["npm test"], &[added("jest.config.ts", "b")], &[]);
    config_says(
        &["./gradlew test"],
        &[edited(
            "build.gradle",
            "test {}",
            "test { ignoreFailures = true }",
        )],
        &["build.gradle"],
    );
    config_says(
        &["./gradlew test"],
        &[edited("build.gradle", "a", "b")],
        &[],
    );
    config_says(
        &["mvn test"],
        &[edited(
            "pom.xml",
            "<a/>",
            "<maven.test.skip>true</maven.test.skip>",
        )],
        &["pom.xml"],
    );
}

#[test]
fn of_a_file_with_many_things_only_what_is_checked_counts() {
    let package = |scripts: &str, version: &str| {
        format!(r#"{{"scripts": {{"test": "{scripts}"}}, "dependencies": {{"a": "{version}"}}}}"#)
    };
    let before = package("jest", "1");
    config_says(
        &["npm test"],
        &[edited("package.json", &before, &package("jest", "2"))],
        &[],
    );
    config_says(
        &["npm test"],
        &[edited("package.json", &before, &package("true", "1"))],
        &["package.json"],
    );
    let cargo = "[package]\nname = \"a\"\n[lints.clippy]\nall = \"deny\"\n";
    let dependency = format!("{cargo}[dependencies]\nb = \"1\"\n");
    config_says(
        &["cargo test"],
        &[edited("Cargo.toml", cargo, &dependency)],
        &[],
    );
    config_says(
        &["cargo clippy"],
        &[edited("Cargo.toml", cargo, &cargo.replace("deny", "allow"))],
        &["Cargo.toml"],
    );
    let project = "[project]\nname = \"a\"\n[tool.pytest.ini_options]\naddopts = \"\"\n";
    config_says(
        &["pytest"],
        &[edited(
            "pyproject.toml",
            project,
            &project.replace("\"a\"", "\"b\""),
        )],
        &[],
    );
    config_says(
        &["pytest"],
        &[edited(
            "pyproject.toml",
            project,
            &project.replace("\"\"", "\"-k x\""),
        )],
        &["pyproject.toml"],
    );
    let setup = "[metadata]\nname = a\n[tool:pytest]\naddopts =\n";
    config_says(
        &["pytest"],
        &[edited("setup.cfg", setup, &setup.replace("= a", "= b"))],
        &[],
    );
    config_says(
        &["pytest"],
        &[edited(
            "setup.cfg",
            setup,
            &setup.replace("addopts =", "addopts = -x"),
        )],
        &["setup.cfg"],
    );
}

#[track_caller]
fn outside_says(watch: &Watch, changed: &[ChangedPath], want: &[&str]) {
    assert_eq!(messages_of(TamperCheck::Outside, watch, changed), want);
}

#[test]
fn with_roots_work_is_expected_in_them_and_in_the_plan() {
    let watch = Watch {
        roots: vec!["./src/".to_owned(), "Cargo.toml".to_owned()],
        ..watch()
    };
    outside_says(
        &watch,
        &[
            edited("src/a.rs", "", "b"),
            edited("Cargo.toml", "", "b"),
            edited("plan/add/tasks.md", "", "b"),
            added("plan/add/notes.md", "b"),
        ],
        &[],
    );
    outside_says(
        &watch,
        &[
            added("srcs/a.rs", ""),
            deleted("docs/a.md", ""),
            edited("plan/other/tasks.md", "", "b"),
        ],
        &["changed outside the roots: `docs/a.md`, `plan/other/tasks.md`, `srcs/a.rs`"],
    );
    let everywhere = Watch {
        roots: vec![".".to_owned()],
        ..watch
    };
    outside_says(&everywhere, &[added("srcs/a.rs", "")], &[]);
}

#[test]
fn without_roots_new_names_at_the_top_are_reported() {
    let one = &["new at the top of the repository: `notes.txt`"];
    outside_says(&watch(), &[added("notes.txt", "")], one);
    outside_says(
        &watch(),
        &[added("tmp/a/b.txt", ""), added("tmp/c.txt", "")],
        &["new at the top of the repository: `tmp`"],
    );
    outside_says(
        &watch(),
        &[
            added("src/deep/new.rs", ""),
            added("docs/a.md", ""),
            added("README.md", ""),
            added(".gitignore", ""),
            added("Cargo.lock", ""),
            added("vite.config.ts", ""),
            edited("Cargo.toml", "a", "b"),
            deleted("old.txt", ""),
        ],
        &[],
    );
}

#[test]
fn where_code_is_at_the_top_more_of_it_may_come() {
    let flat = Watch {
        tops: BTreeSet::from(["plan", "main.go", "README.md"].map(str::to_owned)),
        ..watch()
    };
    outside_says(&flat, &[added("util.go", "")], &[]);
    outside_says(
        &flat,
        &[added("SUMMARY.md", ""), added("go", "")],
        &["new at the top of the repository: `SUMMARY.md`, `go`"],
    );
}

#[test]
fn a_repository_without_code_may_get_its_first() {
    let empty = Watch {
        tops: BTreeSet::from(["plan", "README.md", ".gitignore"].map(str::to_owned)),
        ..watch()
    };
    outside_says(
        &empty,
        &[added("hello.py", ""), added("game/a.py", "")],
        &[],
    );
}

#[test]
fn a_link_may_not_lead_out_of_the_tree() {
    #[track_caller]
    fn case(path: &str, target: &str, is_out: bool) {
        let link = ChangedPath {
            link: Some(target.to_owned()),
            ..added(path, "")
        };
        let want = format!("links that point outside the work tree: `{path}`");
        let want: &[&str] = if is_out { &[&want] } else { &[] };
        outside_says(&watch(), &[link], want);
    }
    case("src/a", "b", false);
    case("src/a", "../b", false);
    case("src/a", "../../b", true);
    case("src/a", "../x/../../b", true);
    case("src/a", "/etc/passwd", true);
    case("src/a", "/home/me/tree/b", false);
    case("src/a", "/home/me/trees", true);
}
