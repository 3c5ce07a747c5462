//! The protocol against real git in temporary repositories.

mod apart;
mod finishes;
mod first_look;
mod gc;
mod guards;
mod hostile;
#[cfg(target_os = "linux")]
mod meanwhile;
mod merges;
mod outage;
mod shown;
mod start_over;
mod users_git;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pretty_assertions::assert_eq;

use super::{AfterRecovery, Recovery, Vault};
use crate::error::{CheckpointError, Result};
use crate::journal::steps::StoryNote;
use crate::operations::begin::{BeginRequest, Begun};
use crate::operations::claims::NewBranch;
use crate::operations::meanwhile::Meanwhile;
use crate::operations::park::{ParkReport, Setback};
use crate::outcome::{FailureKind, FinishChoice};
use crate::store::VaultError;
use ralph_base::ids::{AttemptId, AttemptNumber, RunId, StoryId};

impl Vault {
    fn begin_run(&mut self, run: &RunId, change: &str) -> Result<Begun> {
        self.begin(BeginRequest {
            run,
            change,
            branch: &format!("ralph/{change}"),
            plan: None,
            plan_folder: None,
        })
    }

    fn recover_run_now(&mut self) -> Result<Option<Recovery>> {
        self.recover(AfterRecovery::Continue)
    }

    fn park_and_restore(&mut self, setback: Setback) -> ParkReport {
        let (tree, report) = self.park(setback).unwrap();
        self.restore(&tree.scanned, tree.git).unwrap();
        self.end_diff();
        report
    }
}

/// The branch of a run of `c`.
fn branch_c() -> NewBranch<'static> {
    NewBranch {
        name: "ralph/c",
        change: "c",
        replaces: false,
        on_top: false,
    }
}

/// A repository with a vault beside it.
struct Yard {
    _folder: tempfile::TempDir,
    repo: PathBuf,
    state: PathBuf,
}

/// A folder in memory where the system has room there: what is tested syncs a lot.
fn swift_folder() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    let has_room = rustix::fs::statvfs(memory)
        .is_ok_and(|found| found.f_bavail.saturating_mul(found.f_frsize) >= 2 << 30);
    has_room
        .then(|| tempfile::tempdir_in(memory).ok())
        .flatten()
        .unwrap_or_else(|| tempfile::tempdir().unwrap())
}

impl Yard {
    fn new() -> Self {
        let folder = swift_folder();
        let repo = folder.path().join("repo");
        fs::create_dir(&repo).unwrap();
        let state = folder.path().join("state");
        let yard = Self {
            _folder: folder,
            repo: repo.canonicalize().unwrap(),
            state,
        };
        yard.git("init -q -b main");
        yard.write("a.txt", "one\n");
        yard.write("dir/b.txt", "two\n");
        yard.write(".gitignore", "target\n*.log\n.env\n");
        yard.git("add -A");
        yard.git("commit -q -m first");
        yard
    }

    fn git(&self, args: &str) -> String {
        let words: Vec<&str> = args.split(' ').collect();
        self.git_args(&words)
    }

    fn git_args(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@t"])
            .args(args)
            .current_dir(&self.repo)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs a shell line in the work tree, as an agent or the user might.
    fn sh(&self, line: &str) {
        let output = Command::new("sh")
            .args(["-c", line])
            .current_dir(&self.repo)
            .envs([
                ("GIT_AUTHOR_NAME", "a"),
                ("GIT_AUTHOR_EMAIL", "a@a"),
                ("GIT_COMMITTER_NAME", "a"),
                ("GIT_COMMITTER_EMAIL", "a@a"),
            ])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    fn write(&self, path: &str, text: &str) {
        let full = self.repo.join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.repo.join(path)).unwrap()
    }

    fn open(&self) -> Vault {
        // A process that another test is just about to start holds the lock for a moment.
        for _ in 0..500 {
            let opened = Vault::open(&self.repo, &self.state, Duration::from_secs(30));
            match opened {
                Err(CheckpointError::Vault(VaultError::Locked { .. })) => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                opened => return opened.unwrap(),
            }
        }
        panic!("the vault stays locked");
    }

    /// Everything a user could notice: status, HEAD, stash, staged content, config, files.
    fn everything(&self) -> String {
        let mut text = String::new();
        for args in [
            "status --porcelain=v1 --untracked-files=all --branch",
            "rev-parse HEAD",
            "stash list",
            "ls-files --stage",
            "config --local --list",
        ] {
            let _ = write!(text, "$ git {args}\n{}", self.git(args));
        }
        for (path, state) in files(&self.repo) {
            let _ = writeln!(text, "{path}: {state}");
        }
        text
    }
}

fn files(top: &Path) -> BTreeMap<String, String> {
    fn visit(top: &Path, folder: &Path, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path
                .strip_prefix(top)
                .unwrap()
                .to_string_lossy()
                .into_owned();
            if name == ".git" {
                continue;
            }
            let metadata = fs::symlink_metadata(&path).unwrap();
            let mode = metadata.permissions().mode() & 0o7777;
            let state = if metadata.is_symlink() {
                format!("link {}", fs::read_link(&path).unwrap().display())
            } else if metadata.is_dir() {
                visit(top, &path, found);
                format!("folder {mode:o}")
            } else {
                let bytes = fs::read(&path).unwrap();
                format!("file {mode:o} {:?}", String::from_utf8_lossy(&bytes))
            };
            found.insert(name, state);
        }
    }
    let mut found = BTreeMap::new();
    visit(top, top, &mut found);
    found
}

fn run_id() -> RunId {
    RunId("test-run".to_owned())
}

fn attempt(story: &str, number: u32) -> AttemptId {
    AttemptId {
        story: StoryId(story.to_owned()),
        attempt: AttemptNumber(number),
    }
}

fn setback(attempt: &AttemptId, prompt_reason: Option<String>) -> Setback {
    Setback {
        attempt: attempt.clone(),
        reason: prompt_reason.clone().unwrap_or_default(),
        prompt_reason,
        uses_retry: true,
        kind: FailureKind::Failed,
    }
}

fn story(id: &str) -> StoryNote {
    StoryNote {
        id: StoryId(id.to_owned()),
        title: "A title".to_owned(),
        attempts: 1,
        gates: Vec::new(),
    }
}

/// A user's tree with something staged, unstaged, untracked and ignored.
fn dirty(yard: &Yard) {
    yard.write("staged.txt", "staged\n");
    yard.git("add staged.txt");
    yard.write("a.txt", "one staged\n");
    yard.git("add a.txt");
    yard.write("a.txt", "one staged and more\n");
    yard.write("dir/b.txt", "two edited\n");
    yard.write("untracked/new.txt", "new\n");
    yard.write(".env", "SECRET=1\n");
    yard.write("target/cache", "cache\n");
}

#[test]
fn a_begin_moves_head_and_touches_no_file() {
    let yard = Yard::new();
    dirty(&yard);
    let before = files(&yard.repo);
    let mut checkpoints = yard.open();
    checkpoints.preflight(&branch_c()).unwrap();
    let begun = checkpoints.begin_run(&run_id(), "c").unwrap();
    assert_eq!(
        (
            begun.branch.as_str(),
            begun.original.as_str(),
            begun.notices
        ),
        ("ralph/c", "main", vec![])
    );
    assert_eq!(files(&yard.repo), before);
    assert_eq!(yard.git("status --porcelain"), "");
    assert_eq!(yard.git("symbolic-ref HEAD"), "refs/heads/ralph/c\n");
    assert_eq!(yard.git("log --format=%s"), "initial state\nfirst\n");
    assert_eq!(
        yard.git("ls-tree -r --name-only HEAD"),
        ".gitignore\na.txt\ndir/b.txt\nstaged.txt\nuntracked/new.txt\n"
    );
}

/// Runs what an agent might do, parks and restores, and compares everything.
fn undone(misdeed: &str) {
    let yard = Yard::new();
    yard.write("a.txt", "in the stash\n");
    yard.git("stash push -q -- a.txt");
    dirty(&yard);
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    let before = yard.everything();
    let main = yard.git("rev-parse main");
    checkpoints.attempt_started(&attempt("1", 1)).unwrap();
    let trace = checkpoints
        .attempt_folder(&run_id(), &attempt("1", 1))
        .join("git");
    fs::create_dir_all(&trace).unwrap();
    Command::new("sh")
        .args(["-c", misdeed])
        .current_dir(&yard.repo)
        .envs([
            ("GIT_AUTHOR_NAME", "a"),
            ("GIT_AUTHOR_EMAIL", "a@a"),
            ("GIT_COMMITTER_NAME", "a"),
            ("GIT_COMMITTER_EMAIL", "a@a"),
        ])
        .env("GIT_TRACE2_EVENT", &trace)
        .output()
        .unwrap();
    checkpoints.park_and_restore(setback(&attempt("1", 1), Some("it failed".to_owned())));
    assert_eq!(yard.everything(), before);
    assert_eq!(yard.git("rev-parse main"), main);
    assert_eq!(yard.git("fsck --no-dangling"), "");
    // And the next attempt can be saved.
    yard.write("done.txt", "done\n");
    checkpoints.save(&story("1")).unwrap();
    assert_eq!(yard.git("status --porcelain"), "");
    assert_eq!(yard.git("fsck --no-dangling"), "");
}

macro_rules! undone {
    ($($name:ident: $misdeed:expr;)*) => {
        mod a_failed_attempt_leaves_nothing_when_it {
            $(#[test]
            fn $name() {
                super::undone($misdeed);
            })*
        }
    };
}

undone! {
    edits_deletes_and_creates: "echo x > a.txt; rm dir/b.txt; mkdir j; echo j > j/unk; echo SECRET=2 > .env";
    swaps_files_folders_and_links: "rm -rf dir; echo file > dir; rm a.txt; ln -s /etc a.txt; rm -r untracked; ln -s / untracked";
    commits: "echo x >> a.txt; git add -A; git commit -qm agent";
    commits_and_resets: "echo x >> a.txt; git commit -qam agent; git reset -q --hard HEAD~2";
    amends: "echo x >> a.txt; git add -A; git commit -q --amend -m amended";
    switches_to_a_new_branch: "git checkout -q -b other; echo o > o; git add o; git commit -qm o";
    works_on_the_original_branch: "git checkout -q main; echo m > m; git add m; git commit -qm m";
    detaches_and_deletes_the_branch: "git checkout -q --detach; git branch -qD ralph/c";
    makes_an_orphan: "git checkout -q --orphan o; git rm -rqf .; echo o > o; git add o; git commit -qm o";
    stashes: "echo s > a.txt; git stash -q -u";
    drops_the_users_stash: "git stash clear; git gc -q --prune=now";
    makes_a_nested_repository: "git init -q nested; cd nested; echo n > file; git add -A; git commit -qm n";
    makes_an_empty_nested_repository: "git init -q nested";
    makes_a_repository_in_a_tracked_folder: "git init -q dir";
    hides_junk_behind_its_own_rules: "mkdir junk; echo '*' > junk/.gitignore; echo x > junk/hidden; echo junk2 >> .gitignore; echo x > junk2";
    drops_ignore_rules: ": > .gitignore; echo x > b.log; echo x > target/more; rm b.log target/more";
    edits_exclude_and_config: "echo '*.txt' >> .git/info/exclude; echo hid > hid.txt; git config core.bare true";
    installs_hooks_and_leaves_locks: "printf '#!/bin/sh\\nexit 1\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; touch .git/index.lock .git/HEAD.lock";
    leaves_a_merge: "git checkout -q -b side HEAD~1; git checkout -q -f side; echo side > a.txt; git commit -qam side; git checkout -q ralph/c; git merge side";
    leaves_a_rebase: "echo 1 > a.txt; git commit -qam 1; git checkout -q -b side HEAD~1; echo 2 > a.txt; git commit -qam 2; git rebase ralph/c";
    leaves_a_bisect: "git bisect start; git bisect bad; git bisect good HEAD~1";
    removes_the_git_directory: "rm -rf .git";
    makes_a_new_repository: "rm -rf .git; git init -q; git add -A; git commit -qm fresh";
    empties_head: ": > .git/HEAD";
    empties_the_branch: ": > .git/refs/heads/ralph/c";
    spoils_the_config: "echo garbage > .git/config";
    empties_the_index: ": > .git/index";
    spoils_the_index: "echo garbage > .git/index";
    changes_modes: "chmod 755 dir/b.txt; chmod 600 a.txt; chmod 555 dir; chmod 777 untracked";
    amends_and_collects_garbage: "git commit -q --allow-empty --amend -m amended; git reflog expire --expire=now --all; git gc -q --prune=now";
    sets_another_work_tree: "git config core.worktree /tmp";
    sets_a_sparse_checkout: "git sparse-checkout set dir";
    writes_a_filter: "git config filter.evil.clean 'touch EVIL; cat'; git config filter.evil.smudge 'touch EVIL; cat'; echo '*.txt filter=evil' > .gitattributes; echo x > a.txt";
    adds_an_empty_folder_and_a_pipe: "mkdir -p empty/deep; mkfifo pipe; rmdir empty/deep";
    stages_things: "echo s > s.txt; git add s.txt; rm a.txt; git rm -q --cached dir/b.txt";
    uses_odd_names: "printf x > 'a b'; printf x > 'new\nline'; printf x > ':(top)x'; printf x > '*'; printf y > \"$(printf '\\377')\"";
}

#[test]
fn ignored_files_an_attempt_creates_are_left_alone() {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    checkpoints.attempt_started(&attempt("1", 1)).unwrap();
    yard.write("target/x/y", "built\n");
    yard.write("new/a.log", "log\n");
    yard.write("new/b.txt", "junk\n");
    checkpoints.park_and_restore(setback(&attempt("1", 1), None));
    let names: Vec<_> = files(&yard.repo).into_keys().collect();
    assert_eq!(
        names,
        [
            ".gitignore",
            "a.txt",
            "dir",
            "dir/b.txt",
            "new",
            "new/a.log",
            "target",
            "target/x",
            "target/x/y"
        ]
    );
}

#[test]
fn a_branch_an_attempt_leaves_is_told_once() {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    let mut told = Vec::new();
    for number in 1..=2 {
        let attempt = attempt("1", number);
        checkpoints.attempt_started(&attempt).unwrap();
        if number == 1 {
            yard.git("branch left-behind");
        }
        let report = checkpoints.park_and_restore(setback(&attempt, None));
        told.push(report.notices.iter().map(|it| it.code).collect::<Vec<_>>());
    }
    assert_eq!(told, [vec!["refs_changed"], vec![]]);
}

#[test]
fn a_parked_attempt_is_kept_whole_with_a_diff() {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    checkpoints.attempt_started(&attempt("1", 1)).unwrap();
    yard.write("a.txt", "changed\n");
    yard.write("junk.txt", "junk\n");
    let report = checkpoints.park_and_restore(setback(&attempt("1", 1), None));
    checkpoints.attempt_started(&attempt("1", 2)).unwrap();
    assert_eq!(report.changed_files, 2);
    let diff = fs::read_to_string(checkpoints.diff_path("1.1").unwrap()).unwrap();
    assert!(diff.contains("-one\n+changed\n") && diff.contains("+junk\n"));
    let store = checkpoints.vault_folder().join("store");
    let store = format!("--git-dir={}", store.display());
    let shown = yard.git_args(&[&store, "show", "refs/parked/test-run/1.1:junk.txt"]);
    assert_eq!(shown, "junk\n");
}

#[test]
fn the_diff_of_a_parked_attempt_is_made_up_for_after_a_kill() {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    checkpoints.attempt_started(&attempt("1", 1)).unwrap();
    yard.write("a.txt", "changed\n");
    let parked = checkpoints.park(setback(&attempt("1", 1), None));
    parked.unwrap();
    let path = checkpoints.diff_path("1.1").unwrap();
    drop(checkpoints);
    assert!(!path.exists(), "a diff holds up nothing");
    // As a power cut leaves it.
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "").unwrap();

    let mut checkpoints = yard.open();
    checkpoints.recover_run_now().unwrap();
    assert_eq!(yard.read("a.txt"), "one\n");
    let diff = fs::read_to_string(path).unwrap();
    assert!(diff.contains("-one\n+changed\n"), "{diff}");
}

#[test]
fn a_diff_that_cannot_be_made_stops_no_recovery() {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    checkpoints.attempt_started(&attempt("1", 1)).unwrap();
    yard.write("a.txt", "changed\n");
    let parked = checkpoints.park(setback(&attempt("1", 1), None));
    parked.unwrap();
    let store = checkpoints.repo.places.vault.objects();
    drop(checkpoints);
    let blob = yard.git("hash-object a.txt");
    let (folder, name) = blob.trim().split_at(2);
    fs::remove_file(store.join(folder).join(name)).unwrap();
    yard.write("a.txt", "edited since\n");

    let mut checkpoints = yard.open();
    checkpoints.recover_run_now().unwrap();
    assert_eq!(yard.read("a.txt"), "one\n");
}

#[test]
fn a_story_becomes_one_commit_and_a_cleanup_takes_it_home() {
    let yard = Yard::new();
    dirty(&yard);
    yard.write("announced.txt", "announced\n");
    yard.git("add -N announced.txt");
    let staged_before = yard.git("ls-files --stage");
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    checkpoints.attempt_started(&attempt("1", 1)).unwrap();
    yard.write("made.txt", "made\n");
    fs::remove_file(yard.repo.join("dir/b.txt")).unwrap();
    let report = checkpoints.save(&story("1")).unwrap();
    assert_eq!(report.changed_files, 2);
    assert_eq!(
        yard.git("log --format=%s main.."),
        "checkpoint: 1\ninitial state\n"
    );
    assert_eq!(yard.git("status --porcelain"), "");
    let tree = files(&yard.repo);
    let report = checkpoints.finish(FinishChoice::Cleanup).unwrap();
    assert_eq!((report.head.as_str(), report.changed_files), ("main", 2));
    assert_eq!(files(&yard.repo), tree);
    assert_eq!(yard.git("branch --list"), "* main\n");
    assert_eq!(
        yard.git("status --porcelain --untracked-files=all"),
        "MM a.txt\n A announced.txt\n D dir/b.txt\nA  staged.txt\n?? made.txt\n?? untracked/new.txt\n"
    );
    assert_eq!(yard.git("ls-files --stage"), staged_before);
    assert_eq!(yard.git("fsck --no-dangling"), "");
}

#[test]
fn commits_of_the_agent_stay_below_the_checkpoint() {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    yard.git("checkout -q -b feature");
    yard.write("f.txt", "f\n");
    yard.git("add -A");
    yard.git("commit -q -m agent");
    yard.write("g.txt", "g\n");
    checkpoints.save(&story("1")).unwrap();
    assert_eq!(yard.git("symbolic-ref HEAD"), "refs/heads/ralph/c\n");
    assert_eq!(
        yard.git("log --format=%s"),
        "checkpoint: 1\nagent\ninitial state\nfirst\n"
    );
    assert_eq!(yard.git("status --porcelain"), "");
    assert_eq!(yard.read("g.txt"), "g\n");
}

#[test]
fn an_edit_in_the_same_second_with_the_same_size_is_not_missed() {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    for number in 0..5 {
        yard.write("a.txt", &format!("v{number}x\n"));
        checkpoints.save(&story(&number.to_string())).unwrap();
        assert_eq!(yard.git("show HEAD:a.txt"), format!("v{number}x\n"));
    }
}

#[test]
fn an_unborn_branch_and_a_detached_head_come_back() {
    let yard = Yard::new();
    yard.git("checkout -q --detach");
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    yard.write("made.txt", "made\n");
    checkpoints.save(&story("1")).unwrap();
    checkpoints.finish(FinishChoice::Cleanup).unwrap();
    assert_eq!(
        yard.git("status --porcelain --branch"),
        "## HEAD (no branch)\n?? made.txt\n"
    );
    drop(checkpoints);

    yard.git("checkout -q --orphan empty");
    yard.git("rm -rqf --cached .");
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "d").unwrap();
    yard.write("more.txt", "more\n");
    checkpoints.save(&story("1")).unwrap();
    assert_eq!(
        yard.git("log --format=%s"),
        "checkpoint: 1\ninitial state\n"
    );
    checkpoints.finish(FinishChoice::Cleanup).unwrap();
    assert_eq!(yard.git("symbolic-ref HEAD"), "refs/heads/empty\n");
    assert_eq!(yard.git("ls-files"), "");
    assert_eq!(yard.read("more.txt"), "more\n");
}

#[test]
fn an_original_branch_that_moved_on_is_merged_or_nothing_changes() {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    yard.write("made.txt", "made\n");
    yard.write("a.txt", "one by the agent\n");
    checkpoints.save(&story("1")).unwrap();
    let elsewhere = yard.state.join("elsewhere");
    yard.git_args(&["worktree", "add", "-q", elsewhere.to_str().unwrap(), "main"]);
    let commit_there = |path: &str, text: &str| {
        fs::write(elsewhere.join(path), text).unwrap();
        let done = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@t"])
            .args(["commit", "-qam", "moved"])
            .current_dir(&elsewhere)
            .status();
        assert!(done.unwrap().success());
    };
    commit_there("a.txt", "one by the user\n");
    let before = yard.everything();
    let error = checkpoints.finish(FinishChoice::Cleanup).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`main` moved on and conflicts with `ralph/c` in a.txt; nothing was changed"
    );
    assert_eq!(yard.everything(), before);
    commit_there("a.txt", "one\n");
    commit_there("dir/b.txt", "two by the user\n");
    yard.git_args(&["worktree", "remove", "--force", elsewhere.to_str().unwrap()]);
    checkpoints.finish(FinishChoice::Cleanup).unwrap();
    assert_eq!(
        yard.git("status --porcelain --branch"),
        "## main\n M a.txt\n?? made.txt\n"
    );
    assert_eq!(yard.read("dir/b.txt"), "two by the user\n");
}

#[test]
fn a_second_process_is_refused() {
    let yard = Yard::new();
    let _first = yard.open();
    let second = Vault::open(&yard.repo, &yard.state, Duration::from_secs(30));
    let error = second.unwrap_err();
    assert!(error.is_refusal());
    assert!(
        error
            .to_string()
            .starts_with("another ralphtool works in this tree: process ")
    );
}

#[test]
fn an_interrupted_attempt_is_parked_and_undone_at_the_next_start() {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    let before = yard.everything();
    checkpoints.attempt_started(&attempt("1", 1)).unwrap();
    let reason = Some("it failed".to_owned());
    checkpoints.park_and_restore(setback(&attempt("1", 1), reason.clone()));
    checkpoints.attempt_started(&attempt("1", 2)).unwrap();
    drop(checkpoints);
    yard.write("half.txt", "half\n");
    let mut checkpoints = yard.open();
    let recovery = checkpoints.recover_run_now().unwrap().unwrap();
    assert_eq!(recovery.found, "attempt 1.2 was interrupted");
    assert_eq!(yard.everything(), before);
    let open = checkpoints.open_run().unwrap();
    let last = open.last_attempt.unwrap();
    assert_eq!(
        (last.attempt, last.retries_used, last.reason),
        (attempt("1", 2), 1, reason)
    );
}
