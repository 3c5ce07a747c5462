//! Power cuts: a history of commands runs on a file system whose disk records every write and every
//! flush. The disk is then cut at random events: what was not flushed is lost, all of it, from some
//! write on, in part, or with torn writes. What is left is mounted as after a restart of the machine,
//! the program starts again, and the history continues to its end, where everything must be as after
//! the history without a cut.
//!
//! `RALPHTOOL_CUTS=300 cargo test --release --test power_cut -- --ignored --nocapture` makes 300
//! cuts and prints them with their violations, by command and by what was lost; `RALPHTOOL_SEED`
//! draws others, `RALPHTOOL_KEEP_CUTS=DIR` keeps the disks of violations. It needs root, FUSE, loop
//! devices and `mkfs.ext4`; where one is missing it says so and is skipped, unless
//! `RALPHTOOL_REQUIRE_POWER_CUTS=1`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot continue")]
#![allow(
    clippy::print_stderr,
    reason = "the figures are for the reader of the log"
)]

#[path = "power_cut/mod.rs"]
mod power_cut;
mod sandbox;

use power_cut::Cuts;

#[test]
fn a_cut_takes_what_was_not_synced_and_nothing_else() {
    if let Some(left) = power_cut::left_of_two_files() {
        assert_eq!(left, ["synced: one\n"]);
    }
}

#[test]
#[ignore = "takes minutes"]
fn a_history_survives_power_cuts() {
    let cuts = number("RALPHTOOL_CUTS").unwrap_or(40);
    let seed = number("RALPHTOOL_SEED").unwrap_or(1);
    if let Some(figures) = Cuts::make(cuts, seed as u64) {
        assert!(
            figures.violations.is_empty(),
            "{} violations",
            figures.violations.len()
        );
    }
}

fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}
