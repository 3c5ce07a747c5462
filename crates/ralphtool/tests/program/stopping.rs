//! Runs that end early: stopped by the user, by a timeout, by a limit, or killed.

use std::fs;

use crate::sandbox::{self, GOOD, Sandbox, TASKS, files, there, until};
use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, test_kill_process};
use serde_json::Value;

/// Makes a mess, writes down its process ids and never ends.
const WORKS_FOR_EVER: &str = r#"
echo "junk" > junk.txt
rm a.txt
tell() { echo "$2" > "$root/$1.new"; mv "$root/$1.new" "$root/$1"; }
tell agent.pid $$
sleep 300 &
tell child.pid $!
if command -v setsid > /dev/null; then
    setsid sh -c 'echo $$ > "$0/grandchild.pid.new"; mv "$0/grandchild.pid.new" "$0/grandchild.pid"; exec sleep 300' "$root" < /dev/null > /dev/null 2>&1 &
    wait_for "$root/grandchild.pid"
fi
touch "$root/here"
wait
"#;

/// The processes whose ids the agent wrote down are all dead.
#[track_caller]
fn nothing_runs(sandbox: &Sandbox) {
    for name in ["agent.pid", "child.pid", "grandchild.pid"] {
        let Ok(text) = fs::read_to_string(sandbox.root.join(name)) else {
            assert!(name == "grandchild.pid", "{name} is missing");
            continue;
        };
        let pid: i32 = text.trim().parse().unwrap();
        // A zombie stays until its parent reaps it; the program cannot do that once it has
        // ended.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_dead =
            stat.contains(") Z ") || test_kill_process(Pid::from_raw(pid).unwrap()).is_err();
        assert!(is_dead, "{name} runs: {stat}");
    }
}

/// Stops a run in its first attempt with signals; the attempt is parked and the tree restored.
#[track_caller]
fn stops(agent: &str, signals: &[(Signal, &str)], code: i32) -> sandbox::Output {
    let sandbox = Sandbox::new();
    sandbox.make_dirty();
    let before = files(&sandbox.repo);
    sandbox.agent(agent);
    let mut running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here")));
    for (signal, answer) in signals {
        running.signal(*signal);
        running.waits_for(answer);
    }
    let output = running.end().ends_with(code);
    nothing_runs(&sandbox);
    assert_eq!(files(&sandbox.repo), before);
    assert_eq!(sandbox.git("status --porcelain"), "");
    assert_eq!(sandbox.commits(), ["initial state"]);
    let failed = sandbox.events_named("attempt_failed");
    assert_eq!(failed.len(), 1);
    assert_eq!(
        (&failed[0]["parked"], &failed[0]["kind"]),
        (&Value::from("1.1"), &Value::from("stopped"))
    );
    let diff = sandbox.transcript("1.1", "changes.diff");
    assert!(diff.contains("+junk"), "{diff}");
    // And the next run does the work.
    sandbox.agent(GOOD);
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(sandbox.tasks_now(), TASKS.replace("[ ]", "[x]"));
    output
}

#[test]
fn an_interrupt_ends_the_agents_whole_tree_and_restores_the_checkpoint() {
    stops(WORKS_FOR_EVER, &[(Signal::INT, "stopping")], 130);
}

#[test]
fn a_termination_ends_the_agents_whole_tree_and_restores_the_checkpoint() {
    stops(WORKS_FOR_EVER, &[(Signal::TERM, "stopping")], 143);
}

#[test]
fn a_second_interrupt_kills_the_agent_at_once() {
    let deaf = format!("trap '' INT TERM\n{WORKS_FOR_EVER}\nwhile :; do sleep 300; done");
    let signals = [
        (Signal::INT, "stopping: waiting for the agent to exit"),
        (Signal::INT, "stopping at once"),
    ];
    stops(&deaf, &signals, 130);
}

#[test]
fn an_interrupt_ends_a_gate_too() {
    let sandbox = Sandbox::new();
    let before = files(&sandbox.repo);
    let root = sandbox.root.display();
    let gate = format!("test ! -e story-1.txt || {{ touch {root}/here; sleep 300; }}");
    let running = sandbox.start(&["loop", "c", "--gate", &gate]);
    until("the gate", || there(&sandbox.root.join("here")));
    running.signal(Signal::INT);
    running.end().ends_with(130);
    assert_eq!(files(&sandbox.repo), before);
    assert_eq!(sandbox.commits(), ["initial state"]);
}

/// A timeout ends the first attempt of story 1, and the prompt of the second has the reason.
#[track_caller]
fn times_out(first: &str, flags: &[&str], kind: &str, reason: &str) {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "if [ $RALPHTOOL_STORY.$attempt = 1.1 ]; then echo junk > junk.txt; {first}; fi\n{GOOD}"
    ));
    sandbox.run(&[&["loop", "c"], flags].concat()).ends_with(0);
    assert_eq!(sandbox.failures(), [format!("1.1 {kind}: {reason}")]);
    let prompt = sandbox.transcript("1.2", "prompt.md");
    assert!(prompt.contains(reason), "{prompt}");
    assert!(!sandbox.exists("junk.txt"));
}

#[test]
fn an_agent_that_says_nothing_is_ended_after_the_idle_timeout() {
    times_out(
        "echo 'Reading the parser.'; sleep 300",
        &["--idle-timeout", "1s"],
        "silent",
        "silent for 1s; the last thing it did: Reading the parser.",
    );
}

#[test]
fn a_run_whose_time_is_used_up_ends_with_nothing_lost() {
    let sandbox = Sandbox::new();
    let before = files(&sandbox.repo);
    sandbox.agent("echo junk > junk.txt; sleep 300");
    sandbox.run(&["loop", "c", "--max-time", "1s"]).ends_with(3);
    assert_eq!(
        sandbox.failures(),
        ["1.1 budget: the time of 1s is used up"]
    );
    assert_eq!(files(&sandbox.repo), before);
    let started = &sandbox.events_named("run_started")[0];
    assert_eq!(started["budget"]["time_ms"], 1000);
    assert_eq!(started["stories"][0]["state"], "open");
}

#[test]
fn an_agent_is_not_silent_while_the_program_is_suspended() {
    let sandbox = Sandbox::new();
    // It continues once the program has been suspended for longer than an agent may be silent.
    sandbox.agent(&format!(
        "touch \"$root/here\"; wait_for \"$root/go\"\n{GOOD}"
    ));
    let running = sandbox.start(&["loop", "c", "--story", "1", "--idle-timeout", "2s"]);
    until("the agent", || there(&sandbox.root.join("here")));
    running.signal(Signal::STOP);
    // Not a wait for an event: the test is about the time that passes.
    std::thread::sleep(std::time::Duration::from_millis(2500));
    running.signal(Signal::CONT);
    fs::write(sandbox.root.join("go"), "").unwrap();
    running.end().ends_with(0);
    assert_eq!(sandbox.events_named("attempt_failed"), [] as [Value; 0]);
}

#[test]
fn an_agent_that_never_ends_is_ended_after_the_timeout() {
    times_out(
        "while :; do echo busy; sleep 0.1; done",
        &["--timeout", "1s"],
        "timeout",
        "took longer than 1s; the last thing it did: busy",
    );
}

/// What the log says about an agent that does not exit after its final message.
const LINGERS: &str = "the agent did not exit within 1s of its final message and was stopped";

#[test]
fn an_agent_that_does_not_exit_after_its_promise_is_ended_and_succeeds() {
    let sandbox = Sandbox::new();
    sandbox.config_and("", "[timeouts]\ngrace = \"1s\"\n");
    sandbox.agent(&format!("{GOOD}\nsleep 300"));
    let output = sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(sandbox.commits(), ["initial state", "checkpoint: 1"]);
    assert_eq!(sandbox.warnings(), [format!("lingering: {LINGERS}")]);
    let said = format!("warning: {LINGERS}\n");
    assert!(output.stdout.contains(&said), "{}", output.stdout);
}

#[cfg(target_os = "linux")]
#[test]
fn an_agent_that_does_not_exit_after_it_failed_is_ended_and_reported() {
    let sandbox = Sandbox::new();
    sandbox.config_and("", "[timeouts]\ngrace = \"1s\"\n");
    // What it leaves is in a session of its own: only a sweep ends it.
    sandbox.agent("setsid sleep 300 & failed 'too hard'; sleep 300");
    let output = sandbox
        .run(&["loop", "c", "--json", "--max-retries", "0"])
        .ends_with(1);
    assert_eq!(sandbox.failures(), ["1.1 failed: too hard"]);
    let said: Vec<(String, String)> = sandbox::records(&output.stdout)
        .iter()
        .filter(|record| record["event"] == "warning")
        .map(|it| (it["code"].to_string(), it["message"].to_string()))
        .collect();
    let swept = "the agent left processes running, which were ended: `sleep 300`";
    let quoted = |text: &str| Value::from(text).to_string();
    assert_eq!(
        said,
        [("lingering", LINGERS), ("swept", swept)]
            .map(|(code, message)| (quoted(code), quoted(message)))
    );
}

/// A run that is killed in its second attempt at story 1, after the first has failed.
#[cfg(target_os = "linux")]
fn killed() -> Sandbox {
    killed_after("")
}

/// The same, after the second attempt has done something.
#[cfg(target_os = "linux")]
fn killed_after(deed: &str) -> Sandbox {
    let (sandbox, running) = at_work_after(deed);
    running.signal(Signal::KILL);
    running.end().ends_with(137);
    sandbox
}

/// A run in its second attempt at story 1, which has done something and never ends.
#[cfg(target_os = "linux")]
fn at_work_after(deed: &str) -> (Sandbox, sandbox::Running) {
    let sandbox = Sandbox::new();
    sandbox.make_dirty();
    sandbox.write("openspec/changes/d/tasks.md", TASKS);
    sandbox.agent(&format!(
        "[ $attempt != 1 ] || {{ failed 'the first try'; exit; }}\n{deed}\n{WORKS_FOR_EVER}"
    ));
    let running = sandbox.start(&["loop", "c", "--max-retries", "1"]);
    until("the agent", || there(&sandbox.root.join("here")));
    (sandbox, running)
}

#[cfg(target_os = "linux")]
#[test]
fn the_next_start_ends_what_a_run_killed_with_its_supervisor_left() {
    let (sandbox, running) = at_work_after("");
    let supervisor = Pid::from_raw(running.supervisor()).unwrap();
    // It gets no chance to react to the end of the program.
    rustix::process::kill_process(supervisor, Signal::STOP).unwrap();
    running.signal(Signal::KILL);
    running.end().ends_with(137);
    rustix::process::kill_process(supervisor, Signal::KILL).unwrap();
    assert!(sandbox.exists("junk.txt"));
    sandbox.agent(GOOD);
    let output = sandbox
        .run(&["loop", "c", "--max-retries", "1"])
        .ends_with(0);
    nothing_runs(&sandbox);
    assert!(!sandbox.exists("junk.txt"));
    assert_eq!(sandbox.read("a.txt"), "one staged and more\n");
    let found = sandbox.events_named("recovered");
    let found: Vec<String> = found
        .iter()
        .map(|event| format!("{}: {}", event["found"], event["done"]).replace('"', ""))
        .collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with("processes of the interrupted run: ")
            && found[0].matches("sleep 300").count() >= 2
            && found[0].ends_with(": ended them"),
        "{found:?}"
    );
    assert_eq!(
        found[1],
        "attempt 1.2 was interrupted: \
         parked it (2 changed) and restored the tree to the checkpoint"
    );
    assert!(
        output.stdout.contains("attempt 1.2 was interrupted"),
        "{}",
        output.stdout
    );
    assert!(
        output.stdout.contains("attempt 3, try 2/2"),
        "{}",
        output.stdout
    );
    assert_eq!(
        sandbox.commits(),
        ["initial state", "checkpoint: 1", "checkpoint: 2"]
    );
    assert_eq!(sandbox.runs().len(), 1);
    let diff = sandbox.transcript("1.2", "changes.diff");
    assert!(diff.contains("+junk"), "{diff}");
    let prompt = sandbox.transcript("1.3", "prompt.md");
    assert!(prompt.contains("the first try"), "{prompt}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_dry_run_says_that_it_would_resume_and_repairs_nothing() {
    let sandbox = killed();
    let look = || (files(&sandbox.repo), files(&sandbox.vault()));
    let before = look();
    let output = sandbox
        .run(&["loop", "c", "--dry-run", "--story", "2"])
        .ends_with(0);
    assert!(
        output
            .stdout
            .contains("the run of `c` would be resumed; nothing is touched\n  branch     on `ralph/c`: 0 of 2 stories done in it\n"),
        "{}",
        output.stdout
    );
    assert!(output.stdout.contains("\n1 story\n"), "{}", output.stdout);
    assert_eq!(look(), before);
    // The real run ends what the killed one left running.
    sandbox.agent(GOOD);
    sandbox.run(&["loop", "c"]).ends_with(0);
    nothing_runs(&sandbox);
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_run_resumes_with_the_retries_it_had_left() {
    let sandbox = killed();
    sandbox.agent("failed \"try $attempt\"");
    sandbox
        .run(&["loop", "c", "--max-retries", "1"])
        .ends_with(1);
    assert_eq!(
        sandbox.failures(),
        [
            "1.1 failed: the first try",
            "1.2 interrupted: the program was interrupted",
            "1.3 failed: try 3"
        ]
    );
}

#[cfg(target_os = "linux")]
#[test]
fn the_prompt_after_a_stopped_attempt_says_why_the_one_before_failed() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "case \"$prompt\" in\n\
         *\"no luck\"*) test -e $root/waits || {{ touch $root/waits; wait_for $root/never; }};;\n\
         *) failed \"no luck\"; exit;;\nesac\n{GOOD}"
    ));
    let run = sandbox.start(&["loop", "c", "--story", "1"]);
    let waits = sandbox.root.join("waits");
    until("the second attempt", || there(&waits));
    run.signal(Signal::TERM);
    run.end();
    sandbox.run(&["resume", "--story", "1"]).ends_with(0);
    let prompt = sandbox.transcript("1.3", "prompt.md");
    assert!(prompt.contains("no luck"), "{prompt}");
}

#[cfg(target_os = "linux")]
#[test]
fn fresh_starts_a_new_run_after_a_killed_one() {
    let sandbox = killed();
    let tip = sandbox.git("rev-parse ralph/c");
    sandbox.agent(GOOD);
    let output = sandbox.run(&["loop", "c", "--fresh"]).ends_with(0);
    nothing_runs(&sandbox);
    assert!(
        output.stdout.contains("attempt 1.2 was interrupted"),
        "{}",
        output.stdout
    );
    assert_eq!(sandbox.runs().len(), 2);
    assert_eq!(sandbox.tasks_now(), TASKS.replace("[ ]", "[x]"));
    assert_eq!(sandbox.read("a.txt"), "one staged and more\n");
    assert!(!sandbox.exists("junk.txt"));
    assert_eq!(
        sandbox.git("rev-parse ralph/c~3"),
        sandbox.git("rev-parse main")
    );
    sandbox.run(&["undo"]).ends_with(0);
    assert_eq!(sandbox.git("rev-parse ralph/c"), tip);
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_run_of_another_change_is_not_overwritten() {
    let sandbox = killed();
    let before = sandbox::everything(&sandbox.repo);
    let output = sandbox.run(&["loop", "d"]).ends_with(2);
    assert_eq!(
        output.stderr,
        "error: an unfinished run of `c` is in this work tree\n  \
         hint: resume it with `ralphtool resume`, or end it with `ralphtool finish`\n  \
         hint: to leave it on its branch and start this one where it began, pass `--fresh`\n"
    );
    assert_eq!(sandbox::everything(&sandbox.repo), before);
    sandbox.agent(GOOD);
    sandbox.run(&["loop", "d", "--fresh"]).ends_with(0);
    assert_eq!(sandbox.branch(), "ralph/d");
    assert!(!sandbox.exists("junk.txt"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_run_is_repaired_before_anything_in_the_tree_is_trusted() {
    let deeds = [
        "rm -r openspec",
        "echo '# nothing to do' > $tasks",
        "echo 'nonsense = 1' > ralphtool.toml",
        "printf 'agent = \"mine\"\\n[agents.mine]\\ncommand = [\"false\"]\\n' > ralphtool.toml",
    ];
    for deed in deeds {
        let sandbox = killed_after(deed);
        sandbox.agent(GOOD);
        let output = sandbox
            .run(&["loop", "c", "--max-retries", "1"])
            .ends_with(0);
        assert!(
            output.stdout.contains("attempt 3, try 2/2"),
            "{deed}: {}",
            output.stdout
        );
        assert_eq!(sandbox.tasks_now(), TASKS.replace("[ ]", "[x]"), "{deed}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn boxes_a_killed_attempt_ticked_do_not_count_for_a_fresh_run() {
    let sandbox = killed_after("tick 1; tick 2");
    sandbox.agent(GOOD);
    sandbox.run(&["loop", "c", "--fresh"]).ends_with(0);
    assert_eq!(sandbox.read("story-2.txt"), "work\n");
}

/// A git that counts its calls and kills the program that made the given one, before or after,
/// or the one that is about to say `$AT`.
#[cfg(target_os = "linux")]
fn deadly_git(sandbox: &Sandbox) -> std::ffi::OsString {
    let folder = sandbox.root.join("bin");
    fs::create_dir(&folder).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let real = std::env::split_paths(&path)
        .map(|folder| folder.join("git"))
        .find(|git| git.is_file())
        .unwrap();
    let script = format!(
        "#!/bin/sh
        count=$(cat '{0}/count' 2>/dev/null || echo 0)
        count=$((count + 1))
        echo $count > '{0}/count'
        echo \"$count $*\" >> '{0}/calls'
        case \" $* \" in *\"${{AT:-no such call}}\"*) BEFORE=$count;; esac
        if [ $count = \"$BEFORE\" ]; then kill -9 $PPID; exit 1; fi
        [ $count = \"$AFTER\" ] || exec '{1}' \"$@\"
        '{1}' \"$@\"
        kill -9 $PPID
        ",
        sandbox.root.display(),
        real.display()
    );
    fs::write(folder.join("git"), script).unwrap();
    fs::set_permissions(folder.join("git"), sandbox::mode(0o755)).unwrap();
    let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).unwrap()
}

/// Kills a run at one of its git calls and starts again; false if it has no such call.
#[cfg(target_os = "linux")]
#[track_caller]
fn survives_a_kill(when: &str, call: usize) -> bool {
    let sandbox = Sandbox::new();
    sandbox.make_dirty();
    let dirty = files(&sandbox.repo);
    let main = sandbox.git("rev-parse main refs/stash");
    let path = deadly_git(&sandbox);
    // One attempt fails, so that parking and restoring are interrupted, too. It makes no git calls
    // of its own, which would be counted.
    sandbox.agent(&format!(
        "[ $RALPHTOOL_STORY.$attempt != 2.1 ] || {{ echo junk > junk.txt; rm a.txt; failed no; exit; }}\n{GOOD}"
    ));
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command
        .args(["loop", "c", "--on-finish", "cleanup"])
        .env("PATH", &path)
        .env(when, call.to_string());
    let first = sandbox.start_command(command).end();
    let calls = fs::read_to_string(sandbox.root.join("calls")).unwrap();
    let what = calls.lines().last().unwrap_or_default().to_owned();
    if first.code == 0 {
        return false;
    }
    assert_eq!(first.code, 137, "{what}: {}", first.stderr);
    sandbox.agent(GOOD);
    let second = sandbox.run(&["loop", "c", "--on-finish", "cleanup"]);
    assert_eq!(
        second.code, 0,
        "{when} {what}: {}{}",
        second.stdout, second.stderr
    );
    assert_eq!(
        sandbox.tasks_now(),
        TASKS.replace("[ ]", "[x]"),
        "{when} {what}"
    );
    let mut wanted = dirty;
    let tasks = "openspec/changes/c/tasks.md";
    let done = wanted[tasks].replace("[ ]", "[x]");
    wanted.insert(tasks.to_owned(), done);
    for story in ["story-1.txt", "story-2.txt"] {
        wanted.insert(story.to_owned(), "file 644 \"work\\n\"".to_owned());
    }
    assert_eq!(files(&sandbox.repo), wanted, "{when} {what}");
    assert_eq!(
        sandbox.git("rev-parse main refs/stash"),
        main,
        "{when} {what}"
    );
    assert_eq!(sandbox.branch(), "main", "{when} {what}: {}", second.stdout);
    assert_eq!(
        sandbox.git("branch --format=%(refname)"),
        "refs/heads/main\n",
        "{when} {what}"
    );
    assert_eq!(
        sandbox.git("fsck --no-dangling --connectivity-only"),
        "",
        "{when} {what}"
    );
    true
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_killed_while_it_begins_saves_or_finishes_is_repaired() {
    for call in [2, 7, 11] {
        assert!(survives_a_kill("BEFORE", call));
        assert!(survives_a_kill("AFTER", call + 5));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_killed_during_its_cleanup_completes_it_and_says_so() {
    let sandbox = Sandbox::new();
    // Git itself moves HEAD to a branch that has no file of its own.
    sandbox.git("pack-refs --all");
    let path = deadly_git(&sandbox);
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command
        .args(["loop", "c", "--on-finish", "cleanup"])
        .env("PATH", &path)
        .env("AT", "HEAD refs/heads/main");
    sandbox.start_command(command).end().ends_with(137);
    assert_eq!(sandbox.branch(), "ralph/c");
    let output = sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(
        output.stdout,
        "recovered: a cleanup that was interrupted: completed it\n\
         `c`: nothing left to do, 2 stories done\n"
    );
    assert_eq!(sandbox.branch(), "main");
    assert_eq!(
        sandbox.git("branch --format=%(refname)"),
        "refs/heads/main\n"
    );
    assert_eq!(sandbox.read("story-2.txt"), "work\n");
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "takes minutes"]
fn a_run_killed_at_any_git_call_is_repaired() {
    for when in ["BEFORE", "AFTER"] {
        let mut call = 1;
        while survives_a_kill(when, call) {
            call += 1;
        }
        assert!(call > 30, "only {call} calls");
    }
}

/// What Claude Code writes when it is done.
const DONE: &str = r#"
done_json() {
    printf '%s\n' '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
    printf '%s\n' '{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{"id":"m1","content":[{"type":"text","text":"Done.\n<promise>COMPLETE</promise>"}]}}'
    printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"session_id":"s","num_turns":1,"result":"Done.\n<promise>COMPLETE</promise>","total_cost_usd":0.25,"usage":{"input_tokens":100,"output_tokens":20},"modelUsage":{"m":{"inputTokens":100,"outputTokens":20,"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"costUSD":0.25}}}'
}
# refused ERROR API_ERROR STATUS TEXT
refused() {
    printf '%s\n' '{"type":"assistant","session_id":"s","parent_tool_use_id":null,"is_api_error_message":true,"error":"'$1'","api_error":"'$2'","api_error_status":'$3',"message":{"id":"e1","model":"<synthetic>","content":[{"type":"text","text":"'"$4"'"}]}}'
    printf '%s\n' '{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error":"'$2'","api_error_status":'$3',"session_id":"s","result":"'"$4"'"}'
    exit 1
}
# limited RESETS_AT
limited() {
    printf '%s\n' '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
    printf '%s\n' '{"type":"rate_limit_event","session_id":"s","rate_limit_info":{"status":"rejected","resetsAt":'$1',"rateLimitType":"five_hour"}}'
    refused rate_limit usage_limit_reached 429 "You have hit your 5-hour limit"
}
"#;

/// A sandbox whose agent has the output of Claude Code.
fn claude(script: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.config_and("", "output = \"claude-json\"\n");
    sandbox.agent(&format!("{DONE}\n{script}"));
    sandbox
}

#[test]
fn a_usage_limit_is_waited_for_and_uses_no_retry() {
    let sandbox = claude(
        "echo junk > junk.txt
         [ $attempt != 1 ] || limited $(($(date +%s) + 2))
         rm junk.txt; echo work > work.txt; done_json",
    );
    sandbox
        .run(&["loop", "c", "--story", "1", "--max-retries", "0"])
        .ends_with(0);
    assert_eq!(
        sandbox.failures(),
        ["1.1 limit: You have hit your 5-hour limit"]
    );
    let waits = sandbox.events_named("waiting");
    assert_eq!(waits.len(), 1, "{waits:?}");
    let started = sandbox.events_named("attempt_started");
    assert_eq!(started.len(), 2);
    let time = |value: &Value| -> jiff::Timestamp { value.as_str().unwrap().parse().unwrap() };
    assert!(time(&started[1]["at"]) >= time(&waits[0]["until"]));
    let prompt = sandbox.transcript("1.2", "prompt.md");
    assert!(!prompt.contains("5-hour"), "{prompt}");
}

#[test]
fn a_limit_without_an_end_backs_off_and_the_wait_can_be_stopped() {
    let sandbox = claude("limited 1000000000");
    let mut running = sandbox.start(&["loop", "c", "--json"]);
    running.waits_for("\"event\":\"waiting\"");
    running.signal(Signal::INT);
    running.end().ends_with(130);
    let waits = sandbox.events_named("waiting");
    let time = |key: &str| -> jiff::Timestamp { waits[0][key].as_str().unwrap().parse().unwrap() };
    let wait = time("until").duration_since(time("at")).as_secs();
    assert!((58..=60).contains(&wait), "{wait}");
    assert_eq!(sandbox.git("status --porcelain"), "");
}

#[test]
fn a_limit_that_lasts_longer_than_allowed_ends_the_run() {
    let sandbox = claude("echo junk > junk.txt; limited $(($(date +%s) + 3600))");
    let output = sandbox
        .run(&["loop", "c", "--max-wait", "10s"])
        .ends_with(3);
    assert!(
        output.stdout.contains("longer than the 10s allowed"),
        "{}",
        output.stdout
    );
    assert!(!sandbox.exists("junk.txt"));
    assert_eq!(sandbox.events_named("attempt_started").len(), 1);
}

#[test]
fn an_agent_that_is_not_logged_in_ends_the_run_at_once() {
    let sandbox = claude(
        "echo junk > junk.txt
         refused authentication_failed '' 401 'Invalid API key · Please run /login'",
    );
    let output = sandbox.run(&["loop", "c"]).ends_with(3);
    assert!(
        output.stdout.contains("Please run /login"),
        "{}",
        output.stdout
    );
    assert_eq!(sandbox.events_named("attempt_started").len(), 1);
    let failures = sandbox.failures();
    assert!(
        failures[0].starts_with("1.1 auth: Invalid API key · Please run /login"),
        "{failures:?}"
    );
    assert!(!sandbox.exists("junk.txt"));
}

#[test]
fn headline_state_and_next_step_say_what_an_agent_lacks() {
    let cases = [
        (
            "refused billing_error '' 400 'Credit balance is too low'",
            "no credit",
            "once the agent's account has credit",
        ),
        (
            "refused model_not_found '' 404 'There is no model x; log in to see others'",
            "model not available",
            "once the agent has a model that it may use",
        ),
        (
            "refused authentication_failed '' 401 'Invalid API key'",
            "not logged in",
            "once the agent is logged in",
        ),
    ];
    for (agent, word, once) in cases {
        let sandbox = claude(agent);
        let said = sandbox.run(&["loop", "c"]).ends_with(3).stdout;
        let headline = format!("`c`: {word}: agent `mine`\n");
        assert!(said.contains(&headline), "{said}");
        let said = sandbox.run(&["status"]).ends_with(0).stdout;
        let next = format!("continues with story 1, {once}\n");
        assert!(said.contains(&next), "{said}");
        let list = sandbox.run(&["list"]).ends_with(0).stdout;
        assert!(list.contains(&format!("{word}, kept")), "{list}");
    }
}

#[test]
fn what_an_agent_used_is_counted() {
    let sandbox = claude("echo work > story-$RALPHTOOL_STORY.txt; done_json");
    let output = sandbox.run(&["loop", "c"]).ends_with(0);
    assert!(output.stdout.contains("$0.50"), "{}", output.stdout);
    let ended = sandbox.events_named("run_ended").remove(0);
    assert_eq!(ended["usage"]["input_tokens"], 200);
    assert_eq!(ended["usage"]["cost_usd"], 0.5);
}
