//! Plans that are not `OpenSpec`'s: what is found, how it is named, and a whole run with each kind.

use crate::sandbox::{Output, Sandbox, there, until};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::Value;

const SPEC_KIT: &str = "\
# Tasks: Photo albums

## Phase 1: Setup (Shared Infrastructure)

- [X] T001 Make the project

## Phase 2: User Story 1 - See albums (Priority: P1) 🎯 MVP

### Tests for User Story 1

- [ ] T002 [P] [US1] Test the list in tests/albums.rs

### Implementation for User Story 1

- [ ] T003 [US1] Show the list in src/albums.rs (depends on T002)

**Checkpoint**: albums can be seen

## Phase 3: Polish

- [ ] T004 Write the manual

## Dependencies & Execution Order

- Setup comes first
";

const KIRO: &str = "\
# Implementation Plan

## Overview

How it goes.

## Tasks

- [x] 1. Prepare
  - [x] 1.1 Make the table
    - _Requirements: 1.1_
- [ ] 2. Build
  - [-] 2.1 Answer
  - [ ]* 2.2 Test the answer
- [ ] 3. Check everything
- [ ]* 4. Write about it

## Notes

- Stars are optional
";

const FIX_PLAN: &str = "\
# Fix Plan

## High Priority

- [ ] Answer pings
- [ ] Log them

## Medium Priority

- [ ] Count them

## Nice to Have

- [ ] Draw them

## Completed

- [x] Start the project
";

const PRD: &str = r#"{
	"project": "Shop",
	"branchName": "ralph/coupons",
	"userStories": [
		{ "id": "US-002", "title": "Apply", "acceptanceCriteria": ["The price falls"], "priority": 2, "passes": false },
		{ "id": "US-001", "title": "Store", "acceptanceCriteria": ["A table exists"], "priority": 1 },
		{ "id": "US-003", "title": "Old", "acceptanceCriteria": ["It was"], "priority": 0, "passes": true }
	],
	"unknown": [1,  2.50]
}"#;

/// Fails the first attempt at every story after damaging the plan, then does the work.
const SECOND_TIME_LUCKY: &str = r#"
if [ "$attempt" = 1 ]; then
    echo "a mess" > "$plan"; echo junk > junk.txt
    failed "not yet"
else
    echo work > "story-$RALPHTOOL_STORY.txt"
    complete
fi
"#;

/// A repository with no change of `OpenSpec`, but with these files.
fn with(files: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::bare_folder();
    sandbox.git("init -q -b main --template=");
    sandbox.config("");
    for (path, text) in files {
        sandbox.write(path, text);
    }
    sandbox.agent("complete");
    sandbox.git("add -A");
    sandbox.git("commit -q -m first");
    sandbox
}

/// What that agent does with a plan, by its target.
#[track_caller]
fn run_through(sandbox: &Sandbox, target: &str, plan: &str) -> Output {
    sandbox.agent(&format!("plan='{plan}'\n{SECOND_TIME_LUCKY}"));
    let output = sandbox.run(&["loop", target, "--no-tui", "--max-retries", "1"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(!sandbox.exists("junk.txt"));
    output
}

fn commits(sandbox: &Sandbox, change: &str) -> Vec<String> {
    let log = sandbox.git(&format!("log --reverse --format=%s main..ralph/{change}"));
    log.lines().map(str::to_owned).collect()
}

fn listed(sandbox: &Sandbox) -> Vec<(String, String, String, String)> {
    let output = sandbox.run(&["list", "--json"]);
    assert_eq!(output.code, 0, "{output:?}");
    let rows: Vec<Value> = serde_json::from_str(&output.stdout).unwrap();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let mut rows: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                text(row, "kind"),
                text(row, "name"),
                text(row, "target"),
                text(row, "state"),
            )
        })
        .collect();
    rows.sort();
    rows
}

#[test]
fn every_kind_of_plan_is_listed_with_its_kind() {
    let sandbox = with(&[
        ("openspec/changes/c/tasks.md", "## 1. A\n- [ ] 1.1 a\n"),
        ("specs/001-albums/tasks.md", SPEC_KIT),
        (
            "specs/001-albums/checklists/requirements.md",
            "- [ ] CHK001 Is it clear?\n",
        ),
        (".specify/specs/002-next/plan.md", "Later.\n"),
        (".kiro/specs/My Answer/tasks.md", KIRO),
        ("fix_plan.md", FIX_PLAN),
        ("PRD.md", "- [ ] Something\n"),
        ("IMPLEMENTATION_PLAN.md", "Only prose.\n"),
        ("prd.json", PRD),
        ("ralph/prd.json", "{"),
        ("TODO.md", "- [ ] Not a plan\n"),
    ]);
    let row = |kind: &str, name: &str, target: &str, state: &str| {
        [kind, name, target, state].map(str::to_owned).into()
    };
    assert_eq!(
        listed(&sandbox),
        [
            row("checklist", "fix-plan", "fix-plan", "open"),
            row("checklist", "prd", "PRD.md", "open"),
            row("kiro", "my-answer", "my-answer", "open"),
            row("openspec", "c", "c", "open"),
            row("prd.json", "prd", "prd.json", "open"),
            row("prd.json", "prd", "ralph/prd.json", "unreadable"),
            row("spec-kit", "001-albums", "001-albums", "open"),
            row("spec-kit", "002-next", "002-next", "no_tasks"),
        ]
    );
    let shared = sandbox.run(&["show", "prd"]);
    assert_eq!(
        (shared.code, sandbox.neutral(&shared.stderr)),
        (
            2,
            "error: `prd` is the name of several plans: `PRD.md`, `prd.json`, `ralph/prd.json`\n  \
         hint: choose one by its path, for example `PRD.md`\n"
                .to_owned()
        )
    );
    let unknown = sandbox.run(&["show", "fix-plam"]);
    assert!(
        unknown.stderr.contains("did you mean `fix-plan`?"),
        "{unknown:?}"
    );
    let table = sandbox.run(&["list"]).stdout;
    assert!(table.contains("001-albums  spec-kit"), "{table}");
}

#[test]
fn a_feature_of_spec_kit_runs_phase_by_phase() {
    let sandbox = with(&[
        ("specs/001-albums/tasks.md", SPEC_KIT),
        ("specs/001-albums/spec.md", "# Albums\n"),
        ("specs/001-albums/contracts/api.md", "GET\n"),
        (
            "specs/001-albums/checklists/ux.md",
            "- [ ] CHK001 Is it clear?\n",
        ),
        ("specs/002-other/tasks.md", SPEC_KIT),
        (
            ".specify/feature.json",
            r#"{"feature_directory": "specs/001-albums"}"#,
        ),
    ]);
    let prompt = sandbox.run(&["prompt", "001-albums"]).stdout;
    for said in [
        "- contracts: ",
        "- spec: ",
        "`- [X]`",
        "T003 [US1] Show the list",
    ] {
        assert!(prompt.contains(said), "{said}: {prompt}");
    }
    assert!(!prompt.contains("CHK001") && !prompt.contains("checklists"));
    // Without a name, it is spec-kit's current feature.
    sandbox.agent(&format!(
        "plan=specs/001-albums/tasks.md\n{SECOND_TIME_LUCKY}"
    ));
    let output = sandbox.run(&["loop", "--no-tui", "--max-retries", "1"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(
        commits(&sandbox, "001-albums"),
        ["initial state", "checkpoint: 2", "checkpoint: 3"]
    );
    let ticked = SPEC_KIT.replace("[ ]", "[X]");
    assert_eq!(sandbox.read("specs/001-albums/tasks.md"), ticked);
    assert_eq!(sandbox.read("specs/002-other/tasks.md"), SPEC_KIT);
}

#[test]
fn a_spec_of_kiro_runs_item_by_item_without_what_is_optional() {
    let sandbox = with(&[
        (".kiro/specs/answer/tasks.md", KIRO),
        (".kiro/specs/answer/requirements.md", "# Requirements\n"),
    ]);
    let shown = sandbox.run(&["show", ".kiro/specs/answer"]).stdout;
    assert_eq!(
        shown,
        "answer  kiro  1 of 4 stories, 2 of 7 tasks done\n\
         .kiro/specs/answer/tasks.md\n\n\
         1 Prepare  2/2 done\n  [x] 1. Prepare\n    [x] 1.1 Make the table\n\n\
         2 Build  0/3 next\n  [ ] 2. Build\n    [ ] 2.1 Answer\n    [ ] * 2.2 Test the answer (optional)\n\n\
         3 Check everything  0/1 open\n  [ ] 3. Check everything\n\n\
         4 Write about it  0/1 deferred\n  [ ] * 4. Write about it (optional)\n"
    );
    run_through(&sandbox, "answer", ".kiro/specs/answer/tasks.md");
    assert_eq!(
        commits(&sandbox, "answer"),
        ["initial state", "checkpoint: 2", "checkpoint: 3"]
    );
    let done = KIRO
        .replace("[ ] 2.", "[x] 2.")
        .replace("[-] 2.1", "[x] 2.1")
        .replace("[ ] 3.", "[x] 3.");
    assert_eq!(sandbox.read(".kiro/specs/answer/tasks.md"), done);
    let prompt = sandbox.transcript("2.2", "prompt.md");
    assert!(prompt.contains("requirements.md") && !prompt.contains("Stars are optional"));
    assert!(
        prompt.contains("`[-]` was already begun: finish it"),
        "{prompt}"
    );
}

#[test]
fn a_fix_plan_runs_section_by_section_without_what_is_nice_to_have() {
    let sandbox = with(&[(".ralph/fix_plan.md", FIX_PLAN)]);
    run_through(&sandbox, "fix-plan", ".ralph/fix_plan.md");
    assert_eq!(
        commits(&sandbox, "fix-plan"),
        [
            "initial state",
            "checkpoint: high-priority",
            "checkpoint: medium-priority"
        ]
    );
    let done = FIX_PLAN
        .replace("[ ]", "[x]")
        .replace("[x] Draw", "[ ] Draw");
    assert_eq!(sandbox.read(".ralph/fix_plan.md"), done);
}

#[test]
fn a_prd_json_runs_by_priority_and_only_its_flags_change() {
    let sandbox = with(&[("prd.json", PRD)]);
    let prompt = sandbox.run(&["prompt", "prd"]).stdout;
    for said in [
        "# US-001: Store",
        "- A table exists",
        "marked as done there for you",
    ] {
        assert!(prompt.contains(said), "{said}: {prompt}");
    }
    run_through(&sandbox, "prd.json", "prd.json");
    assert_eq!(
        commits(&sandbox, "prd"),
        ["initial state", "checkpoint: US-001", "checkpoint: US-002"]
    );
    let done = PRD
        .replace("\"passes\": false", "\"passes\": true")
        .replace("\"priority\": 1 }", "\"priority\": 1, \"passes\": true }");
    assert_eq!(sandbox.read("prd.json"), done);
    assert_eq!(
        sandbox.failures(),
        ["US-001.1 failed: not yet", "US-002.1 failed: not yet",]
    );
}

/// An agent that fails at one story and does the others.
fn fails_at(sandbox: &Sandbox, story: &str) {
    sandbox.agent(&format!(
        "if [ $RALPHTOOL_STORY = {story} ]; then failed no; else echo work > \"$RALPHTOOL_STORY.txt\"; complete; fi"
    ));
}

/// The stories of the last run that are done, those that failed and those that were not run.
fn became(sandbox: &Sandbox) -> [Vec<String>; 3] {
    let names = ["story_completed", "story_exhausted", "story_skipped"];
    names.map(|name| {
        let events = sandbox.events_named(name);
        let stories = events
            .iter()
            .map(|it| it["story"].as_str().unwrap().to_owned());
        stories.collect()
    })
}

fn own(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|it| (*it).to_owned()).collect()
}

#[test]
fn stories_of_a_prd_json_run_after_those_they_depend_on_and_without_one_that_failed() {
    let story = |id: &str, priority: u32, on: &str| {
        format!(
            r#"{{"id": "{id}", "title": "{id}", "acceptanceCriteria": ["It is"], "priority": {priority}, "passes": false, "dependsOn": [{on}]}}"#
        )
    };
    let stories = [
        story("US-1", 1, r#""US-3""#),
        story("US-2", 2, r#""US-1""#),
        story("US-3", 3, ""),
        story("US-4", 4, r#""US-9""#),
    ];
    let plan = format!("{{\"userStories\": [{}]}}", stories.join(",\n"));
    let sandbox = with(&[("prd.json", &plan)]);
    let shown = sandbox.run(&["show", "prd"]).ends_with(0);
    assert!(
        shown
            .stdout
            .contains("US-2 US-2  0/1 open\n  depends on US-1\n"),
        "{shown:?}"
    );
    assert!(shown.stdout.contains("US-3 US-3  0/1 next\n"), "{shown:?}");
    let unknown = "story US-4 depends on `US-9`, which is not in the plan";
    assert!(shown.stderr.contains(unknown), "{shown:?}");
    let list = sandbox.run(&["list"]).ends_with(0).stderr;
    assert!(list.contains(&format!("`prd`: {unknown}")), "{list}");
    fails_at(&sandbox, "US-1");
    sandbox
        .run(&["loop", "prd", "--max-retries", "0"])
        .ends_with(1);
    assert_eq!(
        became(&sandbox),
        [own(&["US-3", "US-4"]), own(&["US-1"]), own(&["US-2"])]
    );
    assert_eq!(
        sandbox.read("prd.json").matches("\"passes\": true").count(),
        2
    );
}

#[test]
fn a_feature_of_spec_kit_continues_with_user_stories_that_do_not_depend_on_one_that_failed() {
    let plan = "\
# Tasks: Albums

## Phase 1: Setup

- [ ] T001 Make the project

## Phase 2: User Story 1 - See albums (Priority: P1)

- [ ] T002 [P] [US1] Show the list

## Phase 3: User Story 2 - Share albums (Priority: P2)

- [ ] T003 [P] [US2] Write the link

## Phase 4: User Story 3 - Print albums (Priority: P3)

- [ ] T004 [P] [US3] Write the page

## Phase 5: Polish & Cross-Cutting Concerns

- [ ] T005 Write the manual

## Dependencies & Execution Order

### User Story Dependencies

- **User Story 1 (P1)**: Can start after Setup (Phase 1) - No dependencies on other stories
- **User Story 2 (P2)**: Depends on US1
- **User Story 3 (P3)**: Can start after Setup (Phase 1) - May integrate with US1/US2 but should be independently testable
";
    let sandbox = with(&[("specs/001-albums/tasks.md", plan)]);
    fails_at(&sandbox, "2");
    let run = ["loop", "001-albums", "--max-retries", "0"];
    let output = sandbox.run(&run).ends_with(1);
    assert_eq!(
        became(&sandbox),
        [own(&["1", "4"]), own(&["2"]), own(&["3", "5"])]
    );
    let headline =
        "2 of 5 done, story 2 failed after 1 attempt (the agent reported failure), 2 not run";
    assert!(output.stdout.contains(headline), "{output:?}");
    // Nothing is done without the first phase.
    let sandbox = with(&[("specs/001-albums/tasks.md", plan)]);
    fails_at(&sandbox, "1");
    sandbox.run(&run).ends_with(1);
    assert_eq!(
        became(&sandbox),
        [vec![], own(&["1"]), own(&["2", "3", "4", "5"])]
    );
}

#[test]
fn flags_of_other_stories_are_restored_and_a_removed_story_is_noticed() {
    let sandbox = with(&[("prd.json", PRD)]);
    sandbox.agent(
        r#"
        case $attempt in
        1) perl -ni -e 'print unless /US-001/' prd.json ;;
        *) perl -pi -e 's/false/true/; s/true/false/ if /US-003/' prd.json ;;
        esac
        echo work > "$RALPHTOOL_STORY.txt"
        complete"#,
    );
    let output = sandbox.run(&["loop", "prd", "--no-tui", "--story", "US-001"]);
    assert_eq!(output.code, 0, "{output:?}");
    let failures = sandbox.failures();
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert!(failures[0].contains("A table exists"), "{failures:?}");
    let found = sandbox.events_named("tamper_found");
    let told: Vec<&str> = found
        .iter()
        .filter_map(|it| it["message"].as_str())
        .collect();
    let told = told.join("\n");
    assert!(told.contains("Apply (story US-002)"), "{told}");
    let want = PRD.replace("\"priority\": 1 }", "\"priority\": 1, \"passes\": true }");
    assert_eq!(sandbox.read("prd.json"), want);
}

#[test]
fn a_stopped_run_of_a_plan_resumes_from_a_subfolder() {
    let sandbox = with(&[("prd.json", PRD), ("sub/x.txt", "")]);
    sandbox.agent("failed no");
    let output = sandbox.run(&["loop", "prd.json", "--no-tui", "--max-retries", "0"]);
    assert_eq!(output.code, 1, "{output:?}");
    sandbox.agent("echo work > \"$RALPHTOOL_STORY.txt\"; complete");
    let output = sandbox.run(&["-C", "sub", "resume", "--no-tui"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(
        commits(&sandbox, "prd"),
        ["initial state", "checkpoint: US-001", "checkpoint: US-002"]
    );
}

#[test]
fn a_plan_outside_the_repository_is_restored_too() {
    let sandbox = with(&[]);
    let plan = sandbox.root.join("plans/prd.json");
    std::fs::create_dir_all(plan.parent().unwrap()).unwrap();
    std::fs::write(&plan, PRD).unwrap();
    let path = plan.display().to_string();
    run_through(&sandbox, &path, &path);
    let text = std::fs::read_to_string(&plan).unwrap();
    assert_eq!(text.matches("\"passes\": true").count(), 3, "{text}");
}

#[test]
fn plans_that_cannot_be_run_are_refused_with_a_hint() {
    #[track_caller]
    fn case(text: &str, message: &str, hint: &str) {
        let sandbox = with(&[("prd.json", text)]);
        let output = sandbox.run(&["loop", "prd", "--no-tui"]);
        assert_eq!(output.code, 2, "{output:?}");
        let said = sandbox.neutral(&output.stderr);
        assert!(said.contains(message) && said.contains(hint), "{said}");
        assert_eq!(sandbox.branch(), "main");
    }
    case(
        "{\"userStories\": [}",
        "could not understand `ROOT/repo/prd.json`",
        "line 1 column 18",
    );
    case(
        "{\"users\": []}",
        "could not understand `ROOT/repo/prd.json`: it has no list of stories, but `users`",
        "understood are lists of stories with `passes`",
    );
    case(
        "{\"userStories\": []}",
        "`prd` has no tasks",
        "a story is an entry of `userStories`",
    );
}

#[test]
fn an_interrupted_run_resumes_its_own_plan_and_not_one_of_the_same_name() {
    let sandbox = with(&[("prd.json", PRD), ("PRD.md", "- [ ] Other\n")]);
    sandbox.agent("touch \"$root/started\"; wait_for \"$root/never\"");
    let running = sandbox.start(&["loop", "prd.json", "--no-tui"]);
    until("the agent to start", || {
        there(&sandbox.root.join("started"))
    });
    running.signal(Signal::KILL);
    running.end();
    sandbox.agent("echo work > \"$RALPHTOOL_STORY.txt\"; complete");
    let other = sandbox.run(&["loop", "PRD.md", "--no-tui"]);
    let said = sandbox.neutral(&other.stderr);
    let refusal =
        "an unfinished run of `prd` is in this work tree, and its plan is `ROOT/repo/prd.json`";
    assert!(other.code == 2 && said.contains(refusal), "{other:?}");
    let own = sandbox.run(&["loop", "prd.json", "--no-tui"]);
    assert_eq!(own.code, 0, "{own:?}");
    assert_eq!(sandbox.read("PRD.md"), "- [ ] Other\n");
    assert_eq!(
        commits(&sandbox, "prd"),
        ["initial state", "checkpoint: US-001", "checkpoint: US-002"]
    );
}
