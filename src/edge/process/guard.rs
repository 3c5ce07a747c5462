//! The guard: a step between this program and a process it starts.
//!
//! It begins a new session, asks to die with its parent (Linux) and becomes the process, where
//! that is asked for on an overlay of the work tree. On Linux it stays as the supervisor of the
//! process instead; on an overlay, of a second guard in the same session.
//! Called as `ralphtool __guard PARENT [--kept] [--overlay TREE UPPER WORK] -- PROGRAM ARGUMENT...`;
//! not for people. With an overlay and nothing after it, it only tries whether one can be had.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use crate::edge::isolation::Mount;
use crate::edge::isolation::namespace::{self, NotIsolated};

/// The hidden word that asks for the guard.
pub(super) const WORD: &str = "__guard";
/// Says that a supervisor is the parent, and has begun the session.
const KEPT: &str = "--kept";
/// Asks for an end by a signal.
#[cfg(target_os = "linux")]
pub(super) const DIE: &str = "--die";
/// The exit code of a shell for a program that is there but cannot be run.
const NOT_EXECUTABLE: u8 = 126;
/// The exit code of a shell for a program that is not there.
const NOT_FOUND: u8 = 127;
/// Asks for an overlay.
const OVERLAY: &str = "--overlay";

/// The arguments that make this program guard another one; its own arguments follow.
pub(crate) fn arguments(program: &OsStr, overlay: Option<&Mount>) -> Vec<OsString> {
    let mut arguments = call();
    arguments.extend(overlay.into_iter().flat_map(over));
    arguments.extend(["--".into(), program.to_owned()]);
    arguments
}

/// The arguments that make this program try whether an overlay can be had.
pub(crate) fn trial(overlay: &Mount) -> Vec<OsString> {
    let mut arguments = call();
    arguments.extend(over(overlay));
    arguments
}

fn call() -> Vec<OsString> {
    vec![WORD.into(), std::process::id().to_string().into()]
}

fn over(mount: &Mount) -> [OsString; 4] {
    [
        OVERLAY.into(),
        mount.tree.clone().into(),
        mount.upper.clone().into(),
        mount.work.clone().into(),
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
    let [parent, args @ ..] = args else {
        return complain(OsStr::new(WORD), &io::ErrorKind::InvalidInput.into());
    };
    if let Some(code) = supervised(parent, args) {
        return code;
    }
    let args = match args {
        [first, rest @ ..] if first == KEPT => rest,
        args => args,
    };
    let (overlay, args) = split_overlay(args);
    let isolated = overlay.as_ref().map_or(Ok(()), namespace::enter);
    // After the namespace: a process that gains rights in one may lose this.
    if let Err(error) = die_with_parent() {
        return complain(OsStr::new(WORD), &error);
    }
    if !is_parent(parent) {
        // The parent died before the request took effect.
        return NOT_EXECUTABLE;
    }
    if let Err(error) = isolated {
        return tell(&error);
    }
    match (overlay, args) {
        (_, [dashes, program, rest @ ..]) if dashes == "--" => {
            complain(program, &Command::new(program).args(rest).exec())
        }
        (Some(overlay), []) => {
            namespace::try_writing(&overlay).map_or_else(|error| tell(&error), |()| 0)
        }
        _ => complain(OsStr::new(WORD), &io::ErrorKind::InvalidInput.into()),
    }
}

/// Begins the session and, on Linux, supervises a second guard in it; gives the code to end with
/// once that is over. None where this process is to become the program itself.
#[cfg(target_os = "linux")]
fn supervised(parent: &OsStr, args: &[OsString]) -> Option<u8> {
    use super::supervisor::{Supervised, die_by, supervise};
    match args {
        [signal] if parent == DIE => return Some(die_by(signal)),
        [first, ..] if first == KEPT => return None,
        _ => {}
    }
    begin_session();
    if !args.iter().any(|it| it == "--") {
        // A trial of an overlay starts nothing.
        return None;
    }
    if !is_parent(parent) {
        return Some(NOT_EXECUTABLE);
    }
    let (program, command) = child_of_supervisor(args);
    match supervise(parent, command) {
        Supervised::Ended(code) => Some(code),
        Supervised::NotStarted(error) => Some(complain(&program, &error)),
        // The agent itself dies with this program all the same; its orphans do not.
        Supervised::Impossible => None,
    }
}

/// What a supervisor starts: the program itself, or a second guard that enters the overlay first.
#[cfg(target_os = "linux")]
fn child_of_supervisor(args: &[OsString]) -> (OsString, Command) {
    if let [dashes, program, rest @ ..] = args
        && dashes == "--"
    {
        let mut command = Command::new(program);
        command.args(rest);
        return (program.clone(), command);
    }
    let mut command = Command::new("/proc/self/exe");
    command.args(call()).arg(KEPT).args(args);
    (WORD.into(), command)
}

#[cfg(not(target_os = "linux"))]
fn supervised(_parent: &OsStr, args: &[OsString]) -> Option<u8> {
    if args.first().is_none_or(|first| first != KEPT) {
        begin_session();
    }
    None
}

fn begin_session() {
    // Fails only for a process that already leads its group, which is as good.
    let _ = rustix::process::setsid();
}

fn split_overlay(args: &[OsString]) -> (Option<Mount>, &[OsString]) {
    match args {
        [asked, tree, upper, work, rest @ ..] if asked == OVERLAY => {
            let mount = Mount {
                tree: tree.into(),
                upper: upper.into(),
                work: work.into(),
            };
            (Some(mount), rest)
        }
        args => (None, args),
    }
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

fn tell(error: &NotIsolated) -> u8 {
    let _ = writeln!(io::stderr(), "ralphtool: {error}");
    error.stage.exit_code()
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
