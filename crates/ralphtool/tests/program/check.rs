//! `ralphtool check`: what is weak in a plan.

use std::fs;

use indoc::indoc;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::sandbox::{Sandbox, listing};

const WEAK: &str = indoc! {"
    ## 1. Make the client robust
    - [ ] 1.1 Improve error handling
    - [ ] 1.2 Add retries where it makes sense

    ## 2. Log each retry
    - [ ] 2.1 Update `src/clinet.rs`: one line per retry at level WARNING
    - [ ] 2.2 Update `src/client.rs`: the line has the reason
    - [ ] 2.2 Test: two retries write two lines

    ## 3. Done already
    - [x] 3.1 Fix bugs
"};

const SPEC: &str = indoc! {"
    ## ADDED Requirements

    ### Requirement: The client survives an outage
    The client SHALL try again.

    #### Scenario: Retries are logged
    - **WHEN** the server answers 503 twice
    - **THEN** there are two lines

    #### Scenario: Metrics are exported
    - **WHEN** the scraper polls the endpoint
    - **THEN** it gets a histogram
"};

const STRONG: &str = indoc! {"
    ## 1. Retry a failed request
    - [ ] 1.1 `Client.get` in `src/client.rs` tries again when the server answers 503, at most 3 times
    - [ ] 1.2 Tests in `tests/retry.rs`: success at the second try, failure after the fourth
"};

const GATE: &str = "[[gate]]\nname = \"tests\"\nrun = \"cargo test\"\n";

/// A repository with one file and one gate, and without a plan.
fn repository() -> Sandbox {
    let sandbox = Sandbox::bare_folder();
    sandbox.git("init -q -b main --template=");
    sandbox.write("src/client.rs", "");
    sandbox.write("ralphtool.toml", GATE);
    sandbox
}

fn change(sandbox: &Sandbox, name: &str, tasks: &str) {
    sandbox.write(&format!("openspec/changes/{name}/tasks.md"), tasks);
}

/// What a check prints that ends well.
#[track_caller]
fn checked(sandbox: &Sandbox, args: &[&str]) -> String {
    let before = listing(&sandbox.repo);
    let output = sandbox.run(&[&["check"], args].concat()).ends_with(0);
    assert_eq!(output.stderr, "");
    assert_eq!(listing(&sandbox.repo), before);
    output.stdout
}

fn checked_json(sandbox: &Sandbox, args: &[&str]) -> Value {
    serde_json::from_str(&checked(sandbox, &[args, &["--json"]].concat())).unwrap()
}

/// The codes of all findings, with their change.
fn codes(sandbox: &Sandbox, args: &[&str]) -> Vec<(String, String)> {
    let report = checked_json(sandbox, args);
    let changes = report["changes"].as_array().unwrap().iter();
    let codes = changes.flat_map(|change| {
        let findings = change["findings"].as_array().unwrap().iter();
        findings.map(|it| (text(&change["change"]), text(&it["code"])))
    });
    codes.collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[test]
fn what_is_weak_is_listed_by_story_with_its_lines() {
    let sandbox = repository();
    change(&sandbox, "robust", WEAK);
    sandbox.write("openspec/changes/robust/specs/client/spec.md", SPEC);
    sandbox.write(
        "ralphtool.toml",
        "[[gate]]\nname = \"tests\"\nrun = \"cargo test || true\"\n",
    );
    assert_eq!(
        checked(&sandbox, &["robust"]),
        indoc! {r#"
            robust

            the whole change
              ! gate `tests` passes whatever the agent did
                → let its line end with the exit code of the program that checks
              ! no task is about the scenario "Metrics are exported"  openspec/changes/robust/specs/client/spec.md:10
                → add a task for it, with its test, or name it in the task that covers it

            1 Make the client robust  openspec/changes/robust/tasks.md
              ! 1.1: "Improve error handling" says neither what changes nor how to check it  line 2
                → name the function, file or command, and say what holds afterwards
              ! 1.2: "where it makes sense" leaves open what is to be done  line 3

            2 Log each retry  openspec/changes/robust/tasks.md
              ! 2.1: `src/clinet.rs` does not exist  line 6
                → correct the path, or say which task creates it
              ! 2.2: the number 2.2 is that of another task, on line 7  line 8

            6 findings, 4 of them in 2 of 3 stories
        "#}
    );
}

#[test]
fn the_guide_shows_what_is_printed_for_its_bad_example() {
    let guide = include_str!("../../../../docs/writing-stories.md");
    let block = |info: &str| {
        let start = guide.find(&format!("```{info}\n")).unwrap() + info.len() + 4;
        guide[start..].split("```").next().unwrap()
    };
    let sandbox = repository();
    change(&sandbox, "robust", block("markdown"));
    assert_eq!(checked(&sandbox, &["robust"]), block("text"));
}

#[test]
fn a_plan_without_a_finding_gets_one_line() {
    let sandbox = repository();
    change(&sandbox, "add-retry", STRONG);
    let told = "add-retry: nothing found in 1 story, 2 tasks, 0 scenarios and 1 gate\n";
    assert_eq!(checked(&sandbox, &["add-retry"]), told);
    assert_eq!(checked(&sandbox, &[]), told);
}

#[test]
fn json_has_every_finding_with_its_place() {
    let sandbox = repository();
    change(
        &sandbox,
        "robust",
        "## 1. Robust\n- [ ] 1.1 Fix bugs\n- [ ] Read `src/none.rs`\n",
    );
    fs::remove_file(sandbox.repo.join("ralphtool.toml")).unwrap();
    let file = "openspec/changes/robust/tasks.md";
    assert_eq!(
        checked_json(&sandbox, &["robust"]),
        json!({"v": 1, "changes": [{
            "change": "robust", "kind": "openspec",
            "stories": 1, "tasks": 2, "scenarios": 0, "gates": 0,
            "findings": [
                {"code": "no_gate", "message": "no gates: the agent's word is the only check",
                 "hint": "`ralphtool init` finds commands that check this repository"},
                {"code": "vague_task", "story": "1", "task": "1.1", "file": file, "line": 2,
                 "message": "\"Fix bugs\" says neither what changes nor how to check it",
                 "hint": "name the function, file or command, and say what holds afterwards"},
                {"code": "missing_file", "story": "1", "task": "Read `src/none.rs`", "file": file, "line": 3,
                 "message": "`src/none.rs` does not exist",
                 "hint": "correct the path, or say which task creates it"},
            ],
        }]})
    );
    assert_eq!(
        checked_json(&sandbox, &["robust", "-C", "openspec"])["changes"][0]["findings"][1]["file"],
        "changes/robust/tasks.md"
    );
}

#[test]
fn without_a_name_all_changes_with_work_left_are_checked() {
    let sandbox = repository();
    change(&sandbox, "a", "## 1. A\n- [ ] 1.1 Fix bugs\n");
    change(&sandbox, "b", STRONG);
    change(&sandbox, "done", "## 1. A\n- [x] 1.1 Fix bugs\n");
    sandbox.write("PRD.md", "## A\n- [ ] Update tests\n");
    sandbox.write("prd.json", "{");
    let mut found = codes(&sandbox, &[]);
    found.sort();
    let want = [
        ("a", "vague_task"),
        ("prd", "unreadable"),
        ("prd", "vague_task"),
    ];
    let want = want.map(|(change, code)| (change.to_owned(), code.to_owned()));
    assert_eq!(found, want);
    let told = checked(&sandbox, &[]);
    assert!(told.contains("b: nothing found in"), "{told}");
    assert!(!told.contains("done"), "{told}");
}

#[test]
fn where_no_work_is_left_there_is_nothing_to_check() {
    let sandbox = repository();
    change(&sandbox, "done", "## 1. A\n- [x] 1.1 Fix bugs\n");
    assert_eq!(
        checked(&sandbox, &[]),
        "nothing to check: no change has work left\n"
    );
    assert_eq!(checked_json(&sandbox, &[]), json!({"v": 1, "changes": []}));
}

#[test]
fn a_plan_is_checked_by_its_path_and_without_a_repository() {
    let sandbox = Sandbox::bare_folder();
    sandbox.write(
        "TODO.md",
        "## A\n- [ ] Update tests\n- [ ] Update `src/none.rs` for 503\n",
    );
    let found = codes(&sandbox, &["./TODO.md"])
        .into_iter()
        .map(|(_, code)| code);
    // Only git knows which files a project has.
    assert_eq!(found.collect::<Vec<_>>(), ["no_gate", "vague_task"]);
}

#[test]
fn files_are_found_in_packages_and_where_git_does_not_look() {
    let sandbox = repository();
    sandbox.write(".gitignore", "/private\n");
    sandbox.write("private/keys.toml", "");
    sandbox.write("packages/web/src/app.ts", "");
    change(
        &sandbox,
        "paths",
        "## 1. A\n- [ ] Update `src/app.ts` and `private/keys.toml` and `src/app.js` for 503\n",
    );
    let report = checked_json(&sandbox, &["paths"]);
    let findings = report["changes"][0]["findings"].as_array().unwrap().iter();
    let messages: Vec<String> = findings.map(|it| text(&it["message"])).collect();
    assert_eq!(messages, ["`src/app.js` does not exist"]);
}

#[test]
fn a_change_that_does_not_exist_is_a_mistake_and_so_is_no_plan() {
    let sandbox = repository();
    let told = sandbox.run(&["check"]).ends_with(2);
    assert!(
        told.stderr.starts_with("error: found no plan"),
        "{}",
        told.stderr
    );
    change(&sandbox, "add-retry", STRONG);
    let told = sandbox.run(&["check", "add-rety"]).ends_with(2);
    assert!(
        told.stderr.contains("did you mean `add-retry`?"),
        "{}",
        told.stderr
    );
}

#[test]
fn findings_keep_no_run_from_starting() {
    let sandbox = repository();
    change(&sandbox, "robust", WEAK);
    sandbox.write("ralphtool.toml", "[[gate]]\nrun = \"true\"\n");
    sandbox.git("add -A");
    sandbox.git("commit -qm first");
    sandbox
        .run(&["run", "robust", "--agent", "demo", "--trust"])
        .ends_with(0);
}
