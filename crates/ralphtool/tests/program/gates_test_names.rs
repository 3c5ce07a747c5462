//! Gates that are red before a story and whose output names the tests that fail, with the real
//! program: the gate prints what is in a file beside the repository, which the agent changes.

use crate::gates::{faces_of, gated, warned};
use crate::sandbox::Sandbox;
use pretty_assertions::assert_eq;
use serde_json::json;

/// What pytest prints at its end.
fn pytest(failed: &[&str]) -> String {
    let lines = failed
        .iter()
        .map(|name| format!("FAILED tests/a.py::{name} - no\n"));
    let lines: String = lines.collect();
    format!(
        "== short test summary info ==\n{lines}{} failed, 3 passed in 0.10s\n",
        failed.len()
    )
}

const PRINTS: &str = "[[gate]]\nname = \"tests\"\nrun = \"cat ROOT/out; exit 1\"\n";

/// A repository whose gate is red and prints this, and an agent that makes it print something else
/// at each attempt.
fn repository(gate: &str, before: &str, attempts: &[&str]) -> Sandbox {
    let sandbox = gated(gate);
    std::fs::write(sandbox.root.join("out"), before).unwrap();
    for (place, text) in attempts.iter().enumerate() {
        std::fs::write(sandbox.root.join(format!("out-{}", place + 1)), text).unwrap();
    }
    sandbox.agent("cp $root/out-$attempt $root/out; echo work > work.txt; complete");
    sandbox
}

const ONE: [&str; 4] = ["loop", "c", "--story", "1"];

#[test]
fn a_new_failure_fails_the_attempt_and_the_next_prompt_names_it_alone() {
    let (before, worse) = (pytest(&["old", "older"]), pytest(&["old", "new"]));
    let sandbox = repository(PRINTS, &before, &[&worse, &before]);
    let said = sandbox.run(&ONE).ends_with(1).stdout;
    let baseline = "gate `tests` is red before the story begins (exit code 1); only new failures fail \
                    an attempt";
    assert!(said.contains(baseline), "{said}");
    let how = "exit code 1: 1 test fails that did not fail before: `tests/a.py new`; 1 other failure \
               was there before and does not count";
    let failures = sandbox.failures();
    assert_eq!(failures.len(), 1);
    let first = failures[0].lines().next().unwrap();
    assert_eq!(first, format!("1.1 gate: gate `tests` failed: {how}"));
    let prompt = sandbox.transcript("1.2", "prompt.md");
    assert!(prompt.contains(how), "{prompt}");
    // The last attempt left nothing new.
    assert_eq!(
        warned(&sandbox, "red_before"),
        ["gate `tests` is red (exit code 1): 2 tests fail, as before the attempt"]
    );
    let finished = sandbox.events_named("gate_finished");
    assert_eq!(finished[1]["new_failures"], json!(["tests/a.py new"]));
    let receipt = sandbox.run(&["log", "last"]).ends_with(0).stdout;
    for part in [
        "before: gate `tests` red before (exit code 1; 2 tests failed)",
        "(exit code 1; 2 tests failed, 1 of them new)",
        "gate `tests` red before (exit code 1; 2 tests failed)",
    ] {
        assert!(receipt.contains(part), "{part}: {receipt}");
    }
    let status = sandbox.run(&["status"]).ends_with(0).stdout;
    let failed = status.lines().find(|line| line.contains("failed attempt"));
    let want = format!("  last failed attempt 1.1: gate `tests`, {how}");
    let (cut, _) = want.split_at(140);
    assert!(failed.unwrap().starts_with(cut), "{status}");
}

#[test]
fn fewer_failures_are_said_and_the_work_stays_unverified() {
    let (before, better) = (pytest(&["a", "b", "c"]), pytest(&["b"]));
    let sandbox = repository(PRINTS, &before, &[&better]);
    for (face, text) in faces_of(&sandbox, &ONE, 1) {
        let words = "gate `tests` red since before the run";
        assert!(text.contains(words), "{face}: {text}");
    }
    let want = "gate `tests` is red (exit code 1): 1 test fails, 2 fewer than before the attempt; 4 \
                tests ran, 6 before";
    assert_eq!(warned(&sandbox, "red_before"), [want]);
}

#[test]
fn tests_that_do_not_come_to_their_end_fail_the_attempt() {
    let broken = "ImportError while loading conftest\n";
    let sandbox = repository(PRINTS, &pytest(&["a"]), &[broken]);
    sandbox
        .run(&[&ONE[..], &["--max-retries", "0"]].concat())
        .ends_with(1);
    let want = "1.1 gate: gate `tests` failed: exit code 1: its tests did not run to their end, as \
                they did before\nImportError while loading conftest";
    assert_eq!(sandbox.failures(), [want]);
    // A gate that is stopped has no end either.
    let slow = PRINTS.replace("exit 1", "test ! -e work.txt || sleep 300; exit 1");
    let sandbox = repository(
        &(slow + "timeout = \"500ms\"\n"),
        &pytest(&["a"]),
        &[&pytest(&["a"])],
    );
    sandbox
        .run(&[&ONE[..], &["--max-retries", "0"]].concat())
        .ends_with(1);
    let failures = sandbox.failures();
    let want =
        "1.1 gate: gate `tests` failed: stopped after 500ms: its tests did not run to their end";
    assert!(failures[0].starts_with(want), "{failures:?}");
}

#[test]
fn a_gate_that_named_no_tests_before_is_red_as_before() {
    let sandbox = repository(PRINTS, "make: *** [test] Error 1\n", &[&pytest(&["a"])]);
    sandbox.run(&ONE).ends_with(1);
    let want = "gate `tests` is red (exit code 1), as it was before the attempt";
    assert_eq!(warned(&sandbox, "red_before"), [want]);
}

/// A report of these tests, all of which failed.
fn junit(failed: &[&str]) -> String {
    let cases = failed.iter();
    let cases = cases
        .map(|name| format!("<testcase classname=\"a\" name=\"{name}\"><failure/></testcase>"));
    format!("<testsuite>{}</testsuite>\n", cases.collect::<String>())
}

#[test]
fn a_test_report_counts_only_if_the_gate_has_just_written_it() {
    // It is in the tree, where it is undone after each gate.
    let gate = "[[gate]]\nname = \"tests\"\nrun = \"cat ROOT/out > report.xml; exit 1\"\n\
                junit = \"report.xml\"\n";
    let sandbox = repository(gate, &junit(&["a"]), &[&junit(&["a", "b"]), &junit(&["a"])]);
    sandbox.run(&ONE).ends_with(1);
    assert_eq!(
        sandbox.failures(),
        [
            "1.1 gate: gate `tests` failed: exit code 1: 1 test fails that did not fail before: `a b`; \
             1 other failure was there before and does not count"
        ]
    );
    assert!(!sandbox.exists("report.xml"));
    // One that is there already says nothing of this gate: it did not run its tests.
    let gate = "[[gate]]\nname = \"tests\"\njunit = \"report.xml\"\n\
                run = \"test -e work.txt || cat ROOT/out > report.xml; exit 1\"\n";
    let sandbox = repository(gate, &junit(&["a"]), &[]);
    sandbox.write("report.xml", &junit(&["a"]));
    sandbox.git("add report.xml");
    sandbox.git("commit -q -m report");
    sandbox.agent("echo work > work.txt; complete");
    sandbox
        .run(&[&ONE[..], &["--max-retries", "0"]].concat())
        .ends_with(1);
    let want = "1.1 gate: gate `tests` failed: exit code 1: its tests did not run to their end, as \
                they did before";
    assert_eq!(sandbox.failures(), [want]);
    let want = "gate `tests` is red and has not written its test report: `report.xml`";
    assert_eq!(warned(&sandbox, "no_report"), [want]);
}

#[test]
fn at_the_end_the_names_of_where_the_work_began_count() {
    let gate = PRINTS.to_owned() + "when = \"end\"\n";
    let (before, worse) = (pytest(&["a"]), pytest(&["a", "b"]));
    // The first run does one story, the second one the other.
    let sandbox = repository(&gate, &before, &[&worse, &worse]);
    sandbox.run(&ONE).ends_with(0);
    sandbox.run(&["finish", "--cleanup"]).ends_with(0);
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    let reopened = sandbox.events_named("story_reopened");
    let reason = reopened[0]["reason"].as_str().unwrap();
    let want =
        "gate `tests` failed: exit code 1: 1 test fails that did not fail before: `tests/a.py b`";
    assert!(reason.starts_with(want), "{reason}");
    // A run that is resumed knows what it saw where it began.
    let sandbox = repository(&gate, &before, &[&worse, &worse]);
    sandbox.run(&ONE).ends_with(0);
    sandbox.run(&["resume", "--max-retries", "0"]).ends_with(1);
    assert_eq!(sandbox.events_named("story_reopened").len(), 1);
    let sandbox = repository(&gate, &before, &[&before, &before]);
    sandbox.run(&ONE).ends_with(0);
    sandbox.run(&["resume"]).ends_with(1);
    let want = "gate `tests` is red (exit code 1): 1 test fails, as before the run";
    assert_eq!(warned(&sandbox, "red_before"), [want]);
}
