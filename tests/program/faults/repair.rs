//! A git directory that lost a part, all of it, or holds wrong bytes: only the part is repaired, and
//! what was in it besides objects and refs comes back too.

use std::fs;

use pretty_assertions::assert_eq;

use crate::faults::{goes_on, leaves_no_trace, prepared};
use crate::sandbox::{GOOD, Sandbox, everything};

#[test]
fn replace_refs_of_a_failed_attempt_go_and_those_of_the_user_stay() {
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

/// The line of the one file of ours in a git directory.
fn id_line(sandbox: &Sandbox) -> String {
    let text = everything(&sandbox.repo);
    let line = text
        .lines()
        .find(|line| line.starts_with(".git/ralphtool.id"));
    line.map(|line| format!("{line}\n")).unwrap_or_default()
}

#[test]
fn a_repository_in_a_folder_with_a_new_line_in_its_name() {
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
