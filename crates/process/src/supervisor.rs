//! The supervisor: the process between this program and an agent or a gate, for as long as that
//! runs (Linux).
//!
//! It adopts every process that the agent orphans, whatever session or environment that has, and
//! reaps it when it ends. So all processes of an attempt descend from it, and when this program
//! dies it ends them all. When the agent ends, it ends the same way; what is left then is adopted
//! by this program, which sweeps it.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getpid, kill_process,
    set_child_subreaper, set_parent_process_death_signal, setrlimit, wait,
};
use tokio::signal::unix::{Signal as Received, SignalKind, signal};
use tokio::time::sleep;

use super::guard::{DIE, WORD, is_parent};
use super::sweep::{Patience, end_descendants};
use ralph_base::os::own_program;

/// How often it looks around, should a signal have been lost.
const ROUND: Duration = Duration::from_secs(1);

/// What became of an attempt to supervise.
pub(super) enum Supervised {
    /// The agent ended; the exit code to end with.
    Ended(u8),
    /// The agent could not be started.
    NotStarted(io::Error),
    /// There can be no supervisor here: the agent is to run without one.
    Impossible,
}

/// Starts a command as a child and stays until it ends.
pub(super) fn supervise(parent: &OsStr, command: Command) -> Supervised {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        return Supervised::Impossible;
    };
    if set_child_subreaper(Some(getpid())).is_err() {
        return Supervised::Impossible;
    }
    runtime.block_on(async {
        // Before the child: from here on no signal to the group ends this process.
        match Signals::listen() {
            Ok(signals) => watch(parent, command, signals).await,
            Err(_) => Supervised::Impossible,
        }
    })
}

async fn watch(parent: &OsStr, mut command: Command, mut signals: Signals) -> Supervised {
    let child = match command.spawn() {
        Ok(child) => child.id(),
        Err(error) => return Supervised::NotStarted(error),
    };
    let Some(child) = i32::try_from(child).ok().and_then(Pid::from_raw) else {
        return Supervised::NotStarted(io::Error::other("it has no process id"));
    };
    loop {
        if let Some(status) = reap(child) {
            return Supervised::Ended(end_as(status));
        }
        if !is_parent(parent) {
            // Without grace, as the kernel would.
            let _ = kill_process(child, Signal::KILL);
            end_descendants(Patience::USUAL).await;
            return Supervised::Ended(0);
        }
        signals.next().await;
    }
}

/// Reaps all children that have ended, adopted ones too; gives how the agent ended.
fn reap(child: Pid) -> Option<WaitStatus> {
    let mut ended = None;
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        if pid == child {
            ended = Some(status);
        }
    }
    ended
}

/// Ends as the agent did; by its signal, where one ended it.
fn end_as(status: WaitStatus) -> u8 {
    if let Some(signal) = status.terminating_signal() {
        // Signals that are caught here are no longer caught in a new image.
        if let Ok(program) = own_program() {
            let _ = Command::new(program)
                .args([WORD, DIE, &signal.to_string()])
                .exec();
        }
        return by_signal(signal);
    }
    let code = status.exit_status().unwrap_or(-1);
    u8::try_from(code & 0xff).unwrap_or(u8::MAX)
}

/// Ends this process by a signal, as the agent was.
pub(super) fn die_by(signal: &OsStr) -> u8 {
    let number = signal.to_str().and_then(|it| it.parse().ok()).unwrap_or(0);
    // The agent's own core, if it has one, is the one that is of use.
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let _ = setrlimit(Resource::Core, none);
    if let Some(signal) = Signal::from_named_raw(number) {
        let _ = kill_process(getpid(), signal);
    }
    by_signal(number)
}

/// The exit code of a shell for a program that a signal ended.
fn by_signal(signal: i32) -> u8 {
    u8::try_from(signal.saturating_add(128)).unwrap_or(u8::MAX)
}

/// What wakes the supervisor; everything else that a group is sent is not meant for it.
struct Signals {
    child: Received,
    parent: Received,
    _unheard: Vec<Received>,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        let unheard = [
            SignalKind::hangup(),
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::quit(),
            SignalKind::user_defined1(),
            SignalKind::alarm(),
        ];
        let signals = Self {
            child: signal(SignalKind::child())?,
            parent: signal(SignalKind::user_defined2())?,
            _unheard: unheard
                .into_iter()
                .filter_map(|kind| signal(kind).ok())
                .collect(),
        };
        set_parent_process_death_signal(Some(Signal::USR2))?;
        Ok(signals)
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.child.recv() => {}
            _ = self.parent.recv() => {}
            () = sleep(ROUND) => {}
        }
    }
}
