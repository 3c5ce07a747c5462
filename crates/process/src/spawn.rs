//! How the supervisor starts the process it was asked for.
//!
//! The process leads a session of its own, away from the terminal. On Linux the kernel kills it
//! with the supervisor, even if that is killed itself.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, getpid, setsid};

use crate::EnvChange;
use crate::protocol::Start;

/// The exit code of a shell for a program that is there but cannot be run.
const NOT_EXECUTABLE: i32 = 126;
/// The exit code of a shell for a program that is not there.
const NOT_FOUND: i32 = 127;

/// The outcome of a request to start a process.
#[derive(Debug)]
pub(crate) enum Spawned {
    Running(Pid),
    /// The program cannot be run. Its standard error says why, as a shell would.
    NotRun {
        code: i32,
    },
}

/// Starts a process. An error means that not even a shell could have tried: a file for its output
/// or the folder it starts in is missing, or the system has no process left.
pub(crate) fn spawn(start: &Start, stdin: &[u8]) -> io::Result<Spawned> {
    let stdout = open_output(start.stdout.as_ref())?;
    let stderr = match &start.stderr {
        Some(path) => open_output(path.as_ref())?,
        None => stdout.try_clone()?,
    };
    let mut messages = stderr.try_clone()?;
    if !Path::new(&start.cwd).metadata()?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let mut command = Command::new(&start.program);
    for change in &start.env {
        match change {
            EnvChange::Set(name, value) => command.env(name, value),
            EnvChange::Remove(name) => command.env_remove(name),
        };
    }
    command
        .args(&start.args)
        .current_dir(&start.cwd)
        .stdin(input_file(stdin)?)
        .stdout(stdout)
        .stderr(stderr);
    prepare_session(&mut command);
    let error = match command.spawn() {
        Ok(child) => {
            let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            let pid = pid.ok_or_else(|| io::Error::other("it has no process id"))?;
            return Ok(Spawned::Running(pid));
        }
        Err(error) => error,
    };
    let code = match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => return Err(error),
        io::ErrorKind::NotFound => NOT_FOUND,
        _ => NOT_EXECUTABLE,
    };
    let program = start.program.display();
    writeln!(messages, "could not run `{program}`: {error}")?;
    Ok(Spawned::NotRun { code })
}

/// Has the new process lead a session and die with this one, before its program runs.
#[allow(
    unsafe_code,
    reason = "nothing but a call between fork and exec can do this without one more process"
)]
fn prepare_session(command: &mut Command) {
    let parent = getpid();
    let prepare = move || {
        setsid()?;
        die_with(parent)
    };
    // SAFETY: between fork and exec only system calls that are safe in a signal handler are made, and
    // no memory is allocated: `setsid`, `prctl` and `getppid` of rustix are plain system calls, and
    // errors are numbers. No lock can be held by another thread: the supervisor has only one.
    unsafe { command.pre_exec(prepare) };
}

#[cfg(target_os = "linux")]
fn die_with(parent: Pid) -> io::Result<()> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the request took effect.
    if getppid() == Some(parent) {
        Ok(())
    } else {
        Err(rustix::io::Errno::SRCH.into())
    }
}

#[cfg(not(target_os = "linux"))]
#[allow(
    clippy::unnecessary_wraps,
    reason = "the same signature on every system"
)]
fn die_with(_parent: Pid) -> io::Result<()> {
    Ok(())
}

/// Input comes from an unnamed file: no writer is needed, and it may be left unread.
fn input_file(input: &[u8]) -> io::Result<Stdio> {
    if input.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file = unnamed_file()?;
    file.write_all(input)?;
    file.rewind()?;
    Ok(file.into())
}

/// In memory: a file on disk that is gone at once makes ext4 slower at creating the next ones.
#[cfg(target_os = "linux")]
fn unnamed_file() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(memfd_create("stdin", MemfdFlags::CLOEXEC)?.into())
}

#[cfg(not(target_os = "linux"))]
fn unnamed_file() -> io::Result<File> {
    tempfile::tempfile()
}

/// Opens a private file to add output to.
pub(crate) fn open_output(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
}
