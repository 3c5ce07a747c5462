use std::path::Path;

use indoc::indoc;
use pretty_assertions::assert_eq;

use super::*;
use ralph_plan::change::{SourceKind, TaskFile};
use ralph_plan::lint::CODES;
use ralph_plan::source::read_stories;

/// What of a change is shown: its findings as `code file:line message`, and the summary.
fn shown(tasks: &str, gates: &[Gate]) -> Vec<String> {
    let task_files = vec![TaskFile {
        path: "/repo/plan/tasks.md".into(),
        label: "tasks.md".to_owned(),
        bytes: tasks.into(),
    }];
    let change = Change {
        name: "add-retry".to_owned(),
        root: "/repo".into(),
        source: SourceKind::OpenSpec,
        stories: read_stories(&task_files, SourceKind::OpenSpec).0,
        scenarios: Vec::new(),
        documents: Vec::new(),
        context: None,
        guidance: Vec::new(),
        warnings: Vec::new(),
        task_files,
    };
    let checked = check(CheckRequest {
        change: &change,
        gates,
        repository: None,
        folder: Path::new("/repo"),
    });
    let findings = checked.findings.iter().map(|it| {
        let place = it.file.as_ref().zip(it.line);
        let place = place.map_or_else(String::new, |(file, line)| format!("{file}:{line} "));
        format!("{} {place}{}", it.code, it.message)
    });
    findings.chain([checked.summary()]).collect()
}

fn gate(run: &str) -> Gate {
    Gate::from_line(run)
}

fn at_end(run: &str) -> Gate {
    Gate {
        when: When::End,
        ..gate(run)
    }
}

const GOOD: &str = "## 1. A\n- [ ] 1.1 `a` is 1\n\n## 2. B\n- [ ] 2.1 `b` is 1\n";

#[test]
fn a_change_without_findings_says_what_was_checked() {
    assert_eq!(
        shown(GOOD, &[gate("cargo test"), at_end("make e2e")]),
        ["nothing found in 2 stories, 2 tasks, 0 scenarios and 2 gates"]
    );
}

#[test]
fn gates_that_cannot_show_that_a_story_is_done_are_found() {
    assert_eq!(
        shown(GOOD, &[]),
        [
            "no_gate no gates: the agent's word is the only check",
            "1 finding about the whole change",
        ]
    );
    assert_eq!(
        shown(GOOD, &[at_end("cargo test"), at_end("true")]),
        [
            "no_gate every gate runs at the end only: after a story the agent's word is the only check",
            "gate_checks_nothing gate `true` passes whatever the agent did",
            "2 findings about the whole change",
        ]
    );
    assert_eq!(
        shown(GOOD, &[gate("cargo test | tee log")]),
        [
            "gate_pipe gate `cargo test | tee log`: the exit code of a pipe is that of its last program: \
             `cargo test` may fail unnoticed",
            "1 finding about the whole change",
        ]
    );
}

#[test]
fn findings_are_counted_by_story() {
    let tasks = indoc! {"
        ## 1. A
        - [ ] 1.1 Fix bugs
        - [ ] 1.2 Update tests
        ## 2. B
        - [ ] 2.1 `b` is 1
    "};
    let [bugs, tests] = [
        "vague_task plan/tasks.md:2 \"Fix bugs\" says neither what changes nor how to check it",
        "vague_task plan/tasks.md:3 \"Update tests\" says neither what changes nor how to check it",
    ];
    assert_eq!(
        shown(tasks, &[gate("make")]),
        [bugs, tests, "2 findings in 1 of 2 stories"]
    );
    assert_eq!(
        shown(tasks, &[gate("true")]),
        [
            "gate_checks_nothing gate `true` passes whatever the agent did",
            bugs,
            tests,
            "3 findings, 2 of them in 1 of 2 stories",
        ]
    );
}

#[test]
fn the_guide_lists_all_codes() {
    let guide = include_str!("../../../../docs/writing-stories.md");
    for (code, meaning) in CODES.into_iter().chain(GATE_CODES) {
        let row = format!("| `{code}` | {meaning} |");
        assert!(
            guide.contains(&row),
            "docs/writing-stories.md lacks this row:\n{row}"
        );
    }
}
