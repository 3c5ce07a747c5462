//! The repositories: one is made, every run gets a fresh copy, and nothing of the user's home or
//! git configuration is seen.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::agent::OPEN;
use crate::options::Options;
use crate::{Result, contender};

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

/// Files in one folder of the repository.
const FOLDER: usize = 100;

/// A folder of our own with the repository all runs are copied from.
pub(crate) struct Fixture {
    folder: TempDir,
    /// Stories of the change.
    pub(crate) stories: usize,
}

/// A fresh repository with a home of its own.
pub(crate) struct Place {
    folder: TempDir,
}

impl Fixture {
    /// Makes the repository.
    pub(crate) fn make(options: &Options) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("ralphtool-bench-")
            .tempdir_in(&options.folder)?;
        let place = Place { folder };
        fs::create_dir_all(place.home())?;
        fs::write(place.home().join(".gitconfig"), GIT_CONFIG)?;
        write_files(&place.repository(), options)?;
        for line in ["init -q", "add -A", "commit -q -m start", "repack -a -d -q"] {
            contender::must(place.command("git").args(line.split(' ')))?;
        }
        let Place { folder } = place;
        let stories = options.stories;
        Ok(Self { folder, stories })
    }

    /// Copies everything; the copy is clean to git and already on disk.
    pub(crate) fn copy(&self) -> Result<Place> {
        let folder = tempfile::Builder::new()
            .prefix("run-")
            .tempdir_in(self.folder.path())?;
        let place = Place { folder };
        for name in ["home", "repository"] {
            let mut copy = Command::new("cp");
            copy.arg("-pR").arg(self.folder.path().join(name));
            contender::must(copy.arg(place.folder.path()))?;
        }
        contender::must(
            place
                .command("git")
                .args(["update-index", "-q", "--refresh"]),
        )?;
        // Else the first contender that makes its work durable writes our copy to disk.
        contender::must(&mut Command::new("sync"))?;
        std::thread::sleep(SETTLE);
        Ok(place)
    }
}

impl Place {
    /// The repository.
    pub(crate) fn repository(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    /// A file beside the repository.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// A command in the repository that sees nothing of the user's.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.repository())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .env("XDG_CONFIG_HOME", self.home().join(".config"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("TMPDIR", self.folder.path())
            .env("LC_ALL", "C");
        command
    }
}

fn write_files(top: &Path, options: &Options) -> Result<()> {
    for number in 0..options.files {
        let folder = top.join(format!(
            "source/{:02}/{:02}",
            number / FOLDER / FOLDER,
            number / FOLDER % FOLDER
        ));
        if number % FOLDER == 0 {
            fs::create_dir_all(&folder)?;
        }
        let text = format!("file {number}\n").repeat(10);
        fs::write(folder.join(format!("file-{number}.txt")), text)?;
    }
    let change = top.join("openspec/changes").join(CHANGE);
    fs::create_dir_all(change.join("specs/files"))?;
    fs::write(change.join("proposal.md"), "## Why\n\nTo measure.\n")?;
    fs::write(change.join("specs/files/spec.md"), SPEC)?;
    let mut tasks = String::new();
    for story in 1..=options.stories {
        let _ = writeln!(
            tasks,
            "## {story}. Story {story}\n\n{OPEN}{story}.1 Write its file\n"
        );
    }
    fs::write(top.join(TASKS), tasks)?;
    Ok(())
}
