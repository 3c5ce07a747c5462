//! The fault table: what an agent, a user, git's settings or the machine does to a repository, one
//! test per fault. `docs/faults.md` has the table; some names begin with the id of their row.
//!
//! Each test is the real program on a real repository with a shell script for an agent.

mod damage;
mod discovery;
mod environment;
mod filters;
mod git_by_agent;
mod ignored;
mod index;
mod kinds;
mod names;
mod nested;
mod removal;
mod repair;
mod rights;
mod settings;
mod start;
mod times;
mod tree;
mod user;

use std::fs;
use std::path::Path;

use pretty_assertions::assert_eq;
use rustix::process::Signal;

use crate::sandbox::{GOOD, Sandbox, everything, files, there, until};

/// A repository in which a shell line was run by its user.
#[track_caller]
fn prepared(before: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    shell(&sandbox, before);
    sandbox
}

/// Runs a shell line as the user would; it must succeed.
#[track_caller]
fn shell(sandbox: &Sandbox, line: &str) {
    let mut command = sandbox.command("sh");
    command
        .args(["-ec", line])
        .env("root", &sandbox.root)
        .env("GIT_ALLOW_PROTOCOL", "file");
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {told}");
}

/// One attempt does something and fails: everything is as at the checkpoint, and the next run can
/// work.
#[track_caller]
fn leaves_no_trace(before: &str, misdeed: &str) -> Sandbox {
    let sandbox = prepared(before);
    fails_without_a_trace(&sandbox, misdeed);
    goes_on(&sandbox);
    sandbox
}

/// One attempt does something and fails: everything is as at the checkpoint.
#[track_caller]
fn fails_without_a_trace(sandbox: &Sandbox, misdeed: &str) {
    fails(sandbox, misdeed);
    let before = everything(&sandbox.root.join("at-checkpoint"));
    assert_eq!(everything(&sandbox.repo), before);
    assert_eq!(sandbox.git("fsck --no-dangling --connectivity-only"), "");
}

/// The same for the work tree alone: where git itself runs filters, its status of a copy differs
/// from its status of the tree.
#[track_caller]
fn files_come_back(sandbox: &Sandbox, misdeed: &str) {
    fails(sandbox, misdeed);
    let before = files(&sandbox.root.join("at-checkpoint"));
    assert_eq!(files(&sandbox.repo), before);
    assert_eq!(sandbox.branch(), "ralph/c");
}

/// The one attempt of a run copies the tree, does something and fails.
#[track_caller]
fn fails(sandbox: &Sandbox, misdeed: &str) {
    sandbox.agent(&format!(
        "cp -a . \"$root/at-checkpoint\"\n{misdeed}\ncd \"$root\"; failed no"
    ));
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
}

/// The next run does the first story.
#[track_caller]
fn goes_on(sandbox: &Sandbox) {
    sandbox.agent(GOOD);
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(sandbox.read("story-1.txt"), "work\n");
    assert_eq!(sandbox.git("log -1 --format=%s ralph/c"), "checkpoint: 1\n");
}

/// A run that was killed after its agent had damaged something.
fn killed_after(before: &str, misdeed: &str) -> Sandbox {
    let sandbox = prepared(before);
    sandbox.agent(&format!(
        "{misdeed}\necho idea > idea.txt; touch $root/here; wait_for $root/never"
    ));
    let running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here")));
    running.signal(Signal::KILL);
    running.end().ends_with(137);
    sandbox.agent(GOOD);
    sandbox
}

/// Story 1 does something and succeeds, story 2 fails: what story 1 made is all there.
#[track_caller]
fn is_saved(before: &str, deed: &str) -> Sandbox {
    let sandbox = prepared(before);
    sandbox.agent(&format!(
        "if [ $RALPHTOOL_STORY = 1 ]; then
             {deed}
             cd {repo}; tick 1; cp -a . \"$root/done\"; complete; exit
         fi
         find . -mindepth 1 -maxdepth 1 ! -name .git ! -name openspec -exec rm -rf {{}} +
         failed no",
        repo = sandbox.repo.display(),
    ));
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    assert_eq!(files(&sandbox.repo), files(&sandbox.root.join("done")));
    assert_eq!(sandbox.branch(), "ralph/c");
    assert_eq!(sandbox.git("log -1 --format=%s"), "checkpoint: 1\n");
    assert_eq!(sandbox.git("fsck --no-dangling --connectivity-only"), "");
    sandbox
}

/// A whole run that ends with a cleanup.
#[track_caller]
fn goes_home(sandbox: &Sandbox) {
    sandbox
        .run(&["loop", "c", "--on-finish", "cleanup"])
        .ends_with(0);
    assert_eq!(sandbox.read("story-2.txt"), "work\n");
    assert_eq!(sandbox.git("branch --list ralph/*"), "");
}

/// Git in the vault's own store.
#[track_caller]
fn store(sandbox: &Sandbox, args: &str) -> String {
    let store = format!("--git-dir={}", sandbox.vault().join("store").display());
    let mut all = vec![store.as_str()];
    all.extend(args.split(' '));
    sandbox.git_args(&all)
}

/// A file of the attempt that was parked last.
#[track_caller]
fn parked(sandbox: &Sandbox, path: &str) -> String {
    let run = sandbox.runs().pop().unwrap();
    let run = run.file_name().unwrap().to_string_lossy().into_owned();
    store(sandbox, &format!("show refs/parked/{run}/1.1:{path}"))
}

/// Every test of these files is in the table, and every test the table names exists.
#[test]
fn the_table_and_the_tests_name_each_other() {
    let top = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    // Tests of the program are named without the folder of their crate.
    let read = |path: &str| {
        let path = match path.strip_prefix("tests/") {
            Some(rest) => top.join("crates/ralphtool/tests").join(rest),
            None => top.join(path),
        };
        fs::read_to_string(path).unwrap()
    };
    let table = read("docs/faults.md");
    let named: Vec<(&str, &str)> = table
        .split('`')
        .filter(|word| !word.starts_with("cargo "))
        .filter_map(|word| word.split_once("::"))
        .collect();
    assert!(named.len() > 100, "{}", named.len());
    for (file, test) in &named {
        assert!(
            read(file).contains(&format!("fn {test}(")),
            "{file}::{test}"
        );
    }
    for entry in fs::read_dir(top.join("crates/ralphtool/tests/program/faults")).unwrap() {
        let file = format!(
            "tests/program/faults/{}",
            entry.unwrap().file_name().display()
        );
        let text = read(&file);
        let tests = text.split("#[test]\nfn ").skip(1);
        for test in tests.filter_map(|rest| rest.split('(').next()) {
            let is_row = test.starts_with("f0") || test.starts_with("f1") || test.starts_with("f2");
            assert!(!is_row || named.contains(&(&file, test)), "{file}::{test}");
        }
    }
}
