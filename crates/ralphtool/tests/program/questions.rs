//! Questions of agents with the real program: the run waits with the work kept, another terminal
//! answers, and the same session continues.

use std::fs;

use crate::repairs::{asked, in_sessions, rounds};
use crate::sandbox::Sandbox;
use pretty_assertions::assert_eq;
use serde_json::Value;

/// Asks about story 1 until its prompt has an answer.
const ASKS: &str = r#"
case "$RALPHTOOL_STORY-$prompt" in
    1-*"The answer:"*) echo "answered" >> story-1.txt ;;
    1-*) echo "half" > story-1.txt; echo '<promise>BLOCKED: which database?</promise>'; exit ;;
    *) echo "work" > "story-$RALPHTOOL_STORY.txt" ;;
esac
tick "$RALPHTOOL_STORY"
complete
"#;

/// What the log says of the question.
const ASKED: &str = "attempt 1 of story 1 asks: which database?";

fn what(sandbox: &Sandbox) -> Vec<String> {
    rounds(sandbox).into_iter().map(|(what, _)| what).collect()
}

#[test]
fn an_answer_from_another_terminal_continues_the_session_with_the_work_as_it_was() {
    let sandbox = in_sessions("on_blocked = \"wait\"", "", ASKS);
    let mut running = sandbox.start(&["loop", "c"]);
    running.waits_for(ASKED);
    assert_eq!(sandbox.read("story-1.txt"), "half\n", "the work is kept");
    let status = sandbox.run(&["status"]).ends_with(0).stdout;
    for words in [
        "waiting for an answer",
        "which database?",
        "ralphtool answer 1",
    ] {
        assert!(status.contains(words), "{words}: {status}");
    }
    let listed = sandbox.run(&["answer"]).ends_with(0).stdout;
    assert_eq!(listed, "story 1: which database?\n");
    let said = sandbox
        .run(&["answer", "SQLite,", "version", "3"])
        .ends_with(0);
    assert_eq!(said.stdout, "answered: the agent of story 1 gets it\n");
    running.end().ends_with(0);
    assert_eq!(what(&sandbox), ["first", "again", "first"]);
    let prompt = asked(&sandbox, 2);
    assert!(
        prompt.contains("You asked: which database?\nThe answer: SQLite, version 3"),
        "{prompt}"
    );
    assert_eq!(sandbox.git("show HEAD~1:story-1.txt"), "half\nanswered\n");
    assert_eq!(sandbox.failures(), [""; 0]);
    let listed = sandbox.run(&["answer"]).ends_with(0).stdout;
    assert_eq!(listed, "no question waits for an answer\n");
    let answers = sandbox.runs()[0].join("answers");
    assert_eq!(fs::read_dir(answers).unwrap().count(), 0, "it is taken");
}

#[test]
fn a_run_that_is_killed_while_it_waits_gives_the_answer_to_the_next_attempt() {
    let sandbox = in_sessions("on_blocked = \"wait\"", "", ASKS);
    let mut running = sandbox.start(&["loop", "c", "--story", "1"]);
    running.waits_for(ASKED);
    running.kill_all();
    drop(running);
    let said = sandbox.run(&["answer", "SQLite"]).ends_with(0).stdout;
    assert_eq!(
        said,
        "answered: `ralphtool resume` continues with story 1\n"
    );
    sandbox.run(&["resume"]).ends_with(0);
    assert_eq!(what(&sandbox), ["first", "first", "first"]);
    assert!(asked(&sandbox, 2).contains("The answer: SQLite"));
    let kinds: Vec<Value> = sandbox
        .events_named("attempt_failed")
        .iter()
        .map(|event| event["kind"].clone())
        .collect();
    assert_eq!(kinds, ["interrupted"]);
}

#[test]
fn an_answer_that_no_agent_waits_for_is_refused() {
    let sandbox = in_sessions(
        "",
        "",
        "echo work > story-$RALPHTOOL_STORY.txt; tick $RALPHTOOL_STORY; complete",
    );
    let output = sandbox.run(&["answer", "yes"]).ends_with(2);
    assert!(
        output.stderr.contains("no question waits for an answer"),
        "{}",
        output.stderr
    );
    sandbox.run(&["loop", "c"]).ends_with(0);
    sandbox.run(&["answer", "yes"]).ends_with(2);
}

#[test]
fn a_story_with_a_question_is_skipped_and_an_answer_opens_it_again() {
    let sandbox = in_sessions("", "", ASKS);
    let output = sandbox
        .run(&["loop", "c", "--on-blocked", "skip"])
        .ends_with(1);
    for words in [
        "1 of 2 done, story 1 needs an answer",
        "ralphtool answer 1 \"…\"",
    ] {
        assert!(output.stdout.contains(words), "{words}: {}", output.stdout);
    }
    assert!(sandbox.exists("story-2.txt") && !sandbox.exists("story-1.txt"));
    let status = sandbox.run(&["status"]).ends_with(0).stdout;
    assert!(status.contains("story 1 needs an answer"), "{status}");
    sandbox.run(&["answer", "1", "SQLite"]).ends_with(0);
    sandbox.run(&["resume"]).ends_with(0);
    assert_eq!(what(&sandbox), ["first", "first", "first"]);
    assert!(asked(&sandbox, 3).contains("The answer: SQLite"));
    assert_eq!(
        sandbox.failures(),
        ["1.1 blocked: which database?"],
        "the question is the only failure"
    );
}

#[test]
fn without_a_terminal_and_where_stories_may_depend_on_it_a_question_ends_the_run() {
    let sandbox = in_sessions("", "", ASKS);
    let output = sandbox.run(&["loop", "c"]).ends_with(1);
    let words = "0 of 2 done, story 1 needs an answer";
    assert!(output.stdout.contains(words), "{}", output.stdout);
    assert!(!sandbox.exists("story-2.txt"));
}
