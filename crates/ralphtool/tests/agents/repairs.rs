//! Attempts of several rounds: the agent's session goes on, in the same tree.

use pretty_assertions::assert_eq;

use crate::bench::cli::Cli;
use crate::bench::script::{Moment, Step, call, calls, complete, refuse, run, say, write};
use crate::bench::{Script, Served};
use crate::trial::{FIRST, ONE_STORY, Trial, good};

/// A gate that is red until the story is really done.
const GATE: &str = "
[[gate]]
name = \"tests\"
run = \"cat story-1.txt; grep -qx work story-1.txt\"
baseline = false
";

/// What the model said, and what a command printed, in the first round.
const SAID: &str = "I have painted the door.";
const PRINTED: &str = "the paint is still wet";

/// Does half of the work, and ends without a promise.
fn begins() -> Vec<Step> {
    let print = run("printf 'the paint is %s\\n' 'still wet'");
    vec![calls([write("story-1.txt", "half\n"), print]), say(SAID)]
}

/// Does the other half.
fn completes() -> Vec<Step> {
    vec![call(run("echo work > story-1.txt")), complete()]
}

/// Attempt and round of all processes that asked the model, in order.
fn processes(trial: &Trial) -> Vec<(usize, usize)> {
    let served = trial.server.served();
    let mut processes: Vec<_> = served.iter().map(|it| (it.attempt, it.round)).collect();
    processes.dedup();
    processes
}

/// The first request of a process.
fn first_of(trial: &Trial, attempt: usize, round: usize) -> Served {
    let mut served = trial.server.served().into_iter();
    let is_it = |it: &Served| (it.attempt, it.round, it.step) == (attempt, round, 1);
    served.find(is_it).unwrap()
}

/// Whether a process had what was said and printed in the first round.
fn remembers(trial: &Trial, attempt: usize, round: usize) -> [bool; 2] {
    let body = first_of(trial, attempt, round).body;
    [SAID, PRINTED].map(|words| body.contains(words))
}

/// An agent that ends without a promise is reminded, and a red gate is repaired: in one session, one
/// attempt and one tree.
pub(crate) fn in_one_session(cli: Cli) {
    let script = Script::on(FIRST).attempt(begins()).round([complete()]);
    let trial = Trial::new(cli, ONE_STORY, vec![script.round(completes())]);
    trial.add_settings(GATE);
    trial.run(&["loop", "c", "--max-retries", "0"], 0);
    assert_eq!(
        trial.course(),
        [
            "attempt_started",
            "repair_started: no_signal",
            "repair_started: gate",
            "story_completed",
        ]
    );
    assert_eq!(processes(&trial), [(1, 1), (1, 2), (1, 3)]);
    assert_eq!(remembers(&trial, 1, 2), [true, true]);
    assert_eq!(remembers(&trial, 1, 3), [true, true]);
    let reminder = first_of(&trial, 1, 2).said;
    let no_promise = "Your last message had no promise";
    assert!(reminder.contains(no_promise), "{reminder}");
    let repair = first_of(&trial, 1, 3).said;
    let red = "gate `tests` failed: exit code 1\nhalf";
    assert!(repair.contains(red), "{repair}");
    trial.every_token_counts_once();
    trial.one_story_is_done();
}

/// An agent whose sessions are not continued starts over, in a clean tree.
pub(crate) fn by_starting_over(cli: Cli) {
    let script = Script::on(FIRST)
        .attempt(begins())
        .attempt([call(run("ls > story-1.txt")), complete()])
        .attempt(good());
    let trial = Trial::new(cli, ONE_STORY, vec![script]);
    trial.add_settings(GATE);
    trial.run(&["loop", "c"], 0);
    let tree = "a.txt\ndir\nopenspec\nralphtool.toml\nstory-1.txt";
    assert_eq!(
        trial.sandbox.failures(),
        [
            "1.1 no_signal: the agent's last line was: I have painted the door.".to_owned(),
            format!("1.2 gate: gate `tests` failed: exit code 1\n{tree}"),
        ]
    );
    assert_eq!(processes(&trial), [(1, 1), (2, 1), (3, 1)]);
    assert_eq!(remembers(&trial, 2, 1), [false, false]);
    trial.every_token_counts_once();
    trial.one_story_is_done();
}

/// An agent whose service is away until it gives up continues its session later, and nothing is
/// undone.
pub(crate) fn after_an_outage(cli: Cli) {
    let first = [
        call(write("story-1.txt", "half\n")),
        match cli {
            Cli::Claude | Cli::Codex => Step::Drop(Moment::BeforeHeaders),
            // It would try again for a minute.
            Cli::Opencode | Cli::Gemini => refuse(503).header("retry-after-ms", 10).into(),
        },
    ];
    let script = Script::on(FIRST).attempt(first).round(completes());
    let mut trial = Trial::new(cli, ONE_STORY, vec![script]);
    trial.set("CLAUDE_CODE_MAX_RETRIES", "1");
    trial.run(&["loop", "c", "--max-retries", "0"], 0);
    assert_eq!(
        trial.course(),
        [
            "attempt_started",
            "waiting",
            "attempt_continued",
            "story_completed",
        ]
    );
    let body = first_of(&trial, 1, 2).body;
    assert!(body.contains("story-1.txt"), "{body}");
    trial.every_token_counts_once();
    trial.one_story_is_done();
}

/// An agent that has lost its session gets a new attempt, with the reason and a clean tree.
pub(crate) fn without_the_session(cli: Cli) {
    let half = [call(write("story-1.txt", "half\n")), complete()];
    let script = Script::on(FIRST).attempt(half).attempt(good());
    let trial = Trial::new(cli, ONE_STORY, vec![script]);
    let sessions = match cli {
        Cli::Claude => ".claude/projects",
        Cli::Codex => ".codex/sessions",
        Cli::Opencode => ".local/share/opencode",
        Cli::Gemini => ".gemini/tmp",
    };
    let lose = format!("run = \"test -e ~/{sessions} && rm -r ~/{sessions}; ");
    trial.add_settings(&GATE.replace("run = \"", &lose));
    trial.run(&["loop", "c", "--max-retries", "1"], 0);
    assert_eq!(
        trial.course(),
        [
            "attempt_started",
            "repair_started: gate",
            "attempt_failed: gate",
            "attempt_started",
            "story_completed",
        ]
    );
    assert_eq!(processes(&trial), [(1, 1), (2, 1)]);
    let red = "gate `tests` failed: exit code 1\nhalf";
    assert_eq!(trial.sandbox.failures(), [format!("1.1 gate: {red}")]);
    let reason = first_of(&trial, 2, 1).said;
    assert!(reason.contains(red), "{reason}");
    let warnings = trial.sandbox.warnings();
    let how = "repair_failed: the agent's session could not be continued: the agent ended with \
               exit code 1\n";
    let says_so = |it: &String| it.starts_with(how) && it.contains(unknown(cli));
    assert!(warnings.iter().any(says_so), "{warnings:?}");
    trial.every_token_counts_once();
    trial.one_story_is_done();
}

/// How an agent calls a session it does not know.
fn unknown(cli: Cli) -> &'static str {
    match cli {
        Cli::Claude => "No conversation found with session ID",
        Cli::Codex => "no rollout found for thread id",
        Cli::Opencode | Cli::Gemini => "Session not found",
    }
}
