//! The kill sweep: a scripted history is run once per point at which the program can be ended with
//! SIGKILL; after each kill the next start recovers, the history goes on to its end, and what is
//! there then must be what the history leaves that nobody killed.
//!
//! `cargo test` kills a short history at each seventh point;
//! `cargo test --test kill_sweep -- --ignored --nocapture` sweeps that and the whole history at all
//! of them and samples double kills.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]
#![allow(
    clippy::print_stderr,
    reason = "the figures are for the reader of the log"
)]

mod history;
mod sandbox;

use history::{History, Sweep};

#[test]
fn a_short_history_survives_a_kill_at_each_seventh_point() {
    let swept = Sweep::new(History::short()).every(7).run();
    assert!(swept.points > 25, "{swept:?}");
}

#[test]
#[ignore = "takes a minute"]
fn a_short_history_survives_a_kill_at_every_point() {
    let swept = Sweep::new(History::short()).run();
    assert!(swept.points > 100, "{swept:?}");
}

#[test]
#[ignore = "takes minutes"]
fn the_whole_history_survives_a_kill_at_every_point() {
    let swept = Sweep::new(History::whole()).run();
    assert!(swept.points > 500, "{swept:?}");
}

#[test]
#[ignore = "takes minutes"]
fn the_whole_history_survives_a_second_kill_while_it_recovers() {
    let swept = Sweep::new(History::whole()).doubled(seed(), 80).run();
    assert!(swept.double > 40, "{swept:?}");
}

/// `RALPHTOOL_SEED`, so that a failure can be seen again.
fn seed() -> u64 {
    std::env::var("RALPHTOOL_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(1)
}
