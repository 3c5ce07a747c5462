#![cfg_attr(
    not(target_os = "linux"),
    allow(
        dead_code,
        unused_imports,
        reason = "many of these tests need a process table"
    )
)]

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use pretty_assertions::assert_eq;
use tempfile::TempDir;
use tokio::time::{Instant, sleep, timeout};

use super::{
    Ending, EnvChange, Exit, Line, OutputLine, ProcessError, ProcessEvent, ProcessSpec,
    RunningProcess, Stderr, Supervisors, Swept,
};

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(200);
/// Some shells lose an interrupt that comes while they start a command; the next signal follows
/// after a third of this.
const STOP: Duration = Duration::from_secs(3);

/// The example program, which serves as the supervisor of these tests. `cargo test`
/// builds it with them, `cargo test --lib` does not.
fn example() -> PathBuf {
    static EXAMPLE: OnceLock<PathBuf> = OnceLock::new();
    let built = || {
        let tests = std::env::current_exe().unwrap();
        let profile = tests.ancestors().nth(2).unwrap();
        let program = profile.join("examples/supervise");
        let age = |path: &Path| path.metadata().and_then(|it| it.modified()).ok();
        if age(&program) < age(&tests) {
            let mut cargo = std::process::Command::new(env!("CARGO"));
            cargo.args(["build", "--quiet", "--example", "supervise"]);
            if profile.ends_with("release") {
                cargo.arg("--release");
            }
            cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
            cargo.env("CARGO_TARGET_DIR", profile.parent().unwrap());
            assert!(cargo.status().unwrap().success());
        }
        program
    };
    EXAMPLE.get_or_init(built).clone()
}

/// A folder for one process.
struct Sandbox(TempDir);

impl Sandbox {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn sh(&self, script: &str) -> ProcessSpec {
        ProcessSpec {
            program: "sh".into(),
            args: vec!["-c".into(), script.into()],
            cwd: self.0.path().to_owned(),
            env: Vec::new(),
            stdin: Vec::new(),
            stdout: self.path("stdout"),
            stderr: Stderr::File(self.path("stderr")),
            line_cap: 1 << 20,
            marker: self.0.path().display().to_string(),
        }
    }

    async fn start(&self, script: &str) -> RunningProcess {
        start(self.sh(script)).await.unwrap()
    }

    /// The number in a file, once it is there.
    async fn pid(&self, name: &str) -> i32 {
        let path = self.path(name);
        let read = || std::fs::read_to_string(&path).ok()?.trim().parse().ok();
        eventually(|| read().is_some()).await;
        read().unwrap()
    }
}

async fn start(spec: ProcessSpec) -> Result<RunningProcess, ProcessError> {
    Supervisors::with_program(example()).start(spec).await
}

/// Waits until something is so.
async fn eventually(mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < end, "it never happened");
        sleep(Duration::from_millis(5)).await;
    }
}

#[cfg(target_os = "linux")]
fn alive(pid: i32) -> bool {
    super::table::Entry::read(pid).is_some_and(|entry| !entry.is_dead)
}

#[cfg(not(target_os = "linux"))]
fn alive(pid: i32) -> bool {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::test_kill_process(pid).is_ok()
}

/// A line that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Kept {
    bytes: Vec<u8>,
    truncated: bool,
}

impl From<Line<'_>> for Kept {
    fn from(line: Line<'_>) -> Self {
        Self {
            bytes: line.bytes.to_vec(),
            truncated: line.truncated,
        }
    }
}

async fn all_lines(process: &mut RunningProcess) -> (Vec<Kept>, Exit) {
    let (lines, _, exit) = all_output(process).await;
    (lines, exit)
}

async fn all_output(process: &mut RunningProcess) -> (Vec<Kept>, Vec<Kept>, Exit) {
    let mut lines = Vec::new();
    let mut stderr = Vec::new();
    loop {
        let keep = |written: OutputLine<'_>| match written {
            OutputLine::Stdout(line) => lines.push(line.into()),
            OutputLine::Stderr(line) => stderr.push(line.into()),
        };
        if let ProcessEvent::Exited(exit) = timeout(LONG, process.next(keep)).await.unwrap() {
            return (lines, stderr, exit);
        }
    }
}

async fn until_line(process: &mut RunningProcess, want: &str) {
    let mut is_there = false;
    while !is_there {
        let listen = |written: OutputLine<'_>| {
            is_there |=
                matches!(written, OutputLine::Stdout(line) if line.bytes == want.as_bytes());
        };
        let event = timeout(LONG, process.next(listen)).await.unwrap();
        if let ProcessEvent::Exited(exit) = event {
            panic!("ended with {exit:?} before it said {want}");
        }
    }
}

fn line(bytes: impl Into<Vec<u8>>) -> Kept {
    Kept {
        bytes: bytes.into(),
        truncated: false,
    }
}

fn ended(commands: &[&str]) -> Swept {
    Swept {
        ended: commands.iter().map(ToString::to_string).collect(),
        survivors: Vec::new(),
    }
}

#[tokio::test]
async fn reports_lines_exit_code_and_the_end_of_stderr() {
    let sandbox = Sandbox::new();
    let script = r"printf 'one\n\377two\r\nlast'; echo oops >&2; exit 3";
    let mut process = sandbox.start(script).await;
    let want = [line("one"), line(b"\xfftwo"), line("last")];
    assert_eq!(
        all_lines(&mut process).await,
        (want.to_vec(), Exit::Code(3))
    );
    assert_eq!(
        process.next(|_| ()).await,
        ProcessEvent::Exited(Exit::Code(3))
    );
    let want = Ending {
        exit: Exit::Code(3),
        swept: Swept::default(),
        stderr_tail: "oops".into(),
    };
    assert_eq!(process.finish(LONG).await, want);
    let kept = std::fs::read(sandbox.path("stdout")).unwrap();
    assert_eq!(kept, b"one\n\xfftwo\r\nlast");
}

#[tokio::test]
async fn output_files_are_private_and_added_to() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("stderr"), "before\n").unwrap();
    for _ in 0..2 {
        let mut process = sandbox.start("echo said; echo more >&2").await;
        assert_eq!(all_lines(&mut process).await.0, [line("said")]);
        process.finish(SHORT).await;
    }
    let read = |name| std::fs::read_to_string(sandbox.path(name)).unwrap();
    assert_eq!(
        (read("stdout"), read("stderr")),
        ("said\nsaid\n".into(), "before\nmore\nmore\n".into())
    );
    let mode = std::fs::metadata(sandbox.path("stdout"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_megabyte_of_input_arrives_whole_and_may_be_left_unread() {
    let sandbox = Sandbox::new();
    for (script, want) in [
        ("cat | wc -c | tr -d ' '", vec![line("1048576")]),
        ("true", vec![]),
    ] {
        let mut spec = sandbox.sh(script);
        spec.stdin = vec![b'p'; 1 << 20];
        let mut process = start(spec).await.unwrap();
        assert_eq!(all_lines(&mut process).await, (want, Exit::Code(0)));
        process.finish(SHORT).await;
    }
}

#[tokio::test]
async fn no_input_is_an_end_and_not_a_wait() {
    let sandbox = Sandbox::new();
    let mut process = sandbox.start("cat; echo over").await;
    assert_eq!(all_lines(&mut process).await.0, [line("over")]);
}

#[tokio::test]
async fn a_huge_line_is_cut_in_memory_and_whole_on_disk() {
    let sandbox = Sandbox::new();
    let mut process = sandbox
        .start("head -c 8000000 /dev/zero; echo; echo after")
        .await;
    let cut = Kept {
        bytes: vec![0; 1 << 20],
        truncated: true,
    };
    let (lines, _) = all_lines(&mut process).await;
    assert!(lines == [cut, line("after")]);
    let kept = std::fs::metadata(sandbox.path("stdout")).unwrap().len();
    assert_eq!(kept, 8_000_007);
}

#[tokio::test]
async fn nothing_is_lost_when_waiting_is_cancelled() {
    let sandbox = Sandbox::new();
    let mut process = sandbox
        .start("i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo $i; done")
        .await;
    let mut lines: Vec<Kept> = Vec::new();
    let end = Instant::now() + LONG;
    loop {
        assert!(Instant::now() < end);
        let keep = |written: OutputLine<'_>| match written {
            OutputLine::Stdout(line) => lines.push(line.into()),
            OutputLine::Stderr(line) => panic!("{line:?}"),
        };
        match timeout(Duration::from_micros(300), process.next(keep)).await {
            Ok(ProcessEvent::Exited(_)) => break,
            Ok(ProcessEvent::Wrote) | Err(_) => {}
        }
    }
    let want: Vec<Kept> = (1..=2000).map(|i| line(i.to_string())).collect();
    assert!(lines == want);
}

#[tokio::test]
async fn lines_of_stderr_are_reported_while_it_runs_and_their_pieces_are_activity() {
    let sandbox = Sandbox::new();
    let wait = |file| format!("until [ -e {file} ]; do sleep 0.01; done");
    let script = format!(
        "printf oo >&2; {}; printf 'ps\\nand' >&2; {}; printf ' more' >&2",
        wait("go"),
        wait("on")
    );
    let mut process = sandbox.start(&script).await;
    let mut next = async || {
        let mut stderr: Vec<Kept> = Vec::new();
        let keep = |written: OutputLine<'_>| match written {
            OutputLine::Stdout(line) => panic!("{line:?}"),
            OutputLine::Stderr(line) => stderr.push(line.into()),
        };
        let event = timeout(LONG, process.next(keep)).await.unwrap();
        assert_eq!(event, ProcessEvent::Wrote);
        stderr
    };
    assert_eq!(next().await, []);
    std::fs::write(sandbox.path("go"), "").unwrap();
    assert_eq!(next().await, [line("oops")]);
    std::fs::write(sandbox.path("on"), "").unwrap();
    let output = all_output(&mut process).await;
    assert_eq!(output, (vec![], vec![line("and more")], Exit::Code(0)));
    assert_eq!(process.finish(SHORT).await.stderr_tail, "oops\nand more");
}

#[tokio::test]
async fn all_of_both_streams_is_reported_in_order_before_the_end() {
    let sandbox = Sandbox::new();
    // More than one piece of each file, written faster than it is read.
    let count = 20_000;
    let script = format!("seq -f 'e%.0f' {count} >&2 & seq {count}; wait");
    let mut process = sandbox.start(&script).await;
    let output = all_output(&mut process).await;
    let want = |start: &str| -> Vec<Kept> {
        let numbers = 1..=count;
        numbers.map(|i| line(format!("{start}{i}"))).collect()
    };
    assert!(output == (want(""), want("e"), Exit::Code(0)));
}

#[tokio::test]
async fn a_huge_line_of_stderr_is_cut_in_memory_and_whole_on_disk() {
    let sandbox = Sandbox::new();
    let mut process = sandbox
        .start("yes e | tr -d '\\n' | head -c 2000000 >&2; echo >&2; echo after >&2")
        .await;
    let (_, stderr, _) = all_output(&mut process).await;
    let cut = Kept {
        bytes: vec![b'e'; 16 * 1024],
        truncated: true,
    };
    assert!(stderr == [cut, line("after")]);
    let kept = std::fs::metadata(sandbox.path("stderr")).unwrap().len();
    assert_eq!(kept, 2_000_007);
}

#[tokio::test]
async fn a_flood_on_stderr_does_not_hide_stdout_or_the_end() {
    let sandbox = Sandbox::new();
    let script =
        "(while :; do echo y; done >&2) & until [ -s stderr ]; do :; done; echo here; exit 4";
    let mut process = sandbox.start(script).await;
    assert_eq!(
        all_lines(&mut process).await,
        (vec![line("here")], Exit::Code(4))
    );
    let ending = timeout(LONG, process.finish(Duration::ZERO)).await.unwrap();
    assert_eq!(ending.swept.survivors, [""; 0]);
}

#[tokio::test]
async fn stderr_can_go_with_stdout() {
    let sandbox = Sandbox::new();
    let mut spec = sandbox.sh("echo a; echo b >&2; echo c");
    spec.stderr = Stderr::WithStdout;
    let mut process = start(spec).await.unwrap();
    assert_eq!(
        all_output(&mut process).await,
        (vec![line("a"), line("b"), line("c")], vec![], Exit::Code(0))
    );
    assert_eq!(process.finish(SHORT).await.stderr_tail, "a\nb\nc");
}

#[tokio::test]
async fn the_environment_is_changed_as_asked() {
    let sandbox = Sandbox::new();
    let mut spec = sandbox.sh("echo \"$A|${PWD_GONE-none}|${HOME-none}|$RALPHTOOL_ATTEMPT\"");
    spec.env = vec![EnvChange::set("A", "b"), EnvChange::remove("HOME")];
    let want = format!("b|none|none|{}", spec.marker);
    let mut process = start(spec).await.unwrap();
    assert_eq!(all_lines(&mut process).await.0, [line(want)]);
}

#[tokio::test]
async fn an_end_by_signal_is_reported() {
    let sandbox = Sandbox::new();
    let ending = sandbox.start("kill -TERM $$").await.finish(SHORT).await;
    assert_eq!(ending.exit, Exit::Signal(15));
}

#[tokio::test]
async fn a_program_that_cannot_be_run_gives_the_exit_code_of_a_shell() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("data"), "no program").unwrap();
    for (program, code) in [("no-such-agent", 127), ("./data", 126)] {
        let mut spec = sandbox.sh("");
        spec.program = program.into();
        let ending = start(spec).await.unwrap().finish(SHORT).await;
        assert_eq!(ending.exit, Exit::Code(code));
        let start = format!("could not run `{program}`: ");
        assert!(ending.stderr_tail.contains(&start), "{ending:?}");
    }
}

#[tokio::test]
async fn a_folder_that_is_missing_is_an_error() {
    let sandbox = Sandbox::new();
    let mut spec = sandbox.sh("true");
    spec.cwd = sandbox.path("nowhere");
    assert!(matches!(start(spec).await, Err(ProcessError::Start { .. })));
    let mut spec = sandbox.sh("true");
    spec.stdout = sandbox.path("nowhere/stdout");
    assert!(matches!(start(spec).await, Err(ProcessError::Open { .. })));
}

#[tokio::test]
async fn a_stopped_process_can_still_write() {
    let sandbox = Sandbox::new();
    let script = "trap 'echo bye; exit 7' INT TERM; echo ready; while :; do sleep 0.05; done";
    let mut process = sandbox.start(script).await;
    until_line(&mut process, "ready").await;
    process.request_stop(STOP);
    assert_eq!(
        all_lines(&mut process).await,
        (vec![line("bye")], Exit::Code(7))
    );
}

#[tokio::test]
async fn a_process_that_ignores_interrupts_is_terminated() {
    let sandbox = Sandbox::new();
    let script = "trap '' INT; trap 'exit 8' TERM; echo ready; while :; do sleep 0.05; done";
    let mut process = sandbox.start(script).await;
    until_line(&mut process, "ready").await;
    assert_eq!(process.stop(STOP).await.exit, Exit::Code(8));
}

#[tokio::test]
async fn a_process_that_ignores_everything_is_killed() {
    let sandbox = Sandbox::new();
    let script = "trap '' INT TERM; echo ready; while :; do sleep 0.05; done";
    let mut process = sandbox.start(script).await;
    until_line(&mut process, "ready").await;
    assert_eq!(process.stop(SHORT).await.exit, Exit::Signal(9));

    let mut process = sandbox.start(script).await;
    until_line(&mut process, "ready").await;
    process.kill_now();
    assert_eq!(process.finish(LONG).await.exit, Exit::Signal(9));
}

#[tokio::test]
async fn a_process_that_never_stops_writing_is_stopped_and_its_end_is_seen() {
    let sandbox = Sandbox::new();
    // About as fast as it can be read.
    let mut process = sandbox
        .start("trap '' INT TERM; while :; do head -c 300000 /dev/zero; done")
        .await;
    assert_eq!(
        timeout(LONG, process.next(|_| ())).await,
        Ok(ProcessEvent::Wrote)
    );
    let ending = timeout(LONG, process.stop(SHORT)).await.unwrap();
    assert_eq!(ending.exit, Exit::Signal(9));
}

#[tokio::test]
async fn a_stop_right_after_the_start_works() {
    let sandbox = Sandbox::new();
    let process = sandbox.start("sleep 1000").await;
    let ending = timeout(LONG, process.stop(STOP)).await.unwrap();
    assert!(matches!(ending.exit, Exit::Signal(_)), "{ending:?}");
}

#[tokio::test]
async fn what_is_left_after_a_normal_end_neither_blocks_nor_stays() {
    let sandbox = Sandbox::new();
    let mut process = sandbox.start("sleep 1000 & echo $! > pid; echo done").await;
    assert_eq!(
        all_lines(&mut process).await,
        (vec![line("done")], Exit::Code(0))
    );
    let ending = timeout(LONG, process.finish(SHORT)).await.unwrap();
    #[cfg(target_os = "linux")]
    assert_eq!(ending.swept, ended(&["sleep 1000"]));
    assert_eq!(ending.swept.survivors, [""; 0]);
    assert!(!alive(sandbox.pid("pid").await));
}

#[tokio::test]
async fn what_goes_on_writing_does_not_hide_the_end() {
    let sandbox = Sandbox::new();
    let script = "(while :; do echo y; done) & until [ -s stdout ]; do :; done; exit 4";
    let mut process = sandbox.start(script).await;
    let exit = loop {
        if let ProcessEvent::Exited(exit) = timeout(LONG, process.next(|_| ())).await.unwrap() {
            break exit;
        }
    };
    assert_eq!(exit, Exit::Code(4));
    let ending = timeout(LONG, process.finish(Duration::ZERO)).await.unwrap();
    assert_eq!(ending.swept.survivors, [""; 0]);
}

#[tokio::test]
async fn what_ends_by_itself_within_the_leak_grace_is_not_swept() {
    let sandbox = Sandbox::new();
    let script = "(until [ -e go ]; do sleep 0.01; done; echo over > over) & echo done";
    let mut process = sandbox.start(script).await;
    all_lines(&mut process).await;
    std::fs::write(sandbox.path("go"), "").unwrap();
    assert_eq!(process.finish(LONG).await.swept, Swept::default());
    assert!(sandbox.path("over").exists());
}

#[tokio::test]
async fn what_ends_a_little_after_a_process_that_is_stopped_was_not_left_behind() {
    let sandbox = Sandbox::new();
    let script = "trap '' INT; \
         (trap 'while kill -0 $$; do :; done; sleep 0.05; exit' TERM; echo ready; sleep 1000) & \
         exec sleep 1000";
    let mut process = sandbox.start(script).await;
    until_line(&mut process, "ready").await;
    assert_eq!(process.stop(STOP).await.swept, Swept::default());
}

/// Starts a process in a session of its own and waits until it sleeps.
#[cfg(target_os = "linux")]
const ESCAPE: &str = "escape() { setsid \"$@\" sh -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 1000' & \
     until [ -e pid ] && grep -aq ^sleep \"/proc/$(cat pid)/cmdline\"; do sleep 0.01; done; echo ready; }";

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_session_of_its_own_does_not_outlive_a_normal_end() {
    let sandbox = Sandbox::new();
    let ending = sandbox
        .start(&format!("{ESCAPE}; escape"))
        .await
        .finish(SHORT)
        .await;
    assert_eq!(
        (ending.exit, ending.swept),
        (Exit::Code(0), ended(&["sleep 1000"]))
    );
    assert!(!alive(sandbox.pid("pid").await));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_session_of_its_own_does_not_outlive_a_stop() {
    for scrub in ["", "env -i PATH=\"$PATH\""] {
        let sandbox = Sandbox::new();
        let mut process = sandbox
            .start(&format!("{ESCAPE}; escape {scrub}; exec sleep 1000"))
            .await;
        until_line(&mut process, "ready").await;
        let ending = process.stop(STOP).await;
        assert_eq!(ending.swept, ended(&["sleep 1000"]));
        assert!(!alive(sandbox.pid("pid").await));
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_session_of_its_own_that_ignores_signals_is_killed() {
    let sandbox = Sandbox::new();
    let script = "setsid sh -c 'trap \"\" TERM INT; echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.05; done' & \
         until [ -e pid ]; do sleep 0.01; done; echo ready; sleep 1000";
    let mut process = sandbox.start(script).await;
    until_line(&mut process, "ready").await;
    process.kill_now();
    let ending = process.finish(LONG).await;
    assert_eq!(ending.swept.survivors, [""; 0]);
    assert!(!alive(sandbox.pid("pid").await));
}

#[tokio::test]
async fn a_dropped_process_is_killed() {
    let sandbox = Sandbox::new();
    let process = sandbox
        .start("echo $$ > pid.new; mv pid.new pid; sleep 1000")
        .await;
    let pid = sandbox.pid("pid").await;
    drop(process);
    eventually(|| !alive(pid)).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn one_supervisor_serves_one_process_after_another_and_ends_at_the_shutdown() {
    let sandbox = Sandbox::new();
    let supervisors = Supervisors::with_program(example());
    supervisors.prepare().unwrap();
    let mut pids = Vec::new();
    for script in ["true", "setsid sleep 1000 &", "true"] {
        let process = supervisors.start(sandbox.sh(script)).await.unwrap();
        pids.push(process.identity().unwrap().pid);
        process.finish(Duration::ZERO).await;
    }
    assert_eq!(pids, [pids[0]; 3]);
    let mut one = supervisors.start(sandbox.sh("sleep 1000")).await.unwrap();
    let two = supervisors.start(sandbox.sh("true")).await.unwrap();
    assert!(one.identity().unwrap().pid != two.identity().unwrap().pid);
    pids.push(two.identity().unwrap().pid);
    two.finish(SHORT).await;
    one.kill_now();
    one.finish(SHORT).await;
    supervisors.shutdown().await;
    assert!(!pids.into_iter().any(alive));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_dies_with_its_supervisor_and_what_it_left_is_ended() {
    let sandbox = Sandbox::new();
    let mut process = sandbox
        .start(&format!("{ESCAPE}; escape; exec sleep 1000"))
        .await;
    until_line(&mut process, "ready").await;
    let supervisor = process.identity().unwrap().pid;
    let supervisor = rustix::process::Pid::from_raw(supervisor).unwrap();
    rustix::process::kill_process(supervisor, rustix::process::Signal::KILL).unwrap();
    let ending = timeout(LONG, process.finish(Duration::ZERO)).await.unwrap();
    assert_eq!(ending.exit, Exit::Signal(9));
    assert_eq!(ending.swept.survivors, [""; 0]);
    assert!(!alive(sandbox.pid("pid").await));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_is_killed_even_if_its_supervisor_hangs() {
    let sandbox = Sandbox::new();
    let mut process = sandbox
        .start("echo $$ > pid.new; mv pid.new pid; exec sleep 1000")
        .await;
    let pid = sandbox.pid("pid").await;
    let supervisor = process.identity().unwrap().pid;
    let supervisor = rustix::process::Pid::from_raw(supervisor).unwrap();
    rustix::process::kill_process(supervisor, rustix::process::Signal::STOP).unwrap();
    process.kill_now();
    let ending = timeout(LONG, process.finish(Duration::ZERO)).await.unwrap();
    assert_eq!(ending.exit, Exit::Signal(9));
    assert!(!alive(pid));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_kernel_kills_the_process_with_its_supervisor() {
    use rustix::process::{Pid, Signal, kill_process};
    let sandbox = Sandbox::new();
    let mut program = std::process::Command::new(example())
        .args([
            "sh",
            "-c",
            "echo $$ > pid.new; mv pid.new pid; exec sleep 1000",
        ])
        .current_dir(sandbox.0.path())
        .spawn()
        .unwrap();
    let pid = sandbox.pid("pid").await;
    let supervisor = super::table::Entry::read(pid).unwrap().parent;
    // Both are stopped, so that neither can end the process itself.
    let pid_of = |pid| Pid::from_raw(pid).unwrap();
    let program_pid = i32::try_from(program.id()).unwrap();
    kill_process(pid_of(program_pid), Signal::STOP).unwrap();
    kill_process(pid_of(supervisor), Signal::STOP).unwrap();
    assert!(alive(pid));
    kill_process(pid_of(supervisor), Signal::KILL).unwrap();
    eventually(|| !alive(pid)).await;
    program.kill().unwrap();
    program.wait().unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn leftovers_of_a_crashed_run_are_found_by_mark_and_by_record() {
    use super::leftovers::{ProcessIdentity, end_leftovers};
    use ralph_base::ids::RunId;
    let sandbox = Sandbox::new();
    let leave = |mark: &str| {
        let mut command = std::process::Command::new("setsid");
        command.args(["sleep", "1000"]).env("RALPHTOOL_RUN", mark);
        command.spawn().unwrap()
    };
    let run = |name: &str| RunId(format!("{}/{name}", sandbox.0.path().display()));
    let mut marked = leave(&run("one").0);
    let mut recorded = leave("");
    let mut other = leave(&run("two").0);
    let pid = |child: &std::process::Child| i32::try_from(child.id()).unwrap();
    let identity = |child| ProcessIdentity::of(rustix::process::Pid::from_raw(pid(child)).unwrap());
    let record = identity(&recorded).unwrap();
    let mut stale = identity(&other).unwrap();
    stale.started += 1;
    let is_sleep = |child| {
        super::table::Entry::read(pid(child))
            .unwrap()
            .command_line()
            == "sleep 1000"
    };
    eventually(|| is_sleep(&marked) && is_sleep(&recorded)).await;

    let swept = end_leftovers(&[run("one")], &[record, stale], LONG).await;
    assert_eq!(swept, ended(&["sleep 1000", "sleep 1000"]));
    assert!(!alive(pid(&marked)) && !alive(pid(&recorded)) && alive(pid(&other)));
    other.kill().unwrap();
    for child in [&mut marked, &mut recorded, &mut other] {
        child.wait().unwrap();
    }
}

/// Runs one ignored test of this program in a process of its own.
fn alone(test: &str) {
    let mut program = std::process::Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", &format!("tests::{test}"), "--ignored"]);
    let output = program.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn orphans_without_any_mark_are_swept_and_other_children_are_left_alone() {
    let sandbox = Sandbox::new();
    let mut bystander = tokio::process::Command::new("sleep")
        .arg("1000")
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut finished = std::process::Command::new("sh")
        .args(["-c", "exit 5"])
        .spawn()
        .unwrap();
    let zombie = i32::try_from(finished.id()).unwrap();
    eventually(|| !alive(zombie)).await;

    // Another one has ended by then.
    let spec = sandbox.sh(&format!(
        "{ESCAPE}; escape env -i PATH=\"$PATH\"; (setsid env -i sh -c 'echo $$ > dead' &)
         until [ -s dead ] && ! grep -q '^State:.[^ZX]' \"/proc/$(cat dead)/status\"; do sleep 0.01; done"
    ));
    let other = Sandbox::new();
    let other = other.start("sleep 1000").await;
    let ending = start(spec).await.unwrap().finish(SHORT).await;
    assert_eq!(ending.swept, ended(&["sleep 1000"]));
    assert!(super::table::Entry::read(sandbox.pid("pid").await).is_none());

    assert_eq!(bystander.try_wait().unwrap(), None);
    bystander.kill().await.unwrap();
    assert_eq!(finished.wait().unwrap().code(), Some(5));
    assert!(matches!(other.stop(STOP).await.exit, Exit::Signal(_)));
}

#[cfg(target_os = "linux")]
#[test]
fn memory_stays_bounded_however_much_is_printed() {
    alone("alone_memory_is_bounded");
}

#[cfg(target_os = "linux")]
#[tokio::test]
#[ignore = "runs in a process of its own, started by another test"]
async fn alone_memory_is_bounded() {
    use ralph_agents::dialect::Output;
    let megabytes = |name| std::env::var(name).ok().and_then(|it| it.parse().ok());
    let total: u64 = megabytes("RALPHTOOL_TEST_TOTAL_MB").unwrap_or(20);
    let longest: u64 = megabytes("RALPHTOOL_TEST_LINE_MB").unwrap_or(12);
    let text = "x".repeat(200);
    for (output, before, after) in [
        (Output::Text, "", ""),
        (
            Output::ClaudeJson,
            r#"{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":""#,
            r#""}]}}"#,
        ),
    ] {
        let sandbox = Sandbox::new();
        let big = |megabytes: u64| {
            format!(
                "printf '%s' '{before}'; yes '\\t' | tr -d '\\n' | head -c {megabytes}000000; echo '{after}'"
            )
        };
        let script = format!(
            "yes '{before}{text}{after}' | head -c {total}000000; echo; {}; {}; echo '<promise>COMPLETE</promise>'",
            big(7),
            big(longest)
        );
        let mut spec = sandbox.sh(&script);
        spec.line_cap = output.line_cap();
        let mut process = start(spec).await.unwrap();
        let mut reader = output.reader(&jiff::Zoned::default());
        let mut read = 0;
        let mut events = Vec::new();
        let mut listen = |written: OutputLine<'_>| {
            if let OutputLine::Stdout(line) = written {
                read += 1;
                reader.read(line.bytes, line.truncated, &mut events);
                events.clear();
            }
        };
        while process.next(&mut listen).await == ProcessEvent::Wrote {}
        assert!(read > total * 3000);
        process.finish(SHORT).await;
    }
    let peak = peak_memory(Path::new("/proc/self/status"));
    assert!(peak < 64 * 1024, "{peak} kB");
    if let Ok(path) = std::env::var("RALPHTOOL_TEST_REPORT") {
        std::fs::write(path, format!("{peak} kB\n")).unwrap();
    }
}

#[cfg(target_os = "linux")]
fn peak_memory(status: &Path) -> u64 {
    let status = std::fs::read_to_string(status).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}
