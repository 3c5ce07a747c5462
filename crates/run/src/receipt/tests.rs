//! Receipts of runs of all sorts. The scripts of records are used by the tests of the faces too.

use pretty_assertions::assert_eq;

use super::examples::{EVERYTHING, everything, receipt};
use super::*;
use crate::records::state::RunState;

#[test]
fn a_run_is_reported_story_by_story() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&everything()).unwrap());
}

/// The lines up to the first one that has this in it.
fn up_to(mark: &str) -> String {
    let end = EVERYTHING.find(mark).unwrap();
    let end = EVERYTHING[..end].rfind('\n').unwrap();
    EVERYTHING[..=end].to_owned()
}

fn attempts(receipt: &Receipt) -> Vec<(AttemptResult, Option<u64>)> {
    let all = receipt.stories.iter().flat_map(|it| &it.attempts);
    all.map(|it| (it.result, it.duration_ms)).collect()
}

#[test]
fn a_run_at_work_counts_up_to_now() {
    let running = receipt(&up_to("\"gate\":\"tests\""), RunState::Running);
    assert_eq!(running.ended, None);
    assert_eq!(running.totals.duration_ms, 100_000);
    assert_eq!(running.stories[1].state, StoryResult::Running);
    assert_eq!(running.stories[1].duration_ms, 99_000);
    assert_eq!(attempts(&running), [(AttemptResult::Running, None)]);
    assert_eq!(running.totals.spending.total_tokens(), 72_000);
}

#[test]
fn an_interrupted_run_counts_up_to_its_last_sign_of_life() {
    let lines = up_to("\"gate\":\"tests\"");
    let dead = receipt(&lines, RunState::Interrupted);
    assert_eq!(dead.totals.duration_ms, 65_000);
    assert_eq!(dead.stories[1].state, StoryResult::Unfinished);
    assert_eq!(attempts(&dead), [(AttemptResult::Interrupted, None)]);
    assert_eq!(dead.totals.failed_attempts, 0);

    // What the next start says of it, an hour later, is no time at work.
    let repaired = format!(
        "{lines}3600 {}\n",
        r#"{"event":"attempt_failed","story":"1","attempt":1,"kind":"interrupted","reason":"the program ended","parked":"1.1","changed_files":3,"retrying":true,"duration_ms":60000,"usage":{"input_tokens":40000,"output_tokens":2000,"cache_read_tokens":30000,"cache_write_tokens":0,"cost_usd":0.1}}"#
    );
    let repaired = receipt(&repaired, RunState::Interrupted);
    assert_eq!(repaired.totals.duration_ms, 65_000);
    assert_eq!(attempts(&repaired), [(AttemptResult::Failed, Some(60_000))]);
}

const AGAIN: &str = r#"
3600 {"event":"recovered","found":"x","done":"y"}
0 {"event":"run_started","change":"add-retry","branch":"ralph/add-retry","original":"main","original_commit":"c0","agent":"codex","model":null,"stories_total":4,"stories_done":1,"max_retries":3,"gates":[],"resumed":true,"stories":[{"id":"0","title":"Before","state":"done","tasks_done":1,"tasks_total":1},{"id":"1","title":"Retry","state":"open","tasks_done":0,"tasks_total":2}]}
0 {"event":"story_started","story":"1","title":"Retry","position":2,"total":2,"open_tasks":2}
0 {"event":"attempt_started","story":"1","attempt":3,"max_attempts":6,"transcript":"t"}
10 {"event":"story_completed","story":"1","title":"Retry","attempts":3,"commit":"beef","changed_files":1,"duration_ms":10000,"usage":{"input_tokens":7,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0}}
0 {"event":"run_ended","outcome":{"why":"all_done"},"stories_done":2,"stories_total":2,"attempts":1,"duration_ms":278000,"usage":{"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0}}
"#;

#[test]
fn a_story_that_was_done_again_has_both_commits_and_one_that_counts() {
    let lines = format!("{}{}", EVERYTHING.trim_end(), AGAIN);
    let again = receipt(&lines, RunState::Done);
    let story = &again.stories[1];
    let commit = |id: &str, changed_files, superseded| CommitReceipt {
        id: id.to_owned(),
        changed_files,
        superseded,
    };
    assert_eq!(
        story.commits,
        [
            commit("c0ffee0123456789", 4, true),
            commit("beef", 1, false)
        ]
    );
    assert_eq!(story.attempts.len(), 3);
    assert!(story.spending.cost_is_partial, "the last told only tokens");
    assert_eq!(again.totals.commits, 1);
    assert_eq!(again.totals.duration_ms, 268_000 + 10_000);
}

const REOPENED: &str = r#"
0 {"event":"run_started","change":"add-retry","branch":"ralph/add-retry","original":"main","original_commit":"c0","agent":"codex","model":null,"stories_total":1,"stories_done":0,"max_retries":3,"gates":["all"],"resumed":false,"stories":[{"id":"1","title":"Retry","state":"open","tasks_done":0,"tasks_total":2}]}
0 {"event":"story_started","story":"1","title":"Retry","position":1,"total":1,"open_tasks":2}
0 {"event":"attempt_started","story":"1","attempt":1,"max_attempts":4,"transcript":"t"}
9 {"event":"story_completed","story":"1","title":"Retry","attempts":1,"commit":"aaaa","changed_files":1,"duration_ms":9000,"usage":{"input_tokens":7,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0}}
0 {"event":"gate_started","story":"1","gate":"all","baseline":false,"whole":true}
1 {"event":"gate_finished","story":"1","gate":"all","baseline":false,"whole":true,"result":{"verdict":"failed","how":"exit code 1","tail":"x"},"duration_ms":1000}
0 {"event":"story_reopened","story":"1","gate":"all","reason":"gate `all` failed","commit":"bbbb"}
0 {"event":"story_started","story":"1","title":"Retry","position":1,"total":1,"open_tasks":2}
0 {"event":"attempt_started","story":"1","attempt":2,"max_attempts":4,"transcript":"t"}
9 {"event":"story_completed","story":"1","title":"Retry","attempts":2,"commit":"cccc","changed_files":1,"duration_ms":9000,"usage":{"input_tokens":7,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0}}
0 {"event":"gate_started","story":"1","gate":"all","baseline":false,"whole":true}
1 {"event":"gate_finished","story":"1","gate":"all","baseline":false,"whole":true,"result":{"verdict":"passed"},"duration_ms":1000}
"#;

#[test]
fn a_story_that_a_gate_at_the_end_opened_again_keeps_its_commits() {
    let receipt = receipt(REOPENED, RunState::Done);
    let commits = receipt.stories[0].commits.iter();
    let commits: Vec<_> = commits.map(|it| (it.id.as_str(), it.superseded)).collect();
    assert_eq!(commits, [("aaaa", false), ("cccc", false)]);
    let at_end: Vec<_> = receipt.gates_at_end.iter().map(|it| it.verdict).collect();
    assert_eq!(at_end, [GateVerdict::Failed, GateVerdict::Passed]);
    assert_eq!(receipt.stories[0].gates_before, []);
}

#[test]
fn a_flaky_gate_has_its_red_tries_and_is_counted_by_the_try_at_which_it_passed() {
    let gate = everything().stories[1].attempts[1].gates[0].clone();
    let red = RedTryReceipt {
        how: "exit code 1".to_owned(),
        duration_ms: 7000,
        log: "1.2-1.log".to_owned(),
    };
    assert_eq!(gate.verdict, GateVerdict::Passed);
    assert_eq!((gate.duration_ms, gate.red_tries), (Some(8000), vec![red]));

    let begins =
        r#"{"event":"gate_started","story":"1","gate":"all","baseline":false,"whole":true}"#;
    let retried = r#"{"event":"gate_retried","story":"1","gate":"all","baseline":false,"whole":true,"try_number":1,"result":{"verdict":"failed","how":"exit code 1","tail":""},"log":"l","duration_ms":1}"#;
    let passed = r#"{"event":"gate_finished","story":"1","gate":"all","baseline":false,"whole":true,"result":{"verdict":"passed"},"duration_ms":1}"#;
    let again = begins.replace("true}", "true,\"try_number\":2}");
    let twice = format!("0 {begins}\n0 {retried}\n0 {again}\n0 {passed}\n").repeat(2);
    let third = format!("0 {begins}\n0 {retried}\n0 {again}\n0 {retried}\n0 {again}\n0 {passed}\n");
    let lines = format!("{}\n{twice}{third}", EVERYTHING.trim_end());
    let receipt = receipt(&lines, RunState::Done);
    let flaky = |gate: &str, passed_at, times| FlakyGate {
        gate: gate.to_owned(),
        passed_at,
        times,
    };
    assert_eq!(
        receipt.flaky_gates,
        [flaky("all", 2, 2), flaky("all", 3, 1), flaky("tests", 2, 1)]
    );
    let words = "2 flaky gates: `all` passed at the second try, 2 times, and at the third try; \
                 `tests` passed at the second try";
    assert_eq!(receipt.alerts[1], words);
}

const NOT_RUN: &str = r#"
0 {"event":"run_started","change":"add-retry","branch":"ralph/add-retry","original":"main","original_commit":"c0","agent":"codex","model":null,"stories_total":1,"stories_done":0,"max_retries":3,"gates":["web","e2e"],"gates_at_end":["e2e"],"resumed":false,"stories":[{"id":"1","title":"Retry","state":"open","tasks_done":0,"tasks_total":2}]}
0 {"event":"story_started","story":"1","title":"Retry","position":1,"total":1,"open_tasks":2}
0 {"event":"gate_started","story":"1","gate":"web","baseline":true}
1 {"event":"gate_finished","story":"1","gate":"web","baseline":true,"result":{"verdict":"passed"},"duration_ms":1000}
0 {"event":"attempt_started","story":"1","attempt":1,"max_attempts":4,"transcript":"t"}
0 {"event":"gate_not_run","story":"1","gate":"web"}
9 {"event":"story_completed","story":"1","title":"Retry","attempts":1,"commit":"aaaa","changed_files":1,"duration_ms":9000,"usage":{"input_tokens":7,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0}}
"#;

const AT_END: &str = r#"
1 {"event":"run_ended","outcome":{"why":"all_done"},"stories_done":1,"stories_total":1,"attempts":1,"duration_ms":11000,"usage":{"input_tokens":7,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0}}
"#;

#[test]
fn a_gate_whose_paths_were_not_changed_is_listed_and_keeps_no_work_from_being_verified() {
    let ran = r#"
0 {"event":"gate_started","story":"1","gate":"e2e","baseline":false,"whole":true}
1 {"event":"gate_finished","story":"1","gate":"e2e","baseline":false,"whole":true,"result":{"verdict":"passed"},"duration_ms":1000}"#;
    let one_ran = receipt(&format!("{NOT_RUN}{ran}{AT_END}"), RunState::Done);
    let web = &one_ran.stories[0].attempts[0].gates[0];
    assert_eq!((web.verdict, web.duration_ms), (GateVerdict::NotRun, None));
    assert_eq!(one_ran.gates_not_run, ["web"]);
    assert_eq!(one_ran.unverified, None);
    assert_eq!(one_ran.alerts, Vec::<String>::new());

    let none = r#"
0 {"event":"gate_not_run","story":"1","gate":"e2e","whole":true}"#;
    let none_ran = receipt(&format!("{NOT_RUN}{none}{AT_END}"), RunState::Done);
    assert_eq!(none_ran.gates_not_run, ["web", "e2e"]);
    let words = "no gate ran, because no file in their paths was changed: the agent's word is the \
                 only check";
    assert_eq!(none_ran.alerts, [words]);
    assert_eq!(none_ran.unverified.as_deref(), Some(words));
}

#[test]
fn a_run_that_did_not_begin_has_a_receipt_too() {
    let nothing = receipt("", RunState::Interrupted);
    assert_eq!((nothing.stories.len(), nothing.totals.attempts), (0, 0));
    assert_eq!(nothing.branch, None);
}
