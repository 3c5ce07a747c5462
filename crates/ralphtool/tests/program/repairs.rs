//! Rounds of an attempt with the real program: the agent's session goes on in the same tree, to repair
//! what a check found.

use crate::sandbox::{self, Sandbox};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// An agent that keeps its sessions apart: `$1` is `first` or `again`, `$2` the session's id. What it
/// is asked is kept in a file for each round.
const KEEPS_SESSIONS: &str = r#"
echo "$1 $2" >> "$root/rounds"
round=$(wc -l < "$root/rounds" | tr -d ' ')
printf '%s' "$prompt" > "$root/prompt-$round"
"#;

/// A sandbox whose agent can continue its session; `ROOT` in the tables is the sandbox's folder.
pub(crate) fn in_sessions(lines: &str, tables: &str, script: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let root = sandbox.root.display().to_string();
    let agent = format!(
        "[agents.mine]\ncommand = [\"sh\", \"{root}/agent.sh\", \"first\", \"{{session}}\"]\n\
         resume = [\"sh\", \"{root}/agent.sh\", \"again\", \"{{session}}\"]\n"
    );
    let tables = tables.replace("ROOT", &root);
    sandbox.write(
        "ralphtool.toml",
        &format!("agent = \"mine\"\n{lines}\n{agent}{tables}\n"),
    );
    sandbox.git("add -A");
    sandbox.git("commit -q -m settings");
    sandbox.agent(&format!("{KEEPS_SESSIONS}{script}"));
    sandbox
}

pub(crate) fn rounds(sandbox: &Sandbox) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(sandbox.root.join("rounds")).unwrap_or_default();
    let pair = |line: &str| {
        let (what, session) = line.split_once(' ').unwrap();
        (what.to_owned(), session.to_owned())
    };
    text.lines().map(pair).collect()
}

pub(crate) fn asked(sandbox: &Sandbox, round: usize) -> String {
    std::fs::read_to_string(sandbox.root.join(format!("prompt-{round}"))).unwrap()
}

fn without(mut event: Value, keys: &[&str]) -> Value {
    for key in keys {
        event.as_object_mut().unwrap().remove(*key);
    }
    event
}

const NEEDS_FIX: &str = "[[gate]]\nname = \"tests\"\nrun = \"cat story-1.txt; touch built; grep -q fixed story-1.txt\"\nbaseline = false\n";

#[test]
fn a_red_gate_is_repaired_in_the_same_session_and_the_story_takes_one_attempt() {
    let script = r#"
ls > "$root/seen-$round"
case "$1-$RALPHTOOL_STORY" in
    again-1) echo fixed >> story-1.txt; complete ;;
    *) echo "work" > "story-$RALPHTOOL_STORY.txt"; tick "$RALPHTOOL_STORY"; complete ;;
esac
"#;
    let sandbox = in_sessions("max_retries = 0", NEEDS_FIX, script);
    let output = sandbox.run(&["loop", "c"]).ends_with(0);
    let rounds = rounds(&sandbox);
    let what: Vec<&str> = rounds.iter().map(|(what, _)| what.as_str()).collect();
    assert_eq!(what, ["first", "again", "first"]);
    assert_eq!(rounds[0].1, rounds[1].1, "the same session");
    assert_ne!(rounds[1].1, rounds[2].1, "another story, another session");
    let asked = asked(&sandbox, 2);
    assert!(
        asked.contains("gate `tests` failed: exit code 1\nwork"),
        "{asked}"
    );
    assert!(asked.contains("<promise>COMPLETE</promise>"), "{asked}");
    let seen = std::fs::read_to_string(sandbox.root.join("seen-2")).unwrap();
    assert!(
        seen.contains("story-1.txt"),
        "its own work is there: {seen}"
    );
    assert!(!seen.contains("built"), "what the gate made is not: {seen}");
    let repairs: Vec<Value> = sandbox.events_named("repair_started");
    let repairs: Vec<Value> = repairs
        .into_iter()
        .map(|event| without(event, &["v", "seq", "at", "run"]))
        .collect();
    assert_eq!(
        repairs,
        [json!({
            "event": "repair_started",
            "story": "1",
            "attempt": 1,
            "repair": 1,
            "max_repairs": 2,
            "kind": "gate",
            "gate": "tests",
            "reason": "gate `tests` failed: exit code 1\nwork",
        })]
    );
    assert_eq!(sandbox.failures(), [""; 0]);
    assert_eq!(sandbox.events_named("attempt_started").len(), 2);
    let transcript = sandbox.transcript("1.1", "stdout");
    assert_eq!(
        transcript.matches("<promise>COMPLETE</promise>").count(),
        2,
        "both rounds are in one transcript"
    );
    assert!(
        output
            .stdout
            .contains("repair 1/2 of attempt 1, in the same session: a gate failed"),
        "{}",
        output.stdout
    );
    assert!(
        output.stdout.contains("1 attempt · 1 repair · "),
        "{}",
        output.stdout
    );
    let receipt = sandbox.run(&["log", "last"]).ends_with(0).stdout;
    assert!(
        receipt.contains("repair 1 in the same session: gate `tests`"),
        "{receipt}"
    );
    assert!(receipt.contains("2 attempts, 1 repair"), "{receipt}");
    let status = sandbox.run(&["status"]).ends_with(0).stdout;
    assert!(status.contains("2, 1 repair"), "{status}");
}

#[test]
fn an_attempt_that_is_not_repaired_is_parked_with_all_its_rounds_and_tried_again() {
    let script = r#"
echo "round $round" > story-1.txt
[ "$attempt" = 2 ] && echo fixed >> story-1.txt
tick 1; complete
"#;
    let sandbox = in_sessions("max_retries = 1", NEEDS_FIX, script);
    sandbox
        .run(&["loop", "c", "--story", "1", "--repairs", "1"])
        .ends_with(0);
    let what: Vec<String> = rounds(&sandbox).into_iter().map(|(what, _)| what).collect();
    assert_eq!(what, ["first", "again", "first"]);
    assert_eq!(
        sandbox.failures(),
        ["1.1 gate: gate `tests` failed: exit code 1\nround 2"]
    );
    let failed = &sandbox.events_named("attempt_failed")[0];
    assert_eq!(failed["repairs"], 1);
    assert!(asked(&sandbox, 3).contains("round 2"), "the last failure");
    let list = sandbox.run(&["attempts"]).ends_with(0).stdout;
    assert!(
        list.contains("1.1      just now  2       3      gate"),
        "{list}"
    );
}

#[test]
fn without_repairs_a_red_gate_fails_the_attempt_at_once() {
    let script = "echo work > story-1.txt; tick 1; complete";
    let sandbox = in_sessions("max_retries = 0\nrepairs = 0", NEEDS_FIX, script);
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(1);
    assert_eq!(rounds(&sandbox).len(), 1);
}

#[test]
fn the_same_failure_again_ends_the_repairs() {
    let script = "echo work > story-1.txt; tick 1; complete";
    let sandbox = in_sessions("max_retries = 0\nrepairs = 9", NEEDS_FIX, script);
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(1);
    assert_eq!(rounds(&sandbox).len(), 2);
}

#[test]
fn an_agent_that_forgot_its_promise_is_reminded() {
    let script = r#"
echo "work" > story-1.txt
[ "$1" = first ] || { tick 1; complete; }
"#;
    let sandbox = in_sessions("max_retries = 0", "", script);
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    let reminder = asked(&sandbox, 2);
    assert!(
        reminder.starts_with("Your last message had no promise"),
        "{reminder}"
    );
    assert_eq!(
        sandbox.events_named("repair_started")[0]["kind"],
        "no_signal"
    );
}

#[test]
fn a_session_that_cannot_be_continued_falls_back_to_a_new_attempt() {
    let script = r#"
[ "$1" = first ] || { echo "no such session" >&2; exit 1; }
echo "work" > story-1.txt
[ "$attempt" = 2 ] && echo fixed >> story-1.txt
tick 1; complete
"#;
    let sandbox = in_sessions("max_retries = 1", NEEDS_FIX, script);
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(
        sandbox.failures(),
        ["1.1 gate: gate `tests` failed: exit code 1\nwork"]
    );
    let message = "repair_failed: the agent's session could not be continued: the agent ended with \
                   exit code 1\nno such session";
    assert!(
        sandbox.warnings().contains(&message.to_owned()),
        "{:?}",
        sandbox.warnings()
    );
}

#[test]
fn a_run_that_is_killed_during_a_repair_parks_the_attempt_and_starts_a_new_one() {
    let script = r#"
echo "work $attempt" > "story-$RALPHTOOL_STORY.txt"
if [ "$1" = again ]; then echo half > half.txt; touch "$root/at-work"; wait_for "$root/never"; fi
[ "$attempt" = 2 ] && echo fixed >> story-1.txt
tick "$RALPHTOOL_STORY"; complete
"#;
    let sandbox = in_sessions("max_retries = 0", NEEDS_FIX, script);
    let running = sandbox.start(&["loop", "c", "--story", "1"]);
    sandbox::until("the repair", || {
        sandbox::there(&sandbox.root.join("at-work"))
    });
    running.kill_all();
    drop(running);
    sandbox.run(&["resume"]).ends_with(0);
    assert!(!sandbox.exists("half.txt"), "the tree was restored");
    let what: Vec<String> = rounds(&sandbox).into_iter().map(|(what, _)| what).collect();
    assert_eq!(what, ["first", "again", "first", "first"]);
    let failed = &sandbox.events_named("attempt_failed")[0];
    assert_eq!(
        (&failed["kind"], &failed["repairs"]),
        (&json!("interrupted"), &json!(1))
    );
    let list = sandbox.run(&["attempts"]).ends_with(0).stdout;
    assert!(list.contains("2       3      interrupted"), "{list}");
}

#[test]
fn what_an_earlier_round_was_blamed_for_is_not_held_against_the_repaired_work() {
    let script = r#"
case "$1" in
    first) rm -f tests/old_test.py ;;
    *) git checkout -q -- tests/old_test.py ;;
esac
echo "work" > story-1.txt
tick 1; complete
"#;
    let sandbox = in_sessions("max_retries = 0", "[tamper]\ntests = \"fail\"\n", script);
    sandbox.write(
        "tests/old_test.py",
        "def test_a():\n    assert 1 + 1 == 2\n",
    );
    sandbox.git("add -A");
    sandbox.git("commit -q -m tests");
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(sandbox.events_named("repair_started")[0]["kind"], "tamper");
    let receipt = sandbox.run(&["log", "last", "--json"]).ends_with(0).stdout;
    let receipt: Value = serde_json::from_str(&receipt).unwrap();
    assert_eq!(receipt["stories"][0]["findings"], Value::Null);
    assert!(sandbox.exists("tests/old_test.py"));
}
