//! The demo from outside: what it leaves, and that it writes only to its own folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::terminal::{Key, Terminal};
use crate::tui::stage::leaves_by;
use pretty_assertions::assert_eq;
use tempfile::TempDir;

/// A user with a home of its own, separate from the real one, which is removed at the end.
struct World {
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "tmp", "config", "data", "state", "cache"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_DATA_HOME", self.path("data"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .current_dir(self.path("home"))
            .stdin(Stdio::null());
        command
    }

    fn ralphtool(&self, args: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_ralphtool"));
        command.args(args);
        command
    }

    fn git(&self, repository: &Path, args: &[&str]) -> String {
        let output = self
            .command("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@localhost"])
            .arg("-C")
            .arg(repository)
            .args(args)
            .output()
            .unwrap();
        text(&ok(output).stdout)
    }

    /// The one folder the demo made.
    fn demo_folder(&self) -> PathBuf {
        let mut found = fs::read_dir(self.path("tmp")).unwrap();
        let folder = found.next().unwrap().unwrap().path();
        assert!(found.next().is_none(), "more than one folder in TMPDIR");
        folder
    }

    /// Every path outside the folders for temporary files and for state.
    fn listing(&self) -> BTreeSet<PathBuf> {
        let mut folders = vec![self.folder.path().to_owned()];
        let mut found = BTreeSet::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let is_own = [self.path("tmp"), self.path("state")].contains(&path);
                if path.is_dir() && !is_own {
                    folders.push(path.clone());
                }
                found.insert(path);
            }
        }
        found
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[track_caller]
fn ok(output: Output) -> Output {
    assert_eq!(
        (output.status.code(), text(&output.stderr)),
        (Some(0), String::new()),
        "{}",
        text(&output.stdout)
    );
    output
}

#[test]
fn the_demo_leaves_one_commit_per_story_and_parks_the_failed_attempt() {
    let world = World::new();
    let said = text(&ok(world.ralphtool(&["demo"]).output().unwrap()).stdout);
    let folder = world.demo_folder();
    let repository = folder.join("greeter");
    let subjects = world.git(
        &repository,
        &[
            "log",
            "--reverse",
            "--format=%s",
            "main..ralph/friendly-greeting",
        ],
    );
    assert_eq!(
        subjects,
        "initial state\ncheckpoint: 1\ncheckpoint: 2\ncheckpoint: 3\n"
    );
    assert_eq!(
        world.git(&repository, &["status", "--short", "--branch"]),
        "## ralph/friendly-greeting\n"
    );
    let read = |name: &str| fs::read_to_string(repository.join(name)).unwrap();
    assert!(!repository.join("debug.log").exists());
    assert_eq!(read("ideas.txt"), "Greet pets, too?\n");
    assert!(read("README.md").contains("ask Grace"));
    assert!(!read("openspec/changes/friendly-greeting/tasks.md").contains("[ ]"));

    let print = |args: &[&str]| {
        let mut command = world.ralphtool(args);
        text(&ok(command.current_dir(&repository).output().unwrap()).stdout)
    };
    let diff = print(&["attempts", "diff", "2.1"]);
    for name in ["debug.log", "greet.sh", "ideas.txt"] {
        let head = format!("diff --git a/{name} b/{name}\n");
        assert!(diff.contains(&head), "{name} is not in {diff}");
    }
    for wanted in [
        "checkpoint: 3",
        "committed WIP: languages",
        "ideas.txt your untracked file is still there, though an attempt deleted it",
        "attempts diff 2.1",
        "rm -rf ",
    ] {
        assert!(said.contains(wanted), "`{wanted}` is not in {said}");
    }
    // The attempt that goes wrong commits on its own, which nothing has to be done about.
    assert!(!said.contains("warning"), "{said}");
    let notes: Vec<&str> = said
        .lines()
        .filter_map(|it| Some(it.split_once("note: ")?.1))
        .collect();
    let note = "the agent committed in attempt 2.1: undone with the attempt, and saved with it";
    assert_eq!(notes, [note]);
}

#[test]
fn in_the_folder_of_the_demo_every_command_finds_the_run() {
    let world = World::new();
    ok(world.ralphtool(&["demo"]).output().unwrap());
    let repository = world.demo_folder().join("greeter");
    let print = |line: &str| {
        let mut command = world.ralphtool(&line.split(' ').collect::<Vec<_>>());
        text(&ok(command.current_dir(&repository).output().unwrap()).stdout)
    };
    let branch = || world.git(&repository, &["branch", "--show-current"]);
    for (line, wanted) in [
        ("log last", "friendly-greeting"),
        ("status", "3 of 3"),
        ("attempts", "2.1"),
        ("attempts show 2.1", "greet.sh does not parse"),
        ("attempts show 2.1", "git cherry-pick "),
        (
            "attempts transcript 1.1",
            "writing greet.sh: it takes a name",
        ),
        ("attempts transcript 2.1", "deleting ideas.txt"),
        ("attempts transcript 2.1 --json", "{\"type\":\"text\""),
        ("finish --cleanup", "main"),
    ] {
        let said = print(line);
        assert!(said.contains(wanted), "`{wanted}` is not in {said}");
    }
    assert_eq!(branch(), "main\n");
    let nothing = world
        .ralphtool(&["attempts", "transcript", "9.9"])
        .current_dir(&repository)
        .output()
        .unwrap();
    assert_eq!(nothing.status.code(), Some(2));
    assert!(text(&nothing.stderr).contains("found no attempt `9.9`"));
    print("undo");
    assert_eq!(branch(), "ralph/friendly-greeting\n");
}

#[test]
fn the_demo_and_its_vault_can_be_removed() {
    let world = World::new();
    let said = text(&ok(world.ralphtool(&["demo"]).output().unwrap()).stdout);
    let (_, line) = said.split_once("to remove the demo\n").unwrap();
    let mut shell = world.command("sh");
    ok(shell.args(["-c", line]).output().unwrap());
    assert_eq!(fs::read_dir(world.path("tmp")).unwrap().count(), 0);
    let vaults = fs::read_dir(world.path("state").join("ralphtool")).unwrap();
    let left: Vec<_> = vaults.map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["trusted"]);
}

#[test]
fn on_a_terminal_the_demo_opens_the_screen_and_its_last_words_fit_into_24_rows() {
    let world = World::new();
    let mut command = world.ralphtool(&["demo"]);
    command.env("TERM", "xterm-256color");
    let mut terminal = Terminal::start(&command, 24, 120);
    terminal.waits_for("Greet by name");
    // From here on the agent no longer waits.
    fs::remove_file(world.demo_folder().join("paced")).unwrap();
    terminal.waits_for("all stories are done");
    leaves_by(&mut terminal, Key::Char('q'), 0);
    let shown = terminal.screen();
    let places = [
        "`friendly-greeting`: all stories are done",
        "attempt 2.1 failed: its changes were undone and saved",
        "your own work is still there, though an attempt deleted ideas.txt",
        "\nnext",
        "cd ",
        "ralphtool log last",
        "ralphtool attempts show 2.1",
        "ralphtool finish --cleanup",
        "ralphtool undo",
        "rm -rf ",
    ]
    .map(|wanted| {
        shown
            .find(wanted)
            .unwrap_or_else(|| panic!("no `{wanted}` in {shown}"))
    });
    assert!(places.is_sorted(), "{shown}");
    // One list of commands, and nothing of it runs outside of the folder.
    assert!(!shown.contains("git log"), "{shown}");
    assert_eq!(shown.matches("\nnext").count(), 1, "{shown}");
}

#[test]
fn on_a_terminal_the_demo_prints_a_log_if_asked_to() {
    let world = World::new();
    let mut command = world.ralphtool(&["demo", "--no-tui"]);
    command.env("TERM", "xterm-256color");
    let mut terminal = Terminal::start(&command, 60, 160);
    assert_eq!(terminal.end(), 0);
    assert!(!terminal.is_alternate());
    assert!(!String::from_utf8_lossy(&terminal.bytes()).contains("\u{1b}[?1049h"));
    terminal.waits_for("attempts show 2.1");
}

#[test]
fn the_second_attempt_knows_what_the_first_one_learned() {
    let world = World::new();
    ok(world.ralphtool(&["demo"]).output().unwrap());
    let said = world
        .ralphtool(&["attempts", "show", "2.1", "--json"])
        .current_dir(world.demo_folder().join("greeter"))
        .output()
        .unwrap();
    let said: serde_json::Value = serde_json::from_slice(&ok(said).stdout).unwrap();
    let first = PathBuf::from(said["transcript"].as_str().unwrap());
    let prompt = fs::read_to_string(first.with_file_name("2.2").join("prompt.md")).unwrap();
    assert!(prompt.contains("## Previous Attempt Failed"), "{prompt}");
    assert!(prompt.contains("its `case` is never closed"), "{prompt}");
    assert!(prompt.contains("`sh checks.sh` shows it"), "{prompt}");
}

#[test]
fn the_demo_writes_nothing_outside_its_folder_and_its_vault() {
    let world = World::new();
    let before = world.listing();
    ok(world.ralphtool(&["demo", "-v"]).output().unwrap());
    assert_eq!(world.listing(), before);
}

#[test]
fn the_demo_ignores_the_users_configuration() {
    let world = World::new();
    let config = world.path("config").join("ralphtool");
    fs::create_dir(&config).unwrap();
    fs::write(config.join("config.toml"), "agent = \"missing\"\n").unwrap();
    fs::write(
        world.path("home").join(".gitconfig"),
        "[commit]\n\tgpgSign = true\n[core]\n\thooksPath = /nowhere\n[init]\n\tdefaultBranch = trunk\n",
    )
    .unwrap();
    let output = world
        .ralphtool(&["demo"])
        .env("RALPHTOOL_MAX_RETRIES", "0")
        .env("GIT_DIR", "/nowhere")
        .output()
        .unwrap();
    ok(output);
}

#[test]
fn without_git_the_demo_is_refused_and_leaves_nothing() {
    let world = World::new();
    let output = world
        .ralphtool(&["demo"])
        .env("PATH", world.path("home"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("the demo needs `git`"));
    assert_eq!(fs::read_dir(world.path("tmp")).unwrap().count(), 0);
}

#[test]
fn the_demo_agent_writes_one_line_per_story_on_any_other_change() {
    let world = World::new();
    let repository = world.path("home").join("project");
    let change = repository.join("openspec/changes/add-x");
    fs::create_dir_all(&change).unwrap();
    let tasks = "## 1. One\n\n- [ ] 1.1 Do it\n\n## 2. Two\n\n- [ ] 2.1 Do that\n";
    fs::write(change.join("tasks.md"), tasks).unwrap();
    world.git(&repository, &["init", "-q", "-b", "main"]);
    world.git(&repository, &["add", "."]);
    world.git(&repository, &["commit", "-q", "-m", "first"]);
    let output = world
        .ralphtool(&["loop", "add-x", "--agent", "demo", "-q"])
        .current_dir(&repository)
        .output()
        .unwrap();
    let said = text(&ok(output).stdout);
    assert!(!said.contains("warning"), "{said}");
    assert_eq!(
        fs::read_to_string(repository.join("DEMO.md")).unwrap(),
        "- story 1 of `add-x`\n- story 2 of `add-x`\n"
    );
    assert_eq!(
        fs::read_to_string(change.join("tasks.md")).unwrap(),
        tasks.replace("[ ]", "[x]")
    );
}

/// A line of a log without what differs from run to run: ids and durations.
fn neutral(line: &str) -> String {
    let is_hash = |word: &str| word.len() == 10 && word.chars().all(|c| c.is_ascii_hexdigit());
    let is_run = |word: &str| word.len() == 20 && word.starts_with("20");
    let is_time = |word: &str| {
        let number = word.strip_suffix('s').filter(|it| !it.is_empty());
        number.is_some_and(|it| it.chars().all(|c| c.is_ascii_digit() || c == '.'))
    };
    let words = line.split(' ').map(|word| match word {
        word if is_hash(word) => "HASH",
        word if is_run(word) => "RUN",
        word if is_time(word) => "TIME",
        word => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_log_in_the_readme_is_what_the_demo_prints() {
    let world = World::new();
    let said = text(&ok(world.ralphtool(&["demo", "--no-tui"]).output().unwrap()).stdout);
    // Each line of the log begins with its time.
    let printed = said.lines().map(|line| match line.split_once("Z ") {
        Some((time, rest)) if time.starts_with("20") => neutral(rest),
        _ => neutral(line),
    });
    let mut printed = printed.collect::<Vec<_>>().into_iter();
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let (_, sample) = readme.split_once("```text\n").unwrap();
    let (sample, _) = sample.split_once("```").unwrap();
    let mut may_skip = false;
    for line in sample.lines() {
        if line == "…" {
            may_skip = true;
            continue;
        }
        let line = neutral(line);
        if may_skip || line.starts_with("run ") {
            assert!(printed.any(|it| it == line), "`{line}` is not in {said}");
        } else {
            assert_eq!(printed.next(), Some(line), "{said}");
        }
        may_skip = false;
    }
}

#[test]
fn the_demo_agent_refuses_to_run_by_hand() {
    let output = World::new().ralphtool(&["__demo-agent"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("error: "));
}
