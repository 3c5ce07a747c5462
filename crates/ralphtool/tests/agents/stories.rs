//! Stories that are done, and one that only claims to be.

use pretty_assertions::assert_eq;

use crate::bench::Script;
use crate::bench::cli::Cli;
use crate::bench::script::{call, calls, complete, failed, run, think_and_say, write};
use crate::sandbox::TASKS;
use crate::trial::{FIRST, ONE_STORY, SECOND, Trial, good, mess, tick};

/// Accounts of other agents: who has the key in its environment might bill it.
const OTHER_ACCOUNTS: [(Cli, &str); 3] = [
    (Cli::Claude, "ANTHROPIC_API_KEY"),
    (Cli::Codex, "OPENAI_API_KEY"),
    (Cli::Gemini, "GEMINI_API_KEY"),
];

/// Two stories, with files written by the agent's own tool, several calls in one turn, a command
/// and thoughts; and no key of another agent in sight.
pub(crate) fn does_two(cli: Cli) {
    let first = [
        calls([write("story-1.txt", "work\n"), run(&tick(1))]),
        complete(),
    ];
    let second = [
        call(write("new/story-2.txt", "more\nwork\n")),
        call(run(
            "cat story-1.txt new/story-2.txt > both.txt; env > env.log",
        )),
        think_and_say(
            "Is all of it done?",
            "It is.\n\n**<promise>COMPLETE</promise>**",
        ),
    ];
    let scripts = vec![
        Script::on(FIRST).attempt(first),
        Script::on(SECOND).attempt(second),
    ];
    let mut trial = Trial::new(cli, TASKS, scripts);
    // The keys of others are what opencode works with.
    let is_other = |owner: Cli| owner != cli && cli != Cli::Opencode;
    for (_, name) in OTHER_ACCOUNTS.iter().filter(|(owner, _)| is_other(*owner)) {
        trial.set(name, "of another account");
    }
    let sandbox = &trial.sandbox;
    trial.run(&["loop", "c"], 0);
    assert_eq!(sandbox.failures(), Vec::<String>::new());
    assert_eq!(
        sandbox.commits(),
        ["initial state", "checkpoint: 1", "checkpoint: 2"]
    );
    assert_eq!(sandbox.tasks_now(), TASKS.replace("[ ]", "[x]"));
    let files = |commit: &str| sandbox.git(&format!("show --format= --name-only {commit}"));
    assert_eq!(
        files("ralph/c~1"),
        "openspec/changes/c/tasks.md\nstory-1.txt\n"
    );
    assert_eq!(
        files("ralph/c"),
        "both.txt\nnew/story-2.txt\nopenspec/changes/c/tasks.md\n"
    );
    assert_eq!(sandbox.read("both.txt"), "work\nmore\nwork\n");
    assert_eq!(sandbox.git("status --porcelain"), "");
    let environment = sandbox.read("env.log");
    assert!(environment.contains("RALPHTOOL_RUN="), "{environment}");
    assert!(!environment.contains("of another account"), "{environment}");
    let transcript = sandbox.transcript("2.1", "stdout");
    assert!(transcript.contains(written_by(cli)), "{transcript}");
    assert_eq!(trial.processes(), Vec::<String>::new());
}

/// What an agent's stream has when it wrote a file with its own tool.
fn written_by(cli: Cli) -> &'static str {
    match cli {
        Cli::Claude => r#""name":"Write""#,
        Cli::Codex => r#""type":"file_change""#,
        Cli::Opencode => r#""tool":"write""#,
        Cli::Gemini => r#""tool_name":"write_file""#,
    }
}

/// The first attempt fails, although one of its commands printed the promise; the prompt of the
/// second one has the reason, and its tree is clean.
pub(crate) fn fails_and_is_told_why(cli: Cli) {
    let reason = "the blue door is locked";
    let first = [
        mess(),
        call(run("echo '<promise>COMPLETE</promise>'")),
        failed(reason),
    ];
    let scripts = vec![Script::on(FIRST).attempt(first).attempt(good())];
    let trial = Trial::new(cli, ONE_STORY, scripts);
    trial.run(&["loop", "c"], 0);
    assert_eq!(trial.sandbox.failures(), [format!("1.1 failed: {reason}")]);
    let told = |attempt: usize| {
        let served = trial.server.served().into_iter();
        let mut of_attempt = served.filter(|served| served.attempt == attempt);
        of_attempt.all(|served| served.said.contains(reason))
    };
    assert_eq!((told(1), told(2)), (false, true));
    trial.one_story_is_done();
}
