//! Several agents in one run: which one takes over if one is limited or logged out, which one takes
//! over again, and which one gets a story that keeps failing.

use crate::sandbox::{Output, Sandbox};
use pretty_assertions::assert_eq;
use serde_json::Value;

/// Two agents with the output of Claude Code, `first` and `second`.
const TWO: &str = r#"
[agents.first]
command = ["sh", "ROOT/first.sh"]
output = "claude-json"
[agents.second]
command = ["sh", "ROOT/second.sh"]
output = "claude-json"
"#;

/// Says what Claude Code says when it is done, limited, or not logged in.
const SPEECH: &str = r#"
tasks="openspec/changes/$RALPHTOOL_CHANGE/tasks.md"
init() { echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'; }
say() { printf '{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"%s"}]}}\n' "$1"; }
result() { printf '{"type":"result","subtype":"success","is_error":false,"result":"%s"}\n' "$1"; }
done_well() {
    echo "$me" > "story-$RALPHTOOL_STORY.txt"
    sed "s/- \[ \] $RALPHTOOL_STORY\./- [x] $RALPHTOOL_STORY./" "$tasks" > "$tasks.new" && mv "$tasks.new" "$tasks"
    say '<promise>COMPLETE</promise>'; result '<promise>COMPLETE</promise>'
}
failed() { say "<promise>FAILED: $1</promise>"; result "<promise>FAILED: $1</promise>"; }
limited() { # limited EPOCH_SECONDS
    echo junk > junk.txt
    printf '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":%s}}\n' "$1"
    echo '{"type":"assistant","message":{"id":"e","content":[{"type":"text","text":"You have hit your limit"}]},"error":"rate_limit","is_api_error_message":true,"api_error":"usage_limit_reached"}'
    echo '{"type":"result","subtype":"success","is_error":true,"api_error":"usage_limit_reached","result":"You have hit your limit"}'
    exit 1
}
logged_out() {
    printf '{"type":"assistant","message":{"id":"e","content":[{"type":"text","text":"%s is not logged in"}]},"error":"authentication_failed","is_api_error_message":true}\n' "$me"
    printf '{"type":"result","subtype":"success","is_error":true,"result":"%s is not logged in"}\n' "$me"
    exit 1
}
init
"#;

/// A repository whose agents do what these scripts say.
fn with_agents(lines: &str, first: &str, second: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    for (name, script) in [("first", first), ("second", second)] {
        let root = sandbox.root.display();
        let text = format!("me={name}\nroot='{root}'\ncat > /dev/null\n{SPEECH}\n{script}\n");
        std::fs::write(sandbox.root.join(format!("{name}.sh")), text).unwrap();
    }
    let tables = TWO.replace("ROOT", &sandbox.root.display().to_string());
    sandbox.write("ralphtool.toml", &format!("{lines}\n{tables}"));
    sandbox
}

fn run(sandbox: &Sandbox) -> Output {
    sandbox.run(&["loop", "c"])
}

/// Which agent made which attempt, in order.
fn attempts(sandbox: &Sandbox) -> Vec<String> {
    let told = |event: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let agent = &event["agent"];
        let who = [text(&agent["agent"]), text(&agent["model"])].join(" ");
        format!(
            "{}.{} {}",
            text(&event["story"]),
            event["attempt"],
            who.trim()
        )
    };
    sandbox
        .events_named("attempt_started")
        .iter()
        .map(told)
        .collect()
}

/// Why another agent took over, each time.
fn changes(sandbox: &Sandbox) -> Vec<String> {
    let told = |event: &Value| event["reason"].as_str().unwrap().to_owned();
    sandbox
        .events_named("agent_changed")
        .iter()
        .map(told)
        .collect()
}

#[test]
fn the_next_agent_takes_over_from_one_that_is_limited() {
    let sandbox = with_agents(
        "agent = [\"first\", \"second\"]\nmax_retries = 0",
        "limited 4102444800",
        "test ! -e junk.txt && done_well",
    );
    let output = run(&sandbox).ends_with(0);
    assert_eq!(
        attempts(&sandbox),
        ["1.1 first", "1.2 second", "2.1 second"]
    );
    assert_eq!(
        changes(&sandbox),
        ["`first` is limited until 2100-01-01T00:00:00Z: You have hit your limit"]
    );
    assert_eq!(sandbox.read("story-2.txt"), "second\n");
    assert!(
        output.stdout.contains("`second` takes over"),
        "{}",
        output.stdout
    );
}

#[test]
fn the_preferred_agent_comes_back_when_its_limit_is_over() {
    let sandbox = with_agents(
        "agent = [\"first\", \"second\"]",
        "if [ -e \"$root/reset\" ]; then done_well; else\n\
         at=$(( $(date +%s) + 2 )); echo $at > \"$root/reset\"; limited $at; fi",
        // Works until the limit of the other one is over.
        "while [ $(date +%s) -le $(cat \"$root/reset\") ]; do sleep 0.05; done; done_well",
    );
    run(&sandbox).ends_with(0);
    assert_eq!(attempts(&sandbox), ["1.1 first", "1.2 second", "2.1 first"]);
    assert_eq!(changes(&sandbox)[1], "`first` is free again");
}

#[test]
fn the_next_agent_takes_over_from_one_that_is_logged_out() {
    let sandbox = with_agents("agent = [\"first\", \"second\"]", "logged_out", "done_well");
    run(&sandbox).ends_with(0);
    assert_eq!(
        attempts(&sandbox),
        ["1.1 first", "1.2 second", "2.1 second"]
    );
    assert_eq!(
        changes(&sandbox),
        ["`first` was refused: first is not logged in"]
    );
}

#[test]
fn a_run_ends_with_every_hint_when_no_agent_can_work() {
    let sandbox = with_agents(
        "agent = [\"first\", \"second\"]",
        "logged_out",
        "logged_out",
    );
    let output = run(&sandbox).ends_with(3);
    for part in [
        "first is not logged in",
        "second is not logged in",
        "claude auth login",
    ] {
        assert!(output.stdout.contains(part), "{part}: {}", output.stdout);
    }
    assert_eq!(attempts(&sandbox), ["1.1 first", "1.2 second"]);
}

#[test]
fn a_story_that_keeps_failing_is_given_to_another_agent() {
    let sandbox = with_agents(
        "agent = \"first\"\n[escalate]\nafter = 2\nagent = \"second\"\nmodel = \"large\"",
        "if [ \"$RALPHTOOL_STORY\" = 1 ]; then failed 'too hard'; else done_well; fi",
        "done_well",
    );
    run(&sandbox).ends_with(0);
    assert_eq!(
        attempts(&sandbox),
        ["1.1 first", "1.2 first", "1.3 second large", "2.1 first"]
    );
    assert_eq!(
        changes(&sandbox),
        ["2 attempts failed", "it is the configured one"]
    );
}

#[test]
fn a_story_can_have_an_agent_of_its_own() {
    let sandbox = with_agents(
        "agent = \"first\"\n[[story]]\nid = \"2\"\nagent = \"second\"",
        "done_well",
        "done_well",
    );
    run(&sandbox).ends_with(0);
    assert_eq!(attempts(&sandbox), ["1.1 first", "2.1 second"]);
    assert_eq!(changes(&sandbox), ["it is set for story `2`"]);
}

#[test]
fn a_missing_agent_is_refused_before_anything_starts() {
    let sandbox = with_agents("agent = [\"first\", \"third\"]", "done_well", "done_well");
    let config = sandbox.read("ralphtool.toml");
    sandbox.write(
        "ralphtool.toml",
        &format!("{config}\n[agents.third]\ncommand = [\"no-such-program\"]\n"),
    );
    let output = run(&sandbox).ends_with(2);
    assert!(
        output.stderr.contains("`third` needs `no-such-program`"),
        "{}",
        output.stderr
    );
    assert_eq!(sandbox.branch(), "main");
}

#[test]
fn a_wait_that_is_too_long_ends_the_run_although_there_are_two_agents() {
    let sandbox = with_agents(
        "agent = [\"first\", \"second\"]\nmax_wait = \"1h\"",
        "limited 4102444800",
        "limited 4102444800",
    );
    let output = run(&sandbox).ends_with(3);
    assert!(
        output.stdout.contains("longer than the 1h allowed"),
        "{}",
        output.stdout
    );
    assert_eq!(sandbox.read("a.txt"), "one\n");
    assert!(!sandbox.exists("junk.txt"));
}
