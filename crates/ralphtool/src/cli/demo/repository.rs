//! The temporary folder: a repository with a change of three stories and some work that is not
//! committed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use ralph_base::files::{FileError, Tried, create_private_folder};
use ralph_vault::CheckpointError;
use ralph_vault::git::process::{GitError, harden};

pub(super) const CHANGE: &str = "friendly-greeting";
/// The branch the repository begins on.
pub(super) const ORIGINAL: &str = "main";
/// A file that "the user" has edited and not committed.
pub(super) const EDITED: &str = "README.md";
/// A file that "the user" has not added to git; the failing attempt deletes it.
pub(super) const UNTRACKED: &str = "ideas.txt";
/// What "the user" added to the edited file.
pub(super) const OWN_EDIT: &str = "\nNot finished: ask Grace which languages she needs.\n";
/// What is in the untracked file.
pub(super) const OWN_FILE: &str = "Greet pets, too?\n";

const README: &str = include_str!("files/README.md");

/// What is committed before the run.
const FILES: [(&str, &str); 5] = [
    (EDITED, README),
    ("greet.sh", include_str!("files/greet.sh")),
    ("checks.sh", include_str!("files/checks.sh")),
    ("greetings.txt", include_str!("files/greetings.txt")),
    ("ralphtool.toml", include_str!("files/ralphtool.toml")),
];

/// The documents of the change.
const DOCUMENTS: [(&str, &str); 4] = [
    ("proposal.md", include_str!("files/proposal.md")),
    ("design.md", include_str!("files/design.md")),
    ("specs/greeting/spec.md", include_str!("files/spec.md")),
    ("tasks.md", include_str!("files/tasks.md")),
];

/// Variables that make git ask for no identity and ignore the user's configuration.
pub(super) const IDENTITY: [(&str, &str); 6] = [
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_AUTHOR_NAME", "Demo"),
    ("GIT_AUTHOR_EMAIL", "demo@localhost"),
    ("GIT_COMMITTER_NAME", "Demo"),
    ("GIT_COMMITTER_EMAIL", "demo@localhost"),
];

/// Why the repository could not be made or read.
#[derive(Debug, thiserror::Error)]
pub(super) enum DemoError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Vault(#[from] CheckpointError),
}

/// While this file is beside the repository, the agent works at a speed that a person can follow.
const PACED: &str = "paced";

/// A temporary folder with a repository, removed when dropped unless it is kept.
#[derive(Debug)]
pub(super) struct DemoFolder {
    folder: TempDir,
    /// The folder itself, without links.
    pub(super) path: PathBuf,
    pub(super) repository: PathBuf,
}

impl DemoFolder {
    pub(super) fn create() -> Result<Self, DemoError> {
        let place = std::env::temp_dir();
        let folder = tempfile::Builder::new()
            .prefix("ralphtool-demo-")
            .tempdir_in(&place)
            .tried("make a folder in", &place)?;
        let path = folder.path().canonicalize().tried("find", folder.path())?;
        let demo = Self {
            repository: path.join("greeter"),
            path,
            folder,
        };
        demo.fill()?;
        Ok(demo)
    }

    /// Lets the folder stay.
    pub(super) fn keep(&mut self) {
        self.folder.disable_cleanup(true);
    }

    /// Makes the agent work at a speed that a person can follow.
    pub(super) fn pace(&self) -> Result<(), DemoError> {
        write(&self.path.join(PACED), "")
    }

    fn fill(&self) -> Result<(), DemoError> {
        let top = &self.repository;
        for (name, text) in FILES {
            write(&top.join(name), text)?;
        }
        let change = top.join("openspec/changes").join(CHANGE);
        for (name, text) in DOCUMENTS {
            write(&change.join(name), text)?;
        }
        git(top, &["init", "-q", "--template=", "-b", ORIGINAL])?;
        git(top, &["add", "--all"])?;
        git(top, &["commit", "-q", "-m", "Greet the world"])?;
        write(&top.join(EDITED), &format!("{README}{OWN_EDIT}"))?;
        write(&top.join(UNTRACKED), OWN_FILE)
    }
}

fn write(path: &Path, text: &str) -> Result<(), DemoError> {
    if let Some(folder) = path.parent() {
        create_private_folder(folder)?;
    }
    Ok(std::fs::write(path, text).tried("write", path)?)
}

/// Runs git in a folder of the demo.
pub(super) fn git(folder: &Path, args: &[&str]) -> Result<String, GitError> {
    let mut command = Command::new("git");
    harden(&mut command);
    command
        .args(args)
        .current_dir(folder)
        .envs(IDENTITY)
        .stdin(Stdio::null());
    let output = command.output().map_err(GitError::Spawn)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(GitError::Failed {
        command: args.join(" "),
        status: output.status,
        stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}
