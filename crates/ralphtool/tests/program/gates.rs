//! Gates with the real program: on the checkpoint, after attempts and over the whole change, and
//! what they leave in the tree.

use crate::sandbox::{self, GOOD, Sandbox};
use pretty_assertions::assert_eq;

/// Each line of a file beside the repository.
pub(super) fn lines(sandbox: &Sandbox, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(sandbox.root.join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// A sandbox with gates; `ROOT` in them is the sandbox's folder.
pub(super) fn gated(gates: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let gates = gates.replace("ROOT", &sandbox.root.display().to_string());
    sandbox.config_and("max_retries = 1", &gates);
    sandbox.git("commit -q -a -m settings");
    sandbox
}

pub(super) fn warned(sandbox: &Sandbox, code: &str) -> Vec<String> {
    let code = format!("{code}: ");
    let warnings = sandbox.warnings().into_iter();
    warnings
        .filter_map(|it| it.strip_prefix(&code).map(str::to_owned))
        .collect()
}

#[test]
fn a_gate_whose_program_is_missing_is_refused_before_anything_starts() {
    let cases = [
        (
            "pytset -q",
            "`pytset`: command not found",
            "correct the gate's `run`, install the program, or activate the environment that has it",
        ),
        (
            "cd . && pytset",
            "`pytset`: command not found",
            "correct the gate's `run`, install the program, or activate the environment that has it",
        ),
        (
            "pytset -q 2>&1 | tail -5",
            "`pytset`: command not found",
            "correct the gate's `run`, install the program, or activate the environment that has it",
        ),
        (
            "if pytset; then exit 1; fi",
            "`pytset`: command not found",
            "correct the gate's `run`, install the program, or activate the environment that has it",
        ),
        (
            "mytest -q",
            "`mytest`: command not found",
            "`.venv/bin/mytest` exists: write that in the gate's `run`, or activate its environment",
        ),
    ];
    for (run, problem, hint) in cases {
        let sandbox = gated(&format!("[[gate]]\nname = \"tests\"\nrun = \"{run}\"\n"));
        sandbox.write(".venv/bin/mytest", "#!/bin/sh\n");
        let program = sandbox.repo.join(".venv/bin/mytest");
        std::fs::set_permissions(program, sandbox::mode(0o755)).unwrap();
        let before = sandbox::listing(&sandbox.repo);
        for command in [&["loop", "c"][..], &["loop", "c", "--dry-run"]] {
            let output = sandbox.run(command).ends_with(2);
            let said = format!("{}{}", output.stdout, output.stderr);
            let want = format!("gate `tests` cannot run: {problem}");
            assert!(said.contains(&want) && said.contains(hint), "{said}");
        }
        assert_eq!(sandbox.branch(), "main");
        assert_eq!(sandbox::listing(&sandbox.repo), before);
    }
}

#[test]
fn a_pipe_that_hides_a_red_gate_is_reported_wherever_a_run_is_prepared() {
    let sandbox = gated("[[gate]]\nname = \"tests\"\nrun = \"false 2>&1 | cat\"\n");
    let warning = "the exit code of a pipe is that of its last program: `false` may fail unnoticed";
    let hint = "start the line with `set -o pipefail;` (bash and zsh have it), or drop the pipe";
    let doctor = sandbox.run(&["doctor"]).ends_with(0).stdout;
    let finding = format!("! gates          `tests`: {warning}\n                 → {hint}\n");
    assert!(doctor.contains(&finding), "{doctor}");
    let told = format!("gate `tests`: {warning}; {hint}");
    let dry = sandbox.run(&["loop", "c", "--dry-run"]).ends_with(0).stderr;
    assert_eq!(dry, format!("warning: {told}\n"));
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(warned(&sandbox, "settings"), [told]);
}

#[test]
fn a_gate_line_that_the_shell_does_not_understand_is_refused() {
    let sandbox = gated("[[gate]]\nname = \"tests\"\nrun = \"test -e a.txt && (true\"\n");
    let said = sandbox.run(&["loop", "c"]).ends_with(2).stderr;
    let want = "error: gate `tests` cannot run: the shell does not understand it: ";
    assert!(said.starts_with(want), "{said}");
}

#[test]
fn a_gate_that_cannot_run_on_the_checkpoint_ends_the_run_with_everything_as_it_was() {
    // The shell alone knows what these start; a story could still write the script.
    for (run, code) in [
        ("P=pytset; $P -q", "127: command not found"),
        ("./no-such-check.sh", "127: command not found"),
        ("sh -c ./a.txt", "126: not executable"),
    ] {
        let sandbox = gated(&format!("[[gate]]\nname = \"tests\"\nrun = \"{run}\"\n"));
        sandbox.write("mine.txt", "uncommitted\n");
        let before = sandbox::files(&sandbox.repo);
        let said = sandbox.run(&["loop", "c"]).ends_with(2).stdout;
        for part in [
            format!("gate `tests` cannot run: exit code {code}"),
            "`c`: gate `tests` cannot run".to_owned(),
            "set `baseline = false` on the gate".to_owned(),
            "  ralphtool doctor --gates  runs every gate".to_owned(),
        ] {
            assert!(said.contains(&part), "{said}");
        }
        // The run was not finished.
        assert!(!said.contains("ralphtool undo"), "{said}");
        assert_eq!(sandbox.events_named("attempt_started").len(), 0);
        assert_eq!(sandbox.branch(), "main");
        assert_eq!(sandbox::files(&sandbox.repo), before);
        let log = sandbox.run(&["log", "last"]).ends_with(0).stdout;
        let story = "\n○ 1 First\n    open\n    before: gate `tests` cannot run (exit code ";
        assert!(log.contains(story), "{log}");
    }
}

#[test]
fn a_gate_whose_script_a_story_writes_runs_without_a_baseline() {
    let sandbox = gated("[[gate]]\nname = \"own\"\nrun = \"./own.sh\"\nbaseline = false\n");
    sandbox.agent(&format!(
        "printf '#!/bin/sh\\n' > own.sh; chmod +x own.sh\n{GOOD}"
    ));
    sandbox.run(&["loop", "c"]).ends_with(0);
}

#[test]
fn a_gate_whose_program_disappears_fails_the_attempt_although_it_was_red_before() {
    let sandbox = gated("[[gate]]\nname = \"own\"\nrun = \"./own.sh\"\n");
    sandbox.write("own.sh", "#!/bin/sh\nexit 1\n");
    std::fs::set_permissions(sandbox.repo.join("own.sh"), sandbox::mode(0o755)).unwrap();
    sandbox.agent(&format!("rm own.sh\n{GOOD}"));
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    let failures = sandbox.failures();
    let want = "1.1 gate: gate `own` failed: exit code 127: command not found";
    assert!(failures[0].starts_with(want), "{failures:?}");
    assert_eq!(sandbox.commits(), ["initial state"]);
}

/// The faces that are text, after a run without retries.
fn faces(sandbox: &Sandbox, code: i32) -> Vec<(&'static str, String)> {
    faces_of(sandbox, &["loop", "c", "--max-retries", "0"], code)
}

/// The faces that are text, after this run: the closing words, and what the commands print.
pub(super) fn faces_of(sandbox: &Sandbox, run: &[&str], code: i32) -> Vec<(&'static str, String)> {
    let closing = sandbox.run(run).ends_with(code).stdout;
    let (_, closing) = closing.rsplit_once("`c`: ").unwrap();
    let mut faces = vec![("closing words", closing.to_owned())];
    for (name, args) in [
        ("status", &["status"][..]),
        ("status --json", &["status", "--json"]),
        ("log last", &["log", "last"]),
        ("log last --json", &["log", "last", "--json"]),
        ("log last --markdown", &["log", "last", "--markdown"]),
        ("doctor", &["doctor"]),
    ] {
        let text = sandbox.run(args).ends_with(0).stdout;
        faces.push((name, text.replace("\\`", "`")));
    }
    faces
}

#[test]
fn every_face_says_that_work_is_not_verified() {
    let cases = [
        ("", 0, "no gates: the agent's word is the only check"),
        (
            "[[gate]]\nname = \"tests\"\nrun = \"exit 3\"\n",
            1,
            "gate `tests` red since before the run",
        ),
        (
            "[[gate]]\nname = \"tests\"\nrun = \"exit 3\"\nallow_red = true\n",
            0,
            "gate `tests` red since before the run",
        ),
    ];
    for (gates, code, words) in cases {
        let sandbox = gated(gates);
        for (face, text) in faces(&sandbox, code) {
            assert!(text.contains(words), "{face} does not say it: {text}");
        }
    }
}

#[test]
fn every_face_says_that_a_gate_at_the_end_has_not_run() {
    let sandbox = gated("[[gate]]\nname = \"all\"\nrun = \"exit 3\"\nwhen = \"end\"\n");
    for (face, text) in faces_of(&sandbox, &["loop", "c", "--story", "1"], 0) {
        let words = "gate `all` has not run yet: it runs when every story is done";
        assert!(text.contains(words), "{face} does not say it: {text}");
    }
}

#[test]
fn no_face_says_of_a_gate_that_the_run_broke_that_it_was_red_before() {
    for baseline in ["true", "false"] {
        let sandbox = gated(&format!(
            "[[gate]]\nname = \"all\"\nrun = \"test ! -e story-2.txt\"\nwhen = \"end\"\n\
             baseline = {baseline}\n"
        ));
        for (face, text) in faces(&sandbox, 1) {
            assert!(!text.contains("since before"), "{face}: {text}");
        }
    }
}

#[test]
fn every_face_names_the_line_of_a_red_gate_that_tells_most_and_shows_its_last_lines() {
    let sandbox = gated(
        "[[gate]]\nname = \"tests\"\nrun = '''test ! -e story-1.txt || { seq -f 'first %g' 20; \
         echo \"E  SyntaxError: never closed\"; seq -f 'last %g' 20; exit 2; }'''\n",
    );
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    let brief = "gate `tests`, exit code 2: E  SyntaxError: never closed";
    for (args, last) in [
        (&["status"][..], None),
        (&["attempts"], None),
        (&["log", "last"], Some("last 20")),
        (&["log", "last", "--markdown"], Some("last 20")),
    ] {
        let said = sandbox.run(args).ends_with(0).stdout;
        assert!(said.contains(brief), "{args:?}: {said}");
        assert!(!said.contains("first 1"), "{args:?}: {said}");
        assert!(
            last.is_none_or(|last| said.contains(last)),
            "{args:?}: {said}"
        );
    }
    let status = sandbox.run(&["status"]).ends_with(0).stdout;
    let failed = status.lines().find(|line| line.contains(brief)).unwrap();
    assert_eq!(failed, format!("  last failed attempt 1.1: {brief}"));
}

#[test]
fn a_task_with_backticks_is_quoted_without_others_around_them() {
    let sandbox = Sandbox::new();
    sandbox.tasks("## 1. One\n- [ ] 1.1 `retry(f)` calls `f`\n- [ ] 1.2 Test it\n");
    sandbox.agent("echo work > work.txt; complete");
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(
        warned(&sandbox, "ticked"),
        [
            "the agent did not tick its tasks; ralphtool ticked them: 1.1 `retry(f)` calls `f`, `1.2 Test it`"
        ]
    );
}

#[test]
fn a_gate_that_may_stay_red_is_reported_and_the_run_ends_with_0() {
    let sandbox = gated(
        "[[gate]]\nname = \"lint\"\nrun = \"exit 3\"\nallow_red = true\n\
         [[gate]]\nname = \"tests\"\nrun = \"true\"\n",
    );
    let said = sandbox.run(&["loop", "c"]).ends_with(0).stdout;
    let (_, closing) = said.split_once("`c`: all stories are done").unwrap();
    let alert = "  ! gate `lint` red since before the run";
    assert_eq!(closing.lines().nth(1), Some(alert));
    // What the agent breaks is no red from before.
    let sandbox =
        gated("[[gate]]\nname = \"lint\"\nrun = \"test ! -e story-1.txt\"\nallow_red = true\n");
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    assert_eq!(sandbox.failures().len(), 1);
}

#[test]
fn gates_do_not_run_again_on_a_tree_that_passed() {
    let sandbox = gated("[[gate]]\nname = \"t\"\nrun = \"echo run >> ROOT/runs; true\"\n");
    let runs = |why: &str, want: usize| assert_eq!(lines(&sandbox, "runs").len(), want, "{why}");
    sandbox.agent("failed no");
    sandbox.run(&["loop", "c"]).ends_with(1);
    runs("once, before the first attempt", 1);
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    sandbox.run(&["loop", "c"]).ends_with(1);
    runs("the same tree in another run", 1);
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    sandbox.write("a.txt", "other\n");
    sandbox.run(&["loop", "c"]).ends_with(1);
    runs("another tree", 2);
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    sandbox.agent(GOOD);
    sandbox.run(&["loop", "c"]).ends_with(0);
    runs("once an attempt, and no baseline", 4);
}

#[test]
fn damage_to_ignored_files_does_not_count_as_red_before() {
    let gate = "[[gate]]\nname = \"t\"\nrun = \"test -e target/needed\"\n";
    let sandbox = gated(gate);
    sandbox.write("target/needed", "");
    sandbox.agent("failed no");
    let once = ["loop", "c", "--max-retries", "0"];
    sandbox.run(&once).ends_with(1);
    // The gate is remembered as green on this tree; the next attempt breaks what git ignores, and
    // that is not restored.
    sandbox.agent("rm -f target/needed; complete");
    sandbox.run(&["resume"]).ends_with(1);
    assert!(!sandbox.tasks_now().contains("[x]"), "nothing is done");
    assert_eq!(warned(&sandbox, "red_before").len(), 0);
    assert_eq!(warned(&sandbox, "passed_earlier").len(), 1);
}

#[test]
fn changes_by_a_gate_are_reverted_before_the_commit() {
    let sandbox = gated(
        "[[gate]]\nname = \"build\"\nrun = '''mkdir -p made; echo x > made/out; echo y >> a.txt; \
         rm -f dir/b.txt; echo z > it.log'''\n\
         [[gate]]\nname = \"sees\"\nrun = \"test -e made/out || test ! -e story-1.txt\"\n",
    );
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(sandbox.git("status --porcelain"), "");
    let committed = sandbox.git("ls-tree -r --name-only HEAD");
    assert!(!committed.contains("made"), "{committed}");
    assert_eq!(sandbox.git("show HEAD:a.txt"), "one\n");
    assert_eq!(sandbox.read("a.txt"), "one\n");
    assert_eq!(sandbox.read("dir/b.txt"), "two\n");
    assert!(!sandbox.exists("made"));
    assert_eq!(sandbox.read("it.log"), "z\n", "what git ignores stays");
    let told = warned(&sandbox, "gate_changes");
    assert_eq!(told.len(), 3, "the baseline and both stories: {told:?}");
    for told in &told {
        let start = "changes made while gates ran were undone: `dir/b.txt`, `a.txt`, `made/out`; \
                     they are kept in `";
        assert!(told.starts_with(start), "{told}");
    }
    let kept = told[0].split('`').rev().nth(1).unwrap();
    let kept = std::fs::read_to_string(std::path::Path::new(kept).join("a.txt")).unwrap();
    assert_eq!(kept, "one\ny\n");
}

#[test]
fn a_formatters_changes_are_committed_and_those_of_other_gates_are_not() {
    let sandbox = gated(
        "[[gate]]\nname = \"droppings\"\nrun = \"echo x > dropped\"\n\
         [[gate]]\nname = \"format\"\nkeep_changes = true\n\
         run = '''for f in story-*.txt; do [ ! -e $f ] || echo formatted > $f; done'''\n\
         [[gate]]\nname = \"more\"\nrun = \"echo y > more\"\n",
    );
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(sandbox.git("show HEAD:story-2.txt"), "formatted\n");
    assert_eq!(
        warned(&sandbox, "settings"),
        [
            "gate `format` keeps its changes and runs after gate `droppings`, which does not see \
             them; put it first in the configuration"
        ]
    );
    assert_eq!(sandbox.git("show HEAD~1:story-1.txt"), "formatted\n");
    assert!(!sandbox.exists("dropped") && !sandbox.exists("more"));
    assert_eq!(sandbox.git("status --porcelain"), "");
}

#[test]
fn a_gate_gets_the_story_in_a_variable() {
    let sandbox = gated(
        "[[gate]]\nname = \"accept\"\nbaseline = false\n\
         run = \"test -e story-$RALPHTOOL_STORY.txt && test $RALPHTOOL_CHANGE = c\"\n",
    );
    sandbox.agent(&format!(
        "[ \"$RALPHTOOL_STORY.$attempt\" != 2.1 ] || {{ complete; exit; }}\n{GOOD}"
    ));
    sandbox.run(&["loop", "c"]).ends_with(0);
    let failures = sandbox.failures();
    assert_eq!(failures, ["2.1 gate: gate `accept` failed: exit code 1"]);
}

#[test]
fn a_gate_at_the_end_reopens_the_last_story_until_it_passes() {
    let sandbox = gated(
        "[[gate]]\nname = \"e2e\"\nwhen = \"end\"\nrun = '''echo run >> ROOT/runs; \
         test ! -e story-1.txt || { printf '%s-%s\\n' not yet; test -e whole; }'''\n",
    );
    sandbox.agent(&format!(
        "case \"$prompt\" in *not-yet*) echo x > whole;; esac\n{GOOD}"
    ));
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(
        sandbox.commits(),
        [
            "initial state",
            "checkpoint: 1",
            "checkpoint: 2",
            "reopen: 2",
            "checkpoint: 2"
        ]
    );
    let runs = lines(&sandbox, "runs").len();
    assert_eq!(runs, 3, "where it began, and twice at the end");
    let reopened = sandbox.git("show HEAD~1:openspec/changes/c/tasks.md");
    assert_eq!(reopened, sandbox::TASKS.replace("[ ] 1.", "[x] 1."));
    let prompt = sandbox.transcript("2.2", "prompt.md");
    assert!(
        prompt.contains("Every story of the change was done and saved"),
        "{prompt}"
    );
    assert_eq!(sandbox.tasks_now(), sandbox::TASKS.replace("[ ]", "[x]"));
    assert_eq!(sandbox.events_named("story_reopened").len(), 1);
}

#[test]
fn a_gate_at_the_end_that_stays_red_leaves_the_story_open_for_a_resume() {
    let sandbox = gated(
        "[[gate]]\nname = \"e2e\"\nwhen = \"end\"\nbaseline = false\n\
         run = \"echo boom; test -e ROOT/fine\"\n",
    );
    sandbox.run(&["loop", "c"]).ends_with(1);
    let half = sandbox::TASKS.replace("[ ] 1.", "[x] 1.");
    assert_eq!(sandbox.tasks_now(), half);
    assert_eq!(sandbox.git("status --porcelain"), "");
    let ended = sandbox.events_named("run_ended").pop().unwrap();
    assert_eq!(ended["outcome"]["why"], "exhausted");
    assert_eq!(ended["stories_done"], 1);
    std::fs::write(sandbox.root.join("fine"), "").unwrap();
    sandbox.run(&["resume"]).ends_with(0);
    let prompt = sandbox.transcript("2.3", "prompt.md");
    assert!(
        prompt.contains("boom"),
        "the prompt has the reason: {prompt}"
    );
    assert_eq!(sandbox.tasks_now(), sandbox::TASKS.replace("[ ]", "[x]"));
}

#[test]
fn the_prompt_after_an_interrupted_attempt_says_why_a_gate_reopened_the_story() {
    let kill: fn(&sandbox::Running) = |run| run.kill_all();
    let stop: fn(&sandbox::Running) = |run| run.signal(rustix::process::Signal::TERM);
    for interrupt in [kill, stop] {
        let sandbox = gated(
            "[[gate]]\nname = \"e2e\"\nwhen = \"end\"\nbaseline = false\n\
             run = \"printf '%s-%s' not yet; test -e whole\"\n",
        );
        sandbox.agent(&format!(
            "case \"$prompt\" in *not-yet*)\n\
             test -e $root/waits || {{ touch $root/waits; wait_for $root/never; }}\n\
             echo x > whole;; esac\n{GOOD}"
        ));
        let run = sandbox.start(&["loop", "c"]);
        let waits = sandbox.root.join("waits");
        sandbox::until("the second attempt", || waits.exists().then_some(()));
        interrupt(&run);
        run.end();
        sandbox.run(&["resume"]).ends_with(0);
        let prompt = sandbox.transcript("2.3", "prompt.md");
        assert!(prompt.contains("not-yet"), "{prompt}");
        assert_eq!(sandbox.events_named("story_reopened").len(), 1);
    }
}

#[test]
#[ignore = "takes many seconds; `.ci/run` runs it"]
fn a_kill_during_a_baseline_gate_or_its_cleanup_leaves_the_checkpoint() {
    let sandbox = gated("[[gate]]\nname = \"build\"\nrun = \"echo x > made; echo y >> a.txt\"\n");
    let start = |kill_at: &str| {
        sandbox.agent("cat a.txt > $root/seen; failed no");
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
        command
            .args(["loop", "c", "--max-retries", "0"])
            .env("RALPHTOOL_KILL_LOG", sandbox.root.join("points"))
            .env("RALPHTOOL_KILL_AT", kill_at);
        sandbox.start_command(command).end().code
    };
    let is_at_checkpoint = |when: &str| {
        sandbox
            .run(&["loop", "c", "--max-retries", "0"])
            .ends_with(1);
        assert_eq!(lines(&sandbox, "seen"), ["one"], "{when}");
        assert_eq!(sandbox.commits(), ["initial state"], "{when}");
        sandbox.run(&["finish", "--abandon"]).ends_with(0);
        assert_eq!(sandbox.read("a.txt"), "one\n", "{when}");
        assert!(!sandbox.exists("made"), "{when}");
        std::fs::remove_file(sandbox.vault().join("verdicts.jsonl")).unwrap();
    };
    assert_eq!(start(""), 1);
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    std::fs::remove_file(sandbox.vault().join("verdicts.jsonl")).unwrap();
    // From the line that a gate begins to the line that everything is restored.
    let points = lines(&sandbox, "points");
    let written = points.iter().enumerate();
    let written = written.filter(|(_, point)| point.ends_with("JournalSynced"));
    let written: Vec<usize> = written.map(|(index, _)| index + 1).collect();
    for point in written[2]..=written[3] {
        assert_eq!(start(&point.to_string()), 137, "at {}", points[point - 1]);
        is_at_checkpoint(&format!("killed at {}", points[point - 1]));
    }
}

#[test]
fn a_formatter_cannot_tick_other_stories_or_remove_tasks() {
    let gate = |run: &str| {
        gated(&format!(
            "[[gate]]\nname = \"fmt\"\nrun = \"test ! -e story-1.txt || {run} \
             openspec/changes/c/tasks.md\"\nkeep_changes = true\n"
        ))
    };
    let ticking = gate(
        "perl -pi -e 's/\\[ \\]/[x]/'"
            .replace('\\', "\\\\")
            .as_str(),
    );
    ticking
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(0);
    assert_eq!(
        ticking.events_named("story_completed").len(),
        2,
        "both were worked on"
    );
    assert_eq!(
        warned(&ticking, "gate_boxes"),
        ["gate `fmt` changed boxes of other stories; they are restored: `2.1 Do c`, `2.2 Do d`"]
    );
    let removing = gate("perl -ni -e 'print unless /2.2/'");
    removing
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    assert!(removing.tasks_now().contains("2.2 Do d"));
    let failures = format!("{:?}", removing.failures());
    assert!(failures.contains("2.2 Do d"), "{failures}");
}

#[test]
fn a_gate_that_moves_head_ends_the_run_before_a_box_is_ticked() {
    let sandbox =
        gated("[[gate]]\nname = \"t\"\nrun = \"test ! -e story-1.txt || git checkout -q main\"\n");
    sandbox.agent("echo work > story-1.txt; complete");
    let said = sandbox.run(&["loop", "c"]).ends_with(4).stdout;
    assert!(
        said.contains("HEAD was moved to `main` while gates ran"),
        "{said}"
    );
    assert!(!sandbox.tasks_now().contains("[x]"), "no story is done");
}

#[test]
fn changes_by_a_gate_that_removes_everything_are_reverted_and_the_summary_names_red_gates() {
    let sandbox = gated(
        "[[gate]]\nname = \"wipe\"\nrun = \"test ! -e story-1.txt || rm -rf ./* .git\"\n\
         [[gate]]\nname = \"no\"\nrun = \"exit 3\"\n",
    );
    let said = sandbox.run(&["loop", "c"]).ends_with(1).stdout;
    let headline = "`c`: done, but not verified: gate `no` red since before the run";
    assert!(said.contains(headline), "{said}");
    assert_eq!(sandbox.read("a.txt"), "one\n");
    assert_eq!(sandbox.read("story-2.txt"), "work\n");
}

#[test]
#[ignore = "takes many seconds; `.ci/run` runs it"]
fn damage_by_an_earlier_run_of_the_change_is_not_red_before() {
    let gate = "[[gate]]\nname = \"whole\"\nrun = \"test ! -e story-1.txt\"\nwhen = \"end\"\n";
    let again = gated(gate);
    // Story 2 is done already: the gate judges the whole change after story 1, and again in a run
    // that begins with what the first one left.
    again.tasks(&sandbox::TASKS.replace("[ ] 2", "[x] 2"));
    again.run(&["loop", "c", "--max-retries", "0"]).ends_with(1);
    again.run(&["loop", "c", "--max-retries", "0"]).ends_with(1);
    again.run(&["finish", "--cleanup"]).ends_with(0);
    again.run(&["loop", "c", "--max-retries", "0"]).ends_with(1);
    // One story per run: the gate at the end does not run in the first one.
    let apart = gated(gate);
    apart.run(&["loop", "c", "--story", "1"]).ends_with(0);
    let last = ["loop", "c", "--story", "2", "--max-retries", "0"];
    apart.run(&last).ends_with(1);
    // The gate was red where the work began, and still is.
    let red = gated(&gate.replace("! -e story-1.txt", "-e never"));
    red.run(&["loop", "c", "--story", "1"]).ends_with(0);
    red.run(&["loop", "c", "--story", "2"]).ends_with(1);
    assert_eq!(warned(&red, "red_before").len(), 1, "{:?}", red.warnings());
    // Abandoned work is reverted: a gate that is red then was red before.
    again.run(&["finish", "--abandon"]).ends_with(0);
    again.run(&["loop", "c", "--max-retries", "0"]).ends_with(1);
    let gone = gated(gate);
    gone.run(&["loop", "c", "--max-retries", "0"]).ends_with(1);
    gone.run(&["finish", "--abandon"]).ends_with(0);
    gone.write("story-1.txt", "mine\n");
    gone.run(&["loop", "c"]).ends_with(1);
}
