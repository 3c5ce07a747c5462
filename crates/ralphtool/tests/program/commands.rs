//! The commands that only read, from outside: what they print, where to, and how they exit.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use pretty_assertions::assert_eq;

const CONFIG: &str = "\
schema: spec-driven
context: |
  Rust, no unsafe code.
operations:
  apply:
    guidance:
      - Write the test first
";

const TASKS: &str = "\
## 1. Setup\r
\r
- [x] 1.1 Add the crate\r
\r
## 2. Retry the upload\r
\r
- [x] 2.1 Wrap the client\r
- [ ] 2.2 Add a delay\r
  - [ ] 2.2.1 Let it grow\r
  - [x] 2.2.2 Cap it\r
- [~] 2.3 Add jitter\r
\r
## 3. Metrics\r
\r
- [-] 3.1 Count retries\r
";

const SPEC: &str = "\
## ADDED Requirements

### Requirement: Failed uploads are retried
The client SHALL try again.

#### Scenario: Server is busy
- **WHEN** the server answers 503
- **THEN** it is tried again
";

const SCHEMA: &str = "\
name: multi
version: 1
artifacts:
  - id: work
    generates: 'work/**/*.md'
apply:
  requires: [work]
  tracks: 'work/**/*.md'
";

/// A folder of its own, with a home of its own.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "project"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    /// A project with a change in every state.
    fn project() -> Self {
        let place = Self::empty();
        for (path, text) in [
            ("openspec/config.yaml", CONFIG),
            ("openspec/schemas/multi/schema.yaml", SCHEMA),
            ("openspec/changes/add-retry/proposal.md", "## Why\n"),
            ("openspec/changes/add-retry/tasks.md", TASKS),
            ("openspec/changes/add-retry/specs/upload/spec.md", SPEC),
            ("openspec/changes/ready/tasks.md", "- [x] Ship it\n"),
            ("openspec/changes/later/tasks.md", "- [~] Maybe\n"),
            ("openspec/changes/new/proposal.md", "## Why\n"),
            ("openspec/changes/odd/.openspec.yaml", "schema: nope\n"),
            ("openspec/changes/split/.openspec.yaml", "schema: multi\n"),
            (
                "openspec/changes/split/work/ui.md",
                "## 1. Buttons\n- [ ] Draw\n",
            ),
            (
                "openspec/changes/split/work/api/core.md",
                "## 1. Routes\n- [x] Add\n",
            ),
            ("docs/PRD.md", "# Plan\n\n- [ ] One\n- [x] Two\n"),
            ("TODO", "- [ ] One\n"),
        ] {
            place.write(path, text);
        }
        place
    }

    fn path(&self, inner: &str) -> PathBuf {
        self.folder.path().join("project").join(inner)
    }

    /// Writes a file; all are of the same age, so that lists are sorted by name.
    fn write(&self, inner: &str, text: &str) {
        let path = self.path(inner);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let age = std::time::SystemTime::UNIX_EPOCH;
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(age).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ralphtool"));
        let home = self.folder.path().join("home");
        command
            .args(args)
            .current_dir(self.path(""))
            .env_clear()
            .env("HOME", &home)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CEILING_DIRECTORIES", self.folder.path());
        for name in ["CONFIG", "DATA", "STATE"] {
            command.env(format!("XDG_{name}_HOME"), home.join(name.to_lowercase()));
        }
        command
    }

    fn run(&self, args: &[&str]) -> Answer {
        Answer::of(self.command(args).output().unwrap(), self.folder.path())
    }
}

/// The output of a command.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Answer {
    fn of(output: Output, place: &Path) -> Self {
        let whole = place.canonicalize().unwrap();
        let text = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).unwrap();
            let text = text.replace(whole.to_str().unwrap(), "[place]");
            text.replace(place.to_str().unwrap(), "[place]")
        };
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// The output of a command that succeeded without a warning.
    #[track_caller]
    fn printed(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""));
        self.stdout
    }

    /// The message of a command that refused.
    #[track_caller]
    fn refused(self) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (Some(2), ""));
        self.stderr
    }

    /// The standard error of a command; its standard output does not matter.
    #[track_caller]
    fn warned(self) -> String {
        assert_eq!(self.code, Some(0));
        self.stderr
    }
}

/// The age of the files grows day by day.
fn without_age(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once("d ago") {
        Some((before, after)) => {
            let digits = before.trim_end_matches(|c: char| c.is_ascii_digit());
            format!("{digits}[age]d ago{after}")
        }
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn list_shows_every_change_with_its_progress() {
    let place = Place::project();
    insta::assert_snapshot!(without_age(&place.run(&["list"]).printed()), @r"
    change                 stories  tasks  modified    state
    add-retry  ████░░░░░░  1/3      3/7    [age]d ago  ready
    later      ░░░░░░░░░░  0/1      0/1    [age]d ago  deferred
    new        ░░░░░░░░░░  0/0      0/0    [age]d ago  no tasks
    odd        ░░░░░░░░░░  0/0      0/0    [age]d ago  unreadable
    ready      ██████████  1/1      1/1    [age]d ago  done
    split      █████░░░░░  1/2      1/2    [age]d ago  ready

    odd: found no schema `nope`, asked for by `[place]/project/openspec/changes/odd/.openspec.yaml`
    ");
    assert_eq!(place.run(&[]), place.run(&["list"]));
    assert_eq!(
        place.run(&["-C", "openspec/changes/new", "list"]),
        place.run(&["list"])
    );
}

#[test]
fn list_has_a_json_form() {
    let place = Place::empty();
    place.write("openspec/changes/split/tasks.md", "- [ ] One\n- [x] Two\n");
    place.write("openspec/changes/odd/.openspec.yaml", "schema: nope\n");
    insta::assert_snapshot!(place.run(&["list", "--json"]).printed(), @r#"
    [
      {
        "name": "odd",
        "kind": "openspec",
        "path": "openspec/changes/odd",
        "target": "odd",
        "stories_done": 0,
        "stories_total": 0,
        "tasks_done": 0,
        "tasks_total": 0,
        "depends_on": null,
        "modified": "1970-01-01T00:00:00Z",
        "state": "unreadable",
        "reason": "found no schema `nope`, asked for by `[place]/project/openspec/changes/odd/.openspec.yaml`",
        "standing": "unreadable"
      },
      {
        "name": "split",
        "kind": "openspec",
        "path": "openspec/changes/split",
        "target": "split",
        "stories_done": 0,
        "stories_total": 1,
        "tasks_done": 1,
        "tasks_total": 2,
        "depends_on": null,
        "modified": "1970-01-01T00:00:00Z",
        "state": "open",
        "standing": "ready"
      }
    ]
    "#);
}

#[test]
fn list_explains_a_missing_project_and_a_project_without_changes() {
    let place = Place::empty();
    insta::assert_snapshot!(place.run(&["list"]).printed(), @r"
    found no plan in `[place]/project`

    start with one of these
      ralphtool new NAME       writes a small change from a template
      ralphtool run ./TODO.md  runs a checklist or a `prd.json` of yours
      ralphtool demo           shows how it works, on a temporary repository
    ");
    assert_eq!(place.run(&[]), place.run(&["list"]));
    std::fs::create_dir_all(place.path("openspec/changes/archive/old")).unwrap();
    insta::assert_snapshot!(place.run(&["list"]).printed(), @r"
    found no plan in `[place]/project/openspec/changes`

    start with one of these
      ralphtool new NAME       writes a small change from a template
      ralphtool run ./TODO.md  runs a checklist or a `prd.json` of yours
      ralphtool demo           shows how it works, on a temporary repository
    ");
    assert_eq!(place.run(&["list", "--json"]).printed(), "[]\n");
}

#[test]
fn list_ends_without_an_error_when_its_reader_closes_the_pipe() {
    let place = Place::empty();
    // More than a pipe holds.
    for number in 0..400 {
        let name = format!("{}-{number}", "long-name".repeat(22));
        std::fs::create_dir_all(place.path("openspec/changes").join(name)).unwrap();
    }
    let mut child = place
        .command(&["list"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    reader.read_line(&mut first).unwrap();
    drop(reader);
    let output = child.wait_with_output().unwrap();
    assert!(first.starts_with("change "));
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn show_draws_a_change() {
    let place = Place::project();
    insta::assert_snapshot!(place.run(&["show", "add-retry"]).printed(), @r"
    add-retry  1 of 3 stories, 3 of 7 tasks done
    openspec/changes/add-retry/tasks.md

    1 Setup  1/1 done
      [x] 1.1 Add the crate

    2 Retry the upload  2/5 next
      [x] 2.1 Wrap the client
      [ ] 2.2 Add a delay
        [ ] 2.2.1 Let it grow
        [x] 2.2.2 Cap it
      [~] 2.3 Add jitter

    3 Metrics  0/1 deferred
      [~] 3.1 Count retries

    1 scenario
      upload: Failed uploads are retried
        Server is busy
          - **WHEN** the server answers 503
          - **THEN** it is tried again
    ");
    for target in ["openspec/changes/add-retry", "openspec/changes/add-retry/"] {
        assert_eq!(
            place.run(&["show", target]),
            place.run(&["show", "add-retry"])
        );
    }
}

#[test]
fn show_follows_a_schema_to_several_files() {
    let place = Place::project();
    insta::assert_snapshot!(place.run(&["show", "split"]).printed(), @r"
    split  1 of 2 stories, 1 of 2 tasks done
    openspec/changes/split/work/api/core.md
    openspec/changes/split/work/ui.md

    work-api-core-1 Routes  1/1 done
      [x] Add

    work-ui-1 Buttons  0/1 next
      [ ] Draw
    ");
}

#[test]
fn show_reads_any_checklist() {
    let place = Place::project();
    insta::assert_snapshot!(place.run(&["show", "docs/PRD.md"]).printed(), @r"
    prd  checklist  0 of 1 story, 1 of 2 tasks done
    docs/PRD.md

    plan Plan  1/2 next
      [ ] One
      [x] Two
    ");
    let alone = Place::empty();
    alone.write("TODO", "- [ ] One\n");
    insta::assert_snapshot!(alone.run(&["show", "./TODO"]).printed(), @r"
    todo  checklist  0 of 1 story, 0 of 1 task done
    TODO

    todo TODO  0/1 next
      [ ] One
    ");
}

#[test]
fn show_has_a_json_form() {
    let place = Place::project();
    insta::assert_snapshot!(place.run(&["show", "add-retry", "--json"]).printed(), @r#"
    {
      "change": "add-retry",
      "root": "[place]/project",
      "kind": "openspec",
      "stories": [
        {
          "id": "1",
          "title": "Setup",
          "state": "done",
          "depends_on": null,
          "tasks": [
            {
              "id": "1.1",
              "raw": "1.1 Add the crate",
              "text": "Add the crate",
              "done": true,
              "state": "done"
            }
          ]
        },
        {
          "id": "2",
          "title": "Retry the upload",
          "state": "open",
          "depends_on": null,
          "tasks": [
            {
              "id": "2.1",
              "raw": "2.1 Wrap the client",
              "text": "Wrap the client",
              "done": true,
              "state": "done"
            },
            {
              "id": "2.2",
              "raw": "2.2 Add a delay",
              "text": "Add a delay",
              "done": false,
              "state": "open"
            },
            {
              "id": "2.2.1",
              "raw": "2.2.1 Let it grow",
              "text": "Let it grow",
              "done": false,
              "state": "open"
            },
            {
              "id": "2.2.2",
              "raw": "2.2.2 Cap it",
              "text": "Cap it",
              "done": true,
              "state": "done"
            },
            {
              "id": "2.3",
              "raw": "2.3 Add jitter",
              "text": "Add jitter",
              "done": false,
              "state": "deferred"
            }
          ]
        },
        {
          "id": "3",
          "title": "Metrics",
          "state": "deferred",
          "depends_on": null,
          "tasks": [
            {
              "id": "3.1",
              "raw": "3.1 Count retries",
              "text": "Count retries",
              "done": false,
              "state": "deferred"
            }
          ]
        }
      ],
      "scenarios": [
        {
          "capability": "upload",
          "requirement": "Failed uploads are retried",
          "name": "Server is busy",
          "text": "- **WHEN** the server answers 503\n- **THEN** it is tried again"
        }
      ]
    }
    "#);
}

#[test]
fn show_says_that_a_change_has_no_tasks() {
    let place = Place::project();
    let answer = place.run(&["show", "new"]);
    insta::assert_snapshot!(answer.stdout, @r"
    new  0 of 0 stories, 0 of 0 tasks done

    no tasks: a task is a line such as `- [ ] 1.1 Add the retry`
    ");
    assert_eq!(answer.warned(), "warning: the change has no `tasks.md`\n");
}

#[test]
fn prompt_is_what_an_agent_would_get_for_the_next_story() {
    let place = Place::project();
    place.write(
        "ralphtool.toml",
        "[[gate]]\nname = \"tests\"\nrun = \"cargo test\"\n",
    );
    let text = place.run(&["prompt", "add-retry"]).printed();
    insta::assert_snapshot!(without_vault(&text), @r"
    You are implementing one story of the change `add-retry`: story 2 (Retry the upload). This is attempt 1 at it.

    Do this story and only this story. Other stories of the change are done before or after it by separate runs; leave their code, their tasks and their boxes alone. Decide for yourself what the plan leaves open, unless only the user can decide it.

    ## Story 2: Retry the upload

    This is the whole section of the plan, as written:

    ```markdown
    ## 2. Retry the upload

    - [x] 2.1 Wrap the client
    - [ ] 2.2 Add a delay
      - [ ] 2.2.1 Let it grow
      - [x] 2.2.2 Cap it
    - [~] 2.3 Add jitter
    ```

    ## Read First

    Read these files of the change before you begin; they say what is wanted and why:

    - proposal: `[place]/project/openspec/changes/add-retry/proposal.md`
    - specs: `[place]/project/openspec/changes/add-retry/specs/upload/spec.md`
    - tasks: `[place]/project/openspec/changes/add-retry/tasks.md`

    ## Project Context

    Required input: it holds for everything you do here. Do not copy it into files.

    ```markdown
    Rust, no unsafe code.
    ```

    ## Guidance

    Advice of the project for implementing a change. It proves nothing about completion.

    - Write the test first

    ## Scenarios

    What the change as a whole must fulfil. Those that concern this story must hold when you are done.

    ### upload: Failed uploads are retried

    Scenario: Server is busy
    - **WHEN** the server answers 503
    - **THEN** it is tried again

    ## How To Work

    - Work through the open tasks of the story in order. Keep changes small and within what each task asks for.
    - Never silently narrow, defer or simplify away what is specified. If a task cannot be done as written, or the design turns out wrong, stop and report failure with the reason.
    - Verify each task as it says; if it does not say how, add or run a test that would notice a mistake.
    - Tick a task in `[place]/project/openspec/changes/add-retry/tasks.md` as soon as it is fully done, not when it is done in part or put off: change its `- [ ]` to `- [x]` and nothing else on the line. Do not remove, reword or reorder tasks, and do not touch boxes of other stories.
    - Boxes marked `[~]`, `[-]` or `[/]` are deferred: leave them as they are. Boxes inside code fences are examples.
    - You need not commit: the work is committed for you when the story is accepted. Do not switch or create branches, rewrite history, stash, or push.
    - Leave no process running and no scratch files behind.
    - Do not delete, skip or weaken tests, edit the text of the plan or change test, lint or CI configuration, unless the story asks for it.

    ## Checks

    These commands are run after you, in the root of the repository, and each must exit with 0. Run them yourself before you report success.

    - tests: `cargo test`

    ## Learnings

    What a later run should know (how to build and test, traps, decisions) may be added at the end of `[place]/home/state/ralphtool/project-[hash]/learnings/add-retry.md`: a line or two, no diary. That file is kept outside the repository and survives a failed attempt.

    ## How To End

    Your final message must end with exactly one of three tags, alone on its last line, without quotes or code marks:

    - Write `<promise>COMPLETE</promise>` only when every open task of this story is really done and all checks pass.
    - Write `<promise>BLOCKED: question</promise>` only when the story cannot be done without a decision that only the user can make: one question on one line, with the choices you see. Do not ask what you can find out or decide yourself.
    - Otherwise write `<promise>FAILED: reason</promise>`, with a reason that helps the next attempt: what is in the way, what you tried, and what you would do next.

    One of the three must come. An honest failure is worth more than a false success: it is undone and tried again with your reason, while a false success is built upon.
    ");
}

/// The vault's folder is named after a hash of the project's path.
fn without_vault(text: &str) -> String {
    let (before, after) = text.split_once("/ralphtool/project-").unwrap();
    let (hash, after) = after.split_once('/').unwrap();
    assert_eq!(hash.len(), 12);
    format!("{before}/ralphtool/project-[hash]/{after}")
}

#[test]
fn prompt_has_the_notes_and_gates_of_the_repository() {
    let place = Place::project();
    let made = Command::new("git")
        .args(["init", "--quiet"])
        .arg(place.path(""))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .output()
        .unwrap();
    assert!(made.status.success());
    place.write(
        "ralphtool.toml",
        "[[gate]]\nname = \"tests\"\nrun = \"just test\"\n",
    );
    let inner = &["-C", "openspec", "prompt", "add-retry"];
    let before = place.run(inner).printed();
    let path = before.split_once("at the end of `[place]/").unwrap().1;
    let path = place.folder.path().join(path.split_once('`').unwrap().0);
    assert!(!path.exists() && !path.parent().unwrap().exists());
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "Build with `just`.\n").unwrap();
    let after = place.run(inner).printed();
    assert!(after.contains("- tests: `just test`\n"), "{after}");
    let notes = "Notes from earlier work on this change:\n\n```markdown\nBuild with `just`.\n```\n";
    assert!(after.contains(notes), "{after}");
    assert_eq!(place.run(&["prompt", "add-retry"]).printed(), after);
}

#[test]
fn prompt_takes_a_story_by_its_id() {
    let place = Place::project();
    let first_line = |args: &[&str]| {
        let answer = place.run(args);
        let line = answer.stdout.lines().next().unwrap().to_owned();
        (line, answer.warned())
    };
    assert_eq!(
        first_line(&["prompt", "split", "--story", "work-ui-1"]),
        (
            "You are implementing one story of the change `split`: story work-ui-1 (Buttons). \
             This is attempt 1 at it."
                .to_owned(),
            String::new()
        )
    );
    let (_, warning) = first_line(&["prompt", "add-retry", "--story", "1"]);
    assert_eq!(warning, "warning: story `1` is done already\n");
    let (_, warning) = first_line(&["prompt", "add-retry", "--story", "3"]);
    assert_eq!(
        warning,
        "warning: story `3` is deferred: a run does not do it\n"
    );
}

#[test]
fn prompt_of_a_change_with_nothing_left_says_so() {
    #[track_caller]
    fn case(answer: Answer, want: &str) {
        assert_eq!(answer.stdout, "");
        assert_eq!(answer.warned(), want);
    }
    let place = Place::project();
    case(
        place.run(&["prompt", "ready"]),
        "`ready`: nothing left to do, 1 story done\n",
    );
    case(
        place.run(&["prompt", "later"]),
        "`later`: nothing left to do, 0 of 1 story done and the rest deferred\n",
    );
}

#[test]
fn bad_input_is_refused_with_a_hint() {
    let place = Place::project();
    place.write("bad.toml", "max_retrys = 3\n");
    std::fs::create_dir(place.path("folder.md")).unwrap();
    let cases: [&[&str]; 14] = [
        &["show", "add-rety"],
        &["show", "something-else"],
        &["show", "TODO"],
        &["show", "missing.md"],
        &["show", "archive"],
        &["show", "odd"],
        &["show", "folder.md"],
        &["show", "add-retry", "-C", "TODO"],
        &["list", "-C", "nowhere"],
        &["prompt", "add-rety"],
        &["prompt", "new"],
        &["prompt", "add-retry", "--story", "9"],
        &["prompt", "split", "--story", "work-ui-2"],
        &["prompt", "add-retry", "--config", "bad.toml"],
    ];
    let told = cases.map(|args| format!("$ {}\n{}", args.join(" "), place.run(args).refused()));
    insta::assert_snapshot!(told.join("\n"), @r"
    $ show add-rety
    error: found no change `add-rety` in `[place]/project/openspec/changes`
      hint: did you mean `add-retry`?

    $ show something-else
    error: found no change `something-else` in `[place]/project/openspec/changes`
      hint: there are `add-retry`, `later`, `new`, `odd`, `ready`, `split`

    $ show TODO
    error: found no change `TODO` in `[place]/project/openspec/changes`
      hint: there are `add-retry`, `later`, `new`, `odd`, `ready`, `split`
      hint: for the file of that name say `./TODO`

    $ show missing.md
    error: could not read `[place]/project/missing.md`
      because: No such file or directory (os error 2)

    $ show archive
    error: `archive` cannot be the name of a change: it is reserved for archived changes

    $ show odd
    error: found no schema `nope`, asked for by `[place]/project/openspec/changes/odd/.openspec.yaml`
      hint: there are `multi`, `spec-driven`

    $ show folder.md
    error: found no change `folder.md` in `[place]/project/openspec/changes`
      hint: there are `add-retry`, `later`, `new`, `odd`, `ready`, `split`

    $ show add-retry -C TODO
    error: `TODO` is not a directory

    $ list -C nowhere
    error: could not go to `nowhere`
      because: No such file or directory (os error 2)

    $ prompt add-rety
    error: found no change `add-rety` in `[place]/project/openspec/changes`
      hint: did you mean `add-retry`?

    $ prompt new
    warning: the change has no `tasks.md`
    error: the change `new` has no tasks
      hint: write a task file with lines such as `- [ ] 1.1 Do something`

    $ prompt add-retry --story 9
    error: found no story `9` in `add-retry`
      hint: there are `1`, `2`, `3`

    $ prompt split --story work-ui-2
    error: found no story `work-ui-2` in `split`
      hint: did you mean `work-ui-1`?
      hint: there are `work-api-core-1`, `work-ui-1`

    $ prompt add-retry --config bad.toml
    error: bad.toml:1:1: unknown key `max_retrys`
      hint: did you mean `max_retries`?
    ");
}

#[test]
fn commands_that_only_read_touch_nothing() {
    let place = Place::project();
    let before = everything(place.folder.path());
    for args in [
        &["list"][..],
        &["show", "add-retry"],
        &["prompt", "add-retry"],
    ] {
        place.run(args).printed();
    }
    assert_eq!(everything(place.folder.path()), before);
}

/// Every path with its content.
fn everything(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut folders = vec![folder.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path.clone());
                found.push((path, Vec::new()));
            } else {
                let bytes = std::fs::read(&path).unwrap();
                found.push((path, bytes));
            }
        }
    }
    found.sort();
    found
}
