//! One worker's sandbox: the history ran in it once without a kill, with a copy from before each
//! command. The worker kills each command there, recovers, and compares.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Act, History, NONE, act};
use crate::sandbox::{
    KILLED, Kill, Measured, Output, Sandbox, WholeState, commits, line_difference, named_folder,
};

/// A command that recovers and then refuses, because there is no such attempt.
const RECOVER: &str = "attempts restore none";

/// Starts of the program after a kill until all must be as wanted.
const TRIES: usize = 12;

/// The result of a kill.
pub(super) enum Outcome {
    /// The command ended before it.
    PastTheEnd,
    /// The number of kills; everything held.
    Survived(usize),
    /// The number of kills, and what is wrong.
    Violation(usize, String),
}

pub(super) struct Stage {
    history: History,
    sandbox: Sandbox,
    saved: tempfile::TempDir,
    /// Commits that are there from the start.
    known: BTreeSet<String>,
    /// Everything before the first command.
    before: WholeState,
    /// What there was after each command, and what the records said.
    wanted: Vec<(String, Vec<String>)>,
    /// What each command can be killed at.
    pub(super) measured: Vec<Measured>,
}

impl Stage {
    pub(super) fn new(history: &History) -> Self {
        let sandbox = history.sandbox();
        let mut stage = Self {
            history: history.clone(),
            saved: named_folder(),
            known: commits(&sandbox),
            before: WholeState::of(&sandbox),
            sandbox,
            wanted: Vec::new(),
            measured: Vec::new(),
        };
        for (number, act) in history.acts.iter().enumerate() {
            copy(&stage.sandbox.root, &stage.place(number));
            let (output, measured) = stage.sandbox.run_measured(stage.command(act));
            output.ends_with(0);
            stage.measured.push(measured);
            let now = WholeState::of(&stage.sandbox);
            stage
                .wanted
                .push((now.neutral(&stage.sandbox, &stage.known), stage.log_now()));
            if act.line.contains("--abandon") {
                let difference = stage.before.difference(&now, is_ours);
                assert_eq!(difference, "", "everything is as it was");
            }
        }
        stage
    }

    fn place(&self, number: usize) -> PathBuf {
        self.saved.path().join(number.to_string())
    }

    fn command(&self, act: &Act) -> Command {
        let program = std::env::var_os("RALPHTOOL_PROGRAM");
        let program = program.unwrap_or_else(|| env!("CARGO_BIN_EXE_ralphtool").into());
        let mut command = self.sandbox.command(program);
        let failed = self.failed_attempt();
        command.args(act.line.split(' ').map(|word| match word {
            "FAILED" => failed.as_str(),
            word => word,
        }));
        command
    }

    fn run(&self, act: &Act, kill: Option<Kill>) -> Output {
        self.sandbox.run_killed(self.command(act), kill)
    }

    /// Runs one command of the history, killed, and its recoveries too, as often as asked.
    pub(super) fn killed(&self, number: usize, kills: &[Kill]) -> Outcome {
        restore(&self.place(number), &self.sandbox.root);
        let asked = &self.history.acts[number];
        let recover = act(RECOVER, NONE);
        let before = self.effects(asked);
        let mut told = vec![format!("`{}` killed {kills:?}", asked.line)];
        let mut deaths = 0;
        for attempt in 0..TRIES {
            let kill = kills.get(attempt).copied();
            let has_effect = !asked.effect.is_empty() && self.effects(asked) > before;
            let act = if has_effect { &recover } else { asked };
            let output = self.run(act, kill);
            told.push(format!(
                "$ {} -> {}\n{}{}",
                act.line, output.code, output.stdout, output.stderr
            ));
            match (output.code, has_effect) {
                (KILLED, _) => deaths += 1,
                _ if deaths == 0 => return Outcome::PastTheEnd,
                (2, true) | (0, false) => return self.compared(number, deaths, told),
                _ => return Outcome::Violation(deaths, told.join("\n")),
            }
        }
        told.push("it does not come to an end".to_owned());
        Outcome::Violation(deaths, told.join("\n"))
    }

    fn compared(&self, number: usize, deaths: usize, mut told: Vec<String>) -> Outcome {
        let now = WholeState::of(&self.sandbox);
        let (wanted, wanted_log) = &self.wanted[number];
        let mut wrong = line_difference(wanted, &now.neutral(&self.sandbox, &self.known));
        let logs = WholeState {
            text: self.before.text.clone(),
            reflogs: now.reflogs,
        };
        wrong.push_str(&self.before.difference(&logs, is_ours));
        let log = self.log_now();
        if log != *wanted_log {
            let _ = writeln!(wrong, "the record: {log:#?}\ninstead of {wanted_log:#?}");
        }
        if wrong.is_empty() {
            return Outcome::Survived(deaths);
        }
        told.push(wrong);
        Outcome::Violation(deaths, told.join("\n"))
    }

    /// The whole lines of the journal; a torn one is none.
    fn journal(&self) -> Vec<String> {
        let vault = self.sandbox.root.join("state/ralphtool");
        let found = fs::read_dir(&vault).ok().and_then(|mut it| it.next());
        let journal = found.map(|entry| entry.unwrap().path().join("journal"));
        let bytes = journal.and_then(|path| fs::read(path).ok());
        let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
        let whole = text.split_inclusive('\n').filter(|it| it.ends_with('\n'));
        whole.map(str::to_owned).collect()
    }

    /// How often the journal shows the effect of a command.
    fn effects(&self, act: &Act) -> usize {
        let lines = self.journal();
        let shows = |line: &&String| act.effect.iter().any(|step| line.contains(step));
        lines.iter().filter(shows).count()
    }

    /// The first attempt that failed by itself; a kill may give it another number.
    fn failed_attempt(&self) -> String {
        let lines = self.journal();
        let parked = lines.iter().find(|line| {
            line.contains("\"step\":\"parked\"") && line.contains("\"kind\":\"failed\"")
        });
        let label = parked.and_then(|line| {
            let json: serde_json::Value = serde_json::from_str(line.get(9..)?).ok()?;
            Some(json["label"].as_str()?.to_owned())
        });
        label.unwrap_or_default()
    }

    /// What the records say of stories, failures and finishes, interruptions left out.
    fn log_now(&self) -> Vec<String> {
        let mut log = Vec::new();
        for run in self.sandbox.runs() {
            let text = fs::read_to_string(run.join("events.jsonl")).unwrap();
            for line in text.lines() {
                let event: serde_json::Value = serde_json::from_str(line).unwrap();
                let get = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
                match get("event").as_str() {
                    "attempt_failed" if get("kind") != "interrupted" => log.push(format!(
                        "{} {} {}",
                        get("story"),
                        get("kind"),
                        get("reason")
                    )),
                    "story_completed" => log.push(format!("{} done", get("story"))),
                    "finished" => log.push(format!("{} {}", get("choice"), get("head"))),
                    _ => {}
                }
            }
        }
        log
    }

    /// Leaves everything where it is, for people to look at.
    pub(super) fn keep(self) -> PathBuf {
        self.sandbox.keep()
    }
}

/// Entries that a run may add to a reflog: those of ralphtool and of the agent's own git.
fn is_ours(line: &str) -> bool {
    line.contains("\tralphtool: ") || line.contains(" a <a@a> ")
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(status.unwrap().success());
}

/// Restores a copy at the path it was made from.
fn restore(saved: &Path, root: &Path) {
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }
    let status = Command::new("cp")
        .args(["-a", "-T"])
        .arg(saved)
        .arg(root)
        .status();
    assert!(status.unwrap().success());
}
