//! Reviews with the real program: what a reviewer is asked, what its verdicts lead to, and what
//! becomes of whatever it changes. The reviewer is a script.

use std::fs;
use std::path::PathBuf;

use crate::sandbox::{self, GOOD, Sandbox, records, there, until};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};

/// What every reviewer may use; its answer has the key that its prompt gave.
const PRELUDE: &str = r#"
prompt=$(cat)
printf '%s' "$prompt" > "$root/asked-$(ls "$root" | grep -c '^asked-')"
key=$(printf '%s\n' "$prompt" | sed -n 's/.*"review": "\(review-[a-z0-9]*\)".*/\1/p')
item() { printf '{"item": "%s", "verdict": "%s", "evidence": "%s"}' "$1" "$2" "$3"; }
answer() { printf 'I looked.\n```json\n{"review": "%s", "verdicts": [%s]}\n```\n' "$key" "$1"; }
met() { answer "$(item T1 met 'a.txt:1'), $(item T2 met 'it ran')"; }
"#;

/// A sandbox with a reviewer; `ROOT` in the settings is the sandbox's folder.
fn reviewed(lines: &str, tables: &str, script: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    reviewer(&sandbox, script);
    let root = sandbox.root.display().to_string();
    let tables = format!(
        "[agents.judge]\ncommand = [\"false\"]\nreview = [\"sh\", \"ROOT/judge.sh\"]\n{tables}"
    );
    sandbox.config_and(lines, &tables.replace("ROOT", &root));
    sandbox.git("commit -q -a -m settings");
    sandbox
}

const REVIEW: &str = "[[review]]\nagent = \"judge\"\n";

fn reviewer(sandbox: &Sandbox, script: &str) {
    let text = format!("root='{}'\n{PRELUDE}\n{script}\n", sandbox.root.display());
    fs::write(sandbox.root.join("judge.sh"), text).unwrap();
}

/// What the reviewer was asked, by the number of the call.
fn asked(sandbox: &Sandbox, number: usize) -> String {
    fs::read_to_string(sandbox.root.join(format!("asked-{number}"))).unwrap()
}

/// How each review of the last run ended.
fn results(sandbox: &Sandbox) -> Vec<String> {
    let finished = sandbox.events_named("review_finished");
    let line = |event: &Value| {
        let result = &event["result"];
        let items = result["items"].as_array();
        let items = items.into_iter().flatten();
        let items = items.map(|it| format!("{} {}", it["item"], it["verdict"]).replace('"', ""));
        let items: Vec<String> = items.collect();
        let reason = result["reason"].as_str().unwrap_or_default();
        format!("{}: {}{reason}", event["story"], items.join(", ")).replace('"', "")
    };
    finished.iter().map(line).collect()
}

fn warned(sandbox: &Sandbox, code: &str) -> Vec<String> {
    let code = format!("{code}: ");
    let warnings = sandbox.warnings().into_iter();
    warnings
        .filter_map(|it| it.strip_prefix(&code).map(str::to_owned))
        .collect()
}

fn receipt(sandbox: &Sandbox) -> Value {
    let output = sandbox.run(&["log", "last", "--json"]).ends_with(0).stdout;
    serde_json::from_str(&output).unwrap()
}

#[test]
fn what_a_reviewer_finds_met_is_committed_and_the_receipt_has_its_evidence() {
    let gate = "[[gate]]\nname = \"tests\"\nrun = \"echo 2 passed\"\n";
    let sandbox = reviewed("", &format!("{gate}{REVIEW}"), "met");
    let said = sandbox.run(&["loop", "c"]).ends_with(0).stdout;
    assert_eq!(sandbox.commits().len(), 3);
    assert_eq!(
        results(&sandbox),
        ["1: T1 met, T2 met", "2: T1 met, T2 met"]
    );
    for part in ["reviews: `judge`", "review `judge`: 2 met"] {
        assert!(said.contains(part), "{said}");
    }

    let prompt = asked(&sandbox, 0);
    for part in [
        "story 1 (First)",
        "- T1: 1.1 Do a\n- T2: 1.2 Do b\n",
        "- 1 First: under review\n- 2 Second: not done yet",
        "- tests: `echo 2 passed`: passed; its last lines:\n\n```text\n2 passed\n```",
        "=== story-1.txt (new, +1 -0)\n",
        "\n+work\n",
    ] {
        assert!(prompt.contains(part), "without {part:?}:\n{prompt}");
    }
    assert!(asked(&sandbox, 1).contains("- 1 First: done\n- 2 Second: under review"));

    let receipt = receipt(&sandbox);
    let review = &receipt["stories"][0]["attempts"][0]["reviews"][0];
    assert_eq!(
        (&review["verdict"], &review["items"][0]),
        (
            &json!("met"),
            &json!({"item": "T1", "what": "task", "text": "1.1 Do a", "verdict": "met", "evidence": "a.txt:1"})
        )
    );
    let text = sandbox.run(&["log", "last"]).ends_with(0).stdout;
    let lines = "        review `judge` met";
    assert!(text.contains(lines), "{text}");
    assert!(
        text.contains("            T2 1.2 Do b: met: it ran\n"),
        "{text}"
    );
    let page = sandbox.run(&["log", "--markdown"]).ends_with(0).stdout;
    let row = "| 1 | judge | T1 1.1 Do a | met | a.txt:1 |\n";
    assert!(page.contains(row), "{page}");
}

#[test]
fn what_is_not_met_fails_the_attempt_and_the_next_one_gets_the_findings() {
    let judge = "if grep -q fixed story-1.txt; then met; else
        answer \"$(item T1 met 'a.txt:1'), $(item T2 not_met 'story-1.txt:1 says work')\"
    fi";
    let sandbox = reviewed("max_retries = 1", REVIEW, judge);
    sandbox.agent(&format!(
        "{GOOD}\ncase $prompt in *'T2 1.2 Do b: not met: story-1.txt:1 says work'*) ;; *) exit ;; esac\n\
         echo fixed > story-1.txt"
    ));
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(
        sandbox.failures(),
        [
            "1.1 review: review `judge`: 1 of 2 not met\nT2 1.2 Do b: not met: story-1.txt:1 says work"
        ]
    );
    assert_eq!(
        results(&sandbox),
        ["1: T1 met, T2 not_met", "1: T1 met, T2 met"]
    );
    assert_eq!(sandbox.read("story-1.txt"), "fixed\n");
    // The second review is in the folder of its own attempt.
    let folder = |attempt: &str| sandbox.runs()[0].join("attempts").join(attempt);
    for attempt in ["1.1", "1.2"] {
        assert!(folder(attempt).join("review-judge/prompt.md").exists());
    }
}

#[test]
fn what_is_not_met_to_the_end_ends_the_run_with_the_review_as_the_cause() {
    let judge = "answer \"$(item T1 not_met 'no test')\"";
    let sandbox = reviewed("max_retries = 0", REVIEW, judge);
    let said = sandbox.run(&["loop", "c"]).ends_with(1).stdout;
    let headline = "story 1 failed after 1 attempt (a review failed)";
    assert!(said.contains(headline), "{said}");
    assert_eq!(results(&sandbox), ["1: T1 not_met, T2 cannot_tell"]);
    let shown = sandbox
        .run(&["attempts", "show", "1.1"])
        .ends_with(0)
        .stdout;
    assert!(shown.contains("story-1.txt"), "{shown}");
}

#[test]
fn what_a_reviewer_cannot_tell_is_reported_and_fails_nothing() {
    let judge = "answer \"$(item T1 met 'a.txt:1'), $(item T2 cannot_tell 'no network')\"";
    let sandbox = reviewed("", REVIEW, judge);
    let said = sandbox
        .run(&["loop", "c", "--story", "1"])
        .ends_with(0)
        .stdout;
    let doubt = "review `judge` cannot tell: T2 1.2 Do b: no network";
    assert_eq!(warned(&sandbox, "review_cannot_tell"), [doubt]);
    assert!(said.contains(&format!("! story 1: {doubt}")), "{said}");
    let status = sandbox.run(&["status"]).ends_with(0).stdout;
    assert!(status.contains(doubt), "{status}");
    assert_eq!(receipt(&sandbox)["stories"][0]["is_doubtful"], true);
}

#[test]
fn an_answer_without_verdicts_is_asked_for_once_more() {
    let judge = "if [ -e \"$root/asked-1\" ]; then met; else echo 'All is fine.'; fi";
    let sandbox = reviewed("", REVIEW, judge);
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    let reason = "its answer has no JSON object with the key of the review";
    assert_eq!(
        results(&sandbox),
        [format!("1: {reason}"), "1: T1 met, T2 met".to_owned()]
    );
    assert!(!asked(&sandbox, 0).contains("Your First Answer"));
    assert!(asked(&sandbox, 1).contains(&format!("could not be used: {reason}.")));
}

#[test]
fn work_that_no_reviewer_judged_is_done_but_not_verified() {
    let cases = [
        (
            "echo nonsense",
            "its answer has no JSON object with the key of the review",
            2,
        ),
        (
            "echo starting >&2; echo boom >&2; exit 3",
            "it ended with exit code 3: boom",
            2,
        ),
        ("kill -9 $$", "it ended with signal 9", 2),
        ("exec sleep 300", "it took longer than 300ms", 1),
    ];
    for (judge, reason, asked) in cases {
        let tables = format!("{REVIEW}timeout = \"300ms\"\n");
        let tables = if judge.contains("sleep") {
            tables
        } else {
            REVIEW.to_owned()
        };
        let sandbox = reviewed("", &tables, judge);
        let said = sandbox
            .run(&["loop", "c", "--story", "1"])
            .ends_with(1)
            .stdout;
        let headline = "done, but not verified: review `judge` gave no verdict on story 1";
        assert!(said.contains(headline), "{said}");
        assert_eq!(results(&sandbox).len(), asked);
        assert_eq!(
            warned(&sandbox, "not_reviewed"),
            [format!("review `judge` gave no verdict: {reason}")]
        );
        // The work is there.
        assert_eq!(sandbox.commits().len(), 2);
        let status: Value =
            serde_json::from_str(&sandbox.run(&["status", "--json"]).ends_with(0).stdout).unwrap();
        assert_eq!(status["state"], "unverified");
        assert_eq!(
            status["unverified"],
            "review `judge` gave no verdict on story 1"
        );
        let list = sandbox.run(&["list"]).ends_with(0).stdout;
        assert!(list.contains("not verified"), "{list}");
    }
}

#[test]
fn a_story_without_a_verdict_is_remembered_when_the_run_is_resumed() {
    let judge = "case $RALPHTOOL_STORY in 1) echo nonsense ;; *) met ;; esac";
    let sandbox = reviewed("max_retries = 0", REVIEW, judge);
    sandbox.agent(&format!(
        "if [ \"$RALPHTOOL_STORY\" = 2 ] && [ ! -e \"$root/again\" ]; then failed 'not yet'; exit; fi\n{GOOD}"
    ));
    sandbox.run(&["loop", "c"]).ends_with(1);
    fs::write(sandbox.root.join("again"), "").unwrap();
    let said = sandbox.run(&["resume"]).ends_with(1).stdout;
    let headline = "done, but not verified: review `judge` gave no verdict on story 1";
    assert!(said.contains(headline), "{said}");
}

#[test]
fn an_advisory_review_only_reports() {
    let judge = "answer \"$(item T1 not_met 'no test'), $(item T2 met 'b')\"";
    let sandbox = reviewed("", &format!("{REVIEW}advisory = true\n"), judge);
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(sandbox.commits().len(), 3);
    assert_eq!(
        warned(&sandbox, "review_not_met"),
        [
            "review `judge` found not met: T1 1.1 Do a: no test",
            "review `judge` found not met: T1 2.1 Do c: no test"
        ]
    );
    // Nor does one without a verdict keep the work from being verified.
    reviewer(&sandbox, "exit 3");
    sandbox.run(&["finish", "--cleanup"]).ends_with(0);
    sandbox.tasks(sandbox::TASKS);
    sandbox.run(&["loop", "c"]).ends_with(0);
}

#[test]
fn everything_a_reviewer_changes_is_undone_and_reported() {
    let judge = r"
        echo changed > a.txt
        echo new > new.txt
        echo SECRET=2 > .env
        echo log > my.log
        git config alias.evil '!evil'
        git add a.txt
        git -c commit.gpgsign=false commit -q -m reviewed
        git branch mine
        git switch -q -c other
        echo more > a.txt
        git stash -q
        rm dir/b.txt
        git add -f my.log
        mkdir -p .git/hooks
        printf '#!/bin/sh\nexit 1\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit
        met
    ";
    let sandbox = reviewed("", REVIEW, judge);
    sandbox.write(".env", "SECRET=1\n");
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(sandbox.branch(), "ralph/c");
    assert_eq!(sandbox.commits(), ["initial state", "checkpoint: 1"]);
    assert_eq!(sandbox.read("a.txt"), "one\n");
    assert_eq!(sandbox.read("dir/b.txt"), "two\n");
    assert_eq!(sandbox.read(".env"), "SECRET=1\n");
    assert!(!sandbox.exists("new.txt"));
    // What git ignores and is new stays, as it does after an attempt.
    assert_eq!(sandbox.read("my.log"), "log\n");
    assert_eq!(sandbox.git("ls-files my.log"), "");
    assert_eq!(sandbox.git("ls-tree --name-only HEAD my.log"), "");
    assert!(!sandbox.exists(".git/hooks/pre-commit"));
    assert!(!sandbox.read(".git/config").contains("evil"));
    assert_eq!(sandbox.git("stash list"), "");
    assert_eq!(
        sandbox.git("for-each-ref --format=%(refname) refs/heads"),
        "refs/heads/main\nrefs/heads/ralph/c\n"
    );
    assert_eq!(sandbox.git("status --porcelain"), "");
    let told = warned(&sandbox, "review_changes");
    let moved = "the reviewer moved `mine`, `other`, `ralph/c`, HEAD; undone";
    assert_eq!(told[0], moved);
    let files = told.last().unwrap();
    assert!(
        files.starts_with("changes made while a reviewer ran, which may only read, were undone: ")
            && files.contains("`a.txt`")
            && files.contains("`dir/b.txt`")
            && files.contains("`new.txt`"),
        "{files}"
    );
    let restored = warned(&sandbox, "git_files_restored");
    assert!(
        restored[0].contains("config, hooks/pre-commit"),
        "{restored:?}"
    );
}

#[test]
fn what_a_reviewer_changes_is_no_part_of_a_failed_attempt() {
    let judge = "echo changed > a.txt; git config alias.evil x
        answer \"$(item T1 not_met 'no'), $(item T2 met 'b')\"";
    let sandbox = reviewed("max_retries = 0", REVIEW, judge);
    sandbox.run(&["loop", "c"]).ends_with(1);
    let shown = sandbox
        .run(&["attempts", "show", "1.1"])
        .ends_with(0)
        .stdout;
    assert!(
        shown.contains("story-1.txt") && !shown.contains("a.txt"),
        "{shown}"
    );
    assert_eq!(sandbox.read("a.txt"), "one\n");
    assert!(!sandbox.read(".git/config").contains("evil"));
}

#[test]
fn a_reviewer_does_not_see_what_gates_left_in_the_tree() {
    let gate = "[[gate]]\nrun = \"echo built > built.txt\"\n";
    let judge = "if [ -e built.txt ]; then exit 3; fi; met";
    let sandbox = reviewed("", &format!("{gate}{REVIEW}"), judge);
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert!(!asked(&sandbox, 0).contains("built.txt (new"));
}

#[test]
fn a_review_at_the_end_judges_the_whole_change_until_it_is_met() {
    let judge = r#"
        echo changed > a.txt; git config alias.evil x; git commit -q -a -m reviewed
        if grep -q fixed story-2.txt; then
            answer "$(item T1 met a), $(item T2 met b), $(item T3 met c), $(item T4 met d)"
        else
            answer "$(item T1 met a), $(item T2 met b), $(item T3 not_met 'story-2.txt:1'), $(item T4 met d)"
        fi
    "#;
    let sandbox = reviewed(
        "max_retries = 1",
        &format!("{REVIEW}when = \"end\"\n"),
        judge,
    );
    sandbox.agent(&format!(
        "{GOOD}\ncase $prompt in *'T3 story 2: 2.1 Do c: not met: story-2.txt:1'*) ;; *) exit ;; esac\n\
         echo fixed > story-2.txt"
    ));
    let said = sandbox.run(&["loop", "c"]).ends_with(0).stdout;
    let reopened = "story 2 is reopened: review `judge` failed on the whole change";
    assert!(said.contains(reopened), "{said}");
    let titles = [
        "initial state",
        "checkpoint: 1",
        "checkpoint: 2",
        "reopen: 2",
        "checkpoint: 2",
    ];
    assert_eq!(sandbox.commits(), titles);
    assert_eq!(
        results(&sandbox),
        [
            "2: T1 met, T2 met, T3 not_met, T4 met",
            "2: T1 met, T2 met, T3 met, T4 met"
        ]
    );
    let prompt = asked(&sandbox, 0);
    for part in [
        "the whole change `c`, of which every story is done",
        "- T3: story 2: 2.1 Do c\n",
        "=== story-1.txt (new",
        "=== story-2.txt (new",
    ] {
        assert!(prompt.contains(part), "without {part:?}:\n{prompt}");
    }
    assert_eq!(sandbox.read("a.txt"), "one\n");
    assert!(!sandbox.read(".git/config").contains("evil"));
    let receipt = receipt(&sandbox);
    let verdicts = receipt["reviews_at_end"].as_array().unwrap().iter();
    let verdicts: Vec<&Value> = verdicts.map(|it| &it["verdict"]).collect();
    assert_eq!(verdicts, ["not_met", "met"]);
}

/// A reviewer that reports what it used before it answers.
const TELLER: &str = r#"
    echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
    echo '{"type":"assistant","session_id":"s","message":{"id":"a","content":[],"usage":{"input_tokens":100000,"output_tokens":0}}}'
    [ -e "$root/slow" ] && sleep 300
    text=$(met | sed 's/"/\\"/g' | tr '\n' ' ')
    printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","total_cost_usd":0.25,"usage":{"input_tokens":100000,"output_tokens":0}}\n' "$text"
"#;

fn telling(budget: &str) -> Sandbox {
    let sandbox = reviewed("", &format!("{REVIEW}{budget}"), TELLER);
    let file = sandbox.read("ralphtool.toml");
    let file = file.replace(
        "command = [\"false\"]",
        "command = [\"false\"]\noutput = \"claude-json\"",
    );
    sandbox.write("ralphtool.toml", &file);
    sandbox
}

#[test]
fn what_a_review_uses_counts_and_has_a_line_of_its_own() {
    let sandbox = telling("");
    sandbox
        .run(&["loop", "c", "--story", "1", "--max-cost", "9"])
        .ends_with(0);
    let receipt = receipt(&sandbox);
    let story = &receipt["stories"][0];
    let attempt = &story["attempts"][0];
    let parts = [&attempt["reviews"][0], attempt, story, &receipt["totals"]];
    let costs = parts.map(|it| &it["cost_usd"]);
    let (quarter, nothing) = (json!(0.25), json!(0.0));
    assert_eq!(costs, [&quarter, &nothing, &quarter, &quarter]);
    let status: Value =
        serde_json::from_str(&sandbox.run(&["status", "--json"]).ends_with(0).stdout).unwrap();
    assert_eq!(status["cost_usd"], 0.25);
    let done = &sandbox.events_named("story_completed")[0]["usage"];
    assert_eq!(done["cost_usd"], 0.25);
}

#[test]
fn a_review_is_ended_where_its_own_budget_is_used_up() {
    // A million tokens cost two dollars.
    let prices = "[prices.m]\ninput = 2\noutput = 2\n";
    for (budget, limit) in [
        ("tokens = \"50k\"\n", "the budget of 50000 tokens"),
        ("usd = 0.10\n", "the budget of $0.10"),
    ] {
        over_budget(&format!("{budget}{prices}"), limit);
    }
}

fn over_budget(budget: &str, limit: &str) {
    let sandbox = telling(budget);
    fs::write(sandbox.root.join("slow"), "").unwrap();
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(1);
    assert_eq!(
        warned(&sandbox, "not_reviewed"),
        [format!(
            "review `judge` gave no verdict: {limit} is used up for one review"
        )]
    );
    assert_eq!(
        sandbox.events_named("review_finished")[0]["usage"]["input_tokens"],
        100_000
    );
}

#[test]
fn a_run_that_is_killed_while_it_reviews_does_the_story_again() {
    for when in ["story", "end"] {
        let judge = "echo changed > a.txt; git config alias.evil x; git branch mine
            if [ ! -e \"$root/here\" ]; then touch \"$root/here\"; sleep 300; fi
            answer \"$(item T1 met a), $(item T2 met b), $(item T3 met c), $(item T4 met d)\"";
        let sandbox = reviewed("", &format!("{REVIEW}when = \"{when}\"\n"), judge);
        let running = sandbox.start(&["loop", "c"]);
        let here = sandbox.root.join("here");
        until("the reviewer", || there(&here));
        running.signal(Signal::KILL);
        running.end();
        sandbox.run(&["resume"]).ends_with(0);
        assert_eq!(sandbox.read("a.txt"), "one\n");
        assert!(!sandbox.read(".git/config").contains("evil"));
        assert_eq!(sandbox.commits().len(), 3);
        let parked = sandbox.failures();
        match when {
            "story" => assert_eq!(parked, ["1.1 interrupted: the program was interrupted"]),
            _ => assert_eq!(parked, [""; 0]),
        }
    }
}

#[test]
fn a_stop_ends_the_reviewer_and_parks_the_attempt() {
    let judge = "touch \"$root/here\"; sleep 300";
    let sandbox = reviewed("", REVIEW, judge);
    let running = sandbox.start(&["loop", "c"]);
    let here = sandbox.root.join("here");
    until("the reviewer", || there(&here));
    let live = sandbox.run(&["status"]).ends_with(0).stdout;
    assert!(live.contains("review `judge`, "), "{live}");
    running.signal(Signal::INT);
    running.end().ends_with(130);
    assert_eq!(sandbox.failures(), ["1.1 stopped: the run was stopped"]);
    assert_eq!(sandbox.commits(), ["initial state"]);
}

#[test]
fn json_has_what_a_reviewer_says_and_the_record_what_it_used() {
    let sandbox = telling("");
    let output = sandbox
        .run(&["loop", "c", "--story", "1", "--json"])
        .ends_with(0);
    let events = records(&output.stdout);
    let names = |name: &str| events.iter().filter(|it| it["event"] == name).count();
    assert_eq!((names("review_started"), names("review_finished")), (1, 1));
    assert!(names("reviewer") > 1);
    let recorded = sandbox.events_named("reviewer");
    assert!(!recorded.is_empty());
    for event in recorded {
        assert_eq!(event["agent"]["type"], "usage");
    }
    let started = events
        .iter()
        .find(|it| it["event"] == "review_started")
        .unwrap();
    let folder = PathBuf::from(started["transcript"].as_str().unwrap());
    assert!(folder.ends_with("attempts/1.1/review-judge"), "{folder:?}");
    assert!(folder.join("stdout").exists());
}

#[test]
fn a_reviewer_that_is_not_there_is_refused_before_anything_starts() {
    let cases = [
        (
            "[[review]]\nagent = \"cloude\"\n",
            "there is no agent `cloude`",
            "did you mean `claude`?",
        ),
        (
            "[[review]]\nagent = \"gone\"\n[agents.gone]\ncommand = [\"sh\"]\nreview = [\"no-such-judge\"]\n",
            "the agent `gone` needs `no-such-judge`, which was not found",
            "install it, or name another agent in `[[review]]`",
        ),
        (
            "[[review]]\nagent = \"demo\"\n",
            "the agent `demo` cannot review",
            "name another agent in `[[review]]`",
        ),
    ];
    for (tables, problem, hint) in cases {
        let sandbox = reviewed("", tables, "met");
        let before = sandbox::listing(&sandbox.repo);
        let said = sandbox.run(&["loop", "c"]).ends_with(2).stderr;
        assert!(said.contains(problem) && said.contains(hint), "{said}");
        let doctor = sandbox.run(&["doctor"]).ends_with(2).stdout;
        assert!(doctor.contains(problem), "{doctor}");
        assert_eq!(sandbox::listing(&sandbox.repo), before);
    }
}

#[test]
fn settings_and_the_doctor_name_the_reviews() {
    let sandbox = reviewed("", REVIEW, "met");
    let dry = sandbox.run(&["loop", "c", "--dry-run"]).ends_with(0).stdout;
    for part in ["reviews    `judge`", "judge (timeout 20m)"] {
        assert!(dry.contains(part), "{dry}");
    }
    let doctor = sandbox.run(&["doctor"]).ends_with(0).stdout;
    for part in ["`judge`: ", "no gates: reviews are the only check"] {
        assert!(doctor.contains(part), "{doctor}");
    }
}

#[test]
fn reviews_have_names_and_models_of_their_own() {
    let tables = "[agents.other]\ncommand = [\"sh\", \"ROOT/judge.sh\", \"{model}\"]\n\
                  [[review]]\nname = \"first\"\nagent = \"judge\"\n\
                  [[review]]\nname = \"a/b c\"\nagent = \"other\"\nmodel = \"large\"\n";
    let sandbox = reviewed("", tables, "printf '%s\\n' \"$1\" > \"$root/model\"; met");
    let said = sandbox
        .run(&["loop", "c", "--story", "1"])
        .ends_with(0)
        .stdout;
    assert!(said.contains("reviews: `first`, `a/b c`"), "{said}");
    let model = fs::read_to_string(sandbox.root.join("model")).unwrap();
    assert_eq!(model, "large\n");
    let started = sandbox.events_named("review_started");
    assert_eq!(
        started[1]["agent"],
        json!({"agent": "other", "model": "large"})
    );
    let folder = started[1]["transcript"].as_str().unwrap();
    assert!(folder.ends_with("/1.1/review-a-b-c"), "{folder}");
}

#[test]
fn a_review_at_the_end_that_has_not_taken_place_is_said() {
    let sandbox = reviewed("", &format!("{REVIEW}when = \"end\"\n"), "met");
    let said = sandbox
        .run(&["loop", "c", "--story", "1"])
        .ends_with(0)
        .stdout;
    let alert = "! review `judge` has not run yet: it runs when every story is done";
    assert!(said.contains(alert), "{said}");
    let answer =
        "answer \"$(item T1 met a), $(item T2 met b), $(item T3 met c), $(item T4 met d)\"";
    reviewer(&sandbox, answer);
    let said = sandbox.run(&["resume"]).ends_with(0).stdout;
    assert!(!said.contains("has not run yet"), "{said}");
}

#[test]
fn a_reviewer_that_removes_the_git_directory_or_hides_its_commits_loses_nothing() {
    for when in ["story", "end"] {
        let judge = "[ -e .git ] && rm -rf .git
            answer \"$(item T1 met a), $(item T2 met b), $(item T3 met c), $(item T4 met d)\"";
        let sandbox = reviewed("", &format!("{REVIEW}when = \"{when}\"\n"), judge);
        sandbox.git("branch mine");
        sandbox.run(&["loop", "c"]).ends_with(0);
        assert_eq!(sandbox.commits().len(), 3);
        assert_eq!(sandbox.git("rev-parse mine"), sandbox.git("rev-parse main"));
        assert_eq!(sandbox.git("status --porcelain"), "");
        assert_eq!(sandbox.git("fsck --no-dangling --no-progress"), "");
    }
    // What nothing proves to be the reviewer's counts as the user's, and is reported.
    let judge = "unset GIT_TRACE2_EVENT; git branch hidden; met";
    let sandbox = reviewed("", REVIEW, judge);
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    let told = warned(&sandbox, "refs_changed");
    assert_eq!(told, ["other refs changed meanwhile: refs/heads/hidden"]);
}
