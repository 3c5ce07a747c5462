//! Every key, flag and variable: that each does what it says, and that none is without a test.

mod flags;
mod keys;
mod layers;
mod mistakes;
mod registry;
mod spending;
mod tables;

use crate::sandbox::{Output, Sandbox};
use serde_json::Value;

/// Says what Claude Code says: who it is, what it used, and how it ended.
const SPEECH: &str = r#"
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
# result WORDS MORE_FIELDS
result() { printf '{"type":"result","subtype":"success","is_error":false,"result":"%s"%s}\n' "$1" "$2"; }
work() { echo work > "story-$RALPHTOOL_STORY.txt"; tick "$RALPHTOOL_STORY"; }
"#;

/// A sandbox whose agent `mine` speaks as Claude Code does, with more tables after it.
fn speaking(lines: &str, tables: &str, script: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.config_and(lines, &format!("output = \"claude-json\"\n{tables}"));
    sandbox.agent(&format!("{SPEECH}\n{script}"));
    sandbox
}

/// Runs the program to its end with more variables.
#[track_caller]
pub(crate) fn run_with(sandbox: &Sandbox, args: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command.args(args).envs(variables.iter().copied());
    sandbox.start_command(command).end()
}

/// What the agents wrote about themselves, beside the repository.
fn noted(sandbox: &Sandbox) -> Vec<String> {
    let text = std::fs::read_to_string(sandbox.root.join("noted")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The budget that ended the last run, and the story whose budget it is.
fn budget_used_up(sandbox: &Sandbox) -> String {
    let ended = sandbox.events_named("run_ended").pop().unwrap();
    let outcome = &ended["outcome"];
    assert_eq!(outcome["why"], "budget_used_up");
    let limit = outcome["limit"].as_str().unwrap();
    match outcome["story"].as_str() {
        Some(story) => format!("{limit} for story {story}"),
        None => limit.to_owned(),
    }
}

/// A line of `loop --dry-run`: the value of a setting and where it comes from.
#[track_caller]
fn shown(output: &str, name: &str) -> (String, String) {
    let settings = output.lines().skip_while(|line| *line != "settings");
    let name = format!("  {name} ");
    let line = settings
        .into_iter()
        .find_map(|line| line.strip_prefix(&name));
    let line = line.unwrap_or_else(|| panic!("{name} is not told:\n{output}"));
    let (value, origin) = line.trim().rsplit_once("  ").unwrap();
    (value.trim().to_owned(), origin.trim().to_owned())
}

/// The receipt of the last run.
fn receipt(sandbox: &Sandbox) -> Value {
    let output = sandbox.run(&["log", "last", "--json"]).ends_with(0);
    serde_json::from_str(&output.stdout).unwrap()
}
