use std::path::PathBuf;

use indoc::indoc;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::change::{Document, Scenario, SourceKind, TaskFile, Warning};
use crate::source::read_stories;

/// A change with these tasks.
fn change(tasks: &str) -> Change {
    let task_files = vec![TaskFile {
        path: "/c/tasks.md".into(),
        label: "tasks.md".to_owned(),
        bytes: tasks.into(),
    }];
    let (stories, warnings) = read_stories(&task_files, SourceKind::OpenSpec);
    Change {
        stories,
        warnings,
        task_files,
        ..Change::new("c".to_owned(), "/".into(), SourceKind::OpenSpec)
    }
}

fn scenario(name: &str, text: &str) -> Scenario {
    Scenario {
        capability: "client".to_owned(),
        requirement: "The client survives an outage".to_owned(),
        name: name.to_owned(),
        text: text.to_owned(),
        line: 7,
    }
}

/// Each finding as `line code: message`, with a star before those about the whole change.
fn found(change: &Change, files: &[&str]) -> Vec<String> {
    let files: ProjectFiles = files.iter().map(|path| (*path).to_owned()).collect();
    let findings = lint(change, Some(&|path| files.has(path))).into_iter();
    let shown = findings.map(|it| {
        let star = if it.story.is_none() { "*" } else { "" };
        let line = it.place.map_or(0, |place| place.line);
        format!("{star}{line} {}: {}", it.code, it.message)
    });
    shown.collect()
}

#[track_caller]
fn case(tasks: &str, want: &[&str]) {
    assert_eq!(
        found(&change(tasks), &["src/client.rs", "web/src/app/main.ts"]),
        want
    );
}

/// Open tasks, one per line.
fn tasks(texts: &[&str]) -> String {
    let lines = texts.iter().flat_map(|text| ["- [ ] ", text, "\n"]);
    lines.collect()
}

#[track_caller]
fn finds_nothing_in(texts: &[&str]) {
    case(&format!("## 1. Title\n{}", tasks(texts)), &[]);
}

#[test]
fn a_finding_says_where_it_is_and_what_to_do() {
    let change = change("## 1. Robust client\n- [ ] 1.1 Improve error handling\n");
    assert_eq!(
        lint(&change, None),
        [Finding {
            code: "vague_task",
            story: Some(StoryId("1".to_owned())),
            task: Some("1.1".to_owned()),
            place: Some(Place {
                path: PathBuf::from("/c/tasks.md"),
                line: 2,
            }),
            message: "\"Improve error handling\" says neither what changes nor how to check it"
                .to_owned(),
            hint: Some(
                "name the function, file or command, and say what holds afterwards".to_owned()
            ),
        }]
    );
}

#[test]
fn the_bad_example_of_the_guide_is_found_and_the_good_one_is_not() {
    let guide = include_str!("../../../../docs/writing-stories.md");
    let example = |number: usize| {
        guide
            .split("```")
            .nth(number)
            .unwrap()
            .strip_prefix("markdown\n")
            .unwrap()
    };
    assert_eq!(
        found(&change(example(1)), &[]),
        [
            "2 vague_task: \"Improve error handling\" says neither what changes nor how to check it",
            "3 vague_task: \"where it makes sense\" leaves open what is to be done",
            "4 vague_task: \"Clean up the code\" says neither what changes nor how to check it",
            "5 vague_task: \"Update tests\" says neither what changes nor how to check it",
        ]
    );
    assert_eq!(found(&change(example(3)), &[]), Vec::<String>::new());
}

#[test]
fn a_task_that_names_something_is_not_vague() {
    finds_nothing_in(&[
        "Update `README.md`",
        "Update README",
        "Fix #123",
        "Add integration test for cleanup functionality (including edge cases)",
        "Ensure `cargo test --workspace` passes",
        "Filter the list of bills by status, date, etc. in BillList",
        "Handle expired token errors",
        "Optimize cache key structure",
        "Review date calculation logic",
        "Add/update unit tests for OperationModal final-speed behavior",
        "Remove the legacy exporter",
        "3.4 插件生命周期",
        "Update docs\n  - the flag `--fast` in the table of flags",
    ]);
}

#[test]
fn a_task_with_others_below_it_is_their_heading() {
    case(
        "## 1. A\n- [ ] Update tests\n  - [ ] a 404 is not repeated\n",
        &[],
    );
    case("## 1. A\n- [ ] `get` retries\n  - [ ] Update tests\n", &[]);
}

#[test]
fn what_is_done_or_deferred_is_not_criticized() {
    case(
        "## 1. A\n- [x] Update tests\n- [~] Fix bugs\n- [ ] `get` retries\n",
        &[],
    );
    case("## 1. A\n- [x] Update tests in `src/none.rs`\n", &[]);
}

#[test]
fn a_story_is_large_by_its_tasks_or_by_its_words() {
    let many: Vec<String> = (0..22)
        .map(|number| format!("1.{number} `f{number}` returns {number}"))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    finds_nothing_in(&many[..20]);
    case(
        &format!("# Plan\n\n## 1. All of it\n{}", tasks(&many)),
        &["3 large_story: the story has 22 open tasks, which is a lot for one agent"],
    );
    let prose = "word ".repeat(1100);
    case(
        &format!("## 1. A\n{prose}\n- [ ] `get` retries\n"),
        &["1 large_story: the story has 1108 words, which is a lot for one agent"],
    );
}

#[test]
fn a_file_that_a_task_changes_has_to_exist() {
    case(
        indoc! {"
            ## 1. Retry
            - [ ] 1.1 Update `src/clinet.rs` so that `get` retries
            - [ ] 1.2 In src/clinet.rs:12-40, `post` never does
            - [ ] 1.3 Remove the `pause` function from `src/pause.rs`
            - [ ] 1.4 Extend `src/client.rs`, `src/none.rs` and `web/src/none.ts` for HTTP 503
            - [ ] 1.5 Rewire the calls
              in `src/split.rs`, which delete `Pause`
        "},
        &[
            "2 missing_file: `src/clinet.rs` does not exist",
            "3 missing_file: `src/clinet.rs` does not exist",
            "4 missing_file: `src/pause.rs` does not exist",
            "5 missing_file: `src/none.rs` does not exist",
            "5 missing_file: `web/src/none.ts` does not exist",
            "6 missing_file: `src/split.rs` does not exist",
        ],
    );
}

#[test]
fn a_path_may_begin_in_the_folder_of_a_package() {
    finds_nothing_in(&[
        "Update `app/main.ts` so that 503 is shown",
        "Update `./src/client.rs` for 503",
    ]);
}

/// From public plans, most of them word for word.
#[test]
fn a_file_that_may_be_new_need_not_exist() {
    finds_nothing_in(&[
        "Add the failing contract test in `tests/integration/runtime.test.ts`",
        "Tests in `tests/test_retry.py`: a 404 is not repeated",
        "2.3 `src/export/svg.ts` — frame strip, keyframes, chrome (padding, margin)",
        "`server/api/clients/[id].patch.ts` — update name scoped by `userId`; 404 for foreign/unknown id",
        "`findFirstH1End(content)` in `src/install/plan.ts` — walks lines, returns the end offset",
        "Implement `internal/render/envelope.go`",
        "Move `a()` to `src/b.rs`",
        "Update `src/x.rs` if it exists",
        "Update either `src/x.rs` or `src/y.rs` for 503",
        "Update docs in `specs/NNN-name/plan.md` and `path/to/file.md` and `src/foo.rs`",
        "Update https://example.com/guide.html and `example.com/docs/a.md` and `@acme/kit/index.ts`",
        "Update `node_modules/kit/index.js`, `dist/app.js` and `~/notes/a.md` and `/etc/app/a.toml`",
        "Update `src/*.rs` and `docs/{a,b}.md` and `../other/a.md` and `$HOME/.config/a.toml`",
        "Update `openspec/specs/retry/spec.md` for 503",
        "Update `Client/Class.method` and HTTP/1.1 and and/or.",
        "更新 `src/none.rs` update",
    ]);
}

#[test]
fn a_file_that_the_plan_creates_need_not_exist_later() {
    case(
        indoc! {"
            ## 1. Retry
            New files: `src/backoff.rs`
            - [ ] 1.1 Update `src/backoff.rs` for 503
            - [ ] 1.2 Create `src/wait/` and its `mod.rs`
            - [ ] 1.3 Update `src/wait/clock.rs` for 503

            ## 2. Later
            - [ ] 2.1 Update `src/wait/mod.rs` for 504
            - [ ] 2.2 Update `src/early.rs` for 504

            ## 3. Too late
            - [ ] 3.1 Create `src/early.rs`
        "},
        &["9 missing_file: `src/early.rs` does not exist"],
    );
}

#[test]
fn a_file_that_a_task_has_removed_need_not_exist() {
    case(
        "## 1. A\n- [x] Delete `src/old.rs`\n## 2. B\n- [ ] Remove the last use of `old` in `src/old.rs`\n",
        &[],
    );
}

#[test]
fn a_scenario_needs_a_task_that_shares_words_with_it() {
    let mut change = change(indoc! {"
        ## 1. Retry a failed request
        - [ ] 1.1 `Client.get` tries again when the server answers 503, at most 3 times
        - [ ] 1.2 It never repeats a POST
    "});
    let repeated = scenario(
        "A POST is never repeated",
        "- **WHEN** a POST fails\n- **THEN** it is returned",
    );
    let steps = scenario(
        "Busy",
        "- **WHEN** the server answers with 503 to a request\n- **THEN** all is well",
    );
    let foreign = scenario(
        "Metrics are exported",
        "- **WHEN** the scraper polls\n- **THEN** it gets a histogram",
    );
    change.scenarios = vec![repeated, steps, foreign];
    let specs = vec![
        "/c/specs/client/spec.md".into(),
        "/c/specs/other/spec.md".into(),
    ];
    change.documents = vec![Document::new("specs", specs)];
    let finding = Finding {
        place: Some(Place {
            path: "/c/specs/client/spec.md".into(),
            line: 7,
        }),
        ..Finding::new(
            "scenario_without_task",
            "no task is about the scenario \"Metrics are exported\"",
        )
        .hint("add a task for it, with its test, or name it in the task that covers it")
    };
    assert_eq!(lint(&change, None), [finding]);
}

#[test]
fn scenarios_are_not_compared_where_words_cannot_tell() {
    let foreign = scenario(
        "Metrics are exported",
        "- **WHEN** the scraper polls\n- **THEN** it gets a histogram",
    );
    for tasks in [
        "## 1. Retry\n- [ ] 1.1 `get` tries again when the server is busy\n- [ ] 1.2 A test for each scenario\n",
        "## 1. 重试\n- [ ] 1.1 `get` 在服务器繁忙时重试\n",
        "## 1. Reintentar\n- [ ] 1.1 Repetir cuando el servidor falla\n",
    ] {
        let mut change = change(tasks);
        change.scenarios = vec![foreign.clone()];
        assert_eq!(found(&change, &[]), Vec::<String>::new(), "{tasks}");
    }
}

#[test]
fn shared_numbers_are_found() {
    case(
        indoc! {"
            ## 1. Retry
            - [x] 1.1 `get` retries
            - [ ] 1.1 `put` retries
            - [ ] T007 `a` returns 1
            - [ ] FR-1 `b` returns 1
            - [ ] FR-1 `c` returns 1

            ## 1. Log
            - [ ] 1.2 `log` has a line
            - [ ] T007 `d` returns 1

            ## 2. Lists
            1. [ ] `e` returns 1
        "},
        &[
            "3 duplicate_number: the number 1.1 is that of another task, on line 2",
            "8 duplicate_number: the number 1 is that of another story, on line 1: this one is called `log`",
            "10 duplicate_number: the number T007 is that of another task, on line 4",
        ],
    );
    case(
        "## A\n- [ ] 1 `a` is 1\n- [ ] 2 `b` is 1\n## B\n- [ ] 1 `c` is 1\n",
        &[],
    );
}

#[test]
fn stories_and_tasks_without_anything_in_them_are_found() {
    case(
        indoc! {"
            # Tasks
            ## 1.
            - [ ] 1.1 `get` retries
            - [ ]
            ## 2. Later
            - [~] 2.1 `put` retries
            ## 3. Docs
            - 3.1 Describe `get`
            ## 4. Notes
            - not a task
            ## 5. Half
            - [x] 5.1 `a` is 1
            - [~] 5.2 `b` is 1
        "},
        &[
            "*7 no_open_task: `3. Docs` lists tasks without boxes: it is not a story, and runs ignore it",
            "2 empty_title: the story has no title: the log and its commit show only a number",
            "4 empty_task: the box has no text: an agent cannot know what is to be done",
            "5 no_open_task: the story is skipped: none of its tasks is open",
        ],
    );
    case("Nothing yet.\n", &["*0 no_open_task: there are no tasks"]);
}

#[test]
fn what_the_reader_of_the_plan_warns_of_comes_first() {
    let mut change =
        change("## 1. A\n- [ ] `a` is 1\n```\n- [ ] 2\n```\n## 2. B\n- [ ] Fix bugs\n");
    change
        .warnings
        .push(Warning::new("unread_spec", "`specs/spec.md` is not read"));
    let findings = lint(&change, None);
    let codes: Vec<&str> = findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["fenced_boxes", "unread_spec", "vague_task"]);
}

#[test]
fn criteria_of_a_prd_have_the_line_of_their_story() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prd.json");
    let json = indoc! {r#"
        {"userStories": [
          {"id": "US-1", "title": "Retry", "acceptanceCriteria": ["Improve performance"],
           "passes": false}
        ]}
    "#};
    std::fs::write(&path, json).unwrap();
    let around = crate::source::Surroundings::from_environment(folder.path().to_owned());
    let change = crate::source::read_target("./prd.json", &around).unwrap();
    assert_eq!(
        found(&change, &[]),
        ["2 vague_task: \"Improve performance\" says neither what changes nor how to check it"]
    );
}

proptest! {
    #[test]
    fn no_plan_breaks_a_rule(text in "(#{1,3} |- \\[[ x~]\\] |[0-9.]{1,4} |`|update |src/|a\\.rs|:|\\n| |\\PC){0,80}", name in "\\PC{0,20}") {
        let mut change = change(&text);
        change.scenarios = vec![scenario(&name, &text)];
        for finding in lint(&change, Some(&|_| false)) {
            prop_assert!(!finding.message.is_empty());
        }
    }
}
