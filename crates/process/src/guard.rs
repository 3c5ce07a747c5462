//! The guard: the step between the supervisor and the process it starts.
//!
//! It begins a session, asks the kernel to kill it with its parent (Linux), and becomes the
//! process. Called as `PROGRAM __guard PARENT -- COMMAND ARGUMENT...`; not for people.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;

use ralph_base::os::own_program;

/// The hidden argument that asks for the guard.
pub(crate) const WORD: &str = "__guard";
/// The exit code of a shell for a program that is there but cannot be run.
const NOT_EXECUTABLE: u8 = 126;
/// The exit code of a shell for a program that is not there.
const NOT_FOUND: u8 = 127;

/// A command that starts `program` through the guard, as a child of this process; its arguments
/// are to be added.
pub(crate) fn command(program: &OsStr) -> io::Result<Command> {
    let mut command = Command::new(own_program()?);
    command
        .args([WORD, &std::process::id().to_string(), "--"])
        .arg(program);
    Ok(command)
}

/// Becomes the program; returns the exit code if that fails.
pub(crate) fn run(args: &[OsString]) -> u8 {
    let [parent, dashes, program, args @ ..] = args else {
        return not_run(OsStr::new(WORD), &io::ErrorKind::InvalidInput.into());
    };
    if dashes != "--" {
        return not_run(OsStr::new(WORD), &io::ErrorKind::InvalidInput.into());
    }
    // Fails only for a process that already leads its group, which is as good.
    let _ = rustix::process::setsid();
    if let Err(error) = die_with_parent() {
        return not_run(program, &error);
    }
    if !is_child_of(parent) {
        // The parent died before the request took effect.
        return NOT_EXECUTABLE;
    }
    not_run(program, &Command::new(program).args(args).exec())
}

#[cfg(target_os = "linux")]
fn die_with_parent() -> io::Result<()> {
    use rustix::process::{Signal, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
#[allow(
    clippy::unnecessary_wraps,
    reason = "the same signature on every system"
)]
fn die_with_parent() -> io::Result<()> {
    Ok(())
}

fn is_child_of(expected: &OsStr) -> bool {
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().to_string());
    parent.is_some_and(|parent| expected == parent.as_str())
}

fn not_run(program: &OsStr, error: &io::Error) -> u8 {
    // Without standard error there is no other place for the message.
    let _ = writeln!(
        io::stderr(),
        "could not run `{}`: {error}",
        program.display()
    );
    match error.kind() {
        io::ErrorKind::NotFound => NOT_FOUND,
        _ => NOT_EXECUTABLE,
    }
}
