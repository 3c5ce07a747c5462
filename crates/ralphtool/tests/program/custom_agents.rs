//! Agents of the user's own: by file or stdin, in a folder, with another environment, in a sandbox.
//! The examples are those of docs/agents.md.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test ends where it cannot go on, and says what it leaves out"
)]

use std::fs;

use crate::sandbox::{self, GOOD, Sandbox, mode};
use pretty_assertions::assert_eq;

/// A block of settings in docs/agents.md, by the heading it stands under.
fn example(heading: &str) -> String {
    block(heading, "toml")
}

/// A block of docs/agents.md, by the heading it stands under and its language.
fn block(heading: &str, language: &str) -> String {
    let page =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/agents.md")).unwrap();
    let (_, rest) = page.split_once(&format!("### {heading}\n")).unwrap();
    let (_, block) = rest.split_once(&format!("```{language}\n")).unwrap();
    let (block, _) = block.split_once("```").unwrap();
    block.to_owned()
}

/// Puts a program into a folder that comes first in `PATH`.
fn program(sandbox: &Sandbox, name: &str, text: &str) {
    // Ignored, and within the repository: a sandbox may hide everything else.
    let folder = sandbox.repo.join("target/bin");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join(name);
    fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&file, mode(0o755)).unwrap();
}

fn run(sandbox: &Sandbox, variables: &[(&str, &str)]) -> sandbox::Output {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    let path = std::env::var("PATH").unwrap();
    command
        .args(["loop", "c"])
        .env(
            "PATH",
            format!("{}/target/bin:{path}", sandbox.repo.display()),
        )
        .envs(variables.iter().copied());
    sandbox.start_command(command).end()
}

/// The work of both stories, whatever else an agent does.
fn work() -> String {
    format!(
        "tasks=\"openspec/changes/$RALPHTOOL_CHANGE/tasks.md\"\n\
         complete() {{ echo '<promise>COMPLETE</promise>'; }}\n\
         tick() {{ sed \"s/- \\[ \\] $1\\./- [x] $1./\" \"$tasks\" > \"$tasks.new\" && mv \"$tasks.new\" \"$tasks\"; }}\n{GOOD}"
    )
}

#[test]
fn a_small_script_is_an_agent_if_it_makes_a_promise() {
    let sandbox = Sandbox::new();
    let model = format!(
        "case $2 in *'Do a'*|*'Do c'*) ;; *) exit 7 ;; esac\n{}",
        work().replace(
            "complete() { echo '<promise>COMPLETE</promise>'; }",
            "complete() { :; }"
        )
    );
    program(&sandbox, "my-model", &model);
    let config = example("A small script");
    sandbox.write("my-agent.sh", &block("A small script", "sh"));
    sandbox.write("ralphtool.toml", &format!("agent = \"mine\"\n{config}"));
    run(&sandbox, &[]).ends_with(0);
    assert_eq!(sandbox.commits().len(), 3);
}

#[test]
fn a_small_script_that_gives_up_fails_its_attempt_with_the_reason() {
    let sandbox = Sandbox::new();
    program(&sandbox, "my-model", "exit 1");
    let config = example("A small script");
    sandbox.write("my-agent.sh", &block("A small script", "sh"));
    let settings = format!("agent = \"mine\"\nmax_retries = 0\n{config}");
    sandbox.write("ralphtool.toml", &settings);
    let told = run(&sandbox, &[]).ends_with(1).stdout;
    assert!(told.contains("my-model gave up"), "{told}");
}

#[test]
fn an_agent_can_read_its_prompt_from_a_file() {
    let sandbox = Sandbox::new();
    let script = format!(
        "test \"$1\" = --message-file || exit 7\n\
         cmp \"$2\" \"$RALPHTOOL_PROMPT\" || exit 8\n\
         grep -q 'Do [ac]' \"$2\" || exit 9\n\
         test -z \"$(cat)\" || exit 10\n{}",
        work()
    );
    program(&sandbox, "aider", &script);
    let config = example("A program that reads its prompt from a file");
    sandbox.write("ralphtool.toml", &format!("agent = \"aider\"\n{config}"));
    run(&sandbox, &[]).ends_with(0);
    assert_eq!(sandbox.commits().len(), 3);
}

#[test]
fn a_command_starts_in_its_folder_with_the_environment_it_was_given() {
    let sandbox = Sandbox::new();
    let script = format!(
        "test \"$(basename \"$PWD\")\" = dir || exit 7; cd ..\n\
         test \"$MINE/$THEIRS/$KEPT\" = '1//k' || exit 8\n\
         test \"$1\" = -mlarge || exit 9\n{}",
        work()
    );
    program(&sandbox, "tool", &script);
    sandbox.write(
        "ralphtool.toml",
        "agent = \"mine\"\n[agents.mine]\ncommand = [\"tool\", \"-m{model}\"]\ncwd = \"dir\"\n\
         model = \"large\"\nenv = { MINE = \"1\", THEIRS = false, KEPT = true }\n",
    );
    run(&sandbox, &[("THEIRS", "t"), ("KEPT", "k")]).ends_with(0);
}

#[test]
fn a_command_with_a_place_for_a_session_gets_an_id_for_each() {
    let sandbox = Sandbox::new();
    let note = sandbox.root.join("noted");
    let script = format!(
        "echo \"$1 $RALPHTOOL_SESSION\" >> {}\n{}",
        note.display(),
        work()
    );
    sandbox.write("mine.sh", &script);
    sandbox.write(
        "ralphtool.toml",
        "agent = \"mine\"\n[agents.mine]\ncommand = [\"sh\", \"mine.sh\", \"{session}\"]\n\
         resume = [\"sh\", \"mine.sh\", \"{session}\"]\n",
    );
    run(&sandbox, &[]).ends_with(0);
    let noted = fs::read_to_string(note).unwrap();
    let ids: Vec<&str> = noted
        .lines()
        .map(|line| {
            let (argument, variable) = line.split_once(' ').unwrap();
            assert_eq!(argument, variable);
            argument
        })
        .collect();
    let [first, second] = ids[..] else {
        panic!("two attempts, not {noted}");
    };
    assert_eq!((first.len(), second.len()), (36, 36), "{noted}");
    assert_ne!(first, second);
}

#[test]
fn every_command_of_an_agent_needs_permission() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "ralphtool.toml",
        "agent = \"mine\"\n[agents.mine]\ncommand = [\"one\", \"{session}\"]\n\
         resume = [\"two\", \"{session}\"]\nreview = [\"three\"]\n",
    );
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command.args(["loop", "c"]).env_remove("RALPHTOOL_TRUST");
    let refused = sandbox.start_command(command).end().ends_with(2).stderr;
    let asked: Vec<&str> = refused
        .lines()
        .filter(|line| line.contains("the agent `mine`"))
        .map(str::trim)
        .collect();
    assert_eq!(
        asked,
        [
            "line 3: the agent `mine` runs: one {session}",
            "line 4: the agent `mine` continues a session with: two {session}",
            "line 5: the agent `mine` reviews with: three",
        ]
    );
}

#[test]
fn a_command_with_missing_requirements_is_refused_before_anything_starts() {
    let refuse = |lines: &str| {
        let sandbox = Sandbox::new();
        program(&sandbox, "tool", "exit 1");
        sandbox.write(
            "ralphtool.toml",
            &format!("agent = \"mine\"\n[agents.mine]\n{lines}"),
        );
        let output = run(&sandbox, &[]).ends_with(2);
        assert_eq!(sandbox.branch(), "main");
        sandbox.neutral(&output.stderr)
    };
    let said = refuse("command = [\"tool\", \"{model}\"]");
    assert!(said.contains("has `{model}`, and there is none"), "{said}");
    let said = refuse("command = [\"tool\"]\ncwd = \"nowhere\"");
    assert!(
        said.contains("`ROOT/repo/nowhere`, which is no folder"),
        "{said}"
    );
    let said = refuse("like = \"claude\"\nwrap = [\"no-such-box\"]");
    assert!(said.contains("needs `no-such-box`"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_agent_in_a_sandbox_can_write_nowhere_else() {
    let mut trial = std::process::Command::new("bwrap");
    trial.args(["--ro-bind", "/", "/", "--unshare-pid", "--", "true"]);
    let is_required = std::env::var_os("RALPHTOOL_REQUIRE_BWRAP").is_some();
    match trial.status() {
        Ok(status) if status.success() => {}
        // It needs user namespaces, which not every kernel or container offers.
        Ok(status) => return eprintln!("skipped: `bwrap` cannot be used here: {status}"),
        Err(error) if is_required => panic!("`bwrap`: {error}"),
        Err(error) => return eprintln!("skipped: `bwrap`: {error}"),
    }
    let sandbox = Sandbox::new();
    let script = "cat > /dev/null\n\
         for place in \"$HOME\" /etc \"$(dirname \"$PWD\")\" \"$XDG_STATE_HOME/ralphtool\"; do\n\
         touch \"$place/escaped\" 2> /dev/null; done\n\
         echo 'a note' >> \"$RALPHTOOL_LEARNINGS\" || exit 8\n\
         git commit -q --allow-empty -m mine || exit 9\n\
         echo session > \"$HOME/.claude/session\" || exit 10\n\
         echo work > \"story-$RALPHTOOL_STORY.txt\"\n\
         text='<promise>COMPLETE</promise>'\n\
         printf '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"%s\"}\\n' \"$text\"\n\
         nohup setsid sleep 300 > /dev/null 2>&1 &";
    program(&sandbox, "claude", script);
    // The home folder of this test is below `/tmp`, which the sandbox hides.
    sandbox.git("config user.name User");
    sandbox.git("config user.email user@example.com");
    fs::create_dir(sandbox.root.join("home/.claude")).unwrap();
    let config = example("A sandbox");
    sandbox.write("ralphtool.toml", &format!("agent = \"boxed\"\n{config}"));
    run(&sandbox, &[]).ends_with(0);
    let commits = sandbox.commits();
    let own = commits.iter().filter(|title| *title == "mine").count();
    assert_eq!((commits.len(), own), (5, 2), "{commits:?}");
    assert!(sandbox.transcript("2.1", "prompt.md").contains("a note"));
    assert!(sandbox.root.join("home/.claude/session").exists());
    let outside = ["home", ".", "state/ralphtool"].map(|it| sandbox.root.join(it));
    for place in outside.into_iter().chain(["/etc".into()]) {
        assert!(!place.join("escaped").exists(), "{}", place.display());
    }
}
