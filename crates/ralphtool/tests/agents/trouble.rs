//! Agents that hang or do not exit, and a ralphtool that is killed.

use rustix::process::Signal;

use pretty_assertions::assert_eq;

use crate::bench::Script;
use crate::bench::cli::Cli;
use crate::bench::script::{Moment, Step, call, calls, complete, context_overflow, run, write};
use crate::sandbox::{there, until};
use crate::trial::{FIRST, ONE_STORY, Trial, good, mess};

/// A model that says nothing more is given up after the idle timeout, and the next attempt does the
/// story.
pub(crate) fn hangs(cli: Cli) {
    let moment = match cli {
        Cli::Codex => Moment::BeforeHeaders,
        Cli::Opencode => Moment::AfterHeaders,
        Cli::Claude | Cli::Gemini => Moment::MidStream,
    };
    let first = [mess(), Step::Hang(moment)];
    let scripts = vec![Script::on(FIRST).attempt(first).attempt(good())];
    let trial = Trial::new(cli, ONE_STORY, scripts);
    // It must be longer than the agent takes to say its first word.
    let patience = match cli {
        Cli::Claude | Cli::Codex => "12s",
        Cli::Gemini | Cli::Opencode => "25s",
    };
    trial.run(&["loop", "c", "--idle-timeout", patience], 0);
    let failures = trial.sandbox.failures();
    assert_eq!(failures.len(), 1);
    let reason = format!("1.1 silent: silent for {patience}");
    assert!(failures[0].starts_with(&reason), "{failures:?}");
    trial.one_story_is_done();
}

/// Ralphtool is killed while the agent runs a command: no process of the agent stays, and the run
/// can be resumed.
pub(crate) fn loses_ralphtool(cli: Cli) {
    let first = [mess(), call(run("touch here; tail -f /dev/null"))];
    let scripts = vec![Script::on(FIRST).attempt(first).attempt(good())];
    let trial = Trial::new(cli, ONE_STORY, scripts);
    let running = trial.start(&["loop", "c"]);
    until("the command", || there(&trial.sandbox.repo.join("here")));
    #[cfg(target_os = "linux")]
    assert!(trial.processes().len() > 1);
    running.signal(Signal::KILL);
    let _ = running.end();
    until("the end of all processes", || {
        trial.processes().is_empty().then_some(())
    });
    trial.run(&["resume"], 0);
    trial.one_story_is_done();
}

/// A process that an agent leaves in the background is ended and reported.
pub(crate) fn leaves_a_process_behind(cli: Cli) {
    let steps = [
        calls([
            write("story-1.txt", "work\n"),
            run("nohup sleep 300 > /dev/null 2>&1 &"),
        ]),
        complete(),
    ];
    let trial = Trial::new(cli, ONE_STORY, vec![Script::on(FIRST).attempt(steps)]);
    trial.run(&["loop", "c"], 0);
    assert_eq!(trial.processes(), Vec::<String>::new());
    let warnings = trial.sandbox.warnings();
    let is_said = warnings.iter().any(|it| it.starts_with("swept: "));
    // Codex ends it itself.
    assert_eq!(is_said, cli != Cli::Codex, "{warnings:?}");
    trial.one_story_is_done();
}

/// A conversation that has become too long fails the attempt and not the run; opencode makes it
/// shorter and goes on.
pub(crate) fn runs_out_of_context(cli: Cli) {
    let mut first = vec![mess(), context_overflow()];
    if cli == Cli::Opencode {
        first = vec![
            call(write("story-1.txt", "work\n")),
            context_overflow(),
            complete(),
        ];
    }
    let scripts = vec![Script::on(FIRST).attempt(first).attempt(good())];
    let trial = Trial::new(cli, ONE_STORY, scripts);
    trial.run(&["loop", "c"], 0);
    let failures = trial.sandbox.failures();
    assert_eq!(failures.is_empty(), cli == Cli::Opencode, "{failures:?}");
    trial.one_story_is_done();
}

/// A connection that breaks is made again by the agent, or else by the next attempt.
pub(crate) fn is_cut_off(cli: Cli) {
    let first = [
        call(write("story-1.txt", "work\n")),
        Step::Drop(Moment::MidStream),
        complete(),
    ];
    let scripts = vec![Script::on(FIRST).attempt(first).attempt(good())];
    let trial = Trial::new(cli, ONE_STORY, scripts);
    trial.run(&["loop", "c"], 0);
    let failures = trial.sandbox.failures();
    // Gemini CLI gives up.
    assert_eq!(failures.is_empty(), cli != Cli::Gemini, "{failures:?}");
    trial.one_story_is_done();
}
