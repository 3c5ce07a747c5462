//! The model test: random histories of what users, agents and commands do, with kills at random
//! points, in real repositories; after every step every promise must hold.
//!
//! `RALPHTOOL_MODEL_CASES` sets their number, `RALPHTOOL_SEED` draws others. The reference state is
//! what must be true whatever a kill did. [`World`] keeps it, beside the repository, because only
//! the journal shows whether a killed command took effect.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test ends where it cannot go on, and says what it did"
)]

use std::sync::Mutex;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};

use crate::world::{Going, Killing, Step, Tally, World, step};

/// How many histories `cargo test` goes through.
const CASES: u32 = 12;

/// How many steps a history has at most.
const STEPS: usize = 14;

/// What decides which steps can come next.
#[derive(Debug, Clone, Default)]
struct Reference {
    has_run: bool,
}

impl ReferenceStateMachine for Reference {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self::default()).boxed()
    }

    fn transitions(state: &Self) -> BoxedStrategy<Step> {
        step(state.has_run)
    }

    fn apply(mut state: Self, step: &Step) -> Self {
        state.has_run |= matches!(step, Step::Command(..));
        state
    }

    fn preconditions(state: &Self, step: &Step) -> bool {
        use crate::world::Command::Loop;
        state.has_run || matches!(step, Step::User(_) | Step::Command(Loop { .. }, _))
    }
}

/// What all histories together did.
static TALLY: Mutex<Vec<Tally>> = Mutex::new(Vec::new());

struct Model;

impl StateMachineTest for Model {
    type SystemUnderTest = World;
    type Reference = Reference;

    fn init_test(_: &Reference) -> World {
        World::new(Killing::AtPoints)
    }

    fn apply(mut world: World, _: &Reference, step: Step) -> World {
        match world.apply(&step) {
            Ok(Going::On | Going::Over) => world,
            // Without the panic's own noise: histories are tried many times to make them short.
            Err(violation) => std::panic::resume_unwind(Box::new(world.report(&violation))),
        }
    }

    fn teardown(world: World, _: Reference) {
        TALLY.lock().unwrap().push(world.tally);
    }
}

#[test]
fn no_history_loses_anything() {
    let cases = number("RALPHTOOL_MODEL_CASES").unwrap_or(u64::from(CASES));
    let seed = number("RALPHTOOL_SEED").unwrap_or(1);
    let workers = std::thread::available_parallelism().map_or(2, usize::from) as u64;
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let share = cases / workers + u64::from(worker < cases % workers);
            scope.spawn(move || explore(u32::try_from(share).unwrap(), seed * workers + worker));
        }
    });
    let tallies = TALLY.lock().unwrap();
    let sum = |part: fn(&Tally) -> usize| tallies.iter().map(part).sum::<usize>();
    let (steps, runs, kills) = (sum(|it| it.steps), sum(|it| it.runs), sum(|it| it.kills));
    eprintln!(
        "model: {} cases, {steps} steps, {runs} runs, {kills} kills, 0 violations, seed {seed}",
        tallies.len()
    );
    assert!(kills > 0, "no command was killed");
}

fn explore(cases: u32, seed: u64) {
    if cases == 0 {
        return;
    }
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_shrink_iters: 80,
        ..Config::default()
    };
    let mut runner = TestRunner::new(config.clone());
    let histories = Reference::sequential_strategy(4..STEPS);
    let explored = runner.run(&histories, |(initial, steps, seen)| {
        Model::test_sequential(config.clone(), initial, steps, seen);
        Ok(())
    });
    if let Err(error) = explored {
        panic!("seed {seed}: {error}");
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
