//! Agents on an overlay of the work tree, with real namespaces. Where the system allows none, each
//! test says so and ends.

#![cfg(target_os = "linux")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::sandbox::{self, GOOD, Sandbox, TASKS, files, files_and_times, listing, there, until};
use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, test_kill_process};

/// Waits in the middle of its work, until the test lets it go on.
const WAITS: &str = r#"touch "$root/here"; wait_for "$root/go""#;

/// Changes of every kind an overlay has to tell: each must come out as without one. They are few
/// scripts because every run waits for the disk.
const CHANGES: [&str; 4] = [
    // Files, each in a place of its own.
    r"
    echo more >> file/changed
    mkdir -p n/e/w; echo new > n/e/w/file
    rm file/removed
    rm -r folder/removed
    rm -r folder/anew; mkdir folder/anew; echo new > folder/anew/other
    mv folder/renamed folder/elsewhere
    rm -r folder/to-file; echo file > folder/to-file
    rm file/to-folder; mkdir file/to-folder; echo in > file/to-folder/b
    mv folder/to-link folder/real; ln -s real folder/to-link
    rm file/to-link; ln -s ../dir/b.txt file/to-link
    rm link; mkdir link; echo in > link/file
    chmod +x file/executable; touch file/touched
    echo x > folder/locked/d; chmod 500 folder/locked
    echo secret > locked.txt; chmod 400 locked.txt
    echo x > ':!odd'; echo y > 'new
line'; mkdir -- -d; echo z > '-d/ ü'
    ",
    // What git ignores, and a rule of the agent's own.
    r"
    echo NEW=1 > .env; rm a.swp; rm -r target; mkdir target; echo t > target/new
    echo hidden > .gitignore; mkdir hidden; echo x > hidden/y; echo z > a.log
    rm link; ln -s dir/b.txt link
    ",
    // The git directory.
    r"
    git branch other; git tag v1
    echo c > c.txt; git add c.txt; git commit -qm mine; echo d >> c.txt
    git add -f .env; git rm -q --cached file/changed
    echo '#!/bin/sh' > .git/hooks/pre-push; git config core.abbrev 20
    git gc -q --prune=now
    ",
    "echo s >> a.txt; git stash -q",
];

/// Whether agents can be isolated on this machine; says so where not.
pub(crate) fn possible() -> bool {
    static POSSIBLE: OnceLock<bool> = OnceLock::new();
    *POSSIBLE.get_or_init(|| {
        let output = Sandbox::on_disk().run(&["loop", "c", "--isolate"]);
        assert!(matches!(output.code, 0 | 2), "{output:?}");
        if output.code == 2 {
            eprintln!("skipped: agents cannot be isolated here: {}", output.stderr);
        }
        output.code == 0
    })
}

/// A dirty repository with a link in it.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::on_disk();
    fs::create_dir(sandbox.repo.join(".git/hooks")).unwrap();
    symlink("a.txt", sandbox.repo.join("link")).unwrap();
    for name in [
        "changed",
        "removed",
        "to-folder",
        "to-link",
        "executable",
        "touched",
    ] {
        sandbox.write(&format!("file/{name}"), name);
    }
    for name in ["removed", "anew", "renamed", "to-file", "to-link", "locked"] {
        sandbox.write(&format!("folder/{name}/file"), name);
    }
    sandbox.make_dirty();
    // Two of them differ in nothing but where they are.
    let agent = "agent = 'mine'\n[agents.mine]\ncommand = ['sh', '../agent.sh']\n";
    sandbox.write("ralphtool.toml", agent);
    sandbox
}

/// What is in the tree, on the branch and in the store after a run of one story.
#[derive(Debug, PartialEq, Eq)]
struct Result {
    files: BTreeMap<String, String>,
    tree: String,
    commits: Vec<String>,
    refs: String,
    settings: String,
    diff: Option<String>,
    parked: Option<String>,
    kept: Vec<String>,
}

fn result(sandbox: &Sandbox) -> Result {
    let run = sandbox.runs().pop().unwrap();
    let run_id = run.file_name().unwrap().to_string_lossy().into_owned();
    let diff = fs::read_to_string(run.join("attempts/1.1/changes.diff")).ok();
    let store = |args: &[&str]| {
        let mut command = sandbox.command("git");
        command.env("GIT_DIR", sandbox.vault().join("store"));
        let output = command.args(args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    };
    let kept = format!("refs/kept/{run_id}/1.1");
    let kept = store(&["for-each-ref", "--format=%(refname)", &kept]).unwrap();
    Result {
        files: files(&sandbox.repo),
        tree: sandbox.git("ls-tree -r HEAD"),
        commits: sandbox.commits(),
        refs: sandbox.git("for-each-ref --format=%(refname)"),
        settings: sandbox.git("config --local --list"),
        diff,
        parked: store(&["ls-tree", "-r", &format!("refs/parked/{run_id}/1.1")]),
        kept: kept
            .lines()
            .map(|line| line.replace(&run_id, "RUN"))
            .collect(),
    }
}

/// The result of an agent that makes a change and gives a promise, on an overlay or not.
fn after(change: &str, promise: &str, isolated: bool) -> Result {
    let sandbox = sandbox();
    sandbox.agent(&format!("{change}\n{promise}"));
    let mut args = vec!["loop", "c", "--story", "1", "--max-retries", "0"];
    args.extend(isolated.then_some("--isolate"));
    let code = i32::from(promise.contains("failed"));
    sandbox.run(&args).ends_with(code);
    let result = result(&sandbox);
    // A locked folder could not be cleared away.
    let mut unlock = sandbox.command("chmod");
    unlock.arg("-R").arg("u+rwx").arg(&sandbox.root);
    assert!(unlock.status().unwrap().success());
    result
}

#[test]
#[ignore = "takes many seconds; `.ci/run` runs it"]
fn a_finished_attempt_leaves_the_same_with_an_overlay_as_without() {
    if !possible() {
        return;
    }
    for change in CHANGES {
        let promise = "tick 1; complete";
        assert_eq!(
            after(change, promise, true),
            after(change, promise, false),
            "{change}"
        );
    }
}

#[test]
#[ignore = "takes many seconds; `.ci/run` runs it"]
fn a_failed_attempt_is_parked_the_same_with_an_overlay_as_without() {
    if !possible() {
        return;
    }
    for change in CHANGES {
        let promise = "failed no";
        let with = after(change, promise, true);
        let without = after(change, promise, false);
        // Branches and ignored files that an attempt makes stay in the tree without an overlay.
        let parked = |it: Result| (it.diff, it.parked, it.kept);
        assert_eq!(parked(with), parked(without), "{change}");
    }
}

/// Every file of the tree and of the git directory, with times.
fn all(repo: &Path) -> [BTreeMap<String, String>; 2] {
    [files_and_times(repo), files_and_times(&repo.join(".git"))]
}

#[test]
fn a_failed_attempt_leaves_the_tree_as_it_was_to_the_last_byte_and_time() {
    if !possible() {
        return;
    }
    let sandbox = sandbox();
    sandbox.write("target/debug/app", "built\n");
    sandbox.agent(&format!(
        "{WAITS}
         git commit -q --allow-empty -m mine; git stash -q; git config user.name evil
         echo junk > junk.txt; echo junk > target/debug/app; touch a.txt
         rm -rf .git .env untracked dir; mkdir dir; failed gone"
    ));
    let running = sandbox.start(&["loop", "c", "--isolate", "--max-retries", "0"]);
    until("the agent", || there(&sandbox.root.join("here")));
    let before = all(&sandbox.repo);
    fs::write(sandbox.root.join("go"), "").unwrap();
    running.end().ends_with(1);
    assert_eq!(all(&sandbox.repo), before);
    assert_eq!(sandbox.failures(), ["1.1 failed: gone"]);
    let diff = sandbox.transcript("1.1", "changes.diff");
    for part in ["+junk\n", "--- a/dir/b.txt", "--- a/untracked/new.txt"] {
        assert!(diff.contains(part), "{part}: {diff}");
    }
    // What no snapshot holds is in the overlay, which stays.
    let run = sandbox.runs().pop().unwrap();
    let upper = run.join("attempts/1.1/overlay.parked/upper");
    assert_eq!(
        fs::read_to_string(upper.join("target/debug/app")).unwrap(),
        "junk\n"
    );
}

#[test]
fn the_agent_is_who_it_was_and_where_it_was() {
    if !possible() {
        return;
    }
    let sandbox = Sandbox::on_disk();
    sandbox.agent(&format!(
        "id -u > $root/user; pwd > $root/where; git rev-parse HEAD > $root/head; {GOOD}"
    ));
    sandbox.config("isolate = true");
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    let told = |name: &str| fs::read_to_string(sandbox.root.join(name)).unwrap();
    let user = rustix::process::geteuid().as_raw();
    assert_eq!(told("user"), format!("{user}\n"));
    assert_eq!(told("where"), format!("{}\n", sandbox.repo.display()));
    assert_eq!(told("head"), sandbox.git("rev-parse HEAD^"));
    // Nothing is left of an overlay that was merged.
    let attempt = sandbox.runs().pop().unwrap().join("attempts/1.1");
    assert!(!attempt.join("overlay").exists() && !attempt.join("overlay.parked").exists());
}

#[test]
fn a_path_may_have_any_name() {
    if !possible() {
        return;
    }
    let mut sandbox = Sandbox::on_disk();
    let odd = sandbox.root.join("re,po:x\\y ü");
    fs::rename(&sandbox.repo, &odd).unwrap();
    sandbox.repo = odd;
    sandbox.run(&["loop", "c", "--isolate"]).ends_with(0);
    assert_eq!(sandbox.tasks_now(), TASKS.replace("[ ]", "[x]"));
}

#[test]
fn what_an_agent_leaves_running_is_ended_before_the_merge() {
    if !possible() {
        return;
    }
    let sandbox = Sandbox::on_disk();
    sandbox.agent(&format!(
        "(trap '' HUP TERM; while :; do echo x >> late.txt; sleep 0.01; done) > /dev/null 2>&1 &
         echo $! > $root/pid; {GOOD}"
    ));
    sandbox
        .run(&["loop", "c", "--isolate", "--story", "1"])
        .ends_with(0);
    let pid = fs::read_to_string(sandbox.root.join("pid")).unwrap();
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    assert!(test_kill_process(pid).is_err());
    assert_eq!(sandbox.git("status --porcelain"), "");
}

#[test]
fn a_killed_run_goes_on_and_the_tree_never_knew() {
    if !possible() {
        return;
    }
    let sandbox = sandbox();
    sandbox.agent(&format!(
        "echo junk > junk.txt; rm -rf .git dir; {WAITS}; sleep 300"
    ));
    let running = sandbox.start(&["loop", "c", "--isolate"]);
    until("the agent", || there(&sandbox.root.join("here")));
    let before = all(&sandbox.repo);
    running.signal(Signal::KILL);
    running.end().ends_with(137);
    assert_eq!(all(&sandbox.repo), before);
    sandbox.write("mine.txt", "edited after the crash\n");
    sandbox.agent(GOOD);
    let output = sandbox.run(&["loop", "c", "--isolate", "--max-retries", "0"]);
    let output = output.ends_with(0);
    assert!(
        output.stdout.contains("attempt 1.1 was interrupted"),
        "{}",
        output.stdout
    );
    let diff = sandbox.transcript("1.1", "changes.diff");
    assert!(
        diff.contains("+junk") && !diff.contains("mine.txt"),
        "{diff}"
    );
    assert_eq!(sandbox.read("mine.txt"), "edited after the crash\n");
    assert!(!sandbox.exists("junk.txt"));
    assert_eq!(sandbox.tasks_now(), TASKS.replace("[ ]", "[x]"));
}

#[test]
fn a_run_killed_after_the_merge_goes_back_to_the_checkpoint() {
    if !possible() {
        return;
    }
    let sandbox = sandbox();
    let before = files(&sandbox.repo);
    sandbox.agent("echo work > work.txt; rm -r dir; tick 1; complete");
    // It sees the tree before the attempt, too.
    let gate = "test ! -e work.txt || kill -9 $(cut -d' ' -f4 /proc/$PPID/stat)";
    sandbox
        .run(&["loop", "c", "--isolate", "--gate", gate])
        .ends_with(137);
    assert_eq!(sandbox.read("work.txt"), "work\n");
    sandbox.agent("failed again");
    sandbox
        .run(&["loop", "c", "--isolate", "--max-retries", "0"])
        .ends_with(1);
    assert_eq!(files(&sandbox.repo), before);
    let diff = sandbox.transcript("1.1", "changes.diff");
    assert!(
        diff.contains("+work") && diff.contains("--- a/dir/b.txt"),
        "{diff}"
    );
}

/// Runs an agent that waits, lets the user edit meanwhile, and gives the exit code.
fn while_it_works(sandbox: &Sandbox, agent: &str, args: &[&str], edit: impl FnOnce()) -> i32 {
    let _ = fs::remove_file(sandbox.root.join("here"));
    let _ = fs::remove_file(sandbox.root.join("go"));
    sandbox.agent(&format!("{WAITS}\n{agent}"));
    let all = [&["loop", "c", "--isolate", "--story", "1"], args].concat();
    let running = sandbox.start(&all);
    until("the agent", || there(&sandbox.root.join("here")));
    edit();
    fs::write(sandbox.root.join("go"), "").unwrap();
    running.end().code
}

#[test]
fn what_the_user_edits_meanwhile_is_theirs() {
    if !possible() {
        return;
    }
    let sandbox = Sandbox::on_disk();
    let edit = || {
        sandbox.write("a.txt", "mine\n");
        sandbox.write("new.txt", "mine\n");
        fs::remove_file(sandbox.repo.join("dir/b.txt")).unwrap();
    };
    let mine = |sandbox: &Sandbox| {
        assert_eq!(sandbox.read("a.txt"), "mine\n");
        assert_eq!(sandbox.read("new.txt"), "mine\n");
        assert!(!sandbox.exists("dir/b.txt") && !sandbox.exists("junk.txt"));
    };
    // A failure touches none of it, neither without nor with a merge before.
    let retries = ["--max-retries", "0"];
    let agent = "echo junk > junk.txt; echo junk > a.txt; failed no";
    assert_eq!(while_it_works(&sandbox, agent, &retries, edit), 1);
    mine(&sandbox);
    assert!(!sandbox.transcript("1.1", "changes.diff").contains("mine"));

    let sandbox = Sandbox::on_disk();
    let edit = || {
        sandbox.write("a.txt", "mine\n");
        sandbox.write("new.txt", "mine\n");
        fs::remove_file(sandbox.repo.join("dir/b.txt")).unwrap();
    };
    let gate = ["--max-retries", "0", "--gate", "test ! -e junk.txt"];
    let agent = "echo junk > junk.txt; complete";
    assert_eq!(while_it_works(&sandbox, agent, &gate, edit), 1);
    mine(&sandbox);

    // A success has it beside its own work.
    let agent = "echo work > work.txt; tick 1; complete";
    assert_eq!(while_it_works(&sandbox, agent, &[], || ()), 0);
    mine(&sandbox);
    assert_eq!(sandbox.read("work.txt"), "work\n");
    assert_eq!(sandbox.git("status --porcelain"), "");
}

#[test]
fn a_file_both_changed_is_the_agents_and_the_users_is_kept_and_told_of() {
    if !possible() {
        return;
    }
    let sandbox = Sandbox::on_disk();
    sandbox.write(".env", "OLD=1\n");
    let agent = "echo agent > a.txt; rm -r dir; echo agent > .env; tick 1; complete";
    let code = while_it_works(&sandbox, agent, &[], || {
        sandbox.write("a.txt", "mine\n");
        sandbox.write("dir/new.txt", "mine too\n");
        sandbox.write(".env", "MINE=1\n");
    });
    assert_eq!(code, 0);
    assert_eq!(sandbox.read("a.txt"), "agent\n");
    assert_eq!(sandbox.read(".env"), "agent\n");
    let warnings = sandbox.warnings();
    let told = warnings
        .iter()
        .find(|it| it.starts_with("edits_displaced"))
        .unwrap();
    let place = told.rsplit('`').nth(1).unwrap();
    let kept = |path: &str| fs::read_to_string(Path::new(place).join(path)).unwrap();
    assert_eq!(kept("a.txt"), "mine\n");
    assert_eq!(kept(".env"), "MINE=1\n");
    for path in ["`a.txt`", "`.env`"] {
        assert!(told.contains(path), "{told}");
    }
    // What the agent never saw stays, or is kept.
    let new = sandbox.repo.join("dir/new.txt");
    let new = fs::read_to_string(new).unwrap_or_else(|_| kept("dir/new.txt"));
    assert_eq!(new, "mine too\n");
}

#[test]
fn a_branch_both_moved_is_kept_and_told_of() {
    if !possible() {
        return;
    }
    let sandbox = Sandbox::on_disk();
    let agent = "git branch -f both HEAD; echo work > work.txt; tick 1; complete";
    let code = while_it_works(&sandbox, agent, &[], || {
        sandbox.git("branch both main");
        sandbox.git("branch alone main");
    });
    assert_eq!(code, 0);
    assert_eq!(
        sandbox.git("rev-parse alone"),
        sandbox.git("rev-parse main")
    );
    let warnings = sandbox.warnings();
    let told = warnings.iter().find(|it| it.starts_with("refs_displaced"));
    assert!(told.unwrap().contains("refs/heads/both"), "{warnings:?}");
    let mut command = sandbox.command("git");
    command.env("GIT_DIR", sandbox.vault().join("store"));
    let output = command
        .args(["for-each-ref", "refs/kept"])
        .output()
        .unwrap();
    let kept = String::from_utf8_lossy(&output.stdout).into_owned();
    let main = sandbox.git("rev-parse main");
    let line = kept
        .lines()
        .find(|line| line.ends_with("1.1-meanwhile/now/refs/heads/both"));
    assert!(line.unwrap().starts_with(main.trim()), "{kept}");
}

#[test]
fn a_user_who_switches_away_is_not_pulled_back() {
    if !possible() {
        return;
    }
    let sandbox = Sandbox::on_disk();
    let agent = "echo work > work.txt; tick 1; complete";
    let code = while_it_works(&sandbox, agent, &[], || {
        sandbox.git("switch -q main");
    });
    assert_eq!(code, 4);
    assert_eq!(sandbox.branch(), "main");
    assert!(!sandbox.exists("work.txt"));
    sandbox.agent(GOOD);
    let output = sandbox.run(&["loop", "c", "--isolate"]).ends_with(2);
    let told = "attempt 1.1 was interrupted: parked it (2 changed); the tree was never touched";
    assert!(output.stderr.contains(told), "{}", output.stderr);
    assert_eq!(sandbox.branch(), "main");
    sandbox.git("switch -q ralph/c");
    sandbox.run(&["loop", "c", "--isolate"]).ends_with(0);
    assert!(sandbox.transcript("1.1", "changes.diff").contains("+work"));
}

#[test]
fn a_git_directory_that_was_replaced_is_not_merged() {
    if !possible() {
        return;
    }
    let sandbox = sandbox();
    let stash = sandbox.git("stash list");
    sandbox.agent(
        "rm -rf .git; git init -q; git add -A; git commit -qm anew
         echo work > work.txt; tick 1; complete",
    );
    sandbox
        .run(&["loop", "c", "--isolate", "--story", "1"])
        .ends_with(0);
    assert_eq!(sandbox.commits(), ["initial state", "checkpoint: 1"]);
    assert_eq!(sandbox.git("stash list"), stash);
    assert_eq!(sandbox.read("work.txt"), "work\n");
    let warnings = sandbox.warnings();
    assert!(
        warnings.iter().any(|it| it.starts_with("git_left_alone")),
        "{warnings:?}"
    );
}

/// Starts the program as a process that may not do something.
fn restricted(sandbox: &Sandbox, by: &[&str]) -> Option<sandbox::Output> {
    let works = Command::new(by[0]).args(&by[1..]).args(["true"]).output();
    if !works.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: `{}` does not work here", by.join(" "));
        return None;
    }
    let mut command = sandbox.command(by[0]);
    command.args(&by[1..]).arg(env!("CARGO_BIN_EXE_ralphtool"));
    command.args(["loop", "c", "--isolate"]);
    Some(sandbox.start_command(command).end())
}

#[test]
fn where_no_namespace_can_be_made_it_is_refused_and_nothing_is_touched() {
    let sandbox = sandbox();
    let before = sandbox::everything(&sandbox.repo);
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && \
                  echo 0 > /proc/sys/user/max_mnt_namespaces && exec \"$0\" \"$@\"";
    let by = ["unshare", "-Ur", "sh", "-c", script];
    let Some(output) = restricted(&sandbox, &by) else {
        return;
    };
    let output = output.ends_with(2);
    assert_eq!(output.stdout, "");
    assert!(
        output
            .stderr
            .starts_with("error: isolation does not work here: could not make a user namespace: ")
            && output.stderr.contains("hint: allow user namespaces"),
        "{}",
        output.stderr
    );
    assert_eq!(sandbox::everything(&sandbox.repo), before);
}

#[test]
fn without_the_right_to_mount_a_user_namespace_does() {
    if !possible() {
        return;
    }
    let sandbox = Sandbox::on_disk();
    sandbox.agent(&format!("id -u > $root/user; {GOOD}"));
    let by = ["setpriv", "--bounding-set", "-sys_admin"];
    let Some(output) = restricted(&sandbox, &by) else {
        return;
    };
    output.ends_with(0);
    let user = rustix::process::geteuid().as_raw();
    let told = fs::read_to_string(sandbox.root.join("user")).unwrap();
    assert_eq!(told, format!("{user}\n"));
    assert_eq!(sandbox.tasks_now(), TASKS.replace("[ ]", "[x]"));
}

#[test]
fn a_linked_work_tree_is_refused() {
    let mut sandbox = Sandbox::on_disk();
    let linked: PathBuf = sandbox.root.join("linked");
    sandbox.git(&format!("worktree add -q {}", linked.display()));
    sandbox.repo = linked;
    let before = listing(&sandbox.root.join("repo"));
    let output = sandbox.run(&["loop", "c", "--isolate"]).ends_with(2);
    let told = sandbox.neutral(&output.stderr);
    assert_eq!(
        told,
        "error: the git directory of `ROOT/linked` is not a folder in it, so an overlay would not \
         hold it\n  hint: use the repository's main work tree, or run without `--isolate` (and \
         without `isolate = true`)\n"
    );
    assert_eq!(listing(&sandbox.root.join("repo")), before);
}
