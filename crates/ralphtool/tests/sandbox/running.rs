//! The program while it runs, and what it left behind.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::{PATIENCE, until, until_within};

static STARTED: AtomicU32 = AtomicU32::new(0);

/// How a program ended and what it wrote.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Output {
    /// Its exit code; 128 and more for a signal, as a shell has it.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Output {
    /// Checks the exit code, and shows all output if it is another one.
    #[track_caller]
    pub(crate) fn ends_with(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}\n{}", self.stdout, self.stderr);
        self
    }
}

/// A program that runs; ended with the test, however that ends.
pub(crate) struct Running {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Running {
    /// Starts it with files for its output.
    pub(crate) fn start(mut command: Command, folder: &Path) -> Self {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let stdout = folder.join(format!("stdout.{number}"));
        let stderr = folder.join(format!("stderr.{number}"));
        let child = command
            .stdin(Stdio::null())
            .stdout(File::create(&stdout).unwrap())
            .stderr(File::create(&stderr).unwrap())
            .spawn()
            .unwrap();
        Self {
            child,
            stdout,
            stderr,
        }
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// The one process between it and its agents and gates.
    #[track_caller]
    pub(crate) fn supervisor(&self) -> i32 {
        until("the supervisor", || {
            match super::process::children(self.pid(), "__supervise")[..] {
                [supervisor] => Some(supervisor),
                _ => None,
            }
        })
    }

    /// Its standard output so far.
    pub(crate) fn stdout(&self) -> String {
        fs::read_to_string(&self.stdout).unwrap()
    }

    /// Waits for a text on its standard output.
    #[track_caller]
    pub(crate) fn waits_for(&mut self, text: &str) {
        until(text, || {
            let stdout = self.stdout();
            if stdout.contains(text) {
                return Some(());
            }
            let status = self.child.try_wait().unwrap();
            // It may have written the text after the first look and before its end.
            let over = status.is_some() && !self.stdout().contains(text);
            assert!(!over, "ended without saying {text}:\n{stdout}");
            None
        });
    }

    /// Whether it has ended.
    pub(crate) fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Kills it with everything it started, as at the end of a container or for want of memory, and
    /// waits until all of it is dead.
    pub(crate) fn kill_all(&self) {
        let pid = i32::try_from(self.child.id()).unwrap();
        let send = |pid: i32, signal| {
            // It may have ended by itself.
            let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
        };
        // It must neither start more of them nor see them die.
        send(pid, Signal::STOP);
        let mut killed = Vec::new();
        loop {
            let found = super::process::descendants(pid);
            if found.is_empty() {
                break;
            }
            for pid in found {
                send(pid, Signal::KILL);
                killed.push(pid);
            }
        }
        send(pid, Signal::KILL);
        until("all processes to be dead", || {
            let is_dead = |pid: &i32| !super::process::is_alive(*pid);
            killed.iter().all(is_dead).then_some(())
        });
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn end(self) -> Output {
        self.end_within(PATIENCE)
    }

    /// Waits no longer than this for its end.
    #[track_caller]
    pub(crate) fn end_within(mut self, patience: Duration) -> Output {
        let what = "the program's end";
        let status = until_within(patience, what, || self.child.try_wait().unwrap());
        Output {
            code: code(status),
            stdout: self.stdout(),
            stderr: fs::read_to_string(&self.stderr).unwrap(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed half way leaves it running; one that did not has waited for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}
