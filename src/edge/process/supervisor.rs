//! The supervisor: the process between this program and an agent or a gate, for as long as that
//! runs (Linux).
//!
//! It adopts every process that the agent orphans, whatever session or environment that has, and
//! reaps it when it ends. So all processes of an attempt descend from it, and when this program
//! dies it ends them all. When the agent ends, it ends the same way; what is left then is adopted
//! by this program, which sweeps it.

use std::ffi::{OsStr, OsString};
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

/// How often it looks around, should a signal have been lost.
const ROUND: Duration = Duration::from_secs(1);

/// Why there is no supervisor; the agent runs without one.
pub(super) struct Unsupervised;

/// Starts what `inner` says as a child and stays until it ends; gives the exit code to end with.
/// `inner` is a command line of this program.
pub(super) fn supervise(parent: &OsStr, inner: &[OsString]) -> Result<u8, Unsupervised> {
    let program = crate::edge::os::own_program().map_err(|_| Unsupervised)?;
    set_child_subreaper(Some(getpid())).map_err(|_| Unsupervised)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|_| Unsupervised)?;
    runtime.block_on(async {
        // Before the child: from here on no signal to the group ends this process.
        let mut signals = Signals::listen().map_err(|_| Unsupervised)?;
        let mut command = Command::new(&program);
        let child = command.args(inner).spawn().map_err(|_| Unsupervised)?;
        let child = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let child = child.ok_or(Unsupervised)?;
        loop {
            if let Some(status) = reap(child) {
                return Ok(end_as(status, &program));
            }
            if !is_parent(parent) {
                // As if it had asked for it itself: the kernel kills an agent with its parent.
                let _ = kill_process(child, Signal::KILL);
                end_descendants(Patience::USUAL).await;
                return Ok(0);
            }
            signals.next().await;
        }
    })
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
fn end_as(status: WaitStatus, program: &std::path::Path) -> u8 {
    if let Some(signal) = status.terminating_signal() {
        // Signals that are caught here are so no more in a new image.
        let _ = Command::new(program)
            .args([WORD, DIE, &signal.to_string()])
            .exec();
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
