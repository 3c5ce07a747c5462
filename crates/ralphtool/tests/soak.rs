//! The soak: random histories as in the model test, for the given time, in rich repositories and
//! with the program that users run: a release build, killed from outside at random times with
//! everything it started.
//!
//! `RALPHTOOL_SOAK_MINUTES=20 cargo test --release --test soak -- --ignored --nocapture`;
//! `RALPHTOOL_SEED` draws other histories. It prints kills and violations by command. After a
//! violation it keeps the folder with the repository and its vault, and prints the history.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test ends where it cannot go on, and says what it did"
)]

mod recoverable;
mod sandbox;
mod world;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngSeed, TestRunner};

use world::{Going, Killing, Step, Tally, World, soak_step};

/// Steps of one history; about half of them are commands.
const STEPS: usize = 30;

const MINUTE: Duration = Duration::from_secs(60);

/// What all threads together did.
#[derive(Default)]
struct Soak {
    histories: AtomicUsize,
    runs: AtomicUsize,
    kills: AtomicUsize,
    violations: AtomicUsize,
    /// Kills and violations by command.
    commands: Mutex<BTreeMap<&'static str, (usize, usize)>>,
}

#[test]
#[ignore = "takes as long as RALPHTOOL_SOAK_MINUTES says"]
fn random_histories_lose_nothing_however_long() {
    let minutes = number("RALPHTOOL_SOAK_MINUTES").unwrap_or(1);
    let seed = number("RALPHTOOL_SEED").unwrap_or(1);
    let soak = Soak::default();
    let start = Instant::now();
    let end = start + MINUTE * u32::try_from(minutes).unwrap();
    std::thread::scope(|scope| {
        let workers = std::thread::available_parallelism().map_or(2, usize::from) as u64;
        let soak = &soak;
        for worker in 0..workers {
            scope.spawn(move || soak.work(seed * workers + worker, end));
        }
        for minute in 1..minutes {
            let next = start + MINUTE * u32::try_from(minute).unwrap();
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            soak.say(minute, seed);
        }
    });
    soak.say(minutes, seed);
    soak.say_commands();
    assert_eq!(soak.violations.into_inner(), 0);
}

impl Soak {
    /// One history after the other, each with a repository of its own.
    fn work(&self, seed: u64, end: Instant) {
        let mut runner = TestRunner::new(Config {
            rng_seed: RngSeed::Fixed(seed),
            failure_persistence: None,
            ..Config::default()
        });
        let mut killing = Killing::AtTimes(BTreeMap::new());
        while Instant::now() < end {
            killing = self.history(&mut runner, killing, end);
            self.histories.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn history(&self, runner: &mut TestRunner, killing: Killing, end: Instant) -> Killing {
        let mut world = World::rich(killing);
        let mut has_run = false;
        for _ in 0..STEPS {
            let next = soak_step(has_run).new_tree(runner).unwrap().current();
            has_run |= matches!(next, Step::Command(..));
            let before = world.tally;
            let result = world.apply(&next);
            self.count(before, world.tally);
            self.count_commands(std::mem::take(&mut world.kills), &next, result.is_err());
            match result {
                Ok(Going::On) if Instant::now() < end => {}
                Ok(_) => break,
                Err(violation) => {
                    self.violations.fetch_add(1, Ordering::Relaxed);
                    let report = world.report(&violation);
                    let (folder, killing) = world.keep();
                    eprintln!("{report}\nkept: {}\n", folder.display());
                    return killing;
                }
            }
        }
        world.into_killing()
    }

    fn count(&self, before: Tally, now: Tally) {
        self.runs
            .fetch_add(now.runs - before.runs, Ordering::Relaxed);
        self.kills
            .fetch_add(now.kills - before.kills, Ordering::Relaxed);
    }

    fn count_commands(&self, kills: BTreeMap<&'static str, usize>, step: &Step, is_violated: bool) {
        let mut commands = self.commands.lock().unwrap();
        for (name, kills) in kills {
            commands.entry(name).or_default().0 += kills;
        }
        if let (Step::Command(command, _), true) = (step, is_violated) {
            commands.entry(command.name()).or_default().1 += 1;
        }
    }

    fn say_commands(&self) {
        eprintln!("| command | kills | violations |\n| --- | --- | --- |");
        for (command, (kills, violations)) in &*self.commands.lock().unwrap() {
            eprintln!("| `{command}` | {kills} | {violations} |");
        }
    }

    fn say(&self, minutes: u64, seed: u64) {
        let read = |number: &AtomicUsize| number.load(Ordering::Relaxed);
        eprintln!(
            "soak: {minutes} minutes, {} runs, {} kills, {} violations, seed {seed} ({} histories)",
            read(&self.runs),
            read(&self.kills),
            read(&self.violations),
            read(&self.histories),
        );
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
