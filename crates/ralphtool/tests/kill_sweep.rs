//! The kill sweep: each command of a scripted history is killed, alone or with everything it
//! started, at its own points, in the middle of its git processes and at random times. The next start
//! recovers, the command runs again if it had not taken effect, and then everything must be as if
//! there had been no kill.
//!
//! `cargo test` takes a small sample. `cargo test --test kill_sweep -- --ignored --nocapture` takes
//! every point of the short history, each fourth of the whole one, and in a rich repository each
//! twelfth point, each third change that git makes to the disk (`RALPHTOOL_STRIDE=1`: every one), and
//! drawn kills. `RALPHTOOL_PROGRAM` names another program to kill, such as an older one.
//! `RALPHTOOL_KILLS=10000 cargo test --release --test kill_sweep drawn -- --ignored --nocapture`
//! draws the given number of kills, `RALPHTOOL_SEED` draws others.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]
#![allow(
    clippy::print_stderr,
    reason = "the figures are for the reader of the log"
)]

mod history;
mod sandbox;

use history::{History, Sweep, What};

#[test]
fn a_short_history_survives_a_kill_at_each_thirtieth_point() {
    let swept = Sweep::new(History::short(), What::PointsWithChildren(30)).run();
    assert!(swept.kills() > 8, "{swept}");
}

#[test]
fn a_rich_repository_survives_a_sample_of_kills() {
    let drawn = What::Drawn {
        seed: seed(),
        kills: 6,
    };
    let swept = Sweep::new(History::rich_and_short(), drawn).run();
    assert!(swept.kills() >= 6, "{swept}");
}

#[test]
fn a_history_in_sessions_survives_a_kill_at_each_thirtieth_point() {
    let swept = Sweep::new(History::in_sessions(), What::PointsWithChildren(30)).run();
    assert!(swept.kills() > 8, "{swept}");
}

#[test]
#[ignore = "takes minutes"]
fn a_history_in_sessions_survives_kills_at_points_and_at_random_times() {
    let what = What::PointsWithChildren(stride(3));
    let swept = Sweep::new(History::in_sessions(), what).run();
    assert!(swept.kills() > 10, "{swept}");
    let drawn = What::Drawn {
        seed: seed(),
        kills: 40,
    };
    Sweep::new(History::in_sessions(), drawn).run();
}

#[test]
#[ignore = "takes a minute"]
fn a_short_history_survives_a_kill_at_every_point() {
    let swept = Sweep::new(History::short(), What::Points(stride(1))).run();
    assert!(swept.kills() > 10, "{swept}");
}

#[test]
#[ignore = "takes minutes"]
fn the_whole_history_survives_kills_at_points_of_every_command() {
    let what = What::PointsWithChildren(stride(4));
    let swept = Sweep::new(History::whole(), what).run();
    assert!(swept.kills() > 10, "{swept}");
}

#[test]
#[ignore = "takes minutes"]
fn a_rich_repository_survives_kills_at_points_of_every_command() {
    let what = What::PointsWithChildren(stride(12));
    let swept = Sweep::new(History::rich(), what).run();
    assert!(swept.kills() > 10, "{swept}");
}

#[test]
#[ignore = "takes minutes"]
fn a_rich_repository_survives_kills_in_the_middle_of_git_in_every_command() {
    if !sandbox::can_stop_git() {
        eprintln!("skipped: there is no C compiler, or git cannot be stopped on this system");
        return;
    }
    let swept = Sweep::new(History::rich(), What::GitChanges(stride(3))).run();
    assert!(swept.kills() > 10, "{swept}");
}

#[test]
#[ignore = "takes as long as RALPHTOOL_KILLS says"]
fn drawn_kills_lose_nothing_in_a_rich_repository() {
    let kills = number("RALPHTOOL_KILLS").unwrap_or(100);
    let drawn = What::Drawn {
        seed: seed(),
        kills: usize::try_from(kills).unwrap(),
    };
    Sweep::new(History::rich(), drawn).run();
}

/// `RALPHTOOL_SEED`, so that a failure can be seen again.
fn seed() -> u64 {
    number("RALPHTOOL_SEED").unwrap_or(1)
}

/// How far the places are apart at which a history is killed.
fn stride(usual: usize) -> usize {
    let asked = number("RALPHTOOL_STRIDE");
    asked.map_or(usual, |asked| usize::try_from(asked).unwrap())
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
