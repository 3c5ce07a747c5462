//! `ralphtool status`, before, during and after a run in another process.

use std::fs;

use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::sandbox::{GOOD, Sandbox, everything, records, there, until};

/// Prints something, signals that it runs, and waits until the test opens the pipe.
const HELD: &str = r#"
echo "Looking around."
touch "$root/here"
cat "$root/go" > "$root/heard"
"#;

fn pipe(sandbox: &Sandbox, name: &str) {
    let made = sandbox
        .command("mkfifo")
        .arg(sandbox.root.join(name))
        .status();
    assert!(made.unwrap().success());
}

fn status(sandbox: &Sandbox) -> Value {
    let told = sandbox.run(&["status", "--json"]).ends_with(0).stdout;
    serde_json::from_str(&told).unwrap()
}

/// The parts of an object by their names.
fn parts(status: &Value, names: &[&str]) -> Value {
    names.iter().map(|name| status[*name].clone()).collect()
}

#[test]
fn without_a_run_it_says_so() {
    let sandbox = Sandbox::new();
    let before = everything(&sandbox.repo);
    let told = sandbox.run(&["status"]).ends_with(0).stdout;
    assert!(
        told.starts_with("no run took place in this repository\n"),
        "{told}"
    );
    assert!(told.contains("ralphtool run"), "{told}");
    let object = status(&sandbox);
    assert_eq!(parts(&object, &["state", "run"]), json!([null, null]));
    let lines = sandbox.run(&["status", "--watch"]).ends_with(0).stdout;
    assert_eq!(lines.lines().count(), 1, "{lines}");
    assert_eq!(everything(&sandbox.repo), before);
    assert!(!sandbox.root.join("state").exists(), "a vault was made");
}

#[test]
fn status_shows_a_run_in_another_process() {
    let sandbox = Sandbox::new();
    pipe(&sandbox, "go");
    pipe(&sandbox, "gate");
    let gate = format!(
        "[[gate]]\nname = \"slow\"\nrun = \"touch {0}/in-gate; cat {0}/gate\"\nbaseline = false\n",
        sandbox.root.display()
    );
    sandbox.config_and("", &gate);
    sandbox.git("commit -qam gate");
    let once = "if [ ! -e \"$root/was\" ]; then touch \"$root/was\"; failed 'not yet'; exit 0; fi";
    sandbox.agent(&format!("{once}\n{HELD}\n{GOOD}"));
    let running = sandbox.start(&["loop", "c", "--story", "1", "--max-cost", "5"]);
    until("the agent", || there(&sandbox.root.join("here")));
    let mut watching = sandbox.start(&["status", "--watch"]);

    let object = status(&sandbox);
    let names = [
        "state",
        "change",
        "branch",
        "agent",
        "attempts",
        "stories_total",
        "warnings",
    ];
    assert_eq!(
        parts(&object, &names),
        json!(["running", "c", "ralph/c", "mine", 2, 2, 1])
    );
    let story =
        json!({"id": "1", "title": "First", "position": 1, "attempt": 2, "max_attempts": 4});
    assert_eq!(object["story"], story);
    assert_eq!(object["doing"]["what"], "agent");
    assert_eq!(object["doing"]["says"], "Looking around.");
    assert_eq!(object["budget"], json!({"usd": 5.0}));
    let failure = json!({"attempt": "1.1", "kind": "failed", "reason": "not yet"});
    assert_eq!(object["last_failure"], failure);
    let told = sandbox.run(&["status"]).ends_with(0).stdout;
    for words in [
        "`c`: running",
        "1 of 2: First, attempt 2 of 4",
        "the agent works, ",
        ": Looking around.",
        "budget    $5.00",
        "last failed attempt 1.1: the agent reported failure: not yet",
        "ralphtool attach",
    ] {
        assert!(told.contains(words), "{words} is not in\n{told}");
    }
    watching.waits_for("attempt 2 of 4");

    fs::write(sandbox.root.join("go"), "go").unwrap();
    until("the gate", || there(&sandbox.root.join("in-gate")));
    let object = status(&sandbox);
    assert_eq!(
        parts(&object["doing"], &["what", "gate"]),
        json!(["gate", "slow"])
    );
    watching.waits_for("gate `slow` runs");
    fs::write(sandbox.root.join("gate"), "go").unwrap();
    running.end().ends_with(0);
    let watched = watching.end().ends_with(0).stdout;
    let last = watched.lines().last().unwrap();
    assert!(last.contains("story 1 is done; branch kept"), "{watched}");

    let object = status(&sandbox);
    assert_eq!(
        parts(
            &object,
            &["state", "finish", "stories_done", "doing", "owner"]
        ),
        json!(["story_done", "keep", 1, null, null])
    );
    assert_eq!(
        object["outcome"],
        json!({"why": "story_done", "story": "1"})
    );
    assert_eq!(object["next"][0]["command"], "ralphtool resume");
}

#[test]
fn status_says_that_a_killed_or_stopped_run_can_be_resumed() {
    let sandbox = Sandbox::new();
    pipe(&sandbox, "go");
    sandbox.agent(&format!("{HELD}\n{GOOD}"));
    let running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here")));
    let watching = sandbox.start(&["status", "--watch", "--json"]);
    until("the watch", || {
        watching.stdout().contains("running").then_some(())
    });
    running.signal(Signal::KILL);
    running.end();
    let told = records(&watching.end().ends_with(0).stdout);
    assert_eq!(told.last().unwrap()["state"], "interrupted");
    assert_eq!(
        told.last().unwrap()["interrupted"]["found"],
        "an attempt was in progress"
    );
    assert_eq!(status(&sandbox)["next"][0]["command"], "ralphtool resume");

    fs::remove_file(sandbox.root.join("here")).unwrap();
    let resumed = sandbox.start(&["resume"]);
    until("the agent", || there(&sandbox.root.join("here")));
    assert_eq!(status(&sandbox)["state"], "running");
    resumed.signal(Signal::TERM);
    resumed.end().ends_with(143);
    let object = status(&sandbox);
    assert_eq!(object["outcome"], json!({"why": "terminated"}));
    assert_eq!(object["next"][0]["command"], "ralphtool resume");
}

#[test]
fn an_interruption_and_a_story_that_is_done_are_named_once_and_by_name() {
    let sandbox = Sandbox::new();
    sandbox.agent("touch $root/here; wait_for $root/never");
    let running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here")));
    running.signal(Signal::KILL);
    running.end().ends_with(137);
    sandbox.agent(GOOD);
    let said = sandbox.run(&["resume", "--story", "1"]).ends_with(0).stdout;
    assert!(said.contains("\n`c`: story 1 is done\n"), "{said}");
    let told = sandbox.run(&["status"]).ends_with(0).stdout;
    assert!(
        told.starts_with("`c`: story 1 is done; branch kept\n"),
        "{told}"
    );
    assert!(
        told.contains("  last failed attempt 1.1: the program was interrupted\n"),
        "{told}"
    );
}

#[test]
fn an_attempt_that_deferred_a_task_is_told_so() {
    let sandbox = Sandbox::new();
    sandbox.config("max_retries = 0");
    sandbox.agent("sed -i 's/- \\[ \\] 1.2/- [~] 1.2/' $tasks; tick 1; complete");
    sandbox.run(&["loop", "c"]).ends_with(1);
    assert_eq!(
        sandbox.failures(),
        ["1.1 tasks: the agent deferred task `1.2 Do b`"]
    );
}
