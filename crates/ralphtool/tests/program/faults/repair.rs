//! A git directory that lost a part, all of it, or holds wrong bytes: only the part is repaired, and
//! what was in it besides objects and refs is restored too.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use pretty_assertions::assert_eq;

use crate::faults::{fails, goes_on, is_saved, killed_after, leaves_no_trace, prepared, shell};
use crate::sandbox::{GOOD, Sandbox, everything, files, there};

/// A linked work tree with something staged, a remote with a symbolic HEAD, and what other tools keep
/// in a git directory.
const RICH: &str = "git branch other; git tag v1; echo 2 > a.txt; git commit -qam second
    git update-ref refs/remotes/origin/main main
    git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main
    git worktree add -q -b side ../linked; echo staged > ../linked/staged.txt; git -C ../linked add staged.txt
    mkdir -p .git/rr-cache/x .git/svn .git/lfs/objects/ab/cd .git/annex/objects/k
    echo mine > .git/description; echo image > .git/rr-cache/x/preimage; echo svn > .git/svn/metadata
    echo large > .git/lfs/objects/ab/cd/abcd; echo annexed > .git/annex/objects/k/k";

/// What [`RICH`] made is all there, and git sees it so.
#[track_caller]
fn is_rich(sandbox: &Sandbox) {
    assert_eq!(
        sandbox.git("-C ../linked status --porcelain"),
        "A  staged.txt\n"
    );
    assert_eq!(
        sandbox.git("symbolic-ref refs/remotes/origin/HEAD"),
        "refs/remotes/origin/main\n"
    );
    for (path, text) in [
        (".git/description", "mine\n"),
        (".git/rr-cache/x/preimage", "image\n"),
        (".git/svn/metadata", "svn\n"),
        (".git/lfs/objects/ab/cd/abcd", "large\n"),
        (".git/annex/objects/k/k", "annexed\n"),
    ] {
        assert_eq!(sandbox.read(path), text, "{path}");
    }
    let log = sandbox.git("reflog show --format=%gs main");
    assert_eq!(log, "commit: second\ncommit (initial): first\n");
    let log = sandbox.git("reflog show --format=%gs HEAD");
    assert!(
        log.ends_with("commit: second\ncommit (initial): first\n"),
        "{log}"
    );
    assert_eq!(sandbox.git("fsck --no-dangling"), "");
}

/// The number of the git directory: another one is another directory.
fn directory(sandbox: &Sandbox) -> u64 {
    fs::metadata(sandbox.repo.join(".git")).unwrap().ino()
}

/// An attempt damages the git directory and fails: it is the same directory afterwards, with all of
/// it.
#[track_caller]
fn is_repaired_in_place(misdeed: &str) {
    let sandbox = prepared(RICH);
    let before = directory(&sandbox);
    crate::faults::fails_without_a_trace(&sandbox, misdeed);
    is_rich(&sandbox);
    goes_on(&sandbox);
    is_rich(&sandbox);
    assert_eq!(directory(&sandbox), before, "{misdeed}");
}

#[test]
fn a_token_that_was_removed_is_written_again_and_nothing_else_is_touched() {
    is_repaired_in_place("rm .git/ralphtool.id");
    let sandbox = is_saved(RICH, "rm .git/ralphtool.id; echo made > made.txt");
    is_rich(&sandbox);
}

#[test]
#[ignore = "takes many seconds; `.ci/run` runs it"]
fn refs_or_objects_that_were_removed_come_back_and_the_rest_stays() {
    for misdeed in [
        "rm -rf .git/refs",
        "rm -rf .git/objects",
        "rm -rf .git/refs .git/ralphtool.id",
        "rm -rf .git/objects .git/ralphtool.id",
        "rm -rf .git/objects; touch .git/objects",
        "rm -rf .git/worktrees",
        "rm -rf .git/logs",
        "rm -rf .git/lfs .git/annex .git/rr-cache",
    ] {
        is_repaired_in_place(misdeed);
    }
    let sandbox = is_saved(RICH, "rm -rf .git/objects; echo made > made.txt");
    is_rich(&sandbox);
}

/// The LFS and annex content that [`RICH`] made is there, as plain files.
#[track_caller]
fn has_content(sandbox: &Sandbox, when: &str) {
    for (path, text) in [
        (".git/lfs/objects/ab/cd/abcd", "large\n"),
        (".git/annex/objects/k/k", "annexed\n"),
    ] {
        let full = sandbox.repo.join(path);
        let found = fs::read_to_string(&full).unwrap_or_default();
        assert_eq!(found, text, "{path}: {when}");
        assert!(fs::symlink_metadata(&full).unwrap().is_file(), "{path}");
    }
}

#[test]
fn single_files_of_lfs_and_annex_content_that_an_attempt_removes_are_restored() {
    for misdeed in [
        "rm -rf .git/lfs/objects/ab .git/annex/objects/k",
        "rm .git/lfs/objects/ab/cd/abcd .git/annex/objects/k/k; chmod a-w .git/annex/objects/k",
        "rm .git/lfs/objects/ab/cd/abcd; mkdir .git/lfs/objects/ab/cd/abcd",
    ] {
        let sandbox = prepared(RICH);
        fails(&sandbox, misdeed);
        has_content(&sandbox, misdeed);
        let told = records(&sandbox);
        assert!(told.contains("lfs/objects"), "{misdeed}: {told}");
        goes_on(&sandbox);
        has_content(&sandbox, misdeed);
    }
    for command in [&["resume"][..], &["finish", "--abandon"]] {
        let misdeed = "rm -rf .git/lfs/objects/ab .git/annex/objects/k";
        let sandbox = killed_after(RICH, misdeed);
        sandbox.run(command).ends_with(0);
        has_content(&sandbox, "after a crash");
    }
}

#[test]
fn lfs_and_annex_content_is_not_restored_through_a_link() {
    let before = format!("{RICH}; mkdir $root/elsewhere");
    for misdeed in [
        "rm -rf .git/lfs; ln -s $root/elsewhere .git/lfs",
        "rm -rf .git/lfs/objects; ln -s $root/elsewhere .git/lfs/objects",
        "rm -rf .git/lfs/objects/ab; ln -s $root/elsewhere .git/lfs/objects/ab",
        "rm -rf .git/annex/objects/k/k; ln -s $root/elsewhere/k .git/annex/objects/k/k",
        "rm -rf .git/lfs/objects .git/refs .git/objects; ln -s $root/elsewhere .git/lfs/objects",
        "rm -rf .git/annex/objects; touch .git/annex/objects",
    ] {
        let sandbox = prepared(&before);
        fails(&sandbox, misdeed);
        has_content(&sandbox, misdeed);
        shell(&sandbox, "[ -z \"$(ls -A $root/elsewhere)\" ]");
    }
}

#[test]
fn lfs_and_annex_content_that_a_done_story_removes_is_there_after_it_and_after_a_finish() {
    for misdeed in [
        "rm -rf .git/lfs/objects/ab .git/annex/objects/k",
        "rm -rf .git/lfs .git/annex",
    ] {
        for choice in ["--abandon", "--cleanup"] {
            let sandbox = prepared(RICH);
            sandbox.agent(&format!(
                "if [ $RALPHTOOL_STORY = 2 ]; then
                     cat .git/lfs/objects/ab/cd/abcd .git/annex/objects/k/k > $root/seen
                     failed no; exit
                 fi
                 {misdeed}\n{GOOD}"
            ));
            sandbox
                .run(&["loop", "c", "--max-retries", "0"])
                .ends_with(1);
            assert_eq!(sandbox.git("log -1 --format=%s"), "checkpoint: 1\n");
            let seen = fs::read_to_string(sandbox.root.join("seen")).unwrap();
            assert_eq!(seen, "large\nannexed\n", "{misdeed}");
            has_content(&sandbox, misdeed);
            sandbox.run(&["finish", choice]).ends_with(0);
            has_content(&sandbox, &format!("{misdeed}, finish {choice}"));
        }
    }
}

#[test]
fn lfs_and_annex_content_that_a_gate_removes_after_the_last_story_is_there_after_a_finish() {
    for misdeed in [
        "rm -rf .git/lfs/objects/ab .git/annex/objects/k",
        "rm -rf .git/lfs .git/annex",
    ] {
        for choice in ["keep", "cleanup"] {
            let sandbox = prepared(RICH);
            let gate = format!("run = \"{misdeed}\"\nwhen = \"end\"\nbaseline = false\n");
            sandbox.config_and("", &format!("[[gate]]\nname = \"e2e\"\n{gate}"));
            sandbox
                .run(&["loop", "c", "--on-finish", choice])
                .ends_with(0);
            has_content(&sandbox, &format!("{misdeed}, {choice}"));
        }
    }
}

#[test]
fn a_removed_git_directory_comes_back_with_work_trees_logs_and_what_other_tools_keep_in_it() {
    for misdeed in [
        "rm -rf .git",
        "rm -rf .git; git init -q; git add -A; git commit -qm another",
    ] {
        let sandbox = leaves_no_trace(RICH, misdeed);
        is_rich(&sandbox);
    }
    let sandbox = is_saved(RICH, "rm -rf .git; echo made > made.txt");
    is_rich(&sandbox);
}

#[test]
fn a_removed_git_directory_of_a_run_in_a_linked_work_tree_comes_back() {
    let mut sandbox = prepared(RICH);
    let main = std::mem::replace(&mut sandbox.repo, sandbox.root.join("linked"));
    for misdeed in [
        "rm -rf ../repo/.git",
        "rm -rf ../repo/.git/worktrees/linked",
    ] {
        sandbox.agent(&format!("{misdeed}\nfailed no"));
        sandbox
            .run(&["loop", "c", "--max-retries", "0"])
            .ends_with(1);
        sandbox.run(&["finish", "--abandon"]).ends_with(0);
        assert_eq!(sandbox.git("status --porcelain"), "A  staged.txt\n");
        assert_eq!(sandbox.branch(), "side");
        assert_eq!(sandbox.git("-C ../repo status --porcelain"), "");
        assert_eq!(sandbox.git("-C ../repo fsck --no-dangling"), "");
    }
    sandbox.repo = main;
    is_rich(&sandbox);
}

/// Makes the repository borrow all its objects from another one.
const BORROWED: &str = "git clone -q --bare . $root/lender.git
    echo $root/lender.git/objects > .git/objects/info/alternates
    git repack -adlq; git prune-packed; echo mine > mine.txt";

#[test]
fn a_repository_that_borrows_objects_gets_its_alternates_back() {
    for misdeed in [
        "rm -rf .git",
        "rm .git/objects/info/alternates",
        ": > .git/objects/info/alternates",
        "rm -rf .git/objects",
    ] {
        let sandbox = prepared(BORROWED);
        let before = everything(&sandbox.repo);
        fails(&sandbox, misdeed);
        assert_eq!(sandbox.git("fsck --no-dangling"), "");
        sandbox.run(&["finish", "--abandon"]).ends_with(0);
        assert_eq!(
            everything(&sandbox.repo).replace(&id_line(&sandbox), ""),
            before
        );
        assert_eq!(sandbox.git("fsck --no-dangling"), "");
        assert!(sandbox.exists(".git/objects/info/alternates"));
    }
    let sandbox = is_saved(BORROWED, "rm -rf .git; echo made > made.txt");
    assert_eq!(sandbox.git("fsck --no-dangling"), "");
}

/// The line of ralphtool's one file in a git directory.
fn id_line(sandbox: &Sandbox) -> String {
    let text = everything(&sandbox.repo);
    let line = text
        .lines()
        .find(|line| line.starts_with(".git/ralphtool.id"));
    line.map(|line| format!("{line}\n")).unwrap_or_default()
}

/// Stashes of two messages in a repository with reftables; none where git knows no reftables.
fn stashed_in_reftables() -> Option<Sandbox> {
    let sandbox = Sandbox::new();
    let prepare = "rm -rf .git/logs; git refs migrate --ref-format=reftable
                   for n in 1 2 3; do echo $n > a.txt; git stash push -q -m \"stash $n\"; done";
    let mut migrate = sandbox.command("sh");
    // A git older than 2.46.
    let can = migrate.args(["-ec", prepare]).status().unwrap().success();
    can.then_some(sandbox)
}

#[test]
fn stashes_in_reftables_that_an_attempt_dropped_come_back_in_order() {
    let collect = "git reflog expire --expire=now --all; git gc -q --prune=now";
    for misdeed in [
        "git stash drop -q",
        "git stash drop -q stash@{1}",
        "git stash drop -q stash@{2}",
        "git stash pop -q; git stash push -q -m agents",
        "git stash clear",
        "git stash clear; echo x > a.txt; git stash push -q -m agents",
        "git reflog delete --rewrite refs/stash@{0}",
        "git reflog expire --expire=now refs/stash",
        "rm -rf .git",
        &format!("git stash drop -q stash@{{1}}; {collect}"),
        &format!("git stash clear; {collect}"),
    ] {
        let Some(sandbox) = stashed_in_reftables() else {
            return;
        };
        let list = "log -g --date=raw --format=%H|%gd|%gn|%ge|%gs refs/stash --";
        let before = (sandbox.git(list), sandbox.git("rev-parse refs/stash"));
        let now = || (sandbox.git(list), sandbox.git("rev-parse refs/stash"));
        assert_eq!(before.0.lines().count(), 3);
        fails(&sandbox, misdeed);
        assert_eq!(now(), before, "{misdeed}");
        assert_eq!(sandbox.git("show stash@{1}:a.txt"), "2\n", "{misdeed}");
        sandbox.run(&["finish", "--abandon"]).ends_with(0);
        assert_eq!(now(), before, "{misdeed}");
        assert_eq!(sandbox.git("fsck --no-dangling"), "", "{misdeed}");
        assert!(!sandbox.exists(".git/logs/refs/stash"), "{misdeed}");
    }
}

#[test]
fn stashes_in_reftables_that_a_story_dropped_come_back_when_the_run_is_abandoned() {
    for misdeed in ["git stash drop -q stash@{1}", "git stash clear"] {
        let Some(sandbox) = stashed_in_reftables() else {
            return;
        };
        let before = sandbox.git("stash list --format=%H|%gs");
        sandbox.agent(&format!("[ $attempt != 1 ] || {misdeed}\n{GOOD}"));
        let keep = ["loop", "c", "--on-finish", "keep"];
        sandbox.run(&keep).ends_with(0);
        assert_ne!(
            sandbox.git("stash list --format=%H|%gs"),
            before,
            "{misdeed}"
        );
        sandbox.run(&["finish", "--abandon"]).ends_with(0);
        assert_eq!(
            sandbox.git("stash list --format=%H|%gs"),
            before,
            "{misdeed}"
        );
    }
}

#[test]
fn a_repository_with_reftables_is_restored_with_reftables() {
    let reftable = "rm -rf .git/logs; git refs migrate --ref-format=reftable; git tag v1";
    for misdeed in [
        "rm -rf .git",
        "rm -rf .git/reftable",
        "rm -rf .git/refs",
        ": > .git/HEAD",
        "rm .git/ralphtool.id",
    ] {
        let sandbox = Sandbox::new();
        let mut migrate = sandbox.command("sh");
        if !migrate.args(["-ec", reftable]).status().unwrap().success() {
            // A git older than 2.46.
            return;
        }
        let before = (files(&sandbox.repo), sandbox.git("for-each-ref"));
        fails(&sandbox, misdeed);
        assert_eq!(sandbox.branch(), "ralph/c", "{misdeed}");
        assert_eq!(sandbox.git("status --porcelain"), "", "{misdeed}");
        sandbox.run(&["finish", "--abandon"]).ends_with(0);
        let after = (files(&sandbox.repo), sandbox.git("for-each-ref"));
        assert_eq!(after, before, "{misdeed}");
        assert_eq!(sandbox.branch(), "main");
        assert_eq!(sandbox.git("rev-parse --show-ref-format"), "reftable\n");
        goes_on(&sandbox);
        assert_eq!(sandbox.git("fsck --no-dangling"), "");
    }
}

#[test]
#[ignore = "takes many seconds; `.ci/run` runs it"]
fn a_git_directory_that_is_damaged_after_a_crash_is_repaired_by_the_next_start() {
    for (misdeed, part) in [
        (": > .git/HEAD", "HEAD"),
        ("rm .git/HEAD", "HEAD"),
        ("rm -rf .git/refs", "refs"),
        ("rm -rf .git/objects", "objects"),
        ("git config core.bare true", "config"),
        ("git config core.worktree /nowhere", "config"),
        (": > .git/config", "config"),
        ("echo '[' > .git/config", "config"),
        ("rm .git/ralphtool.id", "ralphtool.id"),
    ] {
        let sandbox = killed_after(RICH, misdeed);
        let output = sandbox.run(&["loop", "c"]).ends_with(0);
        let vault = sandbox.vault();
        for said in [part, &*vault.to_string_lossy()] {
            assert!(output.stdout.contains(said), "{misdeed}: {}", output.stdout);
        }
        assert_eq!(
            sandbox.commits(),
            ["initial state", "checkpoint: 1", "checkpoint: 2"],
            "{misdeed}"
        );
        assert!(!sandbox.exists("idea.txt"));
        is_rich(&sandbox);
    }
}

#[test]
fn commands_that_only_read_name_the_repair_of_a_git_directory_damaged_in_a_crash() {
    for misdeed in [": > .git/HEAD", "git config core.bare true", "rm -rf .git"] {
        let sandbox = killed_after(RICH, misdeed);
        for command in [
            "status",
            "log",
            "attempts",
            "learnings",
            "loop c --dry-run",
            "doctor",
        ] {
            let args: Vec<&str> = command.split(' ').collect();
            let output = sandbox.run(&args);
            let said = format!("{}{}", output.stdout, output.stderr);
            assert!(
                said.contains("`ralphtool resume` repairs it") && !said.contains("git init"),
                "{command} after {misdeed}: {said}"
            );
        }
        let status = sandbox.run(&["status"]).stdout;
        let is_shown = status.contains("interrupted");
        assert_eq!(is_shown, misdeed != "rm -rf .git", "{misdeed}: {status}");
        sandbox.run(&["resume"]).ends_with(0);
    }
}

#[test]
fn a_run_whose_git_directory_is_damaged_after_a_crash_can_be_abandoned_at_once() {
    for misdeed in [
        ": > .git/HEAD",
        "git config core.bare true",
        "rm -rf .git/refs",
    ] {
        let sandbox = killed_after(RICH, misdeed);
        sandbox.run(&["finish", "--abandon"]).ends_with(0);
        assert_eq!(sandbox.git("status --porcelain"), "", "{misdeed}");
        assert_eq!(sandbox.branch(), "main");
        assert_eq!(sandbox.git("config core.bare"), "false\n");
        is_rich(&sandbox);
    }
}

#[test]
fn core_bare_and_core_worktree_are_restored_after_a_finished_story() {
    for (misdeed, choice) in [
        ("git config core.bare true", "--cleanup"),
        ("git config core.worktree /nowhere", "--abandon"),
        ("git config core.bare true", "--keep"),
    ] {
        let sandbox = Sandbox::new();
        let config = sandbox.read(".git/config");
        sandbox.agent(&format!("{GOOD}\ngit config user.name Agent; {misdeed}"));
        sandbox
            .run(&["loop", "c", "--on-finish", "keep"])
            .ends_with(0);
        let told = sandbox.warnings().join("\n");
        assert!(told.contains("core."), "{told}");
        sandbox.run(&["finish", choice]).ends_with(0);
        assert_eq!(sandbox.git("rev-parse --is-inside-work-tree"), "true\n");
        sandbox.run(&["undo"]).ends_with(0);
        let now = sandbox.read(".git/config");
        assert!(now.starts_with(config.trim_end()), "{now}");
        assert!(now.contains("Agent"), "{now}");
    }
}

/// Replaces every loose object, and every pack, by other bytes: by none, by those of others.
const SPOIL: [&str; 3] = [
    "find .git/objects -type f | while read f; do : > $root/new; mv -f $root/new $f; done",
    "find .git/objects -type f | while read f; do echo junk > $root/new; mv -f $root/new $f; done",
    "first=$(find .git/objects -type f | head -n 1); find .git/objects -type f | while read f; do [ $f = $first ] || { cp $first $root/new; mv -f $root/new $f; }; done",
];

#[test]
#[ignore = "takes many seconds; `.ci/run` runs it"]
fn objects_whose_bytes_were_replaced_come_back_from_the_vault() {
    for before in [
        "",
        "git gc -q",
        "git gc -q; echo 3 > a.txt; git commit -qam third",
    ] {
        for misdeed in SPOIL {
            let sandbox = leaves_no_trace(before, misdeed);
            assert_eq!(sandbox.git("fsck --no-dangling"), "");
        }
    }
    let sandbox = is_saved("", &format!("echo made > made.txt; {}", SPOIL[1]));
    assert_eq!(sandbox.git("fsck --no-dangling"), "");
}

#[test]
fn an_abandon_leaves_no_corrupt_repository_behind() {
    for misdeed in SPOIL {
        let sandbox = prepared("echo mine > mine.txt");
        let before = everything(&sandbox.repo);
        sandbox
            .run(&["loop", "c", "--on-finish", "keep"])
            .ends_with(0);
        shell(&sandbox, misdeed);
        sandbox.run(&["finish", "--abandon"]).ends_with(0);
        assert_eq!(
            everything(&sandbox.repo).replace(&id_line(&sandbox), ""),
            before
        );
        assert_eq!(sandbox.git("fsck --no-dangling"), "");
    }
}

/// The files of all blobs, one per line.
const BLOBS: &str = r"git cat-file --batch-all-objects --batch-check |
    sed -n 's,^\(..\)\([^ ]*\) blob.*,.git/objects/\1/\2,p'";

/// Removes the blobs, moves them elsewhere, or moves the folders they are in.
fn takings() -> [String; 3] {
    [
        format!("{BLOBS} | xargs rm -f"),
        format!("mkdir $root/taken; {BLOBS} | while read f; do mv $f $root/taken; done"),
        format!(
            "mkdir $root/taken; {BLOBS} | xargs -n 1 dirname | sort -u | while read d; do mv $d $root/taken; done"
        ),
    ]
}

#[test]
fn objects_an_attempt_removed_or_moved_away_come_back() {
    for misdeed in takings() {
        let sandbox = leaves_no_trace("", &misdeed);
        assert_eq!(sandbox.git("fsck --no-dangling"), "");
    }
    let sandbox = is_saved("", &format!("echo made > made.txt; {}", takings()[0]));
    assert_eq!(sandbox.git("fsck --no-dangling"), "");
    let folder = "for f in .git/objects/??/* .git/objects/pack/*.idx; do [ ! -e $f ] || { rm -f $f; mkdir $f; }; done";
    for before in ["", "git gc -q"] {
        let sandbox = is_saved(before, &format!("echo made > made.txt; {folder}"));
        assert_eq!(sandbox.git("fsck --no-dangling"), "");
    }
    let pack = "rm -f .git/objects/pack/*.idx";
    let sandbox = leaves_no_trace("git gc -q; git commit -qm more --allow-empty", pack);
    assert_eq!(sandbox.git("fsck --no-dangling"), "");
}

#[test]
#[ignore = "takes many seconds; `.ci/run` runs it"]
fn objects_that_are_missing_come_back_before_anything_is_moved() {
    for command in [
        &["finish", "--abandon"][..],
        &["rewind", "2"],
        &["attempts", "restore", "1.1"],
        &["undo"],
    ] {
        for misdeed in takings() {
            let sandbox = prepared("");
            sandbox.agent(&format!(
                "[ ${{RALPHTOOL_ATTEMPT##*/}} = 1.1 ] && {{ echo tried > tried.txt; failed no; exit; }}\n{GOOD}"
            ));
            sandbox
                .run(&["loop", "c", "--on-finish", "keep"])
                .ends_with(0);
            if command == ["undo"] {
                sandbox.run(&["finish", "--abandon"]).ends_with(0);
            }
            shell(&sandbox, &misdeed);
            sandbox.run(command).ends_with(0);
            shell(
                &sandbox,
                &format!(": '{command:?}'; git fsck --no-dangling"),
            );
        }
    }
}

#[test]
fn objects_of_saved_attempts_stay_out_of_the_repository() {
    let sandbox = prepared("");
    sandbox.agent(&format!(
        "case ${{RALPHTOOL_ATTEMPT##*/}} in 1.1 | 2.1) echo tried > tried.txt; failed no; exit ;; esac
         echo staged > staged.txt; git add staged.txt; {BLOBS} | head -n 1 | xargs rm -f\n{GOOD}"
    ));
    sandbox
        .run(&["loop", "c", "--on-finish", "keep"])
        .ends_with(0);
    shell(
        &sandbox,
        "id=$(echo tried | git hash-object --stdin); ! git cat-file -e $id 2> /dev/null",
    );
}

#[test]
fn an_alternates_file_that_an_attempt_made_is_removed() {
    let sandbox = leaves_no_trace("", "echo $root/elsewhere > .git/objects/info/alternates");
    assert!(there(&sandbox.repo.join(".git/objects/info/alternates")).is_none());
}

#[test]
fn folders_of_the_git_directory_nested_too_deep_are_moved_out_of_it() {
    let deep = "perl -e 'for (1..24) { mkdir \"d\" x 200; chdir \"d\" x 200 } open F, \">file\"'";
    let sandbox = leaves_no_trace(
        "",
        &format!(
            "for d in .git .git/logs .git/logs/refs/heads .git/refs/heads .git/objects .git/info; do
                 (cd $d && {deep})
             done"
        ),
    );
    shell(&sandbox, "[ -z \"$(find .git -name 'ddd*')\" ]");
}

#[test]
fn a_story_that_nests_folders_too_deep_in_the_git_directory_is_saved() {
    let deep = "perl -e 'for (1..24) { mkdir \"d\" x 200; chdir \"d\" x 200 } open F, \">file\"'";
    for folder in [".git/hooks/pre-commit.d", ".git/branches", ".git/info"] {
        let sandbox = Sandbox::new();
        sandbox.agent(&format!(
            "mkdir -p {folder}; (cd {folder} && {deep})\n{GOOD}"
        ));
        sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
        assert_eq!(sandbox.commits(), ["initial state", "checkpoint: 1"]);
    }
}

#[test]
fn a_pack_index_that_is_locked_and_then_replaced_or_moved_comes_back() {
    let sandbox = leaves_no_trace(
        "git gc -q",
        "cd .git/objects/pack; for it in *.idx; do
             chmod 000 $it; echo other > $root/other; mv -f $root/other $it
         done",
    );
    assert_eq!(sandbox.git("fsck --no-dangling"), "");
    let sandbox = leaves_no_trace(
        "git gc -q",
        "chmod 000 .git/objects/pack/*.idx; mv .git/objects/pack/*.idx $root",
    );
    assert_eq!(sandbox.git("fsck --no-dangling"), "");
}

#[test]
fn packs_that_a_story_removes_with_their_folder_come_back() {
    let sandbox = prepared("git gc -q");
    sandbox.agent(&format!("rm -rf .git/objects/pack\n{GOOD}"));
    sandbox
        .run(&["loop", "c", "--on-finish", "keep"])
        .ends_with(0);
    assert_eq!(sandbox.git("fsck --no-dangling"), "");
}

#[test]
fn git_does_not_wait_for_a_pipe_in_place_of_attributes() {
    // A filter: git itself stores the files.
    let before = "git config filter.f.clean cat; echo '*.f filter=f' > .gitattributes; echo 1 > a.f
        git add -A; git commit -qm filter";
    let misdeed = "rm .gitattributes; mkfifo .gitattributes; echo 2 > a.f; echo 3 > b.f";
    leaves_no_trace(before, misdeed);
}

#[test]
fn git_does_not_wait_for_a_pipe_in_place_of_ignore_rules() {
    let sandbox = prepared("echo '*.log' > .gitignore; git add -A; git commit -qm rules");
    sandbox.agent(&format!("rm -f .gitignore; mkfifo .gitignore\n{GOOD}"));
    sandbox
        .run(&["loop", "c", "--on-finish", "keep"])
        .ends_with(0);
    assert_eq!(sandbox.commits().len(), 3);
}

/// Git is asked about what a rule ignores, and about all where a rule is written strangely. A pipe is
/// no rules; all others hold.
#[test]
fn git_does_not_wait_for_pipes_in_place_of_rules_where_it_is_asked_about_them() {
    let sandbox = prepared(
        "mkdir one two; echo '*.log' > .gitignore; echo 'a**z' > two/.gitignore; echo '*.tmp' > excludes
        git config core.excludesFile $PWD/excludes; mkdir -p .git/info; echo '*.swp' > .git/info/exclude
        git add -A; git commit -qm rules",
    );
    sandbox.agent(&format!(
        "for f in .gitignore one/.gitignore excludes; do rm -f $f; mkfifo -m 444 $f; done
        for f in a.swp b.log one/c.swp one/d.tmp two/abcz two/e.swp two/f; do echo x > $f; done\n{GOOD}"
    ));
    sandbox
        .run(&[
            "loop",
            "c",
            "--on-finish",
            "keep",
            "--command-timeout",
            "2s",
        ])
        .ends_with(0);
    assert_eq!(
        sandbox.git("diff --name-status main HEAD"),
        "D\t.gitignore\nA\tb.log\nD\texcludes\nA\tone/d.tmp\nM\topenspec/changes/c/tasks.md\n\
         A\tstory-1.txt\nA\tstory-2.txt\nA\ttwo/f\n"
    );
}

/// Git would allocate as much memory as the file has bytes.
#[test]
fn git_does_not_read_ignore_rules_that_are_mostly_holes() {
    let sandbox = prepared(
        "mkdir -p .git/info; echo '*.swp' > .git/info/exclude; echo '*.log' > .gitignore
        git add -A; git commit -qm rules",
    );
    sandbox.agent(&format!(
        "truncate -s 200G .gitignore; echo x > a.swp; echo x > b.log\n{GOOD}"
    ));
    sandbox
        .run(&["loop", "c", "--on-finish", "keep"])
        .ends_with(0);
    assert_eq!(
        sandbox.git("diff --name-status main HEAD"),
        "A\tb.log\nM\topenspec/changes/c/tasks.md\nA\tstory-1.txt\nA\tstory-2.txt\n"
    );
}

#[test]
fn remotes_in_the_branches_and_remotes_folders_are_restored() {
    let before = "mkdir -p .git/branches .git/remotes; echo /mine > .git/branches/mine";
    let misdeed = "echo /evil > .git/branches/mine; echo /evil > .git/branches/more
        echo 'URL: /evil' > .git/remotes/origin; mkdir .git/branches/folder; echo x > .git/branches/folder/x";
    leaves_no_trace(before, misdeed);
}

#[test]
fn files_of_the_git_directory_that_are_mostly_holes_are_never_read() {
    let misdeed = "for f in HEAD ORIG_HEAD config index packed-refs info/exclude refs/heads/main
        do truncate -s 2G .git/$f; done
        truncate -s 2G .git/objects/info/commit-graph";
    leaves_no_trace("git branch side; git pack-refs --all", misdeed);
}

/// Overwrites a file of git's with something that begins as it should.
fn garbage(path: &str) -> String {
    format!(
        "f=$(ls {path}); head -c 8 $f > $root/new; head -c 5000 /dev/zero >> $root/new; mv -f $root/new $f"
    )
}

#[test]
fn a_damaged_commit_graph_or_multi_pack_index_stops_neither_a_run_nor_git() {
    let graph = "git repack -adq; git commit-graph write --reachable";
    let chain = "git repack -adq; git commit-graph write --reachable --split";
    let packs = "git repack -adq; git multi-pack-index write";
    for (before, path) in [
        (graph, ".git/objects/info/commit-graph"),
        (chain, ".git/objects/info/commit-graphs/*.graph"),
        (packs, ".git/objects/pack/multi-pack-index"),
    ] {
        let sandbox = leaves_no_trace(before, &garbage(path));
        assert_eq!(sandbox.git("fsck --no-dangling"), "", "{path}");
        assert_eq!(sandbox.git("log --format=%s main"), "first\n");
        let told = records(&sandbox);
        assert!(told.contains("moved"), "{told}");
        let sandbox = is_saved(before, &format!("echo made > made.txt; {}", garbage(path)));
        assert_eq!(sandbox.git("fsck --no-dangling"), "", "{path}");
    }
}

/// The records of all runs.
fn records(sandbox: &Sandbox) -> String {
    let read = |run: &Path| fs::read_to_string(run.join("events.jsonl")).unwrap();
    sandbox.runs().iter().map(|run| read(run)).collect()
}

#[test]
fn replace_refs_of_a_failed_attempt_are_removed_and_the_users_stay() {
    let before = "echo 2 > a.txt; git commit -qam second; git replace HEAD~1 HEAD";
    for misdeed in [
        "echo x > a.txt; git commit -qam x; git replace -f main HEAD",
        "echo x > a.txt; git commit -qam x; git replace -d main~1; git pack-refs --all",
        "echo x > a.txt; git commit -qam x; git replace main HEAD; git pack-refs --all",
    ] {
        leaves_no_trace(before, misdeed);
    }
    let sandbox = prepared("");
    let state = everything(&sandbox.repo);
    sandbox.agent(&format!(
        "{GOOD}\necho x > a.txt; git commit -qam x; git replace main HEAD"
    ));
    sandbox
        .run(&["loop", "c", "--on-finish", "keep"])
        .ends_with(0);
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    assert_eq!(
        everything(&sandbox.repo).replace(&id_line(&sandbox), ""),
        state
    );
}

#[test]
fn a_repository_in_a_folder_with_a_newline_in_its_name_works() {
    let mut sandbox = Sandbox::new();
    let odd = sandbox.root.join("new\nline");
    fs::rename(&sandbox.repo, &odd).unwrap();
    sandbox.repo = odd;
    sandbox.agent("git commit -q --allow-empty -m x; echo x > x.txt; failed no");
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    assert_eq!(sandbox.git("status --porcelain"), "");
    goes_on(&sandbox);
    sandbox.run(&["finish", "--cleanup"]).ends_with(0);
    assert_eq!(sandbox.branch(), "main");
    sandbox.run(&["undo"]).ends_with(0);
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    assert_eq!(sandbox.git("status --porcelain"), "");
}
