//! Damage to the record of a run: what it has spent is not forgotten, nothing after the damage is
//! hidden, and no number is given twice.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use crate::sandbox::{Sandbox, records};
use pretty_assertions::assert_eq;

/// An agent with the output of Claude Code; `m` costs a dollar per million tokens.
const SETTINGS: &str = r#"
agent = "teller"
[agents.teller]
command = ["sh", "ROOT/agent.sh"]
output = "claude-json"
[prices.m]
input = 1
output = 1
"#;

/// Uses 1.1 dollars and fails.
const DEAR: &str = r#"
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"<promise>FAILED: no</promise>","usage":{"input_tokens":1100000}}'
"#;

/// A run whose first attempt used up its budget of a dollar.
fn spent() -> Sandbox {
    let sandbox = Sandbox::new();
    let settings = SETTINGS.replace("ROOT", &sandbox.root.display().to_string());
    sandbox.write("ralphtool.toml", &settings);
    sandbox.git("commit -qam settings");
    sandbox.agent(DEAR);
    sandbox.run(&["loop", "c", "--max-cost", "1"]).ends_with(3);
    assert_eq!(sandbox.events_named("attempt_started").len(), 1);
    sandbox
}

fn record(sandbox: &Sandbox) -> PathBuf {
    sandbox
        .vault()
        .join("runs")
        .join(run(sandbox))
        .join("events.jsonl")
}

fn run(sandbox: &Sandbox) -> String {
    let mut runs = fs::read_dir(sandbox.vault().join("runs")).unwrap();
    runs.next()
        .unwrap()
        .unwrap()
        .file_name()
        .into_string()
        .unwrap()
}

#[test]
fn a_damaged_record_does_not_reset_what_a_run_has_spent() {
    let sandbox = spent();
    let path = record(&sandbox);
    let bytes = fs::read(&path).unwrap();
    let first = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    // Half a line that ends within a character.
    let damaged = [
        &bytes[..first],
        b"{\"v\":1,\"seq\":9000,\"\xc3\n",
        &bytes[first..],
    ]
    .concat();
    fs::write(&path, damaged).unwrap();
    let again = sandbox.run(&["resume", "--max-cost", "1"]).ends_with(3);
    assert!(
        again.stdout.contains("budget used up: $1.10 of $1.00"),
        "{}",
        again.stdout
    );
    assert!(
        again
            .stdout
            .contains("1 line of the run's record is damaged"),
        "{}",
        again.stdout
    );
    let told = sandbox.run(&["log", "last"]).ends_with(0);
    assert!(told.stdout.contains("$1.10"), "{}", told.stdout);
    assert!(
        told.stdout
            .contains("1 line of the run's record is damaged"),
        "{}",
        told.stdout
    );
    // Numbers continue after the highest of all, that of the damaged line included.
    let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
    let whole: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains('\u{fffd}'))
        .collect();
    let numbers: Vec<u64> = records(&whole.join("\n"))
        .iter()
        .map(|record| record["seq"].as_u64().unwrap())
        .collect();
    let distinct: HashSet<&u64> = numbers.iter().collect();
    assert_eq!(distinct.len(), numbers.len(), "{numbers:?}");
    assert!(numbers.last().is_some_and(|it| *it > 9000), "{numbers:?}");
}

#[test]
fn half_a_line_at_the_end_of_a_record_is_cut_off_before_more_is_written() {
    let sandbox = spent();
    let path = record(&sandbox);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend(b"{\"v\":1,\"seq\":7,\"at\":\"2026-\xc3");
    fs::write(&path, bytes).unwrap();
    let again = sandbox.run(&["resume", "--max-cost", "1"]).ends_with(3);
    assert!(
        again.stdout.contains("budget used up: $1.10 of $1.00"),
        "{}",
        again.stdout
    );
    // Every line is a record again.
    let numbers: Vec<u64> = sandbox
        .events()
        .iter()
        .map(|record| record["seq"].as_u64().unwrap())
        .collect();
    let distinct: HashSet<&u64> = numbers.iter().collect();
    assert_eq!(distinct.len(), numbers.len(), "{numbers:?}");
}

#[test]
fn a_run_with_a_budget_is_refused_where_its_record_is_gone() {
    let sandbox = spent();
    fs::remove_file(record(&sandbox)).unwrap();
    let refused = sandbox.run(&["resume", "--max-cost", "1"]).ends_with(2);
    assert!(
        refused
            .stderr
            .contains("what this run has spent is not known, so its budget cannot be enforced"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("`ralphtool resume --max-cost off`"),
        "{}",
        refused.stderr
    );
    // Without a budget the run continues, and says so; a budget given later is refused, too.
    sandbox.run(&["resume", "--max-cost", "off"]).ends_with(1);
    assert!(
        sandbox
            .warnings()
            .iter()
            .any(|it| it.starts_with("spending_unknown: what this run has spent is not known")),
        "{:?}",
        sandbox.warnings()
    );
    sandbox.run(&["resume", "--max-cost", "9"]).ends_with(2);
}

#[test]
fn a_record_that_could_be_written_in_part_only_ends_with_a_whole_line() {
    let sandbox = spent();
    let used = r#"
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
i=0
while [ $i -lt 400 ]; do
    i=$((i + 1))
    echo '{"type":"assistant","message":{"id":"'$i'","content":[],"usage":{"input_tokens":1,"output_tokens":0}}}'
done
"#;
    sandbox.agent(used);
    let program = env!("CARGO_BIN_EXE_ralphtool");
    // 64 kB: no other file of this run is as long as its record.
    let script = format!("trap '' XFSZ; ulimit -f 128; exec '{program}' resume --max-cost 9");
    let mut command = sandbox.command("sh");
    command.args(["-c", &script]);
    let output = sandbox.start_command(command).end().ends_with(4);
    assert!(output.stderr.contains("events.jsonl"), "{}", output.stderr);
    let text = fs::read_to_string(record(&sandbox)).unwrap();
    assert!(text.ends_with('\n'), "{}", &text[text.len() - 200..]);
    records(&text);
}

#[test]
fn the_hint_for_a_damaged_journal_works() {
    let sandbox = Sandbox::new();
    sandbox.run(&["loop", "c"]).ends_with(0);
    let journal = sandbox.vault().join("journal");
    let mut bytes = fs::read(&journal).unwrap();
    bytes[20] ^= 1;
    fs::write(&journal, bytes).unwrap();
    let output = sandbox.run(&["finish", "--keep"]).ends_with(4);
    assert!(
        output.stderr.contains("a line in it is damaged"),
        "{}",
        output.stderr
    );
    let (_, way_out) = output
        .stderr
        .split_once("To start again without them: `")
        .unwrap();
    let (way_out, _) = way_out.split_once('`').unwrap();
    let typed = sandbox
        .command("sh")
        .args(["-c", way_out])
        .output()
        .unwrap();
    assert!(typed.status.success(), "{typed:?}");
    sandbox.tasks(crate::sandbox::TASKS);
    sandbox.run(&["loop", "c"]).ends_with(0);
}

#[test]
fn a_run_whose_vault_is_removed_says_what_is_lost() {
    let sandbox = Sandbox::new();
    // The run may end as soon as the vault is gone.
    sandbox.agent("echo work > work.txt; tick 1; rm -rf \"$root/state/ralphtool\"; complete");
    let output = sandbox.run(&["loop", "c"]).ends_with(4);
    let said = output.stdout + &output.stderr;
    assert!(!said.contains("nothing is lost"), "{said}");
    assert!(!said.contains("no work was lost"), "{said}");
    for text in [
        "the vault `",
        "is gone, and with it the parked attempts",
        "`git log ralph/c`",
    ] {
        assert!(said.contains(text), "{said}");
    }
    assert_eq!(sandbox.read("work.txt"), "work\n");
    // The user can continue from what is left.
    sandbox.agent(crate::sandbox::GOOD);
    sandbox.run(&["loop", "c"]).ends_with(0);
}
