//! Gates with `retries`, with the real program: what is flaky is reported everywhere, and each try
//! sees the same tree.

use crate::gates::{faces_of, gated, lines, warned};
use crate::sandbox::Sandbox;
use pretty_assertions::assert_eq;
use serde_json::json;

/// A gate that fails at its first try on each tree, and passes at the second.
const EVERY_SECOND: &str =
    "echo run >> ROOT/runs; test $(( $(wc -l < ROOT/runs) % 2 )) -eq 0 || exit 7";

fn gate(name: &str, run: &str, more: &str) -> String {
    format!("[[gate]]\nname = \"{name}\"\nrun = '''{run}'''\n{more}\n")
}

#[test]
fn every_face_says_which_gate_was_flaky_and_how_often() {
    let sandbox = gated(&gate(
        "tests",
        EVERY_SECOND,
        "retries = 1\nbaseline = false",
    ));
    let words = "1 flaky gate: `tests` passed at the second try, 2 times";
    for (face, text) in faces_of(&sandbox, &["loop", "c"], 0) {
        let is_about_the_run = face != "doctor";
        assert_eq!(text.contains(words), is_about_the_run, "{face}: {text}");
    }
    assert_eq!(lines(&sandbox, "runs").len(), 4, "two tries per story");
    let warning = "gate `tests` is flaky: it was red (exit code 7) and passed at the second try on \
                   the same tree";
    assert_eq!(warned(&sandbox, "flaky"), [warning, warning]);
    let receipt = sandbox.run(&["log", "last"]).ends_with(0).stdout;
    assert!(
        receipt.contains("gate `tests` passed at the second try (flaky) in "),
        "{receipt}"
    );
    for face in [&["status", "--json"][..], &["log", "last", "--json"]] {
        let text = sandbox.run(face).ends_with(0).stdout;
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let want = json!([{ "gate": "tests", "passed_at": 2, "times": 2 }]);
        assert_eq!(value["flaky_gates"], want, "{face:?}");
    }
}

#[test]
fn each_red_try_is_recorded_with_its_log_and_the_gate_counts_as_passed() {
    let run = format!("echo try $(wc -l < ROOT/runs); {EVERY_SECOND}");
    let sandbox = gated(&gate("tests", &run, "retries = 2\nbaseline = false"));
    std::fs::write(sandbox.root.join("runs"), "").unwrap();
    let said = sandbox
        .run(&["loop", "c", "--story", "1"])
        .ends_with(0)
        .stdout;
    for part in [
        "gate `tests` failed at the first try in ",
        ": exit code 7; it runs again",
        "gate `tests` passed at the second try in ",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let retried = sandbox.events_named("gate_retried");
    let [retried] = retried.as_slice() else {
        panic!("{retried:?}");
    };
    assert_eq!(retried["try_number"], 1);
    assert_eq!(retried["result"]["how"], "exit code 7");
    let log = |event: &serde_json::Value| {
        let path = event["log"].as_str().unwrap();
        std::fs::read_to_string(path).unwrap()
    };
    assert_eq!(log(retried), "try 0\n");
    let started = sandbox.events_named("gate_started");
    assert_eq!(log(&started[1]), "try 1\n");
    let finished = sandbox.events_named("gate_finished").pop().unwrap();
    assert_eq!(
        (&finished["tries"], &finished["flaky"]),
        (&json!(2), &json!(true))
    );
    let message = sandbox.git("log -1 --format=%B");
    assert!(message.contains("Gates: tests"), "{message}");
}

#[test]
fn a_flaky_gate_is_not_remembered_as_one_that_passes_on_the_tree() {
    let sandbox = gated(&gate("tests", EVERY_SECOND, "retries = 1"));
    sandbox.agent("failed no");
    let once = ["loop", "c", "--max-retries", "0"];
    sandbox.run(&once).ends_with(1);
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    sandbox.run(&once).ends_with(1);
    assert_eq!(lines(&sandbox, "runs").len(), 4, "a baseline in each run");
    let warning = "gate `tests` is flaky on the checkpoint: it was red (exit code 7) and passed at \
                   the second try on the same tree";
    assert_eq!(warned(&sandbox, "flaky"), [warning]);
    // One that passes at its first try is.
    let sandbox = gated(&gate("tests", "echo run >> ROOT/runs", "retries = 1"));
    sandbox.agent("failed no");
    sandbox.run(&once).ends_with(1);
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    sandbox.run(&once).ends_with(1);
    assert_eq!(lines(&sandbox, "runs").len(), 1);
}

#[test]
fn a_gate_that_is_red_at_every_try_fails_the_attempt_and_says_how_often_it_ran() {
    let sandbox = gated(&gate(
        "tests",
        "echo run >> ROOT/runs; exit 7",
        "retries = 2\nbaseline = false",
    ));
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    assert_eq!(lines(&sandbox, "runs").len(), 3);
    assert_eq!(
        sandbox.failures(),
        ["1.1 gate: gate `tests` failed: exit code 7 at the last of 3 tries"]
    );
    let receipt = sandbox.run(&["log", "last"]).ends_with(0).stdout;
    let line = "gate `tests` failed at the third try in ";
    assert!(receipt.contains(line), "{receipt}");
    assert!(!receipt.contains("flaky"), "{receipt}");
}

#[test]
fn a_gate_at_the_end_runs_again_before_it_reopens_a_story() {
    let sandbox = gated(&gate(
        "all",
        EVERY_SECOND,
        "retries = 1\nbaseline = false\nwhen = \"end\"",
    ));
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(sandbox.events_named("story_reopened").len(), 0);
    let status = sandbox.run(&["status"]).ends_with(0).stdout;
    let words = "1 flaky gate: `all` passed at the second try";
    assert!(status.contains(words), "{status}");
}

/// A run of story 1 whose agent writes `story-1.txt`.
fn one_story(sandbox: &Sandbox) {
    sandbox.agent("echo work > story-1.txt; complete");
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
}

#[test]
fn a_retry_sees_what_earlier_gates_built_and_nothing_of_the_try_before() {
    let sandbox = gated(
        &(gate("build", "echo built > made", "baseline = false")
            + &gate(
                "tests",
                "cat made story-1.txt; ls; if test -e ROOT/tried; then exit 0; fi; touch ROOT/tried\n\
             rm made; echo broken > story-1.txt; echo junk > junk; exit 1",
                "baseline = false\nretries = 1",
            )),
    );
    one_story(&sandbox);
    let logs: Vec<String> = sandbox
        .events_named("gate_started")
        .iter()
        .filter(|event| event["gate"] == "tests")
        .map(|event| std::fs::read_to_string(event["log"].as_str().unwrap()).unwrap())
        .collect();
    let [first, second] = logs.as_slice() else {
        panic!("{logs:?}");
    };
    assert_eq!(first, second);
    assert!(first.starts_with("built\nwork\n"), "{first}");
    assert_eq!(sandbox.git("show HEAD:story-1.txt"), "work\n");
    assert_eq!(sandbox.git("status --porcelain"), "");
    assert!(!sandbox.exists("made") && !sandbox.exists("junk"));
}

#[test]
fn what_a_formatter_did_at_a_red_try_is_not_part_of_the_work() {
    let sandbox = gated(
        &(gate(
            "format",
            "if test -e ROOT/tried; then echo formatted >> story-1.txt; exit 0; fi; touch ROOT/tried\n\
             echo half >> story-1.txt; echo junk > junk; exit 1",
            "baseline = false\nretries = 1\nkeep_changes = true",
        ) + &gate("tests", "echo dropped > dropped", "baseline = false")),
    );
    one_story(&sandbox);
    assert_eq!(sandbox.git("show HEAD:story-1.txt"), "work\nformatted\n");
    assert_eq!(sandbox.git("status --porcelain"), "");
    assert!(!sandbox.exists("junk") && !sandbox.exists("dropped"));
}

#[test]
fn the_doctor_and_a_dry_run_show_how_often_a_gate_runs_again() {
    let sandbox = gated(&gate("tests", "true", "retries = 2"));
    let doctor = sandbox.run(&["doctor"]).ends_with(0).stdout;
    assert!(doctor.contains("`tests`: `true`, 2 retries"), "{doctor}");
    let dry = sandbox.run(&["loop", "c", "--dry-run"]).ends_with(0).stdout;
    assert!(
        dry.contains("tests: true (timeout 30m, 2 retries)"),
        "{dry}"
    );
    let dry = sandbox
        .run(&["loop", "c", "--dry-run", "--json"])
        .ends_with(0)
        .stdout;
    let dry: serde_json::Value = serde_json::from_str(&dry).unwrap();
    assert_eq!(
        dry["gates"],
        json!([{ "name": "tests", "run": "true", "retries": 2 }])
    );
}
