//! Every command and every screen shows the same facts of a run: state, headline, stories, attempts,
//! time, tokens, cost and files, after each step of a history with a budget, a kill, a resume, a
//! skipped story, a rewind, undos, a cleanup and deferred tasks.

use crate::sandbox::{Sandbox, records, there, until};
use crate::terminal::Terminal;
use crate::tui::stage::{chooses, command};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};

/// A million tokens cost a dollar.
const SETTINGS: &str = r#"
agent = "teller"
[agents.teller]
command = ["sh", "ROOT/teller.sh"]
output = "claude-json"
[prices.m]
input = 1
output = 1
"#;

/// An agent that reports 100,000 tokens and completes its story. Where `ROOT/hang` exists, and at
/// story 4, it hangs instead; where `ROOT/fail` exists, the attempt fails.
const AGENT: &str = r#"
cat > /dev/null
tasks="openspec/changes/$RALPHTOOL_CHANGE/tasks.md"
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
if [ -e ROOT/hang ] || [ $RALPHTOOL_STORY = 4 ]; then
    printf '{"type":"assistant","message":{"id":"a","content":[],"usage":{"input_tokens":50000,"output_tokens":0}}}\n'
    touch "ROOT/here-$RALPHTOOL_STORY"
    sleep 300
fi
if [ -e ROOT/fail ]; then
    rm ROOT/fail
    echo '{"type":"result","subtype":"success","is_error":false,"result":"<promise>FAILED: not yet</promise>","usage":{"input_tokens":7}}'
    exit
fi
echo work > "story-$RALPHTOOL_STORY.txt"
sed "s/- \[ \] $RALPHTOOL_STORY\./- [x] $RALPHTOOL_STORY./" "$tasks" > "$tasks.new" && mv "$tasks.new" "$tasks"
echo '{"type":"result","subtype":"success","is_error":false,"result":"<promise>COMPLETE</promise>","usage":{"input_tokens":100000}}'
"#;

const TASKS: &str = "\
## 1. First

- [ ] 1.1 Do a
- [~] 1.2 Do b

## 2. Second

- [ ] 2.1 Do c

## 3. Later

- [~] 3.1 Do d

## 4. Last

- [ ] 4.1 Do e
";

fn start() -> Sandbox {
    let sandbox = Sandbox::new();
    let root = sandbox.root.display().to_string();
    sandbox.write("ralphtool.toml", &SETTINGS.replace("ROOT", &root));
    sandbox.tasks(TASKS);
    sandbox.git("add -A");
    sandbox.git("commit -qm settings");
    std::fs::write(sandbox.root.join("teller.sh"), AGENT.replace("ROOT", &root)).unwrap();
    sandbox
}

fn object(sandbox: &Sandbox, args: &[&str]) -> Value {
    let output = sandbox.run(args).ends_with(0).stdout;
    serde_json::from_str(&output).unwrap()
}

fn text(sandbox: &Sandbox, args: &[&str]) -> String {
    sandbox.run(args).ends_with(0).stdout
}

/// What `of` says of a run; the figures are in `figures`.
fn facts(of: &Value, figures: &Value, tokens: u64) -> Value {
    json!({
        "state": of["state"],
        "headline": of["headline"],
        "done": of["stories_done"],
        "total": of["stories_total"],
        "deferred": of["stories_deferred"],
        "skipped": of["stories_skipped"],
        "failed": of["stories_failed"],
        "not_run": of["stories_not_run"],
        "tasks_deferred": of["tasks_deferred"],
        "finish": of["finish"],
        "attempts": figures["attempts"],
        "tokens": tokens,
        "cost": figures["cost_usd"].as_f64().map(|usd| format!("{usd:.6}")),
    })
}

/// The facts of the last run, after everything that prints them was compared.
#[track_caller]
fn agreed(sandbox: &Sandbox) -> Value {
    let status = object(sandbox, &["status", "--json"]);
    let receipt = object(sandbox, &["log", "last", "--json"]);
    let row = object(sandbox, &["log", "--json"])[0].clone();
    let list = object(sandbox, &["list", "--json"]);
    let mut rows = list.as_array().unwrap().iter();
    let change = rows.find(|row| row["name"] == "c").unwrap().clone();
    let totals = &receipt["totals"];
    let sorts = ["input", "output", "cache_read", "cache_write"];
    let tokens = sorts.map(|sort| totals[format!("{sort}_tokens")].as_u64().unwrap());
    let want = facts(&receipt, totals, tokens.iter().sum());
    let of = |of: &Value| facts(of, of, of["tokens"].as_u64().unwrap());
    assert_eq!(of(&status), want, "status and the receipt");
    assert_eq!(of(&row), want, "the list of runs and the receipt");
    assert_eq!(row["elapsed_ms"], totals["duration_ms"], "the time");
    assert_eq!(of(&change["last_run"]), want, "list and the receipt");
    assert_eq!(status["elapsed_ms"], totals["duration_ms"], "the time");
    assert_eq!(status["changed_files"], totals["changed_files"]);
    let standing = change["standing"].as_str().unwrap();
    in_words(sandbox, &receipt, &want, standing);
    let short = standing.split(':').next().unwrap();
    on_the_list(sandbox, &want, short);
    want
}

/// The texts say what the objects say.
#[track_caller]
fn in_words(sandbox: &Sandbox, receipt: &Value, facts: &Value, standing: &str) {
    let headline = facts["headline"].as_str().unwrap();
    let stories = format!("{} of {} done", facts["done"], facts["total"]);
    let attempts = format!("{} attempt", facts["attempts"]);
    let status = text(sandbox, &["status"]);
    let receipt_text = text(sandbox, &["log", "last"]);
    let markdown = text(sandbox, &["log", "--markdown"]).replace('\\', "");
    for (face, page) in [("status", &status), ("log", &receipt_text)] {
        for fact in [headline, &stories] {
            assert!(page.contains(fact), "{face} without `{fact}`:\n{page}");
        }
    }
    let fact = |page: &str, name: &str| {
        let mut lines = page.lines().filter_map(|line| line.trim().split_once(' '));
        let found = lines.find(|(label, _)| *label == name);
        found.map(|(_, value)| value.trim().to_owned())
    };
    assert_eq!(
        fact(&status, "attempts"),
        Some(facts["attempts"].to_string())
    );
    assert_eq!(fact(&status, "time"), fact(&receipt_text, "time"));
    assert!(
        fact(&receipt_text, "attempts")
            .unwrap()
            .starts_with(&attempts)
    );
    let stories = format!("**{} of {} stories done", facts["done"], facts["total"]);
    for fact in [headline, &stories, &attempts] {
        assert!(markdown.contains(fact), "no `{fact}` in\n{markdown}");
    }
    let list = text(sandbox, &["list"]);
    assert!(list.contains(standing), "no `{standing}` in\n{list}");
    assert_eq!(receipt["state"], facts["state"]);
    let doctor = sandbox.run(&["doctor"]).stdout;
    let run = fact(&doctor.replace(['!', '✓'], " "), "run").unwrap();
    let stories = format!("{} of {} stories done", facts["done"], facts["total"]);
    for fact in [headline, &stories] {
        assert!(run.contains(fact), "the doctor without `{fact}`: {run}");
    }
}

/// The list of changes on the screen says the same.
#[track_caller]
fn on_the_list(sandbox: &Sandbox, facts: &Value, standing: &str) {
    let headline = facts["headline"].as_str().unwrap();
    let mut terminal = Terminal::start(&command(sandbox, &[]), 40, 200);
    terminal.waits_for(standing);
    terminal.waits_for(headline);
    terminal.waits_for(&used(facts));
    terminal.waits_for(&format!(
        "{} of {} stories done",
        facts["done"], facts["total"]
    ));
    terminal.waits_for(&attempts(facts));
    terminal.keys("q");
    terminal.end();
}

fn attempts(facts: &Value) -> String {
    match facts["attempts"].as_u64().unwrap() {
        1 => "1 attempt".to_owned(),
        many => format!("{many} attempts"),
    }
}

/// Tokens and cost, as screens show them.
fn used(facts: &Value) -> String {
    let cost: f64 = facts["cost"].as_str().unwrap().parse().unwrap();
    format!(
        "{}k tokens · ${cost:.2}",
        facts["tokens"].as_u64().unwrap() / 1000
    )
}

/// The closing words say what the receipt says.
#[track_caller]
fn closed(output: &str, facts: &Value) {
    let (_, words) = output.rsplit_once("\n`c`: ").unwrap();
    let value = |name: &str| {
        let mut lines = words.lines().filter_map(|line| line.trim().split_once(' '));
        let found = lines.find(|(label, _)| *label == name);
        found.map(|(_, value)| value.trim().to_owned()).unwrap()
    };
    assert_eq!(words.lines().next(), facts["headline"].as_str());
    assert_eq!(value("attempts"), facts["attempts"].to_string());
    let stories = format!("{} of {} done", facts["done"], facts["total"]);
    assert!(value("stories").starts_with(&stories), "{words}");
    let tokens = facts["tokens"].as_u64().unwrap();
    assert_eq!(value("tokens"), format!("{}k", tokens / 1000));
    let cost: f64 = facts["cost"].as_str().unwrap().parse().unwrap();
    assert_eq!(value("cost"), format!("${cost:.2}"));
}

fn of<'a>(facts: &'a Value, names: &[&str]) -> Vec<&'a Value> {
    names.iter().map(|name| &facts[*name]).collect()
}

#[test]
fn every_face_says_the_same_of_a_run() {
    let sandbox = start();

    // The budget stops the run after the first story.
    let first = sandbox
        .run(&["loop", "c", "--max-cost", "0.10"])
        .ends_with(3);
    let facts = agreed(&sandbox);
    let names = [
        "state", "headline", "done", "deferred", "attempts", "finish",
    ];
    assert_eq!(
        json!(of(&facts, &names)),
        json!([
            "budget_used_up",
            "budget used up: $0.10 of $0.10",
            1,
            1,
            1,
            "keep"
        ])
    );
    closed(&first.stdout, &facts);

    // In another terminal a run at work is running; killed, it is interrupted.
    std::fs::write(sandbox.root.join("hang"), "").unwrap();
    let running = sandbox.start(&["resume", "--max-cost", "5"]);
    until("the agent", || there(&sandbox.root.join("here-2")));
    let list = text(&sandbox, &["list"]);
    assert!(list.contains("running"), "{list}");
    let row = &object(&sandbox, &["log", "--json"])[0];
    assert_eq!(row["state"], "running");
    assert_eq!(object(&sandbox, &["status", "--json"])["state"], "running");
    running.signal(Signal::KILL);
    running.end();
    std::fs::remove_file(sandbox.root.join("hang")).unwrap();
    let facts = agreed(&sandbox);
    assert_eq!(
        json!(of(&facts, &names)),
        json!(["interrupted", "interrupted", 1, 1, 2, null])
    );

    // It is resumed on the screen: an attempt fails, the next one is done, and a story is skipped.
    std::fs::write(sandbox.root.join("fail"), "").unwrap();
    let mut terminal = Terminal::start(&command(&sandbox, &["resume", "--max-cost", "5"]), 24, 100);
    until("the agent", || there(&sandbox.root.join("here-4")));
    terminal.waits_for("2 of 4 stories");
    // The run screen counts what was used before, and what the agent uses now.
    terminal.waits_for("$0.30 of $5.00");
    terminal.waits_for("300k tokens");
    let status = object(&sandbox, &["status", "--json"]);
    assert_eq!(status["tokens"].as_u64().unwrap() / 1000, 300);
    assert_eq!(
        json!(of(&status, &["state", "stories_done", "attempts"])),
        json!(["running", 2, 5])
    );
    terminal.keys("x");
    terminal.waits_for("Skip the story?");
    terminal.keys("y");
    terminal.waits_for("2 of 4 stories done (1 task deferred), 1 deferred, 1 skipped · 5 attempts");
    let screen = terminal.screen();
    chooses(&terminal, "b", "On ralph/c with checkpoint commits");
    terminal.keys("q");
    terminal.end();
    let facts = agreed(&sandbox);
    let skipped = "done, except 1 story you skipped";
    assert_eq!(
        json!(of(&facts, &names)),
        json!(["skipped", skipped, 2, 1, 5, "keep"])
    );
    assert!(screen.contains(skipped), "{screen}");
    let line: Vec<&str> = screen.split_whitespace().collect();
    let (line, used) = (line.join(" "), used(&facts));
    assert!(line.contains(&used), "no `{used}` in\n{screen}");
    closed(&terminal.screen(), &facts);

    // What is done is what is done on the branch now.
    text(&sandbox, &["rewind", "2"]);
    let facts = agreed(&sandbox);
    assert_eq!(
        json!(of(&facts, &names)),
        json!(["rewound", "rewound to before story 2", 1, 1, 5, null])
    );
    let next = &object(&sandbox, &["status", "--json"])["next"][0];
    assert_eq!(next["command"], "ralphtool resume");
    text(&sandbox, &["undo"]);
    let facts = agreed(&sandbox);
    assert_eq!(json!(of(&facts, &["state", "done"])), json!(["skipped", 2]));

    // What became of the branch is the same everywhere, too.
    text(&sandbox, &["finish", "--cleanup"]);
    let facts = agreed(&sandbox);
    assert_eq!(
        json!(of(&facts, &names)),
        json!(["skipped", skipped, 2, 1, 5, "cleanup"])
    );
    text(&sandbox, &["undo"]);
    agreed(&sandbox);
    assert_eq!(
        records(&text(&sandbox, &["log", "--events", "--json"])),
        sandbox.events()
    );
}

#[test]
fn every_face_says_the_same_of_a_run_that_continued_after_a_story_had_failed() {
    let sandbox = start();
    let settings = sandbox.read("ralphtool.toml").replacen(
        "agent =",
        "max_retries = 0\ndepends = false\nagent =",
        1,
    );
    let after_first = "[[story]]\nid = \"2\"\ndepends_on = [\"1\"]\n";
    sandbox.write("ralphtool.toml", &format!("{settings}{after_first}"));
    // The agent hangs at story 4.
    sandbox.tasks(&TASKS.replace("4.", "5."));
    std::fs::write(sandbox.root.join("fail"), "").unwrap();
    let mut terminal = Terminal::start(&command(&sandbox, &["run", "c"]), 40, 160);
    let failed = "story 1 failed after 1 attempt (the agent reported failure)";
    let headline = format!("1 of 4 done, {failed}, 1 deferred, 1 not run");
    terminal.waits_for(&headline);
    terminal.waits_for("1 of 4 stories done, 1 failed, 1 deferred, 1 not run");
    // The whole screen is drawn once its last part is there.
    terminal.waits_until(|screen| {
        screen.contains("2 Second") && screen.contains("What to do with the branch")
    });
    chooses(&terminal, "b", "On ralph/c with checkpoint commits");
    terminal.keys("q");
    terminal.end();
    let facts = agreed(&sandbox);
    let names = [
        "state", "headline", "done", "failed", "not_run", "deferred", "attempts",
    ];
    assert_eq!(
        json!(of(&facts, &names)),
        json!(["failed", headline, 1, 1, 1, 1, 2])
    );
    closed(&terminal.screen(), &facts);
}

#[test]
fn an_attempt_that_the_user_stopped_is_no_failure_and_does_not_count() {
    let sandbox = start();
    std::fs::write(sandbox.root.join("hang"), "").unwrap();
    let running = sandbox.start(&["loop", "c", "--story", "1"]);
    until("the agent", || there(&sandbox.root.join("here-1")));
    running.signal(Signal::INT);
    let first = running.end().ends_with(130).stdout;
    assert!(first.contains("at most 4 attempts each"), "{first}");
    assert!(first.contains(" attempt 1/4\n"), "{first}");
    let receipt = object(&sandbox, &["log", "last", "--json"]);
    let counted = |receipt: &Value| {
        let totals = &receipt["totals"];
        json!([totals["attempts"], totals["failed_attempts"]])
    };
    assert_eq!(counted(&receipt), json!([1, 0]));
    let log = text(&sandbox, &["log", "last"]);
    assert!(log.contains("  attempts 1 attempt\n"), "{log}");

    std::fs::remove_file(sandbox.root.join("hang")).unwrap();
    std::fs::write(sandbox.root.join("fail"), "").unwrap();
    let second = sandbox.run(&["resume", "--story", "1"]).ends_with(0).stdout;
    for attempt in ["attempt 2, try 1/4", "attempt 3, try 2/4"] {
        let line = format!(" {attempt}; an earlier one does not count\n");
        assert!(second.contains(&line), "{second}");
    }
    let receipt = object(&sandbox, &["log", "last", "--json"]);
    assert_eq!(counted(&receipt), json!([3, 1]));
}

#[test]
fn files_that_a_finish_counted_are_not_those_after_a_rewind() {
    let sandbox = Sandbox::new();
    sandbox.run(&["loop", "c"]).ends_with(0);
    let files = || {
        let status = text(&sandbox, &["status"]);
        let line = status.lines().find(|line| line.starts_with("  files"));
        line.map(|line| line.trim().to_owned())
    };
    assert_eq!(files().as_deref(), Some("files     3 changed"));
    text(&sandbox, &["rewind", "2"]);
    assert_eq!(files(), None);
    let log = text(&sandbox, &["log", "last"]);
    assert!(log.contains("  commits  1 commit\n"), "{log}");
}

#[test]
fn a_cost_that_is_known_in_part_is_a_lower_bound_everywhere() {
    let sandbox = start();
    let root = sandbox.root.display().to_string();
    // The second story is done by a model without prices.
    let agent = AGENT
        .replace("\"model\":\"m\"", "\"model\":\"'$model'\"")
        .replace("ROOT", &root);
    let model = "model=m; [ $RALPHTOOL_STORY = 1 ] || model=unknown";
    std::fs::write(sandbox.root.join("teller.sh"), format!("{model}\n{agent}")).unwrap();
    sandbox.tasks(&TASKS.replace("[ ] 4.1", "[x] 4.1"));
    let closing = sandbox.run(&["loop", "c"]).ends_with(0).stdout;
    let status = text(&sandbox, &["status"]);
    let log = text(&sandbox, &["log", "last"]);
    let runs = text(&sandbox, &["log"]);
    for face in [closing, status, log, runs] {
        assert!(face.contains("at least $0.10"), "{face}");
    }
}

/// A reviewer that reports 30,000 tokens and judges nothing; where `ROOT/slow` exists, it hangs
/// instead.
const JUDGE: &str = r#"
cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
if [ -e ROOT/slow ]; then
    printf '{"type":"assistant","message":{"id":"a","content":[],"usage":{"input_tokens":30000,"output_tokens":0}}}\n'
    touch ROOT/here-judge
    sleep 300
fi
echo '{"type":"result","subtype":"success","is_error":false,"result":"I have no idea.","usage":{"input_tokens":30000}}'
"#;

#[test]
fn every_face_says_the_same_of_a_run_that_was_reviewed() {
    let sandbox = start();
    let root = sandbox.root.display().to_string();
    std::fs::write(sandbox.root.join("judge.sh"), JUDGE.replace("ROOT", &root)).unwrap();
    let review = "[agents.judge]\ncommand = [\"sh\", \"ROOT/judge.sh\"]\noutput = \"claude-json\"\n\
                  [[review]]\nagent = \"judge\"\n";
    let settings = format!("{SETTINGS}{review}").replace("ROOT", &root);
    sandbox.write("ralphtool.toml", &settings);
    sandbox.tasks(crate::sandbox::TASKS);
    sandbox.git("commit -qam review");

    // Killed in the middle of a review, it is interrupted, and what the reviewer used counts.
    std::fs::write(sandbox.root.join("slow"), "").unwrap();
    let running = sandbox.start(&["loop", "c"]);
    until("the reviewer", || there(&sandbox.root.join("here-judge")));
    let status = until("the figures", || {
        let status = object(&sandbox, &["status", "--json"]);
        (status["tokens"] == 130_000).then_some(status)
    });
    assert_eq!(status["doing"]["what"], "review");
    assert_eq!(status["doing"]["review"], "judge");
    running.signal(Signal::KILL);
    running.end();
    std::fs::remove_file(sandbox.root.join("slow")).unwrap();
    let facts = agreed(&sandbox);
    let names = ["state", "headline", "done", "attempts", "tokens"];
    assert_eq!(
        json!(of(&facts, &names)),
        json!(["interrupted", "interrupted", 0, 1, 130_000])
    );

    let output = sandbox.run(&["resume"]).ends_with(1).stdout;
    let facts = agreed(&sandbox);
    let headline = "done, but not verified: review `judge` gave no verdict on stories 1 and 2";
    // Each of the two stories took an attempt and a review with its second try.
    assert_eq!(
        json!(of(&facts, &names)),
        json!(["unverified", headline, 2, 3, 450_000])
    );
    closed(&output, &facts);
}
