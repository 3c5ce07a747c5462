//! The guide quotes what the program prints, and its links have targets. Tests beside the parsers
//! check its command lines and settings.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::{self, Output, Sandbox};
use pretty_assertions::assert_eq;

/// A fenced block of a page.
struct Block {
    /// The page and the line it begins in.
    place: String,
    /// The info string.
    info: String,
    text: String,
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The pages of the guide, and those at the top.
fn pages() -> Vec<PathBuf> {
    let markdown = |folder: PathBuf| {
        let entries = fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|it| it == "md"))
    };
    let mut pages: Vec<PathBuf> = markdown(root().to_owned())
        .chain(markdown(root().join("docs")))
        .collect();
    pages.sort();
    pages
}

fn blocks(page: &Path) -> Vec<Block> {
    let text = fs::read_to_string(page).unwrap();
    let name = page.strip_prefix(root()).unwrap().display();
    let mut blocks = Vec::new();
    let mut open: Option<(usize, Block)> = None;
    for (number, line) in text.lines().enumerate() {
        let bare = line.trim_start();
        match (&mut open, bare.strip_prefix("```")) {
            (None, Some(info)) => {
                let block = Block {
                    place: format!("{name}:{}", number + 1),
                    info: info.trim().to_owned(),
                    text: String::new(),
                };
                open = Some((line.len() - bare.len(), block));
            }
            (Some(_), Some(_)) => blocks.extend(open.take().map(|(_, block)| block)),
            (Some((indent, block)), None) => {
                block.text.push_str(line.get(*indent..).unwrap_or(""));
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block of {name} has no end");
    blocks
}

fn all_blocks() -> Vec<Block> {
    pages().iter().flat_map(|page| blocks(page)).collect()
}

/// How to make the program print something: from its first line.
type Situation = (&'static str, fn() -> String);

const SITUATIONS: &[Situation] = &[
    (
        "error: `ralphtool.toml` asks for 1 permission that you have not given",
        || {
            let sandbox = retry();
            sandbox.write("ralphtool.toml", "[[gate]]\nrun = \"make test\"\n");
            let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
            command.arg("loop").env_remove("RALPHTOOL_TRUST");
            said(&sandbox.start_command(command).end())
        },
    ),
    (
        "error: ralphtool.toml:1:1: unknown key `max_retrys`",
        || configured("max_retrys = 3\n"),
    ),
    (
        "error: RALPHTOOL_MAX_RETRIES: `three` is not a number from 0 to 4294967295",
        || {
            let sandbox = retry();
            let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
            command.arg("loop").env("RALPHTOOL_MAX_RETRIES", "three");
            said(&sandbox.start_command(command).end())
        },
    ),
    ("error: ralphtool.toml:1:1: this gate has no `run`", || {
        configured("[[gate]]\nname = \"tests\"\n")
    }),
    (
        "error: ralphtool.toml:1:1: a gate at the end cannot keep its changes: every story is saved by then",
        || configured("[[gate]]\nrun = \"cargo fmt\"\nwhen = \"end\"\nkeep_changes = true\n"),
    ),
    (
        "error: gate `tests` cannot run: `pytset`: command not found",
        || {
            let sandbox = retry();
            sandbox.config_and("", "[[gate]]\nname = \"tests\"\nrun = \"pytset -q\"\n");
            said(&sandbox.run(&["loop"]).ends_with(2))
        },
    ),
    (
        "warning: gate `tests`: the exit code of a pipe is that of its last program: `./test.sh` may fail unnoticed; start the line with `set -o pipefail;` (bash and zsh have it), or drop the pipe",
        || {
            let sandbox = retry();
            let gate = "[[gate]]\nname = \"tests\"\nrun = \"./test.sh | tail -5\"\n";
            sandbox.config_and("", gate);
            said(&sandbox.run(&["loop", "--dry-run"]).ends_with(0))
        },
    ),
    (
        "! no gate ran, because no file in their paths was changed: the agent's word is the only check",
        || {
            let sandbox = retry();
            let gate = "[[gate]]\nname = \"web\"\nrun = \"true\"\npaths = [\"web/**\"]\n";
            sandbox.config_and("", gate);
            said(&sandbox.run(&["loop", "--story", "1"]).ends_with(0))
        },
    ),
    (
        "! 1 flaky gate: `tests` passed at the second try, 2 times",
        || {
            let sandbox = retry();
            let runs = sandbox.root.join("runs");
            let runs = runs.display();
            let gate = format!(
                "[[gate]]\nname = \"tests\"\nretries = 1\nbaseline = false\n\
             run = 'echo x >> {runs}; test $(( $(wc -l < {runs}) % 2 )) -eq 0'\n"
            );
            sandbox.config_and("", &gate);
            said(&sandbox.run(&["loop"]))
        },
    ),
    ("attempt 1 of story 1 asks: which database?", || {
        let sandbox = retry();
        sandbox.agent("echo '<promise>BLOCKED: which database?</promise>'");
        said(&sandbox.run(&["loop"]).ends_with(1))
    }),
    ("gate `tests` failed: exit code 101", || {
        gated("baseline = false")
    }),
    (
        "gate `tests` is red (exit code 101), as it was before the attempt",
        || gated("baseline = true"),
    ),
    (
        "gate `tests` failed: exit code 1: 1 test fails that did not fail before: `tests/test_upload.py test_retry`; 2 other failures were there before and do not count",
        || with_failing_tests(&["a", "b"], &["a", "b", "test_retry"]),
    ),
    (
        "gate `tests` is red (exit code 1): 2 tests fail, 1 fewer than before the attempt",
        || with_failing_tests(&["a", "b", "c"], &["a", "b"]),
    ),
    (
        "`add-retry`: done, but not verified: gate `tests` red since before the run",
        || gated("baseline = true"),
    ),
    (
        "! gate `all` has not run yet: it runs when every story is done",
        || {
            let sandbox = retry();
            let gate = "[[gate]]\nname = \"all\"\nrun = \"true\"\nwhen = \"end\"\n";
            sandbox.config_and("", gate);
            said(&sandbox.run(&["loop", "--story", "1"]).ends_with(0))
        },
    ),
    (
        "`mine` reports neither its cost nor its tokens, so the budget of $5.00 does not limit it; use `--max-time`",
        || said(&retry().run(&["loop", "--max-cost", "5"]).ends_with(0)),
    ),
    ("error: there is no terminal to show the run on", || {
        said(&retry().run(&["attach"]))
    }),
    (
        "the agent `claude` needs `claude`, which was not found",
        without_agents,
    ),
    ("error: no change has work left", || {
        let sandbox = retry();
        let done = sandbox::TASKS.replace("[ ]", "[x]");
        sandbox.write("openspec/changes/add-retry/tasks.md", &done);
        said(&sandbox.run(&["loop"]))
    }),
    (
        "error: found no change `add-rety` in `/home/you/api/openspec/changes`",
        || {
            let sandbox = retry();
            let said = said(&sandbox.run(&["loop", "add-rety"]));
            said.replace(&sandbox.repo.display().to_string(), "/home/you/api")
        },
    ),
    ("error: --agent: there is no agent `missing`", || {
        let sandbox = retry();
        sandbox.write("ralphtool.toml", "");
        said(&sandbox.run(&["loop", "--agent", "missing"]))
    }),
    (
        "error: the branch `ralph/add-retry` was not made by a run in this work tree; it is never replaced",
        || {
            let sandbox = retry();
            sandbox.git("branch ralph/add-retry");
            said(&sandbox.run(&["loop", "add-retry"]))
        },
    ),
    (
        "error: HEAD is on `ralph/add-retry`, the branch of a run of `add-retry`: `other` would be built on top of it",
        || {
            let sandbox = after_a_run();
            sandbox.write("openspec/changes/other/tasks.md", sandbox::TASKS);
            said(&sandbox.run(&["loop", "other"]))
        },
    ),
    (
        "error: an unfinished run of `add-retry` is in this work tree",
        || {
            let sandbox = after_a_run();
            sandbox.run(&["finish", "--cleanup"]).ends_with(0);
            sandbox.run(&["undo"]).ends_with(0);
            sandbox.write("openspec/changes/other/tasks.md", sandbox::TASKS);
            said(&sandbox.run(&["loop", "other"]))
        },
    ),
    (
        "error: another ralphtool works in this tree: process 2449 since 2026-11-16 11:30:45 UTC",
        beside_another,
    ),
    ("error: choose how to finish", || {
        said(&after_a_run().run(&["finish"]))
    }),
    ("error: there is nothing to undo", || {
        let sandbox = after_a_run();
        sandbox.run(&["undo"]).ends_with(0);
        said(&sandbox.run(&["undo"]))
    }),
    ("error: this run has no checkpoint of story `7`", || {
        said(&after_a_run().run(&["rewind", "7"]))
    }),
    ("error: no attempt `9.9` is parked here", || {
        said(&after_a_run().run(&["attempts", "show", "9.9"]))
    }),
    ("budget used up: $6.00 of $5.00", over_budget),
    ("error: a merge is in progress in this repository", || {
        let sandbox = retry();
        sandbox.write(".git/MERGE_HEAD", &sandbox.git("rev-parse HEAD"));
        said(&sandbox.run(&["loop"]).ends_with(2))
    }),
    (
        "error: a branch `ralph` exists, so `ralph/add-retry` cannot be made",
        || {
            let sandbox = retry();
            sandbox.git("branch ralph");
            said(&sandbox.run(&["loop"]).ends_with(2))
        },
    ),
    (
        "error: `main` moved on and conflicts with `ralph/add-retry` in README.md; nothing was changed",
        conflict,
    ),
];

/// A repository with the change `add-retry` of two stories, as the guide has it.
fn retry() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.git("mv openspec/changes/c openspec/changes/add-retry");
    sandbox.git("commit -q -m plan");
    sandbox
}

fn after_a_run() -> Sandbox {
    let sandbox = retry();
    sandbox.run(&["loop"]).ends_with(0);
    sandbox
}

fn said(output: &Output) -> String {
    format!("{}{}", output.stdout, output.stderr)
}

/// The output of a start with these settings.
fn configured(settings: &str) -> String {
    let sandbox = retry();
    sandbox.write("ralphtool.toml", settings);
    said(&sandbox.run(&["loop"]).ends_with(2))
}

/// The output of a run whose gate is red.
fn gated(baseline: &str) -> String {
    let sandbox = retry();
    let gate = format!("[[gate]]\nname = \"tests\"\nrun = \"exit 101\"\n{baseline}\n");
    sandbox.config_and("max_retries = 0", &gate);
    said(&sandbox.run(&["loop", "--story", "1"]))
}

/// A run of one story whose gate says before and after it that these tests fail.
fn with_failing_tests(before: &[&str], after: &[&str]) -> String {
    let sandbox = retry();
    let pytest = |file: &str, failed: &[&str]| {
        let lines = failed.iter();
        let lines = lines.map(|name| format!("FAILED tests/test_upload.py::{name} - no\n"));
        let lines: String = lines.collect();
        let count = failed.len();
        let passed = 9 - count;
        let text = format!(
            "== short test summary info ==\n{lines}{count} failed, {passed} passed in 0.1s\n"
        );
        let path = sandbox.root.join(file);
        fs::write(&path, text).unwrap();
        path
    };
    let (before, after) = (pytest("before", before), pytest("after", after));
    let run = format!(
        "test -e work.txt && cat {} || cat {}; exit 1",
        after.display(),
        before.display()
    );
    let gate = format!("[[gate]]\nname = \"tests\"\nrun = \"{run}\"\n");
    sandbox.config_and("max_retries = 0", &gate);
    sandbox.agent("echo work > work.txt; complete");
    said(&sandbox.run(&["loop", "--story", "1"]))
}

fn without_agents() -> String {
    let sandbox = retry();
    sandbox.write("ralphtool.toml", "");
    let programs = sandbox.root.join("programs");
    fs::create_dir(&programs).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for name in ["git", "sh"] {
        let mut places = std::env::split_paths(&path).map(|folder| folder.join(name));
        let place = places.find(|place| place.exists()).unwrap();
        std::os::unix::fs::symlink(place, programs.join(name)).unwrap();
    }
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command.arg("doctor").env("PATH", &programs);
    said(&sandbox.start_command(command).end())
}

fn beside_another() -> String {
    let sandbox = retry();
    sandbox.agent("echo > $root/works; wait_for $root/go; failed no");
    let first = sandbox.start(&["loop", "--max-retries", "0"]);
    sandbox::until("the agent", || sandbox::there(&sandbox.root.join("works")));
    let said = said(&sandbox.run(&["loop"]));
    fs::write(sandbox.root.join("go"), "").unwrap();
    first.end().ends_with(1);
    // Process and time differ each time.
    let (before, rest) = said.split_once("process ").unwrap();
    let (_, after) = rest.split_once(" UTC").unwrap();
    format!("{before}process 2449 since 2026-11-16 11:30:45 UTC{after}")
}

fn conflict() -> String {
    let sandbox = retry();
    sandbox.agent("echo agent > README.md; complete");
    sandbox.run(&["loop"]).ends_with(0);
    sandbox.git("switch -q main");
    sandbox.write("README.md", "mine\n");
    sandbox.git("add README.md");
    sandbox.git("commit -q -m mine");
    sandbox.git("switch -q ralph/add-retry");
    said(&sandbox.run(&["finish", "--cleanup"]).ends_with(2))
}

fn over_budget() -> String {
    let sandbox = retry();
    let script = sandbox.root.join("teller.sh");
    let speech = "cat > /dev/null\n\
         echo '{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"model\":\"m\"}'\n\
         echo '{\"type\":\"assistant\",\"message\":{\"id\":\"1\",\"content\":[],\"usage\":{\"input_tokens\":6000000,\"output_tokens\":0}}}'\n\
         sleep 60\n";
    fs::write(&script, speech).unwrap();
    let settings = format!(
        "agent = \"teller\"\n[agents.teller]\ncommand = [\"sh\", \"{}\"]\noutput = \"claude-json\"\n\
         [prices.m]\ninput = 1\noutput = 1\n",
        script.display()
    );
    sandbox.write("ralphtool.toml", &settings);
    said(&sandbox.run(&["loop", "--max-cost", "5"]).ends_with(3))
}

#[test]
fn what_the_guide_quotes_is_what_the_program_prints() {
    let blocks = all_blocks();
    let quoted: Vec<&Block> = blocks
        .iter()
        .filter(|block| block.info == "error")
        .collect();
    for (first, _) in SITUATIONS {
        let is_quoted = quoted
            .iter()
            .any(|it| it.text.lines().next() == Some(*first));
        assert!(is_quoted, "no page quotes `{first}`");
    }
    std::thread::scope(|scope| {
        for block in quoted {
            scope.spawn(move || compare(block));
        }
    });
}

fn compare(block: &Block) {
    let first = block.text.lines().next().unwrap_or_default();
    let situation = SITUATIONS.iter().find(|it| it.0 == first);
    let (_, make) = situation.unwrap_or_else(|| {
        panic!(
            "{}: there is no situation for `{first}` in tests/program/docs.rs",
            block.place
        )
    });
    let said = make();
    // The log puts a time in front of some lines, and blanks in front of others.
    let wanted: Vec<&str> = block.text.lines().map(str::trim_start).collect();
    let lines: Vec<&str> = said.lines().collect();
    let is_said = lines.windows(wanted.len()).any(|window| {
        window
            .iter()
            .zip(&wanted)
            .all(|(line, want)| line.ends_with(want))
    });
    assert!(
        is_said,
        "{}:\n{}\nis not in\n{said}",
        block.place, block.text
    );
}

#[test]
fn blocks_that_look_like_an_error_are_marked_as_one() {
    for block in all_blocks() {
        let is_marked = block.info == "error";
        for line in block.text.lines().map(str::trim_start) {
            let looks = line.starts_with("error: ") || line.starts_with("hint: ");
            let place = &block.place;
            assert!(
                is_marked || !looks,
                "{place}: mark this with `error`: {line}"
            );
        }
    }
}

/// What a page calls its headings in links.
fn anchors(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let kept = |c: &char| c.is_alphanumeric() || [' ', '-', '_'].contains(c);
    let slug = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let title: String = title.chars().filter(kept).collect();
        title.replace(' ', "-")
    };
    headings.map(slug).collect()
}

#[test]
fn each_link_has_a_target() {
    let mut broken = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|it| it.split(')').next())
        {
            if link.contains("://") || link.contains(char::is_whitespace) {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => page.clone(),
                path => page.parent().unwrap().join(path),
            };
            let leads = target.exists()
                && (anchor.is_empty() || anchors(&target).contains(&anchor.to_owned()));
            if !leads {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

#[test]
fn commands_in_the_readme_are_part_of_ci() {
    let checks = fs::read_to_string(root().join(".ci/run")).unwrap();
    let checks = checks.replace(" --locked", "");
    let lines = blocks(&root().join("README.md"));
    let lines = lines.iter().filter(|block| block.info == "console");
    let mut found = 0;
    for line in lines.flat_map(|block| block.text.lines()) {
        let line = line.split('#').next().unwrap().trim();
        let Some(line) = line
            .strip_prefix("$ ")
            .filter(|it| it.starts_with("cargo "))
        else {
            continue;
        };
        // `tests/program/demo.rs` runs the demo with the build that is there; another build takes minutes.
        let is_for_users = line.starts_with("cargo install") || line.ends_with("-- demo");
        if !is_for_users {
            found += 1;
            assert!(
                checks.contains(&format!("step {line}\n")),
                "`{line}` is not in .ci/run"
            );
        }
    }
    assert_eq!(found, 1);
}

#[test]
fn the_manual_page_has_every_section_and_command() {
    let sandbox = Sandbox::bare_folder();
    let page = sandbox.run(&["man"]).ends_with(0).stdout;
    let sections = page.lines().filter_map(|line| line.strip_prefix(".SH "));
    let sections: Vec<&str> = sections.map(|it| it.trim_matches('"')).collect();
    for section in [
        "EXAMPLES",
        "EXIT STATUS",
        "ENVIRONMENT",
        "CONFIGURATION",
        "FILES",
    ] {
        assert!(sections.contains(&section), "{section}: {sections:?}");
    }
    let help = sandbox.run(&["--help"]).ends_with(0).stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    for command in commands.filter_map(|line| line.split_whitespace().next()) {
        let named = format!("ralphtool\\-{command}(1)");
        assert!(page.contains(&named), "{named}");
        let own = sandbox.run(&["man", command]).ends_with(0).stdout;
        assert!(own.contains(".SH EXAMPLES"), "{command} has no examples");
    }
}

/// `UPDATE_DOCS=1 cargo test --test program docs::the_page_on_events` updates it.
#[test]
fn the_page_on_events_lists_every_event() {
    let schema = fs::read_to_string(root().join("docs/events.schema.json")).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let mut table = "| event | when | fields |\n| --- | --- | --- |\n".to_owned();
    for event in schema["oneOf"].as_array().unwrap() {
        let fields = event["properties"].as_object().unwrap().keys();
        let fields: Vec<String> = fields
            .filter(|field| *field != "event")
            .map(|field| format!("`{field}`"))
            .collect();
        let name = event["properties"]["event"]["const"].as_str().unwrap();
        let about = event["description"].as_str().unwrap();
        let _ = writeln!(table, "| `{name}` | {about} | {} |", fields.join(", "));
    }
    let path = root().join("docs/events.md");
    let page = fs::read_to_string(&path).unwrap();
    let start = "<!-- The part below is written by `UPDATE_DOCS=1 cargo test --test program docs::the_page_on_events`. -->\n";
    let end = "<!-- The part above is written by a test. -->\n";
    let (before, rest) = page.split_once(start).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let want = format!("{before}{start}\n{table}\n{end}{after}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, want).unwrap();
        return;
    }
    assert_eq!(
        page, want,
        "run `UPDATE_DOCS=1 cargo test --test program docs::the_page_on_events`"
    );
}
