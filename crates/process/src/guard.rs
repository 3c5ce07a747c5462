//! The guard: a step between this program and a process it starts.
//!
//! It begins a new session and becomes the process. On Linux it stays as the supervisor of the
//! process instead; where it cannot, it asks to die with its parent first.
//! Called as `ralphtool __guard PARENT -- PROGRAM ARGUMENT...`; not for people.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// The hidden word that asks for the guard.
pub(super) const WORD: &str = "__guard";
/// Asks for an end by a signal.
#[cfg(target_os = "linux")]
pub(super) const DIE: &str = "--die";
/// The exit code of a shell for a program that is there but cannot be run.
const NOT_EXECUTABLE: u8 = 126;
/// The exit code of a shell for a program that is not there.
const NOT_FOUND: u8 = 127;

/// The arguments that make this program guard another one; its own arguments follow.
pub(super) fn arguments(program: &OsStr) -> [OsString; 4] {
    [
        WORD.into(),
        std::process::id().to_string().into(),
        "--".into(),
        program.to_owned(),
    ]
}

/// Acts as the guard if the arguments, the program's name first, ask for it.
pub fn dispatch(args: &[OsString]) -> Option<ExitCode> {
    let (word, rest) = args.get(1..)?.split_first()?;
    if word != WORD {
        return None;
    }
    Some(ExitCode::from(guard(rest)))
}

/// Runs the program, or becomes it; gives the code to end with.
fn guard(args: &[OsString]) -> u8 {
    #[cfg(target_os = "linux")]
    if let [word, signal] = args
        && word == DIE
    {
        return super::supervisor::die_by(signal);
    }
    let [parent, dashes, program, args @ ..] = args else {
        return complain(OsStr::new(WORD), &io::ErrorKind::InvalidInput.into());
    };
    if dashes != "--" {
        return complain(OsStr::new(WORD), &io::ErrorKind::InvalidInput.into());
    }
    // Fails only for a process that already leads its group, which is as good.
    let _ = rustix::process::setsid();
    if let Some(code) = supervised(parent, program, args) {
        return code;
    }
    if let Err(error) = die_with_parent() {
        return complain(program, &error);
    }
    if !is_parent(parent) {
        // The parent died before the request took effect.
        return NOT_EXECUTABLE;
    }
    complain(program, &Command::new(program).args(args).exec())
}

/// Supervises the program and gives the code to end with once it is over. None where this process
/// is to become the program itself.
#[cfg(target_os = "linux")]
fn supervised(parent: &OsStr, program: &OsStr, args: &[OsString]) -> Option<u8> {
    use super::supervisor::{Supervised, supervise};
    if !is_parent(parent) {
        return Some(NOT_EXECUTABLE);
    }
    let mut command = Command::new(program);
    command.args(args);
    match supervise(parent, command) {
        Supervised::Ended(code) => Some(code),
        Supervised::NotStarted(error) => Some(complain(program, &error)),
        // The agent itself dies with this program all the same; its orphans do not.
        Supervised::Impossible => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn supervised(_parent: &OsStr, _program: &OsStr, _args: &[OsString]) -> Option<u8> {
    None
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

/// Whether this process is the child of the one that is said to have started it.
pub(super) fn is_parent(expected: &OsStr) -> bool {
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
