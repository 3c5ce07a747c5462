//! The repositories: each contender gets its own, re-created before every run, and sees nothing of
//! the user's home or git configuration.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::agent::OPEN;
use crate::command::must;
use crate::repository::Repository;
use crate::{Result, interrupt};

/// The change that is worked through.
pub(crate) const CHANGE: &str = "bench";

/// The task file of the change.
pub(crate) const TASKS: &str = "openspec/changes/bench/tasks.md";

/// Git looks after each commit whether there is something to tidy up, as it does by default; what it
/// then did in the background would run into the turn of the next contender, so it never finds any.
const GIT_CONFIG: &str = "[user]\n\tname = Bench\n\temail = bench@example.invalid\n\
    [init]\n\tdefaultBranch = main\n[gc]\n\tauto = 100000000\n";

const PROPOSAL: &str = "## Why\n\nTo measure.\n";

const SPEC: &str = "## ADDED Requirements\n\n### Requirement: Files\n\
    Every story SHALL write its file.\n\n\
    #### Scenario: A story is done\n- **WHEN** a story is done\n- **THEN** its file is there\n";

/// Files younger than two seconds may change unseen, so `ralphtool` and git read them again: a tree
/// that was written just now would be read whole once, which no tree of a user's is.
const SETTLE: Duration = Duration::from_secs(3);

/// Where the folder `.git` is kept as it was when it was new.
const PRISTINE: &str = "pristine";

/// What earlier runs left.
const ASIDE: &str = "aside";

/// A repository with a home of its own, in a folder that goes with it.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    /// Makes a repository of files.
    pub(crate) fn make(
        parent: &Path,
        files: impl Iterator<Item = (PathBuf, String)>,
    ) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("ralphtool-bench-")
            .tempdir_in(parent)?;
        let place = Self { folder };
        fs::create_dir_all(place.repository())?;
        place.make_home()?;
        must(place.command("git").args(["init", "-q"]))?;
        place.import(files)?;
        must(place.command("git").args(["reset", "-q", "--hard"]))?;
        copy(&place.repository().join(".git"), &place.beside(PRISTINE))?;
        place.settle()?;
        Ok(place)
    }

    /// Makes everything as it was when it was new, and waits until it is on disk.
    pub(crate) fn renew(&self) -> Result<()> {
        interrupt::check()?;
        // Moved aside, not removed: when ext4 creates a file, it skips inodes freed within the last
        // half minute one by one, which would slow down the loop that creates most files.
        let aside = self.beside(ASIDE);
        fs::create_dir_all(&aside)?;
        let aside = aside.join(fs::read_dir(&aside)?.count().to_string());
        fs::create_dir(&aside)?;
        for entry in fs::read_dir(self.folder.path())? {
            let entry = entry?;
            let path = entry.path();
            if path != self.repository() && ![PRISTINE, ASIDE].iter().any(|it| path.ends_with(it)) {
                fs::rename(path, aside.join(entry.file_name()))?;
            }
        }
        self.make_home()?;
        let git = self.repository().join(".git");
        let index = self.beside("index");
        // What git knows of the files stays; all else is as it was.
        fs::rename(git.join("index"), &index)?;
        fs::rename(&git, aside.join("git"))?;
        copy(&self.beside(PRISTINE), &git)?;
        fs::rename(index, git.join("index"))?;
        for line in ["reset -q --hard", "clean -q -f -f -d -x"] {
            must(self.command("git").args(line.split(' ')))?;
        }
        self.settle()
    }

    /// Else the first contender that makes its work durable writes what we did, and the first that
    /// looks at files reads those that are as young as what git knows of them.
    fn settle(&self) -> Result<()> {
        std::thread::sleep(SETTLE);
        interrupt::check()?;
        let refresh = "update-index -q --no-untracked-cache --force-write-index --refresh";
        must(self.command("git").args(refresh.split(' ')))?;
        rustix::fs::sync();
        Ok(())
    }

    /// Commits files that are not there yet: much faster than to write and add them.
    fn import(&self, files: impl Iterator<Item = (PathBuf, String)>) -> Result<()> {
        let mut git = self.command("git");
        git.args(["fast-import", "--quiet", "--date-format=now"])
            .stdin(Stdio::piped());
        let mut child = git.spawn()?;
        if let Some(pipe) = child.stdin.take() {
            let mut pipe = BufWriter::new(pipe);
            let who = "committer Bench <bench@example.invalid> now";
            writeln!(pipe, "commit refs/heads/main\n{who}\ndata 5\nstart")?;
            for (path, text) in files {
                writeln!(pipe, "M 100644 inline {}", path.display())?;
                writeln!(pipe, "data {}\n{text}", text.len())?;
            }
            writeln!(pipe, "done")?;
            pipe.flush()?;
        }
        let status = child.wait()?;
        if !status.success() {
            return Err(format!("`git fast-import` ended with {status}").into());
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

    fn make_home(&self) -> Result<()> {
        fs::create_dir_all(self.home())?;
        Ok(fs::write(self.home().join(".gitconfig"), GIT_CONFIG)?)
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
            .env("RALPHTOOL_TRUST", "1")
            .env("TMPDIR", self.folder.path())
            .env("LC_ALL", "C");
        command
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    must(Command::new("cp").arg("-pR").arg(from).arg(to))
}

/// The files of a repository, and a change with all its stories.
pub(crate) fn files(repository: &Repository) -> impl Iterator<Item = (PathBuf, String)> {
    let sources = (0..repository.files).map(|number| {
        let text = format!("file {number}\n").repeat(10);
        (repository.path(number), text)
    });
    let change = PathBuf::from("openspec/changes").join(CHANGE);
    let plan = [
        (change.join("proposal.md"), PROPOSAL.to_owned()),
        (change.join("specs/files/spec.md"), SPEC.to_owned()),
        (
            TASKS.into(),
            tasks(repository.stories + repository.restores),
        ),
    ];
    sources.chain(plan)
}

/// A task file with `stories` stories.
pub(crate) fn tasks(stories: usize) -> String {
    let mut text = String::new();
    for story in 1..=stories {
        let _ = writeln!(
            text,
            "## {story}. Story {story}\n\n{OPEN}{story}.1 Write its file\n"
        );
    }
    text
}
