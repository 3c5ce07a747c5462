//! `ralphtool log`: past runs, and what happened in one of them.

use crate::sandbox::{GOOD, Sandbox, records, there, until};
use pretty_assertions::assert_eq;
use serde_json::Value;

#[test]
fn past_runs_are_listed_and_shown_again() {
    let sandbox = Sandbox::new();
    let none = sandbox.run(&["log"]).ends_with(0);
    assert_eq!(none.stdout, "no run took place in this repository\n");
    let refused = sandbox.run(&["log", "last"]).ends_with(2);
    assert!(
        refused.stderr.contains("no run took place"),
        "{}",
        refused.stderr
    );

    sandbox.agent("failed 'not today'");
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    sandbox.agent(GOOD);
    let live = sandbox.run(&["loop", "c"]).ends_with(0);

    let listed = sandbox.run(&["log", "--json"]).ends_with(0);
    let runs: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap();
    let told: Vec<String> = runs
        .iter()
        .map(|run| {
            let stories = format!("{}/{}", run["stories_done"], run["stories_total"]);
            format!(
                "{} {} {} {stories}",
                run["change"], run["state"], run["finish"]
            )
        })
        .collect();
    let want = [r#""c" "done" "keep" 2/2"#, r#""c" "failed" "abandon" 0/2"#];
    assert_eq!(told, want);

    let table = sandbox.run(&["log"]).ends_with(0).stdout;
    let names: Vec<&str> = table
        .lines()
        .skip(1)
        .filter_map(|line| line.split(' ').next())
        .collect();
    let ids: Vec<&str> = runs.iter().filter_map(|run| run["run"].as_str()).collect();
    assert_eq!(names, ids);

    let shown = sandbox.run(&["log", "last", "--events"]).ends_with(0);
    let shown = shown.stdout;
    assert_eq!(shown.lines().next(), live.stdout.lines().next());
    let lines = sandbox.run(&["log", ids[1], "--events", "--json"]);
    let lines = records(&lines.ends_with(0).stdout);
    let file = std::fs::read_to_string(
        sandbox
            .vault()
            .join("runs")
            .join(ids[1])
            .join("events.jsonl"),
    );
    assert_eq!(lines, records(&file.unwrap()));

    let unknown = sandbox.run(&["log", "../../x"]).ends_with(2);
    assert!(unknown.stderr.contains(ids[0]), "{}", unknown.stderr);
}

#[test]
fn the_log_shows_a_run_that_is_still_active() {
    let sandbox = Sandbox::new();
    sandbox.agent("touch ../working; wait_for ../go; failed enough");
    let running = sandbox.start(&["loop", "c", "--max-retries", "0"]);
    until("the agent", || there(&sandbox.root.join("working")));
    let listed = sandbox.run(&["log", "--json"]).ends_with(0);
    let runs: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(runs[0]["state"], "running");
    let shown = sandbox.run(&["log", "last"]).ends_with(0).stdout;
    assert!(shown.contains("attempt"), "{shown}");
    std::fs::write(sandbox.root.join("go"), "").unwrap();
    running.end().ends_with(1);
}
