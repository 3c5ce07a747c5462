//! Bad input: a clear message, exit code 2, and nothing is touched.

use std::collections::BTreeMap;
use std::fs;

use crate::sandbox::{self, GOOD, Sandbox, TASKS, files_and_times, listing, there, until};
use indoc::indoc;
use pretty_assertions::assert_eq;

/// Every file of the repository, its git directory included.
fn all(sandbox: &Sandbox) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    (listing(&sandbox.repo), files_and_times(&sandbox.repo))
}

/// The program refuses with exactly this message, and changes nothing.
#[track_caller]
fn refused(sandbox: &Sandbox, args: &[&str], words: &str) {
    let before = all(sandbox);
    let output = sandbox.run(args);
    let told = (output.code, output.stdout, sandbox.neutral(&output.stderr));
    assert_eq!(told, (2, String::new(), words.to_owned()));
    assert_eq!(all(sandbox), before);
}

#[test]
fn a_folder_that_is_not_a_repository_is_refused() {
    let sandbox = Sandbox::bare_folder();
    sandbox.tasks(sandbox::TASKS);
    refused(
        &sandbox,
        &["loop", "c"],
        indoc! {"
            error: `ROOT/repo` is not inside a git repository
              hint: run `git init` first, or pass `-C DIR`
        "},
    );
}

#[test]
fn a_bare_repository_is_refused() {
    let sandbox = Sandbox::bare_folder();
    sandbox.git("init -q --bare --template=");
    refused(
        &sandbox,
        &["loop", "c"],
        indoc! {"
            error: `ROOT/repo` is a bare repository: there is no work tree for an agent to work in
              hint: clone it, or add a work tree with `git worktree add DIR`
        "},
    );
}

/// Git could no longer commit on top of objects that have no id in the second format.
#[test]
fn a_repository_with_two_object_formats_is_refused() {
    let sandbox = Sandbox::bare_folder();
    sandbox.git("init -q -b main --object-format=sha256 --template=");
    sandbox.git("config extensions.compatObjectFormat sha1");
    sandbox.tasks(TASKS);
    sandbox.config("");
    sandbox.agent(GOOD);
    sandbox.git("add -A");
    sandbox.git("commit -q -m first");
    refused(
        &sandbox,
        &["loop", "c"],
        indoc! {"
            error: this repository keeps objects in two formats (`extensions.compatObjectFormat`), which ralphtool cannot write
              hint: `git config --unset extensions.compatObjectFormat` keeps the first format alone
        "},
    );
    sandbox.write("later.txt", "later");
    sandbox.git("add -A");
    sandbox.git("commit -q -m later");
}

#[test]
fn a_folder_that_does_not_exist_is_refused() {
    let sandbox = Sandbox::new();
    let missing = sandbox.root.join("missing").display().to_string();
    refused(
        &sandbox,
        &["-C", &missing, "loop", "c"],
        indoc! {"
            error: could not go to `ROOT/missing`
              because: No such file or directory (os error 2)
        "},
    );
}

#[test]
fn an_unknown_change_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("openspec/changes/add-retry/tasks.md", sandbox::TASKS);
    refused(
        &sandbox,
        &["loop", "add-rety"],
        indoc! {"
            error: found no change `add-rety` in `ROOT/repo/openspec/changes`
              hint: did you mean `add-retry`?
        "},
    );
    refused(
        &sandbox,
        &["loop", "zzz"],
        indoc! {"
            error: found no change `zzz` in `ROOT/repo/openspec/changes`
              hint: there are `add-retry`, `c`
        "},
    );
}

#[test]
fn a_repository_without_any_plan_is_refused() {
    let sandbox = Sandbox::new();
    fs::remove_dir_all(sandbox.repo.join("openspec")).unwrap();
    refused(
        &sandbox,
        &["loop", "c"],
        indoc! {"
            error: found no plan in `ROOT/repo` or above
              hint: `ralphtool new NAME` writes a small one, `ralphtool run ./TODO.md` runs a checklist, and `ralphtool demo` shows how it works
        "},
    );
}

#[test]
fn several_changes_without_a_name_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("openspec/changes/d/tasks.md", sandbox::TASKS);
    refused(
        &sandbox,
        &["loop"],
        indoc! {"
            error: several changes have work left: say which one
              hint: they are: d, c
        "},
    );
}

#[test]
fn a_change_without_tasks_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.tasks("## 1. First\n\nNothing is planned yet.\n");
    refused(
        &sandbox,
        &["loop", "c"],
        indoc! {"
            error: `c` has no tasks
              hint: a task is a line such as `- [ ] 1.1 Add the retry`
        "},
    );
    let tasks = sandbox.repo.join("openspec/changes/c/tasks.md");
    fs::remove_file(&tasks).unwrap();
    fs::create_dir(&tasks).unwrap();
    refused(
        &sandbox,
        &["loop", "c"],
        indoc! {"
            error: `c` has no tasks
              hint: a task is a line such as `- [ ] 1.1 Add the retry`
        "},
    );
}

#[test]
fn an_unreadable_task_file_is_refused() {
    let sandbox = Sandbox::new();
    let tasks = sandbox.repo.join("openspec/changes/c/tasks.md");
    sandbox.write("plans/plan.md", sandbox::TASKS);
    std::os::unix::fs::symlink("loop.md", sandbox.repo.join("plans/loop.md")).unwrap();
    refused(
        &sandbox,
        &["loop", "plans/missing.md"],
        indoc! {"
            error: could not read `ROOT/repo/plans/missing.md`
              because: No such file or directory (os error 2)
        "},
    );
    let output = sandbox.run(&["loop", "plans/loop.md"]).ends_with(2);
    let told = sandbox.neutral(&output.stderr);
    assert!(
        told.starts_with("error: could not read `ROOT/repo/plans/loop.md`\n  because: "),
        "{told}"
    );
    assert_eq!(sandbox.branch(), "main");
    // Root may read everything and cannot be refused this way.
    fs::set_permissions(&tasks, sandbox::mode(0)).unwrap();
    if fs::read(&tasks).is_ok() {
        return;
    }
    let output = sandbox.run(&["loop", "c"]).ends_with(2);
    assert_eq!(
        sandbox.neutral(&output.stderr),
        "error: could not read `ROOT/repo/openspec/changes/c/tasks.md`\n  \
         because: Permission denied (os error 13)\n"
    );
    assert_eq!(sandbox.branch(), "main");
}

#[test]
fn an_agent_that_is_not_installed_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "ralphtool.toml",
        "agent = \"mine\"\n[agents.mine]\ncommand = [\"no-such-agent\"]\n",
    );
    refused(
        &sandbox,
        &["loop", "c"],
        indoc! {"
            error: the agent `mine` needs `no-such-agent`, which was not found
              hint: install it, or choose another agent with `--agent NAME`
              hint: `ralphtool demo` shows a run without any agent
        "},
    );
}

#[test]
fn an_agent_is_looked_for_where_it_will_run() {
    let sandbox = Sandbox::new();
    sandbox.write("own.sh", "#!/bin/sh\necho '<promise>COMPLETE</promise>'\n");
    fs::set_permissions(sandbox.repo.join("own.sh"), sandbox::mode(0o755)).unwrap();
    sandbox.write(
        "ralphtool.toml",
        "agent = \"mine\"\n[agents.mine]\ncommand = [\"./own.sh\"]\n",
    );
    let folder = sandbox.repo.join("dir").display().to_string();
    sandbox.run(&["-C", &folder, "loop", "c"]).ends_with(0);
}

#[test]
fn an_unknown_agent_is_refused() {
    let sandbox = Sandbox::new();
    refused(
        &sandbox,
        &["loop", "c", "--agent", "mines"],
        indoc! {"
            error: --agent: there is no agent `mines`
              hint: did you mean `mine`?
        "},
    );
}

#[test]
fn an_unknown_key_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.config("max_retrys = 1");
    refused(
        &sandbox,
        &["loop", "c"],
        indoc! {"
            error: ralphtool.toml:2:1: unknown key `max_retrys`
              hint: did you mean `max_retries`?
        "},
    );
}

#[test]
fn a_value_of_the_wrong_type_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.config("max_retries = \"many\"");
    refused(
        &sandbox,
        &["loop", "c"],
        "error: ralphtool.toml:2:15: expected a whole number, found string\n",
    );
}

#[test]
fn a_merge_in_progress_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.git("switch -q -c side");
    sandbox.write("a.txt", "side\n");
    sandbox.git("commit -q -a -m side");
    sandbox.git("switch -q main");
    sandbox.write("a.txt", "main\n");
    sandbox.git("commit -q -a -m main");
    let merge = sandbox
        .command("git")
        .args(["merge", "-q", "side"])
        .output();
    assert!(!merge.unwrap().status.success());
    refused(
        &sandbox,
        &["loop", "c"],
        indoc! {"
            error: a merge is in progress in this repository
              hint: end it first: `git merge --continue` or `git merge --abort`
        "},
    );
}

#[test]
fn an_index_lock_at_the_start_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/index.lock", "");
    refused(
        &sandbox,
        &["loop", "c"],
        indoc! {"
            error: `ROOT/repo/.git/index.lock` exists: another git process is at work, or one crashed
              hint: wait for it to end; if no git runs here, remove the file
        "},
    );
}

#[test]
fn a_branch_whose_name_conflicts_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.git("branch ralph");
    refused(
        &sandbox,
        &["loop", "c"],
        indoc! {"
            error: a branch `ralph` exists, so `ralph/c` cannot be made
              hint: rename it: `git branch -m ralph ralph-old`
        "},
    );
    sandbox.git("branch -q -D ralph");
    sandbox.git("branch ralph/c/x");
    refused(
        &sandbox,
        &["loop", "c"],
        indoc! {"
            error: a branch `ralph/c/x` exists, so `ralph/c` cannot be made
              hint: rename it: `git branch -m ralph/c/x OTHER`
        "},
    );
}

#[test]
fn a_branch_checked_out_in_another_work_tree_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.git("worktree add -q -b ralph/c ../other");
    let other = listing(&sandbox.root.join("other"));
    refused(
        &sandbox,
        &["loop", "c"],
        indoc! {"
            error: `ralph/c` is checked out in another work tree: `ROOT/other`
              hint: switch that one away, or run `ralphtool -C ROOT/other loop`
        "},
    );
    assert_eq!(listing(&sandbox.root.join("other")), other);
}

#[test]
fn a_second_run_in_the_same_tree_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "touch $root/here; wait_for $root/go\n{}",
        sandbox::GOOD
    ));
    let first = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here")));
    let before = all(&sandbox);
    let output = sandbox.run(&["loop", "c"]).ends_with(2);
    let told = output.stderr.replace(|c: char| c.is_ascii_digit(), "0");
    let told = regular(&told);
    assert_eq!(
        (output.stdout.as_str(), told.as_str()),
        (
            "",
            indoc! {"
                error: another ralphtool works in this tree: process 0 since 0-0-0 0:0:0 UTC
                  hint: wait until it ends, or stop it with Ctrl-C there
            "}
        )
    );
    assert_eq!(all(&sandbox), before);
    fs::write(sandbox.root.join("go"), "").unwrap();
    first.end().ends_with(0);
}

/// A text in which every number is one digit long.
fn regular(text: &str) -> String {
    let mut text = text.to_owned();
    while text.contains("00") {
        text = text.replace("00", "0");
    }
    text
}

#[test]
fn an_unknown_story_is_refused() {
    let sandbox = Sandbox::new();
    refused(
        &sandbox,
        &["loop", "c", "--story", "7"],
        indoc! {"
            error: `c` has no story `7`
              hint: its stories are: 1, 2
        "},
    );
}

#[test]
fn a_run_without_a_state_directory_is_refused() {
    let sandbox = Sandbox::new();
    let before = all(&sandbox);
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command.args(["loop", "c"]);
    command.env_remove("HOME").env_remove("XDG_STATE_HOME");
    let output = sandbox.start_command(command).end().ends_with(2);
    assert_eq!(
        output.stderr,
        indoc! {"
            error: found no place for private files: neither `XDG_STATE_HOME` nor `HOME` is set
              hint: set `HOME`, or `XDG_STATE_HOME` to a folder
        "}
    );
    assert_eq!(all(&sandbox), before);
}

#[test]
fn nothing_left_to_do_is_no_error_and_touches_nothing() {
    let sandbox = Sandbox::new();
    sandbox.tasks(&sandbox::TASKS.replace("[ ]", "[x]"));
    let before = all(&sandbox);
    let output = sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(
        (output.stdout.as_str(), output.stderr.as_str()),
        ("`c`: nothing left to do, 2 stories done\n", "")
    );
    let output = sandbox.run(&["loop", "c", "--json"]).ends_with(0);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", ""));
    assert_eq!(all(&sandbox), before);
}

#[test]
fn a_dry_run_touches_nothing() {
    let sandbox = Sandbox::new();
    sandbox.make_dirty();
    let before = all(&sandbox);
    let output = sandbox.run(&["loop", "c", "--dry-run"]).ends_with(0);
    assert!(output.stdout.contains("ralph/c"), "{}", output.stdout);
    assert_eq!(all(&sandbox), before);
    assert!(!sandbox.root.join("state").exists());
}

#[test]
fn a_settings_file_that_is_a_pipe_is_refused_and_not_waited_for() {
    let sandbox = Sandbox::new();
    fs::remove_file(sandbox.repo.join("ralphtool.toml")).unwrap();
    let made = sandbox.command("mkfifo").arg("ralphtool.toml").status();
    assert!(made.unwrap().success());
    let said = sandbox.run(&["loop", "c"]).ends_with(2).stderr;
    assert!(said.contains("named pipe"), "{said}");
}
