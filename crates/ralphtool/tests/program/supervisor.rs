//! When the program is killed, no process of its agent stays alive: the run's supervisor ends them.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use crate::sandbox::{GOOD, Running, Sandbox, process, there, until, until_within};
use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};

/// Ways in which a program leaves processes behind; each names its process in a file of `$left`.
const LEAVES: &str = r#"
left="$root/left"; mkdir "$left"
is_in="echo \$\$ > '$left'/"
sh -c "$is_in"'child; exec sleep 300' &
setsid sh -c "$is_in"'session; exec sleep 300' &
( setsid sh -c "( $is_in"'forked_twice; exec sleep 300 ) &' & )
nohup sh -c "$is_in"'nohup; exec sleep 300' > /dev/null 2>&1 &
setsid sh -c "trap '' HUP INT TERM; $is_in"'deaf; while :; do sleep 300; done' &
env -i sh -c "$is_in"'no_marks; PATH=/usr/bin:/bin; sleep 300' &
setsid sh -c 'trap "" TERM; while :; do sleep 0.05; done & '"$is_in"'breeder; wait' &
for name in child session forked_twice nohup deaf no_marks breeder; do
    wait_for "$left/$name"
done
echo $$ > "$left/leader"
touch "$root/here"
wait
"#;

/// What `LEAVES` names.
const LEFT: [&str; 8] = [
    "leader",
    "child",
    "session",
    "forked_twice",
    "nohup",
    "deaf",
    "no_marks",
    "breeder",
];

/// A process of the test itself, ended with it.
struct Innocent(Child);

impl Innocent {
    fn start(sandbox: &Sandbox, variables: &[(&str, &str)]) -> Self {
        let mut command = sandbox.command("sleep");
        command.arg("300").envs(variables.iter().copied());
        Self(command.spawn().unwrap())
    }

    #[track_caller]
    fn lives(&mut self) {
        assert_eq!(self.0.try_wait().unwrap(), None);
    }
}

impl Drop for Innocent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until none of the processes that `LEAVES` names is alive.
#[track_caller]
fn all_gone(sandbox: &Sandbox) {
    for name in LEFT {
        let pid = fs::read_to_string(sandbox.root.join("left").join(name)).unwrap();
        let pid: i32 = pid.trim().parse().unwrap();
        until(&format!("the end of {name}"), || {
            (!process::is_alive(pid)).then_some(())
        });
    }
}

/// The id of the active run.
fn run_id(sandbox: &Sandbox) -> String {
    let run = sandbox.runs().pop().unwrap();
    run.file_name().unwrap().to_str().unwrap().to_owned()
}

fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

fn kill(running: Running) {
    running.signal(Signal::KILL);
    running.end().ends_with(137);
}

#[test]
fn a_killed_run_leaves_no_process_of_its_agent() {
    let sandbox = Sandbox::new();
    sandbox.agent(LEAVES);
    let running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here")));
    let run = run_id(&sandbox);
    let next = format!("{run}/1.2");
    let mut innocents = [
        Innocent::start(&sandbox, &[]),
        // As if it belonged to a run that was already resumed.
        Innocent::start(
            &sandbox,
            &[("RALPHTOOL_RUN", &run), ("RALPHTOOL_ATTEMPT", &next)],
        ),
    ];
    let supervisor = running.supervisor();
    kill(running);
    all_gone(&sandbox);
    until("the supervisor's end", || {
        (!process::is_alive(supervisor)).then_some(())
    });
    for innocent in &mut innocents {
        innocent.lives();
    }
}

#[test]
fn a_killed_run_leaves_no_process_of_its_gate() {
    let sandbox = Sandbox::new();
    let script = sandbox.root.join("gate.sh");
    let wait_for = "wait_for() { while [ ! -e \"$1\" ]; do sleep 0.02; done; }";
    let root = sandbox.root.display();
    fs::write(&script, format!("root='{root}'\n{wait_for}\n{LEAVES}")).unwrap();
    let gate = format!("sh {}", script.display());
    let running = sandbox.start(&["loop", "c", "--gate", &gate]);
    until("the gate", || there(&sandbox.root.join("here")));
    kill(running);
    all_gone(&sandbox);
}

#[test]
fn a_run_that_is_resumed_at_once_is_not_harmed() {
    let sandbox = Sandbox::new();
    // It runs before the first attempt, under the same name in both runs.
    let root = sandbox.root.display();
    let gate = format!("touch {root}/here; until [ -e {root}/go ]; do sleep 0.02; done");
    let here = sandbox.root.join("here");
    let running = sandbox.start(&["loop", "c", "--gate", &gate]);
    until("the gate", || there(&here));
    let supervisor = running.supervisor();
    // It notices the end of the program only when the second run is active.
    signal(supervisor, Signal::STOP);
    kill(running);
    fs::remove_file(&here).unwrap();
    let second = sandbox.start(&["loop", "c", "--gate", &gate]);
    until("the gate", || there(&here));
    signal(supervisor, Signal::CONT);
    until("the supervisor's end", || {
        (!process::is_alive(supervisor)).then_some(())
    });
    fs::write(sandbox.root.join("go"), "").unwrap();
    second.end().ends_with(0);
    let verdicts: Vec<String> = sandbox
        .events_named("gate_finished")
        .iter()
        .map(|gate| gate["result"]["verdict"].to_string())
        .collect();
    assert_eq!(verdicts, ["\"passed\""; 3]);
}

#[test]
fn one_supervisor_serves_a_whole_run_and_is_gone_at_its_end() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "touch \"$root/here$RALPHTOOL_STORY\"; wait_for \"$root/go$RALPHTOOL_STORY\"
         setsid sleep 300 < /dev/null > /dev/null 2>&1 &
         {GOOD}"
    ));
    let running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here1")));
    let supervisor = running.supervisor();
    holds_nothing(&sandbox, supervisor);
    for polite in [Signal::HUP, Signal::INT, Signal::TERM] {
        signal(supervisor, polite);
    }
    fs::write(sandbox.root.join("go1"), "").unwrap();
    until("the agent", || there(&sandbox.root.join("here2")));
    assert_eq!(running.supervisor(), supervisor);
    fs::write(sandbox.root.join("go2"), "").unwrap();
    running.end().ends_with(0);
    assert!(!Path::new(&format!("/proc/{supervisor}")).exists());
    assert_eq!(
        sandbox.warnings(),
        ["swept: the agent left processes running, which were ended: `sleep 300`"; 2]
    );
}

/// The supervisor has a session of its own, no mark, and no open file of the sandbox.
#[track_caller]
fn holds_nothing(sandbox: &Sandbox, supervisor: i32) {
    until("a session of its own", || {
        (process::session(supervisor) == Some(supervisor)).then_some(())
    });
    let folder = Path::new("/proc").join(supervisor.to_string());
    assert_eq!(fs::read_link(folder.join("cwd")).unwrap(), Path::new("/"));
    let environ = String::from_utf8_lossy(&fs::read(folder.join("environ")).unwrap()).into_owned();
    for mark in ["RALPHTOOL_RUN=", "RALPHTOOL_ATTEMPT="] {
        assert!(!environ.contains(mark), "{environ}");
    }
    for entry in fs::read_dir(folder.join("fd")).unwrap() {
        let file = fs::read_link(entry.unwrap().path()).unwrap();
        assert!(!file.starts_with(&sandbox.root), "{}", file.display());
    }
}

#[test]
fn an_agent_dies_with_its_supervisor_and_the_run_continues_with_another() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "if [ ! -e \"$root/left\" ]; then\n{LEAVES}\nfi\n{GOOD}"
    ));
    let running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here")));
    let supervisor = running.supervisor();
    signal(supervisor, Signal::KILL);
    running.end().ends_with(0);
    all_gone(&sandbox);
    assert!(!process::is_alive(supervisor));
    let ends: Vec<String> = sandbox
        .events_named("attempt_failed")
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(ends.len() == 1 && ends[0].contains("signal 9"), "{ends:?}");
}

#[test]
fn an_agent_dies_when_the_program_and_its_supervisor_are_killed_at_once() {
    let sandbox = Sandbox::new();
    sandbox.agent("echo $$ > \"$root/pid\"; touch \"$root/here\"; exec sleep 300");
    let running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here")));
    let agent = fs::read_to_string(sandbox.root.join("pid")).unwrap();
    let agent: i32 = agent.trim().parse().unwrap();
    let supervisor = running.supervisor();
    // It gets no chance to react to the end of the program.
    signal(supervisor, Signal::STOP);
    kill(running);
    assert!(process::is_alive(agent));
    signal(supervisor, Signal::KILL);
    until("the agent's end", || {
        (!process::is_alive(agent)).then_some(())
    });
}

/// A process without any mark, in a session of its own, that can be found only by its ancestry.
const UNMARKED: &str = "
( setsid env -i /bin/sh -c 'echo $$ > \"$0/unmarked.new\"; /bin/mv \"$0/unmarked.new\" \"$0/unmarked\"
  exec /bin/sleep 300' \"$root\" & )
wait_for \"$root/unmarked\"; touch \"$root/here\"; sleep 300";

fn unmarked(sandbox: &Sandbox) -> i32 {
    let pid = fs::read_to_string(sandbox.root.join("unmarked")).unwrap();
    pid.trim().parse().unwrap()
}

#[test]
fn a_process_without_any_mark_is_ended_with_the_program_however_young_it_is() {
    let sandbox = Sandbox::new();
    sandbox.agent(UNMARKED);
    let running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here")));
    let unmarked = unmarked(&sandbox);
    kill(running);
    until("the end of the process", || {
        (!process::is_alive(unmarked)).then_some(())
    });
}

#[test]
fn the_next_start_finds_a_process_without_any_mark_below_the_supervisor() {
    let sandbox = Sandbox::new();
    sandbox.agent(UNMARKED);
    let running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here")));
    let supervisor = running.supervisor();
    // It cannot react before the next start has found it.
    signal(supervisor, Signal::STOP);
    let unmarked = unmarked(&sandbox);
    kill(running);
    assert!(process::is_alive(unmarked));
    sandbox.agent(GOOD);
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert!(!process::is_alive(unmarked));
    assert!(!process::is_alive(supervisor));
}

#[test]
fn processes_that_end_during_an_attempt_are_not_left_as_zombies() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "i=0; while [ $i -lt 60 ]; do i=$((i + 1)); ( setsid true & ); ( true & ); done
         touch \"$root/here\"; wait_for \"$root/go\"\n{GOOD}"
    ));
    let running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here")));
    let program = running.pid();
    let supervisor = running.supervisor();
    until_within(Duration::from_secs(20), "the end of all zombies", || {
        let left = process::zombies(supervisor) + process::zombies(program);
        (left == 0).then_some(())
    });
    fs::write(sandbox.root.join("go"), "").unwrap();
    running.end().ends_with(0);
}

/// Each process of the chain starts the next one in a session of its own, writes and ends.
const CHAIN: &str = r#"
echo "$$" >> "$0.log"
[ -e "$0.stop" ] || setsid sh "$0" &
echo more >> "$1/written.txt"
"#;

#[test]
fn a_chain_of_processes_that_start_each_other_does_not_outlive_its_attempt() {
    let sandbox = Sandbox::new();
    let chain = sandbox.root.join("chain");
    fs::write(&chain, CHAIN.replace("sh \"$0\"", "sh \"$0\" \"$1\"")).unwrap();
    sandbox.agent(&format!(
        "if [ $attempt = 1 ]; then
             setsid sh \"$root/chain\" \"$PWD\" &
             wait_for \"$root/chain.log\"; failed no; exit
         fi\n{GOOD}"
    ));
    let ran = sandbox.run(&["loop", "c"]);
    let written = sandbox.exists("written.txt");
    // A single check can miss it: it is always another process.
    let word = chain.to_str().unwrap();
    let left: Vec<i32> = (0..50).flat_map(|_| process::with_word(word)).collect();
    // Whatever is left of it must not outlive the test.
    fs::write(sandbox.root.join("chain.stop"), "").unwrap();
    ran.ends_with(0);
    assert!(left.is_empty(), "the chain goes on: {left:?}");
    assert!(!written, "it wrote into the tree that was restored");
}

#[test]
fn an_agent_whose_process_cannot_be_noted_is_ended_and_the_run_resumes() {
    let sandbox = Sandbox::new();
    // A folder in place of the file that records the process of the second attempt.
    sandbox.agent(&format!(
        "echo $$ >> \"$root/pids\"
         if [ $attempt = 1 ]; then
             for vault in \"$root\"/state/ralphtool/*; do
                 mkdir -p \"$vault/runs/$RALPHTOOL_RUN/attempts/1.2/process.json/x\"
             done
             failed no; exit
         fi
         [ ! -e \"$root/first\" ] || sleep 300\n{GOOD}"
    ));
    fs::write(sandbox.root.join("first"), "").unwrap();
    let running = sandbox.start(&["loop", "c"]);
    let output = running.end().ends_with(4);
    assert!(
        output.stdout.contains("could not start the agent"),
        "{}",
        output.stdout
    );
    let pids = fs::read_to_string(sandbox.root.join("pids")).unwrap();
    for pid in pids.lines() {
        assert!(!process::is_alive(pid.parse().unwrap()), "{pid} is alive");
    }
    fs::remove_file(sandbox.root.join("first")).unwrap();
    sandbox.run(&["resume"]).ends_with(0);
}
