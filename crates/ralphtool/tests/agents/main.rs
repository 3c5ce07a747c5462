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
mod repairs;
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

/// What is tried, and with whom.
const CASES: [(&str, &[Cli], Case); 15] = [
    ("does_a_two_story_change", &Cli::ALL, stories::does_two),
    (
        "fails_and_is_told_why",
        &Cli::ALL,
        stories::fails_and_is_told_why,
    ),
    (
        "repairs_its_work_in_one_session",
        &Cli::CONTINUED,
        repairs::in_one_session,
    ),
    (
        "continues_after_an_outage",
        &Cli::CONTINUED,
        repairs::after_an_outage,
    ),
    (
        "starts_over_when_its_session_is_lost",
        &Cli::CONTINUED,
        repairs::without_the_session,
    ),
    (
        "starts_over_instead_of_repairing",
        &[Cli::Gemini],
        repairs::by_starting_over,
    ),
    ("waits_for_a_limit_to_end", &Cli::ALL, limits::waits),
    ("is_not_logged_in", &Cli::ALL, limits::is_not_logged_in),
    ("has_no_such_model", &Cli::ALL, limits::has_no_such_model),
    ("hangs_and_is_stopped", &Cli::ALL, trouble::hangs),
    (
        "loses_ralphtool_in_mid_attempt",
        &Cli::ALL,
        trouble::loses_ralphtool,
    ),
    (
        "leaves_a_process_behind",
        &Cli::ALL,
        trouble::leaves_a_process_behind,
    ),
    (
        "runs_out_of_context",
        &Cli::ALL,
        trouble::runs_out_of_context,
    ),
    ("is_cut_off_in_mid_sentence", &Cli::ALL, trouble::is_cut_off),
    ("reviews_and_changes_nothing", &Cli::ALL, review::reviews),
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
const SCRIPTED: [(&str, fn()); 4] = [
    ("asides_eat_no_steps", scripted::asides_eat_no_steps),
    ("a_session_is_an_attempt", scripted::a_session_is_an_attempt),
    (
        "a_continued_session_is_a_round",
        scripted::a_continued_session_is_a_round,
    ),
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
    for (name, agents, case) in CASES {
        for &cli in agents {
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
