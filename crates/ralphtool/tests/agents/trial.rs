//! One agent in one repository with one scripted model.

use std::process::Command;
use std::time::Duration;

use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::bench::cli::{Account, Cli, search_path};
use crate::bench::script::{Step, call, complete, run, write};
use crate::bench::{Script, Server};
use crate::gate::Room;
use crate::sandbox::{Output, Running, Sandbox};

/// What only the prompt of the first story says.
pub(crate) const FIRST: &str = "story 1 (";
/// What only the prompt of the second story says.
pub(crate) const SECOND: &str = "story 2 (";

/// One story of one task.
pub(crate) const ONE_STORY: &str = "## 1. First\n- [ ] 1.1 Do a\n";

/// No run takes longer, however loaded the machine is.
const PATIENCE: Duration = Duration::from_secs(180);

/// Everything one test needs.
pub(crate) struct Trial {
    team: Vec<Cli>,
    /// The repository.
    pub(crate) sandbox: Sandbox,
    /// The model.
    pub(crate) server: Server,
    variables: Vec<(&'static str, String)>,
    _room: Room,
}

impl Trial {
    /// A repository with a change of these tasks, an agent, and a model that plays these scripts.
    pub(crate) fn new(cli: Cli, tasks: &str, scripts: Vec<Script>) -> Self {
        Self::with_account(cli, Account::Key, tasks, scripts)
    }

    /// The same for an account.
    pub(crate) fn with_account(
        cli: Cli,
        account: Account,
        tasks: &str,
        scripts: Vec<Script>,
    ) -> Self {
        Self::team(&[cli], account, tasks, scripts)
    }

    /// The same with several agents, the preferred one first.
    pub(crate) fn team(team: &[Cli], account: Account, tasks: &str, scripts: Vec<Script>) -> Self {
        let room = Room::wait_for(team);
        let sandbox = Sandbox::new();
        let server = Server::start(scripts);
        sandbox.tasks(tasks);
        let names: Vec<&str> = team.iter().map(|cli| cli.name()).collect();
        let config = format!("agent = {names:?}\nlimit_pause = \"1s\"\n");
        sandbox.write("ralphtool.toml", &config);
        sandbox.git("commit -q -a -m second");
        let settle = |cli: &Cli| cli.settle(&sandbox.root, &server.url(), account);
        let variables = team.iter().flat_map(settle).collect();
        Self {
            team: team.to_vec(),
            sandbox,
            server,
            variables,
            _room: room,
        }
    }

    /// Adds tables to the settings.
    pub(crate) fn add_settings(&self, tables: &str) {
        let settings = self.sandbox.read("ralphtool.toml");
        let settings = format!("{settings}{tables}");
        self.sandbox.write("ralphtool.toml", &settings);
        self.sandbox.git("commit -q -a -m settings");
    }

    /// Adds a variable to what the user has set.
    pub(crate) fn set(&mut self, name: &'static str, value: &str) {
        self.variables.push((name, value.to_owned()));
    }

    /// Starts ralphtool.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        let mut command = self.sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
        self.furnish(&mut command);
        command.args(args);
        self.sandbox.start_command(command)
    }

    /// Runs ralphtool to its end, which must have this exit code.
    #[track_caller]
    pub(crate) fn run(&self, args: &[&str], code: i32) -> Output {
        self.end(self.start(args), code)
    }

    /// Waits for the end of ralphtool, which must have this exit code.
    #[track_caller]
    pub(crate) fn end(&self, running: Running, code: i32) -> Output {
        let output = running.end_within(PATIENCE);
        let served = self.server.served();
        let calls: Vec<_> = served
            .iter()
            .map(|served| (&served.word, served.attempt, served.round, served.step))
            .collect();
        assert_eq!(
            output.code, code,
            "{}\n{}\n{calls:?}",
            output.stdout, output.stderr
        );
        output
    }

    fn furnish(&self, command: &mut Command) {
        command.env("PATH", search_path(&self.team));
        for (name, value) in &self.variables {
            command.env(name, value);
        }
    }

    /// Programs and arguments of the processes that were started in this sandbox.
    pub(crate) fn processes(&self) -> Vec<String> {
        self.found().into_iter().map(|(_, line)| line).collect()
    }

    /// The processes whose environment names the sandbox, as does that of every process started in
    /// it. Zombies have no environment.
    fn found(&self) -> Vec<(Pid, String)> {
        let root = self.sandbox.root.display().to_string();
        let ours = |entry: std::fs::DirEntry| {
            let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
            let text = |name: &str| {
                let bytes = std::fs::read(entry.path().join(name)).ok()?;
                Some(String::from_utf8_lossy(&bytes).replace('\0', " "))
            };
            let is_ours = text("environ")?.contains(&root);
            is_ours.then(|| Some((pid, text("cmdline")?)))?
        };
        // Without this file system nothing is found, and nothing is claimed.
        let all = std::fs::read_dir("/proc").into_iter().flatten();
        all.filter_map(|entry| ours(entry.ok()?)).collect()
    }

    /// The events that say how the story went, with what failed.
    pub(crate) fn course(&self) -> Vec<String> {
        let told = |event: &Value| match event["event"].as_str()? {
            name @ ("attempt_failed" | "repair_started") => {
                Some(format!("{name}: {}", event["kind"].as_str()?))
            }
            name @ ("attempt_started" | "attempt_continued" | "waiting" | "story_completed") => {
                Some(name.to_owned())
            }
            _ => None,
        };
        self.sandbox.events().iter().filter_map(told).collect()
    }

    /// What the story used, as it was recorded, is what the model was asked and answered.
    #[track_caller]
    pub(crate) fn every_token_counts_once(&self) {
        let completed = self.sandbox.events_named("story_completed");
        let usage = &completed[0]["usage"];
        let (input, output) = self.server.tokens();
        assert_eq!(
            (&usage["input_tokens"], &usage["output_tokens"]),
            (&json!(input), &json!(output))
        );
    }

    /// The first story is done, and nothing but it.
    #[track_caller]
    pub(crate) fn one_story_is_done(&self) {
        let sandbox = &self.sandbox;
        assert_eq!(sandbox.commits(), ["initial state", "checkpoint: 1"]);
        assert_eq!(sandbox.read("story-1.txt"), "work\n");
        assert_eq!(sandbox.tasks_now(), ONE_STORY.replace("[ ]", "[x]"));
        let changed = sandbox.git("diff --name-only main ralph/c");
        assert_eq!(changed, "openspec/changes/c/tasks.md\nstory-1.txt\n");
        assert_eq!(sandbox.git("status --porcelain"), "");
    }
}

impl Drop for Trial {
    /// A test that failed half way leaves nothing running either.
    fn drop(&mut self) {
        for (pid, _) in self.found() {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// The steps that do the first story.
pub(crate) fn good() -> Vec<Step> {
    vec![call(write("story-1.txt", "work\n")), complete()]
}

/// A command that ticks the boxes of a story.
pub(crate) fn tick(story: u32) -> String {
    format!("perl -pi -e 's/- \\[ \\] {story}\\./- [x] {story}./' openspec/changes/c/tasks.md")
}

/// The step that leaves something behind which must not stay.
pub(crate) fn mess() -> Step {
    crate::bench::script::calls([write("junk.txt", "junk\n"), run("echo changed >> a.txt")])
}
