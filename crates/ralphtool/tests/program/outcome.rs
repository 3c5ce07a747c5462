//! A few changes of the outcome benchmark (`examples/bench_outcome`): with gates there is no false
//! "done", and without them there is.

#[path = "../../examples/bench_outcome/bench/mod.rs"]
#[allow(dead_code, reason = "figures are for people")]
mod bench;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use bench::catalogue::{BASE, Case, FUNCTIONS};
use bench::draw::{Deed, SHARES, draw};
use bench::figures::Figures;
use bench::{Series, Setting};
use pretty_assertions::assert_eq;

/// Two changes without an agent that hangs, which costs time, and with almost every other misdeed.
const SEED: u64 = 33_204;

#[test]
fn with_gates_there_is_no_false_done() {
    let series = Series {
        program: Path::new(env!("CARGO_BIN_EXE_ralphtool")),
        seed: SEED,
        changes: 2,
        max_retries: 3,
        idle: Duration::from_secs(60),
        jobs: 2,
    };
    let [without, with] = [Setting::Off, Setting::On].map(|it| series.run(it, |_| ()).unwrap());
    let attempts = with.iter().flat_map(|record| &record.attempts);
    let misdeeds: BTreeSet<String> = attempts
        .filter(|attempt| matches!(attempt.deed, Deed::Lie | Deed::Damage))
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        misdeeds.iter().map(String::as_str).collect::<Vec<_>>(),
        [
            "damage (delete)",
            "damage (empty)",
            "damage (refit)",
            "damage (skip)",
            "lie (boxes)",
            "lie (fitted)",
            "lie (nothing)",
            "lie (stub)",
        ]
    );
    let with = Figures::of(Setting::On, &with, Duration::ZERO);
    assert_eq!((with.really_done, with.falsely_done), (1, 0), "{with:?}");
    assert_eq!((with.exhausted, with.false_stories), (1, 0), "{with:?}");
    let without = Figures::of(Setting::Off, &without, Duration::ZERO);
    assert_eq!(without.claimed, 2, "{without:?}");
    assert_eq!(without.falsely_done, 2, "{without:?}");
}

#[test]
fn behaviours_are_drawn_with_their_shares() {
    let mut counts: BTreeMap<Deed, u64> = BTreeMap::new();
    let rounds = 20_000;
    for number in 0..rounds {
        let attempt = draw(7, number / 40, 4, number % 40);
        assert!(attempt.victim < 4);
        *counts.entry(attempt.deed).or_default() += 1;
    }
    for (deed, share) in SHARES {
        let wanted = rounds * share / 100;
        let off = counts[&deed].abs_diff(wanted);
        assert!(off * 10 < wanted, "{deed:?}: {counts:?}");
    }
}

#[test]
fn each_check_tells_a_right_function_from_a_wrong_one() {
    for function in FUNCTIONS.iter().chain([&BASE]) {
        for cases in [function.tested, function.accepted, function.hidden] {
            let answers = |code: &str| -> Vec<String> {
                let calls = cases
                    .iter()
                    .map(|(it, ..)| format!("({} {it})\n", function.name));
                let script = format!("{code}\n{}", calls.collect::<String>());
                let output = Command::new("sh").args(["-c", &script]).output().unwrap();
                let text = String::from_utf8(output.stdout).unwrap();
                text.lines().map(str::to_owned).collect()
            };
            let wanted = |pick: fn(&Case) -> &str| -> Vec<String> {
                cases.iter().map(|case| pick(case).to_owned()).collect()
            };
            let (right, wrong) = (wanted(|case| case.1), wanted(|case| case.2));
            assert_eq!(answers(&function.code()), right, "{}", function.name);
            assert_eq!(answers(&function.broken()), wrong, "{}", function.name);
            assert_ne!(right, wrong, "{}", function.name);
        }
    }
}
