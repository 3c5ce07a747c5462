//! A few changes of the outcome benchmark (`examples/bench_outcome`): with gates there is no false
//! "done", and without them there is.

#[path = "../../examples/bench_outcome/bench/mod.rs"]
#[allow(dead_code, reason = "figures are for people")]
mod bench;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use bench::Series;
use bench::catalogue::{BASE, Case, FUNCTIONS};
use bench::chance::{Answer, Odds, answer};
use bench::draw::{Deed, SHARES, draw};
use bench::figures::Figures;
use bench::setup::{self, Setup};
use bench::starts::Starts;
use bench::tokens::{Model, Session, Start, Used, Work};
use pretty_assertions::assert_eq;

/// Two changes without an agent that hangs, which costs time, and with almost every other misdeed.
const SEED: u64 = 33_204;

fn series(seed: u64, changes: u64) -> Series<'static> {
    Series {
        program: Path::new(env!("CARGO_BIN_EXE_ralphtool")),
        seed,
        changes,
        max_retries: 3,
        repairs: 2,
        odds: Odds {
            flake: 0,
            ..Odds::USUAL
        },
        idle: Duration::from_secs(60),
        jobs: 2,
    }
}

fn figures(series: &Series<'_>, setup: Setup) -> Figures {
    let records = series.run(&setup, |_| ()).unwrap();
    Figures::of(setup, &records, Duration::ZERO)
}

#[test]
fn with_gates_there_is_no_false_done() {
    let series = series(SEED, 2);
    let with = series.run(&setup::RETRY, |_| ()).unwrap();
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
    let with = Figures::of(setup::RETRY, &with, Duration::ZERO);
    assert_eq!((with.really_done, with.falsely_done), (1, 0), "{with:?}");
    assert_eq!((with.exhausted, with.false_stories), (1, 0), "{with:?}");
    let without = figures(&series, setup::OFF);
    assert_eq!(without.claimed, 2, "{without:?}");
    assert_eq!(without.falsely_done, 2, "{without:?}");
}

#[test]
fn with_repairs_the_same_changes_take_fewer_attempts() {
    let series = series(SEED, 2);
    let repaired = figures(&series, setup::REPAIR);
    assert_eq!(repaired.falsely_done, 0, "{repaired:?}");
    assert_eq!(repaired.others, [""; 0], "{repaired:?}");
    assert!(repaired.starts.again > 0, "{repaired:?}");
    let fresh = figures(&series, setup::RETRY);
    assert_eq!(fresh.starts.again, 0, "{fresh:?}");
    let per_story = |it: &Figures| it.attempts * 100 / it.true_stories;
    assert!(per_story(&repaired) < per_story(&fresh), "{repaired:?}");
}

#[test]
fn a_continued_session_pays_for_its_context_once_more_but_does_not_read_it_again() {
    let model = Model {
        reading_turns: 2,
        reading: 100,
        working: 10,
        instructions: 50,
        cached: 10,
    };
    let mut session = Session::new(model);
    // 50 new; then 100 new twice with 50 and 150 cached; then 10 new twice with 250 and 260 cached.
    let first = Start::First(Work::Nothing);
    let used = session.run(first);
    assert_eq!(
        used,
        Used {
            warm: 50 + 105 + 115 + 35 + 36,
            cold: 341
        }
    );
    // Eight turns of 10 new, with 270, 280, … 340 cached.
    let again = session.run(Start::Again(Answer::Fix));
    let cached = 27 + 28 + 29 + 30 + 31 + 32 + 33 + 34;
    let warm = 80 + cached;
    assert_eq!(
        again,
        Used {
            warm,
            cold: warm - 27 + 270
        }
    );
    // A new attempt begins without a context.
    assert_eq!(session.run(first), used);
}

#[test]
fn processes_are_counted_and_paid_by_their_sessions() {
    let text = "first 1.1 lie stub\nagain 1.1 wrong\nfirst 1.2 crash code\nreview 1\n";
    let starts = Starts::read(text, Model::USUAL).unwrap();
    assert_eq!((starts.first, starts.again, starts.reviews), (2, 1, 1));
    let mut one = Session::new(Model::USUAL);
    let mut used = one.run(Start::First(Work::Whole));
    used.add(one.run(Start::Again(Answer::Wrong)));
    used.add(Session::new(Model::USUAL).run(Start::First(Work::Half)));
    used.add(Session::new(Model::USUAL).run(Start::Review));
    assert_eq!(starts.used, used);
    assert!(Starts::read("first 1.1 dance -\n", Model::USUAL).is_err());
}

#[test]
fn answers_are_drawn_with_their_odds() {
    let rounds = 20_000;
    let count = |wanted: Answer| {
        let answers = (0..rounds).map(|it| answer(Odds::USUAL, 7, [it, 1, 1], 2));
        answers.filter(|answer| *answer == wanted).count()
    };
    for (wanted, share) in [
        (Answer::Fix, 70),
        (Answer::Nothing, 15),
        (Answer::Wrong, 15),
    ] {
        let off = count(wanted).abs_diff(20_000 * share / 100);
        assert!(off < 400, "{wanted:?}: {off}");
    }
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
