//! The real agents, each in the same cases: the real programs, the real ralphtool, and a scripted
//! model on loopback. An agent that is not installed is skipped, and named at the end; with
//! `RALPHTOOL_REQUIRE_AGENTS=1` it is a failure.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

#[path = "../bench/mod.rs"]
mod bench;
#[path = "../sandbox/mod.rs"]
mod sandbox;

mod gate;
mod limits;
mod review;
mod scripted;
mod stories;
mod trial;
mod trouble;

use std::io::Write as _;
use std::process::ExitCode;

use bench::cli::Cli;
use libtest_mimic::{Arguments, Trial};

/// How many tests run at once: most of the time they wait, and the gate knows who is heavy.
const THREADS: usize = 8;

/// What may happen with an agent.
type Case = fn(Cli);

/// What is tried with every agent.
const CASES: [(&str, Case); 11] = [
    ("does_a_two_story_change", stories::does_two),
    ("fails_and_is_told_why", stories::fails_and_is_told_why),
    ("waits_for_a_limit_to_end", limits::waits),
    ("is_not_logged_in", limits::is_not_logged_in),
    ("has_no_such_model", limits::has_no_such_model),
    ("hangs_and_is_stopped", trouble::hangs),
    ("loses_ralphtool_in_mid_attempt", trouble::loses_ralphtool),
    ("leaves_a_process_behind", trouble::leaves_a_process_behind),
    ("runs_out_of_context", trouble::runs_out_of_context),
    ("is_cut_off_in_mid_sentence", trouble::is_cut_off),
    ("reviews_and_changes_nothing", review::reviews),
];

/// A name, the agents that must be there, and what is tried with them.
type Special = (&'static str, &'static [Cli], fn());

/// What is tried with some agents only.
const SPECIAL: [Special; 2] = [
    (
        "claude_is_stood_in_for_by_codex",
        &[Cli::Claude, Cli::Codex],
        limits::claude_is_stood_in_for_by_codex,
    ),
    (
        "gemini_waits_no_longer_than_it_may",
        &[Cli::Gemini],
        limits::gemini_waits_no_longer_than_it_may,
    ),
];

/// What is tried with the scripted model alone.
const SCRIPTED: [(&str, fn()); 3] = [
    ("asides_eat_no_steps", scripted::asides_eat_no_steps),
    ("a_session_is_an_attempt", scripted::a_session_is_an_attempt),
    (
        "a_conversation_that_begins_again_is_an_attempt",
        scripted::a_conversation_that_begins_again_is_an_attempt,
    ),
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    let is_required = std::env::var_os("RALPHTOOL_REQUIRE_AGENTS").is_some_and(|it| it == "1");
    let (here, missing): (Vec<Cli>, Vec<Cli>) =
        Cli::ALL.into_iter().partition(|cli| cli.folder().is_some());
    let mut trials = Vec::new();
    for (name, case) in SCRIPTED {
        trials.push(Trial::test(format!("model_{name}"), move || {
            case();
            Ok(())
        }));
    }
    for (name, case) in CASES {
        for cli in Cli::ALL {
            let is_here = here.contains(&cli);
            let trial = Trial::test(format!("{}_{name}", cli.name()), move || {
                if !is_here {
                    return Err(format!("{} is not installed", cli.name()).into());
                }
                case(cli);
                Ok(())
            });
            trials.push(trial.with_ignored_flag(!is_here && !is_required));
        }
    }
    for (name, team, case) in SPECIAL {
        let is_here = team.iter().all(|cli| here.contains(cli));
        let trial = Trial::test(name, move || {
            case();
            Ok(())
        });
        trials.push(trial.with_ignored_flag(!is_here && !is_required));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !missing.is_empty() && !arguments.list {
        let names: Vec<&str> = missing.iter().map(|cli| cli.name()).collect();
        let names = names.join(", ");
        let told = format!("skipped, not installed: {names} (`bash .ci/agents` installs them)\n");
        let _ = std::io::stderr().write_all(told.as_bytes());
    }
    conclusion.exit_code()
}
