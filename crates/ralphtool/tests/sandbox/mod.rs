//! A user's repository with a change, a shell script as the agent, and the real program: everything
//! in one temporary folder, without the machine's own settings.

#![allow(dead_code, unused_imports, reason = "no file of tests uses all of it")]

mod killing;
mod leftovers;
pub(crate) mod process;
mod rich;
mod running;
mod state;
mod user;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

pub(crate) use killing::{KILLED, Kill, Measured, can_stop_git};
pub(crate) use leftovers::named_folder;
pub(crate) use rich::{WholeState, commits, line_difference};
pub(crate) use running::{Output, Running};
pub(crate) use state::{everything, files, files_and_times, listing};

/// No step of a test takes longer, however loaded the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// What all tests that run at a time need of memory at most.
const ROOM: u64 = 2 << 30;

/// Two stories of two tasks.
pub(crate) const TASKS: &str = "\
## 1. First
- [ ] 1.1 Do a
- [ ] 1.2 Do b

## 2. Second
- [ ] 2.1 Do c
- [ ] 2.2 Do d
";

/// An agent that does its work: one file per story, all its boxes, the promise.
pub(crate) const GOOD: &str = r#"
echo "work" > "story-$RALPHTOOL_STORY.txt"
tick "$RALPHTOOL_STORY"
complete
"#;

/// What every agent may use.
const PRELUDE: &str = r#"
prompt=$(cat)
tasks="openspec/changes/$RALPHTOOL_CHANGE/tasks.md"
attempt=${RALPHTOOL_ATTEMPT##*.}
complete() { echo '<promise>COMPLETE</promise>'; }
failed() { echo "<promise>FAILED: $1</promise>"; }
tick() { sed "s/- \[ \] $1\./- [x] $1./" "$tasks" > "$tasks.new" && mv "$tasks.new" "$tasks"; }
wait_for() { # wait_for FILE
    tries=0
    while [ ! -e "$1" ]; do
        tries=$((tries + 1)); [ $tries -lt 3000 ] || exit 9
        sleep 0.02
    done
}
"#;

/// A folder in memory where there is one with room, or else the one for temporary files: what is
/// tested syncs a lot, and a disk would be what all tests wait for.
pub(crate) fn memory_folder() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let has_room = rustix::fs::statvfs(&memory)
        .is_ok_and(|found| found.f_bavail.saturating_mul(found.f_frsize) >= ROOM);
    if has_room && tempfile::tempfile_in(&memory).is_ok() {
        return memory;
    }
    std::env::temp_dir()
}

/// Waits until something is there.
#[track_caller]
pub(crate) fn until<T>(what: &str, find: impl FnMut() -> Option<T>) -> T {
    until_within(PATIENCE, what, find)
}

/// Waits no longer than this until something is there.
#[track_caller]
pub(crate) fn until_within<T>(
    patience: Duration,
    what: &str,
    mut find: impl FnMut() -> Option<T>,
) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(start.elapsed() < patience, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Everything one test needs.
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
    /// The folder around all.
    pub(crate) root: PathBuf,
    /// The user's repository.
    pub(crate) repo: PathBuf,
    /// Who runs everything, if not the user who runs the tests.
    user: Option<u32>,
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if !rustix::process::geteuid().is_root() {
            user::unlock(self.folder.path());
        }
    }
}

impl Sandbox {
    /// A repository with the change `c` of two stories, and an agent that does them.
    pub(crate) fn new() -> Self {
        Self::bare_folder().with_repository()
    }

    /// The same where temporary files are, for tests of what the file system does.
    pub(crate) fn on_disk() -> Self {
        Self::within(&std::env::temp_dir()).with_repository()
    }

    /// A sandbox on a disk that is mounted at the given folder, and outlives this. Nothing is touched:
    /// it is either there, or made with [`Sandbox::made`].
    pub(crate) fn on(disk: &Path) -> Self {
        let root = disk.join("user");
        Self {
            folder: tempfile::tempdir_in(memory_folder()).unwrap(),
            repo: root.join("repo"),
            root,
            user: None,
        }
    }

    /// Makes everything of a sandbox on a disk.
    pub(crate) fn made(self) -> Self {
        fs::create_dir(&self.root).unwrap();
        self.with_home().with_repository()
    }

    fn with_repository(self) -> Self {
        let sandbox = self;
        sandbox.git("init -q -b main --template=");
        sandbox.write("a.txt", "one\n");
        sandbox.write("dir/b.txt", "two\n");
        sandbox.write(".gitignore", "target\n*.log\n.env\n");
        sandbox.tasks(TASKS);
        sandbox.config("");
        sandbox.agent(GOOD);
        sandbox.git("add -A");
        sandbox.git("commit -q -m first");
        sandbox
    }

    /// No repository yet: an empty folder `repo`.
    pub(crate) fn bare_folder() -> Self {
        Self::within(&memory_folder())
    }

    /// What [`Sandbox::new`] makes, for tests that are long enough to be killed themselves: the next
    /// one removes it then.
    pub(crate) fn named() -> Self {
        Self::inside(named_folder()).with_repository()
    }

    fn within(folder: &Path) -> Self {
        Self::inside(tempfile::tempdir_in(folder).unwrap())
    }

    fn inside(folder: tempfile::TempDir) -> Self {
        let root = folder.path().canonicalize().unwrap();
        let repo = root.join("repo");
        Self {
            folder,
            root,
            repo,
            user: None,
        }
        .with_home()
    }

    fn with_home(self) -> Self {
        for name in ["repo", "home", "tmp"] {
            fs::create_dir(self.root.join(name)).unwrap();
        }
        let user = "[user]\n\tname = User\n\temail = user@example.com\n[gc]\n\tauto = 0\n\
                    [maintenance]\n\tauto = false\n";
        fs::write(self.root.join("home/.gitconfig"), user).unwrap();
        self
    }

    /// Leaves the folder around all where it is, for people to look at.
    pub(crate) fn keep(mut self) -> PathBuf {
        self.folder.disable_cleanup(true);
        leftovers::keep(self.folder.path());
        self.folder.path().to_owned()
    }

    /// A dirty tree: something staged, unstaged, staged and changed again, deleted, untracked
    /// and ignored, and something in the stash.
    pub(crate) fn make_dirty(&self) {
        self.write("a.txt", "in the stash\n");
        self.git("stash push -q -- a.txt");
        self.add_edits();
        self.write("untracked/new.txt", "new\n");
        self.write(".env", "SECRET=1\n");
        self.write(".git/info/exclude", "*.swp\n");
        self.write("a.swp", "swap\n");
        self.write(".git/hooks/post-merge", "#!/bin/sh\necho merged\n");
        self.git("config core.abbrev 12");
        self.write("target/cache", "cache\n");
        fs::set_permissions(self.repo.join("untracked/new.txt"), mode(0o600)).unwrap();
    }

    /// Something staged, unstaged, and staged and changed again.
    fn add_edits(&self) {
        self.write("staged.txt", "staged\n");
        self.git("add staged.txt");
        self.write("a.txt", "one staged\n");
        self.git("add a.txt");
        self.write("a.txt", "one staged and more\n");
        self.write("dir/b.txt", "two edited\n");
    }

    /// Writes the tasks of the change `c`.
    pub(crate) fn tasks(&self, text: &str) {
        self.write("openspec/changes/c/tasks.md", text);
    }

    /// The tasks of the change `c` as they are now.
    pub(crate) fn tasks_now(&self) -> String {
        self.read("openspec/changes/c/tasks.md")
    }

    /// Writes `ralphtool.toml`: the agent `mine`, after the given lines. Tables are written
    /// after the agent's with [`Sandbox::config_and`].
    pub(crate) fn config(&self, lines: &str) {
        self.config_and(lines, "");
    }

    /// Writes `ralphtool.toml` with lines before and tables after the agent's.
    pub(crate) fn config_and(&self, lines: &str, tables: &str) {
        let script = self.root.join("agent.sh");
        let script = script.display();
        let agent = format!("[agents.mine]\ncommand = [\"sh\", \"{script}\"]\n");
        self.write(
            "ralphtool.toml",
            &format!("agent = \"mine\"\n{lines}\n{agent}{tables}\n"),
        );
    }

    /// Writes the agent: a shell script outside of the repository that has read its prompt.
    pub(crate) fn agent(&self, script: &str) {
        let root = self.root.display();
        let text = format!("root='{root}'\n{PRELUDE}\n{script}\n");
        let path = self.root.join("agent.sh");
        fs::write(&path, text).unwrap();
        self.own(&path);
    }

    /// Writes a file of the repository.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let full = self.repo.join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(&full, text).unwrap();
        self.own(&full);
    }

    /// A file of the repository.
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.repo.join(path)).unwrap()
    }

    /// Whether something is at a path of the repository.
    pub(crate) fn exists(&self, path: &str) -> bool {
        fs::symlink_metadata(self.repo.join(path)).is_ok()
    }

    /// A command in the repository whose environment has only the machine's `PATH`.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.root.join("home"))
            .env("XDG_STATE_HOME", self.root.join("state"))
            .env("XDG_CONFIG_HOME", self.root.join("config"))
            .env("TMPDIR", self.root.join("tmp"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("TERM", "dumb")
            // The user has allowed what the repository's file asks for.
            .env("RALPHTOOL_TRUST", "1")
            .current_dir(&self.repo);
        self.as_user(&mut command);
        command
    }

    /// Runs git in the repository; it must succeed.
    #[track_caller]
    pub(crate) fn git(&self, args: &str) -> String {
        self.git_args(&args.split(' ').collect::<Vec<_>>())
    }

    /// Runs git in the repository with arguments that have spaces; it must succeed.
    #[track_caller]
    pub(crate) fn git_args(&self, args: &[&str]) -> String {
        let output = self.command("git").args(args).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs the program to its end.
    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.start(args).end()
    }

    /// Starts the program.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        let mut command = self.command(self.program());
        command.args(args);
        self.start_command(command)
    }

    /// Starts a command that was made ready.
    pub(crate) fn start_command(&self, command: Command) -> Running {
        Running::start(command, &self.root)
    }

    /// Titles of the commits since the user's first one, oldest first.
    pub(crate) fn commits(&self) -> Vec<String> {
        let log = self.git("log --reverse --format=%s main..ralph/c");
        log.lines().map(str::to_owned).collect()
    }

    /// The branch HEAD is on.
    pub(crate) fn branch(&self) -> String {
        self.git("symbolic-ref --short HEAD").trim().to_owned()
    }

    /// The vault of the repository.
    pub(crate) fn vault(&self) -> PathBuf {
        let folder = self.root.join("state/ralphtool");
        let mut found: Vec<PathBuf> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| !path.ends_with("trusted"))
            .collect();
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    /// The folders of all runs, oldest first.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let mut runs: Vec<PathBuf> = fs::read_dir(self.vault().join("runs"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        runs.sort_by_key(|run| {
            fs::metadata(run.join("events.jsonl"))
                .unwrap()
                .modified()
                .unwrap()
        });
        runs
    }

    /// A file of an attempt of the last run, such as its prompt.
    pub(crate) fn transcript(&self, attempt: &str, file: &str) -> String {
        let run = self.runs().pop().unwrap();
        fs::read_to_string(run.join("attempts").join(attempt).join(file)).unwrap()
    }

    /// The record of the last run.
    pub(crate) fn events(&self) -> Vec<Value> {
        let run = self.runs().pop().unwrap();
        records(&fs::read_to_string(run.join("events.jsonl")).unwrap())
    }

    /// The events of one name of the last run.
    pub(crate) fn events_named(&self, name: &str) -> Vec<Value> {
        let mut events = self.events();
        events.retain(|event| event["event"] == name);
        events
    }

    /// Story, attempt, kind and reason of all failed attempts of the last run.
    pub(crate) fn failures(&self) -> Vec<String> {
        let line = |event: &Value| {
            let text = |key: &str| event[key].as_str().unwrap().to_owned();
            format!("{} {}: {}", text("parked"), text("kind"), text("reason"))
        };
        self.events_named("attempt_failed")
            .iter()
            .map(line)
            .collect()
    }

    /// Code and message of all warnings of the last run.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let line = |event: &Value| {
            let text = |key: &str| event[key].as_str().unwrap().to_owned();
            format!("{}: {}", text("code"), text("message"))
        };
        self.events_named("warning").iter().map(line).collect()
    }

    /// A text without what differs from one sandbox to the next.
    pub(crate) fn neutral(&self, text: &str) -> String {
        text.replace(&self.root.display().to_string(), "ROOT")
    }
}

/// Parses lines of JSON.
pub(crate) fn records(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// A file mode.
pub(crate) fn mode(bits: u32) -> fs::Permissions {
    fs::Permissions::from_mode(bits)
}

/// Whether a path is there.
pub(crate) fn there(path: &Path) -> Option<()> {
    fs::symlink_metadata(path).ok().map(drop)
}
