//! Budgets of a run and of its stories, prices, and the receipt that shows them.

use crate::sandbox::{Sandbox, files, records, there, until};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};

/// An agent with the output of Claude Code; `m` costs a dollar per million tokens.
const SETTINGS: &str = r#"
[agents.teller]
command = ["sh", "ROOT/teller.sh"]
output = "claude-json"
[prices.m]
input = 1
output = 1
"#;

const SPEECH: &str = r#"
cat > /dev/null
tasks="openspec/changes/$RALPHTOOL_CHANGE/tasks.md"
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
used() { # used MESSAGE TOKENS
    printf '{"type":"assistant","message":{"id":"%s","content":[],"usage":{"input_tokens":%s,"output_tokens":0}}}\n' "$1" "$2"
}
result() { # result WORDS TOKENS, with more fields if need be
    printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","usage":{"input_tokens":%s}%s}\n' "$1" "$2" "$3"
}
work() {
    echo work > "story-$RALPHTOOL_STORY.txt"
    sed "s/- \[ \] $RALPHTOOL_STORY\./- [x] $RALPHTOOL_STORY./" "$tasks" > "$tasks.new" && mv "$tasks.new" "$tasks"
}
"#;

/// An agent that does its work and reports only tokens.
const GOOD: &str = "work; result '<promise>COMPLETE</promise>' 100000";

fn with_agent(script: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let settings = SETTINGS.replace("ROOT", &sandbox.root.display().to_string());
    sandbox.write("ralphtool.toml", &format!("agent = \"teller\"\n{settings}"));
    sandbox.git("add -A");
    sandbox.git("commit -qm settings");
    speak(&sandbox, script);
    sandbox
}

fn speak(sandbox: &Sandbox, script: &str) {
    let text = format!("root='{}'\n{SPEECH}\n{script}\n", sandbox.root.display());
    std::fs::write(sandbox.root.join("teller.sh"), text).unwrap();
}

fn receipt(sandbox: &Sandbox) -> Value {
    let output = sandbox.run(&["log", "last", "--json"]).ends_with(0);
    serde_json::from_str(&output.stdout).unwrap()
}

#[test]
fn a_budget_warns_and_stops_the_run_and_a_higher_one_continues_it() {
    let sandbox = with_agent("echo junk > junk.txt; used a 850000; used b 250000; sleep 300");
    let before = files(&sandbox.repo);
    sandbox.run(&["loop", "c", "--max-cost", "1"]).ends_with(3);
    assert_eq!(
        sandbox.failures(),
        ["1.1 budget: the budget of $1.00 is used up"]
    );
    assert_eq!(
        sandbox.warnings(),
        ["budget: 85% of the budget of $1.00 used; the run stops at 100%"]
    );
    assert_eq!(files(&sandbox.repo), before);
    let parked = sandbox.run(&["attempts"]).ends_with(0);
    assert!(parked.stdout.contains("1.1"), "{}", parked.stdout);

    let again = sandbox.run(&["resume", "--max-cost", "1"]).ends_with(3);
    let way_out = "resume with a higher budget: `ralphtool resume --max-cost 2`";
    assert!(again.stdout.contains(way_out), "{}", again.stdout);
    assert_eq!(sandbox.events_named("attempt_started").len(), 1);

    speak(&sandbox, GOOD);
    sandbox.run(&["resume", "--max-cost", "2"]).ends_with(0);
    let told = receipt(&sandbox);
    let totals = &told["totals"];
    assert_eq!(totals["input_tokens"], 1_300_000);
    assert_eq!(
        totals["cost_from"],
        json!([{"source": "prices", "name": "m"}])
    );
    let cost = totals["cost_usd"].as_f64().unwrap();
    assert!((cost - 1.3).abs() < 1e-9, "{cost}");
    assert_eq!(told["stories"][0]["attempts"][0]["kind"], "budget");
    assert_eq!(told["stories"][0]["attempts"][1]["result"], "completed");
    assert_eq!(told["warnings"][0]["code"], "budget");
}

#[test]
fn a_story_has_its_own_budget_over_all_attempts() {
    let sandbox = with_agent("used a 600; result '<promise>FAILED: no</promise>' 600");
    sandbox
        .run(&["loop", "c", "--max-story-tokens", "1000"])
        .ends_with(3);
    let ended = &sandbox.events_named("run_ended")[0];
    assert_eq!(
        ended["outcome"],
        json!({
            "why": "budget_used_up",
            "story": "1",
            "used": "1.2k",
            "limit": "1.0k tokens",
            "flags": "--max-story-tokens 2k"
        })
    );
    assert_eq!(sandbox.events_named("attempt_started").len(), 2);

    speak(
        &sandbox,
        "work; used a 900; result '<promise>COMPLETE</promise>' 900",
    );
    let resumed = ["resume", "--max-story-tokens", "2k"];
    sandbox.run(&resumed).ends_with(3);
    assert_eq!(
        sandbox.failures().last().unwrap(),
        "1.3 budget: the budget of 2000 tokens for story `1` is used up",
        "what the story used before counts"
    );
    sandbox
        .run(&["resume", "--max-story-tokens", "5k"])
        .ends_with(0);
}

#[test]
fn the_time_budget_stops_a_gate_too() {
    let sandbox = with_agent(GOOD);
    let settings = sandbox.read("ralphtool.toml");
    let gate = "[[gate]]\nname = \"slow\"\nrun = \"sleep 300\"\nbaseline = false\n";
    sandbox.write("ralphtool.toml", &format!("{settings}{gate}"));
    let before = files(&sandbox.repo);
    sandbox
        .run(&["loop", "c", "--max-story-time", "1s"])
        .ends_with(3);
    assert_eq!(
        sandbox.failures(),
        ["1.1 budget: the time of 1s for story `1` is used up"]
    );
    assert_eq!(files(&sandbox.repo), before);
}

#[test]
fn a_story_that_reaches_the_budget_exactly_is_saved() {
    let costs = r#"work; result '<promise>COMPLETE</promise>' 5 ',"total_cost_usd":1.0'"#;
    let sandbox = with_agent(costs);
    sandbox.run(&["loop", "c", "--max-cost", "1"]).ends_with(3);
    assert_eq!(sandbox.failures(), [""; 0]);
    assert_eq!(sandbox.events_named("story_completed").len(), 1);
    assert_eq!(sandbox.events_named("story_started").len(), 1);

    sandbox.run(&["resume", "--max-cost", "2"]).ends_with(0);
    let told = receipt(&sandbox);
    assert_eq!(told["state"], "done");
    assert_eq!(told["totals"]["cost_usd"], 2.0);
    assert_eq!(told["totals"]["cost_from"], json!([{"source": "agent"}]));
}

#[test]
fn what_a_killed_run_used_counts_when_it_is_resumed() {
    let sandbox = with_agent("touch \"$root/here\"; used a 900; sleep 300");
    let running = sandbox.start(&["loop", "c", "--max-tokens", "1000"]);
    until("the agent", || there(&sandbox.root.join("here")));
    until("the figures", || {
        let told = sandbox.runs().last().map(|run| {
            let text = std::fs::read_to_string(run.join("events.jsonl")).unwrap_or_default();
            text.contains("\"input_tokens\":900")
        });
        told.filter(|told| *told)
    });
    running.signal(Signal::KILL);
    drop(running.end());
    speak(&sandbox, "used a 200; sleep 300");
    sandbox
        .run(&["resume", "--max-tokens", "1000"])
        .ends_with(3);
    assert_eq!(
        sandbox.failures().last().unwrap(),
        "1.2 budget: the budget of 1000 tokens is used up"
    );
    let told = receipt(&sandbox);
    assert_eq!(told["totals"]["input_tokens"], 1100);
    assert_eq!(told["stories"][0]["attempts"][0]["kind"], "interrupted");
}

#[test]
fn an_agent_without_a_price_has_no_cost_and_a_warning_says_so() {
    let sandbox = with_agent("work; result '<promise>COMPLETE</promise>' 700");
    let settings = sandbox
        .read("ralphtool.toml")
        .replace("[prices.m]", "[prices.other]");
    sandbox.write("ralphtool.toml", &settings);
    sandbox.run(&["loop", "c", "--max-cost", "1"]).ends_with(0);
    assert_eq!(
        sandbox.warnings(),
        [
            "no_cost: `teller` does not report its cost, so the budget of $1.00 does not limit it; \
          set prices in `[prices.m]`, or use `--max-tokens`"
        ]
    );
    assert_eq!(receipt(&sandbox)["totals"]["cost_usd"], Value::Null);
}

#[test]
fn an_agent_that_reports_nothing_has_an_unknown_cost_on_every_face() {
    let sandbox = Sandbox::new();
    let closing = sandbox.run(&["loop", "c", "--max-cost", "5"]).ends_with(0);
    let warning = "`mine` reports neither its cost nor its tokens, so the budget of $5.00 does \
                   not limit it; use `--max-time`";
    assert_eq!(sandbox.warnings(), [format!("no_cost: {warning}")]);
    let said = |args: &[&str]| sandbox.run(args).ends_with(0).stdout;
    let line = |text: &str, label: &str| {
        let mut lines = text.lines().map(str::split_whitespace);
        let found = lines.find(|words| words.clone().next() == Some(label));
        found.map(|words| words.collect::<Vec<_>>().join(" "))
    };
    let is = |text: &str| Some(text.to_owned());
    assert_eq!(line(&closing.stdout, "cost"), is("cost unknown"));
    assert_eq!(line(&said(&["status"]), "used"), is("used cost unknown"));
    assert_eq!(line(&said(&["log", "last"]), "cost"), is("cost unknown"));
    let page = said(&["log", "last", "--markdown"]);
    assert!(page.contains(" · cost unknown\n"), "{page}");
    assert!(page.contains("\n- cost: unknown\n"), "{page}");
    let status: Value = serde_json::from_str(&said(&["status", "--json"])).unwrap();
    assert_eq!(status["is_cost_missing"], true);
}

#[test]
fn a_receipt_can_be_read_as_text_markdown_and_json() {
    let sandbox = with_agent(
        "case $RALPHTOOL_STORY.${RALPHTOOL_ATTEMPT##*.} in 1.1) result '<promise>FAILED: ask @octocat</promise>' 7;; *) work; result '<promise>COMPLETE</promise>' 50000;; esac",
    );
    sandbox.run(&["loop", "c"]).ends_with(0);
    let text = sandbox.run(&["log", "last"]).ends_with(0).stdout;
    assert!(
        text.contains("attempt 1: the agent reported failure"),
        "{text}"
    );
    assert!(text.contains("$0.10, computed from `[prices.m]`"), "{text}");
    let page = sandbox.run(&["log", "last", "--markdown"]).ends_with(0);
    let page = page.stdout;
    assert!(
        page.starts_with("## c\n\n**2 of 2 stories done**"),
        "{page}"
    );
    assert!(
        page.contains("<details>\n<summary>Attempt 1 of story 1"),
        "{page}"
    );
    let told = receipt(&sandbox);
    let schema = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/receipt.schema.json"
    ));
    let schema: Value = serde_json::from_str(&schema.unwrap()).unwrap();
    let known = schema["properties"].as_object().unwrap();
    let unknown = |key: &&String| !known.contains_key(*key);
    assert_eq!(told.as_object().unwrap().keys().find(unknown), None);
    let commit = told["stories"][0]["commits"][0]["id"].as_str().unwrap();
    assert_eq!(
        sandbox.git(&format!("cat-file -t {commit}")).trim(),
        "commit"
    );

    let events = sandbox
        .run(&["log", "last", "--events", "--json"])
        .ends_with(0);
    assert_eq!(records(&events.stdout), sandbox.events());
    let shown = sandbox
        .run(&["log", "last", "--events"])
        .ends_with(0)
        .stdout;
    assert!(shown.contains("story 1/2"), "{shown}");
    let of_last = sandbox.run(&["log", "--markdown"]).ends_with(0).stdout;
    assert_eq!(of_last, page);
}
