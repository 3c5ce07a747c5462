//! Attempts that change what they should not: each check as a warning and as a failure, with the
//! real program.

use crate::sandbox::{Sandbox, files};
use pretty_assertions::assert_eq;
use serde_json::Value;

/// A repository with code, tests, a plan in several documents, and a gate.
fn project(tamper: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        "src/lib.rs",
        "pub fn add(a: u32, b: u32) -> u32 { a + b }\n",
    );
    sandbox.write(
        "tests/sum.rs",
        "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n\n\
         #[test]\nfn adds_nothing() {\n    assert_eq!(add(1, 0), 1);\n}\n",
    );
    sandbox.write("check.sh", "exit 0\n");
    sandbox.write("openspec/changes/c/proposal.md", "## Why\nIt must add.\n");
    sandbox.config_and(
        "",
        &format!("[[gate]]\nname = \"check\"\nrun = \"sh ./check.sh\"\n[tamper]\n{tamper}\n"),
    );
    sandbox.git("add -A");
    sandbox.git("commit -q -m project");
    sandbox
}

/// An agent that does its work, and also this.
fn works_and(sandbox: &Sandbox, deed: &str) {
    sandbox.agent(&format!(
        "{deed}\necho work > src/story-$RALPHTOOL_STORY.rs\ntick $RALPHTOOL_STORY\ncomplete"
    ));
}

/// Attempt, check, message and paths of what was found.
fn found(sandbox: &Sandbox) -> Vec<String> {
    let told = |event: &Value| {
        let text = |key: &str| event[key].as_str().unwrap();
        let paths: Vec<&str> = event["paths"]
            .as_array()
            .unwrap()
            .iter()
            .map(|path| path.as_str().unwrap())
            .collect();
        let failed = if event["failed"] == true {
            " failed"
        } else {
            ""
        };
        format!(
            "{}.{} {}{failed}: {} [{}]",
            text("story"),
            event["attempt"],
            text("check"),
            text("message"),
            paths.join(" ")
        )
    };
    sandbox
        .events_named("tamper_found")
        .iter()
        .map(told)
        .collect()
}

/// What an agent does, and what the check finds.
const DEEDS: &[(&str, &str, &str, &str)] = &[
    (
        "boxes",
        "tick 2",
        "boxes of other stories were changed and are restored: `2.1 Do c (story 2)`, `2.2 Do d (story 2)`",
        "openspec/changes/c/tasks.md",
    ),
    (
        "specs",
        "echo 'It may add.' > openspec/changes/c/proposal.md",
        "the plan's text was edited: `openspec/changes/c/proposal.md`",
        "openspec/changes/c/proposal.md",
    ),
    (
        "tests",
        "rm tests/sum.rs",
        "2 tests deleted with the file: `adds`, `adds_nothing` (`tests/sum.rs`)",
        "tests/sum.rs",
    ),
    (
        "tests",
        "sed 's/fn adds()/#[ignore]\\n&/' tests/sum.rs > t && mv t tests/sum.rs",
        "a marker that skips tests was added in `tests/sum.rs`",
        "tests/sum.rs",
    ),
    (
        "tests",
        "sed 's/assert_eq!(add(1, 2), 3);/add(1, 2);/' tests/sum.rs > t && mv t tests/sum.rs",
        "a test checks less than before: `adds` (`tests/sum.rs`)",
        "tests/sum.rs",
    ),
    (
        "config",
        "echo 'exit 0 # always' > check.sh",
        "test, lint or CI configuration was changed: `check.sh`",
        "check.sh",
    ),
    (
        "config",
        "echo '# no gates' >> ralphtool.toml",
        "test, lint or CI configuration was changed: `ralphtool.toml`",
        "ralphtool.toml",
    ),
    (
        "outside",
        "mkdir junk; echo x > junk/x",
        "new at the top of the repository: `junk`",
        "junk",
    ),
    (
        "outside",
        "ln -s /etc/passwd src/secrets",
        "links that point outside the work tree: `src/secrets`",
        "src/secrets",
    ),
];

#[test]
fn each_check_warns_and_the_story_is_done() {
    for (check, deed, message, path) in DEEDS {
        let sandbox = project("");
        works_and(&sandbox, deed);
        let output = sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
        assert_eq!(
            found(&sandbox),
            [format!("1.1 {check}: {message} [{path}]")],
            "{deed}"
        );
        let said = format!("{}{}", output.stdout, output.stderr);
        let line: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            line.contains(&format!("warning: {check}: {message}")),
            "{said}"
        );
        assert_eq!(sandbox.commits().len(), 2, "{deed}");
    }
}

#[test]
fn each_check_can_fail_the_attempt_which_is_parked_undone_and_reported() {
    for (check, deed, message, path) in DEEDS {
        let sandbox = project(&format!("{check} = \"fail\""));
        let before = files(&sandbox.repo);
        works_and(
            &sandbox,
            &format!("cp -a . \"$root/seen-$attempt\"\n[ $attempt != 1 ] || {{ {deed}; }}"),
        );
        sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
        assert_eq!(
            found(&sandbox),
            [format!("1.1 {check} failed: {message} [{path}]")],
            "{deed}"
        );
        let failures = sandbox.failures();
        assert_eq!(failures.len(), 1, "{failures:?}");
        assert!(
            failures[0].starts_with(&format!("1.1 tamper: {message}; ")),
            "{failures:?}"
        );
        // The second attempt starts from the checkpoint and knows why.
        assert_eq!(files(&sandbox.root.join("seen-2")), before, "{deed}");
        let prompt = sandbox.transcript("1.2", "prompt.md");
        assert!(prompt.contains(message), "{prompt}");
        sandbox.run(&["attempts"]).ends_with(0);
    }
}

#[test]
fn a_check_that_is_off_reports_nothing_but_boxes_are_restored() {
    let sandbox = project(
        "boxes = \"off\"\nspecs = \"off\"\ntests = \"off\"\nconfig = \"off\"\noutside = \"off\"\nsubmodules = \"off\"",
    );
    let deeds: Vec<&str> = DEEDS.iter().map(|it| it.1).collect();
    works_and(&sandbox, &format!("(\n{}\n) 2>/dev/null", deeds.join("\n")));
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(found(&sandbox), Vec::<String>::new());
    assert!(sandbox.tasks_now().contains("- [ ] 2.1"));
    let prompt = sandbox.transcript("1.1", "prompt.md");
    assert!(!prompt.contains("weaken tests"), "{prompt}");
}

#[test]
fn ordinary_work_is_no_finding() {
    let sandbox =
        project("tests = \"fail\"\nspecs = \"fail\"\nconfig = \"fail\"\noutside = \"fail\"");
    works_and(
        &sandbox,
        "git mv tests/sum.rs tests/sums.rs\n\
         sed 's/fn adds()/fn adds_two_numbers()/' tests/sums.rs > t && mv t tests/sums.rs\n\
         printf '#[test]\\nfn more() { assert!(add(1, 1) == 2); }\\n' >> tests/sums.rs\n\
         mkdir -p docs; echo x > docs/sum.md; echo '# A' > README.md\n\
         sed 's/1.1 Do a/1.1 Do a (see docs)/' $tasks > t && mv t $tasks\n\
         echo 'pub fn less() {}' >> src/lib.rs",
    );
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(found(&sandbox), Vec::<String>::new());
    let prompt = sandbox.transcript("1.1", "prompt.md");
    assert!(
        prompt.contains("Do not delete, skip or weaken tests, edit the text of the plan or change test, lint or CI configuration: such an attempt fails."),
        "{prompt}"
    );
}

#[test]
fn a_deletion_that_the_agent_commits_itself_is_found() {
    let sandbox = project("tests = \"fail\"");
    works_and(
        &sandbox,
        "[ $attempt != 1 ] || { git rm -q tests/sum.rs; git commit -q -m 'Tidy up'; }",
    );
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(
        found(&sandbox),
        [
            "1.1 tests failed: 2 tests deleted with the file: `adds`, `adds_nothing` \
          (`tests/sum.rs`) [tests/sum.rs]"
        ]
    );
    assert!(sandbox.exists("tests/sum.rs"));
}

#[test]
fn removing_an_uncommitted_test_of_the_user_is_found() {
    let sandbox = project("tests = \"fail\"");
    sandbox.write(
        "tests/new.rs",
        "#[test]\nfn new() {\n    assert!(true == add());\n}\n",
    );
    works_and(&sandbox, "[ $attempt != 1 ] || rm tests/new.rs");
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(
        found(&sandbox),
        ["1.1 tests failed: 1 test deleted with the file: `new` (`tests/new.rs`) [tests/new.rs]"]
    );
}

#[test]
fn with_roots_everything_else_is_outside() {
    let sandbox = project("outside = \"fail\"\nroots = [\"src\", \"tests\"]");
    works_and(&sandbox, "[ $attempt != 1 ] || echo more >> a.txt");
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(
        found(&sandbox),
        ["1.1 outside failed: changed outside the roots: `a.txt` [a.txt]"]
    );
    let failures = sandbox.failures();
    assert!(
        failures[0].ends_with("; change only files in `src`, `tests`"),
        "{failures:?}"
    );
    let prompt = sandbox.transcript("1.1", "prompt.md");
    assert!(prompt.contains("outside `src`, `tests`"), "{prompt}");
}

#[test]
fn a_story_that_keeps_tampering_uses_up_its_retries() {
    let sandbox = project("tests = \"fail\"");
    let before = files(&sandbox.repo);
    works_and(&sandbox, "rm tests/sum.rs");
    sandbox
        .run(&[
            "loop",
            "c",
            "--story",
            "1",
            "--max-retries",
            "1",
            "--on-finish",
            "cleanup",
        ])
        .ends_with(1);
    assert_eq!(sandbox.failures().len(), 2);
    assert_eq!(files(&sandbox.repo), before);
}

#[test]
fn a_deleted_test_is_said_where_the_user_decides_and_ticked_boxes_are_a_note() {
    let sandbox = project("");
    // The deleted test of the failed attempt is back, so that nothing is said of it.
    sandbox.agent(
        "case $RALPHTOOL_STORY.$attempt in\n\
         1.1) rm check.sh; failed no; exit;;\n\
         2.1) rm tests/sum.rs;;\n\
         esac\n\
         echo work > src/story-$RALPHTOOL_STORY.rs\ncomplete",
    );
    let said = sandbox.run(&["loop", "c"]).ends_with(0).stdout;
    let deleted = "story 2: 2 tests deleted with the file: `adds`, `adds_nothing` (`tests/sum.rs`)";
    let ticked = |story: u8, tasks: &str| {
        format!("story {story}: the agent did not tick its tasks; ralphtool ticked them: {tasks}")
    };
    let ticked = [
        ticked(1, "`1.1 Do a`, `1.2 Do b`"),
        ticked(2, "`2.1 Do c`, `2.2 Do d`"),
    ];
    let closing = said.split("`c`: all stories are done").nth(1).unwrap();
    let alerts: Vec<&str> = closing.lines().filter(|it| it.contains('!')).collect();
    assert_eq!(alerts, [format!("  ! {deleted}")]);

    let log = sandbox.run(&["log", "last"]).ends_with(0).stdout;
    let below = |heading: &str| -> Vec<String> {
        let lines = log.lines().skip_while(|it| *it != heading).skip(1);
        let lines = lines.take_while(|it| it.starts_with("  "));
        lines.map(|it| it.trim().to_owned()).collect()
    };
    assert_eq!(log.lines().nth(1), Some(format!("  ! {deleted}").as_str()));
    let stories = log.lines().filter(|it| it.starts_with(['✓', '✗']));
    assert_eq!(stories.collect::<Vec<_>>(), ["✓ 1 First", "✓! 2 Second"]);
    assert_eq!(below("warnings"), [deleted]);
    assert_eq!(below("notes"), ticked);

    let page = sandbox
        .run(&["log", "last", "--markdown"])
        .ends_with(0)
        .stdout;
    let bold = page
        .lines()
        .find(|it| it.starts_with("**Warning:**"))
        .unwrap();
    assert!(bold.contains("story 2: 2 tests deleted"), "{page}");
    assert!(page.contains("| done, 1 warning |"), "{page}");
    let warnings = page.find("### Warnings").unwrap();
    let notes = page.find("### Notes").unwrap();
    assert_eq!(page[notes..].matches("\n- story").count(), 2, "{page}");
    assert_eq!(
        page[warnings..notes].matches("\n- story").count(),
        1,
        "{page}"
    );
}
