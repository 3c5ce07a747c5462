//! How often a run makes everything durable. A test cannot measure what each time costs on a disk,
//! but it can count how often it happens.
//!
//! Only a debug build lists the points it passes, and only Linux can tell an outage from a kill.

#![cfg(all(debug_assertions, target_os = "linux"))]

use std::fmt::Write as _;
use std::fs;

use crate::sandbox::{GOOD, Sandbox};
use pretty_assertions::assert_eq;

/// Runs a change of some stories; how often whole file systems were synced.
fn syncs(stories: usize, agent: &str) -> usize {
    let sandbox = Sandbox::on_disk();
    let tasks = (1..=stories).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "## {number}. Story\n- [ ] {number}.1 Do it\n");
        text
    });
    sandbox.tasks(&tasks);
    sandbox.agent(agent);
    let log = sandbox.root.join("points");
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command.args(["loop", "c", "--on-finish", "keep"]);
    command.env("RALPHTOOL_KILL_LOG", &log);
    sandbox.start_command(command).end().ends_with(0);
    assert_eq!(sandbox.commits().len(), stories + 1);
    let points = fs::read_to_string(log).unwrap();
    points
        .lines()
        .filter(|line| line.ends_with(" Sync"))
        .count()
}

#[test]
fn a_story_that_succeeds_is_synced_once() {
    assert_eq!(syncs(4, GOOD) - syncs(1, GOOD), 3);
}

#[test]
fn an_attempt_that_is_parked_and_tried_again_is_synced_once_more() {
    let failing = format!("if [ $attempt = 1 ]; then echo spoilt > new.txt; exit 1; fi\n{GOOD}");
    assert_eq!(syncs(4, &failing) - syncs(1, &failing), 6);
}
