//! The one way git is started: absolute paths, a scrubbed environment, nothing of the user's
//! or the agent's hooks, signing, filters of ours or prompts, durable writes, and a timeout that
//! asks before it kills.
//!
//! Knows how to call git; knows nothing of checkpoints.

mod error;
mod pipes;
mod surroundings;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::object_id::ObjectId;
use super::ref_log::Committer;
use ralph_base::durability;
use ralph_base::kill_point::{Point, reached};

pub use error::GitError;
use pipes::converse;
pub use surroundings::SCRUBBED;
use surroundings::{CONFIG, SYNCED, UNSYNCED};

/// How long a git process that was asked to end may take before it is killed.
const TERMINATION_GRACE: Duration = Duration::from_secs(5);

/// Where git works: which repository, which object store, which index.
#[derive(Debug, Clone)]
pub struct Git {
    directory: PathBuf,
    work_tree: Option<PathBuf>,
    current_dir: PathBuf,
    index: Option<PathBuf>,
    object_directory: Option<(PathBuf, Option<PathBuf>)>,
    timeout: Duration,
    marker: Option<String>,
    own_config: bool,
    synced: bool,
    committer: Option<Committer>,
    attributes: Option<&'static str>,
    shallow: Option<PathBuf>,
}

/// The arguments of a git command.
pub trait Args: IntoIterator<Item: AsRef<OsStr>> {}

impl<T: IntoIterator<Item: AsRef<OsStr>>> Args for T {}

/// The result of a finished git process.
#[derive(Debug)]
pub struct GitOutput {
    /// Exit status.
    pub status: ExitStatus,
    /// Everything it printed.
    pub stdout: Vec<u8>,
    /// Everything it complained about, trimmed.
    pub stderr: String,
}

impl GitOutput {
    /// Everything it printed; anything but exit code 0 is an error.
    pub(crate) fn answer(self, command: String) -> Result<Vec<u8>, GitError> {
        if self.status.success() {
            return Ok(self.stdout);
        }
        Err(GitError::Failed {
            command,
            status: self.status,
            stderr: self.stderr,
        })
    }
}

/// A git process that was started.
#[derive(Debug)]
pub struct Started {
    child: Child,
    command: String,
    timeout: Duration,
}

impl Started {
    /// Waits for the whole answer; anything but exit code 0 is an error.
    pub fn answer(self) -> Result<Vec<u8>, GitError> {
        let command = self.command.clone();
        self.finish(&[], u64::MAX)?.answer(command)
    }

    /// Gives git its input and waits for its answer; reads at most `most` bytes of it.
    fn finish(mut self, input: &[u8], most: u64) -> Result<GitOutput, GitError> {
        let deadline = Instant::now() + self.timeout;
        let outputs = converse(&mut self.child, input, most, deadline);
        let ended =
            outputs.and_then(|outputs| Ok((outputs, wait_until(&mut self.child, deadline)?)));
        reached(Point::GitEnded);
        match ended {
            Ok((Some((stdout, stderr)), Some(status))) => Ok(GitOutput {
                status,
                stdout,
                stderr: String::from_utf8_lossy(&stderr).trim().to_owned(),
            }),
            Ok(_timed_out) => {
                end(&mut self.child);
                Err(GitError::TimedOut {
                    command: self.command,
                    seconds: self.timeout.as_secs(),
                })
            }
            Err(source) => {
                end(&mut self.child);
                Err(GitError::Pipe {
                    command: self.command,
                    source,
                })
            }
        }
    }
}

impl Git {
    /// Git on a repository with a work tree.
    pub fn on_work_tree(git_dir: &Path, work_tree: &Path, timeout: Duration) -> Self {
        Self {
            work_tree: Some(work_tree.to_owned()),
            current_dir: work_tree.to_owned(),
            ..Self::on_bare(git_dir, timeout)
        }
    }

    /// Git on a bare repository.
    pub fn on_bare(git_dir: &Path, timeout: Duration) -> Self {
        Self {
            directory: git_dir.to_owned(),
            work_tree: None,
            current_dir: git_dir.to_owned(),
            index: None,
            object_directory: None,
            timeout,
            marker: None,
            own_config: false,
            synced: true,
            committer: None,
            attributes: None,
            shallow: None,
        }
    }

    fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut git = self.clone();
        change(&mut git);
        git
    }

    /// How long it may take.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The git directory it works on.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The same with another work tree.
    #[must_use]
    pub fn with_work_tree(&self, work_tree: &Path) -> Self {
        Self {
            work_tree: Some(work_tree.to_owned()),
            current_dir: work_tree.to_owned(),
            ..self.clone()
        }
    }

    /// The same with another index file.
    #[must_use]
    pub fn with_index(&self, index: &Path) -> Self {
        self.with(|git| git.index = Some(index.to_owned()))
    }

    /// The index it works with, if it is not the repository's.
    pub fn index(&self) -> Option<&Path> {
        self.index.as_deref()
    }

    /// Git that writes objects to `own`, and reads them from `also` too.
    #[must_use]
    pub fn with_objects(&self, own: &Path, also: Option<&Path>) -> Self {
        self.with(|git| git.object_directory = Some((own.to_owned(), also.map(Path::to_owned))))
    }

    /// Where it writes objects.
    pub fn objects(&self) -> PathBuf {
        match &self.object_directory {
            Some((own, _)) => own.clone(),
            None => self.directory.join("objects"),
        }
    }

    /// Git that reads the repository's own configuration only.
    #[must_use]
    pub fn with_own_config(&self) -> Self {
        self.with(|git| git.own_config = true)
    }

    /// Git that syncs nothing: for writes that a barrier follows before anything depends
    /// on it. Never for refs and HEAD of the user's: those must not be empty after an outage.
    #[must_use]
    pub fn unsynced(&self) -> Self {
        self.with(|git| git.synced = false)
    }

    /// Git with another timeout.
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        Self {
            timeout,
            ..self.clone()
        }
    }

    /// Git with more time, for steps whose cost grows with the work tree.
    #[must_use]
    pub fn patient(&self) -> Self {
        self.with(|git| git.timeout = git.timeout.saturating_mul(40))
    }

    /// Git with this committer.
    #[must_use]
    pub fn with_committer(&self, committer: Committer) -> Self {
        self.with(|git| git.committer = Some(committer))
    }

    /// Git that reads attributes from a tree, and not from files.
    #[must_use]
    pub fn with_attributes_of(&self, tree: &'static str) -> Self {
        self.with(|git| git.attributes = Some(tree))
    }

    /// Git that reads from this file where history ends; it need not exist.
    #[must_use]
    pub fn with_shallow(&self, file: &Path) -> Self {
        self.with(|git| git.shallow = Some(file.to_owned()))
    }

    /// The same with the marker that lets the next start find processes of a crashed run.
    #[must_use]
    pub fn with_marker(&self, run: &str) -> Self {
        self.with(|git| git.marker = Some(run.to_owned()))
    }

    /// Runs git; anything but exit code 0 is an error.
    pub fn run(&self, args: impl Args) -> Result<Vec<u8>, GitError> {
        self.succeed(&own(args), &[])
    }

    /// Runs git with bytes on stdin; anything but exit code 0 is an error.
    pub fn run_with_input(&self, args: impl Args, input: &[u8]) -> Result<Vec<u8>, GitError> {
        self.succeed(&own(args), input)
    }

    fn succeed(&self, args: &[OsString], input: &[u8]) -> Result<Vec<u8>, GitError> {
        self.output(args, input)?.answer(shown(args))
    }

    /// Runs git and gives its one-line answer.
    pub fn line(&self, args: impl Args) -> Result<String, GitError> {
        let answer = self.succeed(&own(args), &[])?;
        Ok(String::from_utf8_lossy(&answer).trim_end().to_owned())
    }

    /// Runs git and gives the object id it answers.
    pub fn id(&self, args: impl Args) -> Result<ObjectId, GitError> {
        self.id_with_input(args, &[])
    }

    /// The same with bytes on stdin.
    pub fn id_with_input(&self, args: impl Args, input: &[u8]) -> Result<ObjectId, GitError> {
        let args = own(args);
        let answer = self.succeed(&args, input)?;
        ObjectId::parse(answer.trim_ascii()).ok_or_else(|| GitError::Unexpected {
            command: shown(&args),
            answer: String::from_utf8_lossy(&answer).trim_end().to_owned(),
        })
    }

    /// Runs git; returns at most `most` bytes of its answer, and whether there was more.
    pub fn run_up_to(&self, args: impl Args, most: usize) -> Result<(Vec<u8>, bool), GitError> {
        let args = own(args);
        let mut output = self.output_up_to(&args, &[], most as u64 + 1)?;
        // Git fails once its output is no longer read.
        let is_cut = output.stdout.len() > most;
        if !is_cut {
            return Ok((output.answer(shown(&args))?, false));
        }
        output.stdout.truncate(most);
        Ok((output.stdout, true))
    }

    /// Runs git and gives back whatever happened, so that the caller can tell exit codes apart.
    pub fn output(&self, args: &[OsString], input: &[u8]) -> Result<GitOutput, GitError> {
        self.output_up_to(args, input, u64::MAX)
    }

    fn output_up_to(
        &self,
        args: &[OsString],
        input: &[u8],
        most: u64,
    ) -> Result<GitOutput, GitError> {
        self.start(args)?.finish(input, most)
    }

    /// Starts git and returns at once; [`Started::answer`] waits for its answer.
    pub fn start(&self, args: impl Args) -> Result<Started, GitError> {
        let args = own(args);
        let child = self.command(&args).spawn().map_err(GitError::Spawn)?;
        reached(Point::GitStarted);
        Ok(Started {
            child,
            command: shown(&args),
            timeout: self.timeout,
        })
    }

    fn command(&self, args: &[OsString]) -> Command {
        let mut command = Command::new("git");
        command
            .env("GIT_DIR", &self.directory)
            .current_dir(&self.current_dir);
        harden(&mut command);
        let durable = if self.synced && durability::is_on() {
            SYNCED
        } else {
            UNSYNCED
        };
        for setting in CONFIG.iter().chain(durable) {
            command.arg("-c").arg(setting);
        }
        if !cfg!(target_os = "macos") {
            // A case-only rename loses the file when git believes the file system folds case.
            command.args(["-c", "core.ignoreCase=false"]);
        }
        command.args(args);
        if let Some(work_tree) = &self.work_tree {
            command.env("GIT_WORK_TREE", work_tree);
        }
        if let Some(index) = &self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        if let Some((own, also)) = &self.object_directory {
            command.env("GIT_OBJECT_DIRECTORY", own);
            if let Some(also) = also {
                command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(also));
            }
        }
        if self.own_config {
            command
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_CONFIG_NOSYSTEM", "1");
        }
        if let Some(marker) = &self.marker {
            command.env("RALPHTOOL_RUN", marker);
        }
        if let Some(committer) = &self.committer {
            command
                .env("GIT_COMMITTER_NAME", &committer.name)
                .env("GIT_COMMITTER_EMAIL", &committer.mail)
                .env("GIT_COMMITTER_DATE", &committer.date);
        }
        if let Some(tree) = self.attributes {
            command.env("GIT_ATTR_SOURCE", tree);
        }
        if let Some(file) = &self.shallow {
            command.env("GIT_SHALLOW_FILE", file);
        }
        command
    }
}

/// What `git --version` says; works anywhere.
pub fn version() -> Result<String, GitError> {
    let mut command = Command::new("git");
    command.arg("--version");
    harden(&mut command);
    command.stdin(Stdio::null());
    let output = command.output().map_err(GitError::Spawn)?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Takes away what could redirect git, and everything it could ask or start.
pub fn harden(command: &mut Command) {
    for name in SCRUBBED {
        if std::env::var_os(name).is_some() && !command_sets(command, name) {
            command.env_remove(name);
        }
    }
    command
        .env("LC_ALL", "C")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_EDITOR", ":")
        .env("GIT_ASKPASS", "true")
        .env("GIT_OPTIONAL_LOCKS", "0")
        // A replacement an agent made must not change what a commit is.
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
}

fn command_sets(command: &Command, name: &str) -> bool {
    command
        .get_envs()
        .any(|(key, value)| key == name && value.is_some())
}

/// Alternates are separated by colons; a quoted path may hold one.
fn quoted(path: &Path) -> OsString {
    let bytes = path.as_os_str().as_bytes();
    if !bytes.contains(&b':') && !bytes.contains(&b'"') {
        return path.as_os_str().to_owned();
    }
    let mut text = vec![b'"'];
    for byte in bytes {
        if *byte == b'"' || *byte == b'\\' {
            text.push(b'\\');
        }
        text.push(*byte);
    }
    text.push(b'"');
    OsStr::from_bytes(&text).to_owned()
}

/// Ends a git process: a killed git leaves its locks behind, one that is asked does not.
fn end(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, Signal::TERM);
    }
    if let Ok(Some(_)) = wait_until(child, Instant::now() + TERMINATION_GRACE) {
        return;
    }
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

/// The exit status, or none if the process still runs at the deadline.
fn wait_until(child: &mut Child, deadline: Instant) -> std::io::Result<Option<ExitStatus>> {
    // Git has closed its outputs as a rule and ends within a fraction of a millisecond.
    let mut pause = Duration::from_micros(20);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn own(args: impl Args) -> Vec<OsString> {
    args.into_iter()
        .map(|arg| arg.as_ref().to_owned())
        .collect()
}

fn shown(args: &[OsString]) -> String {
    let words: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
    words.join(" ").chars().take(200).collect()
}

/// Splits NUL-separated output.
pub fn nul_separated(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output
        .split(|byte| *byte == 0)
        .filter(|part| !part.is_empty())
}
