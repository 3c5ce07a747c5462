//! Submodules: what a failed attempt did to one, its git directory included, is undone.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::sandbox::{GOOD, Sandbox, everything, listing};
use pretty_assertions::assert_eq;
use serde_json::Value;

/// A repository with the submodule `sub`, called `inner`, which has an edit, an untracked file and
/// a stash of its own.
fn with_submodule() -> Sandbox {
    let sandbox = Sandbox::new();
    let config = "[protocol \"file\"]\n\tallow = always\n[user]\n\tname = User\n\temail = user@example.com\n[gc]\n\tauto = 0\n[init]\n\ttemplateDir = /nowhere\n";
    fs::write(sandbox.root.join("home/.gitconfig"), config).unwrap();
    sandbox.git("init -q -b main --template= ../library");
    fs::write(sandbox.root.join("library/lib.txt"), "lib\n").unwrap();
    sandbox.git("-C ../library add -A");
    sandbox.git("-C ../library commit -q -m library");
    let library = sandbox.root.join("library").display().to_string();
    sandbox.git(&format!("submodule --quiet add --name inner {library} sub"));
    sandbox.git("commit -q -m submodule");
    sandbox.write("sub/lib.txt", "stashed\n");
    sandbox.git("-C sub stash push -q");
    sandbox.write("sub/lib.txt", "edited\n");
    sandbox.write("sub/new.txt", "new\n");
    sandbox
}

/// The git directory of the submodule without its objects, and the time of its index.
fn module(repo: &Path) -> String {
    let folder = repo.join(".git/modules");
    let mut text = String::new();
    for (path, state) in listing(&folder) {
        if !path.contains("objects/") {
            let _ = writeln!(text, "{path}: {state}");
        }
    }
    let index = fs::metadata(folder.join("inner/index")).unwrap();
    format!("{text}index at {}.{}", index.mtime(), index.mtime_nsec())
}

/// Everything a user could notice, without objects: the attempt adds some.
fn all_but_objects(repo: &Path) -> Vec<String> {
    let text = everything(repo);
    let lines = text.lines().map(str::to_owned);
    lines.filter(|line| !line.contains("/objects/")).collect()
}

#[track_caller]
fn leaves_no_trace(misdeed: &str) {
    let sandbox = with_submodule();
    sandbox.agent(&format!(
        "cp -a . \"$root/at-checkpoint\"\n{misdeed}\ncd \"$root\"; failed no"
    ));
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    let before = sandbox.root.join("at-checkpoint");
    assert_eq!(module(&sandbox.repo), module(&before));
    assert_eq!(all_but_objects(&sandbox.repo), all_but_objects(&before));
    for args in ["status --porcelain", "log --all --format=%s", "stash list"] {
        let at = |folder: &Path| {
            let folder = folder.join("sub").display().to_string();
            sandbox.git(&format!("-C {folder} {args}"))
        };
        assert_eq!(at(&sandbox.repo), at(&before));
    }
    assert_eq!(sandbox.git("-C sub fsck --no-dangling"), "");
    sandbox.agent(GOOD);
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(sandbox.read("sub/lib.txt"), "edited\n");
}

macro_rules! leaves_no_trace {
    ($($name:ident: $misdeed:expr;)*) => {
        mod a_failed_attempt_leaves_no_trace_when_its_agent {
            $(#[test]
            fn $name() {
                super::leaves_no_trace($misdeed);
            })*
        }
    };
}

leaves_no_trace! {
    edits_in_it: "echo x > sub/lib.txt; rm sub/new.txt; echo j > sub/junk";
    commits_in_it: "git -C sub add -A; git -C sub commit -q -m agent";
    commits_in_it_and_above: "git -C sub add -A; git -C sub commit -q -m agent; git add -A; git commit -q -m above";
    switches_branches_in_it: "git -C sub checkout -q -f -b side; git -C sub branch -q -D main";
    stages_in_it: "git -C sub add -A";
    looks_at_it: "git -C sub status; git status";
    drops_its_stash_and_collects_garbage: "git -C sub stash drop -q; git -C sub reflog expire --expire=now --all; git -C sub gc -q --prune=now";
    changes_its_config_and_hooks: "git -C sub config user.name Agent; mkdir -p .git/modules/inner/hooks; echo x > .git/modules/inner/hooks/pre-commit; echo '*' > .git/modules/inner/info/exclude";
    leaves_locks_in_it: "touch .git/modules/inner/index.lock .git/modules/inner/HEAD.lock";
    removes_it: "git submodule --quiet deinit -f sub; git rm -q -f sub; rm -rf .git/modules/inner";
    removes_all_git_directories: "rm -rf .git/modules";
    adds_another: "git submodule --quiet add \"$root/library\" other; git commit -q -m other";
    removes_the_git_directory: "rm -rf .git";
}

#[test]
fn a_story_that_commits_in_a_submodule_records_the_new_commit() {
    let sandbox = with_submodule();
    sandbox.git("-C sub add -A");
    sandbox.agent(&format!("git -C sub commit -q -m agent\n{GOOD}"));
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    let commit = sandbox.git("-C sub rev-parse HEAD");
    assert_eq!(sandbox.git("rev-parse ralph/c:sub"), commit);
    assert_eq!(sandbox.git("status --porcelain"), "");
    assert_eq!(sandbox.events_named("tamper_found"), [] as [Value; 0]);
}

#[test]
fn a_failure_over_a_submodule_is_named_as_one_and_its_files_are_not_ignored_by_git() {
    let sandbox = with_submodule();
    sandbox.config_and("max_retries = 0", "[tamper]\nsubmodules = \"fail\"\n");
    sandbox.write(".gitignore", "*.log\n");
    sandbox.agent(&format!("echo more > sub/n1; echo log > a.log\n{GOOD}"));
    let said = sandbox.run(&["loop", "c"]).ends_with(1).stdout;
    let headline = "`c`: story 1 failed after 1 attempt (work left uncommitted in a submodule)\n";
    assert!(said.contains(headline), "{said}");
    let shown = sandbox
        .run(&["attempts", "show", "1.1"])
        .ends_with(0)
        .stdout;
    for line in [
        "  A a.log  (ignored by git, not in the diff)\n",
        "  A sub/n1  (in a submodule or repository of its own, not in the diff)\n",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
}

/// What was found of submodules: the attempt, the paths, and whether it failed.
fn uncommitted(sandbox: &Sandbox) -> Vec<String> {
    let found = sandbox.events_named("tamper_found");
    let found = found.iter().filter(|it| it["check"] == "submodules");
    let said = found.map(|it| format!("{} {} {}", it["attempt"], it["paths"], it["failed"]));
    said.collect()
}

#[test]
fn work_left_uncommitted_in_a_submodule_is_reported_or_fails_the_attempt() {
    let sandbox = with_submodule();
    // What the user left there is not the attempt's.
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(uncommitted(&sandbox), [] as [&str; 0]);
    sandbox.agent(&format!("echo more > sub/n1\n{GOOD}").replace("echo \"work\"", "true"));
    let output = sandbox.run(&["loop", "c", "--fresh"]).ends_with(0);
    assert_eq!(uncommitted(&sandbox), ["1 [\"sub\"] false"]);
    let said = "work left uncommitted in a submodule is in no commit: `sub`";
    assert!(output.stdout.contains(said), "{}", output.stdout);
    let is_empty = |warning: &String| warning.contains("nothing but boxes");
    assert!(!sandbox.warnings().iter().any(is_empty));
    assert_eq!(sandbox.read("sub/n1"), "more\n");

    let sandbox = with_submodule();
    sandbox.config_and("", "[tamper]\nsubmodules = \"fail\"\n");
    sandbox.write("sub/.gitignore", "cache\n");
    sandbox.agent(&format!(
        "echo x > sub/cache\n\
         case \"$prompt\" in *\"commit in \\`sub\\`\"*) tries=2 ;; *) tries=1 ;; esac\n\
         [ $RALPHTOOL_STORY = 2 ] || {{ echo more > sub/n1; [ $tries = 1 ] || {{\n\
         git -C sub add n1; git -C sub commit -q -m agent; }}; }}\n{GOOD}"
    ));
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(uncommitted(&sandbox), ["1 [\"sub\"] true"]);
    let failed = &sandbox.events_named("attempt_failed")[0];
    assert_eq!(failed["kind"], "submodule");
    assert_eq!(
        failed["reason"],
        "work left uncommitted in a submodule is in no commit: `sub`; commit in `sub`"
    );
    assert_eq!(
        sandbox.git("rev-parse ralph/c:sub"),
        sandbox.git("-C sub rev-parse HEAD")
    );
}

#[test]
fn the_index_of_a_nested_repository_gets_its_time_back() {
    let sandbox = Sandbox::new();
    sandbox.git("init -q --template= nested");
    sandbox.write("nested/file", "one\n");
    sandbox.git("-C nested add -A");
    sandbox.git("-C nested commit -q -m nested");
    let time = || {
        let index = fs::metadata(sandbox.repo.join("nested/.git/index")).unwrap();
        (index.mtime(), index.mtime_nsec())
    };
    let before = time();
    sandbox.agent("echo x > nested/other; git -C nested add -A; failed no");
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    assert_eq!(time(), before);
    assert_eq!(sandbox.git("-C nested status --porcelain"), "");
}

#[test]
fn a_submodule_of_a_linked_work_tree_is_restored_too() {
    let sandbox = with_submodule();
    sandbox.git("worktree add -q -b side ../other");
    sandbox.git("-C ../other submodule --quiet update --init");
    let other = sandbox.root.join("other");
    let modules = sandbox.repo.join(".git/worktrees/other/modules");
    let state = || {
        let mut found = listing(&modules);
        found.retain(|path, _| !path.contains("objects/"));
        found
    };
    let before = state();
    sandbox.agent(
        "echo x > sub/lib.txt; git -C sub commit -q -a -m agent; git -C sub checkout -q -b side; failed no",
    );
    let folder = other.display().to_string();
    sandbox
        .run(&["-C", &folder, "loop", "c", "--max-retries", "0"])
        .ends_with(1);
    assert_eq!(state(), before);
    assert_eq!(
        sandbox.git(&format!("-C {folder}/sub status --porcelain")),
        ""
    );
}

#[test]
fn files_of_a_submodule_that_a_story_makes_pipes_or_long_holes_are_restored_without_being_read() {
    for deed in ["truncate -s 2G $file", "rm $file; mkfifo $file"] {
        is_restored_after(deed);
    }
}

#[track_caller]
fn is_restored_after(deed: &str) {
    let sandbox = with_submodule();
    let head = sandbox.read(".git/modules/inner/HEAD");
    sandbox.agent(&format!(
        "for file in HEAD config; do file=.git/modules/inner/$file; {deed}; done\n{GOOD}"
    ));
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(sandbox.read(".git/modules/inner/HEAD"), head);
    let told = sandbox.warnings().join("\n");
    assert!(told.contains(".git/modules/inner/HEAD"), "{told}");
    assert_eq!(
        sandbox.git("-C sub rev-parse --is-bare-repository"),
        "false\n"
    );
}
