//! What the tests of the screen have in common.

use std::fs;
use std::process::Command;

use pretty_assertions::assert_eq;
use rustix::process::{Pid, test_kill_process};

use crate::sandbox::{Sandbox, there, until};
use crate::terminal::{Key, Terminal};

/// Makes a mess, writes down its process ids and never ends.
pub(crate) const WORKS_FOR_EVER: &str = r#"
echo "junk" > junk.txt
rm a.txt
tell() { echo "$2" > "$root/$1.new"; mv "$root/$1.new" "$root/$1"; }
tell agent.pid $$
sleep 300 &
tell child.pid $!
echo "I am at work."
touch "$root/here"
wait
"#;

/// The same, and it ignores every signal that can be ignored.
pub(crate) fn deaf() -> String {
    format!("trap '' INT TERM HUP\n{WORKS_FOR_EVER}\nwhile :; do sleep 300; done")
}

/// The program, to be started in a terminal.
pub(crate) fn command(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command.args(args);
    command
}

/// The program in a terminal of the usual size.
pub(crate) fn open(sandbox: &Sandbox, args: &[&str]) -> Terminal {
    Terminal::start(&command(sandbox, args), 24, 80)
}

/// The run screen of the change `c`, while its agent works.
pub(crate) fn open_at_work(sandbox: &Sandbox) -> Terminal {
    let terminal = open(sandbox, &["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here")));
    terminal.waits_for("story 1:");
    terminal
}

/// Creates the file that an agent waits for.
pub(crate) fn release(sandbox: &Sandbox, name: &str) {
    fs::write(sandbox.root.join(name), "").unwrap();
}

/// The terminal is as a shell wants it.
#[track_caller]
pub(crate) fn is_given_back(terminal: &Terminal) {
    let screen = terminal.screen();
    assert!(!terminal.is_alternate(), "the other screen:\n{screen}");
    assert!(terminal.cursor_visible(), "no cursor:\n{screen}");
    assert!(!terminal.is_raw(), "raw:\n{screen}");
    assert!(!terminal.mouse_on(), "it has the mouse:\n{screen}");
    assert!(!terminal.brackets_pastes(), "it has pastes:\n{screen}");
}

/// The program ends with this code and gives the terminal back.
#[track_caller]
pub(crate) fn ends(terminal: &mut Terminal, code: i32) {
    let got = terminal.end();
    assert_eq!(got, code, "{}", terminal.screen());
    is_given_back(terminal);
}

/// Chooses at the end of a run, and answers the question. A key right after others may have been
/// meant for the run, so the program drops it; it is pressed again until the question is there.
#[track_caller]
pub(crate) fn chooses(terminal: &Terminal, key: &str, leads_to: &str) {
    asks(terminal, key);
    terminal.keys("y");
    terminal.waits_for(leads_to);
}

/// Presses the key of a choice until its question is there, which a key too many does not close.
#[track_caller]
pub(crate) fn asks(terminal: &Terminal, key: &str) {
    let key = Key::Char(key.chars().next().unwrap());
    // Half of the frame after the last question may be drawn.
    terminal.waits_for_no("any other key");
    presses_until(terminal, key, "the question", || {
        terminal.screen().contains("any other key")
    });
}

/// Leaves at the end of a run; the program ends with this code and gives the terminal back.
#[track_caller]
pub(crate) fn leaves(terminal: &mut Terminal, code: i32) {
    leaves_by(terminal, Key::Char('q'), code);
}

/// The same by this key.
#[track_caller]
pub(crate) fn leaves_by(terminal: &mut Terminal, key: Key, code: i32) {
    presses_until(terminal, key, "the end of the program", || {
        terminal.is_over()
    });
    ends(terminal, code);
}

/// Presses a key, and again now and then, until something is so.
#[track_caller]
pub(crate) fn presses_until(terminal: &Terminal, key: Key, what: &str, is_so: impl Fn() -> bool) {
    let mut looks = 0;
    until(what, || {
        if is_so() {
            return Some(());
        }
        // Less often than the program wants silence before a choice.
        if looks % 400 == 0 {
            terminal.key(key);
        }
        looks += 1;
        None
    });
}

/// The processes whose ids the agent wrote down are all dead.
#[track_caller]
pub(crate) fn nothing_runs(sandbox: &Sandbox) {
    for name in ["agent.pid", "child.pid"] {
        let text = fs::read_to_string(sandbox.root.join(name)).unwrap();
        let pid: i32 = text.trim().parse().unwrap();
        // A zombie stays until its parent reaps it; the program cannot do that once it has
        // ended.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_dead =
            stat.contains(") Z ") || test_kill_process(Pid::from_raw(pid).unwrap()).is_err();
        assert!(is_dead, "{name} runs: {stat}");
    }
}

/// The tasks with all boxes ticked.
pub(crate) fn all_ticked() -> String {
    crate::sandbox::TASKS.replace("[ ]", "[x]")
}

/// What Claude Code writes: when it is done, when it is refused, and when it uses a tool.
pub(crate) const CLAUDE: &str = r#"
init() { printf '%s\n' '{"type":"system","subtype":"init","session_id":"s","model":"m"}'; }
# says TEXT
says() {
    printf '%s\n' '{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{"id":"m1","content":[{"type":"text","text":"'"$1"'"}]}}'
}
# bash_tool COMMAND OUTPUT
bash_tool() {
    printf '%s\n' '{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{"id":"m2","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"'"$1"'","description":"a command"}}]}}'
    printf '%s\n' '{"type":"user","session_id":"s","parent_tool_use_id":null,"message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"'"$2"'","is_error":false}]}}'
}
done_json() {
    init
    says 'Done.\n<promise>COMPLETE</promise>'
    printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"session_id":"s","num_turns":1,"result":"Done.\n<promise>COMPLETE</promise>","total_cost_usd":0.25,"usage":{"input_tokens":100,"output_tokens":20},"modelUsage":{"m":{"inputTokens":100,"outputTokens":20,"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"costUSD":0.25}}}'
}
# limited RESETS_AT
limited() {
    text='You have hit your 5-hour limit'
    init
    printf '%s\n' '{"type":"rate_limit_event","session_id":"s","rate_limit_info":{"status":"rejected","resetsAt":'$1',"rateLimitType":"five_hour"}}'
    printf '%s\n' '{"type":"assistant","session_id":"s","parent_tool_use_id":null,"is_api_error_message":true,"error":"rate_limit","api_error":"usage_limit_reached","api_error_status":429,"message":{"id":"e1","model":"<synthetic>","content":[{"type":"text","text":"'"$text"'"}]}}'
    printf '%s\n' '{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error":"usage_limit_reached","api_error_status":429,"session_id":"s","result":"'"$text"'"}'
    exit 1
}
"#;
