//! Ways to kill the program: itself at one of its points, or from outside with everything it
//! started: its git processes, its watchdog, agents and gates.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::Sandbox;
use super::running::{Output, Running};

/// The exit code of a program that was killed.
pub(crate) const KILLED: i32 = 137;

/// When a command is killed, and what dies with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kill {
    /// At the n-th point of the program, which just a debug build can do.
    AtPoint { number: usize, with_children: bool },
    /// With everything it started, when git is about to make its n-th change to the disk.
    InGit(usize),
    /// With everything it started, after some time.
    After(Duration),
}

/// What a command can be killed at.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Measured {
    /// Points of the program; none in a release build.
    pub(crate) points: usize,
    /// Changes that git made to the disk; none where git cannot be stopped.
    pub(crate) changes: usize,
    pub(crate) length: Duration,
}

impl Sandbox {
    /// Runs a command to its end, or kills it.
    pub(crate) fn run_killed(&self, mut command: Command, kill: Option<Kill>) -> Output {
        let folder = self.root.join("kills");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        match kill {
            None => return self.start_command(command).end(),
            Some(Kill::AtPoint {
                number,
                with_children,
            }) => {
                command.env("RALPHTOOL_KILL_AT", number.to_string());
                if with_children {
                    command.env("RALPHTOOL_KILL_ALL", "1");
                }
                return self.start_command(command).end();
            }
            Some(Kill::InGit(number)) => count_changes(&mut command, &folder, number),
            Some(Kill::After(_)) => {}
        }
        let start = Instant::now();
        let mut running = self.start_command(command);
        while !running.is_over() {
            let is_time = match kill {
                Some(Kill::After(time)) => start.elapsed() >= time,
                _ => folder.join("stopped").exists(),
            };
            if is_time {
                running.kill_all();
                break;
            }
            std::thread::sleep(Duration::from_micros(300));
        }
        running.end()
    }

    /// Runs a command to its end, and measures what it could be killed at.
    pub(crate) fn run_measured(&self, mut command: Command) -> (Output, Measured) {
        let folder = self.root.join("kills");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        count_changes(&mut command, &folder, 0);
        command.env("RALPHTOOL_KILL_LOG", folder.join("points"));
        let start = Instant::now();
        let output = self.start_command(command).end();
        let read = |name: &str| fs::read(folder.join(name)).unwrap_or_default();
        let is_line_end = |byte: &&u8| **byte == b'\n';
        let measured = Measured {
            points: read("points").iter().filter(is_line_end).count(),
            changes: read("changes").len(),
            length: start.elapsed(),
        };
        (output, measured)
    }
}

/// Lets git count its changes to the disk, and stop before one of them.
fn count_changes(command: &mut Command, folder: &Path, stop_at: usize) {
    if let Some(library) = library() {
        command
            .env("LD_PRELOAD", library)
            .env("STOP_GIT_FOLDER", folder)
            .env("STOP_GIT_AT", stop_at.to_string());
    }
}

/// The library that stops git; none where there is no compiler, or programs are not made that way.
fn library() -> Option<&'static Path> {
    static LIBRARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sandbox/stop_git.c");
        let number = std::process::id();
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stop_git.so");
        let made = target.with_extension(number.to_string());
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-shared", "-fPIC", "-o"]);
        let status = compiler.arg(&made).arg(source).status().ok()?;
        // Another test process may use the one that is there.
        let is_made = status.success() && fs::rename(&made, &target).is_ok();
        is_made.then_some(target)
    });
    library.as_deref()
}

/// True where git can be stopped in the middle of its work.
pub(crate) fn can_stop_git() -> bool {
    library().is_some()
}
