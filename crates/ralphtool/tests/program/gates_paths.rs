//! Gates with `paths`, with the real program: they run only where such files were changed, and every
//! face says of a gate that did not run that it did not.

use crate::gates::{faces_of, gated, lines};
use crate::sandbox::{GOOD, Sandbox};
use pretty_assertions::assert_eq;
use serde_json::json;

/// A gate that writes its name, and the story it runs for, into a file beside the repository.
fn gate(name: &str, paths: &str, more: &str) -> String {
    format!(
        "[[gate]]\nname = \"{name}\"\nrun = \"echo {name} $RALPHTOOL_STORY >> ROOT/runs\"\n\
         paths = {paths}\n{more}\n"
    )
}

const NO_BASELINE: &str = "baseline = false";

fn not_run(sandbox: &Sandbox) -> Vec<String> {
    let events = sandbox.events_named("gate_not_run");
    let names = events.iter().map(|event| {
        let place = match event["whole"].as_bool() {
            Some(true) => "end".to_owned(),
            _ => event["story"].as_str().unwrap().to_owned(),
        };
        format!("{} {place}", event["gate"].as_str().unwrap())
    });
    names.collect()
}

#[test]
fn a_gate_runs_only_on_attempts_that_changed_a_file_in_its_paths() {
    let sandbox = gated(
        &(gate("one", "[\"story-1.txt\"]", NO_BASELINE)
            + &gate("both", "[\"*.txt\"]", NO_BASELINE)
            + &gate("web", "[\"web/**\", \"**/*.css\"]", NO_BASELINE)),
    );
    for (face, text) in faces_of(&sandbox, &["loop", "c"], 0) {
        let words = match face {
            "doctor" => continue,
            "status --json" | "log last --json" => "\"gates_not_run\": [\n    \"web\"\n  ]",
            "log last --markdown" => "- not run: gate `web`: no file in its paths changed",
            _ => "gate `web`: no file in its paths changed",
        };
        assert!(text.contains(words), "{face} does not say it: {text}");
    }
    assert_eq!(lines(&sandbox, "runs"), ["one 1", "both 1", "both 2"]);
    assert_eq!(not_run(&sandbox), ["web 1", "one 2", "web 2"]);
    let messages = sandbox.git("log --format=%B ralph/c");
    let passed: Vec<&str> = messages
        .lines()
        .filter(|line| line.starts_with("Gates: "))
        .collect();
    assert_eq!(passed, ["Gates: both", "Gates: one, both"], "newest first");
    let receipt = sandbox.run(&["log", "last"]).ends_with(0).stdout;
    assert!(
        receipt.contains("gate `web` not run: no file in its paths changed"),
        "{receipt}"
    );
}

#[test]
fn the_log_says_at_once_which_gate_does_not_run() {
    let sandbox = gated(&gate("web", "[\"web/**\"]", NO_BASELINE));
    let said = sandbox
        .run(&["loop", "c", "--story", "1"])
        .ends_with(0)
        .stdout;
    let line = "gate `web` not run: no file in its paths changed";
    assert!(said.contains(line), "{said}");
}

#[test]
fn where_no_gate_had_anything_to_check_every_face_says_so() {
    let sandbox = gated(&gate("web", "[\"web/**\"]", ""));
    let words = "no gate ran, because no file in their paths was changed: the agent's word is the \
                 only check";
    for (face, text) in faces_of(&sandbox, &["loop", "c"], 0) {
        assert!(text.contains(words), "{face}: {text}");
    }
}

#[test]
fn removed_files_count_and_the_task_file_does_not() {
    let sandbox = gated(
        &(gate("plan", "[\"openspec/**\"]", NO_BASELINE)
            + &gate("dir", "[\"dir\"]", NO_BASELINE)
            + &gate("case", "[\"DIR/**\"]", NO_BASELINE)),
    );
    sandbox.agent("rm dir/b.txt; tick 1; complete");
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(lines(&sandbox, "runs"), ["dir 1"]);
}

#[test]
fn what_a_formatter_changes_counts_for_the_gates_after_it() {
    let format = "[[gate]]\nname = \"generate\"\nkeep_changes = true\nbaseline = false\n\
                  run = \"mkdir -p web; echo made > web/client.ts\"\n";
    let sandbox = gated(&(format.to_owned() + &gate("web", "[\"web/**\"]", NO_BASELINE)));
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(
        lines(&sandbox, "runs"),
        ["web 1"],
        "in story 2 it changed nothing"
    );
}

#[test]
fn a_gate_at_the_end_runs_where_the_change_changed_a_file_in_its_paths() {
    let end = "baseline = false\nwhen = \"end\"";
    let gates = gate("one", "[\"story-1.txt\"]", end) + &gate("web", "[\"web/**\"]", end);
    let sandbox = gated(&gates);
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(lines(&sandbox, "runs"), ["one 2"]);
    assert_eq!(not_run(&sandbox), ["web end"]);
    let status = sandbox.run(&["status"]).ends_with(0).stdout;
    assert!(!status.contains("has not run yet"), "{status}");
    // A run that goes on from another one's work does not know what that one changed.
    let sandbox = gated(&gates);
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    sandbox.run(&["finish", "--cleanup"]).ends_with(0);
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(lines(&sandbox, "runs"), ["one 2", "web 2"]);
}

#[test]
fn the_baseline_of_a_gate_runs_again_only_where_files_in_its_paths_are_others() {
    let sandbox = gated(&gate("dir", "[\"dir/**\"]", ""));
    let runs = |why: &str, want: usize| assert_eq!(lines(&sandbox, "runs").len(), want, "{why}");
    sandbox.agent(GOOD);
    sandbox.run(&["loop", "c"]).ends_with(0);
    runs("before the first story, and not before the second", 1);
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    sandbox.write("a.txt", "other\n");
    sandbox.run(&["loop", "c"]).ends_with(0);
    runs("a tree that differs in other files", 1);
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    sandbox.write("dir/b.txt", "other\n");
    sandbox.run(&["loop", "c"]).ends_with(0);
    runs("a file in its paths is another one", 2);
}

#[test]
fn what_a_story_breaks_in_a_gate_that_did_not_run_on_it_is_not_red_before() {
    // Story 1 breaks the gate without a change in its paths; story 2 changes a file in them.
    let sandbox = gated(
        "[[gate]]\nname = \"web\"\nrun = \"test ! -e story-1.txt\"\npaths = [\"story-2.txt\"]\n",
    );
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    assert_eq!(
        sandbox.failures(),
        ["2.1 gate: gate `web` failed: exit code 1"]
    );
}

#[test]
fn the_doctor_a_dry_run_and_the_prompt_show_the_paths_of_a_gate() {
    let sandbox =
        gated("[[gate]]\nname = \"web\"\nrun = \"true\"\npaths = [\"web/**\", \"*.css\"]\n");
    let doctor = sandbox.run(&["doctor"]).ends_with(0).stdout;
    let paths = "`web`: `true`, only for `web/**`, `*.css`";
    assert!(doctor.contains(paths), "{doctor}");
    let dry = sandbox.run(&["loop", "c", "--dry-run"]).ends_with(0).stdout;
    let shown = "web: true (timeout 30m, only for `web/**`, `*.css`)";
    assert!(dry.contains(shown), "{dry}");
    let dry = sandbox
        .run(&["loop", "c", "--dry-run", "--json"])
        .ends_with(0)
        .stdout;
    let dry: serde_json::Value = serde_json::from_str(&dry).unwrap();
    assert_eq!(dry["gates"][0]["paths"], json!(["web/**", "*.css"]));
    let prompt = sandbox.run(&["prompt", "c"]).ends_with(0).stdout;
    let line = "- web: `true` (only if you change `web/**`, `*.css`)";
    assert!(prompt.contains(line), "{prompt}");
}
