//! One repository in which a random history happens, and everything that must hold in it after
//! every step: nothing that was written is lost, nothing is half done, "done" is true, and what is
//! undone is restored exactly.

#![allow(dead_code, unused_imports, reason = "no file of tests uses all of it")]

mod agent;
mod steps;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::recoverable::{Found, unsound, vaults};
use crate::sandbox::{KILLED, Kill as Killed, Output, Sandbox, everything};
pub(crate) use steps::{Choice, Command, Deed, Kill, Step, UserAct, soak_step, step};
use steps::{Ending, FILES};

/// What the command is called in the tally that recovers from a kill.
const RECOVERY: &str = "recovery";

/// How commands are killed.
#[derive(Debug, Clone, Default)]
pub(crate) enum Killing {
    /// By themselves at the n-th point, which just a debug build can do.
    #[default]
    AtPoints,
    /// From outside after some time, with everything they started; the lengths of commands so far.
    AtTimes(BTreeMap<&'static str, Duration>),
}

/// What has been done.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tally {
    /// Steps of all kinds.
    pub(crate) steps: usize,
    /// Starts of the program.
    pub(crate) runs: usize,
    /// Of these, how many were killed.
    pub(crate) kills: usize,
}

/// What the journal has counted: the effects of commands.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Effects {
    begun: usize,
    taken_back: usize,
    attempts: usize,
    moved: usize,
    kept: usize,
    reopened: usize,
    given_up: usize,
    /// The run that began last.
    last_begun: String,
    /// The run that was moved last.
    last_moved: String,
}

impl Effects {
    /// How often the vault saved everything in the work tree.
    fn saves(&self) -> usize {
        self.begun + self.attempts + self.moved
    }
}

/// Whether a history can continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Going {
    On,
    /// An agent removed the git directory and the program was killed: a repository that is not
    /// there is not made again without being asked to.
    Over,
}

/// A repository with a history.
pub(crate) struct World {
    pub(crate) sandbox: Sandbox,
    /// What happened, as lines to print.
    pub(crate) history: Vec<String>,
    pub(crate) tally: Tally,
    /// Kills by command.
    pub(crate) kills: BTreeMap<&'static str, usize>,
    killing: Killing,
    written: usize,
    /// Tokens that must be somewhere.
    live: BTreeSet<String>,
    /// Tokens that must be in the vault.
    pledged: BTreeSet<String>,
    /// Tokens of which a begin that was killed may have left copies that no run needs.
    unneeded: BTreeSet<String>,
    /// What the user had when each run began.
    began: BTreeMap<String, String>,
    /// States that undo leads back to, the last first to go; unknown where a loop ended in a move.
    undoable: Vec<Option<String>>,
    /// The user stashed something since the last run began.
    stashed: bool,
    /// Work of earlier stories may be missing: an agent removed it and its promise was believed, or
    /// an attempt was restored.
    may_miss_work: bool,
    over: bool,
}

impl World {
    pub(crate) fn new(killing: Killing) -> Self {
        Self::within(Sandbox::on_disk(), killing)
    }

    /// In a repository that has everything a repository can have.
    pub(crate) fn rich(killing: Killing) -> Self {
        let sandbox = Sandbox::named();
        sandbox.make_rich();
        Self::within(sandbox, killing)
    }

    fn within(sandbox: Sandbox, killing: Killing) -> Self {
        // The numbering of agents' tokens continues over all commands.
        fs::write(sandbox.root.join("written"), "").unwrap();
        Self {
            sandbox,
            history: Vec::new(),
            tally: Tally::default(),
            kills: BTreeMap::new(),
            killing,
            written: 0,
            live: BTreeSet::new(),
            pledged: BTreeSet::new(),
            unneeded: BTreeSet::new(),
            began: BTreeMap::new(),
            undoable: Vec::new(),
            stashed: false,
            may_miss_work: false,
            over: false,
        }
    }

    /// Lengths of commands, for the next world.
    pub(crate) fn into_killing(self) -> Killing {
        self.killing
    }

    /// Leaves the folder with everything in it for people to look at.
    pub(crate) fn keep(self) -> (PathBuf, Killing) {
        (self.sandbox.keep(), self.killing)
    }

    /// Does a step and checks everything; the violation, if there is one.
    pub(crate) fn apply(&mut self, step: &Step) -> Result<Going, String> {
        if self.over {
            return Ok(Going::Over);
        }
        self.tally.steps += 1;
        self.history.push(format!("# {step:?}"));
        match step {
            Step::User(act) => self.user(*act),
            Step::Command(command, kill) => self.command(command, *kill)?,
        }
        Ok(if self.over { Going::Over } else { Going::On })
    }

    /// The whole history, with a violation at its end.
    pub(crate) fn report(&self, violation: &str) -> String {
        format!("{}\nVIOLATION: {violation}", self.history.join("\n"))
    }

    // What the user does.

    fn user(&mut self, act: UserAct) {
        self.do_user(act);
        self.undoable.clear();
        // What users remove before a command saved it is not protected.
        let found = Found::search(&self.sandbox);
        self.live.retain(|token| found.has(token));
    }

    fn do_user(&mut self, act: UserAct) {
        match act {
            UserAct::Write(file) => self.write(FILES[file]),
            UserAct::Append(file) => {
                let path = self.sandbox.repo.join(FILES[file]);
                let mut text = fs::read_to_string(path).unwrap_or_default();
                let _ = writeln!(text, "and {}", self.token());
                self.sandbox.write(FILES[file], &text);
            }
            UserAct::Delete(file) => {
                let _ = fs::remove_file(self.sandbox.repo.join(FILES[file]));
            }
            UserAct::Stage(file) => self.git(&["add", "-A", "--", FILES[file]]),
            UserAct::StageAndEdit(file) => {
                self.write(FILES[file]);
                self.git(&["add", FILES[file]]);
                self.write(FILES[file]);
            }
            UserAct::Announce => {
                self.write("announced.txt");
                self.git(&["add", "-N", "announced.txt"]);
            }
            UserAct::StageAndDelete => {
                self.write("only-staged.txt");
                self.git(&["add", "only-staged.txt"]);
                let _ = fs::remove_file(self.sandbox.repo.join("only-staged.txt"));
            }
            UserAct::Commit => self.git(&["commit", "-q", "-m", "by the user"]),
            UserAct::CommitAll => {
                self.git(&["add", "-A"]);
                self.git(&["commit", "-q", "-m", "all by the user"]);
            }
            UserAct::Stash => {
                self.stashed = true;
                self.git(&["stash", "push", "-q"]);
            }
            UserAct::WriteIgnored => {
                self.write(".env");
                self.write("debug.log");
            }
            UserAct::Branch => self.branch_elsewhere(None),
            UserAct::CommitElsewhere => self.branch_elsewhere(Some("main")),
            UserAct::SwitchHome => self.git(&["switch", "-q", "main"]),
            UserAct::SwitchToRun => self.git(&["switch", "-q", "ralph/c"]),
            UserAct::OpenTasks => {
                let tasks = self.sandbox.repo.join("openspec/changes/c/tasks.md");
                if let Ok(text) = fs::read_to_string(&tasks) {
                    fs::write(tasks, text.replace("[x]", "[ ]")).unwrap();
                }
            }
        }
    }

    /// A commit on a branch that is not checked out, or on a new one.
    fn branch_elsewhere(&mut self, name: Option<&str>) {
        let side = self.sandbox.root.join("elsewhere");
        let place = side.display().to_string();
        let token = self.token();
        match name {
            Some(name) => self.git(&["worktree", "add", "-q", &place, name]),
            None => self.git(&["worktree", "add", "-q", "-b", &token, &place]),
        }
        if !side.exists() {
            self.live.remove(&token);
            return;
        }
        fs::write(side.join("elsewhere.txt"), format!("{token}\n")).unwrap();
        self.git(&["-C", &place, "add", "-A"]);
        self.git(&["-C", &place, "commit", "-q", "-m", "elsewhere"]);
        self.git(&["worktree", "remove", "--force", &place]);
        let _ = fs::remove_dir_all(side);
    }

    fn token(&mut self) -> String {
        self.written += 1;
        let token = format!("tok-u-{}", self.written);
        self.live.insert(token.clone());
        token
    }

    fn write(&mut self, path: &str) {
        let token = self.token();
        let full = self.sandbox.repo.join(path);
        // Something else may be in its place.
        let _ = fs::create_dir_all(full.parent().unwrap());
        let _ = fs::write(full, format!("{token}\n"));
    }

    /// Git as a user; it may have reasons to refuse.
    fn git(&mut self, args: &[&str]) {
        let output = self.sandbox.command("git").args(args).output().unwrap();
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            let first = errors.lines().next().unwrap_or_default();
            self.history.push(format!("  git {args:?}: {first}"));
        }
    }

    // Commands.

    fn command(&mut self, command: &Command, kill: Option<Kill>) -> Result<(), String> {
        self.make_agent(command);
        let before = everything(&self.sandbox.repo);
        let before_effects = self.effects();
        let live_before = self.kept_by_next();
        let args = command.args();
        let mut output = self.run(&args, command.name(), kill.map(|it| it.at));
        let killed = output.code == KILLED;
        if killed {
            output = self.repair_git(kill.and_then(|it| it.again_at))?;
            if !self.is_repository() {
                self.over = true;
                return self.check_tokens();
            }
        }
        self.note_agents_tokens();
        check_output(&output)?;
        let effects = self.effects();
        let expected = self.expected(command, (&before_effects, &effects));
        self.follow(command, &before, (&before_effects, &effects));
        let was_saved = effects.saves() > before_effects.saves();
        if was_saved && !killed && matches!(output.code, 0 | 1) {
            self.pledged.extend(live_before);
            self.pledged.extend(self.agents_tokens());
        }
        let taken_back = effects.taken_back > before_effects.taken_back;
        if killed && (!was_saved || taken_back) {
            self.unneeded.extend(self.live.iter().cloned());
        }
        if matches!(command, Command::Gc) {
            self.forget_unneeded();
        }
        self.check_tokens()?;
        self.check_sound(&output)?;
        if taken_back {
            self.check_same("a begin that was taken back", &before)?;
        }
        if !killed && output.code == 2 {
            self.check_same("a refusal", &before)?;
        }
        if let Some((what, wanted)) = expected {
            self.check_same(what, &wanted)?;
        }
        let runs = matches!(command, Command::Loop { .. } | Command::Resume { .. });
        if runs && !killed && output.code == 0 {
            self.check_stories()?;
        }
        Ok(())
    }

    /// Tokens that the next command saves in the vault: those the user has, not those in old copies.
    fn kept_by_next(&self) -> BTreeSet<String> {
        let mut kept = self.live.clone();
        if kept.iter().any(|token| self.unneeded.contains(token)) {
            let found = Found::search(&self.sandbox);
            kept.retain(|it| !self.unneeded.contains(it) || found.repository.contains(it));
        }
        kept
    }

    /// A collection may remove copies that no run needs; the user had overwritten the rest.
    fn forget_unneeded(&mut self) {
        let found = Found::search(&self.sandbox);
        let (pledged, unneeded) = (&self.pledged, &self.unneeded);
        self.live.retain(|token| {
            found.has(token) || pledged.contains(token) || !unneeded.contains(token)
        });
    }

    fn is_repository(&self) -> bool {
        let mut git = self.sandbox.command("git");
        let output = git.args(["rev-parse", "--verify", "HEAD"]).output();
        output.unwrap().status.success()
    }

    fn make_agent(&mut self, command: &Command) {
        let (Command::Loop { deeds, .. } | Command::Resume { deeds, .. }) = command else {
            return;
        };
        let name = format!("a-{}", self.tally.steps);
        self.sandbox.agent(&agent::script(&name, deeds));
        fs::write(self.sandbox.root.join("turn"), "0\n").unwrap();
    }

    /// Repairs what a killed command left; the repair itself is killed once if asked for.
    fn repair_git(&mut self, again_at: Option<u16>) -> Result<Output, String> {
        let args = ["attempts", "restore", "none"].map(str::to_owned);
        if again_at.is_some() {
            let output = self.run(&args, RECOVERY, again_at);
            if output.code != KILLED {
                return repaired(output);
            }
        }
        let output = self.run(&args, RECOVERY, None);
        repaired(output)
    }

    fn run(&mut self, args: &[String], kind: &'static str, kill_at: Option<u16>) -> Output {
        self.tally.runs += 1;
        let mut command = self.sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
        command.args(args);
        let kill = kill_at.map(|at| match &self.killing {
            Killing::AtPoints => {
                let runs = matches!(kind, "loop" | "resume");
                let points = if runs { 250 } else { 60 };
                let number = 1 + usize::from(at) * points / 1000;
                Killed::AtPoint {
                    number,
                    with_children: at % 2 == 0,
                }
            }
            Killing::AtTimes(lengths) => {
                let length = lengths.get(kind).copied();
                let length = length.unwrap_or(Duration::from_millis(200));
                Killed::After(length * u32::from(at) / 1000)
            }
        });
        let start = Instant::now();
        let output = self.sandbox.run_killed(command, kill);
        if output.code == KILLED {
            self.tally.kills += 1;
            *self.kills.entry(kind).or_default() += 1;
        } else if let Killing::AtTimes(lengths) = &mut self.killing {
            let length = lengths.entry(kind).or_insert_with(|| start.elapsed());
            *length = (*length * 3 + start.elapsed()) / 4;
        }
        self.history.push(format!(
            "$ ralphtool {} (kill at {kill_at:?}) -> {}\n{}{}",
            args.join(" "),
            output.code,
            indented(&output.stdout),
            indented(&output.stderr)
        ));
        output
    }

    /// The state a command that took effect must have led to, where that is known.
    fn expected(
        &self,
        command: &Command,
        (was, is): (&Effects, &Effects),
    ) -> Option<(&'static str, String)> {
        if is.moved + is.reopened == was.moved + was.reopened || is.given_up > was.given_up {
            return None;
        }
        match command {
            Command::Finish(Choice::Abandon) if is.moved > was.moved => {
                Some(("an abandon", self.began.get(&is.last_moved)?.clone()))
            }
            Command::Undo => Some(("an undo", self.undoable.last()?.clone()?)),
            _ => None,
        }
    }

    /// Remembers what a command did, for the checks of later ones.
    fn follow(&mut self, command: &Command, before: &str, (was, is): (&Effects, &Effects)) {
        let runs = matches!(command, Command::Loop { .. } | Command::Resume { .. });
        if is.begun > was.begun && is.taken_back == was.taken_back {
            self.began.insert(is.last_begun.clone(), before.to_owned());
            self.stashed = false;
        }
        if is.begun > was.begun || is.attempts > was.attempts {
            self.undoable.clear();
        }
        let changed = is.moved + is.kept > was.moved + was.kept;
        if is.given_up > was.given_up {
            self.undoable.clear();
        } else if matches!(command, Command::Undo) {
            if is.moved > was.moved || is.reopened > was.reopened {
                self.undoable.pop();
            }
        } else if runs && changed {
            self.undoable.push(None);
        } else if changed {
            self.undoable.push(Some(before.to_owned()));
        }
        let (Command::Loop { deeds, .. } | Command::Resume { deeds, .. }) = command else {
            self.may_miss_work |= matches!(command, Command::Restore { .. });
            return;
        };
        let removes_work =
            |deed: &Deed| deed.misdeed.is_destructive() && deed.ending == Ending::Complete;
        self.may_miss_work |= deeds.iter().any(removes_work);
    }

    // Checks.

    fn check_tokens(&self) -> Result<(), String> {
        let found = Found::search(&self.sandbox);
        let lost = self.live.iter().filter(|token| !found.has(token));
        let lost: Vec<&String> = lost.collect();
        if !lost.is_empty() {
            return Err(format!("lost: {lost:?}"));
        }
        let unsaved = self.pledged.iter().filter(|it| !found.vault.contains(*it));
        let unsaved: Vec<&String> = unsaved.collect();
        if !unsaved.is_empty() {
            return Err(format!("not in the vault: {unsaved:?}"));
        }
        Ok(())
    }

    fn check_sound(&self, output: &Output) -> Result<(), String> {
        let wrong = unsound(&self.sandbox);
        if wrong.is_empty() {
            return Ok(());
        }
        Err(format!("after exit code {}: {wrong:#?}", output.code))
    }

    fn check_same(&self, what: &str, wanted: &str) -> Result<(), String> {
        let now = everything(&self.sandbox.repo);
        // The original branch is compared only if the run began on it.
        let main = "refs/heads/main";
        let home = wanted.contains("\nrefs/heads/main\n$ git for-each-ref\n");
        // Stashes that a story cleared (the list is empty, the ref may be there) come back with an
        // abandon or a rewind, and stay when that is undone.
        let has_stash = what != "an undo" || wanted.lines().any(is_stash_entry);
        let compared = |state: &str| {
            let lines = self.compared(state);
            let lines = lines.filter(|line| home || !line.ends_with(main));
            let lines = lines.filter(|line| has_stash || !is_stash(line));
            lines.collect::<Vec<_>>().join("\n")
        };
        match difference(&compared(wanted), &compared(&now)) {
            None => Ok(()),
            Some(difference) => Err(format!("{what} left another state:\n{difference}")),
        }
    }

    /// A state without what is not promised: branches created or deleted during a run, a
    /// stash that the user has added to, caches, and the id that ties the git directory to its vault.
    fn compared<'a>(&self, state: &'a str) -> impl Iterator<Item = &'a str> {
        let stashed = self.stashed;
        state.lines().filter(move |line| {
            let other_branch = line.contains("\trefs/heads/")
                && !line.ends_with("refs/heads/main")
                && !line.ends_with("refs/heads/ralph/c");
            let id = line.starts_with(".git/ralphtool.id");
            let cache = ["target", "!! target"]
                .iter()
                .any(|it| line.starts_with(it));
            !(other_branch || id || cache || stashed && is_stash(line))
        })
    }

    fn check_stories(&self) -> Result<(), String> {
        let tasks = self.sandbox.tasks_now();
        if tasks.contains("[ ]") {
            return Err(format!("all stories are said to be done:\n{tasks}"));
        }
        let missing = |story: &&str| !self.sandbox.exists(&format!("story-{story}.txt"));
        match ["1", "2"].iter().find(|story| missing(story)) {
            Some(story) if !self.may_miss_work => {
                Err(format!("the file of story {story} is not there"))
            }
            _ => Ok(()),
        }
    }

    // What the sandbox says.

    fn agents_tokens(&self) -> Vec<String> {
        let text = fs::read_to_string(self.sandbox.root.join("written")).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn note_agents_tokens(&mut self) {
        let tokens = self.agents_tokens();
        self.live.extend(tokens);
    }

    fn effects(&self) -> Effects {
        let mut effects = Effects::default();
        for vault in vaults(&self.sandbox) {
            let text = fs::read(vault.join("journal")).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            let count = |step: &str| {
                let part = format!("\"step\":\"{step}\"");
                text.lines().filter(|line| line.contains(&part)).count()
            };
            let last = |step: &str| {
                let part = format!("\"step\":\"{step}\"");
                let line = text.lines().rev().find(|line| line.contains(&part))?;
                let run = line.split("\"run\":\"").nth(1)?;
                run.split('"').next().map(str::to_owned)
            };
            effects.last_begun = last("begin_intent").unwrap_or(effects.last_begun);
            effects.last_moved = last("moved").unwrap_or(effects.last_moved);
            effects.begun += count("begin_intent");
            effects.taken_back += count("begin_taken_back");
            effects.attempts += count("attempt_started");
            effects.moved += count("moved");
            effects.kept += count("kept");
            effects.reopened += count("reopened");
            effects.given_up += count("move_given_up");
        }
        effects
    }
}

impl Command {
    /// Its name in a tally.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Loop { .. } => "loop",
            Self::Resume { .. } => "resume",
            Self::Finish(Choice::Cleanup) => "finish --cleanup",
            Self::Finish(Choice::Keep) => "finish --keep",
            Self::Finish(Choice::Abandon) => "finish --abandon",
            Self::Undo => "undo",
            Self::Rewind(_) => "rewind",
            Self::Restore { .. } => "attempts restore",
            Self::Gc => "gc",
        }
    }

    fn args(&self) -> Vec<String> {
        let on_finish = |keep: &bool| if *keep { "keep" } else { "cleanup" };
        let line = match self {
            Self::Loop { keep, fresh, .. } => {
                let fresh = if *fresh { " --fresh" } else { "" };
                format!("loop c --on-finish {}{fresh}", on_finish(keep))
            }
            Self::Gc => "gc --yes".to_owned(),
            Self::Resume { keep, .. } => format!("resume --on-finish {}", on_finish(keep)),
            Self::Finish(Choice::Cleanup) => "finish --cleanup".to_owned(),
            Self::Finish(Choice::Keep) => "finish --keep".to_owned(),
            Self::Finish(Choice::Abandon) => "finish --abandon".to_owned(),
            Self::Undo => "undo".to_owned(),
            Self::Rewind(story) => format!("rewind {story}"),
            Self::Restore { story, attempt, .. } => format!("attempts restore {story}.{attempt}"),
        };
        let mut args: Vec<String> = line.split(' ').map(str::to_owned).collect();
        if let Self::Restore {
            only: Some(file), ..
        } = self
        {
            args.push(FILES[*file].to_owned());
        }
        args
    }
}

/// The command asks for an attempt that does not exist: it repairs, then refuses.
fn repaired(output: Output) -> Result<Output, String> {
    if output.code == 2 {
        return Ok(output);
    }
    Err(format!("the repair ended with {}", output.code))
}

fn check_output(output: &Output) -> Result<(), String> {
    let text = format!("{}{}", output.stdout, output.stderr);
    if text.contains("panicked") || text.contains("RUST_BACKTRACE") {
        return Err("it panicked".to_owned());
    }
    match output.code {
        0..=2 => Ok(()),
        4 if text.contains("nothing was changed") => Ok(()),
        code => Err(format!("it ended with {code}")),
    }
}

fn is_stash(line: &str) -> bool {
    line.ends_with("\trefs/stash") || is_stash_entry(line)
}

fn is_stash_entry(line: &str) -> bool {
    line.starts_with("stash@{")
}

fn indented(text: &str) -> String {
    text.lines().fold(String::new(), |mut all, line| {
        let _ = writeln!(all, "    {line}");
        all
    })
}

/// Lines that are in one of two texts only.
fn difference(wanted: &str, now: &str) -> Option<String> {
    if wanted == now {
        return None;
    }
    let lines = |text: &str| -> BTreeSet<String> { text.lines().map(str::to_owned).collect() };
    let (wanted, now) = (lines(wanted), lines(now));
    let mut text = String::new();
    for line in now.difference(&wanted) {
        let _ = writeln!(text, "+ {line}");
    }
    for line in wanted.difference(&now) {
        let _ = writeln!(text, "- {line}");
    }
    Some(text)
}
