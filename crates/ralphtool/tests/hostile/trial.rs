//! One hostile program in a repository of its own, and everything that must hold after it.

use std::fmt::{self, Write as _};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::misdeed::{Exception, FUNCTIONS, Program};
use crate::sandbox::{GOOD, Sandbox, everything, listing};

/// No command may take longer, on however loaded a machine.
const BOUND: Duration = Duration::from_secs(90);

/// A file this large is not read to be compared.
const LARGE: u64 = 64 * 1024 * 1024;

/// What did not hold.
#[derive(Debug)]
pub(crate) struct Violation {
    /// Which rule: a short name.
    pub(crate) rule: &'static str,
    details: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.details)
    }
}

/// A repository to copy: to make it takes longer than to try a program out.
pub(crate) struct Template {
    sandbox: Sandbox,
}

impl Template {
    /// A dirty repository with packs, packed and loose refs, a stash, hooks in a subfolder, a
    /// submodule, a commit-graph and all sorts of files.
    pub(crate) fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("outside/file.txt", "outside\n");
        fs::rename(sandbox.repo.join("outside"), sandbox.root.join("outside")).unwrap();
        let script = r"
            git init -q -b main ../module; cd ../module; echo m > m.txt; git add m.txt; git commit -q -m module; cd ../repo
            printf '*.dat -text\n' > .gitattributes
            mkdir -p dir/inner; printf '*.tmp\n' > dir/inner/.gitignore; echo i > dir/inner/i.txt
            ln -s a.txt link; echo x > run.sh; chmod 755 run.sh
            git -c protocol.file.allow=always submodule --quiet add ../module module
            git add -A; git commit -q -m second
            git branch side; git tag v1; git tag -a -m two v2
            git repack -q -a -d; git pack-refs --all; git branch loose
            git commit-graph write; git multi-pack-index write
            echo s > a.txt; git stash push -q -- a.txt; echo t > a.txt; git stash push -q -- a.txt
            mkdir -p .git/hooks/pre-commit.d .git/branches .git/info
            printf '#!/bin/sh\n' > .git/hooks/pre-commit.d/lint; chmod 755 .git/hooks/pre-commit.d/lint
            echo description > .git/description
        ";
        let mut shell = sandbox.command("sh");
        shell.args(["-ec", script]).stdout(Stdio::null());
        assert!(shell.status().unwrap().success());
        sandbox.make_dirty();
        Self { sandbox }
    }

    /// A copy that belongs to a user who is not root, with a folder of others' files beside it.
    fn copy(&self) -> Sandbox {
        let sandbox = Sandbox::bare_folder();
        let from = self.sandbox.root.display();
        let to = sandbox.root.display();
        let script = format!(
            "cp -a {from}/repo/. {to}/repo; cp -a {from}/module {to}/module
             mkdir -p {to}/outside/folder/hooks {to}/outside/folder/heads {to}/elsewhere
             cd {to}/outside; echo outside > file.txt; chmod 640 file.txt
             for name in exclude HEAD config index main stash pre-commit hooks/pre-push heads/main b.txt i.txt; do
                 echo $name > folder/$name
             done
             chmod 600 folder/HEAD; chmod 750 folder
             cd ../repo; git worktree add -q -b linked ../linked 2> ../tmp/said || cat ../tmp/said >&2"
        );
        let mut shell = sandbox.command("sh");
        assert!(shell.args(["-ec", &script]).status().unwrap().success());
        sandbox.config("");
        sandbox.given_away()
    }
}

/// Carries a program out; gives the first thing that did not hold.
pub(crate) fn try_out(template: &Template, program: &Program) -> Option<Violation> {
    let trial = Trial {
        sandbox: template.copy(),
        exceptions: program.exceptions(),
    };
    trial.carry_out(program).err()
}

struct Trial {
    sandbox: Sandbox,
    exceptions: Vec<Exception>,
}

type Checked<T = ()> = Result<T, Violation>;

impl Trial {
    fn carry_out(&self, program: &Program) -> Checked {
        let sandbox = &self.sandbox;
        let outside = listing(&sandbox.root.join("outside"));
        let before = self.state(&sandbox.repo)?;
        // The box is ticked first: the task file may be 200 GB long afterwards.
        let (start, end) = if program.succeeds {
            (
                "tick \"$RALPHTOOL_STORY\"",
                "cd \"$repo\"; echo work > \"story-$RALPHTOOL_STORY.txt\"; complete",
            )
        } else {
            ("", "failed no")
        };
        sandbox.agent(&format!(
            "{FUNCTIONS}\ncp -a . \"$root/at-checkpoint\"\n{start}\n{}\ncd \"$root\"\n{end}",
            program.lines()
        ));
        let ended = self.command(&["loop", "c", "--story", "1", "--max-retries", "0"])?;
        self.check_outside(&outside)?;
        if self.is(Exception::ObjectsInPlace) {
            return Ok(());
        }
        if program.succeeds {
            // What it did to its own plan may keep the story from counting.
            expect("stuck", &ended, &[0, 1])?;
        } else {
            expect("stuck", &ended, &[1])?;
        }
        if ended.code == 1 {
            let wanted = self.state(&sandbox.root.join("at-checkpoint"))?;
            compare("restore", &wanted, &self.state(&sandbox.repo)?)?;
            self.check_git()?;
        }
        sandbox.agent(GOOD);
        let resumed = self.command(&["resume", "--max-retries", "0"])?;
        self.check_outside(&outside)?;
        if !program.succeeds {
            expect("resume", &resumed, &[0])?;
        }
        let ended = self.command(&["finish", "--abandon"])?;
        self.check_outside(&outside)?;
        expect("abandon", &ended, &[0])?;
        compare("abandon", &before, &self.state(&sandbox.repo)?)?;
        self.check_git()
    }

    fn is(&self, exception: Exception) -> bool {
        self.exceptions.contains(&exception)
    }

    /// Runs the program; one that takes too long is ended.
    fn command(&self, args: &[&str]) -> Checked<Ended> {
        let mut command = self.sandbox.command(self.sandbox.program());
        command.args(args);
        run(command, args).map_err(|details| Violation {
            rule: "hang",
            details,
        })
    }

    fn git(&self, args: &[&str]) -> Checked<Ended> {
        let mut command = self.sandbox.command("git");
        command.args(args);
        let ended = run(command, args).map_err(|details| Violation {
            rule: "git",
            details,
        })?;
        expect("git", &ended, &[0])?;
        Ok(ended)
    }

    /// Git itself can work here, and finds no damage.
    fn check_git(&self) -> Checked {
        self.git(&["status"])?;
        if !self.is(Exception::OtherWorkTrees) {
            self.git(&["fsck", "--no-dangling", "--connectivity-only"])?;
        }
        Ok(())
    }

    /// Nothing of others' has changed.
    fn check_outside(&self, before: &std::collections::BTreeMap<String, String>) -> Checked {
        if self.is(Exception::ReachesOutside) {
            return Ok(());
        }
        let folder = self.sandbox.root.join("outside");
        if find_odd(&folder).is_some() {
            return compare("outside", "", "something that cannot be read");
        }
        let now = listing(&folder);
        if &now == before {
            return Ok(());
        }
        let text = |all: &std::collections::BTreeMap<String, String>| {
            all.iter().fold(String::new(), |mut text, (path, state)| {
                let _ = writeln!(text, "{path}: {state}");
                text
            })
        };
        compare("outside", &text(before), &text(&now))
    }

    /// Cache folders are left as an attempt left them, and our own token comes with the first run.
    fn is_left_out(&self, line: &str) -> bool {
        let is_cache = line.starts_with("target") || line.starts_with("!! target/");
        let is_other = line.starts_with(".git/worktrees") && self.is(Exception::OtherWorkTrees);
        let is_unknown = self.exceptions.iter().any(|it| match it {
            Exception::UnknownFile(number) => line.starts_with(&format!(".git/{number}: file")),
            _ => false,
        });
        is_cache || is_other || is_unknown || line.starts_with(".git/ralphtool.id")
    }

    /// Everything of a repository that must be exact: what git says, every file, and the modes of
    /// the top folder and of folders in the git directory.
    fn state(&self, repo: &Path) -> Checked<String> {
        let odd = find_odd(repo).map(|path| {
            let path: String = path.display().to_string().chars().take(200).collect();
            format!("`{path}` cannot be read")
        });
        if let Some(details) = odd {
            return Err(Violation {
                rule: "restore",
                details,
            });
        }
        let mut text = String::new();
        for path in [
            "",
            ".git",
            ".git/hooks",
            ".git/hooks/pre-commit.d",
            ".git/info",
            ".git/logs",
            ".git/modules",
            ".git/objects",
            ".git/refs",
            ".git/worktrees",
        ] {
            let told = fs::symlink_metadata(repo.join(path)).map(|it| (it.file_type(), it));
            let told = told.map(|(kind, it)| {
                use std::os::unix::fs::MetadataExt;
                format!("{kind:?} {:o}", it.mode() & 0o7777)
            });
            let _ = writeln!(text, "{path}/: {}", told.unwrap_or_default());
        }
        text.push_str(&everything(repo));
        let linked = listing(&self.sandbox.root.join("linked"));
        let _ = writeln!(text, "linked work tree: {linked:?}");
        Ok(text.lines().filter(|line| !self.is_left_out(line)).fold(
            String::new(),
            |mut text, line| {
                text.push_str(line);
                text.push('\n');
                text
            },
        ))
    }
}

/// Something that cannot be read whole to be compared: a huge file, or a path without an end.
fn find_odd(folder: &Path) -> Option<PathBuf> {
    let Ok(listing) = fs::read_dir(folder) else {
        return Some(folder.to_owned());
    };
    listing.flatten().find_map(|entry| {
        let Ok(metadata) = fs::symlink_metadata(entry.path()) else {
            return Some(entry.path());
        };
        if metadata.is_dir() {
            return find_odd(&entry.path());
        }
        (metadata.is_file() && metadata.len() > LARGE).then(|| entry.path())
    })
}

/// How a command ended.
struct Ended {
    command: String,
    code: i32,
    said: String,
}

fn run(mut command: Command, args: &[&str]) -> Result<Ended, String> {
    let said = tempfile::NamedTempFile::new().unwrap();
    let append = fs::OpenOptions::new()
        .append(true)
        .open(said.path())
        .unwrap();
    let other = append.try_clone().unwrap();
    let child = command
        .stdin(Stdio::null())
        .stdout(append)
        .stderr(other)
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            // No command can start in a folder that is locked or gone.
            return Ok(Ended {
                command: args.join(" "),
                code: -1,
                said: error.to_string(),
            });
        }
    };
    let status = wait(&mut child);
    let said = String::from_utf8_lossy(&fs::read(said.path()).unwrap()).into_owned();
    match status {
        Some(status) => Ok(Ended {
            command: args.join(" "),
            code: status.code().unwrap_or(128),
            said,
        }),
        None => Err(format!(
            "`{}` took more than {BOUND:?}\n{said}",
            args.join(" ")
        )),
    }
}

fn wait(child: &mut Child) -> Option<std::process::ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        if start.elapsed() > BOUND {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(4));
    }
}

fn expect(rule: &'static str, ended: &Ended, codes: &[i32]) -> Checked {
    if codes.contains(&ended.code) {
        return Ok(());
    }
    let said: Vec<&str> = ended.said.lines().rev().take(12).collect();
    let said: Vec<&str> = said.into_iter().rev().collect();
    Err(Violation {
        rule,
        details: format!(
            "`{}` ended with {}:\n{}",
            ended.command,
            ended.code,
            said.join("\n")
        ),
    })
}

/// Shows the lines that differ.
fn compare(rule: &'static str, before: &str, now: &str) -> Checked {
    if before == now {
        return Ok(());
    }
    let mut details = String::from("differs from before\n");
    let missing = |from: &str, text: &str| -> Vec<String> {
        let lines: std::collections::HashSet<&str> = text.lines().collect();
        let gone = from.lines().filter(|line| !lines.contains(line));
        gone.take(8)
            .map(|line| line.chars().take(200).collect())
            .collect()
    };
    for line in missing(before, now) {
        let _ = writeln!(details, "  - {line}");
    }
    for line in missing(now, before) {
        let _ = writeln!(details, "  + {line}");
    }
    Err(Violation { rule, details })
}
