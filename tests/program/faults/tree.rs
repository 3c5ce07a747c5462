//! What a scan, a save and a restore make of the folders and files of a work tree.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;

use pretty_assertions::assert_eq;

use crate::faults::{goes_on, prepared, shell};
use crate::sandbox::{Sandbox, everything, files};

/// Folders with rule files of their own: tracked, and untracked behind a rule that ignores itself.
const FOLDERS_WITH_RULES: &str = "
    mkdir -p pkg/inner own/inner
    echo '*.tmp' > pkg/.gitignore; echo '*.txt text' > pkg/.gitattributes
    echo '*.bak' > pkg/inner/.gitignore; echo '*.c text' > pkg/inner/.gitattributes
    echo a > pkg/inner/a; git add -A; git commit -qm folders
    echo t > pkg/x.tmp; echo b > pkg/inner/x.bak
    echo '*' > own/.gitignore; echo '!x' > own/inner/.gitignore; echo x > own/inner/x";

/// What an attempt can do to such folders, one line for each attempt.
const MISDEEDS: [&str; 12] = [
    "rm -r pkg own",
    "mv pkg other; mv own mine",
    "rm -r pkg own; echo file > pkg; echo file > own",
    "rm -r pkg own; ln -s $root/home pkg; ln -s $root/home own",
    "mv pkg other; ln -s other pkg; mv own mine; ln -s mine own",
    "rm -r pkg/inner own/inner",
    "mv pkg/inner pkg/other",
    "mv pkg/inner other; rm -r pkg; mv own/inner mine; rm -r own",
    "rm -r pkg/inner own/inner; echo file > pkg/inner; echo file > own/inner",
    "rm -r pkg own; mkdir pkg own; echo '*' > pkg/.gitignore; echo junk > pkg/junk",
    "mv pkg swap; mv dir pkg; mv swap dir",
    "git mv pkg other; git commit -qam moved; rm -r own",
];

/// Every attempt does another misdeed and fails; each must start from the same tree.
#[track_caller]
fn attempts_start_from_the_same_tree(sandbox: &Sandbox, misdeeds: &[&str], flags: &[&str]) {
    let before = files(&sandbox.repo);
    let mut script = "cp -a . \"$root/at-$attempt\"\ncase $attempt in\n".to_owned();
    for (number, misdeed) in misdeeds.iter().enumerate() {
        let _ = writeln!(script, "{}) {misdeed};;", number + 1);
    }
    script += "esac\nfailed no";
    sandbox.agent(&script);
    let retries = (misdeeds.len() - 1).to_string();
    let mut args = vec!["loop", "c", "--max-retries", &retries];
    args.extend(flags);
    sandbox.run(&args).ends_with(1);
    for number in 2..=misdeeds.len() {
        let start = files(&sandbox.root.join(format!("at-{number}")));
        let misdeed = misdeeds[number - 2];
        assert_eq!(start, before, "after `{misdeed}`");
    }
    assert_eq!(files(&sandbox.repo), before);
    assert_eq!(sandbox.git("status --porcelain"), "");
}

#[test]
fn restore_keeps_rule_files_of_folders_an_attempt_removes_moves_or_replaces() {
    let sandbox = prepared(FOLDERS_WITH_RULES);
    attempts_start_from_the_same_tree(&sandbox, &MISDEEDS, &[]);
    goes_on(&sandbox);
    let changed = sandbox.git("diff --name-only main ralph/c -- pkg own other mine");
    assert_eq!(changed, "");
}

#[test]
#[cfg(target_os = "linux")]
fn restore_keeps_rule_files_of_folders_an_isolated_attempt_removes_moves_or_replaces() {
    if !crate::isolate::possible() {
        return;
    }
    let sandbox = Sandbox::on_disk();
    shell(&sandbox, FOLDERS_WITH_RULES);
    attempts_start_from_the_same_tree(&sandbox, &MISDEEDS, &["--isolate"]);
    goes_on(&sandbox);
    let changed = sandbox.git("diff --name-only main ralph/c -- pkg own other mine");
    assert_eq!(changed, "");
}

/// Every state a command restores is compared with the state it had before.
#[test]
fn finish_undo_rewind_and_attempts_restore_keep_rule_files_of_folders_a_story_moved() {
    let sandbox = prepared(FOLDERS_WITH_RULES);
    sandbox.tasks("## 1. A\n- [ ] 1.1 a\n\n## 2. B\n- [ ] 2.1 b\n\n## 3. C\n- [ ] 3.1 c\n");
    let before = files(&sandbox.repo);
    sandbox.agent(
        "case $RALPHTOOL_STORY in
         1) tick 1; cp -a . \"$root/story-1\"; complete;;
         2) mv pkg other; mv own mine; tick 2; complete;;
         3) mv other pkg; rm -r mine; mkdir other; echo '*.o' > other/.gitignore
            cp -a . \"$root/attempt\"; failed no;;
         esac",
    );
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    let story_1 = files(&sandbox.root.join("story-1"));
    let done = files(&sandbox.repo);
    let restored = |args: &[&str], wanted: &std::collections::BTreeMap<String, String>| {
        sandbox.run(args).ends_with(0);
        assert_eq!(files(&sandbox.repo), *wanted, "{args:?}");
    };
    restored(
        &["attempts", "restore", "3.1"],
        &files(&sandbox.root.join("attempt")),
    );
    restored(&["undo"], &done);
    restored(&["rewind", "2"], &story_1);
    restored(&["undo"], &done);
    restored(&["finish", "--abandon"], &before);
    restored(&["undo"], &done);
    restored(&["finish", "--abandon"], &before);
}

#[test]
fn undo_restores_a_link_in_the_place_of_a_folder_of_the_attempt() {
    let sandbox = prepared("mkdir $root/outside; echo o > $root/outside/o");
    sandbox.agent("echo attempt > dir/b.txt; mkdir dir/new; echo n > dir/new/n; failed no");
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    fs::remove_dir_all(sandbox.repo.join("dir")).unwrap();
    symlink(sandbox.root.join("outside"), sandbox.repo.join("dir")).unwrap();
    let before = everything(&sandbox.repo);
    sandbox.run(&["attempts", "restore", "1.1"]).ends_with(0);
    assert_eq!(sandbox.read("dir/b.txt"), "attempt\n");
    assert_eq!(sandbox.read("dir/new/n"), "n\n");
    sandbox.run(&["undo"]).ends_with(0);
    assert_eq!(everything(&sandbox.repo), before);
    assert_eq!(
        fs::read_dir(sandbox.root.join("outside")).unwrap().count(),
        1
    );
}
