//! Who moved a ref during an attempt. A move is the agent's only where the record of its own git commands
//! proves it; what cannot be proven is the user's, and stays.
//!
//! A move is proven by three things together: the ref's log has a line for it, a command of the agent's
//! that can make such a move was running at the second the line names, and that command named the ref as
//! a whole word, or HEAD of this work tree came to the same commit in the same second. A switch of HEAD is
//! proven in the same way.

use super::agent_git::Traced;
use crate::git::access::Reason;
use crate::git::object_id::ObjectId;
use crate::git::process::{Git, nul_separated};
use crate::git::ref_log::{LogLine, parse, since};
use crate::journal::run_state::Current;
use crate::repo::Repo;
use crate::repo::agent_git::is_start_of_rebase;
use ralph_base::files::read_plain;

/// What `git stash` does that adds nothing to the stash.
const NOT_STASHING: &[&str] = &[
    "list", "show", "drop", "pop", "apply", "branch", "clear", "create",
];

impl Repo {
    /// True where it is proven that the agent moved a branch of the user's from one commit to another.
    pub(crate) fn agent_moved(
        &self,
        current: &Current,
        name: &str,
        before: Option<ObjectId>,
        now: Option<ObjectId>,
    ) -> bool {
        let traced = self.traced(current);
        let short = name.strip_prefix("refs/heads/").unwrap_or(name);
        let is_deleted = || traced.iter().any(|it| it.deleted(name, short));
        let Some(now) = now else {
            // Git removes the log of a branch with the branch.
            return is_deleted();
        };
        let log = self.log_of(name).unwrap_or_default();
        let moves = match since(&log, before, now) {
            Some(moves) => moves,
            // It was deleted and made again.
            None if is_deleted() => match since(&log, None, now) {
                Some(moves) => moves,
                None => return false,
            },
            None => return false,
        };
        let head = self.log_of("HEAD").unwrap_or_default();
        moves.iter().all(|line| {
            let with_head = head
                .iter()
                .any(|it| it.new == line.new && it.time.abs_diff(line.time) <= 1);
            traced.iter().any(|it| {
                it.ran_at(line.time)
                    && (with_head && it.is_one_of(MOVING)
                        || it.moves_by_name(name, short, &line.message))
            })
        })
    }

    /// Which lines the log of the stash gained are the agent's: each is explained by one command.
    pub(crate) fn stashed_by_agent(&self, current: &Current, added: &[LogLine]) -> Vec<bool> {
        let mut commands = self.traced(current);
        let branch = crate::git::repository::short(&current.intent.branch);
        let mut found = vec![false; added.len()];
        let is_on_branch = |line: &LogLine| line.message.contains(&format!(" on {branch}:"));
        for on_branch in [true, false] {
            for (line, is_agents) in added.iter().zip(&mut found) {
                if *is_agents || (on_branch && !is_on_branch(line)) {
                    continue;
                }
                let explains = |it: &Traced| it.ran_at(line.time) && it.stashes(&line.message);
                if let Some(place) = commands.iter().position(explains) {
                    commands.remove(place);
                    *is_agents = true;
                }
            }
        }
        found
    }

    /// The log of a ref; none where there is none.
    pub(crate) fn log_of(&self, name: &str) -> Option<Vec<LogLine>> {
        let repository = &self.places.repository;
        let folder = match name {
            "HEAD" => &repository.git_dir,
            _ => &repository.common_dir,
        };
        let path = folder.join("logs").join(name);
        // Never opened where it is no file: a pipe would wait for a writer.
        let is_file = std::fs::symlink_metadata(&path).is_ok_and(|it| it.is_file());
        let direct = if is_file {
            Ok(read_plain(&path).ok().map(|log| parse(&log)))
        } else if repository.has_reftable() {
            Err(Reason::RefTable.into())
        } else {
            Ok(None)
        };
        let listed = || Ok(listed_log(&self.gits.user, name));
        self.reasons
            .or_git("read a log", direct, listed)
            .ok()
            .flatten()
    }
}

/// The log of a ref as git lists it; none where there is none.
pub(crate) fn listed_log(git: &Git, name: &str) -> Option<Vec<LogLine>> {
    let format = "--format=%H%n%gd%n%gn <%ge>%n%gs%x00";
    let args = ["reflog", "show", "--date=raw", format, name, "--"];
    let listing = git.run(args).ok()?;
    let mut lines: Vec<LogLine> = nul_separated(&listing).filter_map(listed).collect();
    lines.reverse();
    for number in 1..lines.len() {
        lines[number].old = Some(lines[number - 1].new);
    }
    Some(lines)
}

/// `id`, `ref@{seconds zone}`, `name <address>` and the message, on a line each.
fn listed(text: &[u8]) -> Option<LogLine> {
    let text = String::from_utf8_lossy(text);
    let mut lines = text.trim_start_matches('\n').splitn(4, '\n');
    let new = ObjectId::parse(lines.next()?.as_bytes())?;
    let (_, date) = lines.next()?.rsplit_once("@{")?;
    let who = format!("{} {}", lines.next()?, date.trim_end_matches('}'));
    LogLine::listed(new, &who, lines.next().unwrap_or_default())
}

impl Traced {
    /// True where it was running when HEAD was switched, can switch, and named where HEAD went. Git
    /// writes what was typed, the branch that `-` stands for, or `HEAD` for `--detach` alone.
    pub(crate) fn switched(&self, line: &LogLine) -> bool {
        if !self.ran_at(line.time) || !self.can_switch() {
            return false;
        }
        if is_start_of_rebase(&line.message) {
            return self.is_one_of(&["rebase", "pull"]);
        }
        let Some((_, target)) = line.message.rsplit_once(" to ") else {
            return false;
        };
        let is_meant = |word: &String| {
            let word = word.as_str();
            let name = ["-b", "-B", "-c", "-C"]
                .iter()
                .find_map(|flag| word.strip_prefix(flag));
            name.unwrap_or(word) == target
                // With `--track` the branch has the last part of the name.
                || word.ends_with(&format!("/{target}"))
                || target == "HEAD" && ["--detach", "-d"].contains(&word)
                || word == "-"
                || word.starts_with("@{-")
        };
        let is_plain = self.is_one_of(&["checkout", "switch"]);
        !is_plain || self.words.iter().any(is_meant)
    }

    /// True where it can have put HEAD on another branch, or on none.
    pub(crate) fn can_switch(&self) -> bool {
        let has = |words: &[&str]| self.words.iter().any(|it| words.contains(&it.as_str()));
        let is = |command: &str| self.is_one_of(&[command]);
        let names_files = || {
            let mut words = self.words.iter();
            words.any(|it| it == "--") && words.next().is_some()
        };
        let writes_symbolic = || {
            let mut rest = self.words.iter().skip_while(|it| *it != "symbolic-ref");
            rest.any(|it| it == "HEAD") && rest.next().is_some()
        };
        is("checkout") && !names_files()
            || self.is_one_of(&["switch", "rebase", "bisect", "pull", "filter-branch"])
            || is("stash") && has(&["branch"])
            || is("branch") && has(&["-m", "-M", "--move"])
            || is("symbolic-ref") && writes_symbolic()
            || is("update-ref") && has(&["HEAD", "--stdin"])
    }

    /// True where it can have made such a line in the log of a ref that it named.
    fn moves_by_name(&self, name: &str, short: &str, message: &str) -> bool {
        let has = |word: &str| self.words.iter().any(|it| it == word);
        let is_named = || has(short) || has(name) || has(&format!("heads/{short}"));
        let is_target = || {
            let of = |word: &String| {
                word.ends_with(&format!(":{short}")) || word.ends_with(&format!(":{name}"))
            };
            self.words.iter().any(of)
        };
        let is = |command: &str| self.is_one_of(&[command]);
        if self.is_one_of(&["branch", "checkout", "switch", "worktree"]) && is_named() {
            return message.starts_with("branch: ") || message.starts_with("Branch: ");
        }
        if is("update-ref") {
            return has(name);
        }
        (is("fetch") && message.starts_with("fetch") || is("pull") && message.starts_with("pull"))
            && is_target()
            || is("push") && message == "push" && (is_named() || is_target())
    }

    /// True where it deleted or renamed a branch. What `git update-ref --stdin` reads is in no trace; it
    /// counts here, because a branch that comes back costs the user nothing.
    fn deleted(&self, name: &str, short: &str) -> bool {
        let has = |words: &[&str]| self.words.iter().any(|it| words.contains(&it.as_str()));
        let is_deleting = |word: &String| {
            let is_short = word.starts_with('-') && !word.starts_with("--");
            is_short && word.contains(['d', 'D', 'm', 'M'])
                || ["--delete", "--move"].contains(&word.as_str())
        };
        let by_branch =
            self.is_one_of(&["branch"]) && has(&[short]) && self.words.iter().any(is_deleting);
        let by_ref =
            self.is_one_of(&["update-ref"]) && (has(&[name]) && has(&["-d"]) || has(&["--stdin"]));
        self.code == Some(0) && (by_branch || by_ref)
    }

    /// True where it can have added an entry to the stash.
    fn stashes(&self, message: &str) -> bool {
        if self.is_one_of(&["stash"]) {
            let mut rest = self
                .words
                .iter()
                .skip_while(|word| *word != "stash")
                .skip(1);
            return rest
                .next()
                .is_none_or(|word| !NOT_STASHING.contains(&word.as_str()));
        }
        let by_hand =
            self.is_one_of(&["update-ref"]) && self.words.iter().any(|word| word == "refs/stash");
        let autostash = ["rebase", "merge", "pull", "checkout", "switch", "am"];
        by_hand || self.is_one_of(&autostash) && message.contains("autostash")
    }
}

/// Subcommands of git that can move a branch.
pub(crate) const MOVING: &[&str] = &[
    "branch",
    "checkout",
    "switch",
    "commit",
    "reset",
    "merge",
    "rebase",
    "cherry-pick",
    "revert",
    "pull",
    "fetch",
    "push",
    "update-ref",
    "am",
    "worktree",
    "filter-branch",
    "commit-tree",
    "symbolic-ref",
    "fast-import",
];
