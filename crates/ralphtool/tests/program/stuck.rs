//! A story that uses up its retries does not end the night: the run continues with the stories that do
//! not depend on it, and every face says so.

use std::fs;

use crate::sandbox::{Output, Sandbox, there, until};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};

/// Four stories of one task.
const TASKS: &str = "\
## 1. First
- [ ] 1.1 Do a

## 2. Second
- [ ] 2.1 Do b

## 3. Third
- [ ] 3.1 Do c

## 4. Fourth
- [ ] 4.1 Do d
";

/// Notes its story; fails where `$root/fail-STORY` is, after some work.
const AGENT: &str = r#"
echo "$RALPHTOOL_STORY.$attempt" >> "$root/started"
printf '%s' "$prompt" > "$root/prompt-$RALPHTOOL_STORY.$attempt"
echo work > "story-$RALPHTOOL_STORY.txt"
if [ -e "$root/fail-$RALPHTOOL_STORY" ]; then
    failed "no database for $RALPHTOOL_STORY"
elif [ -e "$root/hang-$RALPHTOOL_STORY" ]; then
    touch "$root/here"; wait_for "$root/never"
else
    tick "$RALPHTOOL_STORY"
    complete
fi
"#;

/// Says of two stories that they depend on another.
const THIRD_AFTER_SECOND: &str = "\
[[story]]
id = \"2\"
depends_on = [\"1\"]
[[story]]
id = \"3\"
depends_on = [\"2\"]
[[story]]
id = \"4\"
depends_on = [\"1\"]
";

fn with(lines: &str, tables: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.tasks(TASKS);
    sandbox.config_and(&format!("max_retries = 1\n{lines}"), tables);
    sandbox.agent(AGENT);
    sandbox.git("add -A");
    sandbox.git("commit -qm plan");
    sandbox
}

/// Agents of these stories report failure.
fn let_fail(sandbox: &Sandbox, stories: &[&str]) {
    for story in ["1", "2", "3", "4"] {
        let path = sandbox.root.join(format!("fail-{story}"));
        if stories.contains(&story) {
            fs::write(path, "").unwrap();
        } else {
            drop(fs::remove_file(path));
        }
    }
}

/// The attempts that were started since this was asked last.
fn started(sandbox: &Sandbox) -> String {
    let path = sandbox.root.join("started");
    let started = fs::read_to_string(&path).unwrap_or_default();
    drop(fs::remove_file(path));
    started.trim().replace('\n', " ")
}

#[track_caller]
fn has(text: &str, part: &str) {
    assert!(text.contains(part), "`{part}` is not in:\n{text}");
}

fn object(sandbox: &Sandbox, args: &[&str]) -> Value {
    let output = sandbox.run(args).ends_with(0);
    serde_json::from_str(&output.stdout).unwrap()
}

/// Stories by their ids, with what the receipt calls their state.
fn states(sandbox: &Sandbox) -> Vec<String> {
    let receipt = object(sandbox, &["log", "last", "--json"]);
    let stories = receipt["stories"].as_array().unwrap().iter();
    let state = |it: &Value| {
        let text = |key: &str| it[key].as_str().unwrap_or_default().to_owned();
        format!("{} {} {}", text("id"), text("state"), text("reason"))
    };
    stories.map(|it| state(it).trim().to_owned()).collect()
}

#[test]
fn a_run_continues_without_a_story_that_used_up_its_retries() {
    let sandbox = with("depends = false", "");
    let_fail(&sandbox, &["2"]);
    let output = sandbox.run(&["loop", "c"]).ends_with(1);
    assert_eq!(started(&sandbox), "1.1 2.1 2.2 3.1 4.1");
    let headline = "3 of 4 done, story 2 failed after 2 attempts (the agent reported failure)";
    has(&output.stdout, &format!("`c`: {headline}"));
    has(&output.stdout, "stories    3 of 4 done, 1 failed");
    has(
        &output.stdout,
        "story 2 failed after 2 attempts (the agent reported failure); the run continues without it",
    );
    // Its boxes are open, its attempts are parked, and nothing of them is in the tree.
    assert_eq!(
        sandbox.tasks_now(),
        TASKS
            .replace("[ ] 1.", "[x] 1.")
            .replace("[ ] 3.", "[x] 3.")
            .replace("[ ] 4.", "[x] 4.")
    );
    assert_eq!(
        sandbox.commits(),
        [
            "initial state",
            "checkpoint: 1",
            "checkpoint: 3",
            "checkpoint: 4"
        ]
    );
    assert_eq!(sandbox.git("status --porcelain"), "");
    let files = ["1", "2", "3", "4"].map(|it| sandbox.exists(&format!("story-{it}.txt")));
    assert_eq!(files, [true, false, true, true]);
    let attempts = sandbox.run(&["attempts", "2"]).ends_with(0).stdout;
    has(&attempts, "2.1");
    has(&attempts, "2.2");
    // The next steps are about the story that failed.
    has(&output.stdout, "ralphtool attempts show 2.2");
    has(
        &output.stdout,
        "tries story 2 again, with up to 2 more attempts",
    );
}

#[test]
fn every_face_says_what_failed_and_what_was_not_run() {
    let sandbox = with("", THIRD_AFTER_SECOND);
    let_fail(&sandbox, &["2"]);
    sandbox.run(&["loop", "c"]).ends_with(1);
    let headline =
        "2 of 4 done, story 2 failed after 2 attempts (the agent reported failure), 1 not run";
    let because = "it depends on story 2, which failed";
    let status = object(&sandbox, &["status", "--json"]);
    let list = object(&sandbox, &["list", "--json"]);
    let row = object(&sandbox, &["log", "--json"])[0].clone();
    let receipt = object(&sandbox, &["log", "last", "--json"]);
    for face in [&status, &list[0]["last_run"], &row, &receipt] {
        assert_eq!(face["headline"], headline, "{face}");
        let counts = ["done", "failed", "not_run", "open"].map(|it| &face[format!("stories_{it}")]);
        assert_eq!(counts, [&json!(2), &json!(1), &json!(1), &json!(0)]);
    }
    assert_eq!(
        status["outcome"],
        json!({
            "why": "exhausted",
            "story": "2",
            "kind": "failed",
            "reason": "no database for 2",
            "attempts": 2,
            "continued": true,
            "not_run": ["3"],
        })
    );
    assert_eq!(
        states(&sandbox),
        [
            "1 completed",
            "2 failed",
            &format!("3 not_run {because}"),
            "4 completed"
        ]
    );
    for (args, part) in [
        (&["status"][..], "2 of 4 done, 1 failed, 1 not run"),
        (&["log", "last"], &format!("not run: {because}")),
        (&["log", "last"], "✗ 2 Second\n    failed · 2 attempts"),
        (
            &["log", "--markdown"],
            "2 of 4 stories done, 1 failed, 1 not run",
        ),
        (&["log"], headline),
        (&["list"], "failed"),
    ] {
        let page = sandbox.run(args).ends_with(0).stdout;
        has(&page, part);
        if args != ["list"] {
            has(&page.replace('\\', ""), headline);
        }
    }
    let skipped = sandbox.events_named("story_skipped");
    assert_eq!(skipped.len(), 1);
    assert_eq!(
        (
            &skipped[0]["story"],
            &skipped[0]["waits_for"],
            &skipped[0]["reason"]
        ),
        (&json!("3"), &json!("2"), &json!(because))
    );
    let failed = sandbox.events_named("story_exhausted");
    assert_eq!(failed.len(), 1);
    assert_eq!(
        (
            &failed[0]["story"],
            &failed[0]["attempts"],
            &failed[0]["continues"]
        ),
        (&json!("2"), &json!(2), &json!(true))
    );
}

#[test]
fn stories_that_depend_on_one_that_failed_are_not_run() {
    let sandbox = with("", THIRD_AFTER_SECOND);
    let_fail(&sandbox, &["2"]);
    let output = sandbox.run(&["loop", "c"]).ends_with(1);
    assert_eq!(started(&sandbox), "1.1 2.1 2.2 4.1");
    has(
        &output.stdout,
        "story 3 is not run: Third: it depends on story 2, which failed",
    );
    has(&output.stdout, "not run: 3");
    // A plan that says it of one story only leaves the others in their order.
    let one = "[[story]]\nid = \"4\"\ndepends_on = []\n";
    let sandbox = with("", one);
    let_fail(&sandbox, &["1"]);
    sandbox.run(&["loop", "c"]).ends_with(1);
    assert_eq!(started(&sandbox), "1.1 1.2 4.1");
    let maybe = "it may depend on story 1, which failed";
    assert_eq!(
        states(&sandbox),
        [
            "1 failed",
            &format!("2 not_run {maybe}"),
            &format!("3 not_run {maybe}"),
            "4 completed"
        ]
    );
}

#[test]
fn the_run_stops_or_continues_as_on_exhausted_says() {
    let begun = |lines: &str, flags: &[&str]| {
        let sandbox = with(lines, "");
        let_fail(&sandbox, &["2"]);
        let output = sandbox.run(&[&["loop", "c"], flags].concat()).ends_with(1);
        (started(&sandbox), output.stdout)
    };
    let (all, until_it_failed) = ("1.1 2.1 2.2 3.1 4.1", "1.1 2.1 2.2");
    // The plan says nothing of dependencies.
    let (attempts, said) = begun("", &[]);
    assert_eq!(attempts, until_it_failed);
    has(
        &said,
        "`c`: story 2 failed after 2 attempts (the agent reported failure)",
    );
    has(&said, "stories    1 of 4 done, 1 failed");
    assert_eq!(begun("on_exhausted = \"continue\"", &[]).0, all);
    assert_eq!(begun("", &["--on-exhausted", "continue"]).0, all);
    let stop = "depends = false\non_exhausted = \"stop\"";
    assert_eq!(begun(stop, &[]).0, until_it_failed);
    assert_eq!(begun(stop, &["--on-exhausted", "continue"]).0, all);
    assert_eq!(
        begun("depends = false", &["--on-exhausted", "stop"]).0,
        until_it_failed
    );
}

#[test]
fn several_stories_that_failed_are_all_named() {
    let sandbox = with("depends = false", "");
    let_fail(&sandbox, &["1", "3"]);
    let output = sandbox.run(&["loop", "c"]).ends_with(1);
    has(&output.stdout, "`c`: 2 of 4 done, stories 1 and 3 failed\n");
    for part in [
        "story 1: the agent reported failure: no database for 1",
        "story 3: the agent reported failure: no database for 3",
        "ralphtool attempts show 1.2",
        "ralphtool attempts show 3.2",
        "tries stories 1 and 3 again, with up to 2 more attempts each",
    ] {
        has(&output.stdout, part);
    }
    let outcome = &object(&sandbox, &["status", "--json"])["outcome"];
    assert_eq!(
        (&outcome["story"], &outcome["others"][0]["story"]),
        (&json!("1"), &json!("3"))
    );
    let markdown = sandbox.run(&["log", "--markdown"]).ends_with(0).stdout;
    has(&markdown, "2 of 4 done, stories 1 and 3 failed");
    has(&markdown, "story 3: no database for 3");
}

#[test]
fn a_resumed_run_tries_what_failed_again_with_what_it_learned() {
    let sandbox = with("", THIRD_AFTER_SECOND);
    let_fail(&sandbox, &["2"]);
    sandbox.run(&["loop", "c"]).ends_with(1);
    started(&sandbox);
    // It fails again.
    let again = sandbox.run(&["resume"]).ends_with(1);
    assert_eq!(started(&sandbox), "2.3 2.4");
    has(
        &again.stdout,
        "2 of 4 done, story 2 failed after 4 attempts",
    );
    // Its first prompt has the reason of the last attempt before.
    let prompt = fs::read_to_string(sandbox.root.join("prompt-2.3")).unwrap();
    has(&prompt, "no database for 2");
    let_fail(&sandbox, &[]);
    // The command that started it does the same, and what was not run follows.
    let output = sandbox.run(&["run", "c"]).ends_with(0);
    assert_eq!(started(&sandbox), "2.5 3.1");
    has(&output.stdout, "`c`: all stories are done");
    assert_eq!(sandbox.runs().len(), 1);
    assert_eq!(
        states(&sandbox),
        ["1 completed", "2 completed", "3 completed", "4 completed"]
    );
}

/// A run in which the second story has failed and the agent of the fourth hangs, ended by a signal.
fn ended_in_the_fourth(signal: Signal) -> (Sandbox, Output) {
    let sandbox = with("", THIRD_AFTER_SECOND);
    let_fail(&sandbox, &["2"]);
    fs::write(sandbox.root.join("hang-4"), "").unwrap();
    let running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here")));
    running.signal(signal);
    let output = running.end();
    fs::remove_file(sandbox.root.join("hang-4")).unwrap();
    assert_eq!(started(&sandbox), "1.1 2.1 2.2 4.1");
    (sandbox, output)
}

#[test]
fn a_run_that_was_killed_continues_without_what_had_failed() {
    let (sandbox, _) = ended_in_the_fourth(Signal::KILL);
    let status = sandbox.run(&["status"]).ends_with(0).stdout;
    has(&status, "1 of 4 done, 1 failed, 1 not run");
    let_fail(&sandbox, &[]);
    let output = sandbox.run(&["resume"]).ends_with(1);
    assert_eq!(started(&sandbox), "4.2");
    has(
        &output.stdout,
        "2 of 4 done, story 2 failed after 2 attempts",
    );
    assert_eq!(
        states(&sandbox),
        [
            "1 completed",
            "2 failed",
            "3 not_run it depends on story 2, which failed",
            "4 completed"
        ]
    );
    sandbox.run(&["resume"]).ends_with(0);
    assert_eq!(started(&sandbox), "2.3 3.1");
}

#[test]
fn a_run_that_was_stopped_tries_what_had_failed_after_the_others() {
    let (sandbox, output) = ended_in_the_fourth(Signal::INT);
    has(&output.stdout, "`c`: stopped by you");
    has(
        &output.stdout,
        "stories    1 of 4 done, 1 failed, 1 not run",
    );
    has(&output.stdout, "continues with story 4");
    let_fail(&sandbox, &[]);
    sandbox.run(&["resume"]).ends_with(0);
    assert_eq!(started(&sandbox), "4.2 2.3 3.1");
}

#[test]
fn a_kill_at_any_moment_changes_nothing_of_what_a_run_does() {
    let sandbox = with("", THIRD_AFTER_SECOND);
    let_fail(&sandbox, &["2"]);
    let log = sandbox.root.join("points");
    let mut command = sandbox.command(sandbox.program());
    command.args(["loop", "c"]).env("RALPHTOOL_KILL_LOG", &log);
    sandbox.start_command(command).end().ends_with(1);
    let points = fs::read_to_string(&log).unwrap().lines().count();
    let want = states(&sandbox);
    for point in (1..=points).rev().step_by(points / 12) {
        let sandbox = with("", THIRD_AFTER_SECOND);
        let_fail(&sandbox, &["2"]);
        let mut command = sandbox.command(sandbox.program());
        command
            .args(["loop", "c"])
            .env("RALPHTOOL_KILL_AT", point.to_string());
        sandbox.start_command(command).end();
        // Where it had ended already, a start would try the story that failed again.
        let status = sandbox.run(&["status", "--json"]).ends_with(0).stdout;
        let status: Value = serde_json::from_str(&status).unwrap();
        if status["outcome"].is_null() {
            sandbox.run(&["loop", "c"]).ends_with(1);
        }
        assert_eq!(states(&sandbox), want, "killed at {point} of {points}");
        let attempts = started(&sandbox);
        let tried = |story: &str| {
            attempts
                .split(' ')
                .filter(|it| it.starts_with(story))
                .count()
        };
        assert!(tried("2.") <= 3, "killed at {point}: {attempts}");
    }
}

#[test]
fn a_dry_run_says_what_follows_a_story_that_failed_and_which_depends_on_which() {
    let said = |lines: &str, tables: &str| {
        let sandbox = with(lines, tables);
        sandbox.run(&["loop", "c", "--dry-run"]).ends_with(0).stdout
    };
    let attempts = "at most 2 per story; then the run";
    has(&said("", ""), &format!("{attempts} stops\n"));
    has(
        &said("depends = false", ""),
        &format!("{attempts} continues with what does not depend on it\n"),
    );
    let page = said("on_exhausted = \"continue\"", "");
    has(&page, &format!("{attempts} continues with the others\n"));
    let page = said("", THIRD_AFTER_SECOND);
    has(&page, "3 Third  1 task open, depends on 2\n");
    let sandbox = with("", THIRD_AFTER_SECOND);
    let plan = object(&sandbox, &["loop", "c", "--dry-run", "--json"]);
    let on: Vec<&Value> = plan["stories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["depends_on"])
        .collect();
    assert_eq!(
        on,
        [&json!(null), &json!(["1"]), &json!(["2"]), &json!(["1"])]
    );
    // What cannot hold is said.
    let sandbox = with("", &THIRD_AFTER_SECOND.replace("[\"1\"]", "[\"3\", \"9\"]"));
    let output = sandbox.run(&["loop", "c", "--dry-run"]).ends_with(0);
    has(
        &output.stderr,
        "story 2 depends on `9`, which is not in the plan",
    );
    has(
        &output.stderr,
        "story 2 depends on story 3, which depends on story 2: story 2 does not wait for it",
    );
}

#[test]
fn a_story_that_is_asked_for_is_run_before_those_it_depends_on_with_a_warning() {
    let sandbox = with("", THIRD_AFTER_SECOND);
    let warning = "story 3 depends on stories 1 and 2, which are open";
    let flags = ["loop", "c", "--story", "3"];
    let dry = sandbox
        .run(&[&flags[..], &["--dry-run"]].concat())
        .ends_with(0);
    has(&dry.stderr, warning);
    sandbox.run(&flags).ends_with(0);
    assert_eq!(started(&sandbox), "3.1");
    assert_eq!(sandbox.warnings(), [format!("dependency_open: {warning}")]);
    let_fail(&sandbox, &["1"]);
    let output = sandbox.run(&["loop", "c"]).ends_with(1);
    has(
        &output.stdout,
        "1 of 4 done, story 1 failed after 2 attempts",
    );
    assert_eq!(started(&sandbox), "1.1 1.2");
}

#[test]
fn a_user_away_from_the_screen_is_notified_when_a_story_is_given_up() {
    let sandbox = with("depends = false", "");
    let note = sandbox.root.join("noted");
    let script = sandbox.root.join("notify.sh");
    fs::write(
        &script,
        format!(
            "echo \"$RALPHTOOL_OCCASION: $RALPHTOOL_MESSAGE\" >> {}\n",
            note.display()
        ),
    )
    .unwrap();
    sandbox.config_and(
        "max_retries = 0\ndepends = false",
        &format!("[notify]\ncommand = [\"sh\", \"{}\"]\n", script.display()),
    );
    let_fail(&sandbox, &["2"]);
    sandbox.run(&["loop", "c"]).ends_with(1);
    let failed = "story 2 failed after 1 attempt (the agent reported failure)";
    let mut lines: Vec<String> = fs::read_to_string(note)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    lines.sort();
    assert_eq!(
        lines,
        [
            format!("exhausted: c: 3 of 4 done, {failed}"),
            format!("exhausted: c: {failed}; the run continues without it"),
        ]
    );
}

#[test]
fn gates_at_the_end_do_not_judge_a_change_with_a_story_that_failed_and_that_is_said() {
    let gate =
        "[[gate]]\nname = \"all\"\nrun = \"touch $root/ran\"\nwhen = \"end\"\nbaseline = false\n";
    let sandbox = with("depends = false", "");
    let root = sandbox.root.display().to_string();
    sandbox.config_and(
        "max_retries = 0\ndepends = false",
        &gate.replace("$root", &root),
    );
    let_fail(&sandbox, &["2"]);
    let output = sandbox.run(&["loop", "c"]).ends_with(1);
    has(
        &output.stdout,
        "gate `all` has not run yet: it runs when every story is done",
    );
    assert!(there(&sandbox.root.join("ran")).is_none());
    let_fail(&sandbox, &[]);
    sandbox.run(&["resume"]).ends_with(0);
    assert!(there(&sandbox.root.join("ran")).is_some());
}
