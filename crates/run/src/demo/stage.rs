//! The throw-away folder: a repository with a change of three stories and some work that is not
//! committed, and beside it the place for private state, so that nothing else is written to.

use std::path::{Path, PathBuf};

use std::process::Command;
use tempfile::TempDir;

use super::{CHANGE, CHECKS, EDITED, ORIGINAL, SCRIPT, UNTRACKED};
use ralph_base::files::{FileError, Tried, create_private_folder};
use ralph_vault::git::process::{GitError, harden};

/// What is committed before the run, and where.
const FILES: [(&str, &str); 4] = [
    (EDITED, include_str!("files/README.md")),
    (SCRIPT, include_str!("files/greet.sh")),
    (CHECKS, include_str!("files/checks.sh")),
    ("ralphtool.toml", include_str!("files/ralphtool.toml")),
];

/// The documents of the change, and where in its folder.
const DOCUMENTS: [(&str, &str); 4] = [
    ("proposal.md", include_str!("files/proposal.md")),
    ("design.md", include_str!("files/design.md")),
    ("specs/greeting/spec.md", include_str!("files/spec.md")),
    ("tasks.md", include_str!("files/tasks.md")),
];

/// What "the user" added to the edited file.
pub(super) const OWN_EDIT: &str = "\nNot finished: ask Grace which languages she needs.\n";
/// What is in the file git has not been told about.
pub(super) const OWN_FILE: &str = "Greet pets, too?\n";

/// Why the repository could not be made.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The file system does not cooperate.
    #[error(transparent)]
    File(#[from] FileError),
    /// Git did not work.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// A throw-away folder with a repository, gone when dropped unless it is kept.
#[derive(Debug)]
pub struct Stage {
    folder: TempDir,
    /// The top of all, without links.
    pub path: PathBuf,
    /// The repository in it.
    pub repository: PathBuf,
    /// The place for private state.
    pub state: PathBuf,
}

impl Stage {
    /// Makes all of it.
    pub async fn make() -> Result<Self, StageError> {
        let place = std::env::temp_dir();
        let folder = tempfile::Builder::new()
            .prefix("ralphtool-demo-")
            .tempdir_in(&place)
            .tried("make a folder in", &place)?;
        let path = folder.path().canonicalize().tried("find", folder.path())?;
        let stage = Self {
            repository: path.join("greeter"),
            state: path.join("state"),
            path,
            folder,
        };
        stage.fill().await?;
        Ok(stage)
    }

    /// Lets the folder stay.
    pub fn keep(&mut self) {
        self.folder.disable_cleanup(true);
    }

    async fn fill(&self) -> Result<(), StageError> {
        let top = &self.repository;
        create_private_folder(top)?;
        for (name, text) in FILES {
            write(&top.join(name), text)?;
        }
        let change = top.join("openspec/changes").join(CHANGE);
        for (name, text) in DOCUMENTS {
            write(&change.join(name), text)?;
        }
        git(top, &["init", "-q", "--template=", "-b", ORIGINAL]).await?;
        git(top, &["add", "--all"]).await?;
        git(top, &["commit", "-q", "-m", "Greet the world"]).await?;
        let edited = format!("{}{OWN_EDIT}", include_str!("files/README.md"));
        write(&top.join(EDITED), &edited)?;
        write(&top.join(UNTRACKED), OWN_FILE)
    }
}

fn write(path: &Path, text: &str) -> Result<(), StageError> {
    if let Some(folder) = path.parent() {
        create_private_folder(folder)?;
    }
    Ok(std::fs::write(path, text).tried("write", path)?)
}

/// Runs git in a folder of the demo, as somebody whose configuration does not matter.
pub(super) async fn git(folder: &Path, args: &[&str]) -> Result<String, GitError> {
    let mut command = Command::new("git");
    harden(&mut command);
    command
        .args(args)
        .current_dir(folder)
        .envs(SOMEBODY)
        .stdin(std::process::Stdio::null());
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

/// Variables that make git ask for no identity and heed no configuration of the user's.
pub(super) const SOMEBODY: [(&str, &str); 6] = [
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_AUTHOR_NAME", "Demo"),
    ("GIT_AUTHOR_EMAIL", "demo@localhost"),
    ("GIT_COMMITTER_NAME", "Demo"),
    ("GIT_COMMITTER_EMAIL", "demo@localhost"),
];
