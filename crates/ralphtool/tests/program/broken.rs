//! A checkpoint that cannot be written stops the run with exit code 4; the work is still there,
//! and once the cause is fixed the next start continues.

#![cfg_attr(
    not(target_os = "linux"),
    allow(
        dead_code,
        unused_imports,
        reason = "some of these tests need to know who holds a file"
    )
)]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test ends where it cannot go on, and says why it does not begin"
)]

use std::fs;

use crate::sandbox::{self, GOOD, Sandbox, TASKS, there, until};
use pretty_assertions::assert_eq;

/// The change is done.
#[track_caller]
fn done(sandbox: &Sandbox) {
    assert_eq!(sandbox.branch(), "ralph/c");
    assert_eq!(sandbox.git("status --porcelain"), "");
    assert_eq!(sandbox.tasks_now(), TASKS.replace("[ ]", "[x]"));
    for story in ["story-1.txt", "story-2.txt"] {
        assert_eq!(sandbox.read(story), "work\n");
    }
    let commits = sandbox.commits();
    for wanted in ["initial state", "checkpoint: 1", "checkpoint: 2"] {
        let found = commits.iter().filter(|title| *title == wanted).count();
        assert_eq!(found, 1, "{wanted} in {commits:?}");
    }
    assert_eq!(sandbox.git("fsck --no-dangling --connectivity-only"), "");
}

#[cfg(target_os = "linux")]
#[test]
fn an_index_lock_held_by_a_live_process_stops_the_run_and_loses_nothing() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "touch $root/here.$RALPHTOOL_STORY; wait_for $root/go.$RALPHTOOL_STORY\n{GOOD}"
    ));
    fs::write(sandbox.root.join("go.1"), "").unwrap();
    let running = sandbox.start(&["loop", "c"]);
    until("story 2", || there(&sandbox.root.join("here.2")));
    let path = sandbox.repo.join(".git/index.lock");
    let lock = fs::File::create(&path).unwrap();
    fs::write(sandbox.root.join("go.2"), "").unwrap();
    let output = running.end().ends_with(4);
    assert!(
        output.stdout.contains("is held by process "),
        "{}",
        output.stdout
    );
    // The finished story is in the tree, the lock is its owner's, the story before is safe.
    assert_eq!(sandbox.read("story-2.txt"), "work\n");
    assert!(path.exists());
    assert_eq!(sandbox.commits(), ["initial state", "checkpoint: 1"]);
    // As long as it is held the run does not continue, and nothing is lost.
    sandbox.run(&["loop", "c"]).ends_with(4);
    assert_eq!(sandbox.read("story-2.txt"), "work\n");
    drop(lock);
    fs::remove_file(&path).unwrap();
    sandbox.run(&["loop", "c"]).ends_with(0);
    done(&sandbox);
}

#[test]
fn an_object_directory_replaced_by_a_file_is_rebuilt() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "[ $RALPHTOOL_STORY.$attempt != 2.1 ] || {{ mv .git/objects $root/objects; echo x > .git/objects; }}\n{GOOD}"
    ));
    // The git directory is rebuilt from the vault.
    sandbox.run(&["loop", "c"]).ends_with(0);
    done(&sandbox);
}

/// A git that fails, or hangs, at one of its commands while a file says so.
fn spoil_git(sandbox: &Sandbox, command: &str, how: &str) -> std::ffi::OsString {
    let folder = sandbox.root.join("bin");
    fs::create_dir(&folder).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let real = std::env::split_paths(&path)
        .map(|folder| folder.join("git"))
        .find(|git| git.is_file())
        .unwrap();
    let script = format!(
        "#!/bin/sh\nif [ -e '{0}/spoil' ]; then case \" $* \" in *' {command} '*) {how};; esac; fi\nexec '{1}' \"$@\"\n",
        sandbox.root.display(),
        real.display()
    );
    fs::write(folder.join("git"), script).unwrap();
    fs::set_permissions(folder.join("git"), sandbox::mode(0o755)).unwrap();
    let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).unwrap()
}

/// One git command fails after story 2 was done; then it works again.
#[track_caller]
fn survives(command: &str, how: &str) {
    let sandbox = Sandbox::new();
    let path = spoil_git(&sandbox, command, how);
    // Without its log git moves the branch, and with such attributes git stores the files.
    sandbox.agent(&format!(
        "[ $RALPHTOOL_STORY.$attempt != 2.1 ] || {{ rm .git/logs/HEAD; echo 'x ident' > .gitattributes; touch $root/spoil; }}\n{GOOD}"
    ));
    let mut loop_command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    loop_command
        .args(["loop", "c", "--command-timeout", "1s"])
        .env("PATH", &path);
    let output = sandbox.start_command(loop_command).end().ends_with(4);
    assert!(
        output.stdout.contains("run `ralphtool resume`"),
        "{}",
        output.stdout
    );
    assert_eq!(sandbox.read("story-2.txt"), "work\n");
    assert_eq!(sandbox.git("log -1 --format=%s ralph/c"), "checkpoint: 1\n");
    fs::remove_file(sandbox.root.join("spoil")).unwrap();
    sandbox.run(&["loop", "c"]).ends_with(0);
    done(&sandbox);
}

#[test]
fn a_git_that_cannot_write_the_tree_stops_the_run_and_loses_nothing() {
    survives(
        "write-tree",
        "echo 'fatal: No space left on device' >&2; exit 128",
    );
}

#[test]
fn a_git_that_cannot_move_the_branch_stops_the_run_and_loses_nothing() {
    survives("update-ref", "echo 'fatal: cannot lock ref' >&2; exit 128");
}

#[test]
fn a_git_that_hangs_stops_the_run_and_loses_nothing() {
    survives("update-ref", "exec sleep 300");
}

#[test]
fn nothing_is_restored_if_the_attempt_cannot_be_parked() {
    let sandbox = Sandbox::new();
    sandbox.agent(
        "if [ $attempt = 1 ]; then
             echo precious-idea > idea.txt
             rm -rf $XDG_STATE_HOME/ralphtool/*/store/objects
             echo x > $(echo $XDG_STATE_HOME/ralphtool/*/store)/objects
             failed no
             exit
         fi
         echo work > story-$RALPHTOOL_STORY.txt; complete",
    );
    sandbox.run(&["loop", "c"]).ends_with(4);
    assert_eq!(sandbox.read("idea.txt"), "precious-idea\n");
}

/// The next start saves work that was done and verified; no agent does it twice.
#[track_caller]
fn is_saved_by_the_next_start(broken: &str) {
    let sandbox = Sandbox::new();
    let path = spoil_git(&sandbox, broken, "exit 128");
    sandbox.agent(
        "rm .git/logs/HEAD; echo 'x ident' > .gitattributes; touch $root/spoil
         echo the-one-solution > solution.txt; tick 1; complete",
    );
    let mut loop_command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    loop_command
        .args(["loop", "c", "--story", "1"])
        .env("PATH", &path);
    sandbox.start_command(loop_command).end().ends_with(4);
    assert_eq!(sandbox.read("solution.txt"), "the-one-solution\n");
    fs::remove_file(sandbox.root.join("spoil")).unwrap();
    sandbox.agent("failed 'I forgot how'");
    sandbox
        .run(&["loop", "c", "--story", "1", "--max-retries", "0"])
        .ends_with(0);
    assert_eq!(sandbox.read("solution.txt"), "the-one-solution\n");
    let subjects = sandbox.git("log --format=%s main..ralph/c");
    assert_eq!(subjects, "checkpoint: 1\ninitial state\n");
}

#[test]
fn finished_work_is_saved_later_if_its_tree_could_not_be_written() {
    is_saved_by_the_next_start("write-tree");
}

#[test]
fn finished_work_is_saved_later_if_its_branch_could_not_be_moved() {
    is_saved_by_the_next_start("update-ref");
}

/// Runs a shell script with a small file system mounted at `$small`; none if the system does not
/// let a user mount it.
#[cfg(target_os = "linux")]
fn with_small_disk(sandbox: &Sandbox, options: &str, script: &str) -> Option<sandbox::Output> {
    let small = sandbox.root.join("small");
    fs::create_dir(&small).unwrap();
    let mount = format!("mount -t tmpfs -o {options} none \"$small\"");
    let inside = |script: &str| {
        let mut command = sandbox.command("unshare");
        command
            .args(["-Urm", "sh", "-c", script])
            .env("small", &small)
            .env("root", &sandbox.root)
            .env("ralphtool", env!("CARGO_BIN_EXE_ralphtool"));
        command
    };
    let can_mount = inside(&mount)
        .output()
        .is_ok_and(|output| output.status.success());
    if !can_mount {
        eprintln!("skipped: mounting in a user namespace is not allowed here");
        return None;
    }
    let command = inside(&format!("set -e; {mount}; {script}"));
    Some(sandbox.start_command(command).end())
}

/// Fills the small disk up after story 2 was done, until the test makes room.
#[cfg(target_os = "linux")]
const FILLS_THE_DISK: &str = r#"
echo "work" > "story-$RALPHTOOL_STORY.txt"
tick "$RALPHTOOL_STORY"
if [ "$RALPHTOOL_STORY.$attempt" = 2.1 ]; then
    mkdir "$small/filler"
    i=0
    while : 2>/dev/null > "$small/filler/$i"; do i=$((i + 1)); done 2>/dev/null
fi
complete
"#;

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_before_the_start_is_refused() {
    let sandbox = Sandbox::new();
    let before = sandbox::everything(&sandbox.repo);
    let script = "XDG_STATE_HOME=$small $ralphtool run c";
    let Some(output) = with_small_disk(&sandbox, "size=2m", script) else {
        return;
    };
    let output = output.ends_with(2);
    assert!(output.stderr.contains("MB are free"), "{}", output.stderr);
    assert_eq!(sandbox::everything(&sandbox.repo), before);
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_survives_a_full_disk_under_the_vault() {
    let sandbox = Sandbox::new();
    sandbox.agent(FILLS_THE_DISK);
    let script = "
        export XDG_STATE_HOME=$small
        code=0; $ralphtool run c || code=$?
        test $code = 4; grep -q work story-2.txt; rm -r $small/filler; $ralphtool run c";
    let Some(output) = with_small_disk(&sandbox, "size=80m,nr_inodes=400", script) else {
        return;
    };
    output.ends_with(0);
    done(&sandbox);
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_survives_a_full_disk_under_the_repository() {
    let sandbox = Sandbox::new();
    sandbox.agent(FILLS_THE_DISK);
    let script = "
        cp -a . $small/repo; cd $small/repo
        code=0; $ralphtool run c || code=$?
        test $code = 4; grep -q work story-2.txt; rm -r $small/filler; $ralphtool run c
        cp -a . $root/after";
    let Some(output) = with_small_disk(&sandbox, "size=80m,nr_inodes=400", script) else {
        return;
    };
    output.ends_with(0);
    fs::rename(&sandbox.repo, sandbox.root.join("before")).unwrap();
    fs::rename(sandbox.root.join("after"), &sandbox.repo).unwrap();
    done(&sandbox);
}
