//! Hostile agents, generated: small programs of misdeeds on the git directory, the tree and file
//! modes, each carried out by an agent of the real program in a rich repository, as a user who is
//! not root. After each: nothing outside of the repository changed, no command hangs, restore and
//! abandon are exact or a named exception of docs/limits.md, and no run is stuck.
//!
//! `cargo test --test hostile` runs a few; `RALPHTOOL_HOSTILE=2000 cargo test --release --test
//! hostile -- --ignored --nocapture` runs the given number and prints programs and violations by
//! target and by misdeed. `RALPHTOOL_HOSTILE=each` runs each misdeed on each target alone.
//! `RALPHTOOL_SEED=7` draws others; a violation prints its seed and its program, shrunk.
//! `RALPHTOOL_PROGRAM=PATH` tries another build of the program. `RALPHTOOL_HOSTILE_ONLY='.git/hooks link_folder'` runs one misdeed alone.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test ends where it cannot go on, and says what it did"
)]

mod misdeed;
#[path = "../sandbox/mod.rs"]
mod sandbox;
mod tally;
mod trial;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngSeed, TestRunner};

use misdeed::{DEEDS, Misdeed, Program, TARGETS, program};
use tally::Tally;
use trial::{Template, Violation, try_out};

/// At most this many attempts to make a program that violates something smaller.
const SHRINKING: usize = 24;

#[test]
fn a_few_hostile_agents_do_no_harm() {
    let tally = run(Choice::Drawn { seed: 1 }, 8);
    assert_eq!(tally.violations(), 0, "{tally}");
}

#[test]
#[ignore = "runs as many programs as RALPHTOOL_HOSTILE says"]
fn hostile_agents_do_no_harm() {
    let start = Instant::now();
    if let Ok(only) = std::env::var("RALPHTOOL_HOSTILE_ONLY") {
        return run_one(&only);
    }
    let seed = number("RALPHTOOL_SEED").unwrap_or(1);
    let tally = if std::env::var("RALPHTOOL_HOSTILE").is_ok_and(|it| it == "each") {
        run(Choice::Each, (TARGETS.len() * DEEDS.len()) as u64)
    } else {
        let programs = number("RALPHTOOL_HOSTILE").unwrap_or(120);
        run(Choice::Drawn { seed }, programs)
    };
    let seconds = start.elapsed().as_secs();
    eprintln!("{tally}{seconds} seconds, seed {seed}");
    assert_eq!(tally.violations(), 0);
}

/// Which programs are run.
#[derive(Debug, Clone, Copy)]
enum Choice {
    /// Drawn at random.
    Drawn { seed: u64 },
    /// Each misdeed on each target, in attempts that fail.
    Each,
}

/// Runs programs on as many threads as there are processors.
fn run(choice: Choice, programs: u64) -> Tally {
    let (template, start) = (Template::new(), Instant::now());
    let next = AtomicU64::new(0);
    let tally = Mutex::new(Tally::default());
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= programs {
                        return;
                    }
                    let (program, found) = match choice {
                        Choice::Drawn { seed } => draw(&template, seed * 1_000_000 + number),
                        Choice::Each => {
                            let program = Program::alone(usize::try_from(number).unwrap());
                            let found = try_out(&template, &program);
                            (program, found)
                        }
                    };
                    if let Some(violation) = &found {
                        eprintln!("program {number}: {violation}\n{program}");
                    }
                    tally.lock().unwrap().count(&program, found);
                    if number % 100 == 99 {
                        eprintln!("{} programs after {:?}", number + 1, start.elapsed());
                    }
                }
            });
        }
    });
    tally.into_inner().unwrap()
}

/// Tries one program out; where it violates something, a smaller one that does so too.
fn draw(template: &Template, number: u64) -> (Program, Option<Violation>) {
    let config = Config {
        rng_seed: RngSeed::Fixed(number),
        failure_persistence: None,
        ..Config::default()
    };
    let mut tree = program().new_tree(&mut TestRunner::new(config)).unwrap();
    let mut smallest = tree.current();
    let Some(mut violation) = try_out(template, &smallest) else {
        return (smallest, None);
    };
    if violation.rule == "hang" {
        // Each try would take as long.
        return (smallest, Some(violation));
    }
    let mut moved = tree.simplify();
    for _ in 0..SHRINKING {
        if !moved {
            break;
        }
        moved = match try_out(template, &tree.current()) {
            Some(found) => {
                (smallest, violation) = (tree.current(), found);
                tree.simplify()
            }
            None => tree.complicate(),
        };
    }
    (smallest, Some(violation))
}

/// Runs the misdeeds named in the environment, such as `.git/HEAD to_fifo;.git/index remove`.
fn run_one(only: &str) {
    let deeds = only.split(';').map(|words| Misdeed::parse(words).unwrap());
    let program = Program {
        misdeeds: deeds.collect(),
        succeeds: std::env::var_os("RALPHTOOL_HOSTILE_SUCCEEDS").is_some(),
    };
    let found = try_out(&Template::new(), &program);
    assert!(found.is_none(), "{}\n{program}", found.unwrap());
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
