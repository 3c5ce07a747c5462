//! What the user does during a run, in other work trees and with other git commands: ralphtool never
//! undoes it, and it never breaks the run.

use crate::sandbox::{self, GOOD, Running, Sandbox, there, until};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use std::sync::atomic::{AtomicBool, Ordering};

/// Waits for the user, once: says that it is there, and continues when the user is done.
const WAITS: &str = "[ -e $root/here ] || { touch $root/here; wait_for $root/go; }";

/// Re-creates the repository with reftables.
const IN_TABLES: &str = "rm -rf .git && git init -q -b main --template= --ref-format=reftable &&
     git add -A && git commit -q -m first";

/// A run whose agent waits for the user.
fn waiting(sandbox: &Sandbox, args: &[&str]) -> Running {
    let running = sandbox.start(args);
    until("the agent that waits", || there(&sandbox.root.join("here")));
    running
}

/// The user is done.
fn go_on(sandbox: &Sandbox) {
    std::fs::write(sandbox.root.join("go"), "").unwrap();
}

/// A second change, and a linked work tree `other` on the branch `side`.
fn with_other_work_tree() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("openspec/changes/d/tasks.md", sandbox::TASKS);
    sandbox.git("add -A");
    sandbox.git("commit -q -m d");
    sandbox.git("worktree add -q -b side ../other");
    let other = sandbox.root.join("other").display().to_string();
    (sandbox, other)
}

#[test]
fn a_second_run_in_a_linked_work_tree_is_refused_while_the_first_is_at_work() {
    let (sandbox, other) = with_other_work_tree();
    sandbox.agent(&format!("{WAITS}\n{GOOD}"));
    let running = waiting(&sandbox, &["loop", "c"]);
    let refs = sandbox.git("for-each-ref");
    for args in [
        &["loop", "d"][..],
        &["finish", "--abandon"],
        &["undo"],
        &["rewind", "1"],
    ] {
        let args = [&["-C", &other], args].concat();
        let output = sandbox.run(&args).ends_with(2);
        let said = sandbox.neutral(&output.stderr);
        let wanted = "a run of `c` is at work in `ROOT/repo` (process ";
        assert!(said.contains(wanted), "{args:?}: {said}");
        assert!(said.contains("`git clone ROOT/repo DIR`"), "{said}");
    }
    assert_eq!(sandbox.git("for-each-ref"), refs);
    for args in [&["list"][..], &["status"], &["show", "d"], &["log"]] {
        let output = sandbox.run(&[&["-C", &other], args].concat());
        assert!(
            !output.stderr.contains("is at work in"),
            "{args:?}: {}",
            output.stderr
        );
    }
    go_on(&sandbox);
    running.end().ends_with(0);
}

#[test]
fn a_git_directory_of_a_linked_work_tree_damaged_in_a_crash_is_repaired_by_the_next_start() {
    for misdeed in [
        ": > \"$(git rev-parse --git-dir)/HEAD\"",
        "rm \"$(git rev-parse --git-dir)/HEAD\"",
        "rm -rf \"$(git rev-parse --git-common-dir)/refs\"",
        "rm -rf \"$(git rev-parse --git-dir)\"",
        "cd \"$(git rev-parse --git-dir)\"; rm HEAD; mkfifo HEAD",
        "cd \"$(git rev-parse --git-common-dir)\"; rm config; mkfifo config",
    ] {
        let (sandbox, other) = with_other_work_tree();
        sandbox.agent(&format!("{misdeed}\n{WAITS}"));
        let running = waiting(&sandbox, &["-C", &other, "loop", "d"]);
        running.signal(Signal::KILL);
        running.end().ends_with(137);
        let told = sandbox.run(&["-C", &other, "doctor"]).stdout;
        assert!(
            told.contains("`ralphtool resume` repairs it"),
            "{misdeed}: {told}"
        );
        sandbox.agent(GOOD);
        let keep = ["-C", &other, "resume", "--on-finish", "keep"];
        sandbox.run(&keep).ends_with(0);
        let subjects = sandbox.git("log --format=%s side..ralph/d");
        assert_eq!(
            subjects, "checkpoint: 2\ncheckpoint: 1\ninitial state\n",
            "{misdeed}"
        );
        assert_eq!(sandbox.git("fsck --no-dangling"), "", "{misdeed}");
    }
}

#[test]
fn linked_work_trees_are_used_one_after_the_other() {
    let (sandbox, other) = with_other_work_tree();
    sandbox
        .run(&["loop", "c", "--on-finish", "keep"])
        .ends_with(0);
    sandbox
        .run(&["-C", &other, "loop", "d", "--on-finish", "keep"])
        .ends_with(0);
    for branch in ["ralph/c", "ralph/d"] {
        let range = format!("main..{branch}");
        assert_eq!(
            sandbox.git_args(&["log", "--format=%s", &range]),
            "checkpoint: 2\ncheckpoint: 1\ninitial state\n"
        );
    }
    assert_eq!(sandbox.git("-C ../other status --porcelain"), "");
    assert_eq!(sandbox.git("status --porcelain"), "");
}

#[test]
fn a_run_succeeds_beside_a_git_that_collects_garbage() {
    let sandbox = Sandbox::new();
    let story = |number: u32| format!("## {number}. Story\n- [ ] {number}.1 Do it\n\n");
    let tasks: Vec<String> = (1..=6).map(story).collect();
    sandbox.tasks(&tasks.concat());
    sandbox.git("commit -q -a -m more");
    // The next step restores objects that a collection removed which began before a checkpoint: there
    // is one after the last collection.
    sandbox.agent(&format!(
        "seq 40 | while read it; do echo $RALPHTOOL_STORY $it > file-$RALPHTOOL_STORY-$it.txt; done
         [ $RALPHTOOL_STORY.$attempt != 6.1 ] || {{ touch $root/last; wait_for $root/stopped; }}
         [ $attempt != 1 ] || {{ failed no; exit; }}\n{GOOD}"
    ));
    let is_over = || sandbox.root.join("last").exists();
    std::thread::scope(|scope| {
        let collecting = scope.spawn(|| {
            while !is_over() {
                // It may lose races against the run; the run must not.
                let _ = sandbox
                    .command("git")
                    .args(["gc", "-q", "--prune=now"])
                    .output();
            }
        });
        let removing = scope.spawn(|| {
            while !is_over() {
                for number in 0..=255u8 {
                    let folder = format!(".git/objects/{number:02x}");
                    let _ = std::fs::remove_dir(sandbox.repo.join(folder));
                }
            }
        });
        scope.spawn(|| {
            collecting.join().unwrap();
            removing.join().unwrap();
            std::fs::write(sandbox.root.join("stopped"), "").unwrap();
        });
        let output = sandbox.run(&["loop", "c", "--on-finish", "keep"]);
        // Ends the others where the run did not come as far.
        std::fs::write(sandbox.root.join("last"), "").unwrap();
        output.ends_with(0);
    });
    assert_eq!(sandbox.git("fsck --no-dangling --connectivity-only"), "");
    assert_eq!(sandbox.commits().len(), 7);
    assert_eq!(sandbox.git("status --porcelain"), "");
}

/// Warnings of the last run of one code.
fn warned(sandbox: &Sandbox, code: &str) -> Vec<String> {
    let mut warnings = sandbox.warnings();
    warnings.retain(|it| it.starts_with(code));
    warnings
}

/// The first command a warning names.
fn command_in(warning: &str) -> String {
    let parts: Vec<&str> = warning.split('`').collect();
    let is_command = |it: &&&str| it.starts_with("git ") || it.starts_with("cp ");
    parts.iter().find(is_command).unwrap().to_string()
}

fn shell(sandbox: &Sandbox, command: &str) {
    let status = sandbox.command("sh").args(["-c", command]).status();
    assert!(status.unwrap().success(), "{command}");
}

#[test]
fn a_branch_the_user_moved_stays_if_the_agent_only_mentions_its_name() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "{WAITS}; echo x > x.txt; git add x.txt; git commit -q -m 'domain model for main'
         git merge -q main; git checkout main -- a.txt; git log main > /dev/null; failed no"
    ));
    let before = sandbox.git("rev-parse main").trim().to_owned();
    let running = waiting(&sandbox, &["loop", "c", "--max-retries", "0"]);
    sandbox.git("worktree add -q ../other main");
    sandbox.git("-C ../other commit -q --allow-empty -m theirs");
    let main = sandbox.git("rev-parse main").trim().to_owned();
    go_on(&sandbox);
    running.end().ends_with(1);
    assert_eq!(sandbox.git("rev-parse main").trim(), main);
    let told = warned(&sandbox, "branch_left");
    assert_eq!(told.len(), 1, "{:?}", sandbox.warnings());
    assert!(
        told[0].contains(&before[..7]) && told[0].contains(&main[..7]),
        "{told:?}"
    );
    let store = format!("--git-dir={}", sandbox.vault().join("store").display());
    let kept = sandbox.git_args(&[&store, "for-each-ref", "refs/kept"]);
    assert!(kept.contains(&before) && kept.contains(&main), "{kept}");
    // The command in the message moves it.
    shell(&sandbox, &command_in(&told[0]));
    assert_eq!(sandbox.git("rev-parse main").trim(), before);
}

#[test]
fn a_branch_the_user_moved_stays_if_the_agents_command_names_no_branch() {
    let wait = "touch $root/here; until [ -e $root/go ]; do sleep 0.1; done";
    let in_rebase = format!("git rebase -q -f HEAD~1 -x \"{wait}\"");
    let held = |command: &str| format!("{{ {WAITS}; }} | {command}");
    for (agent, message) in [
        (held("git update-ref --stdin"), &[][..]),
        (held("git fast-import --quiet"), &["-m", "fast-import"]),
        (held("git receive-pack . > /dev/null"), &["-m", "push"]),
        (in_rebase, &["-m", "rewritten during rebase"]),
    ] {
        let sandbox = Sandbox::new();
        sandbox.agent(&format!("{agent}; failed no"));
        let running = waiting(&sandbox, &["loop", "c", "--max-retries", "0"]);
        a_second_later();
        let theirs = sandbox.git("commit-tree -p main -m theirs main^{tree}");
        let to = ["refs/heads/main", theirs.trim()];
        sandbox.git_args(&[&["update-ref"], message, &to].concat());
        go_on(&sandbox);
        running.end().ends_with(1);
        assert_eq!(sandbox.git("rev-parse main"), theirs, "{agent}");
        let told = warned(&sandbox, "branch_left");
        assert_eq!(told.len(), 1, "{agent}: {:?}", sandbox.warnings());
    }
}

#[test]
fn a_branch_the_agent_moved_is_restored_and_reported() {
    for moves in [
        "git checkout -q main; git commit -q --allow-empty -m m; git checkout -q ralph/c",
        "git commit -q --allow-empty -m x; git branch -q -f main HEAD",
        "git commit -q --allow-empty -m x; git update-ref refs/heads/main HEAD",
        "git commit -q --allow-empty -m x; git push -q . HEAD:main",
        "git branch -q -D main",
    ] {
        let sandbox = Sandbox::new();
        sandbox.agent(&format!("{moves}; failed no"));
        let before = sandbox.git("rev-parse main");
        sandbox
            .run(&["loop", "c", "--max-retries", "0"])
            .ends_with(1);
        assert_eq!(sandbox.git("rev-parse main"), before, "{moves}");
        let told = warned(&sandbox, "branch_restored");
        assert_eq!(told.len(), 1, "{moves}: {:?}", sandbox.warnings());
    }
}

#[test]
fn stash_entries_of_the_user_stay_and_those_of_the_agent_are_dropped() {
    users_stash_stays(":", "git checkout -- a.txt; git stash list");
}

#[test]
fn stash_entries_of_the_user_stay_in_order_with_reftables() {
    for meanwhile in ["git stash list", "git stash drop -q stash@{2}"] {
        users_stash_stays(IN_TABLES, meanwhile);
    }
}

/// The user stashes while an agent stashes too and then runs other commands.
#[track_caller]
fn users_stash_stays(prepare: &str, then: &str) {
    let sandbox = Sandbox::new();
    shell(&sandbox, prepare);
    sandbox.write("a.txt", "old\n");
    sandbox.git("stash push -q -m old");
    sandbox.agent(&format!(
        "echo x > a.txt; git stash push -q -m agents; {WAITS}
         {then}; failed no"
    ));
    let running = waiting(&sandbox, &["loop", "c", "--max-retries", "0"]);
    a_second_later();
    sandbox.git("worktree add -q ../other main");
    std::fs::write(sandbox.root.join("other/a.txt"), "theirs\n").unwrap();
    sandbox.git("-C ../other stash push -q -m theirs");
    go_on(&sandbox);
    running.end().ends_with(1);
    let list = sandbox.git("stash list --format=%s");
    assert_eq!(list, "On main: theirs\nOn main: old\n");
    assert_eq!(sandbox.git("show stash@{0}:a.txt"), "theirs\n");
    assert_eq!(warned(&sandbox, "stash_left").len(), 1);
    assert_eq!(warned(&sandbox, "stash_restored").len(), 1);
}

#[test]
fn a_remote_the_user_adds_stays_and_a_hook_is_kept_and_named() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!("{WAITS}; git status > /dev/null; failed no"));
    let running = waiting(&sandbox, &["loop", "c", "--max-retries", "0"]);
    sandbox.git("remote add up https://example.com/up");
    sandbox.git("config alias.mine status");
    sandbox.write(".git/hooks/pre-push", "#!/bin/sh\nexit 0\n");
    let is_over = AtomicBool::new(false);
    let config = sandbox.repo.join(".git/config");
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut is_always_there = true;
            while !is_over.load(Ordering::Relaxed) {
                is_always_there &= config.exists();
            }
            is_always_there
        });
        go_on(&sandbox);
        running.end().ends_with(1);
        is_over.store(true, Ordering::Relaxed);
        assert!(watch.join().unwrap(), "the config was gone for a moment");
    });
    assert_eq!(sandbox.git("remote get-url up"), "https://example.com/up\n");
    assert!(!sandbox.exists(".git/hooks/pre-push"));
    assert!(!sandbox.read(".git/config").contains("alias"));
    assert_eq!(warned(&sandbox, "config_left").len(), 1);
    let told = warned(&sandbox, "git_files_restored");
    assert_eq!(told.len(), 1, "{told:?}");
    // The commands in the message apply everything again.
    for command in told[0].split('`').filter(|it| it.starts_with("cp ")) {
        shell(&sandbox, command);
    }
    assert_eq!(sandbox.git("config alias.mine"), "status\n");
    assert!(sandbox.exists(".git/hooks/pre-push"));
}

#[test]
fn a_remote_the_agent_may_have_added_is_removed() {
    let sandbox = Sandbox::new();
    sandbox.agent("git remote add evil https://example.com/evil; failed no");
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    assert_eq!(sandbox.git("remote"), "");
}

/// An agent whose git leaves no trace moves HEAD away and deletes the branch.
const UNTRACED: &str = "bare() { env -u GIT_TRACE2_EVENT git \"$@\"; }
     echo junk > junk.txt; bare checkout -q main; bare branch -q -D ralph/c; echo more > a.txt; failed no";

#[test]
fn a_switch_by_an_untraced_git_parks_the_attempt_and_the_hint_leads_back() {
    let sandbox = Sandbox::new();
    sandbox.agent(UNTRACED);
    let output = sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(4);
    assert_eq!(sandbox.read("a.txt"), "more\n", "nothing is touched");
    let parked = sandbox.run(&["attempts"]);
    assert!(
        parked.stdout.contains("1.1"),
        "{}\n{}",
        output.stdout,
        parked.stdout
    );
    let output = sandbox.run(&["resume"]).ends_with(4);
    let command = command_in(&output.stderr);
    sandbox.agent(GOOD);
    shell(&sandbox, &command);
    sandbox.run(&["resume"]).ends_with(0);
    assert_eq!(sandbox.git("show ralph/c:a.txt"), "one\n");
    assert!(!sandbox.git("ls-tree --name-only ralph/c").contains("junk"));
}

#[test]
fn a_run_whose_branch_an_untraced_git_deleted_can_be_abandoned() {
    let sandbox = Sandbox::new();
    sandbox.write("mine.txt", "mine\n");
    sandbox.agent(UNTRACED);
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(4);
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    assert_eq!(sandbox.branch(), "main");
    assert_eq!(sandbox.git("status --porcelain"), "?? mine.txt\n");
    assert_eq!(sandbox.read("a.txt"), "one\n");
}

/// The user switches while an agent works that runs no git.
#[track_caller]
fn switch_is_noticed(prepare: &str) {
    let sandbox = Sandbox::new();
    shell(&sandbox, prepare);
    sandbox.agent(&format!("{WAITS}; failed no"));
    let running = waiting(&sandbox, &["loop", "c", "--max-retries", "0"]);
    sandbox.git("switch -q main");
    sandbox.write("a.txt", "on main\n");
    go_on(&sandbox);
    running.end().ends_with(4);
    assert_eq!(sandbox.branch(), "main");
    assert_eq!(sandbox.read("a.txt"), "on main\n");
}

#[test]
fn a_switch_of_branches_is_noticed_without_a_log_of_head() {
    switch_is_noticed("git config core.logAllRefUpdates false && rm -r .git/logs");
}

#[test]
fn a_switch_of_branches_is_noticed_with_reftables() {
    switch_is_noticed(IN_TABLES);
}

/// The user switches in another second than that in which the agent ran its git commands.
#[track_caller]
fn switch_beside_is_noticed(prepare: &str, (before, after): (&str, &str)) {
    let sandbox = Sandbox::new();
    sandbox.git("branch topic");
    shell(&sandbox, prepare);
    sandbox.agent(&format!("{before}; {WAITS}; {after}; failed no"));
    let running = waiting(&sandbox, &["loop", "c", "--max-retries", "0"]);
    a_second_later();
    sandbox.git("switch -q main");
    sandbox.write("a.txt", "on main\n");
    a_second_later();
    go_on(&sandbox);
    let output = running.end().ends_with(4);
    let said = "while the agent worked, and not by the agent";
    assert!(output.stdout.contains(said), "{before}: {}", output.stdout);
    assert_eq!(sandbox.read("a.txt"), "on main\n", "{before}, {after}");
}

/// Waits until the current second is later than every command so far.
fn a_second_later() {
    let now = || {
        std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .unwrap()
            .as_secs()
    };
    let then = now() + 1;
    until("the next second", || (now() > then).then_some(()));
}

#[test]
fn a_switch_of_branches_is_noticed_though_the_agent_runs_git() {
    for commands in [
        (
            "git stash list; git checkout -- a.txt; git branch",
            "git symbolic-ref HEAD",
        ),
        (
            "git checkout -q topic; git checkout -q ralph/c",
            "git pull . || true",
        ),
        (
            "git checkout -q -b mine; git switch -q ralph/c",
            "git checkout HEAD -- tool.sh || true",
        ),
        // Both switched: what is in the tree is not the agent's alone.
        (":", "git checkout -q topic"),
    ] {
        switch_beside_is_noticed(":", commands);
    }
}

#[test]
fn a_switch_of_branches_is_noticed_without_a_log_of_head_though_the_agent_runs_git() {
    let harmless = (
        "git stash list; git checkout -- a.txt; git branch",
        "git symbolic-ref HEAD",
    );
    switch_beside_is_noticed(
        "git config core.logAllRefUpdates false && rm -r .git/logs",
        harmless,
    );
}

#[test]
fn a_switch_by_the_agent_is_undone() {
    for switches in [
        "git checkout -q main",
        "git switch -q topic; git switch -q -",
        "git switch -q topic; git checkout -q main; git checkout -q @{-1}",
        "git checkout -q --detach",
        "git checkout -q HEAD~1",
        "git switch -q -c made",
        "git switch -q -cmade",
        "git checkout -q -B topic HEAD~1",
        "git bisect start -q HEAD HEAD~1; git checkout -q HEAD~1",
        "git symbolic-ref HEAD refs/heads/topic",
        "git branch -m renamed",
        "git stash push -q; git stash branch made",
        "git update-ref --no-deref HEAD HEAD~1",
        "echo o > o; git add o; git commit -q -m o; git rebase -q -x false main",
    ] {
        let sandbox = Sandbox::new();
        sandbox.git("branch topic");
        sandbox.agent(&format!("echo x > a.txt; {switches}; failed no"));
        let output = sandbox.run(&["loop", "c", "--max-retries", "0"]);
        assert_eq!(output.code, 1, "{switches}: {}", output.stdout);
        assert_eq!(sandbox.branch(), "ralph/c", "{switches}");
        assert_eq!(sandbox.read("a.txt"), "one\n", "{switches}");
    }
}

#[test]
fn stale_lock_files_are_moved_aside_everywhere() {
    let sandbox = Sandbox::new();
    sandbox.git("branch topic");
    sandbox.git("worktree add -q ../other topic");
    let locks = [
        "shallow.lock",
        "AUTO_MERGE.lock",
        "MERGE_HEAD.lock",
        "ORIG_HEAD.lock",
        "index.lock",
        "packed-refs.lock",
        "config.lock",
        "refs/heads/topic.lock",
        "info/sparse-checkout.lock",
        "worktrees/other/index.lock",
        "objects/info/commit-graph.lock",
    ];
    let touched: Vec<String> = locks.iter().map(|it| format!(".git/{it}")).collect();
    sandbox.agent(&format!(
        "git status; touch {}; failed no",
        touched.join(" ")
    ));
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    for lock in touched {
        assert!(!sandbox.exists(&lock), "{lock}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_git_that_only_reads_does_not_make_a_stale_lock_look_held() {
    let sandbox = Sandbox::new();
    sandbox.agent("touch .git/index.lock; failed no");
    // Like a git that waits for its pager.
    let mut reading = sandbox
        .command("git")
        .args(["cat-file", "--batch"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let output = sandbox.run(&["loop", "c", "--max-retries", "0"]);
    drop(reading.stdin.take());
    reading.wait().unwrap();
    output.ends_with(1);
    assert!(!sandbox.exists(".git/index.lock"));
}

/// A git that waits in a hook with a lock that it has closed already.
#[cfg(target_os = "linux")]
#[test]
fn a_lock_of_a_live_git_in_another_work_tree_is_never_moved() {
    let sandbox = Sandbox::new();
    sandbox.git("branch gone");
    sandbox.git("pack-refs --all");
    sandbox.git("worktree add -q -b side ../other");
    sandbox.agent(&format!("{WAITS}; git status > /dev/null; failed no"));
    let running = waiting(&sandbox, &["loop", "c", "--max-retries", "0"]);
    // Before it renames its locks, git asks this hook.
    let hook = "#!/bin/sh\n[ \"$1\" = prepared ] || exit 0\ntouch \"$ROOT/held\"\n\
                while [ ! -e \"$ROOT/release\" ]; do sleep 0.02; done\n";
    let hooks = sandbox.root.join("hooks");
    std::fs::create_dir(&hooks).unwrap();
    std::fs::write(hooks.join("reference-transaction"), hook).unwrap();
    std::fs::set_permissions(hooks.join("reference-transaction"), sandbox::mode(0o755)).unwrap();
    let mut user = sandbox
        .command("git")
        .arg("-c")
        .arg(format!("core.hooksPath={}", hooks.display()))
        .args(["-C", "../other", "branch", "-q", "-D", "gone"])
        .env("ROOT", &sandbox.root)
        .spawn()
        .unwrap();
    until("the user's git", || there(&sandbox.root.join("held")));
    let lock = sandbox.repo.join(".git/packed-refs.lock");
    assert!(lock.exists());
    go_on(&sandbox);
    let output = running.end();
    let is_kept = lock.exists();
    std::fs::write(sandbox.root.join("release"), "").unwrap();
    let deleted = user.wait().unwrap();
    output.ends_with(1);
    assert!(is_kept);
    assert!(deleted.success());
    assert_eq!(sandbox.git("branch --list gone"), "");
}
