//! The repositories: one is made, every run gets a fresh copy, and nothing of the user's home or
//! git configuration is seen.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::Result;
use crate::agent::OPEN;
use crate::command::must;
use crate::repository::Repository;

/// The change that is worked through.
pub(crate) const CHANGE: &str = "bench";

/// The task file of the change.
pub(crate) const TASKS: &str = "openspec/changes/bench/tasks.md";

const GIT_CONFIG: &str = "[user]\n\tname = Bench\n\temail = bench@example.invalid\n\
    [init]\n\tdefaultBranch = main\n";

const SPEC: &str = "## ADDED Requirements\n\n### Requirement: Files\n\
    Every story SHALL write its file.\n\n\
    #### Scenario: A story is done\n- **WHEN** a story is done\n- **THEN** its file is there\n";

/// Files younger than two seconds may change unseen, so `ralphtool` reads them again: a tree that
/// was copied just now would be read whole once, which no tree of a user's is.
const SETTLE: Duration = Duration::from_secs(3);

/// The repository all runs are copied from, in a folder of our own.
pub(crate) struct Fixture {
    place: Place,
}

/// A repository with a home of its own.
pub(crate) struct Place {
    folder: TempDir,
}

impl Fixture {
    /// Makes the repository.
    pub(crate) fn make(repository: &Repository, folder: &Path) -> Result<Self> {
        let place = Place::empty(folder)?;
        write_files(&place.repository(), repository)?;
        place.commit_all()?;
        Ok(Self { place })
    }

    /// Copies everything; the copy is clean to git and already on disk.
    pub(crate) fn copy(&self) -> Result<Place> {
        let folder = tempfile::Builder::new()
            .prefix("run-")
            .tempdir_in(self.place.folder.path())?;
        let place = Place { folder };
        for name in ["home", "repository"] {
            let mut copy = Command::new("cp");
            copy.arg("-pR").arg(self.place.beside(name));
            must(copy.arg(place.folder.path()))?;
        }
        must(
            place
                .command("git")
                .args(["update-index", "-q", "--refresh"]),
        )?;
        settle();
        Ok(place)
    }
}

impl Place {
    /// A folder of our own with nothing but a home.
    pub(crate) fn empty(parent: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("ralphtool-bench-")
            .tempdir_in(parent)?;
        let place = Self { folder };
        fs::create_dir_all(place.home())?;
        fs::create_dir_all(place.repository())?;
        fs::write(place.home().join(".gitconfig"), GIT_CONFIG)?;
        Ok(place)
    }

    /// Makes a repository of what is there.
    pub(crate) fn commit_all(&self) -> Result<()> {
        for line in ["init -q", "add -A", "commit -q -m start", "repack -a -d -q"] {
            must(self.command("git").args(line.split(' ')))?;
        }
        Ok(())
    }

    /// The repository.
    pub(crate) fn repository(&self) -> PathBuf {
        self.beside("repository")
    }

    /// A file beside the repository.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn home(&self) -> PathBuf {
        self.beside("home")
    }

    /// A command in the repository that sees nothing of the user's.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.repository())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("XDG_STATE_HOME", self.beside("state"))
            .env("XDG_CONFIG_HOME", self.home().join(".config"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("TMPDIR", self.folder.path())
            .env("LC_ALL", "C");
        command
    }
}

/// Waits until all is on disk, else the first contender that makes its work durable writes what we
/// did; and until the files are older than what follows.
pub(crate) fn settle() {
    rustix::fs::sync();
    std::thread::sleep(SETTLE);
}

fn write_files(top: &Path, repository: &Repository) -> Result<()> {
    for number in 0..repository.files {
        let file = top.join(repository.path(number));
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, format!("file {number}\n").repeat(10))?;
    }
    let change = top.join("openspec/changes").join(CHANGE);
    fs::create_dir_all(change.join("specs/files"))?;
    fs::write(change.join("proposal.md"), "## Why\n\nTo measure.\n")?;
    fs::write(change.join("specs/files/spec.md"), SPEC)?;
    let mut tasks = String::new();
    for story in 1..=repository.stories + repository.restores {
        let _ = writeln!(
            tasks,
            "## {story}. Story {story}\n\n{OPEN}{story}.1 Write its file\n"
        );
    }
    Ok(fs::write(top.join(TASKS), tasks)?)
}
