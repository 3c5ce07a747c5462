//! One cut: what is left of the disk is mounted as after a restart of the machine, the user starts
//! the program again, the history continues to its end, and the result is compared.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::cut::{Cut, Event};
use super::ended::ended_state;
use super::history::{ACTS, Act, RECOVER, journal};
use super::place::{Place, run};
use super::record::{Reference, program};
use crate::sandbox::{Output, Running, Sandbox, WholeState, line_difference};

/// No command takes longer: the program must not hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// The last lines of a journal after which there is nothing to recover.
const AT_REST: [&str; 8] = [
    "begun",
    "begin_taken_back",
    "restored",
    "saved",
    "kept",
    "moved",
    "move_given_up",
    "reopened",
];

/// Tries cuts of one recording, one after the other.
pub(crate) struct Trial<'a> {
    pub(crate) place: &'a Place,
    pub(crate) reference: &'a Reference,
    pub(crate) log: &'a [Event],
    /// A name of its own, for the image.
    pub(crate) worker: usize,
}

impl Trial<'_> {
    /// Checks a cut in a command of the history; what is wrong where it does not hold.
    pub(crate) fn check(&self, cut: &Cut, act: usize) -> Result<(), String> {
        self.on_what_is_left(cut, |sandbox| self.carry_on(sandbox, cut, act))?;
        if !ACTS[act].may_be_abandoned {
            return Ok(());
        }
        self.on_what_is_left(cut, |sandbox| self.abandon(sandbox, act))
    }

    fn image(&self) -> PathBuf {
        self.place.beside(&format!("cut.{}", self.worker))
    }

    /// Writes what a cut left to a file, for inspection.
    pub(crate) fn keep(&self, cut: &Cut, kept: &Path) {
        let copied = fs::copy(&self.reference.base, kept);
        let _ = copied.and_then(|_| cut.apply(self.log, kept));
    }

    fn on_what_is_left(
        &self,
        cut: &Cut,
        check: impl FnOnce(&Sandbox) -> Result<(), String>,
    ) -> Result<(), String> {
        let image = self.image();
        let mut copy = Command::new("cp");
        copy.arg("--sparse=always").arg(&self.reference.base);
        run(copy.arg(&image))?;
        cut.apply(self.log, &image)
            .map_err(|error| error.to_string())?;
        // As a machine does when it starts: replay the journal of the file system, repair the rest.
        let _ = Command::new("e2fsck").arg("-p").arg(&image).output();
        let mounted = self.place.mount(&image)?;
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            check(&Sandbox::on(&self.place.top()))
        }));
        drop(mounted);
        checked.unwrap_or_else(|panic| {
            let words = panic.downcast_ref::<String>().cloned();
            Err(words.unwrap_or_else(|| "a check panicked".to_owned()))
        })
    }

    /// Starts the program on what is left, as the user would, and carries the history on.
    fn carry_on(&self, sandbox: &Sandbox, cut: &Cut, cut_act: usize) -> Result<(), String> {
        let mut account = Account::default();
        let before = &self.log[..cut.at.min(self.log.len())];
        if !ACTS[cut_act].is_repeatable() {
            self.check_ended(sandbox, before, &mut account)?;
        }
        let last = journal(sandbox).pop();
        let last = last.map(|step| step["step"].as_str().unwrap_or_default().to_owned());
        account.add(&format!("the journal ends with {last:?}"));
        let must_recover = last.is_some_and(|step| !AT_REST.contains(&step.as_str()));

        let mut number = cut_act;
        let mut effects = self.reference.effects[cut_act];
        let mut is_settled = false;
        let mut is_first = true;
        while number < ACTS.len() {
            let act = &ACTS[number];
            if act.is_repeatable() && is_settled || act.effects(sandbox) > effects {
                if is_settled {
                    self.compare(sandbox, number, &mut account)?;
                }
                number += 1;
                effects = ACTS.get(number).map_or(0, |act| act.effects(sandbox));
                is_settled = false;
                continue;
            }
            // What can be run again does not recover; the user runs another command first.
            let act = if is_first && act.is_repeatable() {
                &RECOVER
            } else {
                act
            };
            let output = self.start(sandbox, act, &mut account)?;
            is_settled = act.line != RECOVER.line;
            if std::mem::take(&mut is_first) {
                account.demand(
                    !must_recover || said(&output).contains("recovered"),
                    "the first start does not say what it found",
                )?;
                check_announced(sandbox, before, cut_act, &mut account)?;
            }
        }
        check_objects(sandbox, &mut account)
    }

    /// Runs one command, which must succeed.
    fn start(&self, sandbox: &Sandbox, act: &Act, account: &mut Account) -> Result<Output, String> {
        let args = act.args(sandbox);
        let mut command = program(sandbox);
        command.args(&args);
        let output = Running::start(command, &self.place.beside("")).end_within(PATIENCE);
        account.add(&format!("$ ralphtool {}", args.join(" ")));
        account.add(&said(&output));
        let is_expected = output.code == 0 || act.line == RECOVER.line;
        account.demand(is_expected, &format!("exit code {}", output.code))?;
        Ok(output)
    }

    /// What ended with success before the cut is in the journal, which only `gc` shortens.
    fn check_ended(
        &self,
        sandbox: &Sandbox,
        before: &[Event],
        account: &mut Account,
    ) -> Result<(), String> {
        for event in before {
            if let Event::Ends { act } = event
                && !ACTS[*act].is_repeatable()
            {
                let is_there = ACTS[*act].effects(sandbox) > self.reference.effects[*act];
                let line = ACTS[*act].line;
                account.demand(is_there, &format!("`{line}` had ended and is lost"))?;
            }
        }
        Ok(())
    }

    fn compare(
        &self,
        sandbox: &Sandbox,
        number: usize,
        account: &mut Account,
    ) -> Result<(), String> {
        let now = ended_state(sandbox);
        let text = line_difference(
            &self.reference.ended[number],
            &without_agents(sandbox, &now),
        );
        let line = ACTS[number].line;
        account.demand(text.is_empty(), &format!("after `{line}`:\n{text}"))
    }

    /// Goes back to where the run began, right after the cut.
    fn abandon(&self, sandbox: &Sandbox, act: usize) -> Result<(), String> {
        let mut account = Account::default();
        let args = ["finish", "--abandon"];
        let mut command = program(sandbox);
        command.args(args);
        let output = Running::start(command, &self.place.beside("")).end_within(PATIENCE);
        account.add(&format!("$ ralphtool {}", args.join(" ")));
        account.add(&said(&output));
        // A run that had not begun leaves nothing to abandon.
        let never_begun = act == 0 && said(&output).contains("there is no run");
        let is_expected = output.code == 0 || never_begun;
        account.demand(is_expected, &format!("exit code {}", output.code))?;
        let mut now = WholeState::of(sandbox);
        now.text = without_agents(sandbox, &now.text);
        let text = self.reference.before.difference(&now, |_| true);
        account.demand(text.is_empty(), &format!("abandoned, but:\n{text}"))?;
        if never_begun {
            // The store may be half made; the next run makes it whole, which the history checks.
            return Ok(());
        }
        check_objects(sandbox, &mut account)
    }
}

/// Stories that were announced before the cut, in the command that was cut, are on the branch.
fn check_announced(
    sandbox: &Sandbox,
    before: &[Event],
    act: usize,
    account: &mut Account,
) -> Result<(), String> {
    if !ACTS[act].line.contains("--on-finish keep") {
        return Ok(());
    }
    let is_start = |event: &Event| matches!(event, Event::Starts { act: it } if *it == act);
    let start = before.iter().rposition(is_start).unwrap_or(0);
    for event in &before[start..] {
        if let Event::Announced { commit } = event {
            let mut command = sandbox.command("git");
            let is_home = !sandbox.git("branch --list ralph/c").contains("ralph/c");
            if is_home {
                // The run was complete: the first start took the work home, and kept the branch.
                let store = sandbox.vault().join("store");
                command.arg("--git-dir").arg(store);
                command.args(["rev-list", "--quiet", commit]);
            } else {
                command.args(["merge-base", "--is-ancestor", commit, "ralph/c"]);
            }
            let found = run(&mut command);
            let words = format!("announced, and not on the branch: {commit}: {found:?}");
            account.demand(found.is_ok(), &words)?;
        }
    }
    Ok(())
}

fn said(output: &Output) -> String {
    format!("{}{}", output.stdout, output.stderr)
}

/// Git finds nothing wrong with the repository, nor with the store of the vault.
fn check_objects(sandbox: &Sandbox, account: &mut Account) -> Result<(), String> {
    let mut folders = vec![sandbox.repo.join(".git")];
    let vaults = sandbox.root.join("state/ralphtool");
    for vault in fs::read_dir(vaults).into_iter().flatten().flatten() {
        let store = vault.path().join("store");
        folders.extend(store.join("objects").is_dir().then_some(store));
    }
    for folder in folders {
        let mut command = sandbox.command("git");
        command.arg("--git-dir").arg(&folder);
        command.args(["fsck", "--full", "--no-dangling", "--no-progress"]);
        let found = run(&mut command).err().unwrap_or_default();
        let faults: Vec<&str> = found.lines().skip(1).collect();
        let faults = without_agents(sandbox, &faults.join("\n"));
        let words = format!("git fsck of {}:\n{faults}", folder.display());
        account.demand(faults.is_empty(), &words)?;
    }
    Ok(())
}

/// What git says, without the one thing that is lost with the agent's own writes: git appends to the
/// log of HEAD and of the branch, and syncs neither the log nor the commit. After a cut in an attempt
/// the log may name a commit of the agent's that is gone. It is undone anyway; every commit of the
/// program's own is in the journal.
fn without_agents(sandbox: &Sandbox, text: &str) -> String {
    let known: Vec<String> = journal(sandbox).iter().map(Value::to_string).collect();
    let is_agents = |line: &str| {
        let log = line.split_once(": invalid reflog entry ");
        log.is_some_and(|(_, id)| !known.iter().any(|step| step.contains(id)))
    };
    let kept: Vec<&str> = text.lines().filter(|line| !is_agents(line)).collect();
    kept.join("\n")
}

/// What was done and said, for people who look into a violation.
#[derive(Default)]
struct Account(String);

impl Account {
    fn add(&mut self, text: &str) {
        let _ = writeln!(self.0, "{}", text.trim_end());
    }

    fn demand(&mut self, holds: bool, otherwise: &str) -> Result<(), String> {
        if holds {
            return Ok(());
        }
        self.add(&format!("VIOLATION: {otherwise}"));
        Err(std::mem::take(&mut self.0))
    }
}
