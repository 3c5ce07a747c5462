//! The guard: a step between this program and a process it starts.
//!
//! It begins a new session, asks to die with this program (Linux) and becomes the process.
//! Called as `ralphtool __guard PARENT -- PROGRAM ARGUMENT...`; not for people.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// The hidden word that asks for the guard.
const WORD: &str = "__guard";
/// The exit code of a shell for a program that is there but cannot be run.
const NOT_EXECUTABLE: u8 = 126;
/// The exit code of a shell for a program that is not there.
const NOT_FOUND: u8 = 127;

/// The arguments that make this program guard another one; its own arguments follow.
pub(crate) fn arguments(program: &OsStr) -> [OsString; 4] {
    [
        WORD.into(),
        std::process::id().to_string().into(),
        "--".into(),
        program.to_owned(),
    ]
}

/// Acts as the guard if the arguments, the program's name first, ask for it.
pub(crate) fn dispatch(args: &[OsString]) -> Option<ExitCode> {
    let (word, rest) = args.get(1..)?.split_first()?;
    if word != WORD {
        return None;
    }
    Some(ExitCode::from(guard(rest)))
}

/// Becomes the program; returns only if that is not possible.
fn guard(args: &[OsString]) -> u8 {
    let [parent, dashes, program, rest @ ..] = args else {
        return complain(OsStr::new(WORD), &io::ErrorKind::InvalidInput.into());
    };
    if dashes != "--" {
        return complain(dashes, &io::ErrorKind::InvalidInput.into());
    }
    // Fails only for a process that already leads its group, which is as good.
    let _ = rustix::process::setsid();
    if let Err(error) = die_with_parent() {
        return complain(program, &error);
    }
    if !is_parent(parent) {
        // The parent died before the request took effect.
        return NOT_EXECUTABLE;
    }
    complain(program, &Command::new(program).args(rest).exec())
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

fn is_parent(expected: &OsStr) -> bool {
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().to_string());
    parent.is_some_and(|parent| expected == parent.as_str())
}

fn complain(program: &OsStr, error: &io::Error) -> u8 {
    // Nobody is left to tell if standard error is gone.
    let _ = writeln!(
        io::stderr(),
        "ralphtool: could not run `{}`: {error}",
        program.display()
    );
    match error.kind() {
        io::ErrorKind::NotFound => NOT_FOUND,
        _ => NOT_EXECUTABLE,
    }
}
